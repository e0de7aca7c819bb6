package client

import (
	"context"
	"net/url"
	"time"

	"github.com/allswell/allswell"
)

// Component is a part of the service that a page shows.
type Component struct {
	Meta
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Status      allswell.Status `json:"status"`
	Order       int             `json:"order"` // the lowest is first
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
}

// NewComponent describes a component to create.
type NewComponent struct {
	Slug        string           `json:"slug,omitempty"` // "": made from the name
	Name        string           `json:"name"`
	Description *string          `json:"description,omitempty"`
	Status      *allswell.Status `json:"status,omitempty"` // nil: operational
	Order       *int             `json:"order,omitempty"`  // nil: after all others
	Group       *string          `json:"group,omitempty"`  // the group's id or slug
	Hidden      *bool            `json:"hidden,omitempty"` // visitors and subscribers do not see it; nil: a new component is shown

	// UniqueName makes CreateComponent fail if the page has a component with this name. PutComponent ignores it.
	UniqueName bool `json:"unique_name,omitempty"`
}

// ComponentStatusChange sets a component's status.
type ComponentStatusChange struct {
	Status      allswell.Status  `json:"status"`
	Description Nullable[string] `json:"description,omitzero"`
}

// ComponentChange is a change of everything but a component's status.
type ComponentChange struct {
	Name        *string          `json:"name,omitempty"`
	Description Nullable[string] `json:"description,omitzero"`
	Order       *int             `json:"order,omitempty"`
	Group       *string          `json:"group,omitempty"`  // the group's id or slug; "" is no group
	Hidden      *bool            `json:"hidden,omitempty"` // visitors and subscribers do not see it
}

// ListComponents returns the components of a page in their order, hidden ones included.
func (c *Client) ListComponents(page string) *List[Component] {
	return &List[Component]{client: c, path: pathOf("pages", page, "components")}
}

// ListHiddenComponents returns the hidden components of a page in their order.
func (c *Client) ListHiddenComponents(page string) *List[Component] {
	return &List[Component]{client: c, path: pathOf("pages", page, "components"), query: url.Values{"hidden": {"true"}}}
}

// CreateComponent creates a component on a page.
func (c *Client) CreateComponent(
	ctx context.Context, page string, component NewComponent, options ...CallOption,
) (*Component, error) {
	return post[Component](ctx, c, pathOf("pages", page, "components"), component, options...)
}

// GetComponent returns a component.
func (c *Client) GetComponent(ctx context.Context, page, id string) (*Component, error) {
	return get[Component](ctx, c, pathOf("pages", page, "components", id))
}

// PutComponent creates the component with the slug on a page, or replaces its configuration. Fields that are not set
// get their defaults, but a status and an order are kept. The options are IfMatch and IfNoneMatch.
func (c *Client) PutComponent(
	ctx context.Context, page, slug string, component NewComponent, options ...CallOption,
) (*Component, error) {
	component.Slug, component.UniqueName = "", false
	return put[Component](ctx, c, pathOf("pages", page, "components", slug), component, options...)
}

// ChangeComponentStatus sets a component's status. It is shown at once, whatever monitors report, until it is set
// again or another monitor goes down. The option is IfMatch.
func (c *Client) ChangeComponentStatus(
	ctx context.Context, page, id string, change ComponentStatusChange, options ...CallOption,
) (*Component, error) {
	return patch[Component](ctx, c, pathOf("pages", page, "components", id), change, options...)
}

// EditComponent changes a component's name, description, order or group. The options are IfMatch and, to give its slug
// instead of its id, OnPage.
func (c *Client) EditComponent(
	ctx context.Context, id string, change ComponentChange, options ...CallOption,
) (*Component, error) {
	return patch[Component](ctx, c, pathOf("components", id), change, options...)
}

// DeleteComponent deletes a component. The option is IfMatch.
func (c *Client) DeleteComponent(ctx context.Context, page, id string, options ...CallOption) error {
	return c.remove(ctx, pathOf("pages", page, "components", id), options...)
}
