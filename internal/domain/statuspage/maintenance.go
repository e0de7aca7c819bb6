package statuspage

import (
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaintenanceState is the progress of a maintenance.
type MaintenanceState string

// The states of a maintenance, in order. A maintenance begins and ends at its scheduled times;
// people can begin and end it earlier.
const (
	MaintenanceScheduled  MaintenanceState = "scheduled"
	MaintenanceInProgress MaintenanceState = "in_progress"
	MaintenanceVerifying  MaintenanceState = "verifying"
	MaintenanceCompleted  MaintenanceState = "completed"
)

// MaintenanceStates lists all valid states.
var MaintenanceStates = []MaintenanceState{
	MaintenanceScheduled, MaintenanceInProgress, MaintenanceVerifying, MaintenanceCompleted,
}

// Valid reports whether s is one of the four states.
func (s MaintenanceState) Valid() bool { return slices.Contains(MaintenanceStates, s) }

// Label returns the English name of the state.
func (s MaintenanceState) Label() string {
	switch s {
	case MaintenanceScheduled:
		return "Scheduled"
	case MaintenanceInProgress:
		return "In progress"
	case MaintenanceVerifying:
		return "Verifying"
	default:
		return "Completed"
	}
}

// Limits of maintenances.
const (
	MinMaintenanceLength = time.Minute
	MaxMaintenanceLength = 31 * 24 * time.Hour
	MaxMaintenanceLead   = 2 * 366 * 24 * time.Hour // from now until its beginning

	DefaultRemindBefore = 24 * time.Hour
	MaxRemindBefore     = 14 * 24 * time.Hour

	MaxAffectedComponents = 500 // of one maintenance or incident
)

// Maintenance is planned work. While it runs, its components have the status StatusMaintenance and
// their monitors are suppressed. Its end gives each monitor a fresh interval; see PingWait.
type Maintenance struct {
	ID             string
	PageID         string
	Title          string
	State          MaintenanceState
	ScheduledFor   time.Time
	ScheduledUntil time.Time
	BegunAt        time.Time     // zero: not begun
	EndedAt        time.Time     // zero: not ended
	RemindBefore   time.Duration // how long before ScheduledFor subscribers are reminded; 0: never
	RemindedAt     time.Time     // zero: no reminder was sent or skipped
	Components     []ComponentName
	Updates        []MaintenanceUpdate // oldest first, if loaded
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// ComponentName is the id and the name of a component.
type ComponentName struct{ ID, Name string }

// ComponentIDs returns the ids of components.
func ComponentIDs(components []ComponentName) []string {
	ids := make([]string, len(components))
	for i, c := range components {
		ids[i] = c.ID
	}
	return ids
}

// ComponentRefs returns components whose names are not known yet, given their ids or slugs.
func ComponentRefs(refs ...string) []ComponentName {
	components := make([]ComponentName, len(refs))
	for i, ref := range refs {
		components[i].ID = ref
	}
	return components
}

// MaintenanceUpdate is an entry in the timeline of a maintenance.
type MaintenanceUpdate struct {
	ID            string
	MaintenanceID string
	Number        int // 1 for the first update of its maintenance
	Message       string
	State         MaintenanceState // state of the maintenance at the time
	System        SystemMessage    // zero: written by a person
	Truncated     bool             // Message is only the beginning; see store.LoadPage
	CreatedAt     time.Time
}

// Running reports whether the maintenance has begun and not ended.
func (m Maintenance) Running() bool {
	return m.State == MaintenanceInProgress || m.State == MaintenanceVerifying
}

// NextTransitionAt returns when Advance will next change the maintenance, or the zero Time if never.
func (m Maintenance) NextTransitionAt() time.Time {
	switch {
	case m.State == MaintenanceCompleted:
		return time.Time{}
	case m.Running():
		return m.ScheduledUntil
	case m.RemindBefore > 0 && m.RemindedAt.IsZero():
		return m.ScheduledFor.Add(-m.RemindBefore)
	default:
		return m.ScheduledFor
	}
}

// MaintenanceTransition is a change of a maintenance that subscribers are notified of.
type MaintenanceTransition int

// The transitions of a maintenance.
const (
	TransitionNone   MaintenanceTransition = iota
	TransitionRemind                       // subscribers are reminded
	TransitionBegin                        // it begins
	TransitionEnd                          // it ends
	TransitionMissed                       // it begins and ends together, because the service was not running
)

// Advance applies the next transition that is due at now. Call it until it returns TransitionNone.
// A reminder is skipped once the maintenance has begun.
func (m *Maintenance) Advance(now time.Time) MaintenanceTransition {
	switch edge := m.NextTransitionAt(); {
	case edge.IsZero() || now.Before(edge):
		return TransitionNone
	case m.Running():
		m.end(now)
		return TransitionEnd
	case !now.Before(m.ScheduledUntil):
		m.BegunAt = m.ScheduledFor
		m.end(m.ScheduledUntil)
		m.UpdatedAt = kernel.Later(now, m.UpdatedAt)
		return TransitionMissed
	case !now.Before(m.ScheduledFor):
		m.begin(now)
		return TransitionBegin
	default:
		m.RemindedAt = now
		return TransitionRemind
	}
}

func (m *Maintenance) begin(now time.Time) {
	m.State, m.BegunAt, m.UpdatedAt = MaintenanceInProgress, now, now
}

func (m *Maintenance) end(now time.Time) {
	m.State, m.EndedAt, m.UpdatedAt = MaintenanceCompleted, now, now
}

// Message returns the text of the timeline entry that the service writes for a transition,
// or "" for a transition without an entry.
func (t MaintenanceTransition) Message() string { return t.SystemMessage().Text() }

// Plan completes a new maintenance: a reminder that would already be due is skipped, because the announcement replaces
// it, and its first update, if there is one, gets an id.
func (m *Maintenance) Plan(updateID string, now time.Time) {
	m.skipLateReminder(now)
	if len(m.Updates) > 0 {
		message := m.Updates[0].Message
		m.Updates = nil
		m.AddUpdate(updateID, message, 1, now)
	}
}

func (m *Maintenance) skipLateReminder(now time.Time) {
	m.RemindedAt = time.Time{}
	if m.RemindBefore > 0 && !now.Before(m.ScheduledFor.Add(-m.RemindBefore)) {
		m.RemindedAt = now
	}
}

// FirstMessage returns the message with which a new maintenance is announced; nil: none.
func (m *Maintenance) FirstMessage() *string {
	if len(m.Updates) == 0 {
		return nil
	}
	return &m.Updates[0].Message
}

// SetFirstMessage sets the message with which a new maintenance is announced; nil: none.
func (m *Maintenance) SetFirstMessage(message *string) {
	m.Updates = nil
	if message != nil {
		m.Updates = []MaintenanceUpdate{{Message: *message}}
	}
}

// Change applies a change by people, and what follows from it. A maintenance that begins early is moved to now and
// keeps its length, unless the change sets its end. The error is the error of the change.
func (m *Maintenance) Change(change func(*Maintenance) error, now time.Time) error {
	before := *m
	err := change(m)
	if m.RemindBefore != before.RemindBefore || !m.ScheduledFor.Equal(before.ScheduledFor) {
		m.skipLateReminder(now)
	}
	switch m.TransitionFrom(before) {
	case TransitionBegin:
		if now.Before(m.ScheduledFor) {
			if !setsEnd(change, before) {
				m.ScheduledUntil = now.Add(m.ScheduledUntil.Sub(m.ScheduledFor))
			}
			m.ScheduledFor = now
		}
		m.BegunAt = now
	case TransitionEnd:
		m.EndedAt = now
	}
	return err
}

// setsEnd reports whether a change sets the end of a maintenance, even to the present value.
func setsEnd(change func(*Maintenance) error, m Maintenance) bool {
	m.ScheduledUntil = time.Time{}
	return change(&m) == nil && !m.ScheduledUntil.IsZero()
}

// TransitionFrom returns the transition by which people changed a maintenance.
func (m Maintenance) TransitionFrom(before Maintenance) MaintenanceTransition {
	switch {
	case m.State == before.State:
	case m.State == MaintenanceCompleted:
		return TransitionEnd
	case before.State == MaintenanceScheduled:
		return TransitionBegin
	}
	return TransitionNone
}

// AddUpdate appends an update with the given number to the timeline.
func (m *Maintenance) AddUpdate(id, message string, number int, now time.Time) MaintenanceUpdate {
	now = kernel.Later(now, m.UpdatedAt)
	u := MaintenanceUpdate{
		ID: id, MaintenanceID: m.ID, Number: number, Message: message, State: m.State, CreatedAt: now,
	}
	m.Updates = append(m.Updates, u)
	m.UpdatedAt = now
	return u
}

// CheckComponentIDs adds an error to bad for too many components and for duplicates.
func CheckComponentIDs(bad *kernel.ValidationError, ids []string) {
	if len(ids) > MaxAffectedComponents {
		bad.Add("components", "There may be at most %d components.", MaxAffectedComponents)
	}
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			bad.Add("components", "A component is named twice.")
			return
		}
		seen[id] = true
	}
}

// Span returns when the maintenance began and ended, or is scheduled to.
func (m Maintenance) Span() (begin, end time.Time) {
	begin, end = m.ScheduledFor, m.ScheduledUntil
	if !m.BegunAt.IsZero() {
		begin = m.BegunAt
	}
	if !m.EndedAt.IsZero() {
		end = m.EndedAt
	}
	return begin, end
}

// AuditObject returns the form of an update of a maintenance in the audit log.
func (u MaintenanceUpdate) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{Kind: kernel.ObjectMaintenanceUpdate, ID: u.ID, Fields: map[string]any{
		"maintenance_id": u.MaintenanceID, "message": u.Message, "state": u.State,
	}}
}
