package alerting_test

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
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// alertPath returns the path of the newest alert.
func alertPath(v *dashboardtest.Visitor) string {
	v.Helper()
	all, _, err := v.Store.Alerts(v.Context(), v.Actor(), store.AlertFilter{}, store.Pagination{Page: 1, PerPage: 1})
	if err != nil || len(all) == 0 {
		v.Fatalf("%d alerts, %v", len(all), err)
	}
	return alert.Path + "/" + all[0].ID
}

// sentWith saves the outcome of the message that is due.
func sentWith(v *dashboardtest.Visitor, o audience.SendOutcome) {
	v.Helper()
	err := v.Store.SaveMessageResult(v.Context(), store.MessageResult{ClaimedMessage: alertMessage(v), Outcome: o})
	if err != nil {
		v.Fatal(err)
	}
}

// TestAlerts follows an alert from its beginning to its end.
func TestAlerts(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		owner.Wants(owner.Get("/admin/alerts"), http.StatusOK, "No one gets alerts yet")
		m := failingJob(owner, func(r *alert.Rule) { r.Delay, r.Repeat = time.Minute, 10*time.Minute })
		path := alertPath(owner)
		list := owner.Wants(owner.Get("/admin/alerts"), http.StatusOK, "1 open, 0 acknowledged",
			", then rule <bdi>Everything</bdi> notifies &#34;&gt;&lt;script&gt;", "Delayed until",
			"(1) Alerts")
		owner.Wants(list, http.StatusOK, `Alerts<span class="badge">1<span class="hidden"> open</span></span>`)
		owner.Wants(owner.Get(path), http.StatusOK, "Unacknowledged",
			"Delayed until", "Next steps", "notifies again: ",
			", then every 10 minutes")
		owner.Wants(owner.Get("/admin"), http.StatusOK, "1 open alert")

		s.Advance(time.Minute)
		advanceAlerts(owner)
		sentWith(owner, audience.SendOutcome{Result: audience.SendFailed, Reason: "It answered 500."})
		owner.Wants(owner.Get(path), http.StatusOK, "Notifying", "retrying: It answered 500.")
		sentWith(owner, audience.SendOutcome{Result: audience.SendAccepted})
		owner.Wants(owner.Get(path), http.StatusOK, `<p>Notified <strong>`, "delivered <time")

		viewer := s.Member(owner, kernel.RoleViewer)
		viewer.Lacks(viewer.Wants(viewer.Get(path), http.StatusOK), ">Acknowledge</button>")
		viewer.Wants(viewer.Post(path+"/acknowledge"), http.StatusForbidden)
		owner.Wants(owner.Post(path+"/acknowledge"), http.StatusSeeOther, path)
		owner.Wants(owner.Get(path), http.StatusOK, "Acknowledged by <bdi>Ada Lovelace</bdi>",
			"Acknowledged by <strong>", "Notifying", "pending", "No repeats or escalation.")
		owner.Wants(owner.Get("/admin/alerts?state=acknowledged"), http.StatusOK, "0 open, 1 acknowledged", path)
		owner.Lacks(owner.Get("/admin/alerts?state=open"), path)
		owner.Lacks(owner.Get("/admin/alerts"), "badge")

		signal(owner, m, monitor.SignalSuccess)
		owner.Wants(owner.Get(path), http.StatusOK, ">Resolved</h2>", "is up again")
		owner.Wants(owner.Get("/admin/alerts"), http.StatusOK, "No open alerts", path, "is down</a>")
		owner.Wants(owner.Get("/admin/alerts?monitor="+m.Slug), http.StatusOK, "Monitor: <a", path)
		owner.Lacks(owner.Get("/admin/alerts?event=service.gap"), path)
		for _, bad := range []string{"?state=x", "?event=x", "?before=x", "?before=1.alt_x", "?monitor=nothing"} {
			owner.Wants(owner.Get("/admin/alerts"+bad), http.StatusNotFound)
		}
		owner.Wants(owner.Get("/admin/alerts/alt_00000000000000000000"), http.StatusNotFound)
	})
}

