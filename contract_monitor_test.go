package allswell_test

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/resource"
)

// pinged returns a monitor with an interval of five minutes that was pinged at t0.
func pinged() allswell.Monitor {
	m := allswell.Monitor{
		ID: "mon_1",
		MonitorConfig: allswell.MonitorConfig{
			Type: allswell.MonitorHeartbeat, Name: "Nightly backup", Interval: 5 * time.Minute, Enabled: true, DownStatus: allswell.StatusMajorOutage,
			RunConditions: allswell.RunConditions{}.WithDefaults(),
		},
		MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp},
	}
	m.RecordPing(t0)
	return m
}

// check returns the tick at an instant after the epoch, with a period of a minute and a threshold
// of 3.
func check(after time.Duration, gaps ...allswell.ListeningGap) allswell.Tick {
	return allswell.Tick{Instant: at(after), AsOf: at(after), Period: time.Minute, Threshold: 3, Gaps: gaps}
}

// dead returns the monitor after nine minutes, when it is down.
func dead(t *testing.T) allswell.Monitor {
	t.Helper()
	m := pinged()
	for after := time.Minute; after <= 8*time.Minute; after += time.Minute {
		m.ApplyTick(check(after))
	}
	if m.State != allswell.MonitorDown {
		t.Fatal("not down after 8 minutes")
	}
	return m
}

var monitorRows = []row{
	{"token: unique, cryptographically random", func(t *testing.T) {
		seen := make(map[string]bool)
		for range 10_000 {
			token := allswell.NewPingToken()
			if seen[token] || !allswell.IsPingToken(token) {
				t.Fatalf("%q is a duplicate or malformed", token)
			}
			seen[token] = true
		}
	}},
	{"state: up or down", func(t *testing.T) {
		equal(t, "pinged", pinged().State, allswell.MonitorState("up"))
		equal(t, "silent", dead(t).State, allswell.MonitorState("down"))
	}},
	{"any, Valid ping → up; next_check_at = now + interval; consecutive_failures = 0", func(t *testing.T) {
		for _, state := range []allswell.MonitorState{allswell.MonitorUp, allswell.MonitorDown} {
			m := pinged()
			m.State, m.ConsecutiveFailures = state, 7
			m.RecordPing(t2)
			equal(t, "state", m.State, allswell.MonitorUp)
			equal(t, "next_check_at", m.DueAt(nil), t2.Add(5*time.Minute))
			equal(t, "consecutive_failures", m.ConsecutiveFailures, 0)
			equal(t, "last_ping_at", m.LastPingAt, t2)
		}
	}},
	{"any, Valid ping, if the monitor was down → it recovers", func(t *testing.T) {
		m := pinged()
		equal(t, "up before", m.RecordPing(t1), false)
		m = dead(t)
		equal(t, "down before", m.RecordPing(at(10*time.Minute)), true)
		equal(t, "heard again", m.RecordPing(at(11*time.Minute)), false)
	}},
	{"any, Valid ping, if the monitor was down → the auto-created incident is resolved and the component status is restored", func(t *testing.T) {
		c := with("operational")
		m := dead(t)
		c.AddCause(allswell.Cause{Source: "out_a", Status: m.DownStatus, StartedAt: t1}, t1)
		inc, first := m.DownIncident(m.LastPingAt)
		inc.Open(first, t1)
		equal(t, "component while down", c.Status(), allswell.StatusMajorOutage)
		equal(t, "incident while down", inc.Resolved, false)
		if m.RecordPing(t2) {
			c.RemoveCause("out_a", t2)
			changed(&inc, t2, func(i *allswell.Incident) { i.State = allswell.IncidentResolved; i.SetResolved(true) })
		}
		equal(t, "component", c.Status(), allswell.StatusOperational)
		equal(t, "incident state", inc.State, allswell.IncidentResolved)
		equal(t, "incident resolved_at", inc.ResolvedAt, t2)
	}},
	{"up, Periodic check, next_check_at has passed with no ping → up; consecutive_failures increases by 1", func(t *testing.T) {
		m := pinged()
		for i, want := range []struct {
			result   allswell.TickResult
			failures int
			state    allswell.MonitorState
		}{
			{allswell.TickOnTime, 0, allswell.MonitorUp}, {allswell.TickOnTime, 0, allswell.MonitorUp}, {allswell.TickOnTime, 0, allswell.MonitorUp}, {allswell.TickOnTime, 0, allswell.MonitorUp},
			{allswell.TickOnTime, 0, allswell.MonitorUp}, // the deadline itself has not passed
			{allswell.TickOverdue, 1, allswell.MonitorUp}, {allswell.TickOverdue, 2, allswell.MonitorUp},
			{allswell.TickWentDown, 3, allswell.MonitorDown}, {allswell.TickSkipped, 3, allswell.MonitorDown},
		} {
			minute := time.Duration(i+1) * time.Minute
			equal(t, "result after "+minute.String(), m.ApplyTick(check(minute)), want.result)
			equal(t, "failures after "+minute.String(), m.ConsecutiveFailures, want.failures)
			equal(t, "state after "+minute.String(), m.State, want.state)
		}
	}},
	{"up, Periodic check, consecutive_failures reaches the configured threshold → down", func(t *testing.T) {
		for _, threshold := range []int{1, 2, 3, 10} {
			m := pinged()
			for i := 1; i <= threshold; i++ {
				equal(t, "state before", m.State, allswell.MonitorUp)
				tick := check(5*time.Minute + time.Duration(i)*time.Minute)
				tick.Threshold = threshold
				m.ApplyTick(tick)
				equal(t, "failures", m.ConsecutiveFailures, i)
			}
			equal(t, "state", m.State, allswell.MonitorDown)
		}
	}},
	{"up, Periodic check, threshold reached → the component's status reflects the outage and an incident is created", func(t *testing.T) {
		m := dead(t)
		c := with("operational")
		c.AddCause(allswell.Cause{Source: "out_a", Status: m.DownStatus, StartedAt: t1}, t1)
		equal(t, "component", c.Status(), allswell.StatusMajorOutage)
		n, first := m.DownIncident(m.LastPingAt)
		checkFields(t, n.CheckNew(first))
		equal(t, "title", n.Title, "Nightly backup is down")
	}},
}

