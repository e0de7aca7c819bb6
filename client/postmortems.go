package client

import (
	"context"
	"time"
)

// Postmortem is the report on an incident: what caused it, and what was learned.
type Postmortem struct {
	Meta
	IncidentID  string     `json:"incident_id"`
	Body        string     `json:"body"`         // Markdown
	Published   bool       `json:"published"`    // false: a draft
	PublishedAt *time.Time `json:"published_at"` // of the latest publication; nil: a draft
	EditedAt    *time.Time `json:"edited_at"`    // last change of Body since then; nil: none
	Notified    bool       `json:"notified"`     // whether subscribers were notified of it
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
}

// PostmortemInput is the text of a post-mortem, and whether visitors see it.
type PostmortemInput struct {
	Body      string `json:"body"`
	Published *bool  `json:"published,omitempty"` // nil: unchanged; a new one is a draft
	Notify    *bool  `json:"notify,omitempty"`    // false: nobody is notified of the publication
}

// GetPostmortem returns the post-mortem of an incident.
func (c *Client) GetPostmortem(ctx context.Context, incident string) (*Postmortem, error) {
	return get[Postmortem](ctx, c, pathOf("incidents", incident, "postmortem"))
}

// PutPostmortem creates or replaces the post-mortem of an incident. Subscribers are notified of its first publication.
// The options IfMatch and IfNoneMatch apply.
func (c *Client) PutPostmortem(
	ctx context.Context, incident string, postmortem PostmortemInput, options ...CallOption,
) (*Postmortem, error) {
	return put[Postmortem](ctx, c, pathOf("incidents", incident, "postmortem"), postmortem, options...)
}

// DeletePostmortem deletes the post-mortem of an incident with its text. Nobody is notified. The option IfMatch
// applies.
func (c *Client) DeletePostmortem(ctx context.Context, incident string, options ...CallOption) error {
	return c.remove(ctx, pathOf("incidents", incident, "postmortem"), options...)
}
