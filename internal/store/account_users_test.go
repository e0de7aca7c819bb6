package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

var ada = account.NewUser{Email: " Ada@Example.com", Name: "Ada", PasswordHash: "hash of ada"}

// setUp creates the first owner and returns the secret of a session.
func setUp(w *world) string {
	w.Helper()
	code := must(w.IssueSetupCode(w.ctx))(w)
	return must(w.SetUp(w.ctx, code, ada, store.Browser{Address: "192.0.2.1", Client: "Firefox"}))(w)
}

func TestSetupCodeCreatesOneOwner(t *testing.T) {
	inWorlds(t, func(w *world) {
		old := must(w.IssueSetupCode(w.ctx))(w)
		code := must(w.IssueSetupCode(w.ctx))(w)
		for _, wrong := range []string{old, "", "x", strings.ToLower(code)} {
			if _, err := w.SetUp(w.ctx, wrong, ada, store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("code %q: %v", wrong, err)
			}
			if _, err := w.FindCode(w.ctx, account.CodeSetup, wrong); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("finding code %q: %v", wrong, err)
			}
		}
		must(w.FindCode(w.ctx, account.CodeSetup, code))(w)
		if _, err := w.FindCode(w.ctx, account.CodeReset, code); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a setup code resets passwords: %v", err)
		}
		var bad *kernel.ValidationError
		_, err := w.SetUp(w.ctx, code, account.NewUser{Email: "ada@", Name: " "}, store.Browser{})
		if !errors.As(err, &bad) || len(bad.Messages()) != 2 {
			w.Errorf("an invalid account: %v", err)
		}
		secret := must(w.SetUp(w.ctx, code, ada, store.Browser{Address: "192.0.2.1", Client: "Firefox"}))(w)
		if _, err := w.SetUp(w.ctx, code, ada, store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a code used twice: %v", err)
		}
		if _, err := w.IssueSetupCode(w.ctx); !errors.Is(err, store.ErrSetUp) {
			w.Errorf("a second setup: %v", err)
		}
		in := must(w.FindSession(w.ctx, secret))(w)
		if in.User.Email != "ada@example.com" || in.User.Name != "Ada" || in.Role != kernel.RoleOwner ||
			in.Address != "192.0.2.1" || in.Client != "Firefox" ||
			len(in.Workspaces) != 1 || in.Workspaces[0].Name != account.DefaultWorkspace ||
			in.Workspaces[0].ID != in.WorkspaceID {
			w.Errorf("signed in as %+v", in)
		}
		if dump := w.dump(); strings.Contains(dump, secret) || strings.Contains(dump, code) {
			w.Error("a secret is stored")
		}
	})
}

func TestSetupCodeExpires(t *testing.T) {
	inWorlds(t, func(w *world) {
		code := must(w.IssueSetupCode(w.ctx))(w)
		w.clock.move(account.SetupCodeAge)
		if _, err := w.SetUp(w.ctx, code, ada, store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("an expired code: %v", err)
		}
		w.ok(w.Prune(w.ctx))
		if n := w.value(`SELECT count(*) FROM one_time_codes`); n != "0" {
			w.Errorf("%s codes are left", n)
		}
	})
}

