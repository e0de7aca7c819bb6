package monitor_test

import (
	"crypto/sha256"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// pinged returns a monitor with an interval of five minutes that was pinged at t0.
func pinged() monitor.Monitor {
	m := monitor.Monitor{
		ID: "mon_1",
		MonitorConfig: monitor.MonitorConfig{
			Type: monitor.MonitorHeartbeat, Name: "Nightly backup", Interval: 5 * time.Minute, Enabled: true,
			DownStatus:    kernel.StatusMajorOutage,
			RunConditions: monitor.RunConditions{}.WithDefaults(),
		},
		MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
	}
	m.RecordPing(domaintest.T0)
	return m
}

// check returns the tick at an instant after the epoch, with a period of a minute and a threshold
// of 3.
func check(after time.Duration, gaps ...schedule.ListeningGap) monitor.Tick {
	return monitor.Tick{
		Instant: domaintest.At(after), AsOf: domaintest.At(after), Period: time.Minute, Threshold: 3, Gaps: gaps,
	}
}

// dead returns the monitor after nine minutes, when it is down.
func dead(t *testing.T) monitor.Monitor {
	t.Helper()
	m := pinged()
	for after := time.Minute; after <= 8*time.Minute; after += time.Minute {
		m.ApplyTick(check(after))
	}
	if m.State != monitor.MonitorDown {
		t.Fatal("not down after 8 minutes")
	}
	return m
}

var monitorRows = []domaintest.Row{
	{Name: "token: unique, cryptographically random", Test: func(t *testing.T) {
		seen := make(map[string]bool)
		for range 10_000 {
			token := kernel.NewPingToken()
			if seen[token] || !kernel.IsPingToken(token) {
				t.Fatalf("%q is a duplicate or malformed", token)
			}
			seen[token] = true
		}
	}},
	{Name: "state: up or down", Test: func(t *testing.T) {
		domaintest.Equal(t, "pinged", pinged().State, monitor.MonitorState("up"))
		domaintest.Equal(t, "silent", dead(t).State, monitor.MonitorState("down"))
	}},
	{Name: "any, Valid ping → up; next_check_at = now + interval; consecutive_failures = 0", Test: func(t *testing.T) {
		for _, state := range []monitor.MonitorState{monitor.MonitorUp, monitor.MonitorDown} {
			m := pinged()
			m.State, m.ConsecutiveFailures = state, 7
			m.RecordPing(domaintest.T2)
			domaintest.Equal(t, "state", m.State, monitor.MonitorUp)
			domaintest.Equal(t, "next_check_at", m.DueAt(nil), domaintest.T2.Add(5*time.Minute))
			domaintest.Equal(t, "consecutive_failures", m.ConsecutiveFailures, 0)
			domaintest.Equal(t, "last_ping_at", m.LastPingAt, domaintest.T2)
		}
	}},
	{Name: "any, Valid ping, if the monitor was down → it recovers", Test: func(t *testing.T) {
		m := pinged()
		domaintest.Equal(t, "up before", m.RecordPing(domaintest.T1), false)
		m = dead(t)
		domaintest.Equal(t, "down before", m.RecordPing(domaintest.At(10*time.Minute)), true)
		domaintest.Equal(t, "heard again", m.RecordPing(domaintest.At(11*time.Minute)), false)
	}},
	{
		Name: "any, Valid ping, if the monitor was down → the auto-created incident is resolved and the component " +
			"status is restored",
		Test: func(t *testing.T) {
			c := domaintest.ComponentWith("operational")
			m := dead(t)
			c.AddCause(statuspage.Cause{Source: "out_a", Status: m.DownStatus, StartedAt: domaintest.T1}, domaintest.T1)
			inc, first := m.DownIncident(m.LastPingAt)
			inc.Open(first, domaintest.T1)
			domaintest.Equal(t, "component while down", c.Status(), kernel.StatusMajorOutage)
			domaintest.Equal(t, "incident while down", inc.Resolved, false)
			if m.RecordPing(domaintest.T2) {
				c.RemoveCause("out_a", domaintest.T2)
				domaintest.ChangeIncident(&inc, domaintest.T2, func(i *statuspage.Incident) {
					i.State = statuspage.IncidentResolved
					i.SetResolved(true)
				})
			}
			domaintest.Equal(t, "component", c.Status(), kernel.StatusOperational)
			domaintest.Equal(t, "incident state", inc.State, statuspage.IncidentResolved)
			domaintest.Equal(t, "incident resolved_at", inc.ResolvedAt, domaintest.T2)
		},
	},
	{
		Name: "up, Periodic check, next_check_at has passed with no ping → up; consecutive_failures increases by 1",
		Test: func(t *testing.T) {
			m := pinged()
			for i, want := range []struct {
				result   monitor.TickResult
				failures int
				state    monitor.MonitorState
			}{
				{monitor.TickOnTime, 0, monitor.MonitorUp}, {monitor.TickOnTime, 0, monitor.MonitorUp},
				{monitor.TickOnTime, 0, monitor.MonitorUp}, {monitor.TickOnTime, 0, monitor.MonitorUp},
				{monitor.TickOnTime, 0, monitor.MonitorUp}, // the deadline itself has not passed
				{monitor.TickOverdue, 1, monitor.MonitorUp}, {monitor.TickOverdue, 2, monitor.MonitorUp},
				{monitor.TickWentDown, 3, monitor.MonitorDown}, {monitor.TickSkipped, 3, monitor.MonitorDown},
			} {
				minute := time.Duration(i+1) * time.Minute
				domaintest.Equal(t, "result after "+minute.String(), m.ApplyTick(check(minute)), want.result)
				domaintest.Equal(t, "failures after "+minute.String(), m.ConsecutiveFailures, want.failures)
				domaintest.Equal(t, "state after "+minute.String(), m.State, want.state)
			}
		},
	},
	{
		Name: "up, Periodic check, consecutive_failures reaches the configured threshold → down",
		Test: func(t *testing.T) {
			for _, threshold := range []int{1, 2, 3, 10} {
				m := pinged()
				for i := 1; i <= threshold; i++ {
					domaintest.Equal(t, "state before", m.State, monitor.MonitorUp)
					tick := check(5*time.Minute + time.Duration(i)*time.Minute)
					tick.Threshold = threshold
					m.ApplyTick(tick)
					domaintest.Equal(t, "failures", m.ConsecutiveFailures, i)
				}
				domaintest.Equal(t, "state", m.State, monitor.MonitorDown)
			}
		},
	},
	{
		Name: "up, Periodic check, threshold reached → the component's status reflects the outage and an incident is " +
			"created",
		Test: func(t *testing.T) {
			m := dead(t)
			c := domaintest.ComponentWith("operational")
			c.AddCause(statuspage.Cause{Source: "out_a", Status: m.DownStatus, StartedAt: domaintest.T1}, domaintest.T1)
			domaintest.Equal(t, "component", c.Status(), kernel.StatusMajorOutage)
			n, first := m.DownIncident(m.LastPingAt)
			domaintest.CheckFields(t, n.CheckNew(first))
			domaintest.Equal(t, "title", n.Title, "Nightly backup is down")
		},
	},
}

var monitorDecisionRows = []domaintest.Row{
	{Name: "Status set when a monitor goes down: each monitor can have its own", Test: func(t *testing.T) {
		for _, c := range []struct {
			status kernel.Status
			bad    []string
		}{
			{"major_outage", nil}, {"partial_outage", nil}, {"degraded", nil}, {"degraded_performance", nil},
			{"operational", []string{"down_status"}}, {"maintenance", []string{"down_status"}},
			{"unknown", []string{"down_status"}}, {"red", []string{"down_status"}},
		} {
			domaintest.CheckFields(t,
				domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
					Name: "n", PageSlug: "p", Interval: time.Minute, DownStatus: c.status,
				})),
				c.bad...)
			domaintest.CheckFields(t, changeRefusal(func(to *monitor.MonitorConfig) error {
				to.DownStatus = c.status
				return nil
			}), c.bad...)
		}
	}},
	{
		Name: "The auto-incident: title, impact by down status, state investigating, a first update with the " +
			"beginning of the silence",
		Test: func(t *testing.T) {
			for status, impact := range map[kernel.Status]kernel.Impact{
				"major_outage": "critical", "partial_outage": "major", "degraded": "minor",
				"degraded_performance": "minor",
			} {
				m := pinged()
				m.DownStatus = status
				inc, first := m.DownIncident(time.Date(2026, 3, 7, 14, 5, 9, 0, time.FixedZone("", 3600)))
				domaintest.Equal(t, "incident", inc, statuspage.Incident{
					Title: "Nightly backup is down", DownMonitor: "Nightly backup", Impact: impact,
					State: statuspage.IncidentInvestigating,
				})
				domaintest.Equal(t, "update", first, statuspage.IncidentUpdate{
					Message: "No ping has arrived since 7 March 2026, 13:05:09 UTC. The expected interval is 5 " +
						"minutes.",
					System: statuspage.SystemMessage{
						Kind: statuspage.SystemMessageSilent, Since: time.Date(2026, 3, 7, 13, 5, 9, 0, time.UTC),
						Interval: 5 * time.Minute,
					},
				})
				inc.Open(first, domaintest.T1)
				domaintest.Equal(t, "auto", inc.Updates[0].System.Kind, statuspage.SystemMessageSilent)
			}
		},
	},
	{
		Name: "The auto-incident: the longest name results in a title of at most 255 characters",
		Test: func(t *testing.T) {
			for n := 245; n <= 255; n++ {
				m := pinged()
				m.Name = strings.Repeat("ü", n)
				inc, first := m.DownIncident(domaintest.T0)
				domaintest.CheckFields(t, inc.CheckNew(first))
				domaintest.Equal(t, "length", utf8.RuneCountInString(inc.Title), min(n+len(" is down"), 255))
				if !strings.HasSuffix(inc.Title, " is down") {
					t.Errorf("%d characters: the title ends in %q", n, inc.Title[len(inc.Title)-10:])
				}
			}
		},
	},
	{Name: "The auto-incident: recovery adds an update with the length of the silence", Test: func(t *testing.T) {
		domaintest.Equal(t, "message", monitor.OutageEndedByPing.SystemMessage(18*time.Minute+4*time.Second).Text(),
			"The job is reporting again after 18 minutes 4 seconds.")
	}},
	{
		Name: "Monitor never pinged: next_check_at is null, state up, no outage before the first ping",
		Test: func(t *testing.T) {
			m := monitor.Monitor{
				MonitorConfig: monitor.MonitorConfig{Interval: time.Second, Enabled: true},
				MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
			}
			for hour := range 100 {
				domaintest.Equal(t, "result", m.ApplyTick(check(time.Duration(hour)*time.Hour)), monitor.TickSkipped)
			}
			domaintest.Equal(t, "next_check_at", m.DueAt(nil), time.Time{})
			domaintest.Equal(t, "state", m.State, monitor.MonitorUp)
			domaintest.Equal(t, "consecutive_failures", m.ConsecutiveFailures, 0)
		},
	},
	{Name: "next_check_at: always the current deadline, including grants", Test: func(t *testing.T) {
		m := pinged()
		domaintest.Equal(t, "calm", m.DueAt(nil), domaintest.At(5*time.Minute))
		domaintest.Equal(t, "after a gap", m.DueAt([]schedule.ListeningGap{domaintest.Gap(200, 260)}),
			domaintest.At(260*time.Second+5*time.Minute))
		m.RejectedAt = domaintest.At(time.Hour)
		domaintest.Equal(t, "after a rejected ping", m.DueAt(nil), domaintest.At(time.Hour+5*time.Minute))
	}},
	{Name: "Disable a monitor that is down: ends the outage", Test: func(t *testing.T) {
		m := dead(t)
		domaintest.ChangeMonitor(t, &m, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		}, domaintest.T1)
		domaintest.Equal(t, "state", m.State, monitor.MonitorUp)
		domaintest.ChangeMonitor(t, &m, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		}, domaintest.T1)
	}},
	{Name: "Disable or delete a monitor that is down: an update says so", Test: func(t *testing.T) {
		domaintest.Equal(t, "disabled", monitor.OutageEndedByDisable.SystemMessage(time.Hour).Text(),
			"The monitor was disabled; this outage is no longer watched.")
		domaintest.Equal(t, "deleted", monitor.OutageEndedByDelete.SystemMessage(time.Hour).Text(),
			"The monitor was deleted; this outage is no longer watched.")
	}},
	{Name: "A disabled monitor is not checked", Test: func(t *testing.T) {
		m := pinged()
		domaintest.ChangeMonitor(t, &m, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		}, domaintest.T1)
		domaintest.Equal(t, "result", m.ApplyTick(check(time.Hour)), monitor.TickSkipped)
		domaintest.Equal(t, "state", m.State, monitor.MonitorUp)
	}},
	{Name: "Enable: count 0, deadline now + interval if it was ever pinged", Test: func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		domaintest.ChangeMonitor(t, &m, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		}, domaintest.At(10*time.Minute))
		domaintest.ChangeMonitor(t, &m, func(c *monitor.MonitorConfig) error {
			c.Enable(true)
			return nil
		}, domaintest.At(20*time.Minute))
		domaintest.Equal(t, "count", m.ConsecutiveFailures, 0)
		domaintest.Equal(t, "deadline", m.DueAt(nil), domaintest.At(25*time.Minute))
		fresh := monitor.Monitor{
			MonitorConfig: monitor.MonitorConfig{Interval: time.Minute},
			MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
		}
		domaintest.ChangeMonitor(t, &fresh, func(c *monitor.MonitorConfig) error {
			c.Enable(true)
			return nil
		}, domaintest.T1)
		domaintest.Equal(t, "deadline, never pinged", fresh.DueAt(nil), time.Time{})
	}},
	{Name: "A new interval: count 0, deadline now + interval if it was ever pinged", Test: func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		domaintest.Equal(t, "count before", m.ConsecutiveFailures, 1)
		domaintest.ChangeMonitor(t, &m, func(c *monitor.MonitorConfig) error {
			c.Reschedule(time.Hour, schedule.Cron{})
			return nil
		}, domaintest.At(7*time.Minute))
		domaintest.Equal(t, "count", m.ConsecutiveFailures, 0)
		domaintest.Equal(t, "deadline", m.DueAt(nil), domaintest.At(67*time.Minute))
		fresh := monitor.Monitor{
			MonitorConfig: monitor.MonitorConfig{Interval: time.Minute, Enabled: true},
			MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
		}
		domaintest.ChangeMonitor(t, &fresh, func(c *monitor.MonitorConfig) error {
			c.Reschedule(time.Hour, schedule.Cron{})
			return nil
		}, domaintest.T1)
		domaintest.Equal(t, "deadline, never pinged", fresh.DueAt(nil), time.Time{})
	}},
	{
		Name: "A new interval: an outage continues, because only a ping proves that the job is alive",
		Test: func(t *testing.T) {
			m := dead(t)
			domaintest.ChangeMonitor(t, &m, func(c *monitor.MonitorConfig) error {
				c.Reschedule(time.Hour, schedule.Cron{})
				return nil
			}, domaintest.At(10*time.Minute))
			domaintest.Equal(t, "state", m.State, monitor.MonitorDown)
		},
	},
	{Name: "The same interval or enabled again: the wait does not restart", Test: func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		want := m
		domaintest.ChangeMonitor(t, &m, func(c *monitor.MonitorConfig) error {
			c.Enable(true)
			c.Reschedule(5*time.Minute, schedule.Cron{})
			return nil
		}, domaintest.At(7*time.Minute))
		domaintest.Equal(t, "monitor", m, want)
	}},
	{Name: "Interval: whole seconds, 1 to 31,536,000", Test: func(t *testing.T) {
		for _, c := range []struct {
			interval time.Duration
			bad      []string
		}{
			{time.Second, nil}, {31_536_000 * time.Second, nil},
			{0, []string{"interval"}}, {-time.Second, []string{"interval"}},
			{31_536_001 * time.Second, []string{"interval"}},
			{1500 * time.Millisecond, []string{"interval"}}, {time.Second - 1, []string{"interval"}},
		} {
			domaintest.CheckFields(t,
				domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
					Name: "n", PageSlug: "p", Interval: c.interval,
				})),
				c.bad...)
			domaintest.CheckFields(t, changeRefusal(func(to *monitor.MonitorConfig) error {
				to.Reschedule(c.interval, schedule.Cron{})
				return nil
			}), c.bad...)
		}
	}},
	{
		Name: "Failure threshold: consecutive; a tick at which the monitor is not overdue resets the count",
		Test: func(t *testing.T) {
			m := pinged()
			m.ApplyTick(check(6 * time.Minute))
			m.ApplyTick(check(7 * time.Minute))
			domaintest.Equal(t, "count", m.ConsecutiveFailures, 2)
			m.RejectedAt = domaintest.At(7*time.Minute + time.Second)
			domaintest.Equal(t, "result", m.ApplyTick(check(8*time.Minute)), monitor.TickOnTime)
			domaintest.Equal(t, "count", m.ConsecutiveFailures, 0)
			domaintest.Equal(t, "state", m.State, monitor.MonitorUp)
		},
	},
	{Name: "Failure threshold: ticks that did not run are not made up for", Test: func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		domaintest.Equal(t, "result a day later", m.ApplyTick(check(24*time.Hour)), monitor.TickOverdue)
		domaintest.Equal(t, "count", m.ConsecutiveFailures, 2)
	}},
	{Name: "Failure threshold: default 3, overridable per monitor", Test: func(t *testing.T) {
		domaintest.Equal(t, "default", monitor.DefaultFailureThreshold, 3)
		m := pinged()
		domaintest.Equal(t, "the setting", m.Threshold(7), 7)
		m.FailureThreshold = 2
		domaintest.Equal(t, "its own", m.Threshold(7), 2)
		m.ApplyTick(check(6 * time.Minute))
		domaintest.Equal(t, "result", m.ApplyTick(check(7*time.Minute)), monitor.TickWentDown)
		for _, c := range []struct {
			threshold int
			bad       []string
		}{{1, nil}, {1000, nil}, {0, nil}, {-1, []string{"failure_threshold"}}, {1001, []string{"failure_threshold"}}} {
			domaintest.CheckFields(t,
				domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
					Name: "n", PageSlug: "p", Interval: time.Minute, FailureThreshold: c.threshold,
				})),
				c.bad...)
			domaintest.CheckFields(t, changeRefusal(func(to *monitor.MonitorConfig) error {
				to.FailureThreshold = c.threshold
				return nil
			}), c.bad...)
		}
	}},
	{
		Name: "Ping rate limit: a rejected ping with a valid token is no silence, but does not end an outage",
		Test: func(t *testing.T) {
			m := pinged()
			m.RejectedAt = domaintest.At(4 * time.Minute)
			domaintest.Equal(t, "within an interval of it", m.ApplyTick(check(9*time.Minute)), monitor.TickOnTime)
			domaintest.Equal(t, "after that", m.ApplyTick(check(10*time.Minute)), monitor.TickOverdue)
			m = dead(t)
			m.RejectedAt = domaintest.At(9 * time.Minute)
			domaintest.Equal(t, "down", m.ApplyTick(check(10*time.Minute)), monitor.TickSkipped)
			domaintest.Equal(t, "state", m.State, monitor.MonitorDown)
		},
	},
	{Name: "Ticks: at most one increment per monitor and instant", Test: func(t *testing.T) {
		m := pinged()
		domaintest.Equal(t, "first", m.ApplyTick(check(6*time.Minute)), monitor.TickOverdue)
		domaintest.Equal(t, "the same again", m.ApplyTick(check(6*time.Minute)), monitor.TickSkipped)
		domaintest.Equal(t, "an earlier one", m.ApplyTick(check(5*time.Minute+30*time.Second)), monitor.TickSkipped)
		domaintest.Equal(t, "count", m.ConsecutiveFailures, 1)
	}},
	{Name: "Ticks: monitors are checked although the clock went back", Test: func(t *testing.T) {
		m := pinged()
		m.TickedAt = domaintest.At(1000 * time.Hour)
		domaintest.Equal(t, "result", m.ApplyTick(check(6*time.Minute)), monitor.TickOverdue)
		domaintest.Equal(t, "ticked at", m.TickedAt, domaintest.At(6*time.Minute))
	}},
	{
		Name: "Ticks: deadlines are compared with the instant minus the age of uncommitted pings",
		Test: func(t *testing.T) {
			m := pinged()
			tick := check(6 * time.Minute)
			tick.AsOf = domaintest.At(5 * time.Minute)
			domaintest.Equal(t, "result", m.ApplyTick(tick), monitor.TickOnTime)
			tick.AsOf = domaintest.At(5*time.Minute + time.Millisecond)
			domaintest.Equal(t, "result", m.ApplyTick(tick), monitor.TickOverdue)
		},
	},
	{Name: "Ticks: a ping resets the count, and the last ping never moves backwards", Test: func(t *testing.T) {
		m := pinged()
		m.ApplyTick(check(6 * time.Minute))
		m.RecordPing(domaintest.At(7 * time.Minute))
		m.RecordPing(domaintest.At(6*time.Minute + 59*time.Second))
		domaintest.Equal(t, "count", m.ConsecutiveFailures, 0)
		domaintest.Equal(t, "last_ping_at", m.LastPingAt, domaintest.At(7*time.Minute))
		domaintest.Equal(t, "deadline", m.DueAt(nil), domaintest.At(12*time.Minute))
	}},
	{
		Name: "Name and interval are required, a component needs a page, and all invalid fields are named at once",
		Test: func(t *testing.T) {
			domaintest.CheckFields(t,
				domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
					Name: " ", FailureThreshold: -1, DownStatus: "red",
				})),
				"name", "interval", "failure_threshold", "down_status")
			domaintest.CheckFields(t,
				domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
					Name: "x", Interval: time.Minute, ComponentID: "comp_1", AutoIncidents: "maybe",
				})),
				"page", "auto_incidents")
			domaintest.CheckFields(t, changeRefusal(func(c *monitor.MonitorConfig) error {
				c.Name = ""
				return nil
			}), "name")
		},
	},
}

