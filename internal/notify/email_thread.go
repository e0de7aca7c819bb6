package notify

import (
	"cmp"
	"fmt"
	htmltemplate "html/template"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/markdown"
)

// pageInfo is the URL and the time zone of a page.
type pageInfo struct {
	url  string
	zone *time.Location
}

// thread is the section of a mail about one incident, all outages of one monitor, or
// one planned maintenance.
type thread struct {
	Title    string
	State    string // label of the newest state
	Tone     *allswell.Tone
	Impact   string // label, or "Planned maintenance"; "": none
	When     string // the scheduled time of a maintenance
	Affected string // names of the components; "": none
	URL      string // of the newest incident, or of the maintenance
	Link     string // text of the link to URL
	Outages  int    // number of outages of the monitor
	Since    string // time of the oldest entry
	Entries  []entry
	Hidden   int  // number of entries that only the page shows
	machine  bool // opened by a monitor
	planned  bool // a maintenance
	resolved bool
}

// entry is one event of a thread.
type entry struct {
	State, At string
	Tone      *allswell.Tone
	Text      string            // the message
	HTML      htmltemplate.HTML // the message
	Short     bool              // the message is truncated
}

// subjectID returns the id of the incident or the maintenance of an event; "" for an
// event of a component, which mail does not report.
func subjectID(e allswell.Event) string { return cmp.Or(e.IncidentID, e.MaintenanceID) }

// threadsOf groups events, which are sorted oldest first, into threads. The threads are
// sorted by their newest event, newest first, and so are the entries of each.
func threadsOf(events []allswell.Event, page pageInfo) []thread {
	monitors := make(map[string]string) // by incident
	for _, e := range events {
		if e.MonitorID != "" {
			monitors[e.IncidentID] = allswell.MonitorCollapseKey(e.MonitorID)
		}
	}
	groups := make(map[string][]allswell.Event) // newest first
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
		_, threads[i].machine = monitors[subjectID(groups[key][0])]
	}
	return threads
}

// explains reports whether an update follows the resolution of its incident within
// allswell.DigestWait, and the resolution has no message of its own.
func explains(update, resolved allswell.Event) bool {
	return resolved.AwaitsUpdate() && update.Kind == allswell.EventIncidentUpdated && update.IncidentID == resolved.IncidentID &&
		update.Data.Resolved && update.CreatedAt.Sub(resolved.CreatedAt) <= allswell.DigestWait
}

// newThread returns the thread of events, which are sorted newest first. It shortens
// the messages to left characters in total, and subtracts their length from left.
func newThread(events []allswell.Event, page pageInfo, left *int) thread {
	newest, oldest := events[0], events[len(events)-1]
	t := thread{
		Title:    oneLine(newest.Data.Title, allswell.MaxTitleLength),
		State:    stateWord(newest),
		Tone:     toneOf(newest),
		Affected: affectedWords(newest),
		Since:    timeIn(page.zone, oldest.CreatedAt),
		Hidden:   max(0, len(events)-mailEntries),
		resolved: isResolved(newest),
	}
	if m := newest.Data.Maintenance; m != nil {
		t.planned, t.Impact, t.When = true, "Planned maintenance", spanIn(page.zone, m.ScheduledFor, m.ScheduledUntil)
		t.Title = cmp.Or(t.Title, "A maintenance")
		t.URL, t.Link = page.url+"/maintenances/"+newest.MaintenanceID, "See this maintenance on the page"
		if newest.Kind == allswell.EventMaintenanceCancelled {
			t.URL, t.Link = page.url, "See the page" // the maintenance itself is deleted
		}
	} else {
		t.Impact = impactWord(newest.Data.Impact)
		t.Title = cmp.Or(t.Title, "An incident")
		t.URL, t.Link = page.url+"/incidents/"+newest.IncidentID, "See this incident on the page"
	}
	down := make(map[string]bool)
	for i, e := range events {
		down[e.IncidentID] = true
		if i >= mailEntries {
			continue
		}
		message, short := truncate(e.Data.Message, *left)
		*left = max(0, *left-len([]rune(message)))
		t.Entries = append(t.Entries, entry{
			State: stateWord(e), Tone: toneOf(e), At: timeIn(page.zone, e.CreatedAt),
			Text: markdown.Text(message), HTML: styled(markdown.HTML(message)), Short: short || e.Data.MessageOmitted,
		})
	}
	t.Outages = len(down)
	return t
}

// headline returns a summary of the threads in one line. threads is sorted newest first.
func headline(threads []thread) string {
	newest := threads[0]
	title := oneLine(newest.Title, mailTitle)
	if len(threads) == 1 {
		if newest.Outages > 1 {
			title += fmt.Sprintf(" (%d outages)", newest.Outages)
		}
		return newest.State + ": " + title
	}
	var down, machines, planned int
	titles := make([]string, len(threads))
	for i, t := range threads {
		titles[i] = t.Title
		if t.machine {
			machines++
		}
		if t.planned {
			planned++
		}
		if !t.resolved {
			down++
		}
	}
	switch up := len(threads) - down; {
	case planned > 0:
		return fmt.Sprintf("%d notices: %s", len(threads), oneLine(strings.Join(titles, ", "), mailTitle))
	case machines < len(threads):
		return fmt.Sprintf("%d incidents: %s", len(threads), oneLine(strings.Join(titles, ", "), mailTitle))
	case up == 0:
		return fmt.Sprintf("%d monitors are down", down)
	case down == 0:
		return fmt.Sprintf("%d monitors are back up", up)
	default:
		return fmt.Sprintf("%d of %d monitors are down, %d back up", down, len(threads), up)
	}
}
