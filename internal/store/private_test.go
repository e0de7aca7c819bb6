package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
)

// stranger subscribes an address by the form, and confirms it.
func (w *world) stranger(address string) {
	w.Helper()
	w.ok(w.signUp("acme", audience.NewSubscriber{Channel: audience.ChannelEmail, Target: address}))
	key := w.value(`SELECT key FROM subscribers WHERE target = $1`, address)
	must(w.ConfirmSubscription(w.ctx, "acme", key))(w)
}

// TestPrivatePageNotifiesNoStranger: people who subscribed by the form are not notified of what happens while the page
// is private; people whom an operator added are.
func TestPrivatePageNotifiesNoStranger(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.stranger("stranger@example.com")
		w.subscribe("member@example.com")
		w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		// Anyone may enter the member's address, which takes nothing from the member.
		w.ok(w.signUp("acme", audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "member@example.com"}))
		w.setPage(func(p *statuspage.Page) { p.Visibility = statuspage.VisibilityPrivate })
		w.deliver(taken) // the confirmation
		i := w.about("private", "one")
		w.expect("a private page", w.deliver(taken), "member@example.com: one", "https://example.com/hook: one")
		w.setPage(func(p *statuspage.Page) { p.Visibility = statuspage.VisibilityUnlisted })
		w.clock.move(time.Second)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "two"}, nil))(w)
		got := w.deliver(taken)
		slices.Sort(got)
		w.expect("an unlisted page", got, "https://example.com/hook: two", "member@example.com: two",
			"stranger@example.com: two")
	})
}

// TestPageBecomesPrivateDuringASignUp: a visitor who saw the form while the page was public subscribes nothing any
// more.
func TestPageBecomesPrivateDuringASignUp(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		i := w.about("Slow", "one")
		ways := map[string]func(admitted bool) error{
			"the form": func(admitted bool) error {
				n := audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "grace@example.com"}
				return w.RequestSignUp(w.ctx, store.SignUp{Slug: "acme", Subscriber: n, Admitted: admitted})
			},
			"a browser": func(admitted bool) error {
				target := audience.PushTarget{ // of RFC 8291
					Endpoint: "https://updates.push.services.mozilla.com/wpush/v2/abcdefghijklmnop",
					P256DH:   "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
					Auth:     "BTBZMqHH6r4Tts7J_aSIgg",
				}
				return w.SubscribeToEnd(w.ctx, store.PushSignUp{
					Slug: "acme", IncidentID: i.ID, Target: target, Admitted: admitted,
				})
			},
		}
		w.setPage(func(p *statuspage.Page) { p.Visibility = statuspage.VisibilityPrivate })
		before := w.dump()
		for name, way := range ways {
			if err := way(false); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("%s: %v", name, err)
			}
		}
		if w.dump() != before {
			w.Error("a visitor who may not see the page any more changes something")
		}
		for _, way := range ways {
			w.ok(way(true))
		}
	})
}

// TestHiddenComponentInEvents: no event that subscribers get names a hidden component.
func TestHiddenComponentInEvents(t *testing.T) {
	inWorlds(t, func(w *world) {
		secret := must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
			Name: "Backstage", Hidden: true,
		})))(w)
		must(w.Components().Change(w.ctx, w.ws, "acme", secret.ID, setStatus(kernel.StatusDegraded),
			kernel.Precondition{}))(w)
		i := w.about("Slow", "one", w.at(kernel.StatusDegraded, w.component), w.at(kernel.StatusMajorOutage, secret))
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "two"}, nil))(w)
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		m := w.plan("Work", time.Hour, 2*time.Hour, w.component.ID, secret.ID)
		must(w.PostMaintenanceUpdate(w.ctx, w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{Message: "soon"}), ""))(w)
		w.clock.move(90 * time.Minute)
		w.advance()
		for _, row := range w.rows(`SELECT kind, data FROM events`) {
			if strings.Contains(row, "Backstage") {
				w.Errorf("an event names the component: %s", row)
			}
		}
		if n := w.value(`SELECT count(*) FROM events WHERE component_id = '` + secret.ID + `'`); n != "0" {
			w.Errorf("%s events of the status of the component", n)
		}
		// What updates say outlives the component, and its being hidden.
		w.ok(w.Components().Delete(w.ctx, w.ws, "acme", "backstage", kernel.Precondition{}))
		for _, inc := range must(w.LoadPage(w.ctx, "acme"))(w).Incidents {
			for _, u := range inc.Updates {
				for _, a := range u.Affected {
					if a.Name != w.component.Name {
						w.Errorf("after its deletion, an update names %s", a.Name)
					}
				}
			}
		}
	})
}

