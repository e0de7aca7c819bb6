package dashboard

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"golang.org/x/net/html"
)

// formCase is a form that edits an object.
type formCase struct {
	path    string
	load    func() any          // loads the object from the store
	changes map[string][]string // new values by field: each is sent alone
	// the fields of the object that change, with spaces between, where one of another name does
	alters map[string]string
}

// sent returns the values that a browser sends if nobody changes the form.
func sent(form htmltest.Tree) url.Values {
	values := url.Values{}
	for n := range form.Descendants() {
		x := htmltest.Tree{Node: n}
		name := x.Attr("name")
		switch {
		case n.Type != html.ElementNode || name == "":
		case n.Data == "textarea":
			values.Add(name, strings.ReplaceAll(x.RawText(), "\n", "\r\n"))
		case n.Data == "select":
			options := x.All("option")
			chosen := slices.IndexFunc(options, func(o htmltest.Tree) bool { return hasAttr(o, "selected") })
			values.Add(name, options[max(chosen, 0)].Attr("value"))
		case n.Data != "input", x.Attr("type") == "submit":
		case x.Attr("type") != "checkbox" && x.Attr("type") != "radio" || hasAttr(x, "checked"):
			values.Add(name, strings.NewReplacer("\r", "", "\n", "").Replace(x.Attr("value"))) // it has one line
		}
	}
	return values
}

func hasAttr(x htmltest.Tree, name string) bool {
	return slices.ContainsFunc(x.Node.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// object returns the fields of a value, without the time of its last change.
func object(t *testing.T, v any) (fields map[string]any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"UpdatedAt", "Summary", "About", "SecretVersions"} {
		delete(fields, name)
	}
	return fields
}

// differing returns the names of the fields that differ, in order.
func differing(t *testing.T, a, b map[string]any) (names []string) {
	t.Helper()
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x, _ := json.Marshal(a[name])
		y, _ := json.Marshal(b[name])
		if string(x) != string(y) {
			names = append(names, name)
		}
	}
	return names
}

// editForm returns what the form that edits an object sends as it is shown.
func (v *visitor) editForm(path string) url.Values {
	v.Helper()
	for _, form := range htmltest.Parse(v, v.wants(v.get(path), http.StatusOK).body).All("main form") {
		if action := form.Attr("action"); form.Attr("method") == "post" && (action == "" || action == path) &&
			len(form.All("[name=tag]")) > 0 {
			return sent(form)
		}
	}
	v.Fatalf("%s has no form that edits", path)
	return nil
}

// pairs returns values as post takes them.
func pairs(values url.Values) (all []string) {
	for name, list := range values {
		for _, value := range list {
			all = append(all, name, value)
		}
	}
	return all
}

// TestEachFieldOfAFormAlone opens the forms of alerts and jobs, and saves them with one field changed, which changes
// that field alone.
func TestEachFieldOfAFormAlone(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		for kind, c := range v.formCases() {
			for _, name := range slices.Sorted(maps.Keys(c.changes)) {
				values := v.editForm(c.path)
				if values[name] = c.changes[name]; name == "tag" {
					t.Fatal("the tag is no field")
				}
				before := object(t, c.load())
				a := v.post(c.path, pairs(values)...)
				if a.StatusCode != http.StatusSeeOther {
					t.Errorf("%s: %s is refused: %v", kind, name, htmltest.Parse(t, a.body).Texts(".wrong"))
					continue
				}
				want := strings.ToLower(strings.ReplaceAll(name, "_", ""))
				if other, ok := c.alters[name]; ok {
					want = strings.ToLower(other)
				}
				changed := differing(t, before, object(t, c.load()))
				if got := strings.ToLower(strings.Join(changed, " ")); got != want {
					t.Errorf("%s: %s changes %q, want %q", kind, name, got, want)
				}
				if again := v.editForm(c.path)[name]; !slices.Equal(again, c.changes[name]) {
					t.Errorf("%s: %s shows %q, want %q", kind, name, again, c.changes[name])
				}
			}
		}
	})
}

