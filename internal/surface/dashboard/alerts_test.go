package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// alertPath returns the path of the newest alert.
func (v *visitor) alertPath() string {
	v.Helper()
	all, _, err := v.store.Alerts(v.Context(), v.actor(), store.AlertFilter{}, store.Pagination{Page: 1, PerPage: 1})
	if err != nil || len(all) == 0 {
		v.Fatalf("%d alerts, %v", len(all), err)
	}
	return alert.Path + "/" + all[0].ID
}

// sentWith saves the outcome of the message that is due.
func (v *visitor) sentWith(o audience.SendOutcome) {
	v.Helper()
	if err := v.store.SaveMessageResult(
		v.Context(), store.MessageResult{ClaimedMessage: v.alertMessage(), Outcome: o},
	); err != nil {
		v.Fatal(err)
	}
}

// TestAlerts follows an alert from its beginning to its end.
func TestAlerts(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		owner.wants(owner.get("/admin/alerts"), http.StatusOK, "Nobody is notified yet")
		m := owner.failingJob(func(r *alert.Rule) { r.Delay, r.Repeat = time.Minute, 10*time.Minute })
		path := owner.alertPath()
		list := owner.wants(owner.get("/admin/alerts"), http.StatusOK, "1 open, 0 acknowledged",
			"the rule <bdi>Everything</bdi> notifies &#34;&gt;&lt;script&gt;", "it only sends what lasts longer",
			"(1) Alerts")
		owner.wants(list, http.StatusOK, `Alerts<span class="badge">1<span class="hidden"> open</span></span>`)
		owner.wants(owner.get(path), http.StatusOK, "Nobody has acknowledged it",
			"waits: it only sends what lasts longer, until", "Next steps", "notifies again: ",
			", and then every 10 minutes")
		owner.wants(owner.get("/admin"), http.StatusOK, "1 open alert")

		s.skip(time.Minute)
		owner.advanceAlerts()
		owner.sentWith(audience.SendOutcome{Result: audience.SendFailed, Reason: "It answered 500."})
		owner.wants(owner.get(path), http.StatusOK, "is being notified", "tried again: It answered 500.")
		owner.sentWith(audience.SendOutcome{Result: audience.SendAccepted})
		owner.wants(owner.get(path), http.StatusOK, "was notified: New</p>", "accepted <time")

		viewer := s.member(owner, kernel.RoleViewer)
		viewer.lacks(viewer.wants(viewer.get(path), http.StatusOK), ">Acknowledge</button>")
		viewer.wants(viewer.post(path+"/acknowledge"), http.StatusForbidden)
		owner.wants(owner.post(path+"/acknowledge"), http.StatusSeeOther, path)
		owner.wants(owner.get(path), http.StatusOK, "<bdi>Ada Lovelace</bdi> acknowledged it", "acknowledged it",
			"is about to be notified", "It is not repeated or escalated.")
		owner.wants(owner.get("/admin/alerts?state=acknowledged"), http.StatusOK, "0 open, 1 acknowledged", path)
		owner.lacks(owner.get("/admin/alerts?state=open"), path)
		owner.lacks(owner.get("/admin/alerts"), "badge")

		owner.signal(m, monitor.SignalSuccess)
		owner.wants(owner.get(path), http.StatusOK, "It is over", "is up again")
		owner.wants(owner.get("/admin/alerts"), http.StatusOK, "No alert is open", path, "is down</a>")
		owner.wants(owner.get("/admin/alerts?monitor="+m.Slug), http.StatusOK, "Only of", path)
		owner.lacks(owner.get("/admin/alerts?event=service.gap"), path)
		for _, bad := range []string{"?state=x", "?event=x", "?before=x", "?before=1.alt_x", "?monitor=nothing"} {
			owner.wants(owner.get("/admin/alerts"+bad), http.StatusNotFound)
		}
		owner.wants(owner.get("/admin/alerts/alt_00000000000000000000"), http.StatusNotFound)
	})
}

// TestSilenceOfAlert checks the buttons that silence the monitor of an alert.
func TestSilenceOfAlert(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		m := owner.failingJob(func(r *alert.Rule) { r.Repeat = time.Minute })
		path := owner.alertPath()
		for _, bad := range []string{"", "2h", "-1h"} {
			owner.wants(owner.post(path+"/silence", "for", bad), http.StatusUnprocessableEntity, "Choose for how long")
		}
		owner.wants(owner.post(path+"/silence", "for", "4h"), http.StatusSeeOther, path)
		owner.wants(owner.get(path), http.StatusOK, "holds it back until")
		s.skip(2 * time.Minute)
		owner.advanceAlerts()
		owner.wants(owner.get(path), http.StatusOK, "waits: a silence matches, until")
		all, _, err := s.store.Silences().List(t.Context(), owner.actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || all[0].Monitors[0] != m.ID ||
			all[0].EndsAt.Sub(all[0].StartsAt).Round(time.Minute) != 4*time.Hour {
			t.Fatalf("%+v, %v", all, err)
		}
		if err := s.store.Silences().Delete(
			t.Context(), owner.actor(), "", all[0].ID, kernel.Precondition{},
		); err != nil {
			t.Fatal(err)
		}
		owner.advanceAlerts()
		owner.lacks(owner.wants(owner.get(path), http.StatusOK, "waited: a silence matches, until"), "waits: ",
			"holds it back")

		// A silence holds nothing back of which no rule would notify anybody.
		owner.wants(owner.post(path+"/silence", "for", "1h"), http.StatusSeeOther, path)
		owner.wants(owner.get(path), http.StatusOK, "holds it back until")
		rules, _, err := s.store.AlertRules().List(t.Context(), owner.actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(rules) != 1 {
			t.Fatalf("%+v, %v", rules, err)
		}
		if err := s.store.AlertRules().Delete(
			t.Context(), owner.actor(), "", rules[0].ID, kernel.Precondition{},
		); err != nil {
			t.Fatal(err)
		}
		owner.lacks(owner.get(path), "holds it back")
	})
}

