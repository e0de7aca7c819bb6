package statuspage_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"pgregory.net/rapid"
)

// TestIncidentInvariants checks rules that hold for an incident after any sequence of
// changes.
func TestIncidentInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := domaintest.Epoch
		state := rapid.SampledFrom(append([]statuspage.IncidentState{""}, statuspage.IncidentStates...))
		impact := rapid.SampledFrom(append([]kernel.Impact{""}, kernel.Impacts...))
		inc := statuspage.Incident{
			ID: "id", PageID: "page_1", Title: "x", State: state.Draw(t, "state"), Impact: impact.Draw(t, "impact"),
		}
		inc.Open(statuspage.IncidentUpdate{}, now)
		invariants(t, inc)
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			now = now.Add(time.Duration(rapid.IntRange(1, 1000).Draw(t, "ms later")) * time.Millisecond)
			before := inc
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				inc.AddUpdate("upd_n", "message", lastOf(inc.Updates), now)
				if !inc.UpdatedAt.Equal(now) {
					t.Fatal("an update was added, and updated_at did not change")
				}
				invariants(t, inc)
				continue
			}
			title := rapid.Ptr(rapid.SampledFrom([]string{"x", "y"}), true).Draw(t, "title")
			impact := rapid.Ptr(rapid.SampledFrom(kernel.Impacts), true).Draw(t, "impact")
			state := rapid.Ptr(rapid.SampledFrom(statuspage.IncidentStates), true).Draw(t, "state")
			resolved := rapid.Ptr(rapid.Bool(), true).Draw(t, "resolved")
			domaintest.ChangeIncident(&inc, now, func(i *statuspage.Incident) {
				if title != nil {
					i.Title = *title
				}
				if impact != nil {
					i.SetImpact(*impact)
				}
				if state != nil {
					i.State = *state
				}
				if resolved != nil {
					i.SetResolved(*resolved)
				}
			})
			invariants(t, inc)
			if inc.Resolved && !inc.ResolvedAt.Equal(now) && !inc.ResolvedAt.Equal(before.ResolvedAt) {
				t.Fatalf("resolved_at is %v, neither now nor the previous value", inc.ResolvedAt)
			}
			if inc.ID != before.ID || inc.PageID != before.PageID || !inc.CreatedAt.Equal(before.CreatedAt) {
				t.Fatal("a change modified a field that never changes")
			}
			changed := inc.Title != before.Title || inc.Impact != before.Impact || inc.State != before.State ||
				inc.Resolved != before.Resolved || !inc.ResolvedAt.Equal(before.ResolvedAt)
			if moved := inc.UpdatedAt.Equal(now); moved != changed {
				t.Fatalf("something changed: %v; updated_at changed: %v", changed, moved)
			}
		}
	})
}

func invariants(t *rapid.T, inc statuspage.Incident) {
	if !inc.State.Valid() || !inc.Impact.Valid() {
		t.Fatalf("state %q, impact %q", inc.State, inc.Impact)
	}
	if inc.State == statuspage.IncidentResolved && !inc.Resolved {
		t.Fatal("state resolved without the flag")
	}
	if inc.Resolved == inc.ResolvedAt.IsZero() {
		t.Fatalf("resolved is %v, resolved_at %v", inc.Resolved, inc.ResolvedAt)
	}
}

// TestComponentStatusFollowsFromItsHistory checks that the status of a component is what replaying its
// outages and changes gives, and that updated_at changes only with the status.
func TestComponentStatusFollowsFromItsHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := domaintest.ComponentWith(rapid.SampledFrom(kernel.Statuses).Draw(t, "baseline"))
		now := domaintest.Epoch
		baseline := c.Baseline
		counting := make(map[string]kernel.Status) // causes since a person last set the status
		for i := range rapid.IntRange(0, 20).Draw(t, "steps") {
			now = now.Add(time.Second)
			before, updated := c.Status(), c.UpdatedAt
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				down := rapid.SampledFrom([]kernel.Status{
					"major_outage", "partial_outage", "degraded", "degraded_performance",
				}).Draw(t, "down")
				c.AddCause(statuspage.Cause{Source: domaintest.OutageID(i), Status: down, StartedAt: now}, now)
				counting[domaintest.OutageID(i)] = down
			case 1:
				id := domaintest.OutageID(rapid.IntRange(0, i).Draw(t, "outage"))
				c.RemoveCause(id, now)
				delete(counting, id)
			case 2:
				baseline = rapid.SampledFrom(kernel.Statuses).Draw(t, "baseline")
				if err := setStatus(&c, baseline, now); err != nil {
					t.Fatal(err)
				}
				clear(counting)
			}
			// The same rule, computed in another way: the rollup of the parts.
			parts := page(baseline)
			for _, s := range counting {
				parts = append(parts, domaintest.ComponentWith(s))
			}
			if got, want := c.Status().Canonical(), statuspage.Rollup(parts); got != want {
				t.Fatalf("status %s, want %s", got, want)
			}
			if moved, changed := !c.UpdatedAt.Equal(updated), c.Status() != before; moved != changed {
				t.Fatalf("status changed: %v; updated_at changed: %v", changed, moved)
			}
		}
	})
}

