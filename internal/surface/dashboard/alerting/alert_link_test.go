package alerting_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// failingJob makes a job fail, about which a rule notifies a channel, and returns its monitor.
func failingJob(v *dashboardtest.Visitor, change ...func(*alert.Rule)) monitor.Monitor {
	v.Helper()
	ctx, actor := v.Context(), v.Actor()
	channel, err := v.Store.AlertChannels().Create(ctx, actor, "", resource.Channel.From(alert.Channel{
		Type: "webhook", Name: dashboardtest.Hostile, Enabled: true, Config: json.RawMessage(`{}`), MaxPerMinute: 10,
	}))
	if err != nil {
		v.Fatal(err)
	}
	rule := alert.Rule{
		Name: "Everything", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents},
		Target: alert.Target{ChannelIDs: []string{channel.ID}},
	}
	for _, f := range change {
		f(&rule)
	}
	if _, err = v.Store.AlertRules().Create(ctx, actor, "", resource.AlertRule.From(rule)); err != nil {
		v.Fatal(err)
	}
	m, err := v.Store.CreateMonitor(ctx, actor, monitor.MonitorOf(monitor.MonitorConfig{
		Name: dashboardtest.Hostile, Interval: time.Minute,
	}))
	if err != nil {
		v.Fatal(err)
	}
	signal(v, m, monitor.SignalFail)
	return m
}

// signal records a signal of a job, and asks the rules.
func signal(v *dashboardtest.Visitor, m monitor.Monitor, kind monitor.SignalKind) {
	v.Helper()
	if _, err := v.Store.RecordSignals(v.Context(), []store.NewSignal{{Kind: kind, Token: m.Token}}); err != nil {
		v.Fatal(err)
	}
	advanceAlerts(v)
}

// advanceAlerts asks the rules that are due.
func advanceAlerts(v *dashboardtest.Visitor) {
	v.Helper()
	for more := true; more; {
		var err error
		if more, _, err = v.Store.AdvanceAlerts(v.Context()); err != nil {
			v.Fatal(err)
		}
	}
}

// alertMessage returns the message that is due when all notices are gathered.
func alertMessage(v *dashboardtest.Visitor) store.ClaimedMessage {
	v.Helper()
	v.Advance(10 * time.Second)
	claimed, _, err := v.Store.ClaimMessages(v.Context(), store.MessageClaim{Limit: 1})
	if err != nil || len(claimed) != 1 {
		v.Fatalf("%d messages, %v", len(claimed), err)
	}
	return claimed[0]
}

// TestAlertLink checks that a link shows its alerts, and that only the button acknowledges them.
func TestAlertLink(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		failingJob(owner)
		key := alertMessage(owner).Thread.Key
		link := alert.LinkPath + "?key=" + key
		stranger := s.Visitor()
		for range 2 { // programs that check links open them, too
			stranger.Wants(stranger.Get(link), http.StatusOK, "Acknowledge this alert?",
				"&lt;script&gt;alert(1)&lt;/script&gt;", ">Acknowledge</button>", "Your name")
		}
		stranger.Wants(stranger.Post(alert.LinkPath, "key", key, "name", strings.Repeat("x", 300)),
			http.StatusUnprocessableEntity, "may not be longer")
		stranger.Wants(stranger.Post(alert.LinkPath, "key", key, "name", " An\u202en\n"), http.StatusSeeOther)
		shown := stranger.Wants(stranger.Get(link), http.StatusOK, ">Acknowledged</h1>",
			"acknowledged by <bdi>Ann (by link)</bdi>")
		if strings.Contains(shown.Text, ">Acknowledge</button>") {
			t.Error("it can be acknowledged again")
		}
		all, _, err := s.Store.Alerts(t.Context(), owner.Actor(), store.AlertFilter{State: alert.Acknowledged},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || all[0].AcknowledgedBy != "Ann (by link)" {
			t.Errorf("the acknowledged alerts: %+v, %v", all, err)
		}
		owner.Wants(owner.Get("/admin/alerts/"+all[0].ID), http.StatusOK, "Acknowledged by <bdi>Ann (by link)</bdi>")
		wantsAcknowledgement(owner, kernel.Actor{Kind: kernel.ActorLink, Name: "Ann", Address: "127.0.0.1"})
		owner.Wants(owner.Get("/admin/audit"), http.StatusOK,
			`<bdi>Ann (by link)</bdi> <span class="quiet">acknowledged the alert</span>`)
		stranger.Wants(stranger.Get(link+"x"), http.StatusNotFound, "This link is no longer valid")
	})
}

