package alert

import (
	"testing"
	"time"
)

// TestLateMessage checks that a message that is sent after the end of its alert, because the channel failed until then,
// does not say that the problem lasts.
func TestLateMessage(t *testing.T) {
	opened := time.Date(2026, 11, 26, 5, 54, 0, 0, time.UTC)
	for _, c := range []struct {
		event    Event
		kinds    []NoticeKind
		resolved time.Time
		want     string
	}{
		{MonitorDown, []NoticeKind{NoticeOpened}, time.Time{}, "Shop is down"},
		{MonitorDown, []NoticeKind{NoticeOpened}, opened.Add(4 * time.Minute),
			"Shop was down for 4 minutes. Shop is up again"},
		{MonitorDown, []NoticeKind{NoticeRepeated}, opened.Add(4 * time.Minute), "Shop is up again after 4 minutes"},
		{ServiceGap, []NoticeKind{NoticeOpened}, opened, "Shop was interrupted"}, // it is over when it begins
	} {
		a := Alert{Subject: Subject{Event: c.event, Name: "Shop"}, OpenedAt: opened, ResolvedAt: c.resolved}
		if got := (Item{a, c.kinds}).Title(opened.Add(5 * time.Minute)); got != c.want {
			t.Errorf("Title of %s, %v = %q, want %q", c.event, c.kinds, got, c.want)
		}
	}
}
