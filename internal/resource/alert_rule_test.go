package resource

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
)

func unchanged[T any](*T) error { return nil }

// invalidRule returns what is wrong with a new rule.
func invalidRule(r alert.Rule) error { return AlertRule.Create(&r, unchanged, exampleDay) }

// channels returns the ids of n channels.
func channels(n int) (t alert.Target) {
	for i := range n {
		t.ChannelIDs = append(t.ChannelIDs, fmt.Sprintf("chn_%d", i))
	}
	return t
}

// checkRefusal compares the messages of an error, which is about one field, with the expected one; "": none.
func checkRefusal(t *testing.T, what string, err error, field, want string) {
	t.Helper()
	var got []string
	if invalid, ok := errors.AsType[*kernel.ValidationError](err); ok {
		if got = invalid.Messages()[field]; len(invalid.Messages()) != 1 {
			t.Errorf("%s: not only about %s: %v", what, field, err)
		}
	}
	if want == "" && err != nil || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
		t.Errorf("%s: %v, want %q about %s", what, err, want, field)
	}
}

// TestRefusedNamesOfRules gives a rule names that it must refuse, and some that it accepts.
func TestRefusedNamesOfRules(t *testing.T) {
	long := strings.Repeat("é", kernel.MaxNameLength)
	for name, want := range map[string]string{
		"Ops": "", long: "", "": "name", long + "é": "name", "two\nlines": "name",
		"test": "reserve this word", "new": "reserve this word", ".": "a URL cannot contain",
		"..":    "a URL cannot contain",
		"rul_1": "must not begin with", "tests": "", "...": "", "rul": "",
	} {
		checkRefusal(t, "a rule named "+name, invalidRule(alert.Rule{Name: name, Target: channels(1)}), "name", want)
	}
}

func ruleStep(after time.Duration, to alert.Target) []alert.Step {
	return []alert.Step{{After: after, Target: to}}
}

func ruleSteps(n int) (all []alert.Step) {
	for range n {
		all = append(all, alert.Step{After: time.Hour, Target: channels(1)})
	}
	return all
}

func quietHoursTo(to alert.Target) *alert.QuietHours {
	return &alert.QuietHours{Zone: "UTC", From: 22 * 60, Until: 7 * 60, Target: to}
}

// ruleLimits are the limits of a rule: the last valid value, and the value beyond it.
var ruleLimits = []struct {
	field      string
	valid, bad func(*alert.Rule)
}{
	{"channel_ids",
		func(r *alert.Rule) { r.Target = channels(alert.MaxTargets) },
		func(r *alert.Rule) { r.Target = channels(alert.MaxTargets + 1) }},
	{"on_call_ids",
		func(r *alert.Rule) { r.OnCallIDs = channels(alert.MaxTargets).ChannelIDs },
		func(r *alert.Rule) { r.OnCallIDs = channels(alert.MaxTargets + 1).ChannelIDs }},
	{"delay",
		func(r *alert.Rule) { r.Delay = 0 },
		func(r *alert.Rule) { r.Delay = -time.Second }},
	{"delay",
		func(r *alert.Rule) { r.Delay = alert.MaxDelay },
		func(r *alert.Rule) { r.Delay = alert.MaxDelay + time.Second }},
	{"repeat",
		func(r *alert.Rule) { r.Repeat = alert.MinRepeat },
		func(r *alert.Rule) { r.Repeat = alert.MinRepeat - time.Second }},
	{"repeat",
		func(r *alert.Rule) { r.Repeat = alert.MaxRepeat },
		func(r *alert.Rule) { r.Repeat = alert.MaxRepeat + time.Second }},
	{"escalation",
		func(r *alert.Rule) { r.Escalation = ruleSteps(alert.MaxSteps) },
		func(r *alert.Rule) { r.Escalation = ruleSteps(alert.MaxSteps + 1) }},
	{"escalation",
		func(r *alert.Rule) { r.Escalation = ruleStep(alert.MinStepAfter, channels(1)) },
		func(r *alert.Rule) { r.Escalation = ruleStep(alert.MinStepAfter-time.Second, channels(1)) }},
	{"escalation",
		func(r *alert.Rule) { r.Escalation = ruleStep(alert.MaxStepAfter, channels(1)) },
		func(r *alert.Rule) { r.Escalation = ruleStep(alert.MaxStepAfter+time.Second, channels(1)) }},
	{"escalation",
		func(r *alert.Rule) { r.Escalation = ruleStep(time.Hour, channels(alert.MaxTargets)) },
		func(r *alert.Rule) { r.Escalation = ruleStep(time.Hour, channels(alert.MaxTargets+1)) }},
	{"quiet_hours",
		func(r *alert.Rule) { r.QuietHours = quietHoursTo(channels(alert.MaxTargets)) },
		func(r *alert.Rule) { r.QuietHours = quietHoursTo(channels(alert.MaxTargets + 1)) }},
}