// TestNumberOfOpenAlerts checks what the navigation shows if alerts cannot be counted, or if there are too many.
func TestNumberOfOpenAlerts(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		s.owner()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		v := &visit{Dashboard: s.dashboard, r: httptest.NewRequestWithContext(ctx, http.MethodGet, "/admin", nil)}
		if text := v.openAlerts(); text != unknownCount {
			t.Errorf("%q is shown when alerts cannot be counted", text)
		}
		if text := alertCount(store.MaxAlertCount); text != "1000+" {
			t.Errorf("%q is shown for a maximum", text)
		}
	})
}

// TestSilenceUntilTomorrow checks the end in the zone of a page.
func TestSilenceUntilTomorrow(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// half past midnight in Berlin, the clock is put back in this night
	now := time.Date(2026, 10, 24, 22, 30, 0, 0, time.UTC)
	if end, ok := silenceEnd("tomorrow", zone, now); !ok || end.UTC().Format(time.RFC3339) != "2026-10-26T07:00:00Z" {
		t.Errorf("%s, %v", end, ok)
	}
}

// TestSilenceUntilTomorrowWithoutPage checks that the button of an alert that belongs to no page is in the zone of the
// only page, as the form of silences is, and says so.
func TestSilenceUntilTomorrowWithoutPage(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		if _, err := s.store.CreatePage(
			s.Context(), owner.actor(),
			resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme", TimeZone: "Europe/Berlin"}),
		); err != nil {
			t.Fatal(err)
		}
		owner.failingJob()
		path := owner.alertPath()
		owner.wants(owner.get(path), http.StatusOK, ">until tomorrow 8:00 (Europe/Berlin)<")
		owner.wants(owner.post(path+"/silence", "for", "tomorrow"), http.StatusSeeOther, path)
		silences, _, err := s.store.Silences().List(s.Context(), owner.actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(silences) != 1 {
			t.Fatalf("%+v, %v", silences, err)
		}
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		if end := silences[0].EndsAt.In(berlin).Format(time.TimeOnly); end != "08:00:00" {
			t.Errorf("the silence ends at %s", end)
		}
	})
}

// TestListOfAlertsHasPages checks that all alerts are on one page of the list, also of those that began at the same
// time.
func TestListOfAlertsHasPages(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		m := owner.failingJob(func(r *alert.Rule) { r.Enabled = false })
		for range perPage + 3 {
			owner.signal(m, monitor.SignalSuccess)
			owner.signal(m, monitor.SignalFail)
		}
		seen := make(map[string]int)
		next, pages := "/admin/alerts", 0
		for ; next != ""; pages++ {
			a := owner.wants(owner.get(next), http.StatusOK)
			for _, found := range regexp.MustCompile(`row-link" href="(/admin/alerts/[^"]+)"`).FindAllStringSubmatch(
				a.body, -1,
			) {
				seen[found[1]]++
			}
			link := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(a.body)
			if next = ""; link != nil {
				next = strings.ReplaceAll(link[1], "&amp;", "&")
			}
		}
		if len(seen) != perPage+4 || pages != 2 {
			t.Errorf("%d alerts on %d pages", len(seen), pages)
		}
		for path, times := range seen {
			if times != 1 {
				t.Errorf("%s is listed %d times", path, times)
			}
		}
	})
}

