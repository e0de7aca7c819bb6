package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// TestUpdatesStoreSystemMessages: what the service reports by itself is
// kept beside the message in English, and what people write has nothing.
func TestUpdatesStoreSystemMessages(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("job", w.component, kernel.StatusMajorOutage)
		w.goDown(job)
		u := must(w.PostUpdate(w.ctx, w.ws, w.incident().ID,
			statuspage.IncidentUpdate{Message: "The maintenance has begun."}, nil))(w)
		w.pinged(job)
		page := must(w.LoadIncident(w.ctx, "acme", u.IncidentID, 0))(w)
		for _, updates := range [][]statuspage.IncidentUpdate{w.incident().Updates, page.Incidents[0].Updates} {
			if len(updates) != 3 || u.System != (statuspage.SystemMessage{}) || updates[1].System != u.System {
				w.Fatalf("updates: %+v", updates)
			}
			down, up := updates[0].System, updates[2].System
			if down.Kind != statuspage.SystemMessageSilent || down.Interval != time.Minute ||
				!down.Since.Before(updates[0].CreatedAt) || down.Text() != updates[0].Message {
				w.Errorf("down: %+v", updates[0])
			}
			if up.Kind != statuspage.SystemMessagePingsResumed || up.Lasted != updates[2].CreatedAt.Sub(down.Since) ||
				up.Text() != updates[2].Message {
				w.Errorf("up: %+v", updates[2])
			}
		}
		now := w.clock.now()
		m := must(w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "Disks", Updates: []statuspage.MaintenanceUpdate{{Message: "We replace disks."}}, ScheduledFor: now,
			ScheduledUntil: now.Add(time.Hour), Components: statuspage.ComponentRefs(w.component.ID),
		})))(w)
		w.clock.move(time.Hour)
		w.advance()
		updates := must(w.Maintenance(w.ctx, w.ws, m.ID))(w).Updates
		if len(updates) != 3 || updates[0].System != (statuspage.SystemMessage{}) ||
			updates[1].System != (statuspage.SystemMessage{Kind: statuspage.SystemMessageMaintenanceBegun}) ||
			updates[2].System != (statuspage.SystemMessage{Kind: statuspage.SystemMessageMaintenanceEnded}) {
			w.Errorf("maintenance: %+v", updates)
		}
	})
}
