package dashboard_test

import (
	"encoding/json"
	"maps"
	"net/http"
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
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// formCase is a form that edits an object.
type formCase struct {
	path    string
	load    func() any          // loads the object from the store
	changes map[string][]string // new values by field: each is sent alone
	// the fields of the object that change, with spaces between, where one of another name does
	alters map[string]string
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

// TestEachFieldOfAFormAlone opens the forms of alerts and jobs, and saves them with one field changed, which changes
// that field alone.
func TestEachFieldOfAFormAlone(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		for kind, c := range formCases(v) {
			for _, name := range slices.Sorted(maps.Keys(c.changes)) {
				values := v.EditForm(c.path)
				if values[name] = c.changes[name]; name == "tag" {
					t.Fatal("the tag is no field")
				}
				before := object(t, c.load())
				a := v.Post(c.path, dashboardtest.Pairs(values)...)
				if a.StatusCode != http.StatusSeeOther {
					t.Errorf("%s: %s is refused: %v", kind, name, htmltest.Parse(t, a.Text).Texts(".wrong"))
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
				if again := v.EditForm(c.path)[name]; !slices.Equal(again, c.changes[name]) {
					t.Errorf("%s: %s shows %q, want %q", kind, name, again, c.changes[name])
				}
			}
		}
	})
}

// formCases creates an object of each kind with every field set.
func formCases(v *dashboardtest.Visitor) map[string]formCase {
	v.Helper()
	o := &editedObjects{Visitor: v, now: time.Now().UTC().Truncate(time.Second)}
	o.createMonitors()
	o.createAlerting()
	cases := o.monitorCases()
	maps.Copy(cases, o.alertingCases())
	return cases
}

// editedObjects are objects that forms edit, with a value in each field.
type editedObjects struct {
	*dashboardtest.Visitor
	now                   time.Time
	page                  statuspage.Page
	component             statuspage.Component
	parent, monitor, cron monitor.Monitor
	phone, boss           string // ids of channels
	onCall                alert.OnCall
	rule                  alert.Rule
	silence               alert.Silence
	channel               alert.Channel
	template              statuspage.IncidentTemplate
}

func (o *editedObjects) ok(err error) {
	if o.Helper(); err != nil {
		o.Fatal(err)
	}
}

func (o *editedObjects) must(object any, err error) any {
	o.Helper()
	o.ok(err)
	return object
}

// clock returns a time as a form has it.
func (o *editedObjects) clock(at time.Time) []string {
	return []string{at.In(o.page.Location()).Format(frame.ClockLayout)}
}

func (o *editedObjects) createMonitors() {
	o.Helper()
	var err error
	o.page, err = o.Store.CreatePage(o.Context(), o.Actor(), resource.Page.From(statuspage.Page{
		Name: "Acme", Slug: "acme", TimeZone: "Europe/Berlin",
	}))
	o.ok(err)
	o.component, err = o.Store.Components().Create(o.Context(), o.Actor(), "acme",
		resource.Component.From(statuspage.Component{Name: "API"}))
	o.ok(err)
	o.phone, o.boss = o.Phone("Phone", true), o.Phone("Boss", true)
	// in the order of forms, also if both are of one millisecond
	o.phone, o.boss = min(o.phone, o.boss), max(o.phone, o.boss)
	o.parent, err = o.Store.CreateMonitor(o.Context(), o.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Parent", Interval: time.Hour,
	}))
	o.ok(err)
	o.monitor, err = o.Store.CreateMonitor(o.Context(), o.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Backup", Interval: 90 * time.Minute, Grace: 7 * time.Minute, PageSlug: "acme",
		ComponentID:      o.component.ID,
		FailureThreshold: 4, DownStatus: kernel.StatusDegraded,
		AutoIncidents: statuspage.AutoIncidentsDraft, Tags: []string{"db", "prod"}, MaxRuntime: 2 * time.Hour,
		PublishOutput: true, ParentID: o.parent.ID,
		RunConditions: monitor.RunConditions{
			MinRuntime: 30 * time.Second, MaxPerInterval: 3, NoOverlap: true, MaxRuntimeAction: monitor.ActionWarn,
			MinRuntimeAction:     monitor.ActionDown,
			MaxPerIntervalAction: monitor.ActionDown, NoOverlapAction: monitor.ActionDown,
		},
	}))
	o.ok(err)
	o.cron, err = o.Store.CreateMonitor(o.Context(), o.Actor(),
		dashboardtest.Disabled(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Nightly", Cron: schedule.Cron{Expression: "30 2 * * *", TimeZone: "Asia/Tokyo", Kubernetes: true},
		})))
	o.ok(err)
}