// TestSilenceOfAlert checks the buttons that silence the monitor of an alert.
func TestSilenceOfAlert(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		m := failingJob(owner, func(r *alert.Rule) { r.Repeat = time.Minute })
		path := alertPath(owner)
		for _, bad := range []string{"", "2h", "-1h"} {
			owner.Wants(owner.Post(path+"/silence", "for", bad), http.StatusUnprocessableEntity, "Choose how long")
		}
		owner.Wants(owner.Post(path+"/silence", "for", "4h"), http.StatusSeeOther, path)
		owner.Wants(owner.Get(path), http.StatusOK, ">Silenced</a> until")
		s.Advance(2 * time.Minute)
		advanceAlerts(owner)
		owner.Wants(owner.Get(path), http.StatusOK, "<p>Silenced until")
		all, _, err := s.Store.Silences().List(t.Context(), owner.Actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || all[0].Monitors[0] != m.ID ||
			all[0].EndsAt.Sub(all[0].StartsAt).Round(time.Minute) != 4*time.Hour {
			t.Fatalf("the silences: %+v, %v", all, err)
		}
		err = s.Store.Silences().Delete(t.Context(), owner.Actor(), "", all[0].ID, kernel.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		advanceAlerts(owner)
		owner.Lacks(owner.Wants(owner.Get(path), http.StatusOK, "Was silenced until"), "<p>Silenced until",
			">Silenced</a>")

		// A silence holds nothing back if no rule would notify anybody of it.
		owner.Wants(owner.Post(path+"/silence", "for", "1h"), http.StatusSeeOther, path)
		owner.Wants(owner.Get(path), http.StatusOK, ">Silenced</a> until")
		rules, _, err := s.Store.AlertRules().List(t.Context(), owner.Actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(rules) != 1 {
			t.Fatalf("the rules: %+v, %v", rules, err)
		}
		err = s.Store.AlertRules().Delete(t.Context(), owner.Actor(), "", rules[0].ID, kernel.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		owner.Lacks(owner.Get(path), ">Silenced</a>")
	})
}

// TestNumberOfOpenAlerts checks what the navigation shows if alerts cannot be counted, or if there are too many.
func TestNumberOfOpenAlerts(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		s.Owner()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := &frame.Request{
			Frame: s.Dashboard.Frame, Request: httptest.NewRequestWithContext(ctx, http.MethodGet, "/admin", nil),
		}
		if text := r.OpenAlerts(); text != frame.UnknownCount {
			t.Errorf("%q is shown when alerts cannot be counted", text)
		}
		if text := frame.AlertCount(store.MaxAlertCount); text != "1000+" {
			t.Errorf("%q is shown for a maximum", text)
		}
	})
}

