package allswell

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"
)

// DefaultAuditRetention is the default of the setting for how long audit entries are kept.
const DefaultAuditRetention = 400 * 24 * time.Hour

// AuditAction is what an actor did to an object.
type AuditAction string

// The audited actions.
const (
	AuditCreate  AuditAction = "create"
	AuditUpdate  AuditAction = "update"
	AuditDelete  AuditAction = "delete"
	AuditRotate  AuditAction = "rotate"  // a ping token or the secret of a webhook
	AuditRevoke  AuditAction = "revoke"  // an API token
	AuditRetry   AuditAction = "retry"   // a delivery
	AuditConfirm AuditAction = "confirm" // a subscription
	AuditResume  AuditAction = "resume"  // a suspended subscription
)

// AuditActions lists all audited actions.
var AuditActions = []AuditAction{
	AuditCreate, AuditUpdate, AuditDelete, AuditRotate, AuditRevoke, AuditRetry, AuditConfirm, AuditResume,
}

// ObjectKind is the kind of an audited object.
type ObjectKind string

// The kinds of audited objects.
const (
	ObjectPage              ObjectKind = "page"
	ObjectGroup             ObjectKind = "group"
	ObjectComponent         ObjectKind = "component"
	ObjectIncident          ObjectKind = "incident"
	ObjectIncidentUpdate    ObjectKind = "incident_update"
	ObjectMaintenance       ObjectKind = "maintenance"
	ObjectMaintenanceUpdate ObjectKind = "maintenance_update"
	ObjectMonitor           ObjectKind = "monitor"
	ObjectSubscriber        ObjectKind = "subscriber"
	ObjectDelivery          ObjectKind = "delivery"
	ObjectToken             ObjectKind = "token"
)

// ObjectKinds lists all kinds of audited objects.
var ObjectKinds = []ObjectKind{
	ObjectPage, ObjectGroup, ObjectComponent, ObjectIncident, ObjectIncidentUpdate, ObjectMaintenance,
	ObjectMaintenanceUpdate, ObjectMonitor, ObjectSubscriber, ObjectDelivery, ObjectToken,
}

// AuditObject is the form in which the audit log records an object.
type AuditObject struct {
	Kind ObjectKind
	ID   string
	Name string // its name or title at that time; "" if it has none

	// Fields are the fields that an actor can change, by their names in the API. They
	// contain no secrets and no addresses of people.
	Fields map[string]any
}

// Auditable is an object whose changes are audited.
type Auditable interface{ AuditObject() AuditObject }

// AuditEntry is one change of one object. Pings and automatic changes by monitors,
// schedules and the service have histories of their own and no audit entries.
type AuditEntry struct {
	ID     string
	At     time.Time
	Actor  Actor
	Action AuditAction
	Object AuditObject // without its fields

	// Before and After are JSON objects with the fields that changed. Before is
	// empty for a created object, After for a deleted one.
	Before, After json.RawMessage
}

// AuditFilter limits a list of audit entries. Empty fields do not limit it.
type AuditFilter struct {
	ObjectKind ObjectKind
	ObjectID   string
	ActorID    string
	Action     AuditAction
	Since      time.Time // inclusive
	Until      time.Time // exclusive
}

// NewAuditEntry returns the entry for a change that actor made at now. before is nil for a
// new object, after is nil for a deleted one. ok is false if no field changed, unless the
// action changes only fields that are not recorded.
func NewAuditEntry(actor Actor, action AuditAction, before, after Auditable, now time.Time) (e AuditEntry, ok bool) {
	e = AuditEntry{ID: NewID(PrefixAuditEntry, now), At: now, Actor: actor, Action: action}
	var was, is map[string]any
	if before != nil {
		e.Object = before.AuditObject()
		was = e.Object.Fields
	}
	if after != nil {
		e.Object = after.AuditObject()
		is = e.Object.Fields
	}
	e.Object.Fields = nil
	was, is = changedFields(was, is), changedFields(is, was)
	e.Before, e.After = fieldsJSON(was), fieldsJSON(is)
	switch action {
	case AuditRotate, AuditRetry: // changes only a secret or a time, which are not recorded
		return e, true
	default:
		return e, len(was)+len(is) > 0
	}
}

// changedFields returns the fields whose value differs in other. For a new or deleted
// object, whose other is nil, empty fields are left out.
func changedFields(fields, other map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range fields {
		was := other[name]
		if reflect.DeepEqual(value, was) || was == nil && other == nil && isEmpty(value) {
			continue
		}
		out[name] = value
	}
	return out
}

func isEmpty(value any) bool {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.String, reflect.Slice:
		return v.Len() == 0
	default:
		return false
	}
}