// TestComponentHiddenLater: a component that is hidden after updates named it is named no more, in events
// and on the page, and its deletion does not change that.
func TestComponentHiddenLater(t *testing.T) {
	inWorlds(t, func(w *world) {
		secret := w.anotherComponent("Backstage")
		i := w.about("Slow", "one", w.at(kernel.StatusDegraded, w.component), w.at(kernel.StatusMajorOutage, secret))
		m := w.plan("Work", time.Hour, 2*time.Hour, w.component.ID, secret.ID)
		must(w.Components().Change(w.ctx, w.ws, "", secret.ID, func(c *statuspage.Component) error {
			c.Hidden = true
			return nil
		}, kernel.Precondition{}))(w)
		before := w.value(`SELECT max(page_version) FROM events`)
		w.change(i, func(i *statuspage.Incident) error {
			i.Affected = []statuspage.AffectedComponent{w.at(kernel.StatusDegraded, w.component)}
			return nil
		}, statuspage.IncidentUpdate{Message: "two"})
		w.ok(w.Components().Delete(w.ctx, w.ws, "acme", secret.ID, kernel.Precondition{}))
		must(w.PostMaintenanceUpdate(w.ctx, w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{Message: "soon"}), ""))(w)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "three"}, nil))(w)
		for _, row := range w.rows(`SELECT kind, data FROM events WHERE page_version > ` + before) {
			if strings.Contains(row, "Backstage") {
				w.Errorf("an event names the component: %s", row)
			}
		}
		if shown := fmt.Sprintf("%+v", must(w.LoadPage(w.ctx, "acme"))(w)); strings.Contains(shown, "Backstage") {
			w.Errorf("the page names the component: %s", shown)
		}
	})
}

// TestDeliveriesOfAPrivatePage: when a page becomes private, mails to people who signed up themselves
// are not sent any more.
func TestDeliveriesOfAPrivatePage(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.stranger("stranger@example.com")
		w.subscribe("member@example.com")
		w.deliver(taken) // the confirmation
		w.clock.move(time.Second)
		w.about("Slow", "one")
		w.fanOut()
		w.deliveriesAre("pending 2", "sent 1")
		w.setPage(func(p *statuspage.Page) { p.Visibility = statuspage.VisibilityPrivate })
		w.deliveriesAre("cancelled 1", "pending 1", "sent 1")
	})
}

// TestAdmittedDeliveries: mails to people who signed up on a private page are sent after it was visible for a while,
// too.
func TestAdmittedDeliveries(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.setPage(func(p *statuspage.Page) { p.Visibility = statuspage.VisibilityPrivate })
		w.ok(w.RequestSignUp(w.ctx, store.SignUp{
			Slug:       "acme",
			Subscriber: audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "guest@example.com"},
			Admitted:   true,
		}))
		for must(w.ProcessSignUps(w.ctx))(w) {
		}
		must(w.ConfirmSubscription(w.ctx, "acme", w.value(`SELECT key FROM subscribers`)))(w)
		w.deliver(taken) // the confirmation
		w.clock.move(time.Second)
		w.setPage(func(p *statuspage.Page) { p.Visibility = statuspage.VisibilityPublic })
		w.about("Slow", "one")
		w.fanOut()
		w.setPage(func(p *statuspage.Page) { p.Visibility = statuspage.VisibilityPrivate })
		w.expect("after the page became private again", w.deliver(taken), "guest@example.com: one")
	})
}

