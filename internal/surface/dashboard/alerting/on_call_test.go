package alerting_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
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

// opsOnCall is the on-call schedule Ops of Ann and Bob, who takes turns with her weekly. Bob's phone is disabled.
type opsOnCall struct {
	*dashboardtest.Site
	owner  *dashboardtest.Visitor
	phone  string
	fields []string // of the form, without participants
	path   string
	o      alert.OnCall
}

// onCallFields returns the fields of a form of a schedule, without participants.
func onCallFields(s *dashboardtest.Site) []string {
	first := alert.OnCall{Zone: "Europe/Berlin", HandOverDay: "mon", HandOverAt: 9 * 60}.FirstDay(s.Now())
	return []string{
		"name", "Ops", "zone", "Europe/Berlin", "hand_over_day", "mon", "hand_over_at", "09:00", "starts_on",
		first.Format(time.DateOnly), "rows", "4",
	}
}

func newOpsOnCall(s *dashboardtest.Site) *opsOnCall {
	s.Helper()
	c := &opsOnCall{Site: s, owner: s.Owner(), fields: onCallFields(s)}
	c.phone = c.owner.Phone("Phone", true)
	participants := []string{
		"participants.0.name", "Bob", "participants.0.turn", "2", "participants.0.channels",
		c.owner.Phone("Old phone", false),
		"participants.1.name", "Ann", "participants.1.turn", "1", "participants.1.channels", c.phone,
	}
	made := c.owner.Wants(c.owner.Post("/admin/on-call/new", slices.Concat(c.fields, participants)...),
		http.StatusSeeOther, "/admin/on-call/onc_")
	c.path = made.Header.Get("Location")
	c.o = c.load()
	return c
}

func (c *opsOnCall) load() alert.OnCall {
	c.Helper()
	o, err := c.Store.OnCallSchedules().Get(c.Context(), c.owner.Actor(), "",
		strings.TrimPrefix(c.path, frame.OnCallPath+"/"))
	if err != nil {
		c.Fatal(err)
	}
	return o
}

// at returns a time as a form has it.
func (c *opsOnCall) at(d time.Duration) string {
	return c.Now().In(c.o.Location()).Add(d).Format(frame.ClockLayout)
}

// clock returns a time as a screen shows it.
func (c *opsOnCall) clock(d time.Duration) string {
	return c.Now().In(c.o.Location()).Add(d).Format("Mon 2 Jan 2006 15:04") + " (Europe/Berlin)"
}

// override sends the form that puts a participant on call.
func (c *opsOnCall) override(participant, from, until string) dashboardtest.Answer {
	c.Helper()
	return c.owner.Post(c.path+"/overrides", "participant", participant, "starts_at", from, "ends_at", until)
}

// overrides returns the participants of the saved overrides.
func (c *opsOnCall) overrides() (names []string) {
	c.Helper()
	for _, v := range c.load().Overrides {
		names = append(names, v.Participant)
	}
	return names
}

// edit returns the fields of the form that edits the schedule, with participants.
func (c *opsOnCall) edit(participants ...string) []string {
	c.Helper()
	tag := dashboardtest.TagIn(c.T, c.owner.Get(c.path+"/edit"))
	return slices.Concat([]string{"tag", tag}, c.fields, participants)
}

// participant returns the fields of a participant, who is saved under the name was.
func (c *opsOnCall) participant(row int, name, was string) []string {
	p := fmt.Sprintf("participants.%d.", row)
	return []string{p + "name", name, p + "was", was, p + "turn", strconv.Itoa(row + 1), p + "channels", c.phone}
}

func TestInvalidOnCallSchedules(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		owner.Wants(owner.Get("/admin/on-call"), http.StatusOK, "weekly rotation")
		owner.Wants(owner.Get("/admin/on-call/new"), http.StatusOK, "Participants are notified on channels.")
		owner.Phone("Phone", true)
		create := func(fields ...string) dashboardtest.Answer { return owner.Post("/admin/on-call/new", fields...) }
		owner.Wants(create("name", "", "zone", "Nowhere", "hand_over_at", "x", "starts_on", "x", "rows", "99999999"),
			http.StatusUnprocessableEntity, "Must be a time of day, such as 22:00.",
			"Must be a day such as 2026-11-21.")
		owner.Wants(create(append(onCallFields(s), "participants.0.name", "Ann")...), http.StatusUnprocessableEntity,
			"1 to 20 channels")
	})
}