func TestSessionsEnd(t *testing.T) {
	inWorlds(t, func(w *world) {
		ended := func(what, secret string) {
			w.Helper()
			if _, err := w.FindSession(w.ctx, secret); !errors.Is(err, kernel.ErrUnauthenticated) {
				w.Errorf("%s: %v", what, err)
			}
		}
		for _, wrong := range []string{"", "x", "' OR ''='"} {
			ended("the secret "+wrong, wrong)
		}
		first := setUp(w)
		in := must(w.FindSession(w.ctx, first))(w)
		actor := in.Actor("192.0.2.1")

		// Without use for a week.
		idle := must(w.StartSession(w.ctx, in.User.ID, account.SignInPassword, store.Browser{}))(w)
		w.clock.move(account.SessionIdleLimit - time.Minute)
		must(w.UseSession(w.ctx, first))(w)
		w.clock.move(time.Minute)
		ended("an idle session", idle)
		must(w.FindSession(w.ctx, first))(w)

		w.clock.move(time.Hour)
		must(w.FindSession(w.ctx, first))(w) // a request that the user has not caused
		if used := must(w.FindSession(w.ctx, first))(w).LastUsedAt; !used.Before(w.clock.now().Add(-time.Hour)) {
			w.Errorf("used at %v, by nobody", used)
		}

		// By its user, alone or with all others.
		second := must(w.StartSession(w.ctx, in.User.ID, account.SignInPassword, store.Browser{}))(w)
		third := must(w.StartSession(w.ctx, in.User.ID, account.SignInPassword, store.Browser{}))(w)
		w.ok(w.EndSession(w.ctx, actor, must(w.FindSession(w.ctx, second))(w).ID))
		ended("a session that was ended", second)
		if all := must(w.Sessions(w.ctx, actor))(w); len(all) != 2 {
			w.Errorf("%d sessions are listed, want 2", len(all))
		}
		w.ok(w.EndOtherSessions(w.ctx, actor))
		ended("another session", third)
		must(w.FindSession(w.ctx, first))(w)
		stranger := actor
		stranger.ID = "usr_other"
		if err := w.EndSession(w.ctx, stranger, in.ID); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a session of somebody else: %v", err)
		}

		// After a month, however much it is used.
		for range 5 {
			w.clock.move(account.SessionIdleLimit - time.Hour)
			if _, err := w.UseSession(w.ctx, first); err != nil {
				break
			}
		}
		ended("an old session", first)
		w.ok(w.Prune(w.ctx))
		if n := w.value(`SELECT count(*) FROM sessions`); n != "0" {
			w.Errorf("%s sessions are left", n)
		}
	})
}

// TestSessionsThatEndAreNotListed lists the sessions of a user and of the members, just before and when they end.
func TestSessionsThatEndAreNotListed(t *testing.T) {
	for what, c := range map[string]struct {
		used time.Duration // how often it is used; 0: never
		ends time.Duration
	}{
		"an idle session": {0, account.SessionIdleLimit},
		"an old session":  {account.SessionIdleLimit / 2, account.SessionMaxAge},
	} {
		t.Run(what, func(t *testing.T) {
			inWorlds(t, func(w *world) { w.listsUntil(c.used, c.ends) })
		})
	}
}

// listsUntil begins a session, uses it again and again, and checks that it is listed until it ends.
func (w *world) listsUntil(used, ends time.Duration) {
	w.Helper()
	secret := setUp(w)
	in := must(w.FindSession(w.ctx, secret))(w)
	listed := func(want int) {
		w.Helper()
		own := must(w.Sessions(w.ctx, in.Actor("")))(w)
		of, total, err := w.MemberSessions(w.ctx, in.Actor(""), firstHundred)
		if w.ok(err); len(own) != want || len(of) != want || total != want {
			w.Errorf("%d own sessions, and %d of %d of members; want %d", len(own), len(of), total, want)
		}
	}
	left := ends
	for used > 0 && left > used {
		w.clock.move(used)
		left -= used
		must(w.UseSession(w.ctx, secret))(w)
	}
	w.clock.move(left - time.Second)
	listed(1)
	w.clock.move(time.Second)
	listed(0)
}

// TestClientsOfSessionsAreShort begins sessions in browsers with names as long as stored, and longer, also in the
// middle of a character.
func TestClientsOfSessionsAreShort(t *testing.T) {
	inWorlds(t, func(w *world) {
		in := must(w.FindSession(w.ctx, setUp(w)))(w)
		for client, want := range map[string]int{
			strings.Repeat("x", 300): 300, strings.Repeat("x", 301): 300, strings.Repeat("x", 299) + "é": 299,
			strings.Repeat("é", 5_000): 300,
		} {
			secret := must(w.StartSession(w.ctx, in.User.ID, account.SignInPassword, store.Browser{Client: client}))(w)
			got := must(w.FindSession(w.ctx, secret))(w).Client
			if len(got) != want || !strings.HasPrefix(client, got) {
				w.Errorf("of %d bytes %d are stored, want %d", len(client), len(got), want)
			}
		}
	})
}

