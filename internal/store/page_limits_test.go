package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

// operations are the operations of verbs about the whole workspace. All other verbs are about pages, or find nothing.
var operations = map[string]rights.Operation{
	"IssueToken": rights.TokenManage, "Tokens": rights.TokenManage, "RevokeToken": rights.TokenManage,
	"Members": rights.MemberManage, "ChangeMember": rights.MemberManage, "RemoveMember": rights.MemberManage,
	"Invite": rights.MemberManage, "Invitations": rights.MemberManage, "WithdrawInvitation": rights.MemberManage,
	"MemberSessions": rights.SessionManage, "EndMemberSession": rights.SessionManage, "AuditLog": rights.AuditRead,
	"CreatePage": rights.PageCreate, "PutPage": rights.PageCreate,
	"AlertChannels.List": rights.ChannelRead, "AlertChannels.Get": rights.ChannelRead,
	"AlertChannels.Create": rights.ChannelChange,
	"AlertChannels.Change": rights.ChannelChange, "AlertChannels.Put": rights.ChannelChange,
	"AlertChannels.Delete": rights.ChannelChange,
	"ChannelMessages":      rights.ChannelRead, "PrepareTest": rights.ChannelChange,
	"AlertRules.List": rights.AlertRuleRead, "AlertRules.Get": rights.AlertRuleRead,
	"ForecastAlert":     rights.AlertRuleRead,
	"AlertRules.Create": rights.AlertRuleChange, "AlertRules.Change": rights.AlertRuleChange,
	"AlertRules.Put": rights.AlertRuleChange, "AlertRules.Delete": rights.AlertRuleChange,
	"Silences.List": rights.SilenceRead, "Silences.Get": rights.SilenceRead, "Silences.Create": rights.SilenceChange,
	"Silences.Change": rights.SilenceChange, "Silences.Put": rights.SilenceChange,
	"Silences.Delete":      rights.SilenceChange,
	"OnCallSchedules.List": rights.OnCallRead, "OnCallSchedules.Get": rights.OnCallRead,
	"OnCallSchedules.Create": rights.OnCallChange,
	"OnCallSchedules.Change": rights.OnCallChange, "OnCallSchedules.Put": rights.OnCallChange,
	"OnCallSchedules.Delete": rights.OnCallChange,
}

// TestLimitedActorsFindNothing calls every verb as a token and as a member of the same workspace who are limited to
// another page, which has been deleted. They find nothing and change nothing.
func TestLimitedActorsFindNothing(t *testing.T) {
	inWorlds(t, func(w *world) {
		x := w.things()
		admin, token, member := w.limitedToOther()
		actors := []kernel.Actor{token, member}
		for _, actor := range actors {
			pages, total, err := w.Pages(w.ctx, actor, store.Filter{}, firstHundred)
			if err != nil || total != 1 || pages[0].Slug != "other" {
				w.Errorf("the pages of a limited %s: %v, %v", actor.Kind, pages, err)
			}
			must(w.Components().Create(w.ctx, actor, "other",
				resource.Component.From(statuspage.Component{Name: "mine"})))(w)
		}
		w.ok(w.DeletePage(w.ctx, admin, "other"))
		before := w.dump()
		for _, actor := range actors {
			for name, try := range verbs {
				o := operations[name]
				switch o { // actors with these rights cannot be limited to pages
				case rights.TokenManage, rights.MemberManage, rights.SessionManage, rights.AuditRead:
					continue
				}
				if try == nil || name == "ObjectLog" { // its callers have loaded the objects
					continue
				}
				want := kernel.ErrNotFound
				if o.Reach == rights.Workspace {
					want = kernel.ErrPageLimited
				}
				if err := try(w.Store, w.ctx, actor, x); !errors.Is(err, want) {
					w.Errorf("%s by a %s limited to another page: %v, want %v", name, actor.Kind, err, want)
				}
			}
			_, err := w.CreateMonitor(w.ctx, actor, monitor.MonitorOf(monitor.MonitorConfig{
				Name: "x", Interval: time.Minute,
			}))
			if err := refused(err, "page"); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("a monitor on no page: %v", err)
			}
		}
		if w.dump() != before {
			w.Error("a limited actor changed something")
		}
	})
}

