package dashboard_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// shownForm is a form that shows an object.
type shownForm struct {
	path   string              // of the screen
	action string              // to which the form is sent; "": the path
	button string              // the name and the value of the button that saves, with = between; "": it has no name
	load   func() (any, error) // loads the object from the store
}

// state returns all that a form which is saved as it is shown must not change: the object, with the time of its last
// change; what the form shows of it, with its entity tag; and the newest entry of the audit log.
func state(v *dashboardtest.Visitor, f shownForm) map[string]any {
	v.Helper()
	object, err := f.load()
	if err != nil {
		v.Fatal(err)
	}
	entries, _, err := v.Store.AuditLog(v.Context(), v.Actor(), kernel.AuditFilter{}, "", 1)
	if err != nil {
		v.Fatal(err)
	}
	state := map[string]any{"the audit log": entries}
	for name, texts := range shown(v, f) {
		state["input "+name] = texts
	}
	var fields map[string]any
	if err := json.Unmarshal(marshal(v, map[string]any{"": object}), &fields); err != nil {
		v.Fatal(err)
	}
	if members, ok := fields[""].(map[string]any); ok {
		fields = members
	}
	maps.Copy(state, fields)
	return state
}

// shown returns what a browser sends if nobody changes the form.
func shown(v *dashboardtest.Visitor, f shownForm) url.Values {
	v.Helper()
	action := cmp.Or(f.action, f.path)
	for _, form := range htmltest.Parse(v, v.Wants(v.Get(f.path), http.StatusOK).Text).All("main form") {
		to := form.Attr("action")
		if form.Attr("method") != "post" || to != action && (to != "" || action != f.path) {
			continue
		}
		values := dashboardtest.Sent(form)
		if name, value, ok := strings.Cut(f.button, "="); ok {
			values.Set(name, value)
		}
		return values
	}
	v.Fatalf("%s has no form for %s", f.path, action)
	return nil
}

// saves sends a form as it is shown, and checks that nothing changes.
func saves(v *dashboardtest.Visitor, name string, f shownForm) {
	v.Helper()
	before := state(v, f)
	if a := v.Post(cmp.Or(f.action, f.path), dashboardtest.Pairs(shown(v, f))...); a.StatusCode != http.StatusSeeOther {
		v.Errorf("%s: status %d: %s", name, a.StatusCode, htmltest.Parse(v, a.Text).Texts(".wrong"))
	}
	after := state(v, f)
	for _, part := range differing(v.T, before, after) {
		v.Errorf("%s: saved as it was shown, %s has changed:\n%s\n%s", name, part, marshal(v, before[part]),
			marshal(v, after[part]))
	}
}

// TestMonitorsSavedAsShown saves the form of a monitor as it is shown: with each schedule, and of each type, while it
// is enabled and in each kind of pause.
func TestMonitorsSavedAsShown(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, website, _ := s.WithPage()
		for name, config := range shownMonitors(v, website.ID) {
			config.Name = name
			m, err := s.Store.CreateMonitor(s.Context(), v.Actor(), monitor.MonitorOf(config))
			if err != nil {
				s.Fatalf("%s: %v", name, err)
			}
			f := shownForm{path: frame.MonitorsPath + "/" + m.ID + "/edit", load: func() (any, error) {
				return s.Store.MonitorCheck(s.Context(), v.Actor(), m.ID)
			}}
			for state, change := range map[string]monitor.MonitorChange{
				"enabled": monitor.Resume(), "paused": monitor.Pause(time.Time{}),
				"paused until a time": monitor.Pause(s.Now().Add(50 * time.Hour)),
			} {
				if _, err := s.Store.ChangeMonitor(s.Context(), v.Actor(), m.ID, change); err != nil {
					s.Fatal(err)
				}
				saves(v, name+", "+state, f)
			}
		}
	})
}