// TestOnCallSchedule looks at a schedule that a rule needs.
func TestOnCallSchedule(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		c := newOpsOnCall(s)
		owner, o, path := c.owner, c.o, c.path
		if len(o.Participants) != 2 || o.Participants[0].Name != "Ann" {
			t.Fatalf("the participants are %+v, want Ann and Bob", o.Participants)
		}
		all := resource.AlertRule.From(alert.Rule{
			Name: "All", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents},
			Target: alert.Target{OnCallIDs: []string{o.ID}},
		})
		if _, err := s.Store.AlertRules().Create(t.Context(), owner.Actor(), "", all); err != nil {
			t.Fatal(err)
		}
		owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Ann</bdi> is on call", "then <bdi>Bob</bdi>",
			"Bob has no channel that is enabled", "Needed by rule <bdi>All</bdi>.",
			"/admin/on-call.ics?key="+o.CalendarKey, `aria-current="date"`)
		owner.Wants(owner.Get("/admin/on-call"), http.StatusOK, "<strong><bdi>Ann</bdi></strong> is on call",
			"Bob has no channel that is enabled")
		owner.Wants(owner.Post(path+"/delete"), http.StatusUnprocessableEntity, "The rule &#34;All&#34; uses it.")

		viewer := s.Member(owner, kernel.RoleViewer)
		viewer.Lacks(viewer.Wants(viewer.Get(path), http.StatusOK), "/edit", "Add override")
		viewer.Wants(viewer.Post(path+"/overrides"), http.StatusForbidden)
	})
}

// TestOverride puts Bob on call, renames him, and removes the override.
func TestOverride(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		c := newOpsOnCall(s)
		owner, path := c.owner, c.path
		owner.Wants(c.override("Bob", c.at(0), c.at(-time.Hour)), http.StatusUnprocessableEntity,
			"This must be after “From”.")
		owner.Wants(c.override("Bob", c.at(0), ""), http.StatusUnprocessableEntity, "This field is required.")
		owner.Wants(c.override("Bob", "", c.at(time.Hour)), http.StatusUnprocessableEntity, "This field is required.")
		owner.Wants(c.override("Eve", c.at(0), c.at(time.Hour)), http.StatusUnprocessableEntity,
			"must name a participant")
		owner.Wants(c.override("Bob", c.at(0), c.at(2*time.Hour)), http.StatusSeeOther, path)
		shown := owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Bob</bdi> is on call", "by an override",
			"until "+c.clock(2*time.Hour))
		owner.Lacks(shown, "Replaced", "eplaced by")
		remove := regexp.MustCompile(`action="([^"]+/overrides/[^"]+/delete)"`).FindStringSubmatch(shown.Text)

		owner.Wants(owner.Get(path+"/edit"), http.StatusOK, `value="Ann"`, "Old phone (disabled)")
		edit := c.edit(slices.Concat(c.participant(0, "Ann", "Ann"), c.participant(1, "Robert", "Bob"))...)
		s.Advance(time.Second)
		owner.Wants(owner.Post(path+"/edit", edit...), http.StatusSeeOther, path)
		owner.Wants(owner.Post(path+"/edit", edit...), http.StatusConflict, "someone else has changed this")
		owner.Lacks(owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Robert</bdi> is on call"),
			"no channel that is enabled")
		owner.Wants(owner.Post(remove[1]), http.StatusSeeOther, path)
		owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Ann</bdi> is on call", "None. An override puts")
	})
}

func TestNewerOverridesReplaceOlderOnes(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		c := newOpsOnCall(s)
		owner, path := c.owner, c.path
		owner.Wants(c.override("Ann", c.at(3*time.Hour), c.at(5*time.Hour)), http.StatusSeeOther, path)
		owner.Lacks(owner.Get(path), "Partly replaced")
		owner.Wants(c.override("Bob", c.at(4*time.Hour), c.at(6*time.Hour)), http.StatusSeeOther, path)
		owner.Wants(owner.Get(path), http.StatusOK, "Partly replaced",
			"replaced by <bdi>Bob</bdi>, by a newer override, from "+c.clock(4*time.Hour)+" until "+
				c.clock(5*time.Hour))
		owner.Wants(c.override("Ann", c.at(4*time.Hour), c.at(6*time.Hour)), http.StatusSeeOther, path)
		owner.Wants(owner.Get(path), http.StatusOK, `pill">Replaced</span>`)
	})
}

