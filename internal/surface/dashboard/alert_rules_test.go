package dashboard

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
)

// TestTabsOfAlerts checks that the screens of alerts share a place in the navigation, and that members who are limited
// to some pages see only what is theirs.
func TestTabsOfAlerts(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		a := v.wants(v.get("/admin/channels"), http.StatusOK, `<nav class="tabs" aria-label="Alerts">`,
			`<a href="/admin/channels" aria-current="page">Channels</a>`, `<a href="/admin/alert-rules">Rules</a>`)
		v.wants(a, http.StatusOK,
			`aria-current="page"><svg class="icon" aria-hidden="true"><use href="#i-bell"/></svg>Alerts</a>`)
		v.lacks(v.get("/admin/monitors"), `<nav class="tabs" aria-label="Alerts">`)

		issued, err := s.store.Invite(s.Context(), v.actor(), account.NewInvitation{
			Email: "grace@example.com", Role: kernel.RoleEditor,
			Limit: account.PageLimit{Limited: true, Pages: []string{"acme"}},
		})
		if err != nil {
			s.Fatal(err)
		}
		limited := s.visitor()
		limited.wants(limited.post("/admin/accept", "code", issued.Code, "name", "Grace", "password", goodPassword),
			http.StatusSeeOther, "/admin")
		for _, path := range []string{
			"/admin/channels", "/admin/alert-rules", "/admin/silences", "/admin/silences/new", "/admin/on-call/new",
		} {
			limited.lacks(limited.wants(limited.get(path), http.StatusForbidden, "limited to some pages"),
				`href="/admin/channels"`, `href="/admin/silences"`)
		}
		limited.wants(limited.post("/admin/silences/new"), http.StatusForbidden)
		m, err := s.store.CreateMonitor(s.Context(), v.actor(), monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Shop", Interval: time.Minute, PageSlug: "acme",
		}))
		if err != nil {
			s.Fatal(err)
		}
		v.wants(v.get("/admin/monitors/"+m.ID), http.StatusOK, `href="/admin/silences/new?monitor=`)
		limited.lacks(limited.wants(limited.get("/admin/monitors/"+m.ID), http.StatusOK), "/admin/silences/new")
	})
}

