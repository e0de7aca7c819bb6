package kernel

import (
	"encoding/json"
	"reflect"
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
	AuditRotate  AuditAction = "rotate"  // a ping token or key, the secret of a subscriber's webhook, or a password
	AuditRevoke  AuditAction = "revoke"  // an API token
	AuditRetry   AuditAction = "retry"   // a delivery
	AuditConfirm AuditAction = "confirm" // a subscription, or the address of an alert channel
	AuditResume  AuditAction = "resume"  // a suspended subscription
	AuditTest    AuditAction = "test"    // a subscriber was sent a test message
	AuditExport  AuditAction = "export"  // the subscribers of a page, or a backup of the database
	AuditImport  AuditAction = "import"  // subscribers of a page

	AuditAcknowledge AuditAction = "acknowledge" // an alert
)

// AuditActions lists all audited actions.
var AuditActions = []AuditAction{
	AuditCreate, AuditUpdate, AuditDelete, AuditRotate, AuditRevoke, AuditRetry, AuditConfirm, AuditResume, AuditTest,
	AuditExport, AuditImport, AuditAcknowledge,
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
	ObjectPostmortem        ObjectKind = "postmortem"
	ObjectIncidentTemplate  ObjectKind = "incident_template"
	ObjectMaintenance       ObjectKind = "maintenance"
	ObjectMaintenanceUpdate ObjectKind = "maintenance_update"
	ObjectAnnouncement      ObjectKind = "announcement"
	ObjectMonitor           ObjectKind = "monitor"
	ObjectSubscriber        ObjectKind = "subscriber"
	ObjectDelivery          ObjectKind = "delivery"
	ObjectToken             ObjectKind = "token"
	ObjectUser              ObjectKind = "user"
	ObjectMember            ObjectKind = "member"
	ObjectInvitation        ObjectKind = "invitation"
	ObjectSession           ObjectKind = "session" // a sign-in
	ObjectPasskey           ObjectKind = "passkey"
	ObjectDatabase          ObjectKind = "database" // a backup of it
	ObjectAlertChannel      ObjectKind = "alert_channel"
	ObjectAlertRule         ObjectKind = "alert_rule"
	ObjectAlert             ObjectKind = "alert"
	ObjectSilence           ObjectKind = "silence"
	ObjectOnCall            ObjectKind = "on_call"
)

// ObjectKinds lists all kinds of audited objects.
var ObjectKinds = []ObjectKind{
	ObjectPage, ObjectGroup, ObjectComponent, ObjectIncident, ObjectIncidentUpdate, ObjectPostmortem,
	ObjectIncidentTemplate, ObjectMaintenance, ObjectMaintenanceUpdate, ObjectAnnouncement, ObjectMonitor,
	ObjectSubscriber, ObjectDelivery, ObjectToken, ObjectUser, ObjectMember,
	ObjectInvitation, ObjectSession, ObjectPasskey, ObjectDatabase, ObjectAlertChannel, ObjectAlertRule, ObjectAlert,
	ObjectSilence, ObjectOnCall,
}

// AuditObject is the form in which the audit log records an object.
type AuditObject struct {
	Kind ObjectKind
	ID   string
	Name string // its name or title at that time; "" if it has none

	// Fields are the fields that an actor can change, by their names in the API. They
	// contain no secrets and no addresses of people.
	Fields map[string]any

	// Unset has the names of fields that have their defaults because nobody set them. Entries of new and deleted
	// objects omit them.
	Unset map[string]bool

	// Secrets says which versions of its secrets the object has. An audit entry names the secrets that were changed.
	Secrets SecretVersions
}

// Database is the database as an object of the audit log. All workspaces share it.
type Database struct{}

// AuditObject returns the form of the database in the audit log.
func (Database) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectDatabase, ID: string(ObjectDatabase)}
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

// NewAuditEntry returns the entry, without its id and its time, for a change that actor made. before
// is nil for a new object, after is nil for a deleted one. ok is false if no field changed, unless the
// action changes only fields that are not recorded.
func NewAuditEntry(actor Actor, action AuditAction, before, after Auditable) (e AuditEntry, ok bool) {
	e = AuditEntry{Actor: actor, Action: action}
	var was, is AuditObject
	if before != nil {
		was = before.AuditObject()
		e.Object = was
	}
	if after != nil {
		is = after.AuditObject()
		e.Object = is
	}
	e.Object.Fields, e.Object.Unset, e.Object.Secrets = nil, nil, nil
	old, changed := changedFields(was, is), changedFields(is, was)
	if secrets := is.Secrets.changedSince(was.Secrets); before != nil && len(secrets) > 0 {
		changed["changed_secrets"] = secrets
	}
	e.Before, e.After = fieldsJSON(old), fieldsJSON(changed)
	switch action {
	// changes only a secret or a time, which are not recorded, or nothing
	case AuditRotate, AuditRetry, AuditTest, AuditExport:
		return e, true
	default:
		return e, len(old)+len(changed) > 0
	}
}

// changedFields returns the fields whose value differs in other. For a new or deleted object, whose other is zero,
// empty and unset fields are omitted.
func changedFields(object, other AuditObject) map[string]any {
	out := map[string]any{}
	for name, value := range object.Fields {
		was := other.Fields[name]
		if reflect.DeepEqual(value, was) || other.Fields == nil && (isEmpty(value) || object.Unset[name]) {
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
