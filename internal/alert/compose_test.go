package alert

import (
	"fmt"
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
			t.Errorf("%d threads, follows %v: %d notices, thread %q, own %v", c.threads, c.follows, len(chosen), thread, own)
		}
		if len(waiting) == 0 {
			continue
		}
		begun := append(waiting, Notice{Kind: NoticeOpened})
		if chosen, thread, own = Compose(begun, c.follows); len(chosen) != 1 || chosen[0].Kind != NoticeOpened || thread != "" || !own {
			t.Errorf("%d threads and a new alert: %+v, thread %q, own %v", c.threads, chosen, thread, own)
		}
	}
}
