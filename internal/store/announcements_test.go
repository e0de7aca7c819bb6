package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/resource"
)

func TestAnnouncements(t *testing.T) {
	inWorlds(t, func(w *world) {
		var all []allswell.Announcement
		for range allswell.MaxAnnouncements {
			all = append(all, must(w.Announcements().Create(w.ctx, w.ws, "acme", resource.Announcement.From(allswell.Announcement{Title: "a", ShownUntil: w.clock.now().Add(time.Hour)})))(w))
		}
		var bad *allswell.ValidationError
		if _, err := w.Announcements().Create(w.ctx, w.ws, "acme", resource.Announcement.From(allswell.Announcement{Title: "a"})); !errors.As(err, &bad) || !bad.Has("title") {
			t.Errorf("one more: %v", err)
		}
		w.clock.move(time.Hour)
		must(w.Announcements().Create(w.ctx, w.ws, "acme", resource.Announcement.From(allswell.Announcement{Title: "b"})))(w)
		for i, a := range all {
			_, err := w.Announcements().Change(w.ctx, w.ws, "", a.ID, func(a *allswell.Announcement) error { a.ShownUntil = time.Time{}; return nil }, allswell.Precondition{})
			if (err != nil) != (i == len(all)-1) {
				t.Errorf("showing number %d again: %v", i, err)
			}
		}
		stale := allswell.Precondition{Tags: []string{allswell.EntityTag(resource.Announcement.Audited(all[0]))}}
		if _, err := w.Announcements().Change(w.ctx, w.ws, "", all[0].ID, func(a *allswell.Announcement) error { a.Title = "c"; return nil }, stale); !errors.Is(err, allswell.ErrPreconditionFailed) {
			t.Errorf("a stale change: %v", err)
		}
		events := w.value(`SELECT count(*) FROM events`)
		w.ok(w.Announcements().Delete(w.ctx, w.ws, "", all[0].ID, allswell.Precondition{}))
		if got := w.value(`SELECT count(*) FROM events`); got != events || got != "0" {
			t.Errorf("%s events", got)
		}
		if p := must(w.LoadPage(w.ctx, "acme"))(w); len(p.Announcements) != allswell.MaxAnnouncements-1 {
			t.Errorf("the page has %d announcements", len(p.Announcements))
		}
	})
}