// TestAlertRulesInTheForm creates, edits, disables and deletes a rule.
func TestAlertRulesInTheForm(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.get("/admin/alert-rules"), http.StatusOK, "Create the first channel")
		v.wants(v.get("/admin/alert-rules/new"), http.StatusOK, "There is no channel yet")
		phone, boss := strings.TrimPrefix(v.channel("Phone"), "/admin/channels/"),
			strings.TrimPrefix(v.channel("Boss"), "/admin/channels/")
		v.wants(v.get("/admin/alert-rules"), http.StatusOK, "Create the first rule")
		v.wants(v.get("/admin/alert-rules/new?channel="+phone), http.StatusOK, `value="`+phone+`" checked`,
			`value="monitor.down" checked`, "A monitor is down")
		m := v.monitors("Web shop")[0]

		const create = "/admin/alert-rules/new"
		fields := []string{
			"name", "Shop", "events", "monitor.down", "targets", phone, "tags", "prod", "monitors", m.ID, "severities",
			"major", "delay", "5m", "repeat", "30 m",
			"step.0.after", "10m", "step.0.targets", boss, "quiet_hours.from", "22:00", "quiet_hours.until", "07:00",
			"quiet_hours.zone", "Europe/Berlin", "quiet_hours.days", "sat", "quiet_hours.targets", boss,
		}
		const sentence = "When Web shop tagged prod is down for more than 5 minutes, with the severity major, notify " +
			"Phone; after 10 minutes without acknowledgement, notify Boss; " +
			"repeat every 30 minutes until somebody acknowledges; from 22:00 to 07:00 on Sat (Europe/Berlin), notify " +
			"Boss instead."
		v.wants(v.post(create, append(fields, "preview", "summary")...), http.StatusOK, sentence)
		v.wants(v.post(create, append(fields, "preview", "step")...), http.StatusOK, `name="step.1.after"`,
			"And after another")
		v.lacks(v.get("/admin/alert-rules"), "Shop")
		bad := []string{
			"name", "", "tags", "No Tag", "delay", "soon", "repeat", "5s", "step.0.after", "x", "quiet_hours.from",
			"25", "quiet_hours.until", "", "quiet_hours.zone", "Mars",
		}
		v.wants(v.post(create, bad...), http.StatusUnprocessableEntity, "This field is required", "Each of the tags",
			"This must be in whole seconds", "Choose who is notified.",
			"A time of day such as 22:00", "name of a time zone")
		nobody := v.post(create, "name", "Shop", "events", "monitor.down")
		v.wants(nobody, http.StatusUnprocessableEntity, `value="`+min(phone, boss)+`" autofocus>`)
		emptyStep := v.post(create, "name", "Shop", "events", "monitor.down", "targets", phone, "step.0.after", "10m")
		v.wants(emptyStep, http.StatusUnprocessableEntity, "Choose who is notified in each step.",
			`placeholder="10m" autofocus`)
		shortStep := v.post(create, "name", "Shop", "events", "monitor.down", "targets", phone, "step.0.after", "5s",
			"step.0.targets", boss)
		v.wants(shortStep, http.StatusUnprocessableEntity, "The time of each step must be from 1m to 24h.")
		noUnit := v.post(create, "name", "Shop", "events", "monitor.down", "targets", phone, "step.0.after", "10",
			"step.0.targets", boss)
		v.lacks(v.wants(noUnit, http.StatusUnprocessableEntity, "This needs a unit"), "The time of each step")
		for _, a := range []answer{nobody, emptyStep, shortStep, noUnit} {
			if n := strings.Count(a.body, "autofocus"); n != 1 {
				t.Errorf("%d fields have the focus", n)
			}
		}
		v.wants(v.post(create, append(fields, "targets", "chn_nobody")...), http.StatusUnprocessableEntity,
			"names a channel that does not exist")
		// only the first value counts
		v.wants(v.post(create, append(fields, "preview", "summary", "repeat", "x")...), http.StatusOK)
		v.wants(v.post(create, fields...), http.StatusSeeOther, "/admin/alert-rules")
		v.wants(v.get("/admin/alert-rules"), http.StatusOK, sentence)

		rule, err := s.store.AlertRules().Get(s.Context(), v.actor(), "", "Shop")
		if err != nil {
			s.Fatal(err)
		}
		screen, tag := "/admin/alert-rules/"+rule.ID, kernel.EntityTag(resource.AlertRule.Audited(rule))
		v.wants(v.get(screen), http.StatusOK, sentence, `value="10m"`, `value="22:00"`, `value="30m"`,
			`value="sat" checked`, `data-key="quiet" open`, `name="step.1.after"`)
		v.wants(v.post(screen, "name", "Shop", "events", "monitor.down", "events", "monitor.slow", "targets", boss,
			"tag", tag), http.StatusSeeOther)
		v.wants(v.get("/admin/alert-rules"), http.StatusOK, "When a monitor is down or is slow, notify Boss.")
		v.wants(v.post(screen, append(fields, "tag", tag)...), http.StatusConflict, "Nothing was saved",
			"When a monitor is down or is slow, notify Boss.")
		v.wants(v.post(screen, fields...), http.StatusConflict)
		v.wants(v.post(screen+"/enable", "enabled", "false"), http.StatusSeeOther, "/admin/alert-rules")
		v.wants(v.get("/admin/alert-rules"), http.StatusOK, "Disabled")
		viewer := s.member(v, kernel.RoleViewer)
		viewer.lacks(viewer.wants(viewer.get("/admin/alert-rules"), http.StatusOK,
			"When a monitor is down or is slow, notify Boss."), screen, "New rule")
		v.wants(v.post(screen+"/delete"), http.StatusSeeOther, "/admin/alert-rules")
		v.wants(v.get(screen), http.StatusNotFound)
	})
}