func TestEndedSessionChangesNothing(t *testing.T) {
	inWorlds(t, func(w *world) {
		in := must(w.FindSession(w.ctx, setUp(w)))(w)
		actor := in.Actor("192.0.2.1")
		must(w.CreatePage(w.ctx, actor, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme-of-ada"})))(w)
		entries, _, err := w.AuditLog(w.ctx, actor, kernel.AuditFilter{}, "", 3)
		w.ok(err)
		if len(entries) != 3 || entries[0].Actor.Kind != kernel.ActorUser || entries[0].Actor.Name != "Ada" ||
			entries[0].Actor.Address != "192.0.2.1" ||
			entries[1].Object.Kind != kernel.ObjectSession || string(entries[1].After) != `{"method":"link"}` ||
			entries[2].Object.Kind != kernel.ObjectMember {
			w.Errorf("audit log %+v", entries)
		}
		for what, change := range map[string]func(*kernel.Actor){
			"a session that does not exist": func(a *kernel.Actor) { a.SessionID = "ses_other" },
			"another user":                  func(a *kernel.Actor) { a.ID = "usr_other" },
			"another workspace":             func(a *kernel.Actor) { a.WorkspaceID = "ws_other" },
			"an outdated role":              func(a *kernel.Actor) { a.Role = kernel.RoleAdmin },
		} {
			a := actor
			change(&a)
			_, err := w.CreatePage(w.ctx, a, resource.Page.From(statuspage.Page{Name: "X", Slug: "x-of-ada"}))
			if !errors.Is(err, kernel.ErrUnauthenticated) {
				w.Errorf("%s: %v", what, err)
			}
		}
		w.ok(w.EndSession(w.ctx, actor, in.ID))
		_, err = w.CreatePage(w.ctx, actor, resource.Page.From(statuspage.Page{Name: "X", Slug: "x-of-ada"}))
		if !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("an ended session: %v", err)
		}
	})
}

func TestNewPasswordEndsSessions(t *testing.T) {
	inWorlds(t, func(w *world) {
		first := setUp(w)
		in := must(w.FindSession(w.ctx, first))(w)
		second := must(w.StartSession(w.ctx, in.User.ID, account.SignInPassword, store.Browser{}))(w)
		w.ok(w.ChangePassword(w.ctx, in.Actor(""), "second hash"))
		must(w.FindSession(w.ctx, first))(w)
		if _, err := w.FindSession(w.ctx, second); !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("another session after a change of the password: %v", err)
		}

		if _, err := w.IssueResetCode(w.ctx, "nobody@example.com"); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a reset of an unknown account: %v", err)
		}
		old := must(w.IssueResetCode(w.ctx, "ada@example.com"))(w)
		code := must(w.IssueResetCode(w.ctx, " ADA@example.com"))(w)
		if _, err := w.ResetPassword(w.ctx, old, "x", store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("an earlier code: %v", err)
		}
		if user := must(w.FindCode(w.ctx, account.CodeReset, code))(w); user.Email != "ada@example.com" {
			w.Errorf("the code is of %+v", user)
		}
		third := must(w.ResetPassword(w.ctx, code, "third hash", store.Browser{}))(w).Secret
		must(w.FindSession(w.ctx, third))(w)
		if _, err := w.FindSession(w.ctx, first); !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("an old session after a reset: %v", err)
		}
		c := must(w.Credentials(w.ctx, "Ada@Example.com"))(w)
		if c.PasswordHash != "third hash" || c.UserID != in.User.ID {
			w.Errorf("credentials %+v", c)
		}
		if c, err := w.Credentials(w.ctx, "nobody@example.com"); err != nil || c != (store.Credentials{}) {
			w.Errorf("credentials of nobody: %+v, %v", c, err)
		}
		w.clock.move(time.Minute)
		code = must(w.IssueResetCode(w.ctx, "ada@example.com"))(w)
		w.clock.move(account.ResetCodeAge)
		if _, err := w.ResetPassword(w.ctx, code, "x", store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("an expired code: %v", err)
		}
	})
}

