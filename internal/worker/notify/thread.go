package notify

import (
	"cmp"
	htmltemplate "html/template"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
)

// pageInfo is what the texts of a message depend on: the URL, the time zone, the language and the style of its page.
type pageInfo struct {
	url   string
	zone  *time.Location
	lang  *i18n.Language
	style *strings.Replacer // of messages; see messageStyle
}

// moment formats t to the minute: "21 Nov 2026, 08:48 CET".
func (p pageInfo) moment(t time.Time) string { return p.lang.Moment(t.In(p.zone)) }

// thread is the section of a mail about one incident, all outages of one monitor, or one planned maintenance.
type thread struct {
	Title     string // in plain text, isolated if it runs in the other direction than the language
	State     string // label of the newest state
	Tone      *kernel.Tone
	Impact    string // label, or "Maintenance"; "": none
	When      string // the scheduled time of a maintenance
	Affected  string // names of the components; "": none
	URL       string // of the newest incident, or of the maintenance
	Link      string // text of the link to URL
	Outages   int    // number of outages of the monitor
	Since     string // time of the oldest entry
	Entries   []entry
	Hidden    int  // number of entries that only the page shows
	ofMonitor bool // opened by a monitor
	planned   bool // a maintenance
	resolved  bool
}

// entry is one event of a thread.
type entry struct {
	State, At string
	Tone      *kernel.Tone
	Text      string            // the message
	HTML      htmltemplate.HTML // the message
	Default   bool              // nobody wrote a message
	Short     bool              // the message is truncated
}

// preview returns the text that an inbox shows below the subject: the newest message, or when a
// maintenance takes place if nobody wrote one.
func (t thread) preview() string {
	if newest := t.Entries[0]; !newest.Default || t.When == "" {
		return oneLine(newest.Text, mailPreview)
	}
	return oneLine(t.When, mailPreview)
}

// subjectID returns the id of the incident or the maintenance of an event; "" for an
// event of a component, which mail does not report.
func subjectID(e audience.Event) string { return cmp.Or(e.IncidentID, e.MaintenanceID) }

// threadsOf groups events, which are sorted oldest first, into threads. The threads are
// sorted by their newest event, newest first, and so are the entries of each.
func threadsOf(events []audience.Event, page pageInfo) []thread {
	monitors := make(map[string]string) // by incident
	for _, e := range events {
		if e.MonitorID != "" {
			monitors[e.IncidentID] = audience.MonitorCollapseKey(e.MonitorID)
		}
	}
	groups := make(map[string][]audience.Event) // newest first
	var order []string
	for _, e := range slices.Backward(events) {
		key := subjectID(e)
		if key == "" {
			continue
		}
		if monitor, ok := monitors[key]; ok {
			key = monitor
		}
		if len(groups[key]) == 0 {
			order = append(order, key)
		}
		if later := groups[key]; len(later) > 0 && explains(later[len(later)-1], e) {
			later[len(later)-1].Kind = e.Kind // one entry for both
			continue
		}
		groups[key] = append(groups[key], e)
	}
	left := mailMessages
	threads := make([]thread, len(order))
	for i, key := range order {
		if i < mailThreads {
			threads[i] = newThread(groups[key], page, &left)
		} else {
			threads[i] = newThread(groups[key][:1], page, new(int)) // counted, not shown
		}
		_, threads[i].ofMonitor = monitors[subjectID(groups[key][0])]
	}
	return threads
}

// explains reports whether an update follows the resolution of its incident within
// audience.DigestWait, and the resolution has no message of its own.
func explains(update, resolved audience.Event) bool {
	return resolved.AwaitsUpdate() && update.Kind == statuspage.EventIncidentUpdated &&
		update.IncidentID == resolved.IncidentID &&
		update.Data.Resolved && update.CreatedAt.Sub(resolved.CreatedAt) <= audience.DigestWait
}