// TestRemovedParticipantLosesOverrides removes a participant with an override, which needs a confirmation.
func TestRemovedParticipantLosesOverrides(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		c := newOpsOnCall(s)
		owner, path := c.owner, c.path
		owner.Wants(c.override("Ann", c.at(3*time.Hour), c.at(5*time.Hour)), http.StatusSeeOther, path)
		owner.Wants(c.override("Bob", c.at(4*time.Hour), c.at(6*time.Hour)), http.StatusSeeOther, path)
		alone := c.edit(append(c.participant(0, "Ann", "Ann"), "participants.1.name", "", "participants.1.was",
			"Bob")...)
		const ticked = `name="drop_overrides" value="true" aria-describedby="e-drop_overrides"`
		asked := owner.Wants(owner.Post(path+"/edit", alone...), http.StatusUnprocessableEntity,
			"<bdi>Bob</bdi>, from "+c.clock(4*time.Hour)+" until "+c.clock(6*time.Hour),
			ticked+" autofocus> Delete them")
		if n := strings.Count(asked.Text, "autofocus"); n != 1 {
			t.Errorf("%d fields have the focus", n)
		}
		invalid := slices.Clone(alone)
		invalid[slices.Index(invalid, "starts_on")+1] = "x"
		wrong := owner.Wants(owner.Post(path+"/edit", invalid...), http.StatusUnprocessableEntity,
			ticked+"> Delete them")
		if n := strings.Count(wrong.Text, "autofocus"); n != 1 {
			t.Errorf("with another field that is wrong, %d fields have the focus", n)
		}
		if got := c.overrides(); !slices.Equal(got, []string{"Ann", "Bob"}) {
			t.Errorf("before the deletion is confirmed, the overrides are of %v", got)
		}
		owner.Wants(owner.Post(path+"/edit", append(alone, alerting.DropField, "true")...), http.StatusSeeOther, path)
		if got := c.overrides(); !slices.Equal(got, []string{"Ann"}) {
			t.Errorf("after it, the overrides are of %v", got)
		}
	})
}

// TestEndedOverridesStay renames and removes the participant of overrides that have ended.
func TestEndedOverridesStay(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		c := newOpsOnCall(s)
		owner, path := c.owner, c.path
		for range 2 {
			owner.Wants(c.override("Ann", c.at(3*time.Hour), c.at(5*time.Hour)), http.StatusSeeOther, path)
		}
		s.Advance(7 * time.Hour)
		owner.Wants(owner.Post(path+"/edit", c.edit(c.participant(0, "Anne", "Ann")...)...), http.StatusSeeOther, path)
		if got := c.overrides(); !slices.Equal(got, []string{"Anne", "Anne"}) {
			t.Errorf("with a new name of the participant, the overrides are of %v", got)
		}
		owner.Wants(owner.Post(path+"/edit", c.edit(c.participant(0, "Bob", "")...)...), http.StatusSeeOther, path)
		if got := c.overrides(); !slices.Equal(got, []string{"Anne", "Anne"}) {
			t.Errorf("without their participant, the overrides are of %v", got)
		}
		owner.Wants(owner.Get(path), http.StatusOK, "<bdi>Bob</bdi> is on call", ">Ended</span>")
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
		o := save(first, third)
		if !slices.Equal(o.Participants[0].ChannelIDs, made.Participants[0].ChannelIDs) ||
			!o.UpdatedAt.Equal(made.UpdatedAt) {
			t.Errorf("saved unchanged: %+v", o)
		}
		for _, channels := range [][]string{{first, second, third}, {first, second}} {
			o, want := save(channels...), slices.Sorted(slices.Values(channels))
			if !slices.Equal(o.Participants[0].ChannelIDs, want) {
				t.Errorf("the channels are %v, want %v", o.Participants, want)
			}
		}
	})
}
