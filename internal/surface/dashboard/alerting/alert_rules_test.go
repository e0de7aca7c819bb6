package alerting_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// TestTabsOfAlerts checks that the screens of alerts share a place in the navigation, and that members who are limited
// to some pages see only what is theirs.
func TestTabsOfAlerts(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		a := v.Wants(v.Get("/admin/channels"), http.StatusOK, `<nav class="tabs" aria-label="Alerts">`,
			`<a href="/admin/channels" aria-current="page">Channels</a>`, `<a href="/admin/alert-rules">Rules</a>`)
		v.Wants(a, http.StatusOK,
			`aria-current="page"><svg class="icon" aria-hidden="true"><use href="#i-bell"/></svg>Alerts</a>`)
		v.Lacks(v.Get("/admin/monitors"), `<nav class="tabs" aria-label="Alerts">`)

		issued, err := s.Store.Invite(s.Context(), v.Actor(), account.NewInvitation{
			Email: "grace@example.com", Role: kernel.RoleEditor,
			Limit: account.PageLimit{Limited: true, Pages: []string{"acme"}},
		})
		if err != nil {
			s.Fatal(err)
		}
		limited := s.Visitor()
		limited.Wants(limited.Post("/admin/accept", "code", issued.Code, "name", "Grace", "password",
			dashboardtest.GoodPassword), http.StatusSeeOther, "/admin")
		for _, path := range []string{
			"/admin/channels", "/admin/alert-rules", "/admin/silences", "/admin/silences/new", "/admin/on-call/new",
		} {
			limited.Lacks(limited.Wants(limited.Get(path), http.StatusForbidden, "limited to some pages"),
				`href="/admin/channels"`, `href="/admin/silences"`)
		}
		limited.Wants(limited.Post("/admin/silences/new"), http.StatusForbidden)
		m, err := s.Store.CreateMonitor(s.Context(), v.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Shop", Interval: time.Minute, PageSlug: "acme",
		}))
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Get("/admin/monitors/"+m.ID), http.StatusOK, `href="/admin/silences/new?monitor=`)
		limited.Lacks(limited.Wants(limited.Get("/admin/monitors/"+m.ID), http.StatusOK), "/admin/silences/new")
	})
}

// ruleFields returns the fields of a form of a rule, in which everything is chosen.
func ruleFields(phone, boss, monitorID string) []string {
	return []string{
		"name", "Shop", "events", "monitor.down", "targets", phone, "tags", "prod", "monitors", monitorID,
		"severities", "major", "delay", "5m", "repeat", "30 m",
		"step.0.after", "10m", "step.0.targets", boss, "quiet_hours.from", "22:00", "quiet_hours.until", "07:00",
		"quiet_hours.zone", "Europe/Berlin", "quiet_hours.days", "sat", "quiet_hours.targets", boss,
	}
}

// ruleSentence is how screens describe the rule of ruleFields.
const ruleSentence = "When Web shop tagged prod is down for more than 5 minutes, with the severity major, notify " +
	"Phone; after 10 minutes without acknowledgement, notify Boss; " +
	"repeat every 30 minutes until acknowledged; from 22:00 to 07:00 on Sat (Europe/Berlin), notify " +
	"Boss instead."

