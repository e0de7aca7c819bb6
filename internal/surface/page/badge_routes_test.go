package page

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/cache"
)

// TestBadgeOfOldStatusIsUnknown checks that no badge shows a status that the page marks as
// old.
func TestBadgeOfOldStatusIsUnknown(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.clock.set(time.Now()) // which the store's contact is counted by
		w.status("acme", c.ID, kernel.StatusDegraded)
		w.get("/status/acme", 200)
		seen := []string{
			"/status/acme/badge.svg", "/status/acme/badge.json", "/status/acme/badge.svg?label=Status",
			"/status/acme/components/" + c.ID + "/badge.svg",
		}
		says := func(status string) {
			t.Helper()
			for _, path := range seen {
				if got := w.do("GET", path); got.Code != 200 || !strings.Contains(got.Body.String(), status) {
					t.Errorf("%s: %d, not %s: %s", path, got.Code, status, got.Body)
				}
			}
		}
		says("Degraded")
		contact := w.store.LastContact()
		w.store.Close()
		w.clock.set(contact.Add(delayedAfter + time.Millisecond))
		says("Unknown")
		w.clock.set(contact.Add(delayedAfter))
		says("Degraded")
		w.clock.set(contact.Add(30 * time.Hour))
		says("Unknown")
	})
}

// TestDelayedBadge checks that a badge drawn from an old snapshot is not cached as
// a current one.
func TestDelayedBadge(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.get("/status/acme", 200)
		e := w.site.index.Last().find("acme")
		loads := e.snapshot.Load
		e.snapshot.Load = func(context.Context) (*snapshot, time.Time, error) {
			return nil, time.Time{}, errors.New("broken")
		}
		w.status("acme", c.ID, kernel.StatusMajorOutage)
		if got := w.do("GET", "/status/acme/badge.svg").Body.String(); !strings.Contains(got, "Operational") {
			t.Errorf("while the page cannot be made: %s", got)
		}
		e.snapshot.Load = loads
		w.clock.move(cache.RetryDelay)
		if got := w.do("GET", "/status/acme/badge.svg").Body.String(); !strings.Contains(got, "Major Outage") {
			t.Errorf("after it: %s", got)
		}
	})
}