// newThread returns the thread of events, which are sorted newest first. It shortens
// the messages to left characters in total, and subtracts their length from left.
func newThread(events []audience.Event, page pageInfo, left *int) thread {
	l := page.lang
	newest, oldest := events[0], events[len(events)-1]
	t := thread{
		Title:    titleOf(newest, l),
		State:    stateLabel(newest, l),
		Tone:     toneOf(newest),
		Affected: affectedList(newest, l),
		Since:    page.moment(oldest.CreatedAt),
		Hidden:   max(0, len(events)-mailEntries),
		planned:  newest.Data.Maintenance != nil,
		resolved: isResolved(newest),
	}
	switch m := newest.Data.Maintenance; {
	case m == nil:
		t.URL, t.Link = page.url+"/incidents/"+newest.IncidentID, l.T("mail.see_incident")
		if i := newest.Data.Impact; i != "" && i != kernel.ImpactNone {
			t.Impact = l.Impact(i)
		}
	default:
		t.Impact, t.When = l.T("mail.maintenance"),
			l.Period(m.ScheduledFor.In(page.zone), m.ScheduledUntil.In(page.zone))
		t.URL, t.Link = page.url+"/maintenances/"+newest.MaintenanceID, l.T("mail.see_maintenance")
		if newest.Kind == statuspage.EventMaintenanceCancelled {
			t.URL, t.Link = page.url, l.T("mail.see_page") // the maintenance itself is deleted
		}
	}
	down := make(map[string]bool)
	for i, e := range events {
		down[e.IncidentID] = true
		if i < mailEntries {
			t.Entries = append(t.Entries, newEntry(e, page, left))
		}
	}
	t.Outages = len(down)
	return t
}

// newEntry returns the entry of an event. It shortens the message to left characters, and
// subtracts its length from left.
func newEntry(e audience.Event, page pageInfo, left *int) entry {
	message, short := truncate(e.Data.Message, *left)
	*left = max(0, *left-len([]rune(message)))
	text := i18n.UpdateText{Message: message, System: e.Data.System, At: e.CreatedAt}
	out := entry{
		State: stateLabel(e, page.lang), Tone: toneOf(e), At: page.moment(e.CreatedAt),
		Text:  text.Plain(page.lang, page.zone),
		HTML:  styled(text.HTML(page.lang, page.zone), page.style),
		Short: short || e.Data.MessageOmitted,
	}
	if out.Text == "" && !out.Short {
		out.Default, out.Text = true, defaultText(e, page)
		out.HTML = styled(htmltemplate.HTML("<p>"+htmltemplate.HTMLEscapeString(out.Text)+"</p>"), page.style)
	}
	return out
}

// defaultText returns the text about an event without a message.
func defaultText(e audience.Event, page pageInfo) string {
	l := page.lang
	system := func(m statuspage.SystemMessage) string { return i18n.UpdateText{System: m}.Plain(l, page.zone) }
	switch e.Kind {
	case statuspage.EventMaintenanceScheduled:
		return l.T("mail.text.scheduled")
	case statuspage.EventMaintenanceReminder:
		return l.T("mail.text.reminder")
	case statuspage.EventMaintenanceBegun:
		return system(statuspage.SystemMessage{Kind: statuspage.SystemMessageMaintenanceBegun})
	case statuspage.EventMaintenanceUpdated:
		return l.T("mail.text.moved")
	case statuspage.EventMaintenanceEnded:
		return system(statuspage.SystemMessage{Kind: statuspage.SystemMessageMaintenanceEnded})
	case statuspage.EventMaintenanceCancelled:
		return l.T("mail.text.cancelled")
	case statuspage.EventIncidentPostmortem:
		return l.T("mail.text.postmortem")
	}
	if isResolved(e) {
		return system(statuspage.IncidentResolved.SystemMessage())
	}
	return system(e.Data.State.SystemMessage())
}

// titleOf returns the title of an event as one line. It is isolated if it runs in the
// other direction than the language.
func titleOf(e audience.Event, l *i18n.Language) string {
	title := l.IncidentTitle(statuspage.Incident{
		Title:       oneLine(e.Data.Title, kernel.MaxTitleLength),
		DownMonitor: oneLine(e.Data.DownMonitor, kernel.MaxTitleLength),
	})
	switch {
	case title != "":
		return l.Isolate(title)
	case e.Data.Maintenance != nil:
		return l.T("mail.maintenance")
	default:
		return l.T("mail.incident")
	}
}