// formCases creates an object of each kind with every field set.
func (v *visitor) formCases() map[string]formCase {
	v.Helper()
	ctx, actor := v.Context(), v.actor()
	ok := func(err error) {
		if v.Helper(); err != nil {
			v.Fatal(err)
		}
	}
	page, err := v.store.CreatePage(ctx, actor, resource.Page.From(statuspage.Page{
		Name: "Acme", Slug: "acme", TimeZone: "Europe/Berlin",
	}))
	ok(err)
	component, err := v.store.Components().Create(ctx, actor, "acme",
		resource.Component.From(statuspage.Component{Name: "API"}))
	ok(err)
	phone, boss := v.phone("Phone", true), v.phone("Boss", true)
	phone, boss = min(phone, boss), max(phone, boss) // in the order of forms, also if both are of one millisecond
	parent, err := v.store.CreateMonitor(ctx, actor, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Parent", Interval: time.Hour,
	}))
	ok(err)
	m, err := v.store.CreateMonitor(ctx, actor, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Backup", Interval: 90 * time.Minute, Grace: 7 * time.Minute, PageSlug: "acme", ComponentID: component.ID,
		FailureThreshold: 4, DownStatus: kernel.StatusDegraded,
		AutoIncidents: statuspage.AutoIncidentsDraft, Tags: []string{"db", "prod"}, MaxRuntime: 2 * time.Hour,
		PublishOutput: true, ParentID: parent.ID,
		RunConditions: monitor.RunConditions{
			MinRuntime: 30 * time.Second, MaxPerInterval: 3, NoOverlap: true, MaxRuntimeAction: monitor.ActionWarn,
			MinRuntimeAction:     monitor.ActionDown,
			MaxPerIntervalAction: monitor.ActionDown, NoOverlapAction: monitor.ActionDown,
		},
	}))
	ok(err)
	cron, err := v.store.CreateMonitor(ctx, actor, disabled(monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Nightly", Cron: schedule.Cron{Expression: "30 2 * * *", TimeZone: "Asia/Tokyo", Kubernetes: true},
	})))
	ok(err)
	schedule, err := v.store.OnCallSchedules().Create(ctx, actor, "", resource.OnCall.From(alert.OnCall{
		Name: "Ops", Zone: "Asia/Tokyo", HandOverDay: "fri", HandOverAt: 8*60 + 15,
		StartsOn: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		Participants: []alert.Participant{
			{Name: "Ann", ChannelIDs: []string{phone}}, {Name: "Bob", ChannelIDs: []string{phone, boss}},
		},
	}))
	ok(err)
	rule, err := v.store.AlertRules().Create(ctx, actor, "", resource.AlertRule.From(alert.Rule{
		Name: "All", Enabled: false, Delay: 5 * time.Minute, Repeat: 90 * time.Minute,
		Target: alert.Target{ChannelIDs: []string{phone}, OnCallIDs: []string{schedule.ID}},
		Filter: alert.Filter{
			Events: []alert.Event{alert.MonitorDown, alert.MonitorSlow}, Pages: []string{page.ID},
			Monitors: []string{m.ID}, Tags: []string{"db", "prod"}, Severities: []kernel.Impact{kernel.ImpactMajor},
		},
		QuietHours: &alert.QuietHours{
			Zone: "Europe/Berlin", From: 22 * 60, Until: 7*60 + 30, Days: []alert.Weekday{"sat"},
			Target: alert.Target{ChannelIDs: []string{boss}},
		},
		Escalation: []alert.Step{
			{After: 10 * time.Minute, Target: alert.Target{ChannelIDs: []string{boss}}},
			{After: time.Hour, Target: alert.Target{OnCallIDs: []string{schedule.ID}}},
		},
	}))
	ok(err)
	now := time.Now().UTC().Truncate(time.Second)
	silence, err := v.store.Silences().Create(ctx, actor, "", resource.Silence.From(alert.Silence{
		Filter: rule.Filter, Comment: "Moving\n\tdisks", StartsAt: now.Add(time.Hour),
		EndsAt: now.Add(5*time.Hour + 3*time.Second),
	}))
	ok(err)
	channel, err := v.store.AlertChannels().Create(ctx, actor, "", resource.Channel.From(alert.Channel{
		Type: "ntfy", Name: "Push", Enabled: false,
		Config:       json.RawMessage(`{"server_url":"https://ntfy.example.com"}`),
		Secrets:      map[string]json.RawMessage{"topic": json.RawMessage(`"t"`)},
		MaxPerMinute: 7, FallbackID: phone, TestWeekly: true,
		Templates: alert.Templates{TitleTemplate: "{{.Title}}!", TextTemplate: "a\nb"},
	}))
	ok(err)
	template, err := v.store.IncidentTemplates().Create(ctx, actor, "",
		resource.IncidentTemplate.From(statuspage.IncidentTemplate{
			Page: "acme", Name: "Slow", Title: "{{component}} is slow", Impact: kernel.ImpactMinor,
			State: statuspage.IncidentIdentified, Message: "We look.\nSoon more.",
		}))
	ok(err)
	must := func(object any, err error) any { ok(err); return object }
	berlin := page.Location()
	clock := func(at time.Time) []string { return []string{at.In(berlin).Format(clockLayout)} }
	filter := map[string][]string{
		"events": {string(alert.MonitorSlow)}, "pages": nil, "monitors": {parent.ID}, "tags": {"web"},
		"severities": {"none", "critical"},
	}
	cases := map[string]formCase{
		"a monitor": {"/admin/monitors/" + m.ID + "/edit", func() any {
			return must(v.store.MonitorCheck(ctx, actor, m.ID))
		}, map[string][]string{
			"name": {"New"}, "interval": {"2h"}, "grace": {"8m"}, "component_id": {"acme/"}, "failure_threshold": {""},
			"down_status": {"major_outage"}, "auto_incidents": {""},
			"max_runtime": {""}, "max_runtime_action": {"down"}, "min_runtime": {"1m"}, "min_runtime_action": {"warn"},
			"max_per_interval": {"5"}, "max_per_interval_action": {"warn"},
			"no_overlap": {"warn"}, "publish_output": {"false"}, "tags": {"x"}, "parent_id": {""},
		}, map[string]string{
			"no_overlap": "NoOverlapAction", "failure_threshold": "EffectiveFailureThreshold FailureThreshold",
		}},
		"a cron": {"/admin/monitors/" + cron.ID + "/edit", func() any {
			return must(v.store.MonitorCheck(ctx, actor, cron.ID))
		}, map[string][]string{
			"name": {"New"}, "schedule.expression": {"@daily"}, "schedule.time_zone": {"UTC"}, "grace": {"1h"},
			"component_id": {"acme/" + component.ID},
		}, map[string]string{
			"schedule.expression": "Cron", "schedule.time_zone": "Cron", "component_id": "ComponentID PageID PageSlug",
		}},
		"an on-call schedule": {"/admin/on-call/" + schedule.ID + "/edit", func() any {
			return must(v.store.OnCallSchedules().Get(ctx, actor, "", schedule.ID))
		}, map[string][]string{
			"name": {"New"}, "zone": {"UTC"}, "hand_over_day": {"sun"}, "hand_over_at": {"00:00"},
			"starts_on":           {"2026-11-27"},
			"participants.0.name": {"Anna"}, "participants.1.channels": {boss},
		}, map[string]string{"participants.0.name": "Participants", "participants.1.channels": "Participants"}},
		"a rule": {"/admin/alert-rules/" + rule.ID, func() any {
			return must(v.store.AlertRules().Get(ctx, actor, "", rule.ID))
		}, map[string][]string{
			"name": {"New"}, "slug": {"all-of-them"}, "targets": {boss}, "delay": {""}, "repeat": {"1h"},
			"step.0.after": {"11m"}, "step.1.targets": {phone}, "quiet_hours.from": {"21:00"},
			"quiet_hours.until": {"06:00"},
			"quiet_hours.zone":  {"UTC"}, "quiet_hours.days": {"mon", "sun"}, "quiet_hours.targets": nil,
		}, map[string]string{
			"targets": "ChannelIDs OnCallIDs", "step.0.after": "Escalation", "step.1.targets": "Escalation",
			"quiet_hours.from": "QuietHours", "quiet_hours.until": "QuietHours",
			"quiet_hours.zone": "QuietHours", "quiet_hours.days": "QuietHours", "quiet_hours.targets": "QuietHours",
		}},
		"a silence": {"/admin/silences/" + silence.ID, func() any {
			return must(v.store.Silences().Get(ctx, actor, "", silence.ID))
		}, map[string][]string{
			"comment": {"Other"}, "starts_at": clock(now.Add(2 * time.Hour)), "ends_at": clock(now.Add(6 * time.Hour)),
		}, nil},
		"a channel": {"/admin/channels/" + channel.ID, func() any {
			return must(v.store.AlertChannels().Get(ctx, actor, "", channel.ID))
		}, map[string][]string{
			"name": {"New"}, "fallback_id": {boss}, "test_weekly": {"false"}, "max_per_minute": {"8"},
			"title_template": {"x"}, "text_template": {""},
		}, nil},
		"a template": {templatesPath + "/" + template.ID, func() any {
			return must(v.store.IncidentTemplates().Get(ctx, actor, "", template.ID))
		}, map[string][]string{
			"name": {"New"}, "title": {"Other"}, "page": {""}, "impact": {""}, "state": {"monitoring"}, "message": {""},
		}, map[string]string{"page": "Page PageID"}},
	}
	maps.Copy(cases["a rule"].changes, filter)
	maps.Copy(cases["a silence"].changes, filter)
	return cases
}

// disabled is a change that also disables the monitor.
func disabled(change monitor.MonitorChange) monitor.MonitorChange {
	return func(c *monitor.MonitorConfig) error {
		err := change(c)
		c.Enabled = false
		return err
	}
}