// TestLimitsOfRules checks every limit of a rule at its last valid value and at the value beyond it.
func TestLimitsOfRules(t *testing.T) {
	for _, c := range ruleLimits {
		r := alert.Rule{
			Name: "Night", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents}, Target: channels(1),
		}
		c.valid(&r)
		if err := invalidRule(r); err != nil {
			t.Errorf("%s: the last valid value is refused: %v", c.field, err)
		}
		c.bad(&r)
		if err := invalidRule(r); err == nil || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: the value beyond the limit: %v", c.field, err)
		}
	}
}

// TestLimitsOfSilences checks every limit of a silence, and that a comment of old does not prevent a change.
func TestLimitsOfSilences(t *testing.T) {
	now := exampleDay
	long := strings.Repeat("a", kernel.MaxMessageLength+1)
	for _, c := range []struct {
		what         string
		starts, ends time.Duration // from now
		comment, old string
		want         string // "": valid
	}{
		{"a second", 0, time.Second, "", "", ""},
		{"no time", time.Hour, time.Hour, "", "", "must be after"},
		{"until now", -time.Hour, 0, "", "", "in the future"},
		{"as long as possible", 0, alert.MaxSilence, "", "", ""},
		{"longer", 0, alert.MaxSilence + time.Second, "", "", "at most 366 days"},
		{"as long as possible, later", 48 * time.Hour, 48*time.Hour + alert.MaxSilence, "", "", ""},
		{"longer, begun before", -time.Hour, alert.MaxSilence - time.Hour + time.Second, "", "", "at most 366 days"},
		{"a long comment", 0, time.Hour, long[1:], "", ""},
		{"a longer comment", 0, time.Hour, long, "", "comment"},
		{"a comment of old", 0, time.Hour, long, long, ""},
	} {
		s := alert.Silence{Comment: c.old, StartsAt: now, EndsAt: now.Add(time.Minute)}
		change := func(s *alert.Silence) error {
			s.Comment, s.StartsAt, s.EndsAt = c.comment, now.Add(c.starts), now.Add(c.ends)
			return nil
		}
		err := Silence.Apply(&s, change, now)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("changing a silence, %s: error %v", c.what, err)
		}
	}
}

// TestRefusedFilters checks the values of a filter, in a rule and a silence.
func TestRefusedFilters(t *testing.T) {
	now := exampleDay
	ids := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint("id-", i))
		}
		return all
	}
	for _, c := range []struct {
		field, want string
		filter      alert.Filter
	}{
		{"events", "", alert.Filter{Events: alert.Events}},
		{"events", "must be one of: monitor.down, monitor.up, ",
			alert.Filter{Events: []alert.Event{alert.MonitorDown, "monitor.lost", "monitor.found"}}},
		{"events", "must be one of", alert.Filter{Events: []alert.Event{alert.ChannelTest}}},
		{"events", "must be one of", alert.Filter{Events: []alert.Event{alert.MonitorLateEnded}}},
		{"severities", "", alert.Filter{Severities: kernel.Impacts}},
		{"severities", "must be one of: none, minor, major, critical",
			alert.Filter{Severities: []kernel.Impact{kernel.ImpactMajor, "bad", "worse"}}},
		{"tags", "must have 1 to 32 characters", alert.Filter{Tags: []string{"web", "Web", "WEB"}}},
		{"tags", "", alert.Filter{Tags: ids(alert.MaxFilter)}},
		{"tags", "at most 200 items", alert.Filter{Tags: ids(alert.MaxFilter + 1)}},
		{"pages", "", alert.Filter{Pages: ids(alert.MaxFilter)}},
		{"pages", "at most 200 items", alert.Filter{Pages: ids(alert.MaxFilter + 1)}},
		{"monitors", "", alert.Filter{Monitors: ids(alert.MaxFilter)}},
		{"monitors", "at most 200 items", alert.Filter{Monitors: ids(alert.MaxFilter + 1)}},
	} {
		s := alert.Silence{Filter: c.filter, EndsAt: now.Add(time.Second)}
		checkRefusal(t, "a silence", Silence.Create(&s, unchanged, now), c.field, c.want)
		checkRefusal(t, "a rule", invalidRule(alert.Rule{Name: "Ops", Filter: c.filter, Target: channels(1)}), c.field,
			c.want)
	}
}