// TestAlertRulesInTheForm creates, edits, disables and deletes a rule.
func TestAlertRulesInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Get("/admin/alert-rules"), http.StatusOK, "Create channel")
		v.Wants(v.Get("/admin/alert-rules/new"), http.StatusOK, "No channels yet")
		phone, boss := strings.TrimPrefix(channel(v, "Phone"), "/admin/channels/"),
			strings.TrimPrefix(channel(v, "Boss"), "/admin/channels/")
		v.Wants(v.Get("/admin/alert-rules"), http.StatusOK, "Create rule")
		v.Wants(v.Get("/admin/alert-rules/new?channel="+phone), http.StatusOK, `value="`+phone+`" checked`,
			`value="monitor.down" checked`, "Monitor goes down (and recovers)")
		m := v.Monitors("Web shop")[0]

		const create = "/admin/alert-rules/new"
		fields := ruleFields(phone, boss, m.ID)
		v.Wants(v.Post(create, append(fields, "preview", "summary")...), http.StatusOK, ruleSentence)
		v.Wants(v.Post(create, append(fields, "preview", "step")...), http.StatusOK, `name="step.1.after"`,
			"Then after")
		v.Lacks(v.Get("/admin/alert-rules"), "Shop")
		v.Wants(v.Post(create, fields...), http.StatusSeeOther, "/admin/alert-rules")
		v.Wants(v.Get("/admin/alert-rules"), http.StatusOK, ruleSentence)

		rule, err := s.Store.AlertRules().Get(s.Context(), v.Actor(), "", "Shop")
		if err != nil {
			s.Fatal(err)
		}
		screen, tag := "/admin/alert-rules/"+rule.ID, kernel.EntityTag(resource.AlertRule.Audited(rule))
		v.Wants(v.Get(screen), http.StatusOK, ruleSentence, `value="10m"`, `value="22:00"`, `value="30m"`,
			`value="sat" checked`, `data-key="quiet" open`, `name="step.1.after"`)
		v.Wants(v.Post(screen, "name", "Shop", "events", "monitor.down", "events", "monitor.slow", "targets", boss,
			"tag", tag), http.StatusSeeOther)
		v.Wants(v.Get("/admin/alert-rules"), http.StatusOK, "When a monitor is down or is slow, notify Boss.")
		v.Wants(v.Post(screen, append(fields, "tag", tag)...), http.StatusConflict, "Nothing was saved",
			"When a monitor is down or is slow, notify Boss.")
		v.Wants(v.Post(screen, fields...), http.StatusConflict)
		v.Wants(v.Post(screen+"/enable", "enabled", "false"), http.StatusSeeOther, "/admin/alert-rules")
		v.Wants(v.Get("/admin/alert-rules"), http.StatusOK, "Disabled")
		viewer := s.Member(v, kernel.RoleViewer)
		viewer.Lacks(viewer.Wants(viewer.Get("/admin/alert-rules"), http.StatusOK,
			"When a monitor is down or is slow, notify Boss."), screen, "New rule")
		v.Wants(v.Post(screen+"/delete"), http.StatusSeeOther, "/admin/alert-rules")
		v.Wants(v.Get(screen), http.StatusNotFound)
	})
}

func TestInvalidAlertRulesInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		phone, boss := strings.TrimPrefix(channel(v, "Phone"), "/admin/channels/"),
			strings.TrimPrefix(channel(v, "Boss"), "/admin/channels/")
		const create = "/admin/alert-rules/new"
		fields := ruleFields(phone, boss, v.Monitors("Web shop")[0].ID)
		bad := []string{
			"name", "", "tags", "No Tag", "delay", "soon", "repeat", "5s", "step.0.after", "x", "quiet_hours.from",
			"25", "quiet_hours.until", "", "quiet_hours.zone", "Mars",
		}
		v.Wants(v.Post(create, bad...), http.StatusUnprocessableEntity, "This field is required", "Each of the tags",
			"This must be in whole seconds", "Choose who is notified.",
			"A time of day such as 22:00", "name of a time zone")
		nobody := v.Post(create, "name", "Shop", "events", "monitor.down")
		v.Wants(nobody, http.StatusUnprocessableEntity, `value="`+min(phone, boss)+`" autofocus>`)
		emptyStep := v.Post(create, "name", "Shop", "events", "monitor.down", "targets", phone, "step.0.after", "10m")
		v.Wants(emptyStep, http.StatusUnprocessableEntity, "Choose who is notified in each step.",
			`placeholder="10m" autofocus`)
		shortStep := v.Post(create, "name", "Shop", "events", "monitor.down", "targets", phone, "step.0.after", "5s",
			"step.0.targets", boss)
		v.Wants(shortStep, http.StatusUnprocessableEntity, "The time of each step must be from 1m to 24h.")
		noUnit := v.Post(create, "name", "Shop", "events", "monitor.down", "targets", phone, "step.0.after", "10",
			"step.0.targets", boss)
		v.Lacks(v.Wants(noUnit, http.StatusUnprocessableEntity, "This needs a unit"), "The time of each step")
		for _, a := range []dashboardtest.Answer{nobody, emptyStep, shortStep, noUnit} {
			if n := strings.Count(a.Text, "autofocus"); n != 1 {
				t.Errorf("%d fields have the focus", n)
			}
		}
		v.Wants(v.Post(create, append(fields, "targets", "chn_nobody")...), http.StatusUnprocessableEntity,
			"names a channel that does not exist")
		// only the first value counts
		v.Wants(v.Post(create, append(fields, "preview", "summary", "repeat", "x")...), http.StatusOK)
	})
}

// filterOf returns the filter of the rule or silence of a screen.
func filterOf(v *dashboardtest.Visitor, screen string) alert.Filter {
	v.Helper()
	if id, isRule := strings.CutPrefix(screen, "/admin/alert-rules/"); isRule {
		rule, err := v.Store.AlertRules().Get(v.Context(), v.Actor(), "", id)
		if err != nil {
			v.Fatal(err)
		}
		return rule.Filter
	}
	silence, err := v.Store.Silences().Get(v.Context(), v.Actor(), "", strings.TrimPrefix(screen, "/admin/silences/"))
	if err != nil {
		v.Fatal(err)
	}
	return silence.Filter
}

