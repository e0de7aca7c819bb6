package client

import (
	"context"
	"time"
)

// OnCall says who is on call. Every week at the same time of the clock the next participant takes over.
type OnCall struct {
	Meta
	ID           string              `json:"id"`
	Slug         string              `json:"slug"` // unique in the workspace
	Name         string              `json:"name"`
	Zone         string              `json:"zone"`          // IANA name
	HandOverDay  string              `json:"hand_over_day"` // mon, tue, wed, thu, fri, sat or sun
	HandOverAt   string              `json:"hand_over_at"`  // such as 09:00
	StartsOn     string              `json:"starts_on"`     // a day in the week of the first participant, such as 2026-11-16
	Participants []OnCallParticipant `json:"participants"`
	Overrides    []OnCallOverride    `json:"overrides"`
	Now          *string             `json:"now"`  // who is on call; nil: nobody
	Next         []OnCallTurn        `json:"next"` // from now on, at most 10
	CalendarURL  string              `json:"calendar_url"`
	CreatedAt    time.Time           `json:"created_at"`
	UpdatedAt    time.Time           `json:"updated_at"`
}

// OnCallParticipant is a person who is on call in turn.
type OnCallParticipant struct {
	Name       string   `json:"name"` // unique in the schedule
	ChannelIDs []string `json:"channel_ids"`
}

// OnCallOverride puts a participant on call for a time. Of several, the last in the list counts.
type OnCallOverride struct {
	ID          string    `json:"id,omitempty"` // "": a new one
	Participant string    `json:"participant"`
	StartsAt    time.Time `json:"starts_at"`
	EndsAt      time.Time `json:"ends_at"`
}

// OnCallTurn is a time during which a participant is on call without a break.
type OnCallTurn struct {
	Participant string    `json:"participant"`
	StartsAt    time.Time `json:"starts_at"`
	EndsAt      time.Time `json:"ends_at"`
	Override    bool      `json:"override"`
}

// NewOnCall describes an on-call schedule to create.
type NewOnCall struct {
	Name         string              `json:"name"`
	Slug         string              `json:"slug,omitempty"`          // "": made from the name
	Zone         string              `json:"zone,omitempty"`          // "": UTC
	HandOverDay  string              `json:"hand_over_day,omitempty"` // "": mon
	HandOverAt   string              `json:"hand_over_at,omitempty"`  // "": 09:00
	StartsOn     string              `json:"starts_on,omitempty"`     // "": today
	Participants []OnCallParticipant `json:"participants,omitempty"`
	Overrides    []OnCallOverride    `json:"overrides,omitempty"`
}

// OnCallChange is a change of an on-call schedule. Nil fields keep their values.
type OnCallChange struct {
	Name         *string              `json:"name,omitempty"`
	Zone         *string              `json:"zone,omitempty"`
	HandOverDay  *string              `json:"hand_over_day,omitempty"`
	HandOverAt   *string              `json:"hand_over_at,omitempty"`
	StartsOn     *string              `json:"starts_on,omitempty"`
	Participants *[]OnCallParticipant `json:"participants,omitempty"`
	Overrides    *[]OnCallOverride    `json:"overrides,omitempty"`
}

// ListOnCall returns the on-call schedules of the workspace, the oldest first.
func (c *Client) ListOnCall() *List[OnCall] {
	return &List[OnCall]{client: c, path: pathOf("on-call")}
}

// CreateOnCall creates an on-call schedule.
func (c *Client) CreateOnCall(ctx context.Context, schedule NewOnCall, options ...CallOption) (*OnCall, error) {
	return post[OnCall](ctx, c, pathOf("on-call"), schedule, options...)
}

// GetOnCall returns an on-call schedule, given its id or slug, with who is on call now and next.
func (c *Client) GetOnCall(ctx context.Context, ref string) (*OnCall, error) {
	return get[OnCall](ctx, c, pathOf("on-call", ref))
}

// ChangeOnCall changes an on-call schedule. The option IfMatch applies.
func (c *Client) ChangeOnCall(ctx context.Context, ref string, change OnCallChange, options ...CallOption) (*OnCall, error) {
	return patch[OnCall](ctx, c, pathOf("on-call", ref), change, options...)
}

// DeleteOnCall deletes an on-call schedule that no rule needs. The option IfMatch applies.
func (c *Client) DeleteOnCall(ctx context.Context, ref string, options ...CallOption) error {
	return c.remove(ctx, pathOf("on-call", ref), options...)
}
