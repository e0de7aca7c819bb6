package allswell

import (
	"slices"
	"strconv"
	"strings"
	"time"
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
	RemindBefore   time.Duration // when subscribers are reminded, before ScheduledFor; 0: never
	RemindedAt     time.Time     // zero: no reminder was sent or skipped
	Components     []ComponentName
	Updates        []MaintenanceUpdate // oldest first, if loaded
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// ComponentName is the id and the name of a component.
type ComponentName struct{ ID, Name string }

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

// NextTransitionAt returns when Advance will next change the maintenance, or the zero Time if
// never.
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
	TransitionMissed                       // it begins and ends at once, because the service was not running
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
		m.UpdatedAt = Later(now, m.UpdatedAt)
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

// NewMaintenance is the input for planning a maintenance.
type NewMaintenance struct {
	ID             string // that the client has made with NewID, so that a repetition plans no second one; "": a new one
	Title          string
	Message        *string // nil: no first update
	ScheduledFor   time.Time
	ScheduledUntil time.Time
	Components     []string       // ids
	RemindBefore   *time.Duration // nil: DefaultRemindBefore; 0: no reminder
}

// Validate returns a *ValidationError with every invalid field. The store checks that the
// components exist.
func (n NewMaintenance) Validate(now time.Time) error {
	var bad ValidationError
	CheckText(&bad, "title", n.Title, MaxTitleLength)
	if n.Message != nil {
		CheckText(&bad, "message", *n.Message, MaxMessageLength)
	}
	checkSpan(&bad, n.ScheduledFor, n.ScheduledUntil, now)
	if n.RemindBefore != nil {
		checkReminder(&bad, *n.RemindBefore)
	}
	checkComponentIDs(&bad, n.Components)
	return bad.Err()
}

// Plan creates the maintenance, with its first update if there is a message. A reminder that would
// already be due is skipped, because the announcement replaces it. The store sets Components.
func (n NewMaintenance) Plan(pageID, id, updateID string, now time.Time) Maintenance {
	m := Maintenance{
		ID: id, PageID: pageID, Title: n.Title, State: MaintenanceScheduled,
		ScheduledFor: n.ScheduledFor, ScheduledUntil: n.ScheduledUntil, RemindBefore: DefaultRemindBefore,
		CreatedAt: now, UpdatedAt: now,
	}
	if n.RemindBefore != nil {
		m.RemindBefore = *n.RemindBefore
	}
	m.skipLateReminder(now)
	if n.Message != nil {
		m.AddUpdate(updateID, *n.Message, 1, now)
	}
	return m
}

func (m *Maintenance) skipLateReminder(now time.Time) {
	m.RemindedAt = time.Time{}
	if m.RemindBefore > 0 && !now.Before(m.ScheduledFor.Add(-m.RemindBefore)) {
		m.RemindedAt = now
	}
}

// MaintenanceChange is the input for changing a maintenance. Nil fields keep their values.
type MaintenanceChange struct {
	Title          *string
	ScheduledFor   *time.Time
	ScheduledUntil *time.Time
	Components     *[]string
	RemindBefore   *time.Duration
	State          *MaintenanceState

	// Seen is the Revision of the maintenance that the author of the change has seen. If it is another one, nothing
	// is changed. "": any.
	Seen string
}

// NewMaintenanceUpdate is the input for adding an update to a maintenance, whose state is changed first.
type NewMaintenanceUpdate struct {
	Message string
	State   MaintenanceState // "": as it is
	Seen    string           // see MaintenanceChange
}

// Validate returns a *ValidationError with every field that is invalid for m at now.
func (ch MaintenanceChange) Validate(m Maintenance, now time.Time) error {
	var bad ValidationError
	if ch.Title != nil {
		CheckText(&bad, "title", *ch.Title, MaxTitleLength)
	}
	if ch.Components != nil {
		checkComponentIDs(&bad, *ch.Components)
	}
	if ch.RemindBefore != nil {
		checkReminder(&bad, *ch.RemindBefore)
	}
	if ch.State != nil {
		ch.checkState(&bad, m)
	}
	over := m.State == MaintenanceCompleted
	if over && ch.Components != nil {
		bad.Add("components", "The maintenance is completed.")
	}
	if ch.ScheduledFor != nil && m.State != MaintenanceScheduled {
		bad.Add("scheduled_for", "The maintenance has begun.")
	}
	if ch.ScheduledUntil != nil && over {
		bad.Add("scheduled_until", "The maintenance is completed.")
	}
	if (ch.ScheduledFor != nil || ch.ScheduledUntil != nil) && len(bad.Problems) == 0 {
		from, until := m.ScheduledFor, m.ScheduledUntil
		if ch.ScheduledFor != nil {
			from = *ch.ScheduledFor
		}
		if ch.ScheduledUntil != nil {
			until = *ch.ScheduledUntil
			if ch.begins(m) && now.Before(from) {
				from = now
			}
		}
		checkSpan(&bad, from, until, now)
	}
	return bad.Err()
}

// begins reports whether ch begins a maintenance that has not begun.
func (ch MaintenanceChange) begins(m Maintenance) bool {
	return ch.State != nil && *ch.State == MaintenanceInProgress && m.State == MaintenanceScheduled
}

// checkState rejects changes back to MaintenanceScheduled and changes of completed maintenances.
func (ch MaintenanceChange) checkState(bad *ValidationError, m Maintenance) {
	switch to := *ch.State; {
	case !to.Valid():
		bad.Add("state", "must be one of: %s", JoinValues(MaintenanceStates))
	case to == m.State:
	case m.State == MaintenanceCompleted:
		bad.Add("state", "The maintenance is completed.")
	case to == MaintenanceScheduled:
		bad.Add("state", "The maintenance has begun.")
	case m.State == MaintenanceScheduled && to != MaintenanceInProgress:
		bad.Add("state", "The maintenance has not begun. Delete it to cancel it.")
	}
}

// Apply changes m, except for Components, which the store changes, and returns the transition.
// UpdatedAt changes if a field does. A maintenance that begins early is moved to now and keeps its
// length, unless ch has a new end.
func (m *Maintenance) Apply(ch MaintenanceChange, now time.Time) MaintenanceTransition {
	before := *m
	if ch.Title != nil {
		m.Title = *ch.Title
	}
	if ch.ScheduledFor != nil {
		m.ScheduledFor = *ch.ScheduledFor
	}
	if ch.ScheduledUntil != nil {
		m.ScheduledUntil = *ch.ScheduledUntil
	}
	if ch.RemindBefore != nil {
		m.RemindBefore = *ch.RemindBefore
	}
	if m.RemindBefore != before.RemindBefore || !m.ScheduledFor.Equal(before.ScheduledFor) {
		m.skipLateReminder(now)
	}
	transition := TransitionNone
	if ch.State != nil && *ch.State != m.State {
		switch *ch.State {
		case MaintenanceCompleted:
			m.end(now)
			transition = TransitionEnd
		case MaintenanceInProgress:
			if ch.begins(*m) {
				if now.Before(m.ScheduledFor) {
					if ch.ScheduledUntil == nil {
						m.ScheduledUntil = now.Add(m.ScheduledUntil.Sub(m.ScheduledFor))
					}
					m.ScheduledFor = now
				}
				m.begin(now)
				transition = TransitionBegin
			}
			m.State = MaintenanceInProgress
		case MaintenanceVerifying:
			m.State = MaintenanceVerifying
		case MaintenanceScheduled: // rejected by Validate
		}
	}
	if m.Title != before.Title || m.State != before.State || m.RemindBefore != before.RemindBefore ||
		!m.ScheduledFor.Equal(before.ScheduledFor) || !m.ScheduledUntil.Equal(before.ScheduledUntil) {
		m.UpdatedAt = Later(now, m.UpdatedAt)
	}
	return transition
}

// AddUpdate appends an update with the given number to the timeline.
func (m *Maintenance) AddUpdate(id, message string, number int, now time.Time) MaintenanceUpdate {
	now = Later(now, m.UpdatedAt)
	u := MaintenanceUpdate{ID: id, MaintenanceID: m.ID, Number: number, Message: message, State: m.State, CreatedAt: now}
	m.Updates = append(m.Updates, u)
	m.UpdatedAt = now
	return u
}

// checkSpan adds an error to bad if the time of a maintenance is missing, in the past, too short,
// too long or too far ahead.
func checkSpan(bad *ValidationError, from, until, now time.Time) {
	switch {
	case from.IsZero():
		bad.Add("scheduled_for", Required)
	case from.After(now.Add(MaxMaintenanceLead)):
		bad.Add("scheduled_for", "must be within two years")
	}
	switch length := until.Sub(from); {
	case until.IsZero():
		bad.Add("scheduled_until", Required)
	case from.IsZero():
	case length < MinMaintenanceLength:
		bad.Add("scheduled_until", "must be at least a minute after %s", Name("scheduled_for"))
	case length > MaxMaintenanceLength:
		bad.Add("scheduled_until", "must be at most 31 days after %s", Name("scheduled_for"))
	case !until.After(now):
		bad.Add("scheduled_until", "must be in the future")
	}
}

func checkReminder(bad *ValidationError, d time.Duration) {
	if d < 0 || d > MaxRemindBefore || d%time.Second != 0 {
		bad.Add("remind_before", "must be a whole number of seconds from 0 to %d", MaxRemindBefore/time.Second)
	}
}

// CheckComponentIDs returns a *ValidationError if there are too many components, or one twice.
func CheckComponentIDs(ids []string) error {
	var bad ValidationError
	checkComponentIDs(&bad, ids)
	return bad.Err()
}

// checkComponentIDs adds an error to bad for too many components and for duplicates.
func checkComponentIDs(bad *ValidationError, ids []string) {
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

// Revision identifies a state of a maintenance. It changes with every field that people can change, and with every
// update. Components and the newest update must be loaded.
func (m Maintenance) Revision() string {
	number := 0
	if n := len(m.Updates); n > 0 {
		number = m.Updates[n-1].Number
	}
	return strconv.Itoa(number) + "-" + strings.Trim(EntityTag(m), `"`)
}

// AuditObject returns the form of a maintenance in the audit log.
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

// AuditObject returns the form of an update of a maintenance in the audit log.
func (u MaintenanceUpdate) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectMaintenanceUpdate, ID: u.ID, Fields: map[string]any{
		"maintenance_id": u.MaintenanceID, "message": u.Message, "state": u.State,
	}}
}