// TestHiddenComponentInStatuses: the status of a page, in lists too, depends only on what it shows.
func TestHiddenComponentInStatuses(t *testing.T) {
	inWorlds(t, func(w *world) {
		secret := must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
			Name: "Backstage", Hidden: true,
		})))(w)
		w.goDown(w.quick("job", secret, ""))
		is := func(want kernel.Status) {
			w.Helper()
			list := must(w.PageList(w.ctx, 10))(w).Pages[0].Status
			page := must(w.Page(w.ctx, w.ws, "acme"))(w).Status
			summary := must(w.Summary(w.ctx, w.ws, "acme"))(w)
			shown := must(w.LoadPage(w.ctx, "acme"))(w).Summarize(w.clock.now())
			for _, got := range []kernel.Status{list, page, summary.Status, shown.Status} {
				if got != want {
					w.Errorf("list %s, page %s, summary %s, shown %s; want %s", list, page, summary.Status,
						shown.Status, want)
				}
			}
		}
		is(kernel.StatusOperational)
		hidden, total, err := w.Components().List(w.ctx, w.ws, "acme", store.Filter{Hidden: new(true)}, firstHundred)
		w.ok(err)
		if total != 1 || hidden[0].ID != secret.ID || hidden[0].Status() != kernel.StatusMajorOutage {
			w.Errorf("hidden components: %+v", hidden)
		}
		must(w.Components().Change(w.ctx, w.ws, "", secret.ID, func(c *statuspage.Component) error {
			c.Hidden = false
			return nil
		}, kernel.Precondition{}))(w)
		is(kernel.StatusMajorOutage)
	})
}

// TestHomePage sets at most one page of a workspace as home, also if several are set at the same time.
func TestHomePage(t *testing.T) {
	inWorlds(t, func(w *world) {
		home := resource.Page.From(statuspage.Page{Home: true})
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Beta", Slug: "beta", Home: true})))(w)
		before := len(w.audited())
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{
			Name: "Gamma", Slug: "gamma", Home: true,
		})))(w)
		if got := w.audited()[before:]; len(got) != 2 || got[0] != `update page {"home":true} {"home":false}` {
			w.Errorf("audited %q", got)
		}
		errs := make(chan error)
		for _, slug := range []string{"acme", "beta", "gamma"} {
			for range 3 {
				go func() {
					_, err := w.ChangePage(w.ctx, w.ws, slug, home)
					errs <- err
				}()
			}
		}
		for range 9 {
			w.ok(<-errs)
		}
		if n := w.value(`SELECT count(*) FROM pages WHERE home`); n != "1" {
			w.Errorf("%s home pages", n)
		}
		w.clock.move(time.Second)
		_, other := w.twoMore()
		must(w.CreatePage(w.ctx, other, resource.Page.From(statuspage.Page{
			Name: "Theirs", Slug: "theirs", Home: true,
		})))(w)
		if n := w.value(`SELECT count(*) FROM pages WHERE home`); n != "2" {
			w.Errorf("%s home pages of two workspaces", n)
		}
		if got := must(w.PageList(w.ctx, 10))(w).Home; got == "theirs" || got == "" {
			w.Errorf("/ shows %q", got)
		}
		for _, slug := range []string{"acme", "beta", "gamma"} {
			must(w.ChangePage(w.ctx, w.ws, slug, func(p *statuspage.Page) error { p.Home = false; return nil }))(w)
		}
		if got := must(w.PageList(w.ctx, 10))(w).Home; got != "theirs" {
			w.Errorf("/ shows %q and not the only page that is set", got)
		}
		must(w.ChangePage(w.ctx, other, "theirs", func(p *statuspage.Page) error { p.Home = false; return nil }))(w)
		if got := must(w.PageList(w.ctx, 10))(w).Home; got == "theirs" || got == "" {
			w.Errorf("/ shows %q and not the first page of the first workspace", got)
		}
	})
}

func TestPutKeepsHome(t *testing.T) {
	inWorlds(t, func(w *world) {
		home := resource.Page.From(statuspage.Page{Home: true})
		must(w.ChangePage(w.ctx, w.ws, "acme", home))(w)
		noHome := resource.Page.From(statuspage.Page{Name: "Acme"})
		if p := mustPut(w.PutPage(w.ctx, w.ws, "acme", noHome, kernel.Precondition{}))(w); !p.Home {
			w.Error("a page that is replaced without home is not at / any more")
		}
		replaced := mustPut(w.PutPage(w.ctx, w.ws, "acme", func(p *statuspage.Page) error {
			p.Home = false
			return nil
		}, kernel.Precondition{}))(w)
		if replaced.Home {
			w.Error("a page that is replaced with home false is at /")
		}
	})
}

