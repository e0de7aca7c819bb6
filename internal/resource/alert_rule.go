package resource

import (
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/field"
)

type alertRule = alert.Rule

// AlertRule describes alert rules, which say who is notified of alerts.
var AlertRule = field.New(field.Resource[alertRule]{
	Noun: "alert rule", Path: "alert-rules", Object: kernel.ObjectAlertRule,
	Doc:   "a rule that says who gets which alerts",
	Rules: func(r, _ *alertRule, _ time.Time, bad *kernel.ValidationError) { r.Check(bad) },
	Example: alertRule{
		ID: "rul_068vq2r4b1ccu5a0d3e1", Slug: "databases", Name: "Databases", Enabled: true,
		Filter: alert.Filter{Events: alert.DefaultEvents, Tags: []string{"database"}}, Target: exampleTarget,
		Delay: time.Minute, Repeat: 30 * time.Minute, QuietHours: &exampleQuietHours,
		Escalation: []alert.Step{exampleStep},
		Summary: "When a monitor tagged database is down for more than 1 minute, notify Phone; after 10 minutes " +
			"without acknowledgement, notify Boss; " +
			"repeat every 30 minutes until acknowledged; from 22:00 to 07:00 (Europe/Berlin), wait until 07:00.",
		CreatedAt: exampleDay, UpdatedAt: exampleDay,
	},
	Fields: slices.Concat(
		[]*field.Field[alertRule]{
			field.ID("id", alert.PrefixRule, func(r *alertRule) *string { return &r.ID }),
			field.Slug(func(r *alertRule) *string { return &r.Slug }).
				Doc("Slug of the rule, unique in the workspace").Empty("made from the name").
				Form("Slug", "", "databases"),
			field.Line("name", func(r *alertRule) *string { return &r.Name }).Required().Max(kernel.MaxNameLength).
				Check(func(r *alertRule, bad *kernel.ValidationError) {
					alert.CheckReserved(bad, r.Name, alert.PrefixRule)
				}).
				Doc("Name of the rule, unique in the workspace").
				Form("Name", "", "Everything that is down"),
			field.Bool("enabled", func(r *alertRule) *bool { return &r.Enabled }).
				Default(func(r *alertRule, _ time.Time) { r.Enabled = true }).
				Doc("Whether the rule is enabled").
				Form("Enabled", "", ""),
		},
		ruleMatchFields(),
		field.Packed("rule", slices.Concat(
			targetFields(func(r *alertRule) *alert.Target { return &r.Target }),
			[]*field.Field[alertRule]{
				field.Duration("delay", alert.MaxDelay, func(r *alertRule) *time.Duration { return &r.Delay }).
					Doc("Time that an alert must last before anyone is notified").Empty("no delay").
					Form("Delay", "Skip alerts that recover sooner.", "5m"),
				field.Duration("repeat", alert.MaxRepeat, func(r *alertRule) *time.Duration {
					return &r.Repeat
				}).AtLeast(alert.MinRepeat).
					Doc("Time between repetitions until the alert is acknowledged").Empty("no repetition").
					Form("Repeat every", "", "30m"),
				field.Part("quiet_hours", QuietHours, func(r *alertRule) **alert.QuietHours { return &r.QuietHours }).
					Doc("Part of the day in which alerts wait for its end, or notify others").Empty("none").
					Form("Quiet hours", "", ""),
				field.Parts("escalation", alert.MaxSteps, EscalationStep, func(r *alertRule) *[]alert.Step {
					return &r.Escalation
				}).
					Doc("Who is notified next unless the alert is acknowledged").
					Form("Escalation", "", ""),
			})...),
		[]*field.Field[alertRule]{
			field.Text("summary", func(r *alertRule) *string { return &r.Summary }).ReadOnly().NoColumn().
				Doc("What the rule does, in one English sentence"),
			field.Time("created_at", func(r *alertRule) *time.Time { return &r.CreatedAt }).ReadOnly(),
			field.Time("updated_at", func(r *alertRule) *time.Time { return &r.UpdatedAt }).ReadOnly(),
		},
	),
})