// TestSilences creates, changes and ends a silence.
func TestSilences(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		m := owner.failingJob()
		owner.wants(owner.get("/admin/silences"), http.StatusOK, "Nothing is silenced.")
		owner.wants(owner.get("/admin/silences/new?monitor="+m.Slug), http.StatusOK, `value="`+m.ID+`" checked`,
			"In the zone UTC.")
		owner.wants(owner.get("/admin/silences/new?alert="+strings.TrimPrefix(owner.alertPath(), alert.Path+"/")),
			http.StatusOK, `value="`+m.ID+`" checked`)
		owner.wants(owner.get("/admin/silences/new?monitor=x"), http.StatusNotFound)
		path := "/admin/silences/new"
		at := func(d time.Duration) string { return s.now().UTC().Add(d).Format(clockLayout) }
		owner.wants(owner.post(path, "tags", "prod"), http.StatusUnprocessableEntity, "This field is required.")
		owner.wants(owner.post(path, "ends_at", at(-time.Hour), "tags", "prod"), http.StatusUnprocessableEntity,
			"This must be after “From”.")
		owner.wants(owner.post(path, "ends_at", at(time.Hour), "tags", "PROD", "events", "x", "monitors", "nothing"),
			http.StatusUnprocessableEntity, "Each of the tags", "Each of the events",
			"One of the monitors does not exist")
		owner.wants(owner.post(path, "ends_at", at(time.Hour), "monitors", m.ID, "tags", "prod, web", "severities",
			"critical", "comment", "Restore "+hostile), http.StatusSeeOther, "/admin/silences")
		owner.wants(owner.get("/admin/silences"), http.StatusOK, ", tagged prod or web, with the severity critical",
			"Restore &#34;", ">Now</span>")
		all, _, err := s.store.Silences().List(t.Context(), owner.actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		path = "/admin/silences/" + all[0].ID
		shown := owner.wants(owner.get(path), http.StatusOK, `value="critical" checked`, `value="prod, web"`)
		tag := tagIn(t, shown)
		starts := all[0].StartsAt.UTC().Format(clockLayout)
		s.skip(time.Second)
		owner.wants(owner.post(path, "tag", tag, "starts_at", starts, "ends_at", at(2*time.Hour), "pages", "nothing"),
			http.StatusUnprocessableEntity, "One of the pages does not exist")
		owner.wants(owner.post(path, "tag", tag, "starts_at", starts, "ends_at", at(2*time.Hour), "tags", "db",
			"comment", "Restore test:\r\n\tof the shop"), http.StatusSeeOther)
		owner.wants(owner.get(path), http.StatusOK, ">Restore test:\n\tof the shop</textarea>")
		owner.wants(owner.post(path, "tag", tag, "starts_at", starts, "ends_at", at(3*time.Hour), "tags", "web"),
			http.StatusConflict, "somebody else has changed this")
		same := owner.wants(owner.post(path, "tag", tag, "starts_at", starts, "ends_at", at(2*time.Hour), "tags", "db",
			"comment", "Restore test:\r\n\tof the shop"), http.StatusConflict)
		owner.lacks(same, "Somebody else has saved “Restore")
		now, err := s.store.Silences().Get(t.Context(), owner.actor(), "", all[0].ID)
		if err != nil || now.About != "everything, tagged db" || !now.StartsAt.Equal(all[0].StartsAt) {
			t.Errorf("%+v, %v", now, err)
		}
		owner.wants(owner.post(path+"/end"), http.StatusSeeOther, "/admin/silences")
		owner.wants(owner.get("/admin/silences"), http.StatusOK, "Nothing is silenced.")
		owner.wants(owner.get("/admin/silences?ended=true"), http.StatusOK, "everything, tagged db", ">Ended</span>")
		owner.wants(owner.get("/admin/silences?ended=true&p=2"), http.StatusOK,
			`href="/admin/silences?ended=true&amp;p=1"`)

		path = "/admin/silences/new"
		owner.lacks(owner.get(path), "Silence everything")
		owner.wants(owner.post(path, "ends_at", at(time.Hour)), http.StatusUnprocessableEntity,
			"Nothing is chosen, so nobody is notified", `name="everything" value="yes" aria-invalid="true"`)
		owner.wants(owner.post(path, "ends_at", at(-time.Hour), "everything", "yes"), http.StatusUnprocessableEntity,
			`name="everything" value="yes" checked>`)
		owner.wants(owner.post(path, "ends_at", at(time.Hour), "everything", "yes"), http.StatusSeeOther)
		if all, _, err = s.store.Silences().List(
			t.Context(), owner.actor(), "", store.Filter{EndsAfter: s.now()}, store.Pagination{Page: 1, PerPage: 10},
		); err != nil || len(all) != 1 || !all[0].Filter.MatchesAll() {
			t.Fatalf("%+v, %v", all, err)
		}
		path = "/admin/silences/" + all[0].ID
		times := []string{"starts_at", all[0].StartsAt.UTC().Format(clockLayout), "ends_at", at(2 * time.Hour)}
		// it is about everything already
		owner.wants(owner.post(path, append(times, "tag", tagIn(t, owner.get(path)))...), http.StatusSeeOther)
		owner.wants(owner.post(path, append(times, "tag", tagIn(t, owner.get(path)), "tags", "db")...),
			http.StatusSeeOther)
		owner.wants(owner.post(path, append(times, "tag", tagIn(t, owner.get(path)))...),
			http.StatusUnprocessableEntity, "Nothing is chosen")

		viewer := s.member(owner, kernel.RoleViewer)
		viewer.lacks(viewer.wants(viewer.get("/admin/silences?ended=true"), http.StatusOK), "New silence")
	})
}