var monitorDecisionRows = []row{
	{"Status set when a monitor goes down: each monitor can have its own", func(t *testing.T) {
		for _, c := range []struct {
			status allswell.Status
			bad    []string
		}{
			{"major_outage", nil}, {"partial_outage", nil}, {"degraded", nil}, {"degraded_performance", nil},
			{"operational", []string{"down_status"}}, {"maintenance", []string{"down_status"}}, {"unknown", []string{"down_status"}}, {"red", []string{"down_status"}},
		} {
			checkFields(t, newRefusal(allswell.MonitorOf(allswell.MonitorConfig{Name: "n", PageSlug: "p", Interval: time.Minute, DownStatus: c.status})), c.bad...)
			checkFields(t, changeRefusal(func(to *allswell.MonitorConfig) error { to.DownStatus = c.status; return nil }), c.bad...)
		}
	}},
	{"The auto-incident: title, impact by down status, state investigating, a first update with the beginning of the silence", func(t *testing.T) {
		for status, impact := range map[allswell.Status]allswell.Impact{
			"major_outage": "critical", "partial_outage": "major", "degraded": "minor", "degraded_performance": "minor",
		} {
			m := pinged()
			m.DownStatus = status
			inc, first := m.DownIncident(time.Date(2026, 3, 7, 14, 5, 9, 0, time.FixedZone("", 3600)))
			equal(t, "incident", inc, allswell.Incident{
				Title: "Nightly backup is down", DownMonitor: "Nightly backup", Impact: impact, State: allswell.IncidentInvestigating,
			})
			equal(t, "update", first, allswell.IncidentUpdate{
				Message: "No ping has arrived since 7 March 2026, 13:05:09 UTC. The expected interval is 5 minutes.",
				System:  allswell.SystemMessage{Kind: allswell.SystemMessageSilent, Since: time.Date(2026, 3, 7, 13, 5, 9, 0, time.UTC), Interval: 5 * time.Minute},
			})
			inc.Open(first, t1)
			equal(t, "auto", inc.Updates[0].System.Kind, allswell.SystemMessageSilent)
		}
	}},
	{"The auto-incident: the longest name results in a title of at most 255 characters", func(t *testing.T) {
		for n := 245; n <= 255; n++ {
			m := pinged()
			m.Name = strings.Repeat("ü", n)
			inc, first := m.DownIncident(t0)
			checkFields(t, inc.CheckNew(first))
			equal(t, "length", utf8.RuneCountInString(inc.Title), min(n+len(" is down"), 255))
			if !strings.HasSuffix(inc.Title, " is down") {
				t.Errorf("%d characters: the title ends in %q", n, inc.Title[len(inc.Title)-10:])
			}
		}
	}},
	{"The auto-incident: recovery adds an update with the length of the silence", func(t *testing.T) {
		equal(t, "message", allswell.OutageEndedByPing.SystemMessage(18*time.Minute+4*time.Second).Text(), "Pings are arriving again, after 18 minutes 4 seconds of silence.")
	}},
	{"Monitor never pinged: next_check_at is null, state up, no outage before the first ping", func(t *testing.T) {
		m := allswell.Monitor{
			MonitorConfig: allswell.MonitorConfig{Interval: time.Second, Enabled: true},
			MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp},
		}
		for hour := range 100 {
			equal(t, "result", m.ApplyTick(check(time.Duration(hour)*time.Hour)), allswell.TickSkipped)
		}
		equal(t, "next_check_at", m.DueAt(nil), time.Time{})
		equal(t, "state", m.State, allswell.MonitorUp)
		equal(t, "consecutive_failures", m.ConsecutiveFailures, 0)
	}},
	{"next_check_at: always the current deadline, including grants", func(t *testing.T) {
		m := pinged()
		equal(t, "calm", m.DueAt(nil), at(5*time.Minute))
		equal(t, "after a gap", m.DueAt([]allswell.ListeningGap{secs(200, 260)}), at(260*time.Second+5*time.Minute))
		m.RejectedAt = at(time.Hour)
		equal(t, "after a rejected ping", m.DueAt(nil), at(time.Hour+5*time.Minute))
	}},
	{"Disable a monitor that is down: ends the outage", func(t *testing.T) {
		m := dead(t)
		change(t, &m, func(c *allswell.MonitorConfig) error { c.Enable(false); return nil }, t1)
		equal(t, "state", m.State, allswell.MonitorUp)
		change(t, &m, func(c *allswell.MonitorConfig) error { c.Enable(false); return nil }, t1)
	}},
	{"Disable or delete a monitor that is down: an update says so", func(t *testing.T) {
		equal(t, "disabled", allswell.OutageEndedByDisable.SystemMessage(time.Hour).Text(), "The monitor was disabled; this outage is no longer watched.")
		equal(t, "deleted", allswell.OutageEndedByDelete.SystemMessage(time.Hour).Text(), "The monitor was deleted; this outage is no longer watched.")
	}},
	{"A disabled monitor is not checked", func(t *testing.T) {
		m := pinged()
		change(t, &m, func(c *allswell.MonitorConfig) error { c.Enable(false); return nil }, t1)
		equal(t, "result", m.ApplyTick(check(time.Hour)), allswell.TickSkipped)
		equal(t, "state", m.State, allswell.MonitorUp)
	}},
	{"Enable: count 0, deadline now + interval if it was ever pinged", func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		change(t, &m, func(c *allswell.MonitorConfig) error { c.Enable(false); return nil }, at(10*time.Minute))
		change(t, &m, func(c *allswell.MonitorConfig) error { c.Enable(true); return nil }, at(20*time.Minute))
		equal(t, "count", m.ConsecutiveFailures, 0)
		equal(t, "deadline", m.DueAt(nil), at(25*time.Minute))
		fresh := allswell.Monitor{
			MonitorConfig: allswell.MonitorConfig{Interval: time.Minute},
			MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp},
		}
		change(t, &fresh, func(c *allswell.MonitorConfig) error { c.Enable(true); return nil }, t1)
		equal(t, "deadline, never pinged", fresh.DueAt(nil), time.Time{})
	}},
	{"A new interval: count 0, deadline now + interval if it was ever pinged", func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		equal(t, "count before", m.ConsecutiveFailures, 1)
		change(t, &m, func(c *allswell.MonitorConfig) error { c.Reschedule(time.Hour, allswell.Cron{}); return nil }, at(7*time.Minute))
		equal(t, "count", m.ConsecutiveFailures, 0)
		equal(t, "deadline", m.DueAt(nil), at(67*time.Minute))
		fresh := allswell.Monitor{
			MonitorConfig: allswell.MonitorConfig{Interval: time.Minute, Enabled: true},
			MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp},
		}
		change(t, &fresh, func(c *allswell.MonitorConfig) error { c.Reschedule(time.Hour, allswell.Cron{}); return nil }, t1)
		equal(t, "deadline, never pinged", fresh.DueAt(nil), time.Time{})
	}},
	{"A new interval: an outage continues, because only a ping proves that the job is alive", func(t *testing.T) {
		m := dead(t)
		change(t, &m, func(c *allswell.MonitorConfig) error { c.Reschedule(time.Hour, allswell.Cron{}); return nil }, at(10*time.Minute))
		equal(t, "state", m.State, allswell.MonitorDown)
	}},
	{"The same interval or enabled again: the wait does not restart", func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		want := m
		change(t, &m, func(c *allswell.MonitorConfig) error {
			c.Enable(true)
			c.Reschedule(5*time.Minute, allswell.Cron{})
			return nil
		}, at(7*time.Minute))
		equal(t, "monitor", m, want)
	}},
	{"Interval: whole seconds, 1 to 31,536,000", func(t *testing.T) {
		for _, c := range []struct {
			interval time.Duration
			bad      []string
		}{
			{time.Second, nil}, {31_536_000 * time.Second, nil},
			{0, []string{"interval"}}, {-time.Second, []string{"interval"}}, {31_536_001 * time.Second, []string{"interval"}},
			{1500 * time.Millisecond, []string{"interval"}}, {time.Second - 1, []string{"interval"}},
		} {
			checkFields(t, newRefusal(allswell.MonitorOf(allswell.MonitorConfig{Name: "n", PageSlug: "p", Interval: c.interval})), c.bad...)
			checkFields(t, changeRefusal(func(to *allswell.MonitorConfig) error { to.Reschedule(c.interval, allswell.Cron{}); return nil }), c.bad...)
		}
	}},
	{"Failure threshold: consecutive; a tick at which the monitor is not overdue resets the count", func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		m.ApplyTick(check(7 * time.Minute))
		equal(t, "count", m.ConsecutiveFailures, 2)
		m.RejectedAt = at(7*time.Minute + time.Second)
		equal(t, "result", m.ApplyTick(check(8*time.Minute)), allswell.TickOnTime)
		equal(t, "count", m.ConsecutiveFailures, 0)
		equal(t, "state", m.State, allswell.MonitorUp)
	}},
	{"Failure threshold: ticks that did not run are not made up for", func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		equal(t, "result a day later", m.ApplyTick(check(24*time.Hour)), allswell.TickOverdue)
		equal(t, "count", m.ConsecutiveFailures, 2)
	}},
	{"Failure threshold: default 3, overridable per monitor", func(t *testing.T) {
		equal(t, "default", allswell.DefaultFailureThreshold, 3)
		m := pinged()
		equal(t, "the setting", m.Threshold(7), 7)
		m.FailureThreshold = 2
		equal(t, "its own", m.Threshold(7), 2)
		m.ApplyTick(check(6 * time.Minute))
		equal(t, "result", m.ApplyTick(check(7*time.Minute)), allswell.TickWentDown)
		for _, c := range []struct {
			threshold int
			bad       []string
		}{{1, nil}, {1000, nil}, {0, nil}, {-1, []string{"failure_threshold"}}, {1001, []string{"failure_threshold"}}} {
			checkFields(t, newRefusal(allswell.MonitorOf(allswell.MonitorConfig{Name: "n", PageSlug: "p", Interval: time.Minute, FailureThreshold: c.threshold})), c.bad...)
			checkFields(t, changeRefusal(func(to *allswell.MonitorConfig) error { to.FailureThreshold = c.threshold; return nil }), c.bad...)
		}
	}},
	{"Ping rate limit: a rejected ping with a valid token is no silence, but does not end an outage", func(t *testing.T) {
		m := pinged()
		m.RejectedAt = at(4 * time.Minute)
		equal(t, "within an interval of it", m.ApplyTick(check(9*time.Minute)), allswell.TickOnTime)
		equal(t, "after that", m.ApplyTick(check(10*time.Minute)), allswell.TickOverdue)
		m = dead(t)
		m.RejectedAt = at(9 * time.Minute)
		equal(t, "down", m.ApplyTick(check(10*time.Minute)), allswell.TickSkipped)
		equal(t, "state", m.State, allswell.MonitorDown)
	}},
	{"Ticks: at most one increment per monitor and instant", func(t *testing.T) {
		m := pinged()
		equal(t, "first", m.ApplyTick(check(6*time.Minute)), allswell.TickOverdue)
		equal(t, "the same again", m.ApplyTick(check(6*time.Minute)), allswell.TickSkipped)
		equal(t, "an earlier one", m.ApplyTick(check(5*time.Minute+30*time.Second)), allswell.TickSkipped)
		equal(t, "count", m.ConsecutiveFailures, 1)
	}},
	{"Ticks: monitors are checked although the clock went back", func(t *testing.T) {
		m := pinged()
		m.TickedAt = at(1000 * time.Hour)
		equal(t, "result", m.ApplyTick(check(6*time.Minute)), allswell.TickOverdue)
		equal(t, "ticked at", m.TickedAt, at(6*time.Minute))
	}},
	{"Ticks: deadlines are compared with the instant minus the age of uncommitted pings", func(t *testing.T) {
		m := pinged()
		tick := check(6 * time.Minute)
		tick.AsOf = at(5 * time.Minute)
		equal(t, "result", m.ApplyTick(tick), allswell.TickOnTime)
		tick.AsOf = at(5*time.Minute + time.Millisecond)
		equal(t, "result", m.ApplyTick(tick), allswell.TickOverdue)
	}},
	{"Ticks: a ping resets the count, and the last ping never moves backwards", func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		m.RecordPing(at(7 * time.Minute))
		m.RecordPing(at(6*time.Minute + 59*time.Second))
		equal(t, "count", m.ConsecutiveFailures, 0)
		equal(t, "last_ping_at", m.LastPingAt, at(7*time.Minute))
		equal(t, "deadline", m.DueAt(nil), at(12*time.Minute))
	}},
	{"Name and interval are required, a component needs a page, and all invalid fields are named at once", func(t *testing.T) {
		checkFields(t, newRefusal(allswell.MonitorOf(allswell.MonitorConfig{Name: " ", FailureThreshold: -1, DownStatus: "red"})), "name", "interval", "failure_threshold", "down_status")
		checkFields(t, newRefusal(allswell.MonitorOf(allswell.MonitorConfig{Name: "x", Interval: time.Minute, ComponentID: "comp_1", AutoIncidents: "maybe"})), "page", "auto_incidents")
		checkFields(t, changeRefusal(func(c *allswell.MonitorConfig) error { c.Name = ""; return nil }), "name")
	}},
}