// TestDeletedInTheForm saves the forms of a rule and of a silence about a monitor and a page that were deleted,
// unchanged, disables the rule, and takes them out.
func TestDeletedInTheForm(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		phone := strings.TrimPrefix(v.channel("Phone"), "/admin/channels/")
		p, err := s.store.CreatePage(s.Context(), v.actor(),
			resource.Page.From(statuspage.Page{Name: "Old", Slug: "old"}))
		if err != nil {
			s.Fatal(err)
		}
		monitors := v.monitors("Web shop", "Mail")
		gone, kept := monitors[0], monitors[1]
		about := alert.Filter{Events: alert.DefaultEvents, Pages: []string{p.ID}, Monitors: []string{gone.ID}}
		rule, err := s.store.AlertRules().Create(s.Context(), v.actor(), "", resource.AlertRule.From(alert.Rule{
			Name: "Shop", Enabled: true, Filter: about, Target: alert.Target{ChannelIDs: []string{phone}},
		}))
		if err != nil {
			s.Fatal(err)
		}
		silence, err := s.store.Silences().Create(s.Context(), v.actor(), "", resource.Silence.From(alert.Silence{
			Filter: about, EndsAt: s.now().Add(time.Hour),
		}))
		if err != nil {
			s.Fatal(err)
		}
		if err := s.store.DeleteMonitor(s.Context(), v.actor(), gone.ID); err != nil {
			s.Fatal(err)
		}
		if err := s.store.DeletePage(s.Context(), v.actor(), "old"); err != nil {
			s.Fatal(err)
		}
		v.wants(v.post("/admin/alert-rules/"+rule.ID+"/enable", "enabled", "false"), http.StatusSeeOther)
		for _, screen := range []string{"/admin/alert-rules/" + rule.ID, "/admin/silences/" + silence.ID} {
			filter := func() alert.Filter {
				s.Helper()
				r, err := s.store.AlertRules().Get(s.Context(), v.actor(), "", rule.ID)
				if err != nil {
					s.Fatal(err)
				}
				q, err := s.store.Silences().Get(s.Context(), v.actor(), "", silence.ID)
				if err != nil {
					s.Fatal(err)
				}
				if strings.Contains(screen, rule.ID) {
					return r.Filter
				}
				return q.Filter
			}
			v.wants(v.get(screen), http.StatusOK, "A deleted page ("+p.ID+")", "A deleted monitor ("+gone.ID+")")
			v.wants(v.post(screen, pairs(v.editForm(screen))...), http.StatusSeeOther)
			if got := filter(); !slices.Equal(got.Monitors, about.Monitors) || !slices.Equal(got.Pages, about.Pages) {
				t.Errorf("%s: the form that was not changed saves %+v", screen, got)
			}
			values := v.editForm(screen)
			values["pages"], values["monitors"] = nil, append(values["monitors"], kept.ID)
			v.wants(v.post(screen, pairs(values)...), http.StatusSeeOther)
			if got := filter(); !slices.Equal(got.Monitors, []string{gone.ID, kept.ID}) || len(got.Pages) > 0 {
				t.Errorf("%s: %+v", screen, got)
			}
			values = v.editForm(screen)
			values["pages"] = []string{p.ID}
			v.wants(v.post(screen, pairs(values)...), http.StatusUnprocessableEntity,
				"One of the pages does not exist: "+p.ID)
		}
	})
}

