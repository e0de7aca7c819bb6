package api

import (
	"time"

	"github.com/allswell/allswell"
)

// The JSON of every resource. docs/api.md fixes the keys; components, incidents and
// their updates have no others.

type pageJSON struct {
	ID           string                 `json:"id"`
	Slug         string                 `json:"slug"`
	Name         string                 `json:"name"`
	Description  *string                `json:"description"`
	Status       allswell.Status        `json:"status"`
	URL          string                 `json:"url"` // of the public status page
	TimeZone     string                 `json:"time_zone"`
	Language     *string                `json:"language"`
	Domain       *string                `json:"domain"`
	DomainStatus *allswell.DomainStatus `json:"domain_status"`
	Accent       *string                `json:"accent"`
	FooterLinks  []allswell.FooterLink  `json:"footer_links"`
	Logo         *string                `json:"logo"` // URL of the image
	LogoDark     *string                `json:"logo_dark"`
	Icon         *string                `json:"icon"`

	AutoIncidents allswell.AutoIncidents `json:"auto_incidents"`
	Visibility    allswell.Visibility    `json:"visibility"`
	Home          bool                   `json:"home"`

	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func (c *call) newPageJSON(p allswell.Page) pageJSON {
	return pageJSON{
		ID: p.ID, Slug: p.Slug, Name: p.Name, Description: p.Description, Status: p.Status, URL: p.URL(c.base), TimeZone: p.TimeZone,
		Language: ptrOrNil(p.Language), Domain: ptrOrNil(p.Domain), DomainStatus: ptrOrNil(p.DomainStatus), Accent: ptrOrNil(p.Accent),
		FooterLinks: append([]allswell.FooterLink{}, p.Footer...), // [], never null
		Logo:        c.imageURL(p, p.Logo), LogoDark: c.imageURL(p, p.LogoDark), Icon: c.imageURL(p, p.Icon),
		AutoIncidents: p.AutoIncidents, Visibility: p.Visibility, Home: p.Home,
		CreatedAt: allswell.FormatTime(p.CreatedAt), UpdatedAt: allswell.FormatTime(p.UpdatedAt),
	}
}

// imageURL returns the URL of an image of a page, or nil if the name is "".
func (c *call) imageURL(p allswell.Page, name string) *string {
	if name == "" {
		return nil
	}
	url := p.URL(c.base) + "/look/" + name
	return &url
}

type groupJSON struct {
	ID        string `json:"id"`
	Slug      string `json:"slug"`
	Name      string `json:"name"`
	Order     int    `json:"order"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func newGroupJSON(g allswell.Group) groupJSON {
	return groupJSON{
		ID: g.ID, Slug: g.Slug, Name: g.Name, Order: g.Order,
		CreatedAt: allswell.FormatTime(g.CreatedAt), UpdatedAt: allswell.FormatTime(g.UpdatedAt),
	}
}

type componentJSON struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Status      allswell.Status `json:"status"`
	Order       int             `json:"order"`
	CreatedAt   string          `json:"created_at"`
	UpdatedAt   string          `json:"updated_at"`
}

func newComponentJSON(c allswell.Component) componentJSON {
	return componentJSON{
		ID: c.ID, Name: c.Name, Description: c.Description, Status: c.Status(), Order: c.Order,
		CreatedAt: allswell.FormatTime(c.CreatedAt), UpdatedAt: allswell.FormatTime(c.UpdatedAt),
	}
}

// incidentJSON is an incident without its updates.
type incidentJSON struct {
	ID         string                 `json:"id"`
	Title      string                 `json:"title"`
	Impact     allswell.Impact        `json:"impact"`
	State      allswell.IncidentState `json:"state"`
	Resolved   bool                   `json:"resolved"`
	ResolvedAt *string                `json:"resolved_at"`
	CreatedAt  string                 `json:"created_at"`
	UpdatedAt  string                 `json:"updated_at"`
}

func newIncidentJSON(i allswell.Incident) incidentJSON {
	return incidentJSON{
		ID: i.ID, Title: i.Title, Impact: i.Impact, State: i.State,
		Resolved: i.Resolved, ResolvedAt: timePtr(i.ResolvedAt),
		CreatedAt: allswell.FormatTime(i.CreatedAt), UpdatedAt: allswell.FormatTime(i.UpdatedAt),
	}
}

// incidentWithUpdatesJSON is an incident with its updates, oldest first.
type incidentWithUpdatesJSON struct {
	incidentJSON
	Updates []timelineEntryJSON `json:"updates"`
}

func newIncidentWithUpdatesJSON(i allswell.Incident) incidentWithUpdatesJSON {
	out := incidentWithUpdatesJSON{incidentJSON: newIncidentJSON(i), Updates: make([]timelineEntryJSON, len(i.Updates))}
	for n, u := range i.Updates {
		out.Updates[n] = newTimelineEntryJSON(u)
	}
	return out
}

// timelineEntryJSON is an update inside its incident, without incident_id.
type timelineEntryJSON struct {
	ID        string `json:"id"`
	Message   string `json:"message"`
	CreatedAt string `json:"created_at"`
}

func newTimelineEntryJSON(u allswell.IncidentUpdate) timelineEntryJSON {
	return timelineEntryJSON{ID: u.ID, Message: u.Message, CreatedAt: allswell.FormatTime(u.CreatedAt)}
}

type incidentUpdateJSON struct {
	ID         string `json:"id"`
	IncidentID string `json:"incident_id"`
	Message    string `json:"message"`
	CreatedAt  string `json:"created_at"`
}

func newIncidentUpdateJSON(u allswell.IncidentUpdate) incidentUpdateJSON {
	return incidentUpdateJSON{
		ID: u.ID, IncidentID: u.IncidentID, Message: u.Message,
		CreatedAt: allswell.FormatTime(u.CreatedAt),
	}
}

// affectedComponentJSON is a component that an incident affects.
type affectedComponentJSON struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Status allswell.Status `json:"status"`
}

func newAffectedComponentsJSON(affected []allswell.AffectedComponent) []affectedComponentJSON {
	out := make([]affectedComponentJSON, len(affected))
	for i, a := range affected {
		out[i] = affectedComponentJSON{a.ComponentID, a.Name, a.Status}
	}
	return out
}

type maintenanceJSON struct {
	ID             string                    `json:"id"`
	Title          string                    `json:"title"`
	State          allswell.MaintenanceState `json:"state"`
	ScheduledFor   string                    `json:"scheduled_for"`
	ScheduledUntil string                    `json:"scheduled_until"`
	BegunAt        *string                   `json:"begun_at"`
	EndedAt        *string                   `json:"ended_at"`
	RemindBefore   int64                     `json:"remind_before"` // seconds; 0: no reminder
	Components     []componentRefJSON        `json:"components"`
	CreatedAt      string                    `json:"created_at"`
	UpdatedAt      string                    `json:"updated_at"`
}

type componentRefJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func newMaintenanceJSON(m allswell.Maintenance) maintenanceJSON {
	out := maintenanceJSON{
		ID: m.ID, Title: m.Title, State: m.State,
		ScheduledFor: allswell.FormatTime(m.ScheduledFor), ScheduledUntil: allswell.FormatTime(m.ScheduledUntil),
		BegunAt: timePtr(m.BegunAt), EndedAt: timePtr(m.EndedAt), RemindBefore: int64(m.RemindBefore / time.Second),
		Components: make([]componentRefJSON, len(m.Components)),
		CreatedAt:  allswell.FormatTime(m.CreatedAt), UpdatedAt: allswell.FormatTime(m.UpdatedAt),
	}
	for i, c := range m.Components {
		out.Components[i] = componentRefJSON(c)
	}
	return out
}

// maintenanceWithUpdatesJSON is a maintenance with its updates, oldest first.
type maintenanceWithUpdatesJSON struct {
	maintenanceJSON
	Updates []maintenanceUpdateJSON `json:"updates"`
}

func newMaintenanceWithUpdatesJSON(m allswell.Maintenance) maintenanceWithUpdatesJSON {
	out := maintenanceWithUpdatesJSON{maintenanceJSON: newMaintenanceJSON(m), Updates: make([]maintenanceUpdateJSON, len(m.Updates))}
	for i, u := range m.Updates {
		out.Updates[i] = newMaintenanceUpdateJSON(u)
	}
	return out
}

// maintenanceUpdateJSON is an update of a maintenance.
type maintenanceUpdateJSON struct {
	ID        string                    `json:"id"`
	Message   string                    `json:"message"`
	State     allswell.MaintenanceState `json:"state"`
	CreatedAt string                    `json:"created_at"`
}

func newMaintenanceUpdateJSON(u allswell.MaintenanceUpdate) maintenanceUpdateJSON {
	return maintenanceUpdateJSON{ID: u.ID, Message: u.Message, State: u.State, CreatedAt: allswell.FormatTime(u.CreatedAt)}
}

type monitorJSON struct {
	ID                  string                  `json:"id"`
	Slug                string                  `json:"slug"`
	Name                string                  `json:"name"`
	Token               *string                 `json:"token"`    // null if the caller may only read
	PingURL             *string                 `json:"ping_url"` // null if the caller may only read
	Interval            int64                   `json:"interval"` // seconds
	NextCheckAt         *string                 `json:"next_check_at"`
	ConsecutiveFailures int                     `json:"consecutive_failures"`
	State               allswell.MonitorState   `json:"state"`
	Enabled             bool                    `json:"enabled"`
	ComponentID         *string                 `json:"component_id"`
	Page                *string                 `json:"page"` // the slug
	LastPingAt          *string                 `json:"last_ping_at"`
	FailureThreshold    *int                    `json:"failure_threshold"` // null: the setting for all monitors
	EffectiveThreshold  int                     `json:"effective_failure_threshold"`
	IncidentID          *string                 `json:"incident_id"` // of the open outage
	DownStatus          allswell.Status         `json:"down_status"`
	AutoIncidents       *allswell.AutoIncidents `json:"auto_incidents"` // null: the page's
	CreatedAt           string                  `json:"created_at"`
	UpdatedAt           string                  `json:"updated_at"`
}

// newMonitorJSON returns the JSON of a monitor. The ping token is a credential for
// writing: with it, a caller of the scope read could keep a dead job up.
func (c *call) newMonitorJSON(m allswell.Monitor) monitorJSON {
	var token, pingURL *string
	if c.token.Scope.Allows(write) {
		token, pingURL = &m.Token, new(c.base+"/api/v1/heartbeat/"+m.Token)
	}
	return monitorJSON{
		ID: m.ID, Slug: m.Slug, Name: m.Name, Token: token, PingURL: pingURL,
		Interval: int64(m.Interval / time.Second), NextCheckAt: timePtr(m.NextCheckAt),
		ConsecutiveFailures: m.ConsecutiveFailures, State: m.State, Enabled: m.Enabled,
		ComponentID: ptrOrNil(m.ComponentID), Page: ptrOrNil(m.PageSlug), LastPingAt: timePtr(m.LastPingAt),
		FailureThreshold: ptrOrNil(m.FailureThreshold), EffectiveThreshold: m.EffectiveFailureThreshold,
		IncidentID: ptrOrNil(m.IncidentID), DownStatus: m.DownStatus, AutoIncidents: ptrOrNil(m.AutoIncidents),
		CreatedAt: allswell.FormatTime(m.CreatedAt), UpdatedAt: allswell.FormatTime(m.UpdatedAt),
	}
}

type outageJSON struct {
	ID            string  `json:"id"`
	SilentSince   string  `json:"silent_since"` // the last ping before it
	StartedAt     string  `json:"started_at"`   // when the monitor went down
	EndedAt       *string `json:"ended_at"`
	IncidentID    *string `json:"incident_id"` // null: it opened none, or that was deleted
	IncidentDraft bool    `json:"incident_draft"`
}

func newOutageJSON(o allswell.Outage) outageJSON {
	return outageJSON{
		ID: o.ID, SilentSince: allswell.FormatTime(o.SilentSince), StartedAt: allswell.FormatTime(o.StartedAt), EndedAt: timePtr(o.EndedAt),
		IncidentID: ptrOrNil(o.IncidentID), IncidentDraft: o.Draft,
	}
}

// subscriberJSON contains neither the key of the subscription's links nor a secret.
type subscriberJSON struct {
	ID           string           `json:"id"`
	Channel      allswell.Channel `json:"channel"`
	Target       string           `json:"target"`
	Confirmed    bool             `json:"confirmed"`
	WholePage    bool             `json:"whole_page"`
	Components   []string         `json:"components"` // if not the whole page
	SuspendedAt  *string          `json:"suspended_at"`
	SuspendedFor *string          `json:"suspended_for"`
	Refusals     int              `json:"refusals"`
	CreatedAt    string           `json:"created_at"`
	UpdatedAt    string           `json:"updated_at"`
	ConfirmedAt  *string          `json:"confirmed_at"`
}

func newSubscriberJSON(s allswell.Subscriber) subscriberJSON {
	return subscriberJSON{
		ID: s.ID, Channel: s.Channel, Target: s.Target, Confirmed: !s.ConfirmedAt.IsZero(),
		WholePage: s.WholePage, Components: append([]string{}, s.Components...), // [], never null
		SuspendedAt: timePtr(s.SuspendedAt), SuspendedFor: ptrOrNil(s.SuspendedFor), Refusals: s.Rejections,
		CreatedAt: allswell.FormatTime(s.CreatedAt), UpdatedAt: allswell.FormatTime(s.UpdatedAt), ConfirmedAt: timePtr(s.ConfirmedAt),
	}
}

// subscriberWithSecretJSON is a subscriber with a new secret, which is shown only
// once. E-mail subscribers have none.
type subscriberWithSecretJSON struct {
	subscriberJSON
	Secret string `json:"secret,omitempty"`
}

func newSubscriberWithSecretJSON(s allswell.Subscriber) subscriberWithSecretJSON {
	return subscriberWithSecretJSON{newSubscriberJSON(s), s.Secret}
}

type deliveryJSON struct {
	ID            string                   `json:"id"`
	Purpose       allswell.DeliveryPurpose `json:"purpose"`
	Channel       allswell.Channel         `json:"channel"`
	Target        *string                  `json:"target"` // null: the subscription has ended
	Event         *allswell.EventKind      `json:"event"`
	IncidentID    *string                  `json:"incident_id"`
	MaintenanceID *string                  `json:"maintenance_id"`
	State         allswell.DeliveryState   `json:"state"`
	Attempts      int                      `json:"attempts"`
	Reason        *string                  `json:"reason"`
	NextAttemptAt *string                  `json:"next_attempt_at"` // null unless pending
	CreatedAt     string                   `json:"created_at"`
	UpdatedAt     string                   `json:"updated_at"`
	SubscriberID  string                   `json:"subscriber_id"`
	CarriedBy     *string                  `json:"carried_by"` // null unless superseded
	WaitsFor      *string                  `json:"waits_for"`  // null unless pending behind another delivery
}

func newDeliveryJSON(d allswell.DeliveryLogEntry) deliveryJSON {
	out := deliveryJSON{
		ID: d.ID, Purpose: d.Purpose, Channel: d.Channel, Target: ptrOrNil(d.Target),
		Event: ptrOrNil(d.Kind), IncidentID: ptrOrNil(d.IncidentID), MaintenanceID: ptrOrNil(d.MaintenanceID),
		State: d.State, Attempts: d.Attempts, Reason: ptrOrNil(d.Reason),
		CreatedAt: allswell.FormatTime(d.CreatedAt), UpdatedAt: allswell.FormatTime(d.UpdatedAt),
		SubscriberID: d.SubscriberID, WaitsFor: ptrOrNil(d.WaitsFor),
	}
	switch d.State {
	case allswell.DeliveryPending:
		next := d.NextAttemptAt
		if d.HeldUntil.After(next) {
			next = d.HeldUntil
		}
		out.NextAttemptAt = timePtr(next)
	case allswell.DeliverySuperseded:
		out.CarriedBy = ptrOrNil(d.MergedInto)
	}
	return out
}

type tokenJSON struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Scope      allswell.Scope `json:"scope"`
	CreatedAt  string         `json:"created_at"`
	LastUsedAt *string        `json:"last_used_at"`
	RevokedAt  *string        `json:"revoked_at"`
}

func newTokenJSON(t allswell.Token) tokenJSON {
	return tokenJSON{
		ID: t.ID, Name: t.Name, Scope: t.Scope, CreatedAt: allswell.FormatTime(t.CreatedAt),
		LastUsedAt: timePtr(t.LastUsedAt), RevokedAt: timePtr(t.RevokedAt),
	}
}

// issuedTokenJSON is a new token with its secret, which is shown only once.
type issuedTokenJSON struct {
	tokenJSON
	Token string `json:"token"`
}

func newIssuedTokenJSON(t allswell.IssuedToken) issuedTokenJSON {
	return issuedTokenJSON{newTokenJSON(t.Token), t.Secret}
}

// timePtr formats a time. It returns nil for the zero Time.
func timePtr(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := allswell.FormatTime(t)
	return &text
}

// ptrOrNil returns a pointer to v, or nil if v is the zero value.
func ptrOrNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
