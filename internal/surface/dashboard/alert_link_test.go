package dashboard

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
)

// failingJob makes a job fail, of which a rule notifies a channel, and returns its monitor.
func (v *visitor) failingJob(change ...func(*alert.Rule)) monitor.Monitor {
	v.Helper()
	ctx, actor := v.Context(), v.actor()
	channel, err := v.store.AlertChannels().Create(ctx, actor, "", resource.Channel.From(alert.Channel{
		Type: "webhook", Name: hostile, Enabled: true, Config: json.RawMessage(`{}`), MaxPerMinute: 10,
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
	if _, err = v.store.AlertRules().Create(ctx, actor, "", resource.AlertRule.From(rule)); err != nil {
		v.Fatal(err)
	}
	m, err := v.store.CreateMonitor(ctx, actor, monitor.MonitorOf(monitor.MonitorConfig{
		Name: hostile, Interval: time.Minute,
	}))
	if err != nil {
		v.Fatal(err)
	}
	v.signal(m, monitor.SignalFail)
	return m
}

// signal records a signal of a job, and asks the rules.
func (v *visitor) signal(m monitor.Monitor, kind monitor.SignalKind) {
	v.Helper()
	if _, err := v.store.RecordSignals(v.Context(), []store.NewSignal{{Kind: kind, Token: m.Token}}); err != nil {
		v.Fatal(err)
	}
	v.advanceAlerts()
}

// advanceAlerts asks the rules that are due.
func (v *visitor) advanceAlerts() {
	v.Helper()
	for more := true; more; {
		var err error
		if more, _, err = v.store.AdvanceAlerts(v.Context()); err != nil {
			v.Fatal(err)
		}
	}
}

// alertMessage returns the message that is due when all notices are gathered.
func (v *visitor) alertMessage() store.ClaimedMessage {
	v.Helper()
	v.skip(10 * time.Second)
	claimed, _, err := v.store.ClaimMessages(v.Context(), store.MessageClaim{Limit: 1})
	if err != nil || len(claimed) != 1 {
		v.Fatalf("%d messages, %v", len(claimed), err)
	}
	return claimed[0]
}

// TestAlertLink checks that a link shows its alerts, and that only the button acknowledges them.
func TestAlertLink(t *testing.T) {
	t.Parallel()
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		owner.failingJob()
		key := owner.alertMessage().Thread.Key
		link := alert.LinkPath + "?key=" + key
		stranger := s.visitor()
		for range 2 { // programs that check links open them, too
			stranger.wants(stranger.get(link), http.StatusOK, "Do you acknowledge it?",
				"&lt;script&gt;alert(1)&lt;/script&gt;", ">Acknowledge</button>", "Your name")
		}
		stranger.wants(stranger.post(alert.LinkPath, "key", key, "name", strings.Repeat("x", 300)),
			http.StatusUnprocessableEntity, "may not be longer")
		stranger.wants(stranger.post(alert.LinkPath, "key", key, "name", " An\u202en\n"), http.StatusSeeOther)
		shown := stranger.wants(stranger.get(link), http.StatusOK, "Nothing is left to acknowledge",
			"acknowledged by <bdi>Ann (by link)</bdi>")
		if strings.Contains(shown.body, ">Acknowledge</button>") {
			t.Error("it can be acknowledged again")
		}
		all, _, err := s.store.Alerts(t.Context(), owner.actor(), store.AlertFilter{State: alert.Acknowledged},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || all[0].AcknowledgedBy != "Ann (by link)" {
			t.Errorf("%+v, %v", all, err)
		}
		owner.wants(owner.get("/admin/alerts/"+all[0].ID), http.StatusOK, "<bdi>Ann (by link)</bdi> acknowledged it")
		owner.wantsAcknowledgement(kernel.Actor{Kind: kernel.ActorLink, Name: "Ann", Address: "127.0.0.1"})
		owner.wants(owner.get("/admin/audit"), http.StatusOK,
			`<bdi>Ann (by link)</bdi> <span class="quiet">acknowledged the alert</span>`)
		stranger.wants(stranger.get(link+"x"), http.StatusNotFound, "This link is not valid any more")
	})
}

// TestAlertLinkOfUser checks that a user acknowledges under the name of the account, whatever is typed.
func TestAlertLinkOfUser(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		owner.failingJob()
		key := owner.alertMessage().Thread.Key
		shown := owner.wants(owner.get(alert.LinkPath+"?key="+key), http.StatusOK, ">Acknowledge</button>")
		if strings.Contains(shown.body, "Your name") {
			t.Error("a user is asked for a name")
		}
		owner.wants(owner.post(alert.LinkPath, "key", key, "name", "Eve"), http.StatusSeeOther)
		all, _, err := s.store.Alerts(t.Context(), owner.actor(), store.AlertFilter{State: alert.Acknowledged},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || all[0].AcknowledgedBy != "Ada Lovelace" {
			t.Errorf("%+v, %v", all, err)
		}
		owner.wantsAcknowledgement(kernel.Actor{
			Kind: kernel.ActorUser, ID: owner.actor().ID, Name: "Ada Lovelace", Address: "127.0.0.1",
		})
	})
}

// TestAlertLinkOfAnotherWorkspace checks that a user of another workspace does not look like a member.
func TestAlertLinkOfAnotherWorkspace(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		owner.failingJob()
		key := owner.alertMessage().Thread.Key
		token, err := s.store.IssueTokenFor(t.Context(), "Second", account.NewToken{
			Name: "x", Scope: kernel.ScopeAdmin,
		})
		if err != nil {
			t.Fatal(err)
		}
		issued, err := s.store.Invite(t.Context(), kernel.SystemActor("test", token.WorkspaceID), account.NewInvitation{
			Email: "eve@example.com", Role: kernel.RoleEditor,
		})
		if err != nil {
			t.Fatal(err)
		}
		second := s.visitor()
		second.wants(second.post("/admin/accept", "code", issued.Code, "name", "Ada Lovelace", "password",
			goodPassword), http.StatusSeeOther)
		second.wants(second.post(alert.LinkPath, "key", key), http.StatusSeeOther)
		owner.wantsAcknowledgement(kernel.Actor{Kind: kernel.ActorLink, Name: "Ada Lovelace", Address: "127.0.0.1"})
		all, _, err := s.store.Alerts(t.Context(), owner.actor(), store.AlertFilter{State: alert.Acknowledged},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || all[0].AcknowledgedBy != "Ada Lovelace (by link)" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// wantsAcknowledgement checks that the audit log has one acknowledgement, by an actor in the visitor's workspace.
func (v *visitor) wantsAcknowledgement(by kernel.Actor) {
	v.Helper()
	by.WorkspaceID = v.actor().WorkspaceID
	log, _, err := v.store.AuditLog(v.Context(), v.actor(), kernel.AuditFilter{Action: kernel.AuditAcknowledge}, "", 10)
	if err != nil || len(log) != 1 || log[0].Actor != by || log[0].Object.Kind != kernel.ObjectAlert ||
		string(log[0].After) != fmt.Sprintf(`{"acknowledged_by":%q}`, by.DisplayName()) {
		v.Errorf("audit log: %+v, %v; want an acknowledgement by %+v", log, err, by)
	}
}

// TestGuessesOfAlertLinks checks that keys of links can be guessed only as often as passwords, and that valid links
// work meanwhile.
func TestGuessesOfAlertLinks(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		owner.failingJob()
		link := alert.LinkPath + "?key=" + owner.alertMessage().Thread.Key
		stranger := s.visitor()
		for i := range signInsPerAddress / 2 {
			stranger.wants(stranger.get(fmt.Sprint(link, i)), http.StatusNotFound)
			stranger.wants(stranger.post(alert.LinkPath, "key", fmt.Sprint("x", i)), http.StatusNotFound)
		}
		stranger.wants(stranger.get(link+"x"), http.StatusTooManyRequests)
		stranger.wants(stranger.post(alert.LinkPath, "key", "x"), http.StatusTooManyRequests)
		stranger.wants(stranger.get(link), http.StatusOK, ">Acknowledge</button>")
	})
}

// TestOnCallCalendar checks that only the key shows the calendar of an on-call schedule.
func TestOnCallCalendar(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		o, err := s.store.OnCallSchedules().Create(t.Context(), owner.actor(), "", resource.OnCall.From(alert.OnCall{
			Name: "Ops", Zone: "UTC", HandOverDay: "mon", StartsOn: time.Now(),
		}))
		if err != nil {
			t.Fatal(err)
		}
		stranger := s.visitor()
		a := stranger.wants(stranger.get(alert.CalendarPath+"?key="+o.CalendarKey), http.StatusOK,
			"BEGIN:VCALENDAR\r\n")
		if kind, cached := a.Header.Get("Content-Type"), a.Header.Get(
			"Cache-Control",
		); kind != "text/calendar; charset=utf-8" || !strings.HasPrefix(cached, "private") {
			t.Errorf("type %q, cached %q", kind, cached)
		}
		stranger.wants(stranger.get(alert.CalendarPath+"?key=x"), http.StatusNotFound)
	})
}