var commonDecisionRows = []row{
	{"Timestamps: RFC 3339, UTC, Z, exactly three fraction digits", func(t *testing.T) {
		zone := time.FixedZone("", -5*3600)
		for _, c := range []struct {
			t    time.Time
			want string
		}{
			{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), "2026-11-20T12:00:00.000Z"},
			{time.Date(2026, 11, 20, 23, 0, 0, 120_000_000, zone), "2026-11-21T04:00:00.120Z"},
			{time.Date(2026, 11, 20, 12, 0, 0, 999_999_999, time.UTC), "2026-11-20T12:00:00.999Z"},
		} {
			equal(t, "written", allswell.FormatTime(c.t), c.want)
		}
	}},
	{"Empty or blank strings: a blank title, name or message is 422", func(t *testing.T) {
		for _, blank := range []string{"", " ", "\t\n", "\u00a0", "\u2003", "\u200b\u2060", "\ufeff \u200d", "\u3164", "\u2800", "\ufe0f", "\u034f", "\u00ad"} {
			checkFields(t, allswell.Incident{Title: blank}.CheckNew(allswell.IncidentUpdate{Message: blank + " "}), "title", "message")
			checkFields(t, refusal(func(i *allswell.Incident) { i.Title = blank }), "title")
			checkFields(t, allswell.CheckMessage(blank), "message")
			checkFields(t, checkNew(resource.Component, allswell.Component{Name: blank}), "name")
			checkFields(t, checkNew(resource.Group, allswell.Group{Name: blank}), "name")
			checkFields(t, checkNew(resource.Page, allswell.Page{Name: blank, Slug: "s"}), "name")
			checkFields(t, allswell.NewToken{Name: blank, Scope: allswell.ScopeRead}.Validate(), "name")
		}
	}},
	{"Lengths count characters: message 25,000, name 255", func(t *testing.T) {
		checkFields(t, allswell.CheckMessage(strings.Repeat("é", 25_000)))
		checkFields(t, allswell.CheckMessage(strings.Repeat("é", 25_001)), "message")
		checkFields(t, checkNew(resource.Component, allswell.Component{Name: strings.Repeat("é", 255)}))
		checkFields(t, checkNew(resource.Component, allswell.Component{Name: strings.Repeat("é", 256)}), "name")
		checkFields(t, newRefusal(allswell.MonitorOf(allswell.MonitorConfig{Name: strings.Repeat("é", 256), PageSlug: "p", Interval: time.Minute})), "name")
	}},
	{"Tokens: aw_ + 32 random bytes in base62 + checksum", func(t *testing.T) {
		form := regexp.MustCompile(`^aw_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$`)
		seen := make(map[string]bool)
		for range 1000 {
			secret := allswell.NewTokenSecret()
			if !form.MatchString(secret) || seen[secret] {
				t.Fatalf("%q is a duplicate or malformed", secret)
			}
			seen[secret] = true
		}
	}},
	{"Tokens: looked up only by SHA-256", func(t *testing.T) {
		want := sha256.Sum256([]byte("aw_secret"))
		equal(t, "hash", allswell.HashTokenSecret("aw_secret"), want[:])
	}},
	{"Tokens: scopes read, write, admin", func(t *testing.T) {
		for i, has := range allswell.Scopes {
			checkFields(t, allswell.NewToken{Name: "n", Scope: has}.Validate())
			for j, needs := range allswell.Scopes {
				equal(t, string(has)+" allows "+string(needs), has.Allows(needs), i >= j)
			}
		}
		equal(t, "scopes", allswell.Scopes, []allswell.Scope{"read", "write", "admin"})
		for _, none := range []allswell.Scope{"", "Admin", "root"} {
			checkFields(t, allswell.NewToken{Name: "n", Scope: none}.Validate(), "scope")
			equal(t, "an unknown scope allows nothing", none.Allows(allswell.ScopeRead), false)
		}
	}},
	{"Token issue: a bootstrap token is any 32 or more characters that fit in a header", func(t *testing.T) {
		checkFields(t, allswell.CheckBootstrapToken(strings.Repeat("x", 32)))
		checkFields(t, allswell.CheckBootstrapToken(strings.Repeat("x", 31)), "bootstrap_token")
		checkFields(t, allswell.CheckBootstrapToken(strings.Repeat("x", 32)+" "), "bootstrap_token")
		checkFields(t, allswell.CheckBootstrapToken(strings.Repeat("ü", 32)), "bootstrap_token")
		checkFields(t, allswell.CheckBootstrapToken(strings.Repeat("x", 32)+"\n"), "bootstrap_token")
	}},
	{"Ping tokens: 32 base62 characters, case-sensitive", func(t *testing.T) {
		form := regexp.MustCompile(`^[0-9A-Za-z]{32}$`)
		for range 1000 {
			if token := allswell.NewPingToken(); !form.MatchString(token) {
				t.Fatalf("%q", token)
			}
		}
		for _, bad := range []string{"", strings.Repeat("a", 15), strings.Repeat("a", 22), strings.Repeat("a", 65), strings.Repeat("a", 31) + "_", strings.Repeat("a", 31) + "\x00", strings.Repeat("é", 16)} {
			equal(t, bad, allswell.IsPingToken(bad), false)
		}
		for _, given := range []string{strings.Repeat("a", 16), strings.Repeat("Z", 21), strings.Repeat("0", 23), strings.Repeat("-", 64), "f618072a-7bde-4eee-af63-71a77c5723bc"} {
			equal(t, given, allswell.IsPingToken(given), true)
		}
	}},
	{"Ids: prefix + 20 lower-case base32 characters from time and crypto rand", func(t *testing.T) {
		form := regexp.MustCompile(`^[0-9a-v]{20}$`)
		for _, prefix := range []string{"comp_", "upd_", "mon_", "page_", "grp_", "tok_"} {
			id := allswell.NewID(prefix, t0)
			if rest, ok := strings.CutPrefix(id, prefix); !ok || !form.MatchString(rest) {
				t.Errorf("%q", id)
			}
		}
		equal(t, "prefix of a component", allswell.PrefixComponent, "comp_")
		equal(t, "prefix of an update", allswell.PrefixUpdate, "upd_")
		equal(t, "prefix of a monitor", allswell.PrefixMonitor, "mon_")
		equal(t, "prefix of a page", allswell.PrefixPage, "page_")
		equal(t, "prefix of a group", allswell.PrefixGroup, "grp_")
		equal(t, "prefix of a token", allswell.PrefixToken, "tok_")
	}},
	{"Slugs: a to z, 0 to 9 and hyphen, 1 to 63", func(t *testing.T) {
		for _, good := range []string{"a", "0", "-", "acme", "acme-eu-1", strings.Repeat("z", 63)} {
			checkFields(t, checkNew(resource.Page, allswell.Page{Name: "n", Slug: good}))
		}
		for _, bad := range []string{"", "Acme", "a b", "a_b", "ä", "a/b", "a.", "a\n", strings.Repeat("z", 64)} {
			checkFields(t, checkNew(resource.Page, allswell.Page{Name: "n", Slug: bad}), "slug")
		}
	}},
}