func TestSessionsOfOneUserAreBounded(t *testing.T) {
	inWorlds(t, func(w *world) {
		first := setUp(w)
		in := must(w.FindSession(w.ctx, first))(w)
		for range 50 {
			w.clock.move(time.Millisecond)
			must(w.StartSession(w.ctx, in.User.ID, account.SignInPassword, store.Browser{}))(w)
		}
		if _, err := w.FindSession(w.ctx, first); !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("the oldest of 51 sessions: %v", err)
		}
		if n := w.value(`SELECT count(*) FROM sessions`); n != "50" {
			w.Errorf("%s sessions, want 50", n)
		}
	})
}

func TestOverviewOfPages(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := must(w.Overview(w.ctx, kernel.Actor{WorkspaceID: "ws_other"}))(w)
		if len(other.Pages) != 0 || other.Monitors != 0 {
			w.Errorf("the overview of another workspace has %+v", other)
		}
		w.emptyAndFullPage()
		c := must(w.Components().Create(w.ctx, w.ws, "full",
			resource.Component.From(statuspage.Component{Name: "API"})))(w)
		must(w.Components().Create(w.ctx, w.ws, "full", resource.Component.From(statuspage.Component{Name: "Web"})))(w)
		inc := must(w.CreateIncident(w.ctx, w.ws, "full",
			statuspage.Incident{
				Title:    "Slow",
				Affected: []statuspage.AffectedComponent{{ComponentID: c.ID, Status: kernel.StatusDegraded}},
			},
			statuspage.IncidentUpdate{Message: "We look into it."}, nil))(w)
		o := must(w.Overview(w.ctx, w.ws))(w)
		if len(o.Incidents) != 1 || o.Incidents[0].ID != inc.ID || o.Incidents[0].PageName != "Full" ||
			o.Incidents[0].PageSlug != "full" {
			w.Errorf("incidents %+v", o.Incidents)
		}
		found := 0
		for _, p := range o.Pages {
			switch {
			case p.Slug == "empty" && p.Visibility == statuspage.VisibilityPublic,
				p.Slug == "full" && p.Visibility == statuspage.VisibilityPrivate && p.Status == kernel.StatusDegraded:
				found++
			}
		}
		if found != 2 {
			w.Errorf("pages %+v", o.Pages)
		}
	})
}

func TestOverviewOfTroubledMonitors(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		w.run(`UPDATE monitors SET consecutive_failures = 1 WHERE id = $1`, w.monitor.ID)
		if o := must(w.Overview(w.ctx, w.ws))(w); len(o.Troubled) != 1 {
			w.Errorf("a late monitor: %+v", o.Troubled)
		}
		w.clock.move(time.Second)
		w.pinged() // the row keeps the count
		if o := must(w.Overview(w.ctx, w.ws))(w); len(o.Troubled) != 0 {
			w.Errorf("after its ping: %+v", o.Troubled)
		}
		w.run(`UPDATE monitors SET state = 'down' WHERE id = $1`, w.monitor.ID)
		for _, c := range []struct {
			change monitor.MonitorChange
			down   int
		}{{func(*monitor.MonitorConfig) error { return nil }, 1}, {monitor.Pause(time.Time{}), 0}} {
			must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, c.change))(w)
			if o := must(w.Overview(w.ctx, w.ws))(w); len(o.Troubled) != c.down || o.Down != c.down {
				w.Errorf("%+v: %d are down, %+v", c.change, o.Down, o.Troubled)
			}
		}
	})
}

func TestOverviewOfFailedDeliveries(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.emptyAndFullPage()
		for page, n := range map[string]int{"empty": 1, "full": 2} {
			for i := range n {
				must(w.CreateSubscriber(w.ctx, w.ws, page,
					audience.NewSubscriber{Channel: audience.ChannelEmail, Target: fmt.Sprintf("%d@example.com", i)},
					nil))(w)
			}
		}
		w.run(`UPDATE deliveries SET state = 'dead'`)
		w.run(`UPDATE deliveries SET state = 'expired' WHERE id = (SELECT min(id) FROM deliveries
			WHERE page_id = (SELECT id FROM pages WHERE slug = 'full'))`)
		want := []store.FailedDeliveries{
			{PageSlug: "full", PageName: "Full", Count: 2}, {PageSlug: "empty", PageName: "Empty", Count: 1},
		}
		o := must(w.Overview(w.ctx, w.ws))(w)
		if !slices.Equal(o.FailedDeliveries, want) || o.AllFailedPages != len(want) {
			w.Errorf("failed deliveries: %+v", o.FailedDeliveries)
		}
	})
}