func (o *editedObjects) createAlerting() {
	o.Helper()
	var err error
	o.onCall, err = o.Store.OnCallSchedules().Create(o.Context(), o.Actor(), "", resource.OnCall.From(alert.OnCall{
		Name: "Ops", Zone: "Asia/Tokyo", HandOverDay: "fri", HandOverAt: 8*60 + 15,
		StartsOn: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		Participants: []alert.Participant{
			{Name: "Ann", ChannelIDs: []string{o.phone}}, {Name: "Bob", ChannelIDs: []string{o.phone, o.boss}},
		},
	}))
	o.ok(err)
	o.rule, err = o.Store.AlertRules().Create(o.Context(), o.Actor(), "", resource.AlertRule.From(alert.Rule{
		Name: "All", Enabled: false, Delay: 5 * time.Minute, Repeat: 90 * time.Minute,
		Target: alert.Target{ChannelIDs: []string{o.phone}, OnCallIDs: []string{o.onCall.ID}},
		Filter: alert.Filter{
			Events: []alert.Event{alert.MonitorDown, alert.MonitorSlow}, Pages: []string{o.page.ID},
			Monitors: []string{o.monitor.ID}, Tags: []string{"db", "prod"},
			Severities: []kernel.Impact{kernel.ImpactMajor},
		},
		QuietHours: &alert.QuietHours{
			Zone: "Europe/Berlin", From: 22 * 60, Until: 7*60 + 30, Days: []alert.Weekday{"sat"},
			Target: alert.Target{ChannelIDs: []string{o.boss}},
		},
		Escalation: []alert.Step{
			{After: 10 * time.Minute, Target: alert.Target{ChannelIDs: []string{o.boss}}},
			{After: time.Hour, Target: alert.Target{OnCallIDs: []string{o.onCall.ID}}},
		},
	}))
	o.ok(err)
	o.silence, err = o.Store.Silences().Create(o.Context(), o.Actor(), "", resource.Silence.From(alert.Silence{
		Filter: o.rule.Filter, Comment: "Moving\n\tdisks", StartsAt: o.now.Add(time.Hour),
		EndsAt: o.now.Add(5*time.Hour + 3*time.Second),
	}))
	o.ok(err)
	o.channel, err = o.Store.AlertChannels().Create(o.Context(), o.Actor(), "", resource.Channel.From(alert.Channel{
		Type: "ntfy", Name: "Push", Enabled: false,
		Config:       json.RawMessage(`{"server_url":"https://ntfy.example.com"}`),
		Secrets:      map[string]json.RawMessage{"topic": json.RawMessage(`"t"`)},
		MaxPerMinute: 7, FallbackID: o.phone, TestWeekly: true,
		Templates: alert.Templates{TitleTemplate: "{{.Title}}!", TextTemplate: "a\nb"},
	}))
	o.ok(err)
	o.template, err = o.Store.IncidentTemplates().Create(o.Context(), o.Actor(), "",
		resource.IncidentTemplate.From(statuspage.IncidentTemplate{
			Page: "acme", Name: "Slow", Title: "{{component}} is slow", Impact: kernel.ImpactMinor,
			State: statuspage.IncidentIdentified, Message: "We look.\nSoon more.",
		}))
	o.ok(err)
}