// TestForecastScreen asks who would be notified of an event.
func TestForecastScreen(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		m := v.monitors("Web shop")[0]
		v.wants(v.get("/admin/monitors/"+m.ID), http.StatusOK, "/admin/alert-rules/test?monitor="+m.ID)
		v.lacks(v.get("/admin/alert-rules/test"), "Nobody is notified")
		v.wants(v.get("/admin/alert-rules/test?monitor="+m.ID), http.StatusOK, "Nobody is notified",
			"There is no rule yet")
		phone, boss, spare := strings.TrimPrefix(v.channel("Phone"), "/admin/channels/"),
			strings.TrimPrefix(v.channel("Boss"), "/admin/channels/"), v.channel("Spare")
		v.wants(v.post(v.channel("Broken")+"/enable", "enabled", "false"), http.StatusSeeOther)
		const create = "/admin/alert-rules/new"
		v.wants(v.post(create, "name", "Night", "events", "monitor.down", "targets", phone, "delay", "1m", "repeat",
			"1h", "step.0.after", "5m", "step.0.targets", boss,
			"quiet_hours.from", "22:00", "quiet_hours.until", "07:00", "quiet_hours.zone", "UTC"), http.StatusSeeOther)
		v.wants(v.post(create, "name", "Tagged", "events", "monitor.down", "targets", boss, "tags", "db"),
			http.StatusSeeOther)
		a := v.wants(v.get("/admin/alert-rules/test?event=monitor.down&monitor="+m.ID+"&at=2030-01-05T12:00"),
			http.StatusOK,
			"After 1 minute", "After 6 minutes", "Repeated every 1 hour until somebody acknowledges, at most 100 times",
			"Escalated: nobody has acknowledged", "The rule covers the tag db; the monitor has no tag.",
			"When a monitor tagged db is down, notify Boss.", "Spare", "Broken", "No rule sends it here")
		v.lacks(a, "held back", spare)
		v.wants(v.get("/admin/alert-rules/test?event=monitor.down&monitor="+m.ID+"&at=2030-01-05T23:00"), http.StatusOK,
			"held back: its quiet hours", "Nobody", "After 8 hours")
		v.lacks(v.wants(v.get("/admin/alert-rules/test?event=monitor.down&tags=db,x"), http.StatusOK, "At once"),
			"The rule covers the tag db")
		v.wants(v.post("/admin/channels/"+boss+"/enable", "enabled", "false"), http.StatusSeeOther)
		v.wants(v.get("/admin/alert-rules/test?event=monitor.down&tags=db"), http.StatusOK,
			"Nobody, <span class=\"quiet\"><bdi>Boss (disabled, would not be notified)</bdi>",
			"the channels are disabled")
		v.wants(v.post("/admin/channels/"+boss+"/enable", "enabled", "true"), http.StatusSeeOther)
		v.wants(v.post("/admin/channels/"+phone, "name", "Phone", "topic", "acme", "fallback_id",
			strings.TrimPrefix(spare, "/admin/channels/"), "tag", tagOf(s, v, "Phone")), http.StatusSeeOther)
		a = v.wants(v.get("/admin/alert-rules/test?event=monitor.down&monitor="+m.ID+"&at=2030-01-05T12:00"),
			http.StatusOK, "Phone (if Phone fails: Spare)")
		v.lacks(a, spare)
		v.wants(v.post(create, "name", "Second", "events", "monitor.down", "targets", phone, "delay", "2m"),
			http.StatusSeeOther)
		v.wants(v.get("/admin/alert-rules/test?event=monitor.down&at=2030-01-05T12:00"), http.StatusOK,
			"all of its channels were notified by another rule")
		v.wants(v.get("/admin/alert-rules/test?event=monitor.down&monitor=Web+shop&zone=Asia%2FTokyo&at=2030-01-05T23:00"), http.StatusOK, `value="`+m.Slug+`"`, `value="Asia/Tokyo"`, "In the zone Asia/Tokyo.", "2030-01-05T14:01:00")
		v.monitors("Web shop")
		v.wants(v.get("/admin/alert-rules/test?event=monitor.down&monitor=Web+shop"), http.StatusUnprocessableEntity,
			"Several monitors have this name.")
		v.wants(v.get("/admin/alert-rules/test?event=channel.failed"), http.StatusOK, "No rule is about it",
			"The rule covers “Monitor down”; the event is “Channel failed”.")
		for _, bad := range []string{
			"event=x", "event=monitor.down&severity=x", "event=monitor.down&at=soon", "monitor=nowhere",
			"event=monitor.down&page=nowhere", "event=monitor.down&tags=No_Tag",
		} {
			v.wants(v.get("/admin/alert-rules/test?"+bad), http.StatusUnprocessableEntity, `class="wrong"`)
		}
	})
}

// TestStepsAreCompact checks that a step of an escalation shows what is chosen, and folds the other channels if there
// are many.
func TestStepsAreCompact(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		var ids []string
		for i := range maxBoxes + 2 {
			ids = append(ids, strings.TrimPrefix(v.channel(fmt.Sprint("Room ", i)), "/admin/channels/"))
		}
		v.wants(v.get("/admin/alert-rules/new"), http.StatusOK,
			fmt.Sprintf("<summary>Choose from %d</summary>", len(ids)))
		v.wants(v.post("/admin/alert-rules/new", "name", "Rooms", "events", "monitor.down", "targets", ids[0],
			"step.0.after", "5m", "step.0.targets", ids[1]), http.StatusSeeOther)
		rules, _, err := s.store.AlertRules().List(s.Context(), v.actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil {
			s.Fatal(err)
		}
		shown := v.wants(v.get("/admin/alert-rules/"+rules[0].ID), http.StatusOK,
			fmt.Sprintf("<summary>%d others</summary>", len(ids)-1))
		if n := strings.Count(shown.body, `name="step.0.targets"`); n != len(ids) {
			t.Errorf("%d channels to choose from, want %d", n, len(ids))
		}
	})
}
