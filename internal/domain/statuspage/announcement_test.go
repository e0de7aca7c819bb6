package statuspage_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

func TestAnnouncements(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	after := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	all := []statuspage.Announcement{
		{ID: "open", Level: statuspage.AnnouncementInfo, ShownFrom: after(-3)},
		{ID: "begins", Level: statuspage.AnnouncementInfo, ShownFrom: now, ShownUntil: after(2)},
		{ID: "over", Level: statuspage.AnnouncementWarning, ShownFrom: after(-2), ShownUntil: now},
		{ID: "later", Level: statuspage.AnnouncementWarning, ShownFrom: after(1)},
		{ID: "warning", Level: statuspage.AnnouncementWarning, ShownFrom: after(-9), ShownUntil: after(3)},
	}
	for hours, want := range map[int]string{
		-1: "over warning open", 0: "warning begins open", 1: "later warning begins open", 2: "later warning open",
		3: "later open",
	} {
		var got []string
		for _, a := range (statuspage.PageContents{Announcements: all}).Summarize(after(hours)).Announcements {
			got = append(got, a.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("after %d hours: %q, want %q", hours, got, want)
		}
	}
	var changes []time.Time
	for at := after(-4); ; changes = append(changes, at) {
		if at = statuspage.NextAnnouncementChange(all, at); at.IsZero() {
			break
		}
	}
	if want := []time.Time{after(-3), after(-2), now, after(1), after(2), after(3)}; !slices.Equal(changes, want) {
		t.Errorf("changes at %v, want %v", changes, want)
	}
}
