package alert

import (
	"fmt"
	"slices"
	"testing"
)

// TestCompose checks which news of several threads are one message.
func TestCompose(t *testing.T) {
	for _, c := range []struct {
		threads int
		follows bool
		chosen  int
		thread  string
		own     bool
	}{
		{threads: 0},
		{threads: 1, chosen: 2, thread: "thr_0", own: true},
		{threads: threadsApart, chosen: 2, thread: "thr_0", own: true},
		{threads: threadsApart + 1, chosen: 2 * (threadsApart + 1)},
		{threads: threadsApart + 1, follows: true, chosen: 2, thread: "thr_0", own: true},
	} {
		var waiting []Notice
		for range 2 {
			for i := range c.threads {
				waiting = append(waiting, Notice{ThreadID: fmt.Sprint("thr_", i), Kind: NoticeRepeated})
			}
		}
		chosen, thread, own := Compose(waiting, c.follows)
		if len(chosen) != c.chosen || thread != c.thread || own != c.own {
			t.Errorf("%d threads, follows %v: %d notices, thread %q, own %v", c.threads, c.follows, len(chosen), thread,
				own)
		}
		if len(waiting) == 0 {
			continue
		}
		begun := append(waiting, Notice{Kind: NoticeOpened})
		chosen, thread, own = Compose(begun, c.follows)
		if len(chosen) != 1 || chosen[0].Kind != NoticeOpened || thread != "" || !own {
			t.Errorf("%d threads and a new alert: %+v, thread %q, own %v", c.threads, chosen, thread, own)
		}
	}
}

// TestManyAlerts checks how a message says how many alerts it is about, and how many it does not list.
func TestManyAlerts(t *testing.T) {
	m := exampleMessage()
	m.Items = slices.Repeat(m.Items[:1], 1000+MaxLines)
	if got := m.Headline(); got != "1,020 monitors are down" {
		t.Errorf("Headline of 1,020 alerts = %q", got)
	}
	lines, more := m.Lines()
	if got := MoreLine(more); len(lines) != MaxLines || got != "and 1,000 more" {
		t.Errorf("Lines and MoreLine of 1,020 alerts: %d lines, %q", len(lines), got)
	}
}