var commonDecisionRows = []domaintest.Row{
	{Name: "Timestamps: RFC 3339, UTC, Z, exactly three fraction digits", Test: func(t *testing.T) {
		zone := time.FixedZone("", -5*3600)
		for _, c := range []struct {
			t    time.Time
			want string
		}{
			{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), "2026-11-20T12:00:00.000Z"},
			{time.Date(2026, 11, 20, 23, 0, 0, 120_000_000, zone), "2026-11-21T04:00:00.120Z"},
			{time.Date(2026, 11, 20, 12, 0, 0, 999_999_999, time.UTC), "2026-11-20T12:00:00.999Z"},
		} {
			domaintest.Equal(t, "written", kernel.FormatTime(c.t), c.want)
		}
	}},
	{Name: "Empty or blank strings: a blank title, name or message is 422", Test: func(t *testing.T) {
		for _, blank := range []string{
			"", " ", "\t\n", "\u00a0", "\u2003", "\u200b\u2060", "\ufeff \u200d", "\u3164", "\u2800", "\ufe0f",
			"\u034f", "\u00ad",
		} {
			domaintest.CheckFields(t,
				statuspage.Incident{Title: blank}.CheckNew(statuspage.IncidentUpdate{Message: blank + " "}), "title",
				"message")
			domaintest.CheckFields(t, domaintest.IncidentRefusal(func(i *statuspage.Incident) {
				i.Title = blank
			}), "title")
			domaintest.CheckFields(t, statuspage.CheckMessage(blank), "message")
			domaintest.CheckFields(t, domaintest.CheckNew(resource.Component, statuspage.Component{Name: blank}),
				"name")
			domaintest.CheckFields(t, domaintest.CheckNew(resource.Group, statuspage.Group{Name: blank}), "name")
			domaintest.CheckFields(t, domaintest.CheckNew(resource.Page, statuspage.Page{Name: blank, Slug: "s"}),
				"name")
			domaintest.CheckFields(t, account.NewToken{Name: blank, Scope: kernel.ScopeRead}.Validate(), "name")
		}
	}},
	{Name: "Lengths count characters: message 25,000, name 255", Test: func(t *testing.T) {
		domaintest.CheckFields(t, statuspage.CheckMessage(strings.Repeat("é", 25_000)))
		domaintest.CheckFields(t, statuspage.CheckMessage(strings.Repeat("é", 25_001)), "message")
		domaintest.CheckFields(t,
			domaintest.CheckNew(resource.Component, statuspage.Component{Name: strings.Repeat("é", 255)}))
		domaintest.CheckFields(t,
			domaintest.CheckNew(resource.Component, statuspage.Component{Name: strings.Repeat("é", 256)}), "name")
		domaintest.CheckFields(t,
			domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
				Name: strings.Repeat("é", 256), PageSlug: "p", Interval: time.Minute,
			})),
			"name")
	}},
	{Name: "Tokens: aw_ + 32 random bytes in base62 + checksum", Test: func(t *testing.T) {
		form := regexp.MustCompile(`^aw_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$`)
		seen := make(map[string]bool)
		for range 1000 {
			secret := account.NewTokenSecret()
			if !form.MatchString(secret) || seen[secret] {
				t.Fatalf("%q is a duplicate or malformed", secret)
			}
			seen[secret] = true
		}
	}},
	{Name: "Tokens: looked up only by SHA-256", Test: func(t *testing.T) {
		want := sha256.Sum256([]byte("aw_secret"))
		domaintest.Equal(t, "hash", account.HashTokenSecret("aw_secret"), want[:])
	}},
	{Name: "Tokens: scopes read, write, admin", Test: func(t *testing.T) {
		for i, has := range kernel.Scopes {
			domaintest.CheckFields(t, account.NewToken{Name: "n", Scope: has}.Validate())
			for j, needs := range kernel.Scopes {
				domaintest.Equal(t, string(has)+" allows "+string(needs), has.Allows(needs), i >= j)
			}
		}
		domaintest.Equal(t, "scopes", kernel.Scopes, []kernel.Scope{"read", "write", "admin"})
		for _, none := range []kernel.Scope{"", "Admin", "root"} {
			domaintest.CheckFields(t, account.NewToken{Name: "n", Scope: none}.Validate(), "scope")
			domaintest.Equal(t, "an unknown scope allows nothing", none.Allows(kernel.ScopeRead), false)
		}
	}},
	{
		Name: "Token issue: a bootstrap token is any 32 or more characters that fit in a header",
		Test: func(t *testing.T) {
			domaintest.CheckFields(t, account.CheckBootstrapToken(strings.Repeat("x", 32)))
			domaintest.CheckFields(t, account.CheckBootstrapToken(strings.Repeat("x", 31)), "bootstrap_token")
			domaintest.CheckFields(t, account.CheckBootstrapToken(strings.Repeat("x", 32)+" "), "bootstrap_token")
			domaintest.CheckFields(t, account.CheckBootstrapToken(strings.Repeat("ü", 32)), "bootstrap_token")
			domaintest.CheckFields(t, account.CheckBootstrapToken(strings.Repeat("x", 32)+"\n"), "bootstrap_token")
		},
	},
	{Name: "Ping tokens: 32 base62 characters, case-sensitive", Test: func(t *testing.T) {
		form := regexp.MustCompile(`^[0-9A-Za-z]{32}$`)
		for range 1000 {
			if token := kernel.NewPingToken(); !form.MatchString(token) {
				t.Fatalf("NewPingToken = %q", token)
			}
		}
		for _, bad := range []string{
			"", strings.Repeat("a", 15), strings.Repeat("a", 22), strings.Repeat("a", 65),
			strings.Repeat("a", 31) + "_", strings.Repeat("a", 31) + "\x00", strings.Repeat("é", 16),
		} {
			domaintest.Equal(t, bad, kernel.IsPingToken(bad), false)
		}
		for _, given := range []string{
			strings.Repeat("a", 16), strings.Repeat("Z", 21), strings.Repeat("0", 23), strings.Repeat("-", 64),
			"f618072a-7bde-4eee-af63-71a77c5723bc",
		} {
			domaintest.Equal(t, given, kernel.IsPingToken(given), true)
		}
	}},
	{Name: "Ids: prefix + 20 lower-case base32 characters from time and crypto rand", Test: func(t *testing.T) {
		form := regexp.MustCompile(`^[0-9a-v]{20}$`)
		for _, prefix := range []string{"comp_", "upd_", "mon_", "page_", "grp_", "tok_"} {
			id := kernel.NewID(prefix, domaintest.T0)
			if rest, ok := strings.CutPrefix(id, prefix); !ok || !form.MatchString(rest) {
				t.Errorf("NewID = %q", id)
			}
		}
		domaintest.Equal(t, "prefix of a component", kernel.PrefixComponent, "comp_")
		domaintest.Equal(t, "prefix of an update", kernel.PrefixUpdate, "upd_")
		domaintest.Equal(t, "prefix of a monitor", kernel.PrefixMonitor, "mon_")
		domaintest.Equal(t, "prefix of a page", kernel.PrefixPage, "page_")
		domaintest.Equal(t, "prefix of a group", kernel.PrefixGroup, "grp_")
		domaintest.Equal(t, "prefix of a token", kernel.PrefixToken, "tok_")
	}},
	{Name: "Slugs: a to z, 0 to 9 and hyphen, 1 to 63", Test: func(t *testing.T) {
		for _, good := range []string{"a", "0", "-", "acme", "acme-eu-1", strings.Repeat("z", 63)} {
			domaintest.CheckFields(t, domaintest.CheckNew(resource.Page, statuspage.Page{Name: "n", Slug: good}))
		}
		for _, bad := range []string{"", "Acme", "a b", "a_b", "ä", "a/b", "a.", "a\n", strings.Repeat("z", 64)} {
			domaintest.CheckFields(t, domaintest.CheckNew(resource.Page, statuspage.Page{Name: "n", Slug: bad}), "slug")
		}
	}},
}

// changeRefusal returns what is wrong with a change of a heartbeat.
func changeRefusal(change monitor.MonitorChange) error {
	m := pinged()
	return resource.ChangeMonitor(&m, change, domaintest.T1)
}

func TestContractMonitor(t *testing.T) { domaintest.RunRows(t, monitorRows) }

func TestDecisionsMonitor(t *testing.T) { domaintest.RunRows(t, monitorDecisionRows) }

func TestDecisionsCommon(t *testing.T) { domaintest.RunRows(t, commonDecisionRows) }
