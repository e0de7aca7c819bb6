package store_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// TestFamilyOnOtherPages: who is limited to a page learns of no parent and no child on another one.
func TestFamilyOnOtherPages(t *testing.T) {
	inWorlds(t, func(w *world) {
		admin := kernel.SystemActor("test", w.ws.WorkspaceID)
		must(w.CreatePage(w.ctx, admin, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		m := func(name, page, parent string) monitor.Monitor {
			c := must(w.Components().Create(w.ctx, admin, page,
				resource.Component.From(statuspage.Component{Name: name})))(w)
			return must(w.CreateMonitor(w.ctx, admin, monitor.MonitorOf(monitor.MonitorConfig{
				Name: name, Interval: time.Minute, ParentID: parent, PageSlug: page, ComponentID: c.ID,
			})))(w)
		}
		hiddenParent := m("hidden parent", "other", "")
		middle := m("middle", "acme", hiddenParent.ID)
		m("hidden child", "other", middle.ID)
		child := m("child", "acme", middle.ID)
		issued := must(w.IssueToken(w.ctx, admin, account.NewToken{
			Name: "limited", Scope: kernel.ScopeRead, Limit: account.LimitTo([]string{"acme"}),
		}))(w)
		limited := must(w.Authenticate(w.ctx, issued.Secret))(w).Actor("")
		for _, c := range []struct {
			actor kernel.Actor
			want  int
		}{{admin, 3}, {limited, 1}} {
			family := must(w.MonitorFamily(w.ctx, c.actor, middle))(w)
			if len(family) != c.want || !slices.ContainsFunc(family, func(m monitor.Monitor) bool {
				return m.ID == child.ID
			}) {
				w.Errorf("the family: %+v", family)
			}
		}
	})
}

// TestParentsOnOtherPages: who is limited to a page makes no monitor elsewhere a parent, by its id or by its slug.
func TestParentsOnOtherPages(t *testing.T) {
	inWorlds(t, func(w *world) {
		admin := kernel.SystemActor("test", w.ws.WorkspaceID)
		must(w.CreatePage(w.ctx, admin, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		hidden := must(w.CreateMonitor(w.ctx, admin, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "hidden", Interval: time.Minute, PageSlug: "other",
		})))(w)
		loose := must(w.CreateMonitor(w.ctx, admin, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "on no page", Interval: time.Minute,
		})))(w)
		issued := must(w.IssueToken(w.ctx, admin, account.NewToken{
			Name: "limited", Scope: kernel.ScopeWrite, Limit: account.LimitTo([]string{"acme"}),
		}))(w)
		limited := must(w.Authenticate(w.ctx, issued.Secret))(w).Actor("")
		n := monitor.MonitorConfig{Name: "own", Interval: time.Minute, PageSlug: "acme"}
		own := must(w.CreateMonitor(w.ctx, limited, monitor.MonitorOf(n)))(w)
		before := w.dump()
		for _, parent := range []string{hidden.ID, hidden.Slug, loose.ID, loose.Slug} {
			_, err := w.ChangeMonitor(w.ctx, limited, own.ID, func(c *monitor.MonitorConfig) error {
				c.ParentID = parent
				return nil
			})
			if err := refused(err, "parent_id"); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("a monitor moved below %s: %v", parent, err)
			}
			n.ParentID = parent
			_, err = w.CreateMonitor(w.ctx, limited, monitor.MonitorOf(n))
			if err := refused(err, "parent_id"); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("a new monitor below %s: %v", parent, err)
			}
		}
		if w.dump() != before {
			w.Error("something was changed")
		}
	})
}

// TestLevelsOfParents checks that no monitor gets more levels of parents than permitted: neither the monitor that
// moves, nor the lowest monitor below it.
func TestLevelsOfParents(t *testing.T) {
	inWorlds(t, func(w *world) {
		chain := func(n int) (top, bottom string) {
			for range n {
				m := must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
					Name: "m", Interval: time.Minute, ParentID: bottom,
				})))(w)
				top, bottom = cmp.Or(top, m.ID), m.ID
			}
			return
		}
		for _, below := range []int{1, 2, monitor.MaxParents} {
			_, parent := chain(monitor.MaxParents + 1 - below)
			fits, _ := chain(below)
			long, _ := chain(below + 1)
			must(w.ChangeMonitor(w.ctx, w.ws, fits, func(c *monitor.MonitorConfig) error {
				c.ParentID = parent
				return nil
			}))(w)
			_, err := w.ChangeMonitor(w.ctx, w.ws, long, func(c *monitor.MonitorConfig) error {
				c.ParentID = parent
				return nil
			})
			var invalid *kernel.ValidationError
			if !errors.As(err, &invalid) || !invalid.Has("parent_id") {
				w.Errorf("%d levels with one that moves, and %d below it: %v", monitor.MaxParents+1-below, below, err)
			}
		}
	})
}
