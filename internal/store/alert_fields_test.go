package store_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fieldChange changes one field of an object; audited are the fields of its entry in the audit log.
type fieldChange[T any] struct {
	change  func(*T)
	audited string
}

// checkFields changes each field of an object alone, and checks that it is kept, that no other field changes, and what
// is audited. aside are the fields that users do not set.
func checkFields[T any](
	w *world, changes map[string]fieldChange[T], load func() (T, error), change func(func(*T) error) (T, error),
	aside ...string,
) {
	w.Helper()
	var fields func(reflect.Type) []string
	fields = func(object reflect.Type) (names []string) {
		for f := range object.NumField() {
			field := object.Field(f)
			switch {
			case slices.Contains(aside, field.Name):
			case field.Anonymous:
				names = append(names, fields(field.Type)...)
			default:
				names = append(names, field.Name)
			}
		}
		return names
	}
	for _, name := range fields(reflect.TypeFor[T]()) {
		if _, found := changes[name]; !found {
			w.Errorf("the field %s of %s is not changed", name, reflect.TypeFor[T]())
		}
	}
	options := cmp.Options{cmpopts.EquateEmpty(), cmp.FilterPath(func(p cmp.Path) bool {
		return slices.Contains([]string{"Summary", "About", "URLHost", "WorkspaceName", "UsedBy"},
			strings.TrimPrefix(p.Last().String(), "."))
	}, cmp.Ignore())}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		before, entries := must(load())(w), len(w.audited())
		w.clock.move(time.Second)
		changed := must(change(func(v *T) error { changes[name].change(v); return nil }))(w)
		want := before
		changes[name].change(&want)
		reflect.ValueOf(&want).Elem().FieldByName("UpdatedAt").Set(reflect.ValueOf(w.clock.now()))
		for what, got := range map[string]T{"returned": changed, "kept": must(load())(w)} {
			if diff := cmp.Diff(want, got, options); diff != "" {
				w.Errorf("%s: %s (-want +got):\n%s", name, what, diff)
			}
		}
		if cmp.Equal(want, before, options) {
			w.Errorf("%s: nothing is changed", name)
		}
		log, _, err := w.AuditLog(w.ctx, w.ws, kernel.AuditFilter{}, "", 1000)
		w.ok(err)
		if len(log) != entries+1 || log[0].Action != kernel.AuditUpdate {
			w.Errorf("%s: %d entries, the last is %+v", name, len(log)-entries, log[0])
			continue
		}
		var values map[string]any
		w.ok(json.Unmarshal(log[0].After, &values))
		if got := strings.Join(slices.Sorted(maps.Keys(values)), " "); got != changes[name].audited {
			w.Errorf("%s: audited %s, want %s", name, got, changes[name].audited)
		}
	}
}