func TestEditsChangeUpdatedAtOnlyWithAField(t *testing.T) {
	t.Run("component", func(t *testing.T) {
		c := statuspage.Component{Name: "API", Baseline: kernel.StatusOperational, Order: 2, UpdatedAt: domaintest.T0}
		change := func(change func(c *statuspage.Component), now time.Time) {
			domaintest.CheckFields(t, resource.Component.Apply(&c, func(c *statuspage.Component) error {
				change(c)
				return nil
			}, now))
		}
		change(func(c *statuspage.Component) {
			c.Name, c.Order, c.GroupID, c.Description = "API", 2, "", nil
		}, domaintest.T1)
		domaintest.Equal(t, "nothing changed", c.UpdatedAt, domaintest.T0)
		for i, f := range []func(c *statuspage.Component){
			func(c *statuspage.Component) { c.Name = "Web" }, func(c *statuspage.Component) { c.Order = 1 },
			func(c *statuspage.Component) {
				c.GroupID = "grp_1"
			}, func(c *statuspage.Component) { c.Description = new("d") },
			func(c *statuspage.Component) { c.Description = nil }, func(c *statuspage.Component) { c.Slug = "web" },
			func(c *statuspage.Component) { c.Hidden = true },
		} {
			now := domaintest.At(time.Duration(i+1) * time.Minute)
			change(f, now)
			domaintest.Equal(t, fmt.Sprint("change ", i), c.UpdatedAt, now)
		}
		domaintest.Equal(t, "component", c, statuspage.Component{
			Name: "Web", Slug: "web", Baseline: kernel.StatusOperational, Order: 1, GroupID: "grp_1", Hidden: true,
			UpdatedAt: domaintest.At(7 * time.Minute),
		})
	})
	t.Run("page", func(t *testing.T) {
		p, err := domaintest.NewPage(statuspage.Page{Name: "Acme", Slug: "acme"})
		domaintest.CheckFields(t, err)
		want := p
		change := func(p *statuspage.Page, to statuspage.Page, now time.Time) {
			t.Helper()
			domaintest.CheckFields(t, resource.Page.Apply(p, resource.Page.From(to), now))
		}
		change(&p, statuspage.Page{Name: "Acme", Slug: "acme"}, domaintest.T1)
		domaintest.Equal(t, "nothing changed", p, want)
		change(&p, statuspage.Page{Slug: "acme-eu"}, domaintest.T1)
		want.Slug, want.UpdatedAt = "acme-eu", domaintest.T1
		domaintest.Equal(t, "slug", p, want)
		change(&p, statuspage.Page{Description: new("d")}, domaintest.T2)
		want.Description, want.UpdatedAt = new("d"), domaintest.T2
		domaintest.Equal(t, "description", p, want)
	})
}

func TestOrdersAreBounded(t *testing.T) {
	for _, c := range []struct {
		order int
		bad   []string
	}{
		{0, nil}, {statuspage.MaxOrder, nil}, {-statuspage.MaxOrder, nil},
		{statuspage.MaxOrder + 1, []string{"order"}}, {math.MinInt, []string{"order"}},
	} {
		domaintest.CheckFields(t,
			domaintest.CheckNew(resource.Component, statuspage.Component{Name: "n", Order: c.order}), c.bad...)
		domaintest.CheckFields(t, domaintest.CheckNew(resource.Group, statuspage.Group{Name: "n", Order: c.order}),
			c.bad...)
	}
}

func TestIDsSortByCreationTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 1<<46)
		a, b := ms.Draw(t, "a"), ms.Draw(t, "b")
		first, second := kernel.NewID("x_", time.UnixMilli(a)), kernel.NewID("x_", time.UnixMilli(b))
		if a != b && (a < b) != (first < second) {
			t.Fatalf("ids do not sort by time: at %d %s, at %d %s", a, first, b, second)
		}
	})
}

func TestIDsAreUniqueWithinAMillisecond(t *testing.T) {
	seen := make(map[string]bool)
	for range 100_000 {
		id := kernel.NewID(kernel.PrefixUpdate, domaintest.Epoch)
		if seen[id] {
			t.Fatalf("NewID returned %s twice", id)
		}
		seen[id] = true
	}
}

func TestNewIDAfterSortsAfterTheLast(t *testing.T) {
	for _, back := range []time.Duration{0, -time.Millisecond, time.Hour, -time.Hour} {
		last := ""
		for i := range 10_000 {
			next := kernel.NewIDAfter(last, "x_", domaintest.Epoch.Add(time.Duration(i)*back))
			if next <= last || len(next) != 22 {
				t.Fatalf("NewIDAfter returned %s after %s", next, last)
			}
			last = next
		}
	}
	if full := "x_00000000vvvvvvvvvvvv"; kernel.NewIDAfter(full, "x_", time.UnixMilli(0)) <= full {
		t.Errorf("no id after %s", full)
	}
}

func TestSecretEndsInItsChecksum(t *testing.T) {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for range 1000 {
		secret := account.NewTokenSecret()
		body, sum := secret[3:46], uint64(0)
		for _, digit := range secret[46:] {
			sum = sum*62 + uint64(strings.IndexRune(digits, digit))
		}
		if want := crc32.ChecksumIEEE([]byte(body)); sum != uint64(want) {
			t.Fatalf("%s: the checksum reads %d, want %d", secret, sum, want)
		}
	}
}

// TestPingTokensAreUniform checks that each of the 62 characters is equally frequent at
// each position of a ping token. A fair source exceeds the bound less than once in a million
// runs.
func TestPingTokensAreUniform(t *testing.T) {
	const runs = 20_000
	var count [kernel.PingTokenLength][128]int
	for range runs {
		for place, c := range []byte(kernel.NewPingToken()) {
			count[place][c]++
		}
	}
	for place := range count {
		chi := 0.0
		for c := range count[place] {
			n := count[place][c]
			if n > 0 || c != '-' && kernel.IsPingToken(strings.Repeat(string(rune(c)), kernel.PingTokenLength)) {
				d := float64(n) - runs/62.0
				chi += d * d / (runs / 62.0)
			}
		}
		// 61 degrees of freedom: mean 61, deviation 11. P(chi > 148) < 10⁻⁸ per
		// position.
		if chi > 148 {
			t.Errorf("position %d: chi-square %.0f, want about 61", place, chi)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0:                                     "0 seconds",
		-5 * time.Second:                      "0 seconds",
		499 * time.Millisecond:                "0 seconds",
		500 * time.Millisecond:                "1 second",
		time.Second:                           "1 second",
		59 * time.Second:                      "59 seconds",
		59*time.Second + 600*time.Millisecond: "1 minute",
		5 * time.Minute:                       "5 minutes",
		61 * time.Second:                      "1 minute 1 second",
		90 * time.Minute:                      "1 hour 30 minutes",
		time.Hour + 3*time.Second:             "1 hour",
		time.Hour + 2*time.Minute + 3*time.Second: "1 hour 2 minutes",
		day + 3*time.Minute:                       "1 day",
		2*day + 5*time.Hour:                       "2 days 5 hours",
		365 * day:                                 "365 days",
	} {
		domaintest.Equal(t, d.String(), kernel.FormatDuration(d), want)
	}
}

func TestCompactDuration(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-5 * time.Second:              "0 s",
		499 * time.Millisecond:        "0 s",
		12 * time.Second:              "12 s",
		75 * time.Second:              "1 min 15 s",
		time.Hour + 3*time.Second:     "1 h",
		16*time.Hour + 26*time.Minute: "16 h 26 min",
		25 * time.Hour:                "25 h",
		2*day - time.Second:           "47 h 59 min",
		2 * day:                       "2 d",
		8*day + 5*time.Hour:           "8 d 5 h",
	} {
		domaintest.Equal(t, d.String(), kernel.CompactDuration(d), want)
	}
	for d, want := range map[time.Duration]string{
		time.Second: "every second", time.Minute: "every minute", time.Hour: "every hour",
		90 * time.Second: "every 1 min 30 s", 25 * time.Hour: "every 25 h",
	} {
		domaintest.Equal(t, d.String(), kernel.EveryDuration(d), want)
	}
}

