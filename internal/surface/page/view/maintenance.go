package view

import (
	"html/template"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
)

// maintenanceBody is the page of a maintenance.
type maintenanceBody struct {
	Maintenance maintenanceView
	Part        partView
	Home        string
	Month       *monthLink // the month in the history; nil until the maintenance is completed
	Calendar    string
}

// maintenanceView is a maintenance with its timeline.
type maintenanceView struct {
	URL, Title  string
	State       statuspage.MaintenanceState
	From, Until moment // as planned, or the actual times once it has begun and ended
	SameDay     bool   // From and Until are on the same day
	Dated       bool   // its line in the history names the day on which it began
	Lasts       time.Duration
	Affected    []affectedView
	Others      int                     // number of affected components that are not shown
	Updates     []maintenanceUpdateView // newest first
	Earlier     int                     // number of older updates that are not shown
	Excerpt     string
}

// Older returns the number of updates before the newest one.
func (v maintenanceView) Older() int { return len(v.Updates) - 1 + v.Earlier }

// Over reports whether the maintenance is completed.
func (v maintenanceView) Over() bool { return v.State == statuspage.MaintenanceCompleted }

// Instant reports whether the maintenance had no duration.
func (v maintenanceView) Instant() bool { return isInstant(v.Lasts) }

// SameMinute reports whether beginning and end are shown as the same time.
func (v maintenanceView) SameMinute() bool { return v.From.minute() == v.Until.minute() }

// ClockChanges reports whether daylight saving time begins or ends between beginning and end.
func (v maintenanceView) ClockChanges() bool { return !v.From.sameClock(v.Until) }

// maintenanceUpdateView is an entry of a maintenance's timeline.
type maintenanceUpdateView struct {
	State   statuspage.MaintenanceState
	Message template.HTML
	At      moment
}

// viewMaintenance returns a maintenance with its updates, newest first.
func viewMaintenance(at Presentation, m statuspage.Maintenance, limits detail) maintenanceView {
	from, until := m.Span()
	v := maintenanceView{
		URL: at.maintenance(m.ID), Title: m.Title, State: m.State, From: at.moment(from), Until: at.moment(until),
		SameDay: at.sameDay(from, until), Lasts: max(0, until.Sub(from)),
	}
	for _, c := range m.Components {
		v.Affected = append(v.Affected, affectedView{URL: at.component(c.ID), Name: c.Name})
	}
	v.Affected, v.Others = limits.lines.affected(v.Affected, limits.names)
	updates := slices.SortedStableFunc(slices.Values(m.Updates), func(a, b statuspage.MaintenanceUpdate) int {
		return b.Number - a.Number
	})
	if len(updates) == 0 {
		return v
	}
	v.Excerpt = limits.lines.excerpt(at, i18n.UpdateText{
		Message: updates[0].Message, System: updates[0].System, At: updates[0].CreatedAt,
	})
	v.Earlier = updates[0].Number
	for _, u := range updates[:min(len(updates), limits.updates)] {
		shown, ok := limits.budget.maintenanceUpdateView(at, u)
		if !ok {
			break
		}
		v.Updates, v.Earlier = append(v.Updates, shown), u.Number-1
	}
	return v
}

// viewMaintenances returns maintenances in the given order.
func viewMaintenances(at Presentation, maintenances []statuspage.Maintenance, limits detail) []maintenanceView {
	views := make([]maintenanceView, len(maintenances))
	for i, m := range maintenances {
		views[i] = viewMaintenance(at, m, limits)
	}
	return views
}

// Maintenance returns the page of a maintenance with a part of its timeline.
func Maintenance(l Layout, m statuspage.Maintenance, part TimelinePart) Model {
	at := l.At
	v := viewMaintenance(at, m, part.detail())
	b := maintenanceBody{Maintenance: v, Home: at.Home(), Calendar: at.calendar()}
	if v.Over() {
		b.Month = linkMonth(at, m.BegunAt.In(at.zone))
	}
	l.Path = timelinePath("/maintenances/"+m.ID, part.Before)
	b.Part = l.part(v.Title, v.URL, timelineSpan{part.Before, len(v.Updates), v.Earlier})
	l.Description = at.lang.T("maintenance.description", "state", at.lang.MaintenanceState(m.State),
		"from", at.lang.Moment(time.Time(v.From)), "to", at.lang.Moment(time.Time(v.Until)))
	return Model{l, "maintenance", b}
}
