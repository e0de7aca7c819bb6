package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// Incident is an incident on a page.
type Incident struct {
	Meta
	ID         string        `json:"id"`
	Title      string        `json:"title"`
	Impact     Impact        `json:"impact"`
	State      IncidentState `json:"state"`
	Resolved   bool          `json:"resolved"`
	ResolvedAt *time.Time    `json:"resolved_at"`
	CreatedAt  time.Time     `json:"created_at"`
	UpdatedAt  time.Time     `json:"updated_at"`
	// the oldest first; nil from ListIncidents, ChangeIncident and MergeIncident
	Updates []IncidentUpdate `json:"updates"`
}

// IncidentUpdate is an entry of an incident's timeline.
type IncidentUpdate struct {
	Meta
	ID         string    `json:"id"`
	IncidentID string    `json:"incident_id"` // empty in Incident.Updates
	Message    string    `json:"message"`
	CreatedAt  time.Time `json:"created_at"`

	// Only ListUpdates, GetUpdate and EditUpdate return these.
	EditedAt *time.Time `json:"edited_at"` // when the text was last changed; nil: never
	Notified *bool      `json:"notified"`  // whether subscribers were notified
}

// NewIncident describes an incident to create.
type NewIncident struct {
	// id, slug or name of a template, which gives the fields that are not set
	Template   string           `json:"template,omitempty"`
	Title      string           `json:"title,omitempty"`      // required without a template
	Impact     *Impact          `json:"impact,omitempty"`     // nil: by the worst status of the components
	State      *IncidentState   `json:"state,omitempty"`      // nil: investigating
	Message    *string          `json:"message,omitempty"`    // the first update
	Components []AffectedStatus `json:"components,omitempty"` // the affected components
	Draft      bool             `json:"draft,omitempty"`      // only members see it, until PublishIncident
	// whether subscribers are notified; nil: unless ResolvedAt is set
	Notify *bool `json:"notify,omitempty"`

	BeganAt    *time.Time `json:"began_at,omitempty"`    // nil: now
	ResolvedAt *time.Time `json:"resolved_at,omitempty"` // when it was over; nil: it is not
}

// AffectedStatus is a component that an incident affects, and the status that the incident gives it until it is
// resolved.
type AffectedStatus struct {
	ID     string `json:"id"` // the component's id or slug
	Status Status `json:"status"`
}

// AffectedComponent is a component that an incident affects.
type AffectedComponent struct {
	Meta
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status Status `json:"status"` // given by the incident, or last given by it before it was resolved
}

// IncidentChange is a change of an incident.
type IncidentChange struct {
	Title    *string        `json:"title,omitempty"`
	Impact   *Impact        `json:"impact,omitempty"`
	State    *IncidentState `json:"state,omitempty"`
	Resolved *bool          `json:"resolved,omitempty"`
	// text of an update that is added after the change, unless it repeats the newest update and nothing else changes
	Message *string `json:"message,omitempty"`
	Notify  *bool   `json:"notify,omitempty"` // false: nobody is notified
}

// NewIncidentUpdate describes an update to add to an incident, and a change of the incident that is made first. Nil
// fields keep their values.
type NewIncidentUpdate struct {
	Message    string            `json:"message"`
	State      *IncidentState    `json:"state,omitempty"`
	Impact     *Impact           `json:"impact,omitempty"`
	Components *[]AffectedStatus `json:"components,omitempty"` // the affected components, in place of the present ones
	// when it happened, not before the time of the newest update; nil: now
	At     *time.Time `json:"at,omitempty"`
	Notify *bool      `json:"notify,omitempty"` // whether subscribers are notified; nil: unless At is set
}

// IncidentFilter selects incidents.
type IncidentFilter struct {
	Resolved  *bool  // nil: all
	Drafts    bool   // drafts in place of the incidents that are published
	Component string // the id of an affected component; "": all
}