// TestPutPublishesNothing: a page or component that is replaced without a word about who sees it remains as private as
// it was.
func TestPutPublishesNothing(t *testing.T) {
	inWorlds(t, func(w *world) {
		closed := statuspage.Page{
			Name: "New", Visibility: statuspage.VisibilityPrivate, AutoIncidents: statuspage.AutoIncidentsDraft,
		}
		open := statuspage.Page{
			Name: "New", Visibility: statuspage.VisibilityPublic, AutoIncidents: statuspage.AutoIncidentsPublish,
		}
		for i, c := range []struct {
			given      statuspage.Page
			visibility statuspage.Visibility
			auto       statuspage.AutoIncidents
		}{
			{statuspage.Page{Name: "New"}, statuspage.VisibilityPublic, statuspage.AutoIncidentsPublish}, // new
			{closed, statuspage.VisibilityPrivate, statuspage.AutoIncidentsDraft},
			{statuspage.Page{Name: "New"}, statuspage.VisibilityPrivate, statuspage.AutoIncidentsDraft},
			{open, statuspage.VisibilityPublic, statuspage.AutoIncidentsPublish},
		} {
			p := mustPut(w.PutPage(w.ctx, w.ws, "new", resource.Page.From(c.given), kernel.Precondition{}))(w)
			if p.Visibility != c.visibility || p.AutoIncidents != c.auto {
				w.Errorf("PUT %d of the page: %s, %s", i, p.Visibility, p.AutoIncidents)
			}
		}
		for i, c := range []struct {
			given *bool
			want  bool
		}{{nil, false}, {new(true), true}, {nil, true}, {new(false), false}, {nil, false}} {
			put := func(to *statuspage.Component) error {
				if to.Name = "x"; c.given != nil {
					to.Hidden = *c.given
				}
				return nil
			}
			got := mustPut(w.Components().Put(w.ctx, w.ws, "acme", "x", put, kernel.Precondition{}))(w)
			if got.Hidden != c.want {
				w.Errorf("PUT %d of the component: hidden %t", i, got.Hidden)
			}
		}
	})
}

// TestPublishedDraft: the event of a draft's publication has the affected components and their statuses at that time,
// not the newest update's, and names no component hidden since.
func TestPublishedDraft(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.setPage(func(p *statuspage.Page) { p.AutoIncidents = statuspage.AutoIncidentsDraft })
		w.goDown(w.quick("job", w.component, ""))
		i := w.draft()
		later, mail := w.anotherComponent("Backstage"), w.anotherComponent("Mail")
		w.change(i, func(i *statuspage.Incident) error {
			i.Affected = []statuspage.AffectedComponent{
				w.at(kernel.StatusMajorOutage, w.component), w.at(kernel.StatusDegraded, later),
				w.at(kernel.StatusDegraded, mail)}
			return nil
		})
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "A disk is full."}, nil))(w)
		must(w.Components().Change(w.ctx, w.ws, "", later.ID, func(c *statuspage.Component) error {
			c.Hidden = true
			return nil
		}, kernel.Precondition{}))(w)
		w.change(i, func(i *statuspage.Incident) error {
			i.Affected = []statuspage.AffectedComponent{
				w.at(kernel.StatusMajorOutage, w.component), w.at(kernel.StatusDegraded, later),
				w.at(kernel.StatusPartialOutage, mail)}
			return nil
		})
		published := must(w.PublishIncident(w.ctx, w.ws, i.ID, false))(w)
		var data audience.EventData
		w.ok(json.Unmarshal([]byte(w.value(`SELECT data FROM events WHERE kind = 'incident.created'`)), &data))
		var got []string
		for _, a := range data.Affected {
			got = append(got, fmt.Sprintf("%s: %s > %s", a.Name, a.Old, a.New))
		}
		w.expect("affected", got, "Backups:  > major_outage", "Mail:  > partial_outage")
		if data.Message != "A disk is full." {
			w.Errorf("the message is %q", data.Message)
		}
		if newest := published.Updates[len(published.Updates)-1]; len(newest.Affected) != 3 {
			w.Errorf("the update itself has changed: %+v", newest.Affected)
		}
	})
}