func TestValidationError(t *testing.T) {
	var bad kernel.ValidationError
	if err := bad.Err(); err != nil {
		t.Fatalf("without errors, Err returns %v", err)
	}
	bad.Add("title", "The title is %s.", "odd")
	bad.Add("impact", "One.")
	bad.Add("impact", "Two.")
	err := fmt.Errorf("wrapped: %w", bad.Err())
	var got *kernel.ValidationError
	if !errors.As(err, &got) {
		t.Fatal("not found in a wrapped error")
	}
	domaintest.Equal(t, "fields", got.Messages(), map[string][]string{
		"title": {"The title is odd."}, "impact": {"One.", "Two."},
	})
	domaintest.Equal(t, "text", got.Error(), "One. Two. The title is odd.")
}

// TestMessagesDoNotRepeatInput checks that no validation message repeats what the client sent.
func TestMessagesDoNotRepeatInput(t *testing.T) {
	const sent = "<script>7f3a"
	for _, err := range []error{
		statuspage.Incident{Title: "x", Impact: sent, State: sent}.CheckNew(statuspage.IncidentUpdate{}),
		domaintest.CheckNew(resource.Component, statuspage.Component{Name: "n", Baseline: sent}),
		domaintest.CheckNew(resource.Page, statuspage.Page{Name: "n", Slug: sent}),
		domaintest.MonitorRefusal(
			monitor.MonitorOf(monitor.MonitorConfig{Name: "n", PageSlug: "p", Interval: time.Minute, DownStatus: sent}),
		),
		account.NewToken{Name: "n", Scope: sent}.Validate(),
		statuspage.Incident{Title: strings.Repeat(sent, 100)}.CheckNew(statuspage.IncidentUpdate{}),
	} {
		if err == nil || strings.Contains(err.Error(), sent) {
			t.Errorf("message: %v", err)
		}
	}
}

func TestEventsDescribeTheirTime(t *testing.T) {
	inc := statuspage.Incident{
		ID: "id", PageID: "page_1", OutageID: "out_1", Title: "t", DownMonitor: "mon", Impact: "major",
		State: "resolved", Resolved: true,
	}
	auto := statuspage.SystemMessage{Kind: statuspage.SystemMessagePingsResumed, Lasted: time.Minute}
	domaintest.Equal(t, "of an incident",
		audience.NewIncidentEvent(statuspage.EventIncidentResolved, inc, &statuspage.IncidentUpdate{
			ID: "upd_1", Message: "m", System: auto,
		}),
		audience.Event{
			Kind: "incident.resolved", PageID: "page_1", IncidentID: "id", OutageID: "out_1", UpdateID: "upd_1",
			Data: audience.EventData{
				Title: "t", DownMonitor: "mon", Impact: "major", State: "resolved", Resolved: true, Message: "m",
				System: auto,
			},
		})
	domaintest.Equal(t, "without an update",
		audience.NewIncidentEvent(statuspage.EventIncidentCreated, inc, nil).UpdateID, "")
	c := domaintest.ComponentWith("operational", "degraded")
	c.PageID, c.Name = "page_1", "API"
	domaintest.Equal(t, "of a component", audience.NewStatusEvent(c, "operational"), audience.Event{
		Kind: "component.status_changed", PageID: "page_1", ComponentID: "comp_1", Components: []string{"comp_1"},
		Data: audience.EventData{Component: "API", OldStatus: "operational", NewStatus: "degraded"},
	})
}