// TestLimitOfAMemberChanges gives a member whose only page was deleted other limits and roles.
func TestLimitOfAMemberChanges(t *testing.T) {
	inWorlds(t, func(w *world) {
		admin, _, member := w.limitedToOther()
		w.ok(w.DeletePage(w.ctx, admin, "other"))
		members, _, err := w.Members(w.ctx, admin, firstHundred)
		at := slices.IndexFunc(members, func(m account.Member) bool { return m.Email == "limited@example.com" })
		if err != nil || at < 0 || !members[at].Limit.Limited || len(members[at].Limit.Pages) != 0 {
			w.Fatalf("the members: %+v, %v", members, err)
		}
		id := members[at].ID
		for _, c := range []struct {
			change account.MemberChange
			field  string
		}{
			{account.MemberChange{Limit: &account.PageLimit{Limited: true}}, "pages"},
			{account.MemberChange{Limit: &account.PageLimit{Limited: true, Pages: []string{"nowhere"}}}, "pages"},
			{account.MemberChange{
				Role: kernel.RoleAdmin, Limit: &account.PageLimit{Limited: true, Pages: []string{"acme"}},
			}, "pages"},
			{account.MemberChange{}, "role"},
		} {
			_, err := w.ChangeMember(w.ctx, admin, id, c.change)
			if err := refused(err, c.field); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("change to %+v: %v", c.change, err)
			}
		}
		changed := must(w.ChangeMember(w.ctx, admin, id, account.MemberChange{
			Limit: &account.PageLimit{Limited: true, Pages: []string{"acme"}},
		}))(w)
		if changed.Role != kernel.RoleEditor || !slices.Equal(changed.Limit.Pages, []string{"acme"}) {
			w.Errorf("changed to %+v", changed)
		}
		must(w.Page(w.ctx, member, "acme"))(w)
		raised := must(w.ChangeMember(w.ctx, admin, id, account.MemberChange{Role: kernel.RoleAdmin}))(w)
		if raised.Limit.Limited {
			w.Errorf("an admin is limited: %+v", raised)
		}
		// The session was limited when its request began.
		_, err = w.Components().Create(w.ctx, member, "acme", resource.Component.From(statuspage.Component{Name: "x"}))
		if !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("a write under an earlier limit: %v", err)
		}
		w.ok(w.RemoveMember(w.ctx, admin, id))
		if n := w.value(`SELECT count(*) FROM page_limits`); n != "0" {
			w.Errorf("%s limits are left", n)
		}
	})
}

// limitedToOther creates a page "other", and a token and a member that are limited to it.
func (w *world) limitedToOther() (admin, token, member kernel.Actor) {
	w.Helper()
	admin = kernel.SystemActor("test", w.ws.WorkspaceID)
	must(w.CreatePage(w.ctx, admin, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
	must(w.CreateMonitor(w.ctx, admin, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "on no page", Interval: time.Minute,
	})))(w)
	limit := account.LimitTo([]string{"other"})
	issued := must(w.IssueToken(w.ctx, admin, account.NewToken{
		Name: "limited", Scope: kernel.ScopeWrite, Limit: limit,
	}))(w)
	invited := must(w.Invite(w.ctx, admin, account.NewInvitation{
		Email: "limited@example.com", Role: kernel.RoleEditor, Limit: limit,
	}))(w)
	secret := must(w.AcceptInvitation(w.ctx, invited.Code, store.Acceptance{Name: "Limited"}, store.Browser{}))(w)
	return admin, must(w.Authenticate(w.ctx, issued.Secret))(w).Actor(""), w.signedIn(secret)
}

