package dashboard

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
)

// phone creates a channel.
func (v *visitor) phone(name string, enabled bool) string {
	v.Helper()
	c, err := v.store.AlertChannels().Create(v.Context(), v.actor(), "", func(c *alert.Channel) error {
		c.Type, c.Name, c.Enabled, c.Config = "webhook", name, enabled, json.RawMessage(`{}`)
		return nil
	})
	if err != nil {
		v.Fatal(err)
	}
	return c.ID
}

// TestOnCallScreens creates a schedule, overrides it, and changes it.
func TestOnCallScreens(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		owner.wants(owner.get("/admin/on-call"), http.StatusOK, "in weekly turns")
		owner.wants(owner.get("/admin/on-call/new"), http.StatusOK, "Participants are notified on channels.")
		phone, old := owner.phone("Phone", true), owner.phone("Old phone", false)
		first := alert.OnCall{Zone: "Europe/Berlin", HandOverDay: "mon", HandOverAt: 9 * 60}.FirstDay(s.now())
		fields := []string{
			"name", "Ops", "zone", "Europe/Berlin", "hand_over_day", "mon", "hand_over_at", "09:00", "starts_on",
			first.Format(time.DateOnly), "rows", "4",
		}
		participants := []string{
			"participants.0.name", "Bob", "participants.0.turn", "2", "participants.0.channels", old,
			"participants.1.name", "Ann", "participants.1.turn", "1", "participants.1.channels", phone,
		}
		create := func(fields ...string) answer { return owner.post("/admin/on-call/new", fields...) }
		owner.wants(create("name", "", "zone", "Nowhere", "hand_over_at", "x", "starts_on", "x", "rows", "99999999"),
			http.StatusUnprocessableEntity, "Must be a time of day, such as 22:00.",
			"Must be a day such as 2026-11-21.")
		owner.wants(create(append(fields, "participants.0.name", "Ann")...), http.StatusUnprocessableEntity,
			"1 to 20 channels")
		made := owner.wants(create(append(fields, participants...)...), http.StatusSeeOther, "/admin/on-call/onc_")
		path := made.Header.Get("Location")
		o, err := s.store.OnCallSchedules().Get(t.Context(), owner.actor(), "",
			strings.TrimPrefix(path, onCallPath+"/"))
		if err != nil || len(o.Participants) != 2 || o.Participants[0].Name != "Ann" {
			t.Fatalf("%+v, %v", o, err)
		}
		if _, err := s.store.AlertRules().Create(
			t.Context(), owner.actor(), "",
			resource.AlertRule.From(
				alert.Rule{
					Name: "All", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents},
					Target: alert.Target{OnCallIDs: []string{o.ID}},
				},
			),
		); err != nil {
			t.Fatal(err)
		}
		owner.wants(owner.get(path), http.StatusOK, "<bdi>Ann</bdi> is on call", "then <bdi>Bob</bdi>",
			"Bob has no channel that is enabled", "The rule <bdi>All</bdi> needs it.",
			"/admin/on-call.ics?key="+o.CalendarKey, `aria-current="date"`)
		owner.wants(owner.get("/admin/on-call"), http.StatusOK, "<strong><bdi>Ann</bdi></strong> is on call",
			"Bob has no channel that is enabled")

		at := func(d time.Duration) string { return s.now().In(o.Location()).Add(d).Format(clockLayout) }
		clock := func(d time.Duration) string {
			return s.now().In(o.Location()).Add(d).Format("Mon 2 Jan 2006 15:04") + " (Europe/Berlin)"
		}
		owner.wants(owner.post(path+"/overrides", "participant", "Bob", "starts_at", at(0), "ends_at", at(-time.Hour)),
			http.StatusUnprocessableEntity, "This must be after “From”.")
		owner.wants(owner.post(path+"/overrides", "participant", "Bob", "starts_at", at(0), "ends_at", ""),
			http.StatusUnprocessableEntity, "This field is required.")
		owner.wants(owner.post(path+"/overrides", "participant", "Bob", "starts_at", "", "ends_at", at(time.Hour)),
			http.StatusUnprocessableEntity, "This field is required.")
		owner.wants(owner.post(path+"/overrides", "participant", "Eve", "starts_at", at(0), "ends_at", at(time.Hour)),
			http.StatusUnprocessableEntity, "must name a participant")
		owner.wants(owner.post(path+"/overrides", "participant", "Bob", "starts_at", at(0), "ends_at", at(2*time.Hour)),
			http.StatusSeeOther, path)
		shown := owner.wants(owner.get(path), http.StatusOK, "<bdi>Bob</bdi> is on call", "by an override",
			"until "+s.now().In(o.Location()).Add(2*time.Hour).Format("Mon 2 Jan 2006 15:04")+" (Europe/Berlin)")
		owner.lacks(shown, "Replaced", "eplaced by")
		remove := regexp.MustCompile(`action="([^"]+/overrides/[^"]+/delete)"`).FindStringSubmatch(shown.body)

		form := owner.wants(owner.get(path+"/edit"), http.StatusOK, `value="Ann"`, "Old phone (disabled)")
		renamed := []string{
			"participants.0.name", "Ann", "participants.0.was", "Ann", "participants.0.turn", "1",
			"participants.0.channels", phone,
			"participants.1.name", "Robert", "participants.1.was", "Bob", "participants.1.turn", "2",
			"participants.1.channels", phone,
		}
		s.skip(time.Second)
		edit := append(append([]string{"tag", tagIn(t, form)}, fields...), renamed...)
		owner.wants(owner.post(path+"/edit", edit...), http.StatusSeeOther, path)
		owner.wants(owner.post(path+"/edit", edit...), http.StatusConflict, "somebody else has changed this")
		owner.lacks(owner.wants(owner.get(path), http.StatusOK, "<bdi>Robert</bdi> is on call"),
			"no channel that is enabled")
		owner.wants(owner.post(remove[1]), http.StatusSeeOther, path)
		owner.wants(owner.get(path), http.StatusOK, "<bdi>Ann</bdi> is on call", "None. An override puts")
		owner.wants(owner.post(path+"/delete"), http.StatusUnprocessableEntity, "The rule &#34;All&#34; uses it.")

		owner.wants(owner.post(path+"/overrides", "participant", "Ann", "starts_at", at(3*time.Hour), "ends_at",
			at(5*time.Hour)), http.StatusSeeOther, path)
		owner.lacks(owner.get(path), "Partly replaced")
		owner.wants(owner.post(path+"/overrides", "participant", "Robert", "starts_at", at(4*time.Hour), "ends_at",
			at(6*time.Hour)), http.StatusSeeOther, path)
		owner.wants(owner.get(path), http.StatusOK, "Partly replaced",
			"replaced by <bdi>Robert</bdi>, by a newer override, from "+clock(4*time.Hour)+" until "+clock(5*time.Hour))
		owner.wants(owner.post(path+"/overrides", "participant", "Ann", "starts_at", at(4*time.Hour), "ends_at",
			at(6*time.Hour)), http.StatusSeeOther, path)
		owner.wants(owner.get(path), http.StatusOK, `pill">Replaced</span>`)

		alone := append(append([]string{"tag", tagIn(t, owner.get(path+"/edit"))}, fields...), renamed[:8]...)
		alone = append(alone, "participants.1.name", "", "participants.1.was", "Robert")
		const ticked = `name="drop_overrides" value="true" aria-describedby="e-drop_overrides"`
		asked := owner.wants(owner.post(path+"/edit", alone...), http.StatusUnprocessableEntity,
			"<bdi>Robert</bdi>, from "+clock(4*time.Hour)+" until "+clock(6*time.Hour),
			ticked+" autofocus> Delete them")
		if n := strings.Count(asked.body, "autofocus"); n != 1 {
			t.Errorf("%d fields have the focus", n)
		}
		wrong := owner.wants(owner.post(path+"/edit",
			append(slices.Clone(alone[:10]),
				append([]string{"starts_on", "x"}, alone[12:]...)...)...), http.StatusUnprocessableEntity,
			ticked+"> Delete them")
		if n := strings.Count(wrong.body, "autofocus"); n != 1 {
			t.Errorf("with another field that is wrong, %d fields have the focus", n)
		}
		overrides := func() (names []string) {
			o, err := s.store.OnCallSchedules().Get(t.Context(), owner.actor(), "", o.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range o.Overrides {
				names = append(names, v.Participant)
			}
			return names
		}
		if got := overrides(); !slices.Equal(got, []string{"Ann", "Robert", "Ann"}) {
			t.Errorf("before the deletion is confirmed: %v", got)
		}
		owner.wants(owner.post(path+"/edit", append(alone, dropField, "true")...), http.StatusSeeOther, path)
		if got := overrides(); !slices.Equal(got, []string{"Ann", "Ann"}) {
			t.Errorf("after it: %v", got)
		}

		s.skip(7 * time.Hour)
		anne := append(append([]string{"tag", tagIn(t, owner.get(path+"/edit"))}, fields...), "participants.0.name",
			"Anne", "participants.0.was", "Ann", "participants.0.turn", "1", "participants.0.channels", phone)
		owner.wants(owner.post(path+"/edit", anne...), http.StatusSeeOther, path)
		if got := overrides(); !slices.Equal(got, []string{"Anne", "Anne"}) {
			t.Errorf("overrides that have ended, of a participant with a new name: %v", got)
		}
		gone := append(append([]string{"tag", tagIn(t, owner.get(path+"/edit"))}, fields...), "participants.0.name",
			"Bob", "participants.0.turn", "1", "participants.0.channels", phone)
		owner.wants(owner.post(path+"/edit", gone...), http.StatusSeeOther, path)
		if got := overrides(); !slices.Equal(got, []string{"Anne", "Anne"}) {
			t.Errorf("overrides that have ended, without their participant: %v", got)
		}
		owner.wants(owner.get(path), http.StatusOK, "<bdi>Bob</bdi> is on call", ">Ended</span>")

		viewer := s.member(owner, kernel.RoleViewer)
		viewer.lacks(viewer.wants(viewer.get(path), http.StatusOK), "/edit", "Put somebody on call")
		viewer.wants(viewer.post(path+"/overrides"), http.StatusForbidden)
	})
}

