package api

import (
	"time"

	"github.com/allswell/allswell"
)

// The JSON of every resource. Those of the contract have exactly its keys.

type pageJSON struct {
	ID           string                 `json:"id"`
	Slug         string                 `json:"slug"`
	Name         string                 `json:"name"`
	Description  *string                `json:"description"`
	Status       allswell.Status        `json:"status"`
	URL          string                 `json:"url"` // where people see it
	TimeZone     string                 `json:"time_zone"`
	Language     *string                `json:"language"`
	Domain       *string                `json:"domain"`
	DomainStatus *allswell.DomainStatus `json:"domain_status"`
	Accent       *string                `json:"accent"`
	FooterLinks  []allswell.FooterLink  `json:"footer_links"`
	Logo         *string                `json:"logo"` // where it is to be had
	Icon         *string                `json:"icon"`
	CreatedAt    string                 `json:"created_at"`
	UpdatedAt    string                 `json:"updated_at"`
}

func (c *call) presentPage(p allswell.Page) pageJSON {
	return pageJSON{
		ID: p.ID, Slug: p.Slug, Name: p.Name, Description: p.Description, Status: p.Status, URL: p.URL(c.base), TimeZone: p.TimeZone,
		Language: unlessZero(p.Language), Domain: unlessZero(p.Domain), DomainStatus: unlessZero(p.DomainStatus), Accent: unlessZero(p.Accent),
		FooterLinks: append([]allswell.FooterLink{}, p.Footer...), // [], never null
		Logo:        c.imageURL(p, p.Logo), Icon: c.imageURL(p, p.Icon),
		CreatedAt: allswell.FormatTime(p.CreatedAt), UpdatedAt: allswell.FormatTime(p.UpdatedAt),
	}
}

// imageURL returns where one of a page's pictures is to be had, or nil if it has
// none.
func (c *call) imageURL(p allswell.Page, name string) *string {
	if name == "" {
		return nil
	}
	url := p.URL(c.base) + "/look/" + name
	return &url
}