// shownMonitors returns monitors with each schedule and of each type, by name: with what the type requires, and with
// all fields.
func shownMonitors(v *dashboardtest.Visitor, component string) map[string]monitor.MonitorConfig {
	v.Helper()
	of := func(t monitor.MonitorType, cron schedule.Cron, interval, grace time.Duration) monitor.MonitorConfig {
		return monitor.MonitorConfig{Type: t, Cron: cron, Interval: interval, Grace: grace}
	}
	all := map[string]monitor.MonitorConfig{
		"interval":      of("", schedule.Cron{}, time.Hour, 0),
		"interval, odd": of("", schedule.Cron{}, 26*time.Hour+61*time.Second, 3661*time.Second),
		"cron":          of("", schedule.NewCron(schedule.ScheduleCron, "30 2 * * *", ""), 0, 0),
		"cron in a zone": of("", schedule.NewCron(schedule.ScheduleCron, "0 6 * * mon\n0 7 * * 2", "Asia/Tokyo"), 0,
			59*time.Second),
		"kubernetes": of("",
			schedule.Cron{Expression: "0 3 */5 * mon", TimeZone: "Europe/Berlin", Kubernetes: true}, 0, time.Minute),
		"calendar":         of("", schedule.NewCalendar("Mon..Fri 02:30", ""), 0, time.Minute),
		"calendar in zone": of("", schedule.NewCalendar("Mon 06:00\nTue 07:00:30", "Asia/Tokyo"), 0, 7*time.Minute),
	}
	full := of("", schedule.Cron{}, 100*time.Minute, 0)
	full.PageSlug, full.ComponentID, full.DownStatus, full.FailureThreshold, full.AutoIncidents = "acme", component,
		kernel.StatusDegraded, 3, statuspage.AutoIncidentsOff
	full.Tags, full.MaxRuntime, full.PublishOutput = []string{"a", "b-c"}, 3661*time.Second, true
	full.RunConditions = monitor.RunConditions{MinRuntime: 61 * time.Second, MaxPerInterval: 2}
	all["all fields"] = full
	for _, t := range check.Types {
		for round := range shownRounds {
			given := shownFields(t.Fields, round, func(given map[string]json.RawMessage) error {
				return check.Change(t.Name, new(monitor.CheckSpec), given, true)
			})
			config := of(t.Name, schedule.Cron{}, 90*time.Second, 0)
			config.PageSlug, config.DownStatus, config.FailureThreshold, config.Tags = "acme", kernel.StatusMajorOutage,
				round, []string{"a"}
			config.Check = monitor.CheckSpec{
				Timeout: 7 * time.Second, SlowAfter: 1501 * time.Millisecond, RecoveryThreshold: 3, ConfirmFrom: 2,
			}
			if err := check.Change(t.Name, &config.Check, given, true); err != nil {
				v.Fatal(t.Name, err)
			}
			all[fmt.Sprint(t.Name, " ", round)] = config
		}
	}
	return all
}

func marshal(t testing.TB, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// shownRounds is the number of values of each kind of field in shownValues.
const shownRounds = 4

// shownFields returns values of all fields of a type that accepts them together, in another form each round.
func shownFields(
	all []configfield.Field, round int, check func(map[string]json.RawMessage) error,
) map[string]json.RawMessage {
	given := make(map[string]json.RawMessage)
	for _, f := range all {
		if f.Required {
			given[f.Name] = shownValue(f, 0)
		}
	}
	problems := func(given map[string]json.RawMessage) int {
		var bad *kernel.ValidationError
		if errors.As(check(given), &bad) {
			return len(bad.Problems)
		}
		return 0
	}
	for _, f := range all {
		for _, value := range []json.RawMessage{
			shownValue(f, round), shownValue(f, 0), json.RawMessage(`"` + strings.Repeat("a", 32) + `"`),
		} {
			with := maps.Clone(given)
			with[f.Name] = value
			if before, after := problems(given), problems(with); after < before || after == 0 {
				given = with
				break
			}
		}
	}
	return given
}

// shownValue returns a value of a field. Those of the later rounds are such that forms cannot show each exactly.
func shownValue(f configfield.Field, round int) json.RawMessage {
	text := cmp.Or(f.Example, f.Default, "a")
	var values [shownRounds]any
	switch f.Kind {
	case configfield.KindInteger:
		n, _ := strconv.Atoi(text)
		values = [...]any{max(n, f.Min), f.Min, f.Limit(), nil}
	case configfield.KindFlag:
		values = [...]any{true, false, true, nil}
	case configfield.KindList:
		values = [...]any{[]string{text}, []string{" " + text + " ", ""}, []string{}, nil}
	case configfield.KindMap:
		values = [...]any{
			map[string]string{"A": "b", "B": "c: d"}, map[string]string{" A": " b ", "B": ""}, map[string]string{},
			nil,
		}
	case configfield.KindLongText:
		values = [...]any{"a\nb", "\n a\r\nb\n \n", "", nil}
	default:
		switch values = [...]any{text, " " + text + " ", "", nil}; {
		case f.Choices != nil:
			values = [...]any{f.Choices[0], f.Choices[len(f.Choices)-1], f.Default, nil}
		case f.Syntax:
			values[1] = strings.Replace(text, ".", "\n.", 1)
		}
	}
	value, err := json.Marshal(values[round])
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return value
}

// TestFormsSavedAsShown saves the forms of all other objects as they are shown.
func TestFormsSavedAsShown(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		forms := shownChannels(v)
		for name, c := range formCases(v) {
			forms[name] = shownForm{path: c.path, load: func() (any, error) { return c.load(), nil }}
		}
		maps.Copy(forms, shownOnPages(v))
		for _, name := range slices.Sorted(maps.Keys(forms)) {
			saves(v, name, forms[name])
		}
	})
}