func TestEveryFieldOfARuleIsKept(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone, chat := w.channel("phone"), w.channel("chat")
		schedule := must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(alert.OnCall{
			Name: "Ops", Zone: "UTC", HandOverDay: "mon", StartsOn: began,
		})))(w)
		people := alert.Target{ChannelIDs: []string{chat.ID}, OnCallIDs: []string{schedule.ID}}
		full := alert.Rule{
			Name: "full", Enabled: true, Target: people, Delay: time.Minute, Repeat: time.Hour,
			Filter: alert.Filter{
				Events: []alert.Event{alert.MonitorDown, alert.MonitorLate}, Pages: []string{w.page.ID},
				Monitors: []string{w.monitor.ID},
				Tags:     []string{"a", "b"}, Severities: []kernel.Impact{kernel.ImpactMinor},
			},
			QuietHours: &alert.QuietHours{
				Zone: "Europe/Berlin", From: 22*60 + 1, Until: 7*60 + 2, Days: []alert.Weekday{"mon", "sun"},
				Target: people,
			},
			Escalation: []alert.Step{
				{After: 2 * time.Minute, Target: people}, {After: 3*time.Minute + time.Second, Target: to(phone)},
			},
		}
		made := must(w.AlertRules().Create(w.ctx, w.ws, "", resource.AlertRule.From(full)))(w)
		full.ID, full.WorkspaceID, full.Slug, full.Summary, full.CreatedAt, full.UpdatedAt = made.ID, w.ws.WorkspaceID,
			"full", made.Summary, w.clock.now(), w.clock.now()
		diff := cmp.Diff(full, must(w.AlertRules().Get(w.ctx, w.ws, "", "full"))(w), cmpopts.EquateEmpty())
		if diff != "" || made.Summary == "" {
			w.Errorf("created with the summary %q (-want +got):\n%s", made.Summary, diff)
		}
		checkFields(w, map[string]fieldChange[alert.Rule]{
			"Name":       {func(r *alert.Rule) { r.Name = "other" }, "name"},
			"Slug":       {func(r *alert.Rule) { r.Slug = "another" }, "slug"},
			"Enabled":    {func(r *alert.Rule) { r.Enabled = false }, "enabled"},
			"Events":     {func(r *alert.Rule) { r.Events = []alert.Event{alert.ServiceGap} }, "events"},
			"Pages":      {func(r *alert.Rule) { r.Pages = nil }, "pages"},
			"Monitors":   {func(r *alert.Rule) { r.Monitors = nil }, "monitors"},
			"Tags":       {func(r *alert.Rule) { r.Tags = []string{"b"} }, "tags"},
			"Severities": {func(r *alert.Rule) { r.Severities = []kernel.Impact{kernel.ImpactMajor} }, "severities"},
			"ChannelIDs": {func(r *alert.Rule) {
				r.ChannelIDs = slices.Sorted(slices.Values([]string{phone.ID, chat.ID}))
			}, "channel_ids"},
			"OnCallIDs":  {func(r *alert.Rule) { r.OnCallIDs = nil }, "on_call_ids"},
			"Delay":      {func(r *alert.Rule) { r.Delay = 61 * time.Second }, "delay"},
			"Repeat":     {func(r *alert.Rule) { r.Repeat = 0 }, "repeat"},
			"QuietHours": {func(r *alert.Rule) { q := *r.QuietHours; q.Until++; r.QuietHours = &q }, "quiet_hours"},
			"Escalation": {func(r *alert.Rule) { r.Escalation = r.Escalation[1:] }, "escalation"},
		}, func() (alert.Rule, error) { return w.AlertRules().Get(w.ctx, w.ws, "", made.ID) },
			func(f func(*alert.Rule) error) (alert.Rule, error) {
				return w.AlertRules().Change(w.ctx, w.ws, "", made.ID, f, kernel.Precondition{})
			}, "ID", "WorkspaceID", "Summary", "CreatedAt", "UpdatedAt")
	})
}