func TestSummarize(t *testing.T) {
	now := time.Date(2026, 11, 20, 0, 30, 0, 0, time.FixedZone("", 2*3600)) // 19 November, 22:30 UTC
	today := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	contents := summarized(now, today)
	before := fmt.Sprint(contents)
	s := contents.Summarize(now)
	if fmt.Sprint(contents) != before {
		t.Error("Summarize changed its input")
	}
	domaintest.Equal(t, "status", s.Status, kernel.StatusDegraded)
	domaintest.Equal(t, "status of the page", s.Page.Status, kernel.StatusDegraded)
	domaintest.Equal(t, "banner", s.Banner, "Some systems are degraded")
	domaintest.Equal(t, "as of", s.AsOf.Equal(now), true)

	var active []string
	for _, inc := range s.Active {
		active = append(active, inc.ID)
		domaintest.Equal(t, "newest update first",
			[]int{inc.Updates[0].Number, inc.Updates[1].Number, inc.Updates[2].Number}, []int{3, 2, 1})
	}
	domaintest.Equal(t, "active, newest first", active, []string{"active new", "active old"})

	domaintest.Equal(t, "days", len(s.Past), statuspage.PastDays)
	past := make(map[string][]string)
	for i, day := range s.Past {
		domaintest.Equal(t, "date", day.Date, today.AddDate(0, 0, -i))
		for _, inc := range day.Incidents {
			key := day.Date.Format("2 January")
			past[key] = append(past[key], inc.ID)
			domaintest.Equal(t, "newest update first", inc.Updates[0].Number, 3)
		}
	}
	domaintest.Equal(t, "past, by day", past, map[string][]string{
		"19 November": {"today late", "today early"}, "13 November": {"first day"},
	})

	var blocks []string
	for _, b := range s.Blocks {
		words := []string{b.Group.ID, string(b.Status)}
		for _, c := range b.Components {
			words = append(words, c.ID)
		}
		blocks = append(blocks, strings.Join(words, " "))
	}
	domaintest.Equal(t, "blocks", blocks, []string{
		" operational a b", "grp_early maintenance c d", "grp_late degraded e",
	})
}

// summarized is a page with components in two groups and in none, and incidents of today, of the first day that is
// shown, and from before it.
func summarized(now, today time.Time) statuspage.PageContents {
	incident := func(id string, began time.Time, resolved bool) statuspage.Incident {
		inc := statuspage.Incident{
			ID: id, CreatedAt: began, Resolved: resolved,
			Updates: []statuspage.IncidentUpdate{{Number: 1}, {Number: 2}, {Number: 3}},
		}
		if resolved {
			inc.ResolvedAt = began.Add(time.Minute)
		}
		return inc
	}
	component := func(id, group string, order int, baseline kernel.Status) statuspage.Component {
		return statuspage.Component{ID: id, GroupID: group, Order: order, Baseline: baseline}
	}
	return statuspage.PageContents{
		Page: statuspage.Page{ID: "page_1", Name: "Acme"},
		Groups: []statuspage.Group{
			{ID: "grp_late", Order: 2}, {ID: "grp_empty", Order: 0}, {ID: "grp_early", Order: 1},
		},
		Components: []statuspage.Component{
			component("e", "grp_late", 0, "degraded_performance"), component("d", "grp_early", 0, "unknown"),
			component("c", "grp_early", -1, "maintenance"), component("b", "", 5, "operational"),
			component("a", "", 5, "operational"),
		},
		Incidents: []statuspage.Incident{
			incident("today early", today, true), incident("active old", today.AddDate(0, 0, -40), false),
			incident("first day", today.AddDate(0, 0, -6), true),
			incident("a day too old", today.AddDate(0, 0, -6).Add(-time.Millisecond), true),
			incident("today late", today.Add(20*time.Hour), true), incident("active new", today.Add(time.Hour), false),
		},
		AsOf: now,
	}
}

// TestByLatestUpdate checks that the incident that was updated last comes first, and that none is lost
// or duplicated.
func TestByLatestUpdate(t *testing.T) {
	at := func(minute int) time.Time { return domaintest.Epoch.Add(time.Duration(minute) * time.Minute) }
	incident := func(id string, began int, updates ...int) statuspage.Incident {
		inc := statuspage.Incident{ID: id, CreatedAt: at(began)}
		for i, minute := range updates {
			inc.Updates = append(inc.Updates, statuspage.IncidentUpdate{Number: i + 1, CreatedAt: at(minute)})
		}
		return inc
	}
	given := []statuspage.Incident{
		incident("without updates", 3), incident("old and recently updated", 0, 0, 9), incident("new", 5, 5),
		incident("as recent, but older", 4, 5), incident("as recent, with a lower id", 5),
		incident("old and not updated", 1, 2),
	}
	before := fmt.Sprint(given)
	var got []string
	for _, inc := range statuspage.ByLatestUpdate(given) {
		got = append(got, inc.ID)
	}
	domaintest.Equal(t, "order", got, []string{
		"old and recently updated", "new", "as recent, with a lower id", "as recent, but older", "without updates",
		"old and not updated",
	})
	domaintest.Equal(t, "the input", fmt.Sprint(given), before)
}

func TestSummarizeShowsEverythingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := domaintest.Epoch.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "now")))
		contents := statuspage.PageContents{Groups: []statuspage.Group{{ID: "grp_1"}, {ID: "grp_2"}}}
		for i := range rapid.IntRange(0, 10).Draw(t, "components") {
			contents.Components = append(contents.Components, statuspage.Component{
				ID: fmt.Sprint(i), GroupID: rapid.SampledFrom([]string{"", "grp_1", "grp_2"}).Draw(t, "group"),
				Order:    rapid.IntRange(-2, 2).Draw(t, "order"),
				Baseline: rapid.SampledFrom(kernel.Statuses).Draw(t, "status")})
		}
		oldest := statuspage.AddDays(statuspage.Midnight(now, time.UTC), 1-statuspage.PastDays)
		for i := range rapid.IntRange(0, 10).Draw(t, "incidents") {
			contents.Incidents = append(contents.Incidents, statuspage.Incident{
				ID: fmt.Sprint(i), Resolved: rapid.Bool().Draw(t, "resolved"),
				CreatedAt: oldest.Add(time.Duration(rapid.Int64Range(0, int64(now.Sub(oldest))).Draw(t, "began")))})
		}
		s := contents.Summarize(now)
		var components, incidents, want []string
		for _, b := range s.Blocks {
			if len(b.Components) == 0 || b.Status != statuspage.Rollup(b.Components) {
				t.Fatalf("block %v", b)
			}
			for _, c := range b.Components {
				if c.GroupID != b.Group.ID {
					t.Fatalf("component of %q under %q", c.GroupID, b.Group.ID)
				}
				components = append(components, c.ID)
			}
		}
		for i := range contents.Components {
			want = append(want, fmt.Sprint(i))
		}
		slices.Sort(components)
		if !slices.Equal(components, want) {
			t.Fatalf("components %v of %v", components, want)
		}
		for _, inc := range s.Active {
			incidents = append(incidents, inc.ID+" false")
		}
		for _, day := range s.Past {
			for _, inc := range day.Incidents {
				incidents = append(incidents, inc.ID+" true")
			}
		}
		want = nil
		for _, inc := range contents.Incidents {
			want = append(want, fmt.Sprint(inc.ID, " ", inc.Resolved))
		}
		slices.Sort(incidents)
		slices.Sort(want)
		if !slices.Equal(incidents, want) {
			t.Fatalf("incidents %v of %v", incidents, want)
		}
	})
}

// lastOf returns the newest update, or nil.
func lastOf(updates []statuspage.IncidentUpdate) *statuspage.IncidentUpdate {
	if len(updates) == 0 {
		return nil
	}
	return &updates[len(updates)-1]
}

// TestNoDaysBeforeThePage checks that a page does not show days before its creation.
func TestNoDaysBeforeThePage(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ago := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	for _, c := range []struct {
		name     string
		contents statuspage.PageContents
		days     int
	}{
		{"created today", statuspage.PageContents{Page: statuspage.Page{CreatedAt: now}}, 1},
		{"created by a clock that was ahead", statuspage.PageContents{Page: statuspage.Page{CreatedAt: ago(-3)}}, 1},
		{"created two days ago", statuspage.PageContents{Page: statuspage.Page{CreatedAt: ago(2)}}, 3},
		{"created long ago", statuspage.PageContents{Page: statuspage.Page{CreatedAt: ago(300)}}, statuspage.PastDays},
		{"an earlier incident",
			statuspage.PageContents{
				Page:      statuspage.Page{CreatedAt: now},
				Incidents: []statuspage.Incident{{CreatedAt: ago(3), Resolved: true}},
			},
			4},
		{"an earlier maintenance",
			statuspage.PageContents{
				Page: statuspage.Page{CreatedAt: now}, Maintenances: []statuspage.Maintenance{{BegunAt: ago(1)}, {}},
			},
			2},
	} {
		domaintest.Equal(t, c.name, len(c.contents.Summarize(now).Past), c.days)
	}
}