// TestDeletedInTheForm saves the forms of a rule and of a silence about a monitor and a page that were deleted,
// unchanged, disables the rule, and takes them out.
func TestDeletedInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		phone := strings.TrimPrefix(channel(v, "Phone"), "/admin/channels/")
		p, err := s.Store.CreatePage(s.Context(), v.Actor(),
			resource.Page.From(statuspage.Page{Name: "Old", Slug: "old"}))
		if err != nil {
			s.Fatal(err)
		}
		monitors := v.Monitors("Web shop", "Mail")
		gone, kept := monitors[0], monitors[1]
		about := alert.Filter{Events: alert.DefaultEvents, Pages: []string{p.ID}, Monitors: []string{gone.ID}}
		rule, err := s.Store.AlertRules().Create(s.Context(), v.Actor(), "", resource.AlertRule.From(alert.Rule{
			Name: "Shop", Enabled: true, Filter: about, Target: alert.Target{ChannelIDs: []string{phone}},
		}))
		if err != nil {
			s.Fatal(err)
		}
		silence, err := s.Store.Silences().Create(s.Context(), v.Actor(), "", resource.Silence.From(alert.Silence{
			Filter: about, EndsAt: s.Now().Add(time.Hour),
		}))
		if err != nil {
			s.Fatal(err)
		}
		if err := s.Store.DeleteMonitor(s.Context(), v.Actor(), gone.ID); err != nil {
			s.Fatal(err)
		}
		if err := s.Store.DeletePage(s.Context(), v.Actor(), "old"); err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Post("/admin/alert-rules/"+rule.ID+"/enable", "enabled", "false"), http.StatusSeeOther)
		for _, screen := range []string{"/admin/alert-rules/" + rule.ID, "/admin/silences/" + silence.ID} {
			filter := func() alert.Filter { return filterOf(v, screen) }
			v.Wants(v.Get(screen), http.StatusOK, "A deleted page ("+p.ID+")", "A deleted monitor ("+gone.ID+")")
			v.Wants(v.Post(screen, dashboardtest.Pairs(v.EditForm(screen))...), http.StatusSeeOther)
			if got := filter(); !slices.Equal(got.Monitors, about.Monitors) || !slices.Equal(got.Pages, about.Pages) {
				t.Errorf("%s: the form that was not changed saves %+v", screen, got)
			}
			values := v.EditForm(screen)
			values["pages"], values["monitors"] = nil, append(values["monitors"], kept.ID)
			v.Wants(v.Post(screen, dashboardtest.Pairs(values)...), http.StatusSeeOther)
			if got := filter(); !slices.Equal(got.Monitors, []string{gone.ID, kept.ID}) || len(got.Pages) > 0 {
				t.Errorf("%s: %+v", screen, got)
			}
			values = v.EditForm(screen)
			values["pages"] = []string{p.ID}
			v.Wants(v.Post(screen, dashboardtest.Pairs(values)...), http.StatusUnprocessableEntity,
				"One of the pages does not exist: "+p.ID)
		}
	})
}

