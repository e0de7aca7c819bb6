package statuspage

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// CheckMessage returns a *ValidationError if the message of an update is blank or too long.
func CheckMessage(message string) error {
	var bad kernel.ValidationError
	kernel.CheckText(&bad, "message", message, kernel.MaxMessageLength)
	return bad.Err()
}

// check adds the problems of the message, if there is one.
func (u IncidentUpdate) check(bad *kernel.ValidationError) {
	if u.Message != "" {
		kernel.CheckText(bad, "message", u.Message, kernel.MaxMessageLength)
	}
}

// Edit replaces the text of an update and marks it as edited. The same text changes nothing. An edited system message
// becomes the text of a person.
func (u *IncidentUpdate) Edit(message string, now time.Time) {
	if message != u.Message {
		u.Message, u.System, u.EditedAt = message, SystemMessage{}, kernel.Later(now, u.CreatedAt)
	}
}

// NotifiedKind returns the kind of event by which subscribers are notified of a change of an incident that is not
// silent. ok is false if they are not notified: the incident is a draft, or it was resolved and they were never
// notified of it. The first event of an incident is EventIncidentCreated, even if the incident was opened silently.
func (i Incident) NotifiedKind(kind EventKind) (notified EventKind, ok bool) {
	switch {
	case i.Draft || !i.Notified && kind == EventIncidentResolved:
		return "", false
	case !i.Notified:
		return EventIncidentCreated, true
	default:
		return kind, true
	}
}

// AuditObject returns the form of an update of an incident in the audit log.
func (u IncidentUpdate) AuditObject() kernel.AuditObject {
	fields := map[string]any{"incident_id": u.IncidentID, "message": u.Message}
	if u.Silent {
		fields["notified"] = false
	}
	return kernel.AuditObject{Kind: kernel.ObjectIncidentUpdate, ID: u.ID, Fields: fields}
}