func TestTokensExpire(t *testing.T) {
	inWorlds(t, func(w *world) {
		now := must(w.Clock(w.ctx))(w)
		n := account.NewToken{Name: "short", Scope: kernel.ScopeWrite, ExpiresAt: now}
		_, err := w.IssueToken(w.ctx, w.ws, n)
		if err := refused(err, "expires_at"); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("an expiry that has passed: %v", err)
		}
		n.ExpiresAt = now.Add(time.Hour)
		issued := must(w.IssueToken(w.ctx, w.ws, n))(w)
		actor := must(w.Authenticate(w.ctx, issued.Secret))(w).Actor("")
		must(w.Components().Create(w.ctx, actor, "acme", resource.Component.From(statuspage.Component{Name: "x"})))(w)
		w.clock.move(time.Hour)
		if _, err := w.Authenticate(w.ctx, issued.Secret); !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("an expired token: %v", err)
		}
		_, err = w.Components().Create(w.ctx, actor, "acme", resource.Component.From(statuspage.Component{Name: "y"}))
		if !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("a write of an expired token: %v", err)
		}
	})
}

// TestLimitedActorsReadTemplatesOfAllPages: they read and use the templates that belong to all pages, and change none
// of them.
func TestLimitedActorsReadTemplatesOfAllPages(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		ids := make(map[string]string)
		for name, page := range map[string]string{"all": "", "acme": "acme", "other": "other"} {
			ids[name] = must(w.IncidentTemplates().Create(w.ctx, w.ws, "",
				resource.IncidentTemplate.From(statuspage.IncidentTemplate{Name: name, Title: "t", Page: page})))(w).ID
		}
		issued := must(w.IssueToken(w.ctx, w.ws, account.NewToken{
			Name: "limited", Scope: kernel.ScopeWrite, Limit: account.LimitTo([]string{"acme"}),
		}))(w)
		actor := must(w.Authenticate(w.ctx, issued.Secret))(w).Actor("")
		list, total, err := w.IncidentTemplates().List(w.ctx, actor, "", store.Filter{}, firstHundred)
		if err != nil || total != 2 || list[0].Name == "other" || list[1].Name == "other" {
			w.Errorf("the templates: %+v, %v", list, err)
		}
		must(w.IncidentTemplates().Get(w.ctx, actor, "", "all"))(w)
		must(w.IncidentTemplates().Change(w.ctx, actor, "", ids["acme"],
			resource.IncidentTemplate.From(statuspage.IncidentTemplate{Title: "x"}), kernel.Precondition{}))(w)
		before := w.dump()
		for name, err := range map[string]error{
			"a change": second(
				w.IncidentTemplates().Change(
					w.ctx, actor, "", ids["all"],
					resource.IncidentTemplate.From(statuspage.IncidentTemplate{Title: "x"}), kernel.Precondition{},
				),
			),
			"a deletion": w.IncidentTemplates().Delete(w.ctx, actor, "", ids["all"], kernel.Precondition{}),
			"another's":  second(w.IncidentTemplates().Get(w.ctx, actor, "", ids["other"])),
		} {
			if !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("%s: %v", name, err)
			}
		}
		if w.dump() != before {
			w.Error("something was changed")
		}
	})
}

// TestLimitedActorsTakeNoHome: an actor that is limited to pages cannot make one of them the home page in place of a
// page that it cannot reach.
func TestLimitedActorsTakeNoHome(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		issued := must(w.IssueToken(w.ctx, w.ws, account.NewToken{
			Name: "limited", Scope: kernel.ScopeWrite, Limit: account.LimitTo([]string{"other"}),
		}))(w)
		limited := must(w.Authenticate(w.ctx, issued.Secret))(w).Actor("")
		home := func(actor kernel.Actor, slug string, on bool) error {
			_, err := w.ChangePage(w.ctx, actor, slug, func(p *statuspage.Page) error { p.Home = on; return nil })
			return err
		}
		w.ok(home(limited, "other", true))
		w.ok(home(limited, "other", false))
		w.ok(home(w.ws, "acme", true))
		w.refused(home(limited, "other", true), "home")
		if got := w.value(`SELECT slug FROM pages WHERE home`); got != "acme" {
			w.Errorf("the home page is %q", got)
		}
		w.ok(home(w.ws, "other", true))
	})
}
