package page

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// TestAnnouncementsAreShownByTime checks that announcements come and go without a commit.
func TestAnnouncementsAreShownByTime(t *testing.T) {
	run(t, func(w *fixture) {
		w.get("/status/acme", 200)
		begin := w.clock.now().Add(20 * time.Minute)
		for _, n := range []statuspage.Announcement{
			{Title: "Always", Message: "**bold**"},
			{
				Title: hostile, Level: statuspage.AnnouncementWarning, ShownFrom: begin,
				ShownUntil: begin.Add(time.Minute),
			},
		} {
			a, err := w.store.Announcements().Create(w.t.Context(), w.ws, "acme", resource.Announcement.From(n))
			must(w, a, err)
		}
		for i, c := range []struct {
			at   time.Time
			want int
		}{
			{w.clock.now(), 1}, {begin.Add(-time.Millisecond), 1}, {begin, 2},
			{begin.Add(time.Minute - time.Millisecond), 2}, {begin.Add(time.Minute), 1},
		} {
			w.clock.set(c.at)
			p := w.get("/status/acme", 200)
			if got := p.Texts(".notice h2"); len(got) != c.want || got[len(got)-1] != "Always" {
				w.t.Errorf("the announcements in case %d: %q", i, got)
			}
			if got := p.Texts(".notice .message strong"); !slices.Equal(got, []string{"bold"}) {
				w.t.Errorf("%d: Markdown %q", i, got)
			}
		}
		if got := w.get("/status/acme?lang=de", 200).Texts(".notice h2"); !slices.Equal(got, []string{"Always"}) {
			w.t.Errorf("in German: %q", got)
		}
	})
}