// shownChannels creates a channel of each type with fields in each form.
func shownChannels(v *dashboardtest.Visitor) map[string]shownForm {
	v.Helper()
	all := make(map[string]shownForm)
	for _, t := range alertchannel.Types {
		for round := range shownRounds {
			given := shownFields(t.Fields, round, func(given map[string]json.RawMessage) error {
				return resource.ConfigureChannel(given, true)(&alert.Channel{Type: t.Name})
			})
			name := fmt.Sprint(t.Name, " ", round)
			c, err := v.Store.AlertChannels().Create(v.Context(), v.Actor(), "", func(c *alert.Channel) error {
				c.Type, c.Name, c.Enabled = t.Name, name, round > 0
				return resource.ConfigureChannel(given, true)(c)
			})
			if err != nil {
				v.Fatal(name, err)
			}
			all["channel "+name] = shownForm{path: frame.ChannelsPath + "/" + c.ID, load: func() (any, error) {
				return v.Store.AlertChannels().Get(v.Context(), v.Actor(), "", c.ID)
			}}
		}
	}
	return all
}

// shownOnPages creates objects of a page. Texts begin and end with what forms strip, and times have seconds.
func shownOnPages(v *dashboardtest.Visitor) map[string]shownForm {
	v.Helper()
	settings := shownSettings(v)
	o := newOtherPage(v)
	ctx, actor := v.Context(), v.Actor()
	incidentPath, maintenancePath := "/admin/incidents/"+o.incident, "/admin/maintenances/"+o.maintenance
	return map[string]shownForm{
		"page":   settings,
		"access": {path: otherPath + "/access", button: "change=who", load: settings.load},
		"component": {path: otherPath + "/components/" + o.component, load: func() (any, error) {
			return v.Store.Components().Get(ctx, actor, "", o.component)
		}},
		"group": {path: otherPath + "/groups/" + o.group, load: func() (any, error) {
			return v.Store.Groups().Get(ctx, actor, "", o.group)
		}},
		"announcement": {path: otherPath + "/announcements/" + o.announcement, load: func() (any, error) {
			return v.Store.Announcements().Get(ctx, actor, "", o.announcement)
		}},
		"template": {path: "/admin/incident-templates" + "/" + o.template, load: func() (any, error) {
			return v.Store.IncidentTemplates().Get(ctx, actor, "", o.template)
		}},
		"maintenance": {path: maintenancePath, action: maintenancePath + "/edit", load: func() (any, error) {
			return v.Store.Maintenance(ctx, actor, o.maintenance)
		}},
		"incident": {path: incidentPath, action: incidentPath + "/edit", load: func() (any, error) {
			return v.Store.Incident(ctx, actor, o.incident)
		}},
		"update": {path: incidentPath + "/updates/" + o.update, load: func() (any, error) {
			return v.Store.Update(ctx, actor, o.incident, o.update)
		}},
		"post-mortem": {path: incidentPath + "/postmortem", button: "action=publish", load: func() (any, error) {
			return v.Store.Postmortem(ctx, actor, o.incident)
		}},
		"subscriber": {path: otherPath + "/subscribers/" + o.subscriber, load: func() (any, error) {
			return v.Store.Subscriber(ctx, actor, "other", o.subscriber)
		}},
		"member": {path: "/admin/members", action: "/admin/members/" + o.viewer + "/role", load: func() (any, error) {
			return v.Store.Users(ctx)
		}},
		"account": {path: "/admin/account", load: func() (any, error) { return v.Store.Users(ctx) }},
	}
}

const otherPath = "/admin/pages/other"