// TestRefusedRules checks what a rule must have, whole seconds, and quiet hours.
func TestRefusedRules(t *testing.T) {
	step := func(s alert.Step) func(*alert.Rule) { return func(r *alert.Rule) { r.Escalation = []alert.Step{s} } }
	quiet := func(q alert.QuietHours) func(*alert.Rule) { return func(r *alert.Rule) { r.QuietHours = &q } }
	for _, c := range []struct {
		field, want string
		change      func(*alert.Rule)
	}{
		{"events", "must name at least one event", func(r *alert.Rule) { r.Events = []alert.Event{} }},
		{"channel_ids", "must have channel_ids or on_call_ids", func(r *alert.Rule) { r.Target = alert.Target{} }},
		{"channel_ids", "", func(r *alert.Rule) { r.Target = alert.Target{OnCallIDs: []string{"onc_1"}} }},
		{"delay", "whole number of seconds", func(r *alert.Rule) { r.Delay = 1500 * time.Millisecond }},
		{"repeat", "whole number of seconds", func(r *alert.Rule) { r.Repeat = alert.MinRepeat + time.Millisecond }},
		{"escalation", "whole number of seconds",
			step(alert.Step{After: alert.MinStepAfter + time.Millisecond, Target: channels(1)})},
		{"escalation", "must have channel_ids or on_call_ids", step(alert.Step{After: alert.MinStepAfter})},
		{"quiet_hours", "", quiet(alert.QuietHours{Zone: "UTC", From: 0, Until: 24*60 - 1, Days: alert.Weekdays})},
		{"quiet_hours", "", quiet(alert.QuietHours{Zone: "UTC", From: 24*60 - 1, Until: 0})},
		{"quiet_hours", "name of a time zone", quiet(alert.QuietHours{Zone: "Europe/Atlantis", From: 60})},
		{"quiet_hours", "two different times", quiet(alert.QuietHours{Zone: "UTC", From: 60, Until: 60})},
		{"quiet_hours", "two different times", quiet(alert.QuietHours{Zone: "UTC", From: -1, Until: 60})},
		{"quiet_hours", "two different times", quiet(alert.QuietHours{Zone: "UTC", From: 60, Until: -1})},
		{"quiet_hours", "two different times", quiet(alert.QuietHours{Zone: "UTC", From: 60, Until: 24 * 60})},
		{"quiet_hours", "two different times", quiet(alert.QuietHours{Zone: "UTC", From: 24 * 60, Until: 60})},
		{"quiet_hours", "must be one of: mon, tue",
			quiet(alert.QuietHours{Zone: "UTC", From: 60, Days: []alert.Weekday{"mon", "monday", "tuesday"}})},
	} {
		r := alert.Rule{Name: "Ops", Filter: alert.Filter{Events: alert.DefaultEvents}, Target: channels(1)}
		c.change(&r)
		checkRefusal(t, "a rule", invalidRule(r), c.field, c.want)
	}
}

// TestAuditOfRules checks that the audit log has the durations of a rule in seconds, as its JSON has.
func TestAuditOfRules(t *testing.T) {
	r := AlertRule.Example
	for name, want := range map[string]string{
		"delay": "60", "repeat": "1800",
		"escalation": `[{"after":600,"channel_ids":["chn_068vq2r4b1ccu5a0d3e2"],"on_call_ids":[]}]`,
		"quiet_hours": `{"zone":"Europe/Berlin","from":"22:00","until":"07:00","days":[],"channel_ids":[],` +
			`"on_call_ids":[]}`,
	} {
		got, err := json.Marshal(AlertRule.Audited(r).AuditObject().Fields[name])
		if err != nil || string(got) != want {
			t.Errorf("%s: audited fields %s, %v; want %s", name, got, err, want)
		}
	}
}