// ruleMatchFields returns the fields that select the alerts of a rule. Unlike a silence, a rule must name an event.
func ruleMatchFields() []*field.Field[alertRule] {
	fields := matchFields("rule", func(r *alertRule) *alert.Filter { return &r.Filter })
	events := fields[0]
	events.Default(func(r *alertRule, _ time.Time) { r.Events = alert.DefaultEvents }).Empty("")
	return fields
}

// targetFields returns the fields of a target: whom to notify.
func targetFields[T any](of func(*T) *alert.Target) []*field.Field[T] {
	return field.Within("AlertTarget", "is who is notified: channels, and the people on call at that moment",
		field.References("channel_ids", "channel", func(v *T) *[]string { return &of(v).ChannelIDs }).
			AtMost(alert.MaxTargets).Flag("channel").NoFlag("no-channels").
			Doc("Channels to notify").Empty("none").
			Form("Channels", "", ""),
		field.References("on_call_ids", "on-call schedule", func(v *T) *[]string { return &of(v).OnCallIDs }).
			AtMost(alert.MaxTargets).Flag("on_call").
			Doc("On-call schedules whose person on call at that moment is notified").Empty("none").
			Form("On call", "", ""),
	)
}

type quietHours = alert.QuietHours

// QuietHours describes the quiet hours of a rule.
var QuietHours = field.NewPart(field.Resource[quietHours]{
	Noun: "quiet hours", Example: exampleQuietHours,
	Doc: "a part of the day in which a rule notifies only its target or, without one, no one until it ends",
	Fields: slices.Concat(
		[]*field.Field[quietHours]{
			field.Text("zone", func(q *quietHours) *string { return &q.Zone }).Required().Max(kernel.MaxNameLength).
				Doc("Time zone, such as Europe/Berlin").
				Form("Time zone", "", "Europe/Berlin"),
			field.Clock("from", func(q *quietHours) *alert.ClockTime { return &q.From }).Required().
				Doc("Time of day, such as 22:00").
				Form("From", "", ""),
			field.Clock("until", func(q *quietHours) *alert.ClockTime { return &q.Until }).Required().
				Doc("Time of day, of the next day if it is not later than the beginning").
				Form("Until", "", ""),
			field.Choices("days", func(q *quietHours) *[]alert.Weekday {
				return &q.Days
			}, field.Options(alert.Weekdays, alert.Weekday.Label)...).
				Doc("Days on which they begin").Empty("every day").
				Form("Only on these days", "Days they start on. Default: every day.", ""),
		},
		targetFields(func(q *quietHours) *alert.Target { return &q.Target }),
	),
})

type escalationStep = alert.Step

// EscalationStep describes the later steps of a rule.
var EscalationStep = field.NewPart(field.Resource[escalationStep]{
	Noun: "escalation step", Example: exampleStep,
	Doc: "who is notified next unless an alert is acknowledged",
	Fields: slices.Concat(
		[]*field.Field[escalationStep]{
			field.Duration("after", alert.MaxStepAfter, func(s *escalationStep) *time.Duration {
				return &s.After
			}).Required().AtLeast(alert.MinStepAfter).
				Doc("Time after the step before").
				Form("Escalate after", "", "10m"),
		},
		targetFields(func(s *escalationStep) *alert.Target { return &s.Target }),
	),
})

// Values of examples.
var (
	exampleTarget     = alert.Target{ChannelIDs: []string{"chn_068vq2r4b1ccu5a0d3e1"}}
	exampleQuietHours = alert.QuietHours{Zone: "Europe/Berlin", From: 22 * 60, Until: 7 * 60}
	exampleStep       = alert.Step{
		After: 10 * time.Minute, Target: alert.Target{ChannelIDs: []string{"chn_068vq2r4b1ccu5a0d3e2"}},
	}
)