// newRefusal returns what is wrong with a new monitor.
func newRefusal(change allswell.MonitorChange) error {
	_, err := resource.NewMonitor(change, t1)
	return err
}

// changeRefusal returns what is wrong with a change of a heartbeat.
func changeRefusal(change allswell.MonitorChange) error {
	m := pinged()
	return resource.ChangeMonitor(&m, change, t1)
}

// change changes a monitor.
func change(t *testing.T, m *allswell.Monitor, by allswell.MonitorChange, now time.Time) {
	t.Helper()
	if err := resource.ChangeMonitor(m, by, now); err != nil {
		t.Error(err)
	}
}

// setSecrets gives secrets to a check, of which a null removes one.
func setSecrets(c *allswell.MonitorConfig, given map[string]json.RawMessage) {
	c.Check.Secrets = maps.Clone(c.Check.Secrets)
	if c.Check.Secrets == nil {
		c.Check.Secrets = make(map[string]json.RawMessage)
	}
	for field, value := range given {
		c.Check.SecretFields = slices.DeleteFunc(slices.Clone(c.Check.SecretFields), func(f string) bool { return f == field })
		if delete(c.Check.Secrets, field); strings.TrimSpace(string(value)) != "null" {
			c.Check.Secrets[field], c.Check.SecretFields = value, append(c.Check.SecretFields, field)
		}
	}
	c.Check.SecretFields = slices.Sorted(slices.Values(c.Check.SecretFields))
}
