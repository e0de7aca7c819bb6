package resource

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/field"
)

type maintenance = statuspage.Maintenance

// Maintenance describes planned maintenances.
var Maintenance = field.New(field.Resource[maintenance]{
	Noun: "maintenance", Path: "maintenances", OnPage: true, Object: kernel.ObjectMaintenance, Rules: maintenanceRules,
	Calls: []string{"create", "get", "change", "delete"},
	Doc:   "planned work on a page. While it runs, its components are under maintenance",
	Example: maintenance{
		ID: "mnt_068vq2r4b1ccu5a0d3e1", Title: "Database upgrade", State: statuspage.MaintenanceScheduled,
		ScheduledFor: exampleDay, ScheduledUntil: exampleDay.Add(90 * time.Minute),
		RemindBefore: statuspage.DefaultRemindBefore,
		Components:   []statuspage.ComponentName{{ID: "comp_068vq2r4b1ccu5a0d3e1", Name: "API"}},
		Updates: []statuspage.MaintenanceUpdate{{
			ID: "upd_068vq2r4b1ccu5a0d3e1", Message: "The API will be slow for a few minutes.",
			State: statuspage.MaintenanceScheduled, CreatedAt: exampleDay.AddDate(0, 0, -7),
		}},
		CreatedAt: exampleDay.AddDate(0, 0, -7), UpdatedAt: exampleDay.AddDate(0, 0, -7),
	},
	Fields: []*field.Field[maintenance]{
		field.ID("id", kernel.PrefixMaintenance, func(m *maintenance) *string { return &m.ID }),
		field.Text("title", func(m *maintenance) *string { return &m.Title }).
			Required().Max(kernel.MaxTitleLength).
			Doc("Title of the maintenance").
			Form("Title", "", "Database upgrade"),
		field.FirstMessage("message", (*maintenance).FirstMessage, (*maintenance).SetFirstMessage).
			Max(kernel.MaxMessageLength).
			Doc("First update").
			Form("Message", "Markdown: **bold**, lists, links.", ""),
		field.Choice("state", func(m *maintenance) *statuspage.MaintenanceState {
			return &m.State
		}, maintenanceStates...).
			AfterCreation().Default(func(m *maintenance, _ time.Time) { m.State = statuspage.MaintenanceScheduled }).
			Doc("Progress of the maintenance").
			Form("State", "", ""),
		field.Time("scheduled_for", func(m *maintenance) *time.Time { return &m.ScheduledFor }).
			Required().
			Doc("Time at which it begins").
			Form("From", "", ""),
		field.Time("scheduled_until", func(m *maintenance) *time.Time { return &m.ScheduledUntil }).
			Required().
			Doc("Time at which it ends").
			Form("Until", "", ""),
		field.Time("begun_at", func(m *maintenance) *time.Time { return &m.BegunAt }).Nullable().ReadOnly().
			Doc("Time at which it began").Empty("it has not begun"),
		field.Time("ended_at", func(m *maintenance) *time.Time { return &m.EndedAt }).Nullable().ReadOnly().
			Doc("Time at which it ended").Empty("it has not ended"),
		field.Duration("remind_before", statuspage.MaxRemindBefore, func(m *maintenance) *time.Duration {
			return &m.RemindBefore
		}).
			Default(func(m *maintenance, _ time.Time) { m.RemindBefore = statuspage.DefaultRemindBefore }).
			Doc("Time between the reminder of subscribers and the beginning").Empty("no reminder").Flag("remind").
			NoFlag("no-reminder").
			Form("Reminder", "", ""),
		field.Components("components", func(m *maintenance) *[]statuspage.ComponentName { return &m.Components }).
			Doc("Components that are under maintenance while it runs").Flag("component").NoFlag("no-components").
			Form("Components", "", ""),
		field.Time("created_at", func(m *maintenance) *time.Time { return &m.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(m *maintenance) *time.Time { return &m.UpdatedAt }).ReadOnly(),
		field.Objects("updates", MaintenanceUpdate, func(m *maintenance) *[]statuspage.MaintenanceUpdate {
			return &m.Updates
		}).
			Doc("Its timeline, oldest first"),
	},
})

var maintenanceStates = []field.Option{
	field.Of(statuspage.MaintenanceScheduled, "Scheduled"), field.Of(statuspage.MaintenanceInProgress, "In progress"),
	field.Of(statuspage.MaintenanceVerifying, "Verifying"), field.Of(statuspage.MaintenanceCompleted, "Completed"),
}

type maintenanceUpdate = statuspage.MaintenanceUpdate

// MaintenanceUpdate describes the entries in the timelines of maintenances.
var MaintenanceUpdate = field.New(field.Resource[maintenanceUpdate]{
	Noun: "maintenance update", Object: kernel.ObjectMaintenanceUpdate, Calls: []string{"add"},
	Doc: "an entry in the timeline of a maintenance",
	Example: maintenanceUpdate{
		ID: "upd_068vq2r4b1ccu5a0d3e1", Message: "The upgrade is done; we are looking at the figures.",
		State: statuspage.MaintenanceVerifying, CreatedAt: exampleDay.Add(70 * time.Minute),
	},
	Fields: []*field.Field[maintenanceUpdate]{
		field.ID("id", kernel.PrefixUpdate, func(u *maintenanceUpdate) *string { return &u.ID }),
		field.Markdown("message", func(u *maintenanceUpdate) *string { return &u.Message }).
			Required().Max(kernel.MaxMessageLength).
			Doc("Text in Markdown").
			Form("Message", "Markdown: **bold**, lists, links.", ""),
		field.Choice("state", func(u *maintenanceUpdate) *statuspage.MaintenanceState {
			return &u.State
		}, maintenanceStates...).
			Doc("State of the maintenance when the update was written, which writing it can change").
			Form("State", "", ""),
		field.Time("created_at", func(u *maintenanceUpdate) *time.Time { return &u.CreatedAt }).ReadOnly(),
	},
})

// PlanMaintenance plans a new maintenance by a change of an empty one. The error is a *kernel.ValidationError.
func PlanMaintenance(m *maintenance, change field.Change[maintenance], now time.Time) error {
	Maintenance.Begin(m, kernel.NewID(kernel.PrefixMaintenance, now), now)
	err := Maintenance.Create(m, change, now)
	m.Plan(kernel.NewID(kernel.PrefixUpdate, now), now)
	return err
}

// ChangeMaintenance changes a maintenance by hand, which can begin or end it. The error is a *kernel.ValidationError.
func ChangeMaintenance(m *maintenance, change field.Change[maintenance], now time.Time) error {
	return Maintenance.Apply(m, func(m *maintenance) error { return m.Change(change, now) }, now)
}

// MaintenanceRevision identifies a state of a maintenance. It changes with every field that people can change, and with
// every update. Components and the newest update must be loaded.
func MaintenanceRevision(m maintenance) string {
	number := 0
	if n := len(m.Updates); n > 0 {
		number = m.Updates[n-1].Number
	}
	return fmt.Sprint(number, "-", strings.Trim(kernel.EntityTag(Maintenance.Audited(m)), `"`))
}

// maintenanceRules checks that a change does not move a maintenance to an earlier state or change what has already
// happened, and checks its times.
func maintenanceRules(m, before *maintenance, now time.Time, bad *kernel.ValidationError) {
	if before == nil {
		checkSpan(m, now, bad)
		return
	}
	over := before.State == statuspage.MaintenanceCompleted
	switch {
	case m.State == before.State || !m.State.Valid():
	case over:
		bad.Add("state", "The maintenance is completed.")
	case m.State == statuspage.MaintenanceScheduled:
		bad.Add("state", "The maintenance has begun.")
	case before.State == statuspage.MaintenanceScheduled && m.State != statuspage.MaintenanceInProgress:
		bad.Add("state", "The maintenance has not begun. Delete it to cancel it.")
	}
	if over && !slices.Equal(m.Components, before.Components) {
		bad.Add("components", "The maintenance is completed.")
	}
	moved, resized := !m.ScheduledFor.Equal(before.ScheduledFor), !m.ScheduledUntil.Equal(before.ScheduledUntil)
	if moved && before.State != statuspage.MaintenanceScheduled {
		bad.Add("scheduled_for", "The maintenance has begun.")
	}
	if resized && over {
		bad.Add("scheduled_until", "The maintenance is completed.")
	}
	if (moved || resized) && len(bad.Problems) == 0 {
		checkSpan(m, now, bad)
	}
}

// checkSpan checks that a maintenance does not end in the past, is not too short or too long, and does not begin too
// far ahead.
func checkSpan(m *maintenance, now time.Time, bad *kernel.ValidationError) {
	from, until := m.ScheduledFor, m.ScheduledUntil
	if from.After(now.Add(statuspage.MaxMaintenanceLead)) {
		bad.Add("scheduled_for", "must be within two years")
	}
	switch length := until.Sub(from); {
	case from.IsZero() || until.IsZero():
	case length < statuspage.MinMaintenanceLength:
		bad.Add("scheduled_until", "must be at least a minute after %s", kernel.Name("scheduled_for"))
	case length > statuspage.MaxMaintenanceLength:
		bad.Add("scheduled_until", "must be at most 31 days after %s", kernel.Name("scheduled_for"))
	case !until.After(now):
		bad.Add("scheduled_until", "must be in the future")
	}
}
