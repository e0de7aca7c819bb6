package notify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allswell/allswell"
)

// thread is what a mail tells of one incident, or of all outages of one monitor.
type thread struct {
	Title    string
	State    string // the newest, in words
	Tone     string // the name of its colour
	Impact   string // in words; "": none
	URL      string // of the newest incident
	Outages  int    // how often the monitor went down
	Since    string // when the oldest entry was
	Entries  []entry
	Hidden   int // entries left to the page
	machine  bool
	resolved bool
}

// entry is one event of a thread.
type entry struct {
	State, Tone, At string
	Message         string
	Short           bool // the page has the rest of the message
}

// Lines are the lines of the message; HTML breaks them itself, because not every
// client keeps the breaks of a text.
func (e entry) Lines() []string {
	if e.Message == "" {
		return nil
	}
	return strings.Split(e.Message, "\n")
}

// threadsOf sorts events, oldest first, into threads: the one with the newest
// event first, and of each the newest entry first.
func threadsOf(events []allswell.Event, page string) []thread {
	monitors := make(map[string]string) // by incident
	for _, e := range events {
		if e.MonitorID != "" {
			monitors[e.IncidentID] = allswell.MonitorThread(e.MonitorID)
		}
	}
	groups := make(map[string][]allswell.Event) // newest first
	var order []string
	for _, e := range slices.Backward(events) {
		if e.IncidentID == "" {
			continue // of a component: mail tells incidents
		}
		key := e.IncidentID
		if monitor, ok := monitors[key]; ok {
			key = monitor
		}
		if len(groups[key]) == 0 {
			order = append(order, key)
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
		_, threads[i].machine = monitors[groups[key][0].IncidentID]
	}
	return threads
}

// newThread makes a thread of its events, newest first; their messages take no
// more than left characters.
func newThread(events []allswell.Event, page string, left *int) thread {
	newest, oldest := events[0], events[len(events)-1]
	t := thread{
		Title:    oneLine(newest.Data.Title, allswell.MaxTitle),
		State:    stateWord(newest),
		Tone:     toneOf(newest),
		Impact:   impactWord(newest.Data.Impact),
		URL:      page + "/incidents/" + newest.IncidentID,
		Since:    oldest.CreatedAt.UTC().Format(mailTimeFormat),
		Hidden:   max(0, len(events)-mailEntries),
		resolved: newest.Data.Resolved || newest.Kind == allswell.IncidentResolved,
	}
	if t.Title == "" {
		t.Title = "An incident"
	}
	down := make(map[string]bool)
	for i, e := range events {
		down[e.IncidentID] = true
		if i >= mailEntries {
			continue
		}
		message, short := cut(lines(e.Data.Message), *left)
		*left = max(0, *left-len([]rune(message)))
		t.Entries = append(t.Entries, entry{
			State: stateWord(e), Tone: toneOf(e), At: e.CreatedAt.UTC().Format(mailTimeFormat),
			Message: message, Short: short,
		})
	}
	t.Outages = len(down)
	return t
}

// headline says in one line what the threads, the newest first, tell.
func headline(threads []thread) string {
	newest := threads[0]
	title := oneLine(newest.Title, mailTitle)
	if len(threads) == 1 {
		if newest.Outages > 1 {
			title += fmt.Sprintf(" (%d outages)", newest.Outages)
		}
		return newest.State + ": " + title
	}
	var down, machines int
	titles := make([]string, len(threads))
	for i, t := range threads {
		titles[i] = t.Title
		if t.machine {
			machines++
		}
		if !t.resolved {
			down++
		}
	}
	switch up := len(threads) - down; {
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

func stateWord(e allswell.Event) string {
	if e.Kind == allswell.IncidentResolved {
		return allswell.Resolved.Label()
	}
	return e.Data.State.Label()
}

// impactWord is empty where there is nothing to say.
func impactWord(i allswell.Impact) string {
	if i == allswell.ImpactNone || i == "" {
		return ""
	}
	return i.Label()
}

// toneOf names the colour of what an event told.
func toneOf(e allswell.Event) string {
	if e.Kind == allswell.IncidentResolved || e.Data.State == allswell.Resolved {
		return "ok"
	}
	switch e.Data.Impact {
	case allswell.ImpactMinor:
		return "degraded"
	case allswell.ImpactMajor:
		return "partial"
	case allswell.ImpactCritical:
		return "major"
	default:
		return "none"
	}
}