func fieldsJSON(fields map[string]any) json.RawMessage {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings, numbers, booleans and lists of them always marshal
	}
	return text
}

// orNil returns what p points to, or nil.
func orNil(p *string) any {
	if p == nil {
		return nil
	}
	return *p
}

// AuditObject returns what the audit log records of a page.
func (p Page) AuditObject() AuditObject {
	links := []FooterLink{}
	return AuditObject{Kind: ObjectPage, ID: p.ID, Name: p.Name, Fields: map[string]any{
		"name": p.Name, "slug": p.Slug, "description": orNil(p.Description), "time_zone": p.TimeZone, "language": p.Language,
		"domain": p.Domain, "accent": p.Accent, "footer_links": append(links, p.Footer...), "logo": p.Logo, "icon": p.Icon,
	}}
}

// AuditObject returns what the audit log records of a group.
func (g Group) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectGroup, ID: g.ID, Name: g.Name, Fields: map[string]any{"slug": g.Slug, "name": g.Name, "order": g.Order}}
}

// AuditObject returns what the audit log records of a component.
func (c Component) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectComponent, ID: c.ID, Name: c.Name, Fields: map[string]any{
		"slug": c.Slug, "name": c.Name, "description": orNil(c.Description), "status": c.Status(), "order": c.Order, "group": c.GroupID,
	}}
}

// AuditObject returns what the audit log records of an incident.
func (i Incident) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectIncident, ID: i.ID, Name: i.Title, Fields: map[string]any{
		"title": i.Title, "impact": i.Impact, "state": i.State, "resolved": i.Resolved, "components": affectedStatuses(i.Affected),
	}}
}

// affectedStatuses returns the affected components, sorted by id.
func affectedStatuses(affected []AffectedComponent) []map[string]string {
	statuses := make(map[string]Status, len(affected))
	for _, a := range affected {
		statuses[a.ComponentID] = a.Status
	}
	out := []map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(statuses)) {
		out = append(out, map[string]string{"id": id, "status": string(statuses[id])})
	}
	return out
}

// AuditObject returns what the audit log records of an update of an incident.
func (u IncidentUpdate) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectIncidentUpdate, ID: u.ID, Fields: map[string]any{"incident_id": u.IncidentID, "message": u.Message}}
}

// AuditObject returns what the audit log records of a maintenance.
func (m Maintenance) AuditObject() AuditObject {
	components := []string{}
	for _, c := range m.Components {
		components = append(components, c.ID)
	}
	slices.Sort(components)
	return AuditObject{Kind: ObjectMaintenance, ID: m.ID, Name: m.Title, Fields: map[string]any{
		"title": m.Title, "state": m.State, "scheduled_for": FormatTime(m.ScheduledFor), "scheduled_until": FormatTime(m.ScheduledUntil),
		"remind_before": int64(m.RemindBefore / time.Second), "components": components,
	}}
}

// AuditObject returns what the audit log records of an update of a maintenance.
func (u MaintenanceUpdate) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectMaintenanceUpdate, ID: u.ID, Fields: map[string]any{
		"maintenance_id": u.MaintenanceID, "message": u.Message, "state": u.State,
	}}
}

// AuditObject returns what the audit log records of a monitor.
func (m Monitor) AuditObject() AuditObject {
	var threshold any
	if m.FailureThreshold > 0 {
		threshold = m.FailureThreshold
	}
	return AuditObject{Kind: ObjectMonitor, ID: m.ID, Name: m.Name, Fields: map[string]any{
		"slug": m.Slug, "name": m.Name, "interval": int64(m.Interval / time.Second), "page": m.PageSlug, "component_id": m.ComponentID,
		"enabled": m.Enabled, "failure_threshold": threshold, "down_status": m.DownStatus,
	}}
}

// AuditObject returns what the audit log records of a subscriber: everything but the
// address, which is deleted when the subscription ends.
func (s Subscriber) AuditObject() AuditObject {
	components := append([]string{}, s.Components...)
	slices.Sort(components)
	return AuditObject{Kind: ObjectSubscriber, ID: s.ID, Fields: map[string]any{
		"channel": s.Channel, "confirmed": !s.ConfirmedAt.IsZero(), "suspended": !s.SuspendedAt.IsZero(),
		"whole_page": s.WholePage, "components": components,
	}}
}

// AuditObject returns what the audit log records of a delivery.
func (d Delivery) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectDelivery, ID: d.ID, Fields: map[string]any{"state": d.State}}
}

// AuditObject returns what the audit log records of a token.
func (t Token) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectToken, ID: t.ID, Name: t.Name, Fields: map[string]any{
		"name": t.Name, "scope": t.Scope, "revoked": !t.RevokedAt.IsZero(),
	}}
}
