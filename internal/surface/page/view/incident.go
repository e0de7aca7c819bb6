package view

import (
	"html/template"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
	"github.com/allswell/allswell/internal/surface/assets"
)

// incidentBody is the page of an incident.
type incidentBody struct {
	Incident incidentView
	Part     partView
	Home     string
	Month    monthLink
	Push     *pushView // nil: browsers are not notified of its end
}

// pushView is what a browser needs to subscribe to the end of an incident.
type pushView struct{ Worker, Action, IncidentID, Script string }

// newPushView returns what a browser needs to subscribe to the end of an incident; nil: the incident is over, or its
// subscribers are not notified, or the page does not offer it.
func newPushView(at Presentation, inc statuspage.Incident) *pushView {
	if !at.Push || inc.Resolved || !inc.Notified {
		return nil
	}
	return &pushView{at.base + "/" + WorkerName, at.base + "/" + PushName, inc.ID, assets.URL("push.js")}
}

// incidentView is an incident with its timeline.
type incidentView struct {
	URL      string
	Title    string
	Impact   kernel.Impact
	State    statuspage.IncidentState
	Resolved bool
	Began    moment
	Ended    moment
	SameDay  bool          // it ended on the day on which it began
	Dated    bool          // its line in the history names the day on which it began
	Lasted   time.Duration // if it is resolved
	Affected []affectedView
	Others   int // number of affected components that are omitted
	Updates  []updateView
	Earlier  int // number of older updates that are omitted
	Excerpt  string

	HasPostmortem bool // one is published

	Postmortem *postmortemView // on the page of the incident; nil: none is published
	MergedInto string          // URL of the incident that goes on; "": none
	Recorded   moment          // when the incident was recorded, if it began earlier; zero: when it began
}

// Older returns the number of updates before the newest one.
func (v incidentView) Older() int { return len(v.Updates) - 1 + v.Earlier }

// Instant reports whether the incident was resolved when it began.
func (v incidentView) Instant() bool { return isInstant(v.Lasted) }

// SameMinute reports whether beginning and end are shown as the same time.
func (v incidentView) SameMinute() bool { return v.Began.minute() == v.Ended.minute() }

// ClockChanges reports whether the clocks were changed between beginning and end.
func (v incidentView) ClockChanges() bool { return !v.Began.sameClock(v.Ended) }

// isInstant reports whether a duration rounds to zero.
func isInstant(d time.Duration) bool { return d.Round(time.Second) <= 0 }

// affectedView is a component that an incident or a maintenance affects.
type affectedView struct {
	URL, Name string
	Status    kernel.Status // "": only the name is shown
}

// postmortemView is the published post-mortem of an incident.
type postmortemView struct {
	Text      template.HTML
	Published moment
	Edited    moment // zero: not since
}

type updateView struct {
	State   statuspage.IncidentState
	Message template.HTML
	At      moment
	Edited  moment // zero: the text was never changed
	Changes []changeView
}

// changeView is the change of a component by an update.
type changeView struct {
	Name     template.HTML // isolated, because its direction may differ
	Old, New kernel.Status // Old "": it was not affected before
}

// detail limits what is shown of an incident or a maintenance.
type detail struct {
	updates int // the newest ones
	names   int // of affected components
	budget  *budget
	lines   *budget // for names and excerpts; may be the same budget
}

// TimelinePart is a part of the timeline of an incident or a maintenance.
type TimelinePart struct {
	Before int // only updates with lower numbers; 0: the newest updates
	Max    int // maximum number of updates
}

// detail returns the limits of the page of one incident or maintenance.
func (p TimelinePart) detail() detail {
	left := newBudget()
	return detail{updates: p.Max, names: statuspage.MaxAffectedComponents, budget: left, lines: left}
}

// viewIncident returns an incident with its timeline, newest first.
func viewIncident(at Presentation, inc statuspage.Incident, limits detail) incidentView {
	return viewEntries(at, inc, inc.Timeline(), limits)
}

// viewEntries is viewIncident with the given updates, newest first.
func viewEntries(
	at Presentation, inc statuspage.Incident, entries []statuspage.IncidentUpdate, limits detail,
) incidentView {
	v := incidentView{
		URL: at.incident(inc.ID), Title: at.lang.IncidentTitle(inc), Impact: inc.Impact, State: inc.State,
		Resolved: inc.Resolved, Began: at.moment(inc.CreatedAt), HasPostmortem: inc.Postmortem != nil,
	}
	if inc.Resolved {
		v.Ended = at.moment(inc.ResolvedAt)
		v.SameDay = at.sameDay(inc.ResolvedAt, inc.CreatedAt)
		v.Lasted = max(0, inc.ResolvedAt.Sub(inc.CreatedAt))
	}
	for _, a := range inc.Affected {
		shown := affectedView{URL: at.component(a.ComponentID), Name: a.Name}
		if !inc.Resolved {
			shown.Status = a.Status
		}
		v.Affected = append(v.Affected, shown)
	}
	v.Affected, v.Others = limits.lines.affected(v.Affected, limits.names)
	latest := newestUpdates(inc)
	if len(latest) == 0 && !inc.Resolved {
		latest = entries
	}
	if len(latest) > 0 {
		u := latest[0]
		v.Excerpt = limits.lines.excerpt(at, i18n.UpdateText{Message: u.Message, System: u.System, At: u.CreatedAt})
	}
	if len(entries) == 0 {
		return v
	}
	v.Earlier = entries[0].Number
	for _, u := range entries[:min(len(entries), limits.updates)] {
		if !inc.Resolved && entries[0].Number == 1 {
			u.Affected = nil // v.Affected has them
		}
		shown, ok := limits.budget.update(at, u)
		if !ok {
			break
		}
		v.Updates, v.Earlier = append(v.Updates, shown), u.Number-1
	}
	return v
}

// viewChanges returns the components that an update changed. Their names are
// isolated, so that they do not reorder the rest of the sentence.
func viewChanges(u statuspage.IncidentUpdate) (changes []changeView) {
	for _, a := range u.Affected {
		if a.Old != a.New {
			changes = append(changes, changeView{element("bdi", markdown.Line(a.Name)), a.Old, a.New})
		}
	}
	return changes
}

// Incident returns the page of an incident with a part of its timeline.
func Incident(l Layout, inc statuspage.Incident, part TimelinePart) Model {
	at := l.At
	entries := inc.Timeline()
	if part.Before > 0 {
		entries = inc.Entries()
	}
	limits := part.detail()
	postmortem := limits.budget.postmortem(at, inc)
	v := viewEntries(at, inc, entries, limits)
	v.Postmortem = postmortem
	if inc.MergedInto != "" {
		v.MergedInto = at.incident(inc.MergedInto)
	}
	if !inc.RecordedAt.IsZero() {
		v.Recorded = at.moment(inc.RecordedAt)
	}
	l.Path = timelinePath("/incidents/"+inc.ID, part.Before)
	l.Description = at.lang.T("incident.description", "state", at.lang.State(inc.EffectiveState()), "impact",
		at.lang.Impact(inc.Impact), "text", v.Excerpt)
	b := incidentBody{
		Incident: v, Home: at.Home(), Month: *linkMonth(at, inc.CreatedAt.In(at.zone)), Push: newPushView(at, inc),
	}
	b.Part = l.part(v.Title, v.URL, timelineSpan{part.Before, len(v.Updates), v.Earlier})
	return Model{l, "incident", b}
}
