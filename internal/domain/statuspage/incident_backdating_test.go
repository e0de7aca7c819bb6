package statuspage_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestTimesAreChecked: an incident is recorded at most a year after it began, and is over at most now.
func TestTimesAreChecked(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		began, resolved time.Time
		field           string // "": valid
	}{
		"now":               {},
		"this moment":       {now, now, ""},
		"a year ago":        {ago(statuspage.MaxBackdating), time.Time{}, ""},
		"over a year ago":   {ago(statuspage.MaxBackdating + time.Millisecond), time.Time{}, "began_at"},
		"in the future":     {ago(-time.Millisecond), time.Time{}, "began_at"},
		"not over yet":      {ago(time.Hour), ago(-time.Millisecond), "resolved_at"},
		"over before":       {ago(time.Hour), ago(2 * time.Hour), "resolved_at"},
		"without beginning": {time.Time{}, ago(time.Hour), "resolved_at"},
	} {
		n := statuspage.Incident{Title: "Slow", CreatedAt: c.began, ResolvedAt: c.resolved}
		err := n.CheckNew(statuspage.IncidentUpdate{})
		if err == nil {
			err = n.CheckTimes(now)
		}
		bad := new(kernel.ValidationError)
		if errors.As(err, &bad) != (c.field != "") || c.field != "" && !bad.Has(c.field) {
			t.Errorf("CheckNew and CheckTimes of %s: %v", name, err)
		}
	}
}

// TestOverAtOnce: an incident whose beginning and end are the time of its recording is over.
func TestOverAtOnce(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	i := statuspage.Incident{Title: "Slow", CreatedAt: now, ResolvedAt: now}
	i.Open(statuspage.IncidentUpdate{}, now)
	if !i.Resolved || i.State != statuspage.IncidentResolved || !i.ResolvedAt.Equal(now) {
		t.Errorf("the incident is %+v", i)
	}
}

// TestWorsen corrects the history of a component that was operational, degraded from hour 4 to 6, and then operational.
func TestWorsen(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 21, hour, 0, 0, 0, time.UTC) }
	const up, slow, out = kernel.StatusOperational, kernel.StatusDegraded, kernel.StatusPartialOutage
	type change = statuspage.StatusChange
	before := []change{{at(2), up}, {at(4), slow}, {at(6), up}}
	for name, c := range map[string]struct {
		from, to int
		status   kernel.Status
		want     []change
	}{
		"within one status": {7, 8, out,
			[]change{{at(2), up}, {at(4), slow}, {at(6), up}, {at(7), out}, {at(8), up}}},
		"across all":              {3, 7, out, []change{{at(2), up}, {at(3), out}, {at(7), up}}},
		"less severe than it was": {4, 5, slow, before},
		"partly less severe":      {3, 5, slow, []change{{at(2), up}, {at(3), slow}, {at(6), up}}},
		"from a change to one":    {4, 6, out, []change{{at(2), up}, {at(4), out}, {at(6), up}}},
		"before the component":    {0, 3, out, []change{{at(2), out}, {at(3), up}, {at(4), slow}, {at(6), up}}},
		"long before it":          {0, 1, out, before},
		"no time at all":          {3, 3, out, before},
	} {
		if got := statuspage.Worsen(before, at(c.from), at(c.to), c.status); !slices.Equal(got, c.want) {
			t.Errorf("%s: Worsen = %v, want %v", name, got, c.want)
		}
	}
}
