package statuspage_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// timelines are steps, one minute apart: a state or a flag that is set, or "say", an update.
var timelines = map[string]struct {
	steps []string
	want  []string // newest first: minute and state; "*": not stored
}{
	"nothing":                  {nil, []string{"0 investigating*"}},
	"only a state":             {[]string{"identified"}, []string{"1 identified*"}},
	"only other states":        {[]string{"identified", "monitoring"}, []string{"2 monitoring*"}},
	"reopened without updates": {[]string{"both", "open"}, []string{"2 investigating*"}},
	"not resolved": {[]string{"say", "monitoring", "say"},
		[]string{"3 monitoring", "1 investigating"}},
	"a state change without an update": {[]string{"say", "monitoring"}, []string{"1 investigating"}},
	"without updates":                  {[]string{"both"}, []string{"1 resolved*"}},
	"by the state and the flag": {[]string{"say", "monitoring", "say", "both"},
		[]string{"4 resolved*", "3 monitoring", "1 investigating"}},
	"by the state":       {[]string{"say", "resolved"}, []string{"2 resolved*", "1 investigating"}},
	"by the flag":        {[]string{"say", "flag"}, []string{"2 resolved*", "1 investigating"}},
	"an update after it": {[]string{"say", "both", "say"}, []string{"3 resolved", "1 investigating"}},
	"by the flag, updates after it": {[]string{"monitoring", "say", "flag", "say", "say"},
		[]string{"5 resolved", "4 resolved", "2 monitoring"}},
	"another state afterwards": {[]string{"say", "both", "monitoring", "say"},
		[]string{"4 resolved", "1 investigating"}},
	"resolved twice, with an update": {[]string{"say", "both", "say", "both"},
		[]string{"3 resolved", "1 investigating"}},
	"opened again": {[]string{"both", "say", "open", "say"},
		[]string{"4 investigating", "2 resolved"}},
	"reopened without an update": {[]string{"say", "both", "open"}, []string{"1 investigating"}},
	"reopened and resolved again": {[]string{"both", "say", "open", "say", "both"},
		[]string{"5 resolved*", "4 investigating", "2 resolved"}},
}

// TestTimeline checks that the last entry of a timeline is the outcome of the incident.
func TestTimeline(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	added := map[statuspage.IncidentState]string{
		"investigating": "We are investigating this incident.",
		"identified":    "The cause of this incident has been identified. We are working on a fix.",
		"monitoring":    "A fix is in place. We are watching the result.",
		"resolved":      "This incident has been resolved.",
	}
	for name, c := range timelines {
		t.Run(name, func(t *testing.T) {
			inc := statuspage.Incident{ID: "01a1fc53-1977-7f37-b83c-ba9c7d0ad201", PageID: "page_1", Title: "x"}
			inc.Open(statuspage.IncidentUpdate{}, start)
			for i, step := range c.steps {
				play(&inc, step, i, start.Add(time.Duration(i+1)*time.Minute))
			}
			stored := slices.Clone(inc.Updates)
			var got []string
			for _, u := range inc.Timeline() {
				made := ""
				if u.System.Kind != "" {
					made = "*"
					at := inc.UpdatedAt
					if inc.Resolved {
						at = inc.ResolvedAt
					}
					if !regexp.MustCompile(`^upd_[0-9a-v]{20}$`).MatchString(u.ID) || u.Message != added[u.State] ||
						!u.CreatedAt.Equal(at) || u.IncidentID != inc.ID || u.Number != len(stored)+1 ||
						u.Affected != nil {
						t.Errorf("the entry is %+v", u)
					}
				}
				got = append(got, fmt.Sprint(int(u.CreatedAt.Sub(start).Minutes()), " ", u.State, made))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("Timeline = %q, want %q", got, c.want)
			}
			if fmt.Sprint(inc.Updates) != fmt.Sprint(stored) {
				t.Errorf("the stored updates changed to %v", inc.Updates)
			}
		})
	}
}

// play applies one step to an incident.
func play(inc *statuspage.Incident, step string, i int, now time.Time) {
	switch step {
	case "say":
		var last *statuspage.IncidentUpdate
		if n := len(inc.Updates); n > 0 {
			last = &inc.Updates[n-1]
		}
		inc.AddUpdate(fmt.Sprint("upd_", i), "We *look*.", last, now)
	case "flag":
		domaintest.ChangeIncident(inc, now, func(i *statuspage.Incident) { i.SetResolved(true) })
	case "both":
		domaintest.ChangeIncident(inc, now, func(i *statuspage.Incident) {
			i.State = statuspage.IncidentResolved
			i.SetResolved(true)
		})
	case "open":
		domaintest.ChangeIncident(inc, now, func(i *statuspage.Incident) { i.SetResolved(false) })
	default:
		domaintest.ChangeIncident(inc, now, func(i *statuspage.Incident) { i.State = statuspage.IncidentState(step) })
	}
}

// TestTimelineIDs checks that the entry that is not stored keeps its id, however often the incident is
// resolved, until it is reopened and updated.
func TestTimelineIDs(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ids := map[string]string{}
	for _, id := range []string{"a", "b"} {
		inc := statuspage.Incident{ID: id, PageID: "page_1", Title: "x"}
		inc.Open(statuspage.IncidentUpdate{}, now)
		id := func() string { return inc.Timeline()[0].ID }
		play(&inc, "say", 1, now)
		play(&inc, "both", 2, now.Add(time.Minute))
		first := id()
		play(&inc, "both", 3, now.Add(2*time.Minute))
		if got := id(); got != first {
			t.Errorf("resolved again it is %s, not %s", got, first)
		}
		play(&inc, "open", 4, now.Add(3*time.Minute))
		play(&inc, "say", 5, now.Add(4*time.Minute))
		play(&inc, "both", 6, now.Add(5*time.Minute))
		for _, got := range []string{first, id()} {
			if other, is := ids[got]; is {
				t.Errorf("%s is the id of %s and %s", got, other, inc.ID)
			}
			ids[got] = inc.ID
		}
	}
}