// ListIncidents returns the incidents of a page, the newest first, without their updates.
func (c *Client) ListIncidents(page string, filter IncidentFilter) *List[Incident] {
	query := make(url.Values)
	if filter.Resolved != nil {
		query.Set("resolved", strconv.FormatBool(*filter.Resolved))
	}
	if filter.Drafts {
		query.Set("draft", "true")
	}
	if filter.Component != "" {
		query.Set("component_id", filter.Component)
	}
	return &List[Incident]{client: c, path: pathOf("pages", page, "incidents"), query: query}
}

// CreateIncident creates an incident on a page.
func (c *Client) CreateIncident(
	ctx context.Context, page string, incident NewIncident, options ...CallOption,
) (*Incident, error) {
	return post[Incident](ctx, c, pathOf("pages", page, "incidents"), incident, options...)
}

// GetIncident returns an incident with its updates.
func (c *Client) GetIncident(ctx context.Context, id string) (*Incident, error) {
	return get[Incident](ctx, c, pathOf("incidents", id))
}

// ChangeIncident changes, resolves or reopens an incident.
func (c *Client) ChangeIncident(ctx context.Context, id string, change IncidentChange) (*Incident, error) {
	return patch[Incident](ctx, c, pathOf("incidents", id), change)
}

// PublishIncident publishes a draft, and notifies subscribers, unless the option Silently is given. An incident that is
// published already does not change.
func (c *Client) PublishIncident(ctx context.Context, id string, options ...CallOption) (*Incident, error) {
	return post[Incident](ctx, c, pathOf("incidents", id, "publish"), nil, options...)
}

// DeleteIncident deletes an incident with its updates.
func (c *Client) DeleteIncident(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("incidents", id))
}

// ListUpdates returns the updates of an incident, the oldest first.
func (c *Client) ListUpdates(incident string) *List[IncidentUpdate] {
	return &List[IncidentUpdate]{client: c, path: pathOf("incidents", incident, "updates")}
}

// PostUpdate adds an update to an incident, and changes the incident. Subscribers are notified once.
func (c *Client) PostUpdate(
	ctx context.Context, incident string, update NewIncidentUpdate, options ...CallOption,
) (*IncidentUpdate, error) {
	return post[IncidentUpdate](ctx, c, pathOf("incidents", incident, "updates"), update, options...)
}

// GetUpdate returns an update of an incident.
func (c *Client) GetUpdate(ctx context.Context, incident, id string) (*IncidentUpdate, error) {
	return get[IncidentUpdate](ctx, c, pathOf("incidents", incident, "updates", id))
}

// EditUpdate replaces the text of an update. Nobody is notified. The option IfMatch applies.
func (c *Client) EditUpdate(
	ctx context.Context, incident, id, message string, options ...CallOption,
) (*IncidentUpdate, error) {
	body := UpdateEdit{message}
	return patch[IncidentUpdate](ctx, c, pathOf("incidents", incident, "updates", id), body, options...)
}

// UpdateEdit is the new text of an update.
type UpdateEdit struct {
	Message string `json:"message"`
}

// DeleteUpdate deletes an update with its text. Nobody is notified. The option IfMatch applies.
func (c *Client) DeleteUpdate(ctx context.Context, incident, id string, options ...CallOption) error {
	return c.remove(ctx, pathOf("incidents", incident, "updates", id), options...)
}

// GetAffectedComponents returns the components that an incident affects, in their order.
func (c *Client) GetAffectedComponents(ctx context.Context, incident string) ([]*AffectedComponent, error) {
	return c.affected(get[[]json.RawMessage](ctx, c, pathOf("incidents", incident, "components")))
}

// SetAffectedComponents replaces the components that an incident affects, and returns them.
func (c *Client) SetAffectedComponents(
	ctx context.Context, incident string, components []AffectedStatus,
) ([]*AffectedComponent, error) {
	body := struct {
		Components []AffectedStatus `json:"components"`
	}{append([]AffectedStatus{}, components...)} // [], never null
	return c.affected(put[[]json.RawMessage](ctx, c, pathOf("incidents", incident, "components"), body))
}

func (c *Client) affected(raw *[]json.RawMessage, err error) ([]*AffectedComponent, error) {
	if err != nil {
		return nil, err
	}
	return decodeAll[AffectedComponent](c, *raw)
}
