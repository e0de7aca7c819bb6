package client

import (
	"context"
	"net/url"
	"time"

	"github.com/allswell/allswell"
)

// IncidentTemplate is the beginning of an incident, to be chosen when one is opened.
type IncidentTemplate struct {
	Meta
	ID        string                  `json:"id"`
	Page      *string                 `json:"page"` // slug; nil: all pages
	Name      string                  `json:"name"`
	Title     string                  `json:"title"`
	Impact    *allswell.Impact        `json:"impact"`  // nil: by the worst status of the components
	State     *allswell.IncidentState `json:"state"`   // nil: investigating
	Message   *string                 `json:"message"` // nil: none
	CreatedAt time.Time               `json:"created_at"`
	UpdatedAt time.Time               `json:"updated_at"`
}

// NewIncidentTemplate describes a template to create. The title and the message may contain the variables
// {{component}}, {{date}}, {{page}} and {{time}}.
type NewIncidentTemplate struct {
	Page    string                  `json:"page,omitempty"` // slug; "": all pages
	Name    string                  `json:"name"`
	Title   string                  `json:"title"`
	Impact  *allswell.Impact        `json:"impact,omitempty"`
	State   *allswell.IncidentState `json:"state,omitempty"`
	Message string                  `json:"message,omitempty"`
}

// IncidentTemplateChange is a change of a template. Nil fields keep their values.
type IncidentTemplateChange struct {
	Page    *string                 `json:"page,omitempty"` // "": all pages
	Name    *string                 `json:"name,omitempty"`
	Title   *string                 `json:"title,omitempty"`
	Impact  *allswell.Impact        `json:"impact,omitempty"`
	State   *allswell.IncidentState `json:"state,omitempty"`
	Message *string                 `json:"message,omitempty"` // "": none
}

// ListIncidentTemplates returns the templates of the workspace, the oldest first. If page is not "", it returns those
// that can be used on that page.
func (c *Client) ListIncidentTemplates(page string) *List[IncidentTemplate] {
	query := make(url.Values)
	if page != "" {
		query.Set("page_slug", page)
	}
	return &List[IncidentTemplate]{client: c, path: pathOf("incident-templates"), query: query}
}

// CreateIncidentTemplate creates a template.
func (c *Client) CreateIncidentTemplate(
	ctx context.Context, template NewIncidentTemplate, options ...CallOption,
) (*IncidentTemplate, error) {
	return post[IncidentTemplate](ctx, c, pathOf("incident-templates"), template, options...)
}

// GetIncidentTemplate returns a template, given its id or name.
func (c *Client) GetIncidentTemplate(ctx context.Context, ref string) (*IncidentTemplate, error) {
	return get[IncidentTemplate](ctx, c, pathOf("incident-templates", ref))
}

// ChangeIncidentTemplate changes a template. The option IfMatch applies.
func (c *Client) ChangeIncidentTemplate(
	ctx context.Context, id string, change IncidentTemplateChange, options ...CallOption,
) (*IncidentTemplate, error) {
	return patch[IncidentTemplate](ctx, c, pathOf("incident-templates", id), change, options...)
}

// DeleteIncidentTemplate deletes a template. Incidents that began with it stay as they are. The option IfMatch applies.
func (c *Client) DeleteIncidentTemplate(ctx context.Context, id string, options ...CallOption) error {
	return c.remove(ctx, pathOf("incident-templates", id), options...)
}
