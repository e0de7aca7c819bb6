package alerting_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/dashboard/alerting"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// TestOnCallScreens creates a schedule, overrides it, and changes it.
func TestOnCallScreens(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		owner.Wants(owner.Get("/admin/on-call"), http.StatusOK, "in weekly turns")
		owner.Wants(owner.Get("/admin/on-call/new"), http.StatusOK, "Participants are notified on channels.")
		phone, old := owner.Phone("Phone", true), owner.Phone("Old phone", false)
		first := alert.OnCall{Zone: "Europe/Berlin", HandOverDay: "mon", HandOverAt: 9 * 60}.FirstDay(s.Now())
		fields := []string{
			"name", "Ops", "zone", "Europe/Berlin", "hand_over_day", "mon", "hand_over_at", "09:00", "starts_on",
			first.Format(time.DateOnly), "rows", "4",
		}
		participants := []string{
			"participants.0.name", "Bob", "participants.0.turn", "2", "participants.0.channels", old,
			"participants.1.name", "Ann", "participants.1.turn", "1", "participants.1.channels", phone,
		}
		create := func(fields ...string) dashboardtest.Answer { return owner.Post("/admin/on-call/new", fields...) }
		owner.Wants(create("name", "", "zone", "Nowhere", "hand_over_at", "x", "starts_on", "x", "rows", "99999999"),
			http.StatusUnprocessableEntity, "Must be a time of day, such as 22:00.",
			"Must be a day such as 2026-11-21.")
		owner.Wants(create(append(fields, "participants.0.name", "Ann")...), http.StatusUnprocessableEntity,
			"1 to 20 channels")
		made := owner.Wants(create(append(fields, participants...)...), http.StatusSeeOther, "/admin/on-call/onc_")
		path := made.Header.Get("Location")
		o, err := s.Store.OnCallSchedules().Get(t.Context(), owner.Actor(), "",
			strings.TrimPrefix(path, frame.OnCallPath+"/"))
		if err != nil || len(o.Participants) != 2 || o.Participants[0].Name != "Ann" {
			t.Fatalf("%+v, %v", o, err)
		}
		if _, err := s.Store.AlertRules().Create(
			t.Context(), owner.Actor(), "",
			resource.AlertRule.From(
				alert.Rule{
					Name: "All", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents},
					Target: alert.Target{OnCallIDs: []string{o.ID}},
				},
			),
		); err != nil {
			t.Fatal(err)
		}
		owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Ann</bdi> is on call", "then <bdi>Bob</bdi>",
			"Bob has no channel that is enabled", "The rule <bdi>All</bdi> needs it.",
			"/admin/on-call.ics?key="+o.CalendarKey, `aria-current="date"`)
		owner.Wants(owner.Get("/admin/on-call"), http.StatusOK, "<strong><bdi>Ann</bdi></strong> is on call",
			"Bob has no channel that is enabled")

		at := func(d time.Duration) string { return s.Now().In(o.Location()).Add(d).Format(frame.ClockLayout) }
		clock := func(d time.Duration) string {
			return s.Now().In(o.Location()).Add(d).Format("Mon 2 Jan 2006 15:04") + " (Europe/Berlin)"
		}
		owner.Wants(owner.Post(path+"/overrides", "participant", "Bob", "starts_at", at(0), "ends_at", at(-time.Hour)),
			http.StatusUnprocessableEntity, "This must be after “From”.")
		owner.Wants(owner.Post(path+"/overrides", "participant", "Bob", "starts_at", at(0), "ends_at", ""),
			http.StatusUnprocessableEntity, "This field is required.")
		owner.Wants(owner.Post(path+"/overrides", "participant", "Bob", "starts_at", "", "ends_at", at(time.Hour)),
			http.StatusUnprocessableEntity, "This field is required.")
		owner.Wants(owner.Post(path+"/overrides", "participant", "Eve", "starts_at", at(0), "ends_at", at(time.Hour)),
			http.StatusUnprocessableEntity, "must name a participant")
		owner.Wants(owner.Post(path+"/overrides", "participant", "Bob", "starts_at", at(0), "ends_at", at(2*time.Hour)),
			http.StatusSeeOther, path)
		shown := owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Bob</bdi> is on call", "by an override",
			"until "+s.Now().In(o.Location()).Add(2*time.Hour).Format("Mon 2 Jan 2006 15:04")+" (Europe/Berlin)")
		owner.Lacks(shown, "Replaced", "eplaced by")
		remove := regexp.MustCompile(`action="([^"]+/overrides/[^"]+/delete)"`).FindStringSubmatch(shown.Text)

		form := owner.Wants(owner.Get(path+"/edit"), http.StatusOK, `value="Ann"`, "Old phone (disabled)")
		renamed := []string{
			"participants.0.name", "Ann", "participants.0.was", "Ann", "participants.0.turn", "1",
			"participants.0.channels", phone,
			"participants.1.name", "Robert", "participants.1.was", "Bob", "participants.1.turn", "2",
			"participants.1.channels", phone,
		}
		s.Advance(time.Second)
		edit := append(append([]string{"tag", dashboardtest.TagIn(t, form)}, fields...), renamed...)
		owner.Wants(owner.Post(path+"/edit", edit...), http.StatusSeeOther, path)
		owner.Wants(owner.Post(path+"/edit", edit...), http.StatusConflict, "somebody else has changed this")
		owner.Lacks(owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Robert</bdi> is on call"),
			"no channel that is enabled")
		owner.Wants(owner.Post(remove[1]), http.StatusSeeOther, path)
		owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Ann</bdi> is on call", "None. An override puts")
		owner.Wants(owner.Post(path+"/delete"), http.StatusUnprocessableEntity, "The rule &#34;All&#34; uses it.")

		owner.Wants(owner.Post(path+"/overrides", "participant", "Ann", "starts_at", at(3*time.Hour), "ends_at",
			at(5*time.Hour)), http.StatusSeeOther, path)
		owner.Lacks(owner.Get(path), "Partly replaced")
		owner.Wants(owner.Post(path+"/overrides", "participant", "Robert", "starts_at", at(4*time.Hour), "ends_at",
			at(6*time.Hour)), http.StatusSeeOther, path)
		owner.Wants(owner.Get(path), http.StatusOK, "Partly replaced",
			"replaced by <bdi>Robert</bdi>, by a newer override, from "+clock(4*time.Hour)+" until "+clock(5*time.Hour))
		owner.Wants(owner.Post(path+"/overrides", "participant", "Ann", "starts_at", at(4*time.Hour), "ends_at",
			at(6*time.Hour)), http.StatusSeeOther, path)
		owner.Wants(owner.Get(path), http.StatusOK, `pill">Replaced</span>`)

		alone := append(append([]string{"tag", dashboardtest.TagIn(t, owner.Get(path+"/edit"))}, fields...),
			renamed[:8]...)
		alone = append(alone, "participants.1.name", "", "participants.1.was", "Robert")
		const ticked = `name="drop_overrides" value="true" aria-describedby="e-drop_overrides"`
		asked := owner.Wants(owner.Post(path+"/edit", alone...), http.StatusUnprocessableEntity,
			"<bdi>Robert</bdi>, from "+clock(4*time.Hour)+" until "+clock(6*time.Hour),
			ticked+" autofocus> Delete them")
		if n := strings.Count(asked.Text, "autofocus"); n != 1 {
			t.Errorf("%d fields have the focus", n)
		}
		wrong := owner.Wants(owner.Post(path+"/edit",
			append(slices.Clone(alone[:10]),
				append([]string{"starts_on", "x"}, alone[12:]...)...)...), http.StatusUnprocessableEntity,
			ticked+"> Delete them")
		if n := strings.Count(wrong.Text, "autofocus"); n != 1 {
			t.Errorf("with another field that is wrong, %d fields have the focus", n)
		}
		overrides := func() (names []string) {
			o, err := s.Store.OnCallSchedules().Get(t.Context(), owner.Actor(), "", o.ID)
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
		owner.Wants(owner.Post(path+"/edit", append(alone, alerting.DropField, "true")...), http.StatusSeeOther, path)
		if got := overrides(); !slices.Equal(got, []string{"Ann", "Ann"}) {
			t.Errorf("after it: %v", got)
		}

		s.Advance(7 * time.Hour)
		anne := append(append([]string{"tag", dashboardtest.TagIn(t, owner.Get(path+"/edit"))}, fields...),
			"participants.0.name", "Anne", "participants.0.was", "Ann", "participants.0.turn", "1",
			"participants.0.channels", phone)
		owner.Wants(owner.Post(path+"/edit", anne...), http.StatusSeeOther, path)
		if got := overrides(); !slices.Equal(got, []string{"Anne", "Anne"}) {
			t.Errorf("overrides that have ended, of a participant with a new name: %v", got)
		}
		gone := append(append([]string{"tag", dashboardtest.TagIn(t, owner.Get(path+"/edit"))}, fields...),
			"participants.0.name", "Bob", "participants.0.turn", "1", "participants.0.channels", phone)
		owner.Wants(owner.Post(path+"/edit", gone...), http.StatusSeeOther, path)
		if got := overrides(); !slices.Equal(got, []string{"Anne", "Anne"}) {
			t.Errorf("overrides that have ended, without their participant: %v", got)
		}
		owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Bob</bdi> is on call", ">Ended</span>")

		viewer := s.Member(owner, kernel.RoleViewer)
		viewer.Lacks(viewer.Wants(viewer.Get(path), http.StatusOK), "/edit", "Put somebody on call")
		viewer.Wants(viewer.Post(path+"/overrides"), http.StatusForbidden)
	})
}