func TestEveryFieldOfAChannelIsKept(t *testing.T) {
	inWorlds(t, func(w *world) {
		first, second := w.channel("first"), w.channel("second")
		full := alert.Channel{
			Type: "discord", Name: "full", Enabled: true, Config: json.RawMessage(`{"a":"1"}`), MaxPerMinute: 7,
			FallbackID: first.ID, TestWeekly: true,
			Templates: alert.Templates{TitleTemplate: "{{.Title}}", TextTemplate: "{{.Text}}"},
		}
		made := must(w.AlertChannels().Create(w.ctx, w.ws, "", resource.Channel.From(full)))(w)
		full.ID, full.WorkspaceID, full.Slug, full.WorkspaceName, full.CreatedAt, full.UpdatedAt = made.ID,
			w.ws.WorkspaceID, "full", "default", w.clock.now(), w.clock.now()
		diff := cmp.Diff(full, must(w.AlertChannels().Get(w.ctx, w.ws, "", "full"))(w), cmpopts.EquateEmpty())
		if diff != "" {
			w.Errorf("created (-want +got):\n%s", diff)
		}
		failing := alert.Health{
			AttemptedAt: began.Add(time.Second), AcceptedAt: began.Add(2 * time.Second),
			FailingSince: began.Add(3 * time.Second), Failures: 1,
			Reason: "no", TestedAt: began.Add(4 * time.Second), TemplateError: "bad",
		}
		w.run(`UPDATE alert_channels SET attempted_at = $2, taken_at = $3, failing_since_at = $4, failures = 1,
			reason = 'no', tested_at = $5, template_error = 'bad' WHERE id = $1`,
			made.ID, failing.AttemptedAt.UnixMilli(), failing.AcceptedAt.UnixMilli(), failing.FailingSince.UnixMilli(),
			failing.TestedAt.UnixMilli())
		if got := must(w.AlertChannels().Get(w.ctx, w.ws, "", made.ID))(w).Health; got != failing {
			w.Errorf("health %+v, want %+v", got, failing)
		}
		changeTemplate := func(change func(*alert.Templates)) func(*alert.Channel) {
			return func(c *alert.Channel) { change(&c.Templates); c.Health.TemplateError = "" }
		}
		checkFields(w, map[string]fieldChange[alert.Channel]{
			"Name":          {func(c *alert.Channel) { c.Name = "other" }, "name"},
			"Slug":          {func(c *alert.Channel) { c.Slug = "other" }, "slug"},
			"Enabled":       {func(c *alert.Channel) { c.Enabled = false }, "enabled"},
			"Config":        {func(c *alert.Channel) { c.Config = json.RawMessage(`{"a":"2"}`) }, "a"},
			"MaxPerMinute":  {func(c *alert.Channel) { c.MaxPerMinute = 8 }, "max_per_minute"},
			"FallbackID":    {func(c *alert.Channel) { c.FallbackID = second.ID }, "fallback_id"},
			"TestWeekly":    {func(c *alert.Channel) { c.TestWeekly = false }, "test_weekly"},
			"TitleTemplate": {changeTemplate(func(t *alert.Templates) { t.TitleTemplate = "" }), "title_template"},
			"TextTemplate":  {changeTemplate(func(t *alert.Templates) { t.TextTemplate = "" }), "text_template"},
		}, func() (alert.Channel, error) { return w.AlertChannels().Get(w.ctx, w.ws, "", made.ID) },
			func(f func(*alert.Channel) error) (alert.Channel, error) {
				return w.AlertChannels().Change(w.ctx, w.ws, "", made.ID, f, kernel.Precondition{})
			}, "ID", "WorkspaceID", "Type", "Secrets", "Sealed", "SecretFields", "SecretVersions", "URLHost", "Health",
			"AddressConfirmed", "WorkspaceName",
			"SubscriberSMS", "UsedBy", "CreatedAt", "UpdatedAt")
		var names []string
		for _, use := range must(w.AlertChannels().Get(w.ctx, w.ws, "", second.ID))(w).UsedBy {
			names = append(names, string(use.Kind)+" "+use.ID+" "+use.Name)
		}
		w.expect("uses", names, string(alert.UseFallback)+" "+made.ID+" other")
	})
}

func TestEveryFieldOfASilenceIsKept(t *testing.T) {
	inWorlds(t, func(w *world) {
		full := alert.Silence{
			Filter: alert.Filter{
				Events: []alert.Event{alert.MonitorDown}, Pages: []string{w.page.Slug},
				Monitors: []string{w.monitor.Slug},
				Tags:     []string{"a"}, Severities: []kernel.Impact{kernel.ImpactMinor},
			},
			Comment: "why", StartsAt: began.Add(time.Hour), EndsAt: began.Add(2 * time.Hour)}
		made := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(full)))(w)
		full.ID, full.WorkspaceID, full.CreatedBy = made.ID, w.ws.WorkspaceID, w.ws.Name
		full.CreatedAt, full.UpdatedAt = w.clock.now(), w.clock.now()
		full.Pages, full.Monitors = []string{w.page.ID}, []string{w.monitor.ID}
		full.About = "nightly on Acme, tagged a, with the severity minor, of monitor.down"
		got := must(w.Silences().Get(w.ctx, w.ws, "", made.ID))(w)
		if diff := cmp.Diff(full, got); diff != "" || made.About != got.About {
			w.Errorf("created, about %s (-want +got):\n%s", made.About, diff)
		}
		checkFields(w, map[string]fieldChange[alert.Silence]{
			"Events":     {func(v *alert.Silence) { v.Events = []alert.Event{alert.ServiceGap} }, "events"},
			"Pages":      {func(v *alert.Silence) { v.Pages = nil }, "pages"},
			"Monitors":   {func(v *alert.Silence) { v.Monitors = nil }, "monitors"},
			"Tags":       {func(v *alert.Silence) { v.Tags = nil }, "tags"},
			"Severities": {func(v *alert.Silence) { v.Severities = nil }, "severities"},
			"Comment":    {func(v *alert.Silence) { v.Comment = "else" }, "comment"},
			"StartsAt":   {func(v *alert.Silence) { v.StartsAt = began.Add(90 * time.Minute) }, "starts_at"},
			"EndsAt":     {func(v *alert.Silence) { v.EndsAt = began.Add(3 * time.Hour) }, "ends_at"},
		}, func() (alert.Silence, error) { return w.Silences().Get(w.ctx, w.ws, "", made.ID) },
			func(f func(*alert.Silence) error) (alert.Silence, error) {
				return w.Silences().Change(w.ctx, w.ws, "", made.ID, f, kernel.Precondition{})
			}, "ID", "WorkspaceID", "About", "CreatedBy", "CreatedAt", "UpdatedAt")
	})
}