// emptyAndFullPage creates a public page "empty" and a private page "full".
func (w *world) emptyAndFullPage() {
	w.Helper()
	must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Empty", Slug: "empty"})))(w)
	must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{
		Name: "Full", Slug: "full", Visibility: statuspage.VisibilityPrivate,
	})))(w)
}

func TestOverviewOfTheLastHour(t *testing.T) {
	inWorlds(t, func(w *world) {
		recent := func(actor kernel.Actor) (all []string) {
			for _, e := range must(w.Overview(w.ctx, actor))(w).Recent {
				all = append(all, string(e.Kind)+" "+e.Name)
			}
			return all
		}
		w.pinged()
		w.pass(w.monitor.Interval + 5*time.Minute)
		down := []string{"incident.created nightly is down", "monitor.down nightly"}
		if got := recent(w.ws); !slices.Equal(got, down) {
			w.Errorf("down: %q", got)
		}
		w.clock.move(time.Second)
		w.pinged()
		s := must(w.CreateSubscriber(w.ctx, w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "a@example.com"}, nil))(w)
		w.clock.move(time.Second)
		w.run(`UPDATE subscribers SET suspended_at = $2 WHERE id = $1`, s.ID, w.clock.now().UnixMilli())
		want := append([]string{
			"subscription.suspended Acme", "incident.resolved nightly is down", "monitor.up nightly",
		}, down...)
		if got := recent(w.ws); !slices.Equal(got, want) {
			w.Errorf("after its ping: %q, want %q", got, want)
		}
		if got := recent(kernel.Actor{WorkspaceID: "ws_other"}); len(got) != 0 {
			w.Errorf("another workspace has %q", got)
		}
		w.clock.move(2 * time.Hour)
		if got := recent(w.ws); len(got) != 0 {
			w.Errorf("two hours later: %q", got)
		}
	})
}

func TestNewPasswordInvalidatesCodesAndIsAudited(t *testing.T) {
	inWorlds(t, func(w *world) {
		in := must(w.FindSession(w.ctx, setUp(w)))(w)
		actor := in.Actor("192.0.2.1")
		issue := func() (reset, enter string) {
			w.Helper()
			return must(w.IssueResetCode(w.ctx, "ada@example.com"))(w), must(w.IssueEnterCode(w.ctx, in.User.ID))(w)
		}
		invalid := func(what, reset, enter string) {
			w.Helper()
			if _, err := w.ResetPassword(w.ctx, reset, "x", store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("a reset code after %s: %v", what, err)
			}
			if _, err := w.SignInWithCode(w.ctx, enter, store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("an enter code after %s: %v", what, err)
			}
			entries, _, err := w.AuditLog(w.ctx, actor, kernel.AuditFilter{ObjectKind: kernel.ObjectUser}, "", 10)
			w.ok(err)
			if len(entries) == 0 || entries[0].Action != kernel.AuditRotate || entries[0].Object.ID != in.User.ID ||
				entries[0].Actor.ID != in.User.ID ||
				entries[0].Actor.Name != "Ada" || entries[0].Actor.Address == "" ||
				strings.Contains(w.dump(), "hash of ada") {
				w.Errorf("audit entries after %s: %+v", what, entries)
			}
		}
		reset, enter := issue()
		w.ok(w.ChangePassword(w.ctx, actor, "second hash"))
		invalid("a change", reset, enter)

		reset, enter = issue()
		must(w.ResetPassword(w.ctx, reset, "third hash", store.Browser{Address: "192.0.2.2"}))(w)
		invalid("a reset", reset, enter)
		entries, _, err := w.AuditLog(w.ctx, actor, kernel.AuditFilter{Action: kernel.AuditRotate}, "", 10)
		w.ok(err)
		if len(entries) != 2 || entries[0].Actor.Address != "192.0.2.2" {
			w.Errorf("audit entries %+v", entries)
		}
	})
}