// TestOnCallCalendarOfWeeks checks the days around a hand-over and a change of the clock.
func TestOnCallCalendarOfWeeks(t *testing.T) {
	o := alert.OnCall{
		Zone: "Europe/Berlin", HandOverDay: "mon", HandOverAt: 9 * 60,
		StartsOn:     time.Date(2026, 10, 19, 0, 0, 0, 0, time.UTC),
		Participants: []alert.Participant{{Name: "Ann"}, {Name: "Bob"}},
		Overrides: []alert.Override{
			{
				Participant: "Ann", StartsAt: time.Date(2026, 10, 28, 11, 0, 0, 0, time.UTC),
				EndsAt: time.Date(2026, 10, 28, 13, 0, 0, 0, time.UTC),
			},
		},
	}
	weeks := onCallCalendar(o, time.Date(2026, 10, 21, 12, 0, 0, 0, time.UTC))
	text := func(d calendarDay) string {
		parts := d.Day + " " + d.Label + ":"
		for _, p := range d.Parts {
			parts += " " + p.From + p.Name
			if p.Override {
				parts += "*"
			}
		}
		return parts
	}
	for _, c := range []struct {
		week, day int
		want      string
	}{
		{0, 0, "Mon 19 Oct: Bob 09:00Ann"}, {0, 6, "Sun 25: Ann"}, {1, 0, "Mon 26: Ann 09:00Bob"},
		{1, 2, "Wed 28: Bob 12:00Ann* 14:00Bob"}, {1, 6, "Sun 1 Nov: Bob"}, {3, 6, "Sun 15: Bob"},
	} {
		if got := text(weeks[c.week][c.day]); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if !weeks[0][2].Today || weeks[0][2].Past || !weeks[0][1].Past || len(weeks) != calendarWeeks {
		t.Errorf("%+v", weeks[0])
	}
}

// TestUnchangedScheduleStays saves the form of a schedule whose channels are in another order than its boxes: nothing
// changes, and a channel that is added comes last.
func TestUnchangedScheduleStays(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		owner := s.owner()
		first, second, third := owner.phone("First", true), owner.phone("Second", true), owner.phone("Third", true)
		made, err := s.store.OnCallSchedules().Create(t.Context(), owner.actor(), "", resource.OnCall.From(alert.OnCall{
			Name: "Ops", Participants: []alert.Participant{{Name: "Ann", ChannelIDs: []string{third, first}}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		path := "/admin/on-call/" + made.ID
		save := func(channels ...string) alert.OnCall {
			s.skip(time.Minute)
			fields := []string{
				"tag", tagIn(t, owner.get(path+"/edit")), "name", "Ops", "slug", made.Slug, "zone", made.Zone,
				"hand_over_day", "mon", "hand_over_at", "09:00",
				"starts_on", made.StartsOn.Format(time.DateOnly), "rows", "3", "participants.0.name", "Ann",
				"participants.0.was", "Ann", "participants.0.turn", "1",
			}
			for _, id := range channels {
				fields = append(fields, "participants.0.channels", id)
			}
			owner.wants(owner.post(path+"/edit", fields...), http.StatusSeeOther, path)
			o, err := s.store.OnCallSchedules().Get(t.Context(), owner.actor(), "", made.ID)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		if o := save(first, third); !slices.Equal(o.Participants[0].ChannelIDs, made.Participants[0].ChannelIDs) ||
			!o.UpdatedAt.Equal(made.UpdatedAt) {
			t.Errorf("saved unchanged: %+v", o)
		}
		if o := save(first, second, third); !slices.Equal(
			o.Participants[0].ChannelIDs, slices.Sorted(slices.Values([]string{first, second, third})),
		) {
			t.Errorf("with another channel: %v", o.Participants)
		}
		if o := save(first, second); !slices.Equal(
			o.Participants[0].ChannelIDs, slices.Sorted(slices.Values([]string{first, second})),
		) {
			t.Errorf("without one: %v", o.Participants)
		}
	})
}