func TestEveryFieldOfAnOnCallScheduleIsKept(t *testing.T) {
	inWorlds(t, func(w *world) {
		ids := slices.Sorted(slices.Values([]string{w.channel("phone").ID, w.channel("chat").ID}))
		day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		full := alert.OnCall{
			Name: "Ops", Slug: "operations", Zone: "Europe/Berlin", HandOverDay: "tue", HandOverAt: 9*60 + 5,
			StartsOn:     day,
			Participants: []alert.Participant{{Name: "Ann", ChannelIDs: ids}, {Name: "Bob", ChannelIDs: ids[:1]}},
			Overrides:    []alert.Override{{Participant: "Bob", StartsAt: began, EndsAt: began.Add(time.Hour)}},
		}
		made := must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(full)))(w)
		full.ID, full.WorkspaceID, full.CalendarKey, full.CreatedAt, full.UpdatedAt = made.ID, w.ws.WorkspaceID,
			made.CalendarKey, w.clock.now(), w.clock.now()
		full.Overrides[0].ID = made.Overrides[0].ID
		if len(made.CalendarKey) < 20 || full.Overrides[0].ID == "" {
			w.Errorf("the calendar key %q, the override %q", made.CalendarKey, full.Overrides[0].ID)
		}
		if diff := cmp.Diff(full, must(w.OnCallSchedules().Get(w.ctx, w.ws, "", "operations"))(w)); diff != "" {
			w.Errorf("created (-want +got):\n%s", diff)
		}
		if got := must(w.OnCallCalendar(w.ctx, made.CalendarKey))(w); got.ID != made.ID {
			w.Errorf("the calendar is that of %s", got.ID)
		}
		checkFields(w, map[string]fieldChange[alert.OnCall]{
			"Name":        {func(o *alert.OnCall) { o.Name = "Others" }, "name"},
			"Slug":        {func(o *alert.OnCall) { o.Slug = "others" }, "slug"},
			"Zone":        {func(o *alert.OnCall) { o.Zone = "UTC" }, "zone"},
			"HandOverDay": {func(o *alert.OnCall) { o.HandOverDay = "fri" }, "hand_over_day"},
			"HandOverAt":  {func(o *alert.OnCall) { o.HandOverAt++ }, "hand_over_at"},
			"StartsOn":    {func(o *alert.OnCall) { o.StartsOn = day.AddDate(0, 0, 7) }, "starts_on"},
			"Participants": {func(o *alert.OnCall) {
				o.Participants = []alert.Participant{o.Participants[1], o.Participants[0]}
			}, "participants"},
			"Overrides": {func(o *alert.OnCall) {
				o.Overrides = append(slices.Clone(o.Overrides), alert.Override{
					ID: "ovr_00000000000000000001", Participant: "Ann", StartsAt: began,
					EndsAt: began.Add(time.Minute),
				})
			}, "overrides"},
		}, func() (alert.OnCall, error) { return w.OnCallSchedules().Get(w.ctx, w.ws, "", made.ID) },
			func(f func(*alert.OnCall) error) (alert.OnCall, error) {
				return w.OnCallSchedules().Change(w.ctx, w.ws, "", made.ID, f, kernel.Precondition{})
			}, "ID", "WorkspaceID", "CalendarKey", "Now", "Next", "CalendarURL", "CreatedAt", "UpdatedAt")
	})
}