// TestForecastScreen asks who would be notified of an event.
func TestForecastScreen(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		m := v.Monitors("Web shop")[0]
		v.Wants(v.Get("/admin/monitors/"+m.ID), http.StatusOK, "/admin/alert-rules/test?monitor="+m.ID)
		v.Lacks(v.Get("/admin/alert-rules/test"), "No one is notified")
		v.Wants(v.Get("/admin/alert-rules/test?monitor="+m.ID), http.StatusOK, "No one is notified",
			"No rules yet")
		phone, boss, spare := strings.TrimPrefix(channel(v, "Phone"), "/admin/channels/"),
			strings.TrimPrefix(channel(v, "Boss"), "/admin/channels/"), channel(v, "Spare")
		v.Wants(v.Post(channel(v, "Broken")+"/enable", "enabled", "false"), http.StatusSeeOther)
		const create = "/admin/alert-rules/new"
		v.Wants(v.Post(create, "name", "Night", "events", "monitor.down", "targets", phone, "delay", "1m", "repeat",
			"1h", "step.0.after", "5m", "step.0.targets", boss,
			"quiet_hours.from", "22:00", "quiet_hours.until", "07:00", "quiet_hours.zone", "UTC"), http.StatusSeeOther)
		v.Wants(v.Post(create, "name", "Tagged", "events", "monitor.down", "targets", boss, "tags", "db"),
			http.StatusSeeOther)
		a := v.Wants(v.Get("/admin/alert-rules/test?event=monitor.down&monitor="+m.ID+"&at=2030-01-05T12:00"),
			http.StatusOK,
			"After 1 minute", "After 6 minutes", "Repeated every hour until acknowledged, up to 100 times",
			"Escalated: not acknowledged", "The rule covers the tag db; the monitor has no tag.",
			"When a monitor tagged db is down, notify Boss.", "Spare", "Broken", "No rule sends alerts here")
		v.Lacks(a, "In quiet hours", spare)
		v.Wants(v.Get("/admin/alert-rules/test?event=monitor.down&monitor="+m.ID+"&at=2030-01-05T23:00"), http.StatusOK,
			"In quiet hours", "No one", "After 8 hours")
		v.Lacks(v.Wants(v.Get("/admin/alert-rules/test?event=monitor.down&tags=db,x"), http.StatusOK, "Immediately"),
			"The rule covers the tag db")
		v.Wants(v.Post("/admin/channels/"+boss+"/enable", "enabled", "false"), http.StatusSeeOther)
		v.Wants(v.Get("/admin/alert-rules/test?event=monitor.down&tags=db"), http.StatusOK,
			"No one, <span class=\"quiet\"><bdi>Boss (disabled, would not be notified)</bdi>",
			"the channels are disabled")
		v.Wants(v.Post("/admin/channels/"+boss+"/enable", "enabled", "true"), http.StatusSeeOther)
		v.Wants(v.Post("/admin/channels/"+phone, "name", "Phone", "topic", "acme", "fallback_id",
			strings.TrimPrefix(spare, "/admin/channels/"), "tag", tagOf(s, v, "Phone")), http.StatusSeeOther)
		a = v.Wants(v.Get("/admin/alert-rules/test?event=monitor.down&monitor="+m.ID+"&at=2030-01-05T12:00"),
			http.StatusOK, "Phone (if Phone fails: Spare)")
		v.Lacks(a, spare)
		v.Wants(v.Post(create, "name", "Second", "events", "monitor.down", "targets", phone, "delay", "2m"),
			http.StatusSeeOther)
		v.Wants(v.Get("/admin/alert-rules/test?event=monitor.down&at=2030-01-05T12:00"), http.StatusOK,
			"all of its channels were notified by another rule")
		v.Wants(v.Get("/admin/alert-rules/test?event=monitor.down&monitor=Web+shop&zone=Asia%2FTokyo&at=2030-01-05T23:00"), http.StatusOK, `value="`+m.Slug+`"`, `value="Asia/Tokyo"`, "Time zone: Asia/Tokyo.", "2030-01-05T14:01:00")
		v.Monitors("Web shop")
		v.Wants(v.Get("/admin/alert-rules/test?event=monitor.down&monitor=Web+shop"), http.StatusUnprocessableEntity,
			"Several monitors have this name.")
		v.Wants(v.Get("/admin/alert-rules/test?event=channel.failed"), http.StatusOK, "No rule matches",
			"The rule covers “Monitor down”; the event is “Channel failed”.")
		for _, bad := range []string{
			"event=x", "event=monitor.down&severity=x", "event=monitor.down&at=soon", "monitor=nowhere",
			"event=monitor.down&page=nowhere", "event=monitor.down&tags=No_Tag",
		} {
			v.Wants(v.Get("/admin/alert-rules/test?"+bad), http.StatusUnprocessableEntity, `class="wrong"`)
		}
	})
}

// TestStepsAreCompact checks that a step of an escalation shows what is chosen, and folds the other channels if there
// are many.
func TestStepsAreCompact(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		var ids []string
		for i := range frame.MaxBoxes + 2 {
			ids = append(ids, strings.TrimPrefix(channel(v, fmt.Sprint("Room ", i)), "/admin/channels/"))
		}
		v.Wants(v.Get("/admin/alert-rules/new"), http.StatusOK,
			fmt.Sprintf("<summary>Choose from %d</summary>", len(ids)))
		v.Wants(v.Post("/admin/alert-rules/new", "name", "Rooms", "events", "monitor.down", "targets", ids[0],
			"step.0.after", "5m", "step.0.targets", ids[1]), http.StatusSeeOther)
		rules, _, err := s.Store.AlertRules().List(s.Context(), v.Actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil {
			s.Fatal(err)
		}
		shown := v.Wants(v.Get("/admin/alert-rules/"+rules[0].ID), http.StatusOK,
			fmt.Sprintf("<summary>%d others</summary>", len(ids)-1))
		if n := strings.Count(shown.Text, `name="step.0.targets"`); n != len(ids) {
			t.Errorf("%d channels to choose from, want %d", n, len(ids))
		}
	})
}
