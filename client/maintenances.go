package client

import (
	"context"
	"net/url"
)

// NamedComponent is a component that maintenance affects.
type NamedComponent struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// MaintenanceFilter selects maintenance.
type MaintenanceFilter struct {
	State MaintenanceState // "": all
}

// ListMaintenances returns the maintenance of a page, the latest first, without updates.
func (c *Client) ListMaintenances(page string, filter MaintenanceFilter) *List[Maintenance] {
	query := make(url.Values)
	if filter.State != "" {
		query.Set("state", string(filter.State))
	}
	return &List[Maintenance]{client: c, path: pathOf("pages", page, "maintenances"), query: query}
}

// ListMaintenanceUpdates returns the updates of maintenance, the oldest first.
func (c *Client) ListMaintenanceUpdates(maintenance string) *List[MaintenanceUpdate] {
	return &List[MaintenanceUpdate]{client: c, path: pathOf("maintenances", maintenance, "updates")}
}

// AddMaintenanceUpdate adds an update to maintenance. Subscribers are notified.
func (c *Client) AddMaintenanceUpdate(
	ctx context.Context, maintenance string, update NewMaintenanceUpdate, options ...CallOption,
) (*MaintenanceUpdate, error) {
	return post[MaintenanceUpdate](ctx, c, pathOf("maintenances", maintenance, "updates"), update, options...)
}
