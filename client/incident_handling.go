package client

import (
	"context"
)

// TakeOverIncident takes an incident over from the monitor that opened it: the recovery of the monitor does not resolve
// it.
func (c *Client) TakeOverIncident(ctx context.Context, id string, options ...CallOption) (*Incident, error) {
	return post[Incident](ctx, c, pathOf("incidents", id, "take-over"), nil, options...)
}

// GiveBackIncident gives an incident that was taken over back to its monitor.
func (c *Client) GiveBackIncident(ctx context.Context, id string, options ...CallOption) (*Incident, error) {
	return post[Incident](ctx, c, pathOf("incidents", id, "give-back"), nil, options...)
}

// IncidentMerge names the incident that another one is merged into.
type IncidentMerge struct {
	IncidentID string `json:"incident_id"`
}

// MergeIncident resolves an incident and adds its components to another one on its page. Nobody is notified.
func (c *Client) MergeIncident(ctx context.Context, id, into string) (*Incident, error) {
	return put[Incident](ctx, c, pathOf("incidents", id, "merged-into"), IncidentMerge{into})
}
