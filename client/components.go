package client

import (
	"context"
	"net/url"
)

// ComponentStatusChange sets a component's status.
type ComponentStatusChange struct {
	Status      Status           `json:"status"`
	Description Nullable[string] `json:"description,omitzero"`
}

// ListHiddenComponents returns the hidden components of a page in their order.
func (c *Client) ListHiddenComponents(page string) *List[Component] {
	return &List[Component]{client: c, path: pathOf("pages", page, "components"), query: url.Values{"hidden": {"true"}}}
}

// ChangeComponentStatus sets a component's status. It is shown immediately, whatever monitors report, until it is set
// again or another monitor goes down. The option is IfMatch.
func (c *Client) ChangeComponentStatus(
	ctx context.Context, page, id string, change ComponentStatusChange, options ...CallOption,
) (*Component, error) {
	return patch[Component](ctx, c, pathOf("pages", page, "components", id), change, options...)
}

// EditComponent changes a component, but not its status. The options are IfMatch and, to give its slug
// instead of its id, OnPage.
func (c *Client) EditComponent(
	ctx context.Context, id string, change ComponentChange, options ...CallOption,
) (*Component, error) {
	return patch[Component](ctx, c, pathOf("components", id), change, options...)
}