type groupJSON struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Order     int    `json:"order"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func presentGroup(g allswell.Group) groupJSON {
	return groupJSON{
		ID: g.ID, Name: g.Name, Order: g.Order,
		CreatedAt: allswell.FormatTime(g.CreatedAt), UpdatedAt: allswell.FormatTime(g.UpdatedAt),
	}
}

// componentJSON is contract section 2, "Component".
type componentJSON struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Status      allswell.Status `json:"status"`
	Order       int             `json:"order"`
	CreatedAt   string          `json:"created_at"`
	UpdatedAt   string          `json:"updated_at"`
}

func presentComponent(c allswell.Component) componentJSON {
	return componentJSON{
		ID: c.ID, Name: c.Name, Description: c.Description, Status: c.Status(), Order: c.Order,
		CreatedAt: allswell.FormatTime(c.CreatedAt), UpdatedAt: allswell.FormatTime(c.UpdatedAt),
	}
}

// incidentJSON is contract section 2, "Incident", without updates.
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

func presentIncident(i allswell.Incident) incidentJSON {
	return incidentJSON{
		ID: i.ID, Title: i.Title, Impact: i.Impact, State: i.State,
		Resolved: i.Resolved, ResolvedAt: whenever(i.ResolvedAt),
		CreatedAt: allswell.FormatTime(i.CreatedAt), UpdatedAt: allswell.FormatTime(i.UpdatedAt),
	}
}

// timelineJSON is an incident with its updates, oldest first.
type timelineJSON struct {
	incidentJSON
	Updates []entryJSON `json:"updates"`
}

func presentTimeline(i allswell.Incident) timelineJSON {
	out := timelineJSON{incidentJSON: presentIncident(i), Updates: make([]entryJSON, len(i.Updates))}
	for n, u := range i.Updates {
		out.Updates[n] = presentEntry(u)
	}
	return out
}

// entryJSON is an update within its incident, where incident_id is absent.
type entryJSON struct {
	ID        string `json:"id"`
	Message   string `json:"message"`
	CreatedAt string `json:"created_at"`
}

func presentEntry(u allswell.IncidentUpdate) entryJSON {
	return entryJSON{ID: u.ID, Message: u.Message, CreatedAt: allswell.FormatTime(u.CreatedAt)}
}

// updateJSON is contract section 2, "Incident update".
type updateJSON struct {
	ID         string `json:"id"`
	IncidentID string `json:"incident_id"`
	Message    string `json:"message"`
	CreatedAt  string `json:"created_at"`
}

func presentUpdate(u allswell.IncidentUpdate) updateJSON {
	return updateJSON{
		ID: u.ID, IncidentID: u.IncidentID, Message: u.Message,
		CreatedAt: allswell.FormatTime(u.CreatedAt),
	}
}

// affectedJSON is a component that an incident concerns.
type affectedJSON struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Status allswell.Status `json:"status"`
}

func presentAffected(affected []allswell.AffectedComponent) []affectedJSON {
	out := make([]affectedJSON, len(affected))
	for i, a := range affected {
		out[i] = affectedJSON{a.ComponentID, a.Name, a.Status}
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
	Components     []namedJSON               `json:"components"`
	CreatedAt      string                    `json:"created_at"`
	UpdatedAt      string                    `json:"updated_at"`
}

type namedJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func presentMaintenance(m allswell.Maintenance) maintenanceJSON {
	out := maintenanceJSON{
		ID: m.ID, Title: m.Title, State: m.State,
		ScheduledFor: allswell.FormatTime(m.ScheduledFor), ScheduledUntil: allswell.FormatTime(m.ScheduledUntil),
		BegunAt: whenever(m.BegunAt), EndedAt: whenever(m.EndedAt), RemindBefore: int64(m.RemindBefore / time.Second),
		Components: make([]namedJSON, len(m.Components)),
		CreatedAt:  allswell.FormatTime(m.CreatedAt), UpdatedAt: allswell.FormatTime(m.UpdatedAt),
	}
	for i, c := range m.Components {
		out.Components[i] = namedJSON(c)
	}
	return out
}

// scheduleJSON is a maintenance with its updates, oldest first.
type scheduleJSON struct {
	maintenanceJSON
	Updates []noticeJSON `json:"updates"`
}

func presentSchedule(m allswell.Maintenance) scheduleJSON {
	out := scheduleJSON{maintenanceJSON: presentMaintenance(m), Updates: make([]noticeJSON, len(m.Updates))}
	for i, u := range m.Updates {
		out.Updates[i] = presentNotice(u)
	}
	return out
}

// noticeJSON is an update of a maintenance.
type noticeJSON struct {
	ID        string                    `json:"id"`
	Message   string                    `json:"message"`
	State     allswell.MaintenanceState `json:"state"`
	CreatedAt string                    `json:"created_at"`
}

func presentNotice(u allswell.MaintenanceUpdate) noticeJSON {
	return noticeJSON{ID: u.ID, Message: u.Message, State: u.State, CreatedAt: allswell.FormatTime(u.CreatedAt)}
}

type monitorJSON struct {
	ID                  string                `json:"id"`
	Name                string                `json:"name"`
	Token               string                `json:"token"`
	PingURL             string                `json:"ping_url"`
	Interval            int64                 `json:"interval"` // seconds
	NextCheckAt         *string               `json:"next_check_at"`
	ConsecutiveFailures int                   `json:"consecutive_failures"`
	State               allswell.MonitorState `json:"state"`
	Enabled             bool                  `json:"enabled"`
	ComponentID         *string               `json:"component_id"`
	Page                string                `json:"page"` // the slug
	LastPingAt          *string               `json:"last_ping_at"`
	FailureThreshold    *int                  `json:"failure_threshold"` // null: the setting for all monitors
	EffectiveThreshold  int                   `json:"effective_failure_threshold"`
	IncidentID          *string               `json:"incident_id"` // of the open outage
	DownStatus          allswell.Status       `json:"down_status"`
	CreatedAt           string                `json:"created_at"`
	UpdatedAt           string                `json:"updated_at"`
}

func (c *call) presentMonitor(m allswell.Monitor) monitorJSON {
	return monitorJSON{
		ID: m.ID, Name: m.Name, Token: m.Token, PingURL: c.base + "/api/v1/heartbeat/" + m.Token,
		Interval: int64(m.Interval / time.Second), NextCheckAt: whenever(m.NextCheckAt),
		ConsecutiveFailures: m.ConsecutiveFailures, State: m.State, Enabled: m.Enabled,
		ComponentID: unlessZero(m.ComponentID), Page: m.PageSlug, LastPingAt: whenever(m.LastPingAt),
		FailureThreshold: unlessZero(m.FailureThreshold), EffectiveThreshold: m.EffectiveFailureThreshold,
		IncidentID: unlessZero(m.IncidentID), DownStatus: m.DownStatus,
		CreatedAt: allswell.FormatTime(m.CreatedAt), UpdatedAt: allswell.FormatTime(m.UpdatedAt),
	}
}

// subscriberJSON has neither the key of the subscription's links nor a secret.
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

func presentSubscriber(s allswell.Subscriber) subscriberJSON {
	return subscriberJSON{
		ID: s.ID, Channel: s.Channel, Target: s.Target, Confirmed: !s.ConfirmedAt.IsZero(),
		WholePage: s.WholePage, Components: append([]string{}, s.Components...), // [], never null
		SuspendedAt: whenever(s.SuspendedAt), SuspendedFor: unlessZero(s.SuspendedFor), Refusals: s.Rejections,
		CreatedAt: allswell.FormatTime(s.CreatedAt), UpdatedAt: allswell.FormatTime(s.UpdatedAt), ConfirmedAt: whenever(s.ConfirmedAt),
	}
}

// secretJSON is a subscriber with its new secret, which is shown this once. An
// e-mail subscriber has none.
type secretJSON struct {
	subscriberJSON
	Secret string `json:"secret,omitempty"`
}

func presentSecret(s allswell.Subscriber) secretJSON {
	return secretJSON{presentSubscriber(s), s.Secret}
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
}

func presentDelivery(d allswell.DeliveryLogEntry) deliveryJSON {
	out := deliveryJSON{
		ID: d.ID, Purpose: d.Purpose, Channel: d.Channel, Target: unlessZero(d.Target),
		Event: unlessZero(d.Kind), IncidentID: unlessZero(d.IncidentID), MaintenanceID: unlessZero(d.MaintenanceID),
		State: d.State, Attempts: d.Attempts, Reason: unlessZero(d.Reason),
		CreatedAt: allswell.FormatTime(d.CreatedAt), UpdatedAt: allswell.FormatTime(d.UpdatedAt),
		SubscriberID: d.SubscriberID,
	}
	switch d.State {
	case allswell.DeliveryPending:
		next := d.NextAttemptAt
		if d.HeldUntil.After(next) {
			next = d.HeldUntil
		}
		out.NextAttemptAt = whenever(next)
	case allswell.DeliverySuperseded:
		out.CarriedBy = unlessZero(d.MergedInto)
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

func presentToken(t allswell.Token) tokenJSON {
	return tokenJSON{
		ID: t.ID, Name: t.Name, Scope: t.Scope, CreatedAt: allswell.FormatTime(t.CreatedAt),
		LastUsedAt: whenever(t.LastUsedAt), RevokedAt: whenever(t.RevokedAt),
	}
}

// issuedTokenJSON is a new token with its secret, which is shown this once.
type issuedTokenJSON struct {
	tokenJSON
	Token string `json:"token"`
}

func presentIssuedToken(t allswell.IssuedToken) issuedTokenJSON {
	return issuedTokenJSON{presentToken(t.Token), t.Secret}
}

// whenever writes an instant, or null for the zero Time, which means never.
func whenever(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := allswell.FormatTime(t)
	return &text
}

// unlessZero makes null of a value that stands for "none".
func unlessZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