// TestSilenceUntilTomorrowWithoutPage checks that the button of an alert that belongs to no page is in the zone of the
// only page, as the form of silences is, and says so.
func TestSilenceUntilTomorrowWithoutPage(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		_, err := s.Store.CreatePage(s.Context(), owner.Actor(),
			resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme", TimeZone: "Europe/Berlin"}))
		if err != nil {
			t.Fatal(err)
		}
		failingJob(owner)
		path := alertPath(owner)
		owner.Wants(owner.Get(path), http.StatusOK, ">until tomorrow 8:00 (Europe/Berlin)<")
		owner.Wants(owner.Post(path+"/silence", "for", "tomorrow"), http.StatusSeeOther, path)
		silences, _, err := s.Store.Silences().List(s.Context(), owner.Actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(silences) != 1 {
			t.Fatalf("the silences: %+v, %v", silences, err)
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
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		m := failingJob(owner, func(r *alert.Rule) { r.Enabled = false })
		for range frame.PerPage + 3 {
			signal(owner, m, monitor.SignalSuccess)
			signal(owner, m, monitor.SignalFail)
		}
		seen := make(map[string]int)
		next, pages := "/admin/alerts", 0
		for ; next != ""; pages++ {
			a := owner.Wants(owner.Get(next), http.StatusOK)
			for _, found := range regexp.MustCompile(`row-link" href="(/admin/alerts/[^"]+)"`).FindAllStringSubmatch(
				a.Text, -1,
			) {
				seen[found[1]]++
			}
			link := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(a.Text)
			if next = ""; link != nil {
				next = strings.ReplaceAll(link[1], "&amp;", "&")
			}
		}
		if len(seen) != frame.PerPage+4 || pages != 2 {
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
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		m := failingJob(owner)
		owner.Wants(owner.Get("/admin/silences"), http.StatusOK, "No active silences.")
		owner.Wants(owner.Get("/admin/silences/new?monitor="+m.Slug), http.StatusOK, `value="`+m.ID+`" checked`,
			"Time zone: UTC")
		owner.Wants(owner.Get("/admin/silences/new?alert="+strings.TrimPrefix(alertPath(owner), alert.Path+"/")),
			http.StatusOK, `value="`+m.ID+`" checked`)
		owner.Wants(owner.Get("/admin/silences/new?monitor=x"), http.StatusNotFound)
		path := "/admin/silences/new"
		at := func(d time.Duration) string { return s.Now().UTC().Add(d).Format(frame.ClockLayout) }
		owner.Wants(owner.Post(path, "tags", "prod"), http.StatusUnprocessableEntity, "This field is required.")
		owner.Wants(owner.Post(path, "ends_at", at(-time.Hour), "tags", "prod"), http.StatusUnprocessableEntity,
			"This must be after “From”.")
		owner.Wants(owner.Post(path, "ends_at", at(time.Hour), "tags", "PROD", "events", "x", "monitors", "nothing"),
			http.StatusUnprocessableEntity, "Each of the tags", "Each of the events",
			"One of the monitors does not exist")
		owner.Wants(owner.Post(path, "ends_at", at(time.Hour), "monitors", m.ID, "tags", "prod, web", "severities",
			"critical", "comment", "Restore "+dashboardtest.Hostile), http.StatusSeeOther, "/admin/silences")
		owner.Wants(owner.Get("/admin/silences"), http.StatusOK, ", tagged prod or web, with the severity critical",
			"Restore &#34;", ">Active</span>")
		all, _, err := s.Store.Silences().List(t.Context(), owner.Actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 {
			t.Fatalf("the silences: %+v, %v", all, err)
		}
		path = "/admin/silences/" + all[0].ID
		shown := owner.Wants(owner.Get(path), http.StatusOK, `value="critical" checked`, `value="prod, web"`)
		tag := dashboardtest.TagIn(t, shown)
		starts := all[0].StartsAt.UTC().Format(frame.ClockLayout)
		s.Advance(time.Second)
		owner.Wants(owner.Post(path, "tag", tag, "starts_at", starts, "ends_at", at(2*time.Hour), "pages", "nothing"),
			http.StatusUnprocessableEntity, "One of the pages does not exist")
		owner.Wants(owner.Post(path, "tag", tag, "starts_at", starts, "ends_at", at(2*time.Hour), "tags", "db",
			"comment", "Restore test:\r\n\tof the shop"), http.StatusSeeOther)
		owner.Wants(owner.Get(path), http.StatusOK, ">Restore test:\n\tof the shop</textarea>")
		owner.Wants(owner.Post(path, "tag", tag, "starts_at", starts, "ends_at", at(3*time.Hour), "tags", "web"),
			http.StatusConflict, "someone else has changed this")
		same := owner.Wants(owner.Post(path, "tag", tag, "starts_at", starts, "ends_at", at(2*time.Hour), "tags", "db",
			"comment", "Restore test:\r\n\tof the shop"), http.StatusConflict)
		owner.Lacks(same, "Someone else has saved “Restore")
		now, err := s.Store.Silences().Get(t.Context(), owner.Actor(), "", all[0].ID)
		if err != nil || now.About != "everything, tagged db" || !now.StartsAt.Equal(all[0].StartsAt) {
			t.Errorf("the silence after the edit: %+v, %v", now, err)
		}
		owner.Wants(owner.Post(path+"/end"), http.StatusSeeOther, "/admin/silences")
		owner.Wants(owner.Get("/admin/silences"), http.StatusOK, "No active silences.")
		owner.Wants(owner.Get("/admin/silences?ended=true"), http.StatusOK, "everything, tagged db", ">Ended</span>")
		owner.Wants(owner.Get("/admin/silences?ended=true&p=2"), http.StatusOK,
			`href="/admin/silences?ended=true&amp;p=1"`)

		viewer := s.Member(owner, kernel.RoleViewer)
		viewer.Lacks(viewer.Wants(viewer.Get("/admin/silences?ended=true"), http.StatusOK), "New silence")
	})
}

// TestSilenceOfEverything checks that silencing everything has to be chosen.
func TestSilenceOfEverything(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		at := func(d time.Duration) string { return s.Now().UTC().Add(d).Format(frame.ClockLayout) }
		path := "/admin/silences/new"
		owner.Lacks(owner.Get(path), "Silence everything")
		owner.Wants(owner.Post(path, "ends_at", at(time.Hour)), http.StatusUnprocessableEntity,
			"Nothing is chosen, so no one gets any alert", `name="everything" value="yes" aria-invalid="true"`)
		owner.Wants(owner.Post(path, "ends_at", at(-time.Hour), "everything", "yes"), http.StatusUnprocessableEntity,
			`name="everything" value="yes" checked>`)
		owner.Wants(owner.Post(path, "ends_at", at(time.Hour), "everything", "yes"), http.StatusSeeOther)
		all, _, err := s.Store.Silences().List(t.Context(), owner.Actor(), "", store.Filter{EndsAfter: s.Now()},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || !all[0].Filter.MatchesAll() {
			t.Fatalf("the silences are %+v, %v; want one of everything", all, err)
		}
		path = "/admin/silences/" + all[0].ID
		times := []string{"starts_at", all[0].StartsAt.UTC().Format(frame.ClockLayout), "ends_at", at(2 * time.Hour)}
		// The silence is about everything already.
		owner.Wants(owner.Post(path, append(times, "tag", dashboardtest.TagIn(t, owner.Get(path)))...),
			http.StatusSeeOther)
		owner.Wants(owner.Post(path, append(times, "tag", dashboardtest.TagIn(t, owner.Get(path)), "tags", "db")...),
			http.StatusSeeOther)
		owner.Wants(owner.Post(path, append(times, "tag", dashboardtest.TagIn(t, owner.Get(path)))...),
			http.StatusUnprocessableEntity, "Nothing is chosen")
	})
}
