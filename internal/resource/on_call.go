package resource

import (
	"fmt"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/field"
)

type onCall = alert.OnCall

// OnCall describes on-call schedules.
var OnCall = field.New(field.Resource[onCall]{
	Noun: "on-call schedule", Type: "OnCall", Path: "on-call", Object: kernel.ObjectOnCall, Rules: onCallRules,
	Doc: "a rotation: every week at the same time, the next participant is on call",
	Example: onCall{
		ID: "onc_068vq2r4b1ccu5a0d3e1", Slug: "operations", Name: "Operations", Zone: "Europe/Berlin",
		HandOverDay: "mon", HandOverAt: 9 * 60, StartsOn: exampleDay.AddDate(0, 0, -5).Truncate(24 * time.Hour),
		Participants: []alert.Participant{exampleParticipant}, Overrides: []alert.Override{exampleOverride},
		Now: "Ada", Next: []alert.Turn{exampleTurn},
		CalendarURL: "https://status.example.com" + alert.CalendarPath + "?key=7QWPHCLCIBMD6OWVQBBSJLZHGI",
		CreatedAt:   exampleDay, UpdatedAt: exampleDay,
	},
	Fields: []*field.Field[onCall]{
		field.ID("id", alert.PrefixOnCall, func(o *onCall) *string { return &o.ID }),
		field.Slug(func(o *onCall) *string { return &o.Slug }).
			Doc("Slug of the schedule, unique in the workspace").Empty("made from the name").
			Form("Slug", "", "operations"),
		field.Line("name", func(o *onCall) *string { return &o.Name }).Required().Max(kernel.MaxNameLength).
			Doc("Name of the schedule, unique in the workspace").
			Form("Name", "", "Operations"),
		field.Zone("zone", func(o *onCall) *string { return &o.Zone }).NoColumn().
			Default(func(o *onCall, _ time.Time) { o.Zone = "UTC" }).
			Doc("Time zone of the hand-over, such as Europe/Berlin").
			Form("Time zone", "Handover time follows daylight saving.",
				"Europe/Berlin"),
		field.Choice("hand_over_day", func(o *onCall) *alert.Weekday {
			return &o.HandOverDay
		}, field.Options(alert.Weekdays, alert.Weekday.Label)...).NoColumn().
			Default(func(o *onCall, _ time.Time) { o.HandOverDay = "mon" }).
			Doc("Day of the hand-over").
			Form("Hand-over on", "", ""),
		field.Clock("hand_over_at", func(o *onCall) *alert.ClockTime { return &o.HandOverAt }).NoColumn().
			Default(func(o *onCall, _ time.Time) { o.HandOverAt = 9 * 60 }).
			Doc("Time of the hand-over, such as 09:00").
			Form("at", "", ""),
		field.Date("starts_on", func(o *onCall) *time.Time { return &o.StartsOn }).NoColumn().Kept().
			Default(func(o *onCall, now time.Time) { o.StartsOn = o.FirstDay(now) }).
			Doc("Any day in the first person's week, such as 2026-11-16").Empty("that participant is on call "+
			"now").
			Form("First week", "Any day in the first person's week.", ""),
		field.Parts("participants", alert.MaxParticipants, OnCallParticipant, func(o *onCall) *[]alert.Participant {
			return &o.Participants
		}).NoColumn().
			Doc("Who is on call in turn").
			Form("Participants", "", ""),
		field.Parts("overrides", alert.MaxOverrides, OnCallOverride, func(o *onCall) *[]alert.Override {
			return &o.Overrides
		}).NoColumn().Kept().
			Doc("Each override puts a participant on call for a time. If they overlap, the last in the list counts. "+
				"One that the schedule has, and that has ended, "+
				"may name a former participant. New ones must end in the future, last at most 366 days and begin at "+
				"most 5 years ahead").
			Form("Overrides", "", ""),
		field.Text("now", func(o *onCall) *string { return &o.Now }).Nullable().ReadOnly().NoColumn().
			Doc("Name of the participant who is on call").Empty("no one"),
		field.Parts("next", 0, OnCallTurn, func(o *onCall) *[]alert.Turn { return &o.Next }).ReadOnly().NoColumn().
			Doc("Turns from now on, at most 10"),
		field.Text("calendar_url", func(o *onCall) *string { return &o.CalendarURL }).ReadOnly().NoColumn().
			Doc("Address of its calendar feed, which is secret"),
		field.Time("created_at", func(o *onCall) *time.Time { return &o.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(o *onCall) *time.Time { return &o.UpdatedAt }).ReadOnly(),
	},
})

// onCallRules checks the participants and the overrides of a schedule.
func onCallRules(o, before *onCall, now time.Time, bad *kernel.ValidationError) {
	var overrides []alert.Override
	if before != nil {
		overrides = before.Overrides
	}
	for i, v := range o.Overrides {
		if v.ID != "" && !kernel.ValidID(alert.PrefixOverride, v.ID) {
			bad.Add(fmt.Sprintf("overrides.%d.id", i), "must be the id of an override, or omitted")
		}
	}
	o.Check(bad, now, overrides)
}

type onCallParticipant = alert.Participant

// OnCallParticipant describes a person in the rotation.
var OnCallParticipant = field.NewPart(field.Resource[onCallParticipant]{
	Noun: "on-call participant", Type: "OnCallParticipant", Example: exampleParticipant,
	Doc: "a person who is on call in turn",
	Fields: []*field.Field[onCallParticipant]{
		field.Line("name", func(p *onCallParticipant) *string { return &p.Name }).Required().Max(kernel.MaxNameLength).
			Doc("Name, unique in the schedule").
			Form("Name", "", "Ann"),
		field.References("channel_ids", "channel", func(p *onCallParticipant) *[]string {
			return &p.ChannelIDs
		}).Required().AtMost(alert.MaxTargets).
			Doc("Channels of the participant").
			Form("Channels", "", ""),
	},
})

type onCallOverride = alert.Override

// OnCallOverride describes a time in which somebody is on call in place of the participant whose turn it is.
var OnCallOverride = field.NewPart(field.Resource[onCallOverride]{
	Noun: "on-call override", Type: "OnCallOverride", Example: exampleOverride,
	Doc: "a time in which a participant is on call in place of whose turn it is",
	Fields: []*field.Field[onCallOverride]{
		field.ID("id", alert.PrefixOverride, func(v *onCallOverride) *string { return &v.ID }).
			Doc("Id of the override").Empty("it is a new one"),
		field.Text("participant", func(v *onCallOverride) *string {
			return &v.Participant
		}).Required().Max(kernel.MaxNameLength).
			Doc("Name of the participant").
			Form("Who", "", ""),
		field.Time("starts_at", func(v *onCallOverride) *time.Time { return &v.StartsAt }).Required().
			Doc("Time at which it begins").
			Form("From", "", ""),
		field.Time("ends_at", func(v *onCallOverride) *time.Time { return &v.EndsAt }).Required().
			Doc("Time at which it ends").
			Form("Until", "", ""),
	},
})

type onCallTurn = alert.Turn

// OnCallTurn describes a time during which a participant is on call without a break.
var OnCallTurn = field.NewPart(field.Resource[onCallTurn]{
	Noun: "on-call turn", Type: "OnCallTurn", Example: exampleTurn,
	Doc: "a time during which a participant is on call without a break",
	Fields: []*field.Field[onCallTurn]{
		field.Text("participant", func(t *onCallTurn) *string {
			return &t.Participant.Name
		}).ReadOnly().Doc("Name of the participant"),
		field.Time("starts_at", func(t *onCallTurn) *time.Time { return &t.StartsAt }).ReadOnly(),
		field.Time("ends_at", func(t *onCallTurn) *time.Time { return &t.EndsAt }).ReadOnly(),
		field.Bool("override", func(t *onCallTurn) *bool {
			return &t.Override
		}).ReadOnly().Doc("Whether it is an override"),
	},
})

// Values of examples.
var (
	exampleParticipant = alert.Participant{Name: "Ada", ChannelIDs: []string{"chn_068vq2r4b1ccu5a0d3e1"}}
	exampleOverride    = alert.Override{
		ID: "ovr_068vq2r4b1ccu5a0d3e1", Participant: "Ada", StartsAt: exampleDay,
		EndsAt: exampleDay.Add(12 * time.Hour),
	}
	exampleTurn = alert.Turn{
		Participant: exampleParticipant, StartsAt: exampleDay, EndsAt: exampleDay.Add(12 * time.Hour), Override: true,
	}
)