func (o *editedObjects) monitorCases() map[string]formCase {
	return map[string]formCase{
		"a monitor": {"/admin/monitors/" + o.monitor.ID + "/edit", func() any {
			return o.must(o.Store.MonitorCheck(o.Context(), o.Actor(), o.monitor.ID))
		}, map[string][]string{
			"name": {"New"}, "interval": {"2h"}, "grace": {"8m"}, "component_id": {"acme/"}, "failure_threshold": {""},
			"down_status": {"major_outage"}, "auto_incidents": {""},
			"max_runtime": {""}, "max_runtime_action": {"down"}, "min_runtime": {"1m"}, "min_runtime_action": {"warn"},
			"max_per_interval": {"5"}, "max_per_interval_action": {"warn"},
			"no_overlap": {"warn"}, "publish_output": {"false"}, "tags": {"x"}, "parent_id": {""},
		}, map[string]string{
			"no_overlap": "NoOverlapAction", "failure_threshold": "EffectiveFailureThreshold FailureThreshold",
		}},
		"a cron": {"/admin/monitors/" + o.cron.ID + "/edit", func() any {
			return o.must(o.Store.MonitorCheck(o.Context(), o.Actor(), o.cron.ID))
		}, map[string][]string{
			"name": {"New"}, "schedule.expression": {"@daily"}, "schedule.time_zone": {"UTC"}, "grace": {"1h"},
			"component_id": {"acme/" + o.component.ID},
		}, map[string]string{
			"schedule.expression": "Cron", "schedule.time_zone": "Cron", "component_id": "ComponentID PageID PageSlug",
		}},
	}
}

func (o *editedObjects) alertingCases() map[string]formCase {
	filter := map[string][]string{
		"events": {string(alert.MonitorSlow)}, "pages": nil, "monitors": {o.parent.ID}, "tags": {"web"},
		"severities": {"none", "critical"},
	}
	cases := map[string]formCase{
		"an on-call schedule": {"/admin/on-call/" + o.onCall.ID + "/edit", func() any {
			return o.must(o.Store.OnCallSchedules().Get(o.Context(), o.Actor(), "", o.onCall.ID))
		}, map[string][]string{
			"name": {"New"}, "zone": {"UTC"}, "hand_over_day": {"sun"}, "hand_over_at": {"00:00"},
			"starts_on":           {"2026-11-27"},
			"participants.0.name": {"Anna"}, "participants.1.channels": {o.boss},
		}, map[string]string{"participants.0.name": "Participants", "participants.1.channels": "Participants"}},
		"a rule": {"/admin/alert-rules/" + o.rule.ID, func() any {
			return o.must(o.Store.AlertRules().Get(o.Context(), o.Actor(), "", o.rule.ID))
		}, map[string][]string{
			"name": {"New"}, "slug": {"all-of-them"}, "targets": {o.boss}, "delay": {""}, "repeat": {"1h"},
			"step.0.after": {"11m"}, "step.1.targets": {o.phone}, "quiet_hours.from": {"21:00"},
			"quiet_hours.until": {"06:00"},
			"quiet_hours.zone":  {"UTC"}, "quiet_hours.days": {"mon", "sun"}, "quiet_hours.targets": nil,
		}, map[string]string{
			"targets": "ChannelIDs OnCallIDs", "step.0.after": "Escalation", "step.1.targets": "Escalation",
			"quiet_hours.from": "QuietHours", "quiet_hours.until": "QuietHours",
			"quiet_hours.zone": "QuietHours", "quiet_hours.days": "QuietHours", "quiet_hours.targets": "QuietHours",
		}},
		"a silence": {"/admin/silences/" + o.silence.ID, func() any {
			return o.must(o.Store.Silences().Get(o.Context(), o.Actor(), "", o.silence.ID))
		}, map[string][]string{
			"comment": {"Other"}, "starts_at": o.clock(o.now.Add(2 * time.Hour)),
			"ends_at": o.clock(o.now.Add(6 * time.Hour)),
		}, nil},
		"a channel": {"/admin/channels/" + o.channel.ID, func() any {
			return o.must(o.Store.AlertChannels().Get(o.Context(), o.Actor(), "", o.channel.ID))
		}, map[string][]string{
			"name": {"New"}, "fallback_id": {o.boss}, "test_weekly": {"false"}, "max_per_minute": {"8"},
			"title_template": {"x"}, "text_template": {""},
		}, nil},
		"a template": {"/admin/incident-templates" + "/" + o.template.ID, func() any {
			return o.must(o.Store.IncidentTemplates().Get(o.Context(), o.Actor(), "", o.template.ID))
		}, map[string][]string{
			"name": {"New"}, "title": {"Other"}, "page": {""}, "impact": {""}, "state": {"monitoring"}, "message": {""},
		}, map[string]string{"page": "Page PageID"}},
	}
	maps.Copy(cases["a rule"].changes, filter)
	maps.Copy(cases["a silence"].changes, filter)
	return cases
}