// TestAlertLinkOfUser checks that a user acknowledges under the name of the account, whatever is typed.
func TestAlertLinkOfUser(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		failingJob(owner)
		key := alertMessage(owner).Thread.Key
		shown := owner.Wants(owner.Get(alert.LinkPath+"?key="+key), http.StatusOK, ">Acknowledge</button>")
		if strings.Contains(shown.Text, "Your name") {
			t.Error("a user is asked for a name")
		}
		owner.Wants(owner.Post(alert.LinkPath, "key", key, "name", "Eve"), http.StatusSeeOther)
		all, _, err := s.Store.Alerts(t.Context(), owner.Actor(), store.AlertFilter{State: alert.Acknowledged},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || all[0].AcknowledgedBy != "Ada Lovelace" {
			t.Errorf("the acknowledged alerts: %+v, %v", all, err)
		}
		wantsAcknowledgement(owner, kernel.Actor{
			Kind: kernel.ActorUser, ID: owner.Actor().ID, Name: "Ada Lovelace", Address: "127.0.0.1",
		})
	})
}

// TestAlertLinkOfAnotherWorkspace checks that a user of another workspace does not look like a member.
func TestAlertLinkOfAnotherWorkspace(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		failingJob(owner)
		key := alertMessage(owner).Thread.Key
		token, err := s.Store.IssueTokenFor(t.Context(), "Second", account.NewToken{
			Name: "x", Scope: kernel.ScopeAdmin,
		})
		if err != nil {
			t.Fatal(err)
		}
		issued, err := s.Store.Invite(t.Context(), kernel.SystemActor("test", token.WorkspaceID), account.NewInvitation{
			Email: "eve@example.com", Role: kernel.RoleEditor,
		})
		if err != nil {
			t.Fatal(err)
		}
		second := s.Visitor()
		second.Wants(second.Post("/admin/accept", "code", issued.Code, "name", "Ada Lovelace", "password",
			dashboardtest.GoodPassword), http.StatusSeeOther)
		second.Wants(second.Post(alert.LinkPath, "key", key), http.StatusSeeOther)
		wantsAcknowledgement(owner, kernel.Actor{Kind: kernel.ActorLink, Name: "Ada Lovelace", Address: "127.0.0.1"})
		all, _, err := s.Store.Alerts(t.Context(), owner.Actor(), store.AlertFilter{State: alert.Acknowledged},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || all[0].AcknowledgedBy != "Ada Lovelace (by link)" {
			t.Errorf("the acknowledged alerts: %+v, %v", all, err)
		}
	})
}

// wantsAcknowledgement checks that the audit log has one acknowledgement, by an actor in the visitor's workspace.
func wantsAcknowledgement(v *dashboardtest.Visitor, by kernel.Actor) {
	v.Helper()
	by.WorkspaceID = v.Actor().WorkspaceID
	log, _, err := v.Store.AuditLog(v.Context(), v.Actor(), kernel.AuditFilter{Action: kernel.AuditAcknowledge}, "", 10)
	if err != nil || len(log) != 1 || log[0].Actor != by || log[0].Object.Kind != kernel.ObjectAlert ||
		string(log[0].After) != fmt.Sprintf(`{"acknowledged_by":%q}`, by.DisplayName()) {
		v.Errorf("audit log: %+v, %v; want an acknowledgement by %+v", log, err, by)
	}
}

// TestGuessesOfAlertLinks checks that keys of links can be guessed only as often as passwords, and that valid links
// work meanwhile.
func TestGuessesOfAlertLinks(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		failingJob(owner)
		link := alert.LinkPath + "?key=" + alertMessage(owner).Thread.Key
		stranger := s.Visitor()
		for i := range frame.SignInsPerAddress / 2 {
			stranger.Wants(stranger.Get(fmt.Sprint(link, i)), http.StatusNotFound)
			stranger.Wants(stranger.Post(alert.LinkPath, "key", fmt.Sprint("x", i)), http.StatusNotFound)
		}
		stranger.Wants(stranger.Get(link+"x"), http.StatusTooManyRequests)
		stranger.Wants(stranger.Post(alert.LinkPath, "key", "x"), http.StatusTooManyRequests)
		stranger.Wants(stranger.Get(link), http.StatusOK, ">Acknowledge</button>")
	})
}

// TestOnCallCalendar checks that only the key shows the calendar of an on-call schedule.
func TestOnCallCalendar(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		o, err := s.Store.OnCallSchedules().Create(t.Context(), owner.Actor(), "", resource.OnCall.From(alert.OnCall{
			Name: "Ops", Zone: "UTC", HandOverDay: "mon", StartsOn: time.Now(),
		}))
		if err != nil {
			t.Fatal(err)
		}
		stranger := s.Visitor()
		a := stranger.Wants(stranger.Get(alert.CalendarPath+"?key="+o.CalendarKey), http.StatusOK,
			"BEGIN:VCALENDAR\r\n")
		kind, cached := a.Header.Get("Content-Type"), a.Header.Get("Cache-Control")
		if kind != "text/calendar; charset=utf-8" || !strings.HasPrefix(cached, "private") {
			t.Errorf("type %q, cached %q", kind, cached)
		}
		stranger.Wants(stranger.Get(alert.CalendarPath+"?key=x"), http.StatusNotFound)
	})
}
