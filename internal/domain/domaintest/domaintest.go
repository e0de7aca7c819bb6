// Package domaintest has what tests of the domain share: instants, gaps, draws of random values, and comparisons.
package domaintest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Epoch is the beginning of the tests' virtual time.
var Epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// At returns the instant d after the epoch.
func At(d time.Duration) time.Time { return Epoch.Add(d) }

// Gap returns the gap between two times, in seconds after the epoch.
func Gap(from, to float64) schedule.ListeningGap {
	return schedule.ListeningGap{From: At(Seconds(from)), To: At(Seconds(to))}
}

// Seconds returns a duration of s seconds.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// DrawGaps draws gaps of all lengths, in order and without overlap, from shortly before the Epoch.
func DrawGaps(t *rapid.T) []schedule.ListeningGap {
	var gaps []schedule.ListeningGap
	end := At(-100 * time.Second)
	for range rapid.IntRange(0, 8).Draw(t, "gaps") {
		pause := rapid.OneOf(rapid.Int64Range(1, 40_000), rapid.Int64Range(1, 2_000_000)).Draw(t, "pause ms")
		length := rapid.OneOf(rapid.Int64Range(1, 40_000), rapid.Int64Range(1, 4_000_000)).Draw(t, "length ms")
		from := end.Add(time.Duration(pause) * time.Millisecond)
		end = from.Add(time.Duration(length) * time.Millisecond)
		gaps = append(gaps, schedule.ListeningGap{From: from, To: end})
	}
	return gaps
}

// DrawWait draws a wait that begins at the Epoch, with an interval or a cron schedule.
func DrawWait(t *rapid.T) schedule.PingWait {
	wait := schedule.PingWait{
		Since:    Epoch,
		Interval: time.Duration(rapid.Int64Range(1, 2000).Draw(t, "interval s")) * time.Second,
	}
	if rapid.Bool().Draw(t, "cron") {
		minute := rapid.SampledFrom([]string{"*", "*/3", "*/20", "7,12,50"}).Draw(t, "minute")
		wait.Cron = schedule.Cron{Expression: minute + " * * * *", TimeZone: "UTC"}
	}
	wait.Grace = time.Duration(rapid.SampledFrom([]int64{0, 0, 30, 600}).Draw(t, "grace s")) * time.Second
	if rapid.Bool().Draw(t, "rejected") {
		wait.RejectedAt = At(time.Duration(rapid.Int64Range(-10_000, 5_000_000).Draw(t,
			"rejected ms")) * time.Millisecond)
	}
	return wait
}

// TotalGap returns the total length of the gaps after an instant.
func TotalGap(gaps []schedule.ListeningGap, since time.Time) (sum time.Duration) {
	for _, h := range gaps {
		if h.To.After(since) {
			if h.From.Before(since) {
				h.From = since
			}
			sum += h.Len()
		}
	}
	return sum
}

// Row is one rule of the API contract (docs/api.md), or one decision about a case that the contract does not mention.
// Its name states the rule, so the tests are the list of rules:
//
//	go test -v -run '^Test(Contract|Decisions)' ./internal/domain/... ./internal/worker/ping
type Row struct {
	Name string
	Test func(*testing.T)
}

// RunRows runs each row as a subtest.
func RunRows(t *testing.T, rows []Row) {
	for _, r := range rows {
		t.Run(r.Name, r.Test)
	}
}

// Instants of the rows, a minute apart.
var (
	T0 = At(0)
	T1 = At(time.Minute)
	T2 = At(2 * time.Minute)
)

// ChangeIncident applies a valid change to an incident, and reports whether the change resolved it.
func ChangeIncident(i *statuspage.Incident, now time.Time, change func(*statuspage.Incident)) bool {
	before := *i
	_, err := i.Change(func(i *statuspage.Incident) error {
		change(i)
		return nil
	}, statuspage.IncidentUpdate{}, nil, now)
	if err != nil {
		panic(err)
	}
	return i.Resolved && !before.Resolved
}

// CheckFields checks that err names exactly these fields.
func CheckFields(t *testing.T, err error, fields ...string) {
	t.Helper()
	var got []string
	if err != nil {
		invalid, ok := err.(*kernel.ValidationError)
		if !ok {
			t.Fatalf("error %v is not a *ValidationError", err)
		}
		for field, words := range invalid.Messages() {
			got = append(got, field)
			if len(words) == 0 {
				t.Errorf("%s is named without a message", field)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(fields)
	if !slices.Equal(got, fields) {
		t.Errorf("fields %v, want %v", got, fields)
	}
}

// Equal checks that got is want.
func Equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// MonitorRefusal returns what is wrong with a new monitor.
func MonitorRefusal(change monitor.MonitorChange) error {
	_, err := resource.NewMonitor(change, T1)
	return err
}

// ChangeMonitor changes a monitor. An error fails the test.
func ChangeMonitor(t *testing.T, m *monitor.Monitor, by monitor.MonitorChange, now time.Time) {
	t.Helper()
	if err := resource.ChangeMonitor(m, by, now); err != nil {
		t.Error(err)
	}
}

// SetSecrets gives secrets to a check. A null removes a secret.
func SetSecrets(c *monitor.MonitorConfig, given map[string]json.RawMessage) {
	c.Check.Secrets = maps.Clone(c.Check.Secrets)
	if c.Check.Secrets == nil {
		c.Check.Secrets = make(map[string]json.RawMessage)
	}
	for field, value := range given {
		c.Check.SecretFields = slices.DeleteFunc(slices.Clone(c.Check.SecretFields), func(f string) bool {
			return f == field
		})
		if delete(c.Check.Secrets, field); strings.TrimSpace(string(value)) != "null" {
			c.Check.Secrets[field], c.Check.SecretFields = value, append(c.Check.SecretFields, field)
		}
	}
	c.Check.SecretFields = slices.Sorted(slices.Values(c.Check.SecretFields))
}

// ComponentWith returns a component with a baseline and causes, last changed at T0.
func ComponentWith(baseline kernel.Status, causes ...kernel.Status) statuspage.Component {
	c := statuspage.Component{ID: "comp_1", Baseline: baseline, UpdatedAt: T0}
	for i, status := range causes {
		c.Causes = append(c.Causes, statuspage.Cause{Source: OutageID(i), Status: status, StartedAt: T0})
	}
	return c
}

// CheckNew returns what is wrong with a new object that has the values of v.
func CheckNew[T any](r *field.Resource[T], v T) error {
	var object T
	r.Begin(&object, "new", T0)
	return r.Create(&object, r.From(v), T0)
}

// NewPage returns a new page with the values of another.
func NewPage(v statuspage.Page) (p statuspage.Page, err error) {
	resource.Page.Begin(&p, "new", T0)
	return p, resource.Page.Create(&p, resource.Page.From(v), T0)
}

// Opened returns an incident that was created at T0.
func Opened(i statuspage.Incident, message ...string) statuspage.Incident {
	i.ID, i.PageID, i.Title = "id", "page_1", "Checkout is slow"
	i.Open(statuspage.IncidentUpdate{ID: "upd_1", Message: strings.Join(message, "")}, T0)
	return i
}

// IncidentRefusal returns what is wrong with a change of an incident.
func IncidentRefusal(change func(*statuspage.Incident)) error {
	i := Opened(statuspage.Incident{})
	_, err := i.Change(func(i *statuspage.Incident) error {
		change(i)
		return nil
	}, statuspage.IncidentUpdate{}, nil, T1)
	return err
}

// OutageID returns the id of the i-th outage, from 0.
func OutageID(i int) string { return "out_" + string(rune('a'+i)) }