// stateLabel returns the label of the state that an event left: "Resolved", "New time".
func stateLabel(e audience.Event, l *i18n.Language) string {
	switch e.Kind {
	case statuspage.EventIncidentResolved:
		return l.State(statuspage.IncidentResolved)
	case statuspage.EventIncidentPostmortem:
		return l.T("incident.postmortem")
	case statuspage.EventMaintenanceScheduled:
		return l.MaintenanceState(statuspage.MaintenanceScheduled)
	case statuspage.EventMaintenanceReminder:
		return l.T("mail.reminder")
	case statuspage.EventMaintenanceBegun:
		return l.MaintenanceState(statuspage.MaintenanceInProgress)
	case statuspage.EventMaintenanceUpdated:
		return maintenanceUpdateLabel(*e.Data.Maintenance, e.UpdateID != "", l)
	case statuspage.EventMaintenanceEnded:
		return l.MaintenanceState(statuspage.MaintenanceCompleted)
	case statuspage.EventMaintenanceCancelled:
		return l.T("mail.cancelled")
	default:
		return l.State(e.Data.State)
	}
}

// maintenanceUpdateLabel returns the label of an update of a maintenance, or, if nobody
// wrote one, of a change of its time.
func maintenanceUpdateLabel(m audience.MaintenanceData, written bool, l *i18n.Language) string {
	running := m.State == statuspage.MaintenanceInProgress || m.State == statuspage.MaintenanceVerifying
	switch {
	case running && written:
		return l.MaintenanceState(m.State)
	case running:
		return l.T("mail.new_end")
	case written:
		return l.T("mail.update")
	default:
		return l.T("mail.new_time")
	}
}

// isResolved reports whether an event left its incident resolved.
func isResolved(e audience.Event) bool {
	return e.Data.Resolved || e.Kind == statuspage.EventIncidentResolved
}

// toneOf returns the tone of an event: of its impact, unless the event is about a maintenance or ends its incident.
func toneOf(e audience.Event) *kernel.Tone {
	switch {
	case e.Kind == statuspage.EventMaintenanceEnded, e.Kind == statuspage.EventIncidentResolved,
		e.Data.State == statuspage.IncidentResolved:
		return kernel.StatusOperational.Tone()
	case e.Kind == statuspage.EventMaintenanceCancelled:
		return &kernel.NeutralTone
	case e.Data.Maintenance != nil:
		return kernel.StatusMaintenance.Tone()
	default:
		return e.Data.Impact.Tone()
	}
}

// affectedList returns the names of the components that an event concerns, with their
// statuses unless the incident is resolved. It names at most mailComponents of them.
func affectedList(e audience.Event, l *i18n.Language) string {
	var names []string
	for _, a := range e.Data.Affected {
		name := l.Isolate(oneLine(a.Name, kernel.MaxNameLength))
		if !isResolved(e) {
			name += " (" + l.Status(a.New) + ")"
		}
		names = append(names, name)
	}
	if m := e.Data.Maintenance; m != nil {
		for _, c := range m.Components {
			names = append(names, l.Isolate(oneLine(c.Name, kernel.MaxNameLength)))
		}
	}
	if more := len(names) - mailComponents; more > 0 {
		names = append(names[:mailComponents], l.T("components.others", "n", more))
	}
	return strings.Join(names, l.Separator)
}

// headline returns a summary of the threads in one line. threads is sorted newest first.
func headline(threads []thread, l *i18n.Language, limit int) string {
	newest := threads[0]
	if len(threads) == 1 {
		title := shortTitle(newest.Title, limit)
		if newest.Outages > 1 {
			title = l.T("mail.outages", "title", title, "n", newest.Outages)
		}
		return newest.State + ": " + title
	}
	var down, ofMonitors, planned int
	titles := make([]string, len(threads))
	for i, t := range threads {
		titles[i] = t.Title
		if t.ofMonitor {
			ofMonitors++
		}
		if t.planned {
			planned++
		}
		if !t.resolved {
			down++
		}
	}
	switch all := shortTitle(strings.Join(titles, l.Separator), limit); {
	case planned > 0:
		return l.T("mail.notices", "n", len(threads), "titles", all)
	case ofMonitors < len(threads):
		return l.T("mail.incidents", "n", len(threads), "titles", all)
	case down == len(threads):
		return l.T("mail.down", "n", down)
	case down == 0:
		return l.T("mail.up", "n", len(threads))
	default:
		return l.T("mail.some_down", "n", down, "total", len(threads), "up", len(threads)-down)
	}
}

// shortTitle shortens a title to limit characters, and closes the Unicode isolates that it cuts.
func shortTitle(title string, limit int) string {
	short, _ := truncate(title, limit)
	open := strings.Count(short, "\u2068") - strings.Count(short, "\u2069")
	return short + strings.Repeat("\u2069", max(0, open))
}