// shownSettings creates the page other, and sets all of its fields.
func shownSettings(v *dashboardtest.Visitor) shownForm {
	v.Helper()
	ctx, actor := v.Context(), v.Actor()
	v.Wants(v.Post("/admin/pages", "name", "Other", "slug", "other"), http.StatusSeeOther)
	settings := shownForm{path: "/admin/pages/other", load: func() (any, error) {
		p, err := v.Store.Page(ctx, actor, "other")
		p.Version = 0 // visitors may be shown the page again
		return p, err
	}}
	values := shown(v, settings)
	for name, value := range map[string]string{
		"description": "One\r\ntwo", "time_zone": "America/New_York",
		"visibility": string(statuspage.VisibilityPrivate), "home": "true", "language": "de-AT", "accent": "#123456",
		"auto_incidents": string(statuspage.AutoIncidentsDraft), "webhook_sign_ups": "false", "response_times": "true",
		"domain": "status.example.com", "custom_css": "a{}\r\n\r\nb{}",
		"footer_links.0.label": "Contact", "footer_links.0.url": "https://example.com/contact",
	} {
		if !values.Has(name) {
			v.Fatalf("the page has no %s", name)
		}
		values.Set(name, value)
	}
	values.Del("languages.ar")
	v.Wants(v.Post(settings.path, dashboardtest.Pairs(values)...), http.StatusSeeOther)
	return settings
}

// otherPage has the ids of objects of the page other, and the user of a viewer.
type otherPage struct {
	group, component, announcement, template, maintenance, incident, update, subscriber, viewer string
}

// newOtherPage creates an object of each kind on the page other. Their texts have spaces and line ends at both ends.
func newOtherPage(v *dashboardtest.Visitor) otherPage {
	v.Helper()
	ctx, actor, now := v.Context(), v.Actor(), time.Now().UTC().Truncate(time.Second)
	ok := func(err error) {
		if v.Helper(); err != nil {
			v.Fatal(err)
		}
	}
	const text = "\n  Some *text*\r\nof two lines\n"
	group, err := v.Store.Groups().Create(ctx, actor, "other",
		resource.Group.From(statuspage.Group{Name: "Group", Slug: "g"}))
	ok(err)
	component, err := v.Store.Components().Create(ctx, actor, "other", func(c *statuspage.Component) error {
		c.Name, c.Description, c.GroupID, c.Hidden = "Component", new(text), group.ID, true
		return nil
	})
	ok(err)
	chosen, err := v.Store.Components().Create(ctx, actor, "other",
		resource.Component.From(statuspage.Component{Name: "Chosen"}))
	ok(err)
	announcement, err := v.Store.Announcements().Create(ctx, actor, "other",
		resource.Announcement.From(statuspage.Announcement{
			Title: " Title ", Message: text, Level: statuspage.AnnouncementWarning,
			ShownFrom: now.Add(time.Hour + time.Second), ShownUntil: now.Add(9*time.Hour + 59*time.Second),
		}))
	ok(err)
	template, err := v.Store.IncidentTemplates().Create(ctx, actor, "",
		resource.IncidentTemplate.From(statuspage.IncidentTemplate{
			Page: "other", Name: "Spaces", Title: " Title ", Message: text,
		}))
	ok(err)
	maintenance, err := v.Store.CreateMaintenance(ctx, actor, "other", func(m *statuspage.Maintenance) error {
		m.Title, m.Components, m.RemindBefore = " Title ", statuspage.ComponentRefs(component.ID), 90*time.Minute
		m.ScheduledFor, m.ScheduledUntil = now.Add(24*time.Hour+time.Second), now.Add(25*time.Hour+59*time.Second)
		return nil
	})
	ok(err)
	incident, err := v.Store.CreateIncident(ctx, actor, "other",
		statuspage.Incident{Title: " Title ", State: statuspage.IncidentResolved},
		statuspage.IncidentUpdate{Message: text}, nil)
	ok(err)
	_, _, err = v.Store.PutPostmortem(ctx, actor, incident.ID, func(p *statuspage.Postmortem) error {
		p.Body, p.Published = text, true
		return nil
	}, false, kernel.Precondition{New: true})
	ok(err)
	v.Wants(v.Post(otherPath+"/subscribers", "channel", "webhook", "target", "https://hooks.example.com/status",
		"warnings",
		"true", "components", chosen.ID), http.StatusCreated)
	subscribers, _, err := v.Store.Subscribers(ctx, actor, "other", store.SubscriberFilter{},
		store.Pagination{Page: 1, PerPage: 1})
	ok(err)
	updates, _, err := v.Store.Updates(ctx, actor, incident.ID, store.Pagination{Page: 1, PerPage: 1})
	ok(err)
	return otherPage{
		group: group.ID, component: component.ID, announcement: announcement.ID, template: template.ID,
		maintenance: maintenance.ID, incident: incident.ID, update: updates[0].ID, subscriber: subscribers[0].ID,
		viewer: v.Member(v, kernel.RoleViewer).Actor().ID,
	}
}
