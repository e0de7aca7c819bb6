package allswell_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

func TestAnnouncements(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	after := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	all := []allswell.Announcement{
		{ID: "open", Level: allswell.AnnouncementInfo, ShownFrom: after(-3)},
		{ID: "begins", Level: allswell.AnnouncementInfo, ShownFrom: now, ShownUntil: after(2)},
		{ID: "over", Level: allswell.AnnouncementWarning, ShownFrom: after(-2), ShownUntil: now},
		{ID: "later", Level: allswell.AnnouncementWarning, ShownFrom: after(1)},
		{ID: "warning", Level: allswell.AnnouncementWarning, ShownFrom: after(-9), ShownUntil: after(3)},
	}
	for hours, want := range map[int]string{-1: "over warning open", 0: "warning begins open", 1: "later warning begins open", 2: "later warning open", 3: "later open"} {
		var got []string
		for _, a := range (allswell.PageContents{Announcements: all}).Summarize(after(hours)).Announcements {
			got = append(got, a.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("after %d hours: %q, want %q", hours, got, want)
		}
	}
	var changes []time.Time
	for at := after(-4); ; changes = append(changes, at) {
		if at = allswell.NextAnnouncementChange(all, at); at.IsZero() {
			break
		}
	}
	if want := []time.Time{after(-3), after(-2), now, after(1), after(2), after(3)}; !slices.Equal(changes, want) {
		t.Errorf("changes at %v, want %v", changes, want)
	}

	checkFields(t, allswell.NewAnnouncement{Title: "x"}.Validate(now))
	checkFields(t, allswell.NewAnnouncement{Message: strings.Repeat("x", 2001), Level: "loud", ShownUntil: now}.Validate(now), "level", "message", "shown_until", "title")
	checkFields(t, allswell.NewAnnouncement{Title: "x", ShownFrom: after(24 * 1000)}.Validate(now), "shown_from")
	a := allswell.NewAnnouncement{Title: "x", ShownUntil: after(1)}.Create("page_1", "ann_1", now)
	checkFields(t, a.Apply(allswell.AnnouncementChange{ShownFrom: new(after(1))}, now), "shown_until")
	checkFields(t, a.Apply(allswell.AnnouncementChange{ShownUntil: new(time.Time)}, after(1)))
	if !a.ShownUntil.IsZero() || !a.UpdatedAt.Equal(after(1)) {
		t.Errorf("without an end it is %+v", a)
	}
}
