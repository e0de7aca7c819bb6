package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

func TestAnnouncements(t *testing.T) {
	inWorlds(t, func(w *world) {
		var all []statuspage.Announcement
		for range statuspage.MaxAnnouncements {
			all = append(all,
				must(w.Announcements().Create(w.ctx, w.ws, "acme", resource.Announcement.From(statuspage.Announcement{
					Title: "a", ShownUntil: w.clock.now().Add(time.Hour),
				})))(w))
		}
		var bad *kernel.ValidationError
		_, err := w.Announcements().Create(w.ctx, w.ws, "acme",
			resource.Announcement.From(statuspage.Announcement{Title: "a"}))
		if !errors.As(err, &bad) || !bad.Has("title") {
			t.Errorf("one more: %v", err)
		}
		w.clock.move(time.Hour)
		must(w.Announcements().Create(w.ctx, w.ws, "acme",
			resource.Announcement.From(statuspage.Announcement{Title: "b"})))(w)
		for i, a := range all {
			_, err := w.Announcements().Change(w.ctx, w.ws, "", a.ID, func(a *statuspage.Announcement) error {
				a.ShownUntil = time.Time{}
				return nil
			}, kernel.Precondition{})
			if (err != nil) != (i == len(all)-1) {
				t.Errorf("showing number %d again: %v", i, err)
			}
		}
		stale := kernel.Precondition{Tags: []string{kernel.EntityTag(resource.Announcement.Audited(all[0]))}}
		if _, err := w.Announcements().Change(w.ctx, w.ws, "", all[0].ID, func(a *statuspage.Announcement) error {
			a.Title = "c"
			return nil
		}, stale); !errors.Is(err, kernel.ErrPreconditionFailed) {
			t.Errorf("a stale change: %v", err)
		}
		events := w.value(`SELECT count(*) FROM events`)
		w.ok(w.Announcements().Delete(w.ctx, w.ws, "", all[0].ID, kernel.Precondition{}))
		if got := w.value(`SELECT count(*) FROM events`); got != events || got != "0" {
			t.Errorf("%s events", got)
		}
		if p := must(w.LoadPage(w.ctx, "acme"))(w); len(p.Announcements) != statuspage.MaxAnnouncements-1 {
			t.Errorf("the page has %d announcements", len(p.Announcements))
		}
	})
}
