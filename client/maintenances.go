package client

import (
	"context"
	"net/url"
	"time"

	"github.com/allswell/allswell"
)

// Maintenance is planned maintenance on a page.
type Maintenance struct {
	Meta
	ID             string                    `json:"id"`
	Title          string                    `json:"title"`
	State          allswell.MaintenanceState `json:"state"`
	ScheduledFor   time.Time                 `json:"scheduled_for"`
	ScheduledUntil time.Time                 `json:"scheduled_until"`
	BegunAt        *time.Time                `json:"begun_at"`
	EndedAt        *time.Time                `json:"ended_at"`
	RemindBefore   Seconds                   `json:"remind_before"` // 0: no reminder
	Components     []NamedComponent          `json:"components"`    // those that still exist
	CreatedAt      time.Time                 `json:"created_at"`
	UpdatedAt      time.Time                 `json:"updated_at"`
	Updates        []MaintenanceUpdate       `json:"updates"` // the oldest first; nil in lists and after changes
}

// NamedComponent is a component that maintenance affects.
type NamedComponent struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// MaintenanceUpdate is an entry of a maintenance's timeline.
type MaintenanceUpdate struct {
	Meta
	ID        string                    `json:"id"`
	Message   string                    `json:"message"`
	State     allswell.MaintenanceState `json:"state"` // when the update was written
	CreatedAt time.Time                 `json:"created_at"`
}

// NewMaintenance describes maintenance to plan.
type NewMaintenance struct {
	Title          string    `json:"title"`
	Message        *string   `json:"message,omitempty"` // the first update
	ScheduledFor   time.Time `json:"scheduled_for"`
	ScheduledUntil time.Time `json:"scheduled_until"`
	Components     []string  `json:"components,omitempty"`    // ids of the affected components
	RemindBefore   *Seconds  `json:"remind_before,omitempty"` // nil: a day; 0: no reminder
}

// MaintenanceChange is a change of maintenance.
type MaintenanceChange struct {
	Title          *string                    `json:"title,omitempty"`
	ScheduledFor   *time.Time                 `json:"scheduled_for,omitempty"`
	ScheduledUntil *time.Time                 `json:"scheduled_until,omitempty"`
	Components     *[]string                  `json:"components,omitempty"` // ids of the affected components
	RemindBefore   *Seconds                   `json:"remind_before,omitempty"`
	State          *allswell.MaintenanceState `json:"state,omitempty"`
}

// NewMaintenanceUpdate describes an update to add to maintenance.
type NewMaintenanceUpdate struct {
	Message string                     `json:"message"`
	State   *allswell.MaintenanceState `json:"state,omitempty"` // begins or ends the maintenance
}

// MaintenanceFilter selects maintenance.
type MaintenanceFilter struct {
	State allswell.MaintenanceState // "": all
}

// ListMaintenances returns the maintenance of a page, the latest first, without updates.
func (c *Client) ListMaintenances(page string, filter MaintenanceFilter) *List[Maintenance] {
	query := make(url.Values)
	if filter.State != "" {
		query.Set("state", string(filter.State))
	}
	return &List[Maintenance]{client: c, path: pathOf("pages", page, "maintenances"), query: query}
}

// CreateMaintenance plans maintenance on a page.
func (c *Client) CreateMaintenance(
	ctx context.Context, page string, maintenance NewMaintenance, options ...CallOption,
) (*Maintenance, error) {
	return post[Maintenance](ctx, c, pathOf("pages", page, "maintenances"), maintenance, options...)
}

// GetMaintenance returns maintenance with its updates.
func (c *Client) GetMaintenance(ctx context.Context, id string) (*Maintenance, error) {
	return get[Maintenance](ctx, c, pathOf("maintenances", id))
}

// ChangeMaintenance changes, moves, begins or ends maintenance.
func (c *Client) ChangeMaintenance(ctx context.Context, id string, change MaintenanceChange) (*Maintenance, error) {
	return patch[Maintenance](ctx, c, pathOf("maintenances", id), change)
}

// DeleteMaintenance deletes maintenance. If it has not ended, it is cancelled, and subscribers are notified.
func (c *Client) DeleteMaintenance(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("maintenances", id))
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