// TestUnchangedScheduleStays saves the form of a schedule whose channels are in another order than its boxes: nothing
// changes, and a channel that is added comes last.
func TestUnchangedScheduleStays(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		first, second, third := owner.Phone("First", true), owner.Phone("Second", true), owner.Phone("Third", true)
		made, err := s.Store.OnCallSchedules().Create(t.Context(), owner.Actor(), "", resource.OnCall.From(alert.OnCall{
			Name: "Ops", Participants: []alert.Participant{{Name: "Ann", ChannelIDs: []string{third, first}}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		path := "/admin/on-call/" + made.ID
		save := func(channels ...string) alert.OnCall {
			s.Advance(time.Minute)
			fields := []string{
				"tag", dashboardtest.TagIn(t, owner.Get(path+"/edit")), "name", "Ops", "slug", made.Slug, "zone",
				made.Zone, "hand_over_day", "mon", "hand_over_at", "09:00",
				"starts_on", made.StartsOn.Format(time.DateOnly), "rows", "3", "participants.0.name", "Ann",
				"participants.0.was", "Ann", "participants.0.turn", "1",
			}
			for _, id := range channels {
				fields = append(fields, "participants.0.channels", id)
			}
			owner.Wants(owner.Post(path+"/edit", fields...), http.StatusSeeOther, path)
			o, err := s.Store.OnCallSchedules().Get(t.Context(), owner.Actor(), "", made.ID)
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
