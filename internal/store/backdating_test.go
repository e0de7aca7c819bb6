package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// beforeRecording is the first update of incidents that are recorded later.
var beforeRecording = statuspage.IncidentUpdate{Message: "It was slow.", Silent: true}

// pastOutage is an incident that began five hours ago, and ended three hours ago.
func (w *world) pastOutage(now time.Time) statuspage.Incident {
	return statuspage.Incident{
		Title: "Slow", CreatedAt: now.Add(-5 * time.Hour), ResolvedAt: now.Add(-3 * time.Hour),
		Affected: []statuspage.AffectedComponent{w.at(kernel.StatusMajorOutage)},
	}
}

// TestBackdatedIncident records an incident that is over, adds updates, and reads its history.
func TestBackdatedIncident(t *testing.T) {
	inWorlds(t, func(w *world) {
		now := w.sixHoursLater()
		n := w.pastOutage(now)
		for field, c := range map[string]func(*statuspage.Incident){
			"began_at":    func(n *statuspage.Incident) { n.CreatedAt = now.Add(-366 * 24 * time.Hour) },
			"resolved_at": func(n *statuspage.Incident) { n.ResolvedAt = now.Add(time.Minute) },
			"state":       func(n *statuspage.Incident) { n.State = statuspage.IncidentMonitoring },
		} {
			wrong := n
			c(&wrong)
			_, err := w.CreateIncident(w.ctx, w.ws, "acme", wrong, beforeRecording, nil)
			w.refused(err, field)
		}
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", n, beforeRecording, nil))(w)
		if !i.CreatedAt.Equal(n.CreatedAt) || !i.ResolvedAt.Equal(n.ResolvedAt) || !i.Resolved ||
			i.Updates[0].State != statuspage.IncidentInvestigating {
			w.Errorf("recorded as %+v", i)
		}
		w.shows(kernel.StatusOperational)
		if d := w.downtime(); d != 2*time.Hour {
			w.Errorf("down for %v, want 2h", d)
		}
		update := func(hours time.Duration, state statuspage.IncidentState) (statuspage.IncidentUpdate, error) {
			return w.PostUpdate(w.ctx, w.ws, i.ID,
				statuspage.IncidentUpdate{Message: "More.", Silent: true, CreatedAt: now.Add(hours * time.Hour)},
				func(i *statuspage.Incident) error {
					i.State = state
					i.Affected = []statuspage.AffectedComponent{}
					return nil
				})
		}
		u := must(update(-4, statuspage.IncidentIdentified))(w)
		if u.State != statuspage.IncidentIdentified || !u.CreatedAt.Equal(now.Add(-4*time.Hour)) {
			w.Errorf("update: %+v", u)
		}
		for _, hours := range []time.Duration{-6, -5, 1} {
			_, err := update(hours, statuspage.IncidentIdentified)
			w.refused(err, "at")
		}
		after := must(w.Incident(w.ctx, w.ws, i.ID))(w)
		if !after.Resolved || !after.ResolvedAt.Equal(n.ResolvedAt) || after.State != statuspage.IncidentResolved ||
			w.downtime() != 2*time.Hour {
			w.Errorf("after the update: %+v", after)
		}
		timeline := after.Timeline()
		if len(timeline) != 3 || timeline[0].State != statuspage.IncidentResolved ||
			timeline[1].State != statuspage.IncidentIdentified {
			w.Errorf("timeline: %+v", timeline)
		}
		if got := w.newEvents(); len(got) != 0 {
			w.Errorf("events: %q", got)
		}
		w.ok(w.DeleteIncident(w.ctx, w.ws, i.ID))
		if d := w.downtime(); d != 0 {
			w.Errorf("down for %v after the incident was deleted", d)
		}
	})
}

// TestBackdatedIncidentIsResolvedLater records incidents that last, and resolves them with updates of earlier times.
func TestBackdatedIncidentIsResolvedLater(t *testing.T) {
	inWorlds(t, func(w *world) {
		now := w.sixHoursLater()
		n := w.pastOutage(now)
		n.ResolvedAt, n.CreatedAt = time.Time{}, now.Add(-time.Hour)
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", n, beforeRecording, nil))(w)
		w.shows(kernel.StatusMajorOutage)
		w.clock.move(time.Hour)
		resolved := w.change(i, func(i *statuspage.Incident) error {
			i.State = statuspage.IncidentResolved
			return nil
		}, statuspage.IncidentUpdate{Message: "Done.", CreatedAt: now.Add(30 * time.Minute)})
		if !resolved.ResolvedAt.Equal(now.Add(30 * time.Minute)) {
			w.Errorf("resolved at %v", resolved.ResolvedAt)
		}
		if d := w.downtime(); d != 2*time.Hour {
			w.Errorf("down for %v, want 2h: the status was shown until it was changed", d)
		}

		// What an update says was over before it was recorded is corrected until then.
		w.ok(w.DeleteIncident(w.ctx, w.ws, i.ID))
		before, now := w.downtime(), now.Add(time.Hour)
		n.CreatedAt = now.Add(-4 * time.Hour)
		i = must(w.CreateIncident(w.ctx, w.ws, "acme", n, beforeRecording, nil))(w)
		w.change(i, func(i *statuspage.Incident) error {
			i.State = statuspage.IncidentResolved
			return nil
		}, statuspage.IncidentUpdate{CreatedAt: now.Add(-3 * time.Hour)})
		if d := w.downtime() - before; d != time.Hour {
			w.Errorf("down for %v more, want 1h", d)
		}
	})
}

// downtime returns how long the component was down during the last two days.
func (w *world) downtime() time.Duration {
	c := must(w.LoadPage(w.ctx, "acme"))(w)
	sum := c.Summarize(c.AsOf)
	return sum.Histories[w.component.ID].Last(2).In(kernel.StatusMajorOutage)
}

// sixHoursLater subscribes a webhook, and lets six hours pass, of which incidents may tell.
func (w *world) sixHoursLater() time.Time {
	w.Helper()
	must(w.CreateSubscriber(w.ctx, w.ws, "acme",
		audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://example.com/hook"}, nil))(w)
	w.clock.move(6 * time.Hour)
	w.newEvents()
	now := must(w.Clock(w.ctx))(w)
	return now
}

// TestBackdatedDraft: the history is corrected once the incident is published.
func TestBackdatedDraft(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.clock.move(6 * time.Hour)
		now := must(w.Clock(w.ctx))(w)
		i := must(w.CreateIncident(w.ctx, w.ws, "acme",
			statuspage.Incident{
				Title: "Slow", Draft: true, CreatedAt: now.Add(-5 * time.Hour), ResolvedAt: now.Add(-3 * time.Hour),
				Affected: []statuspage.AffectedComponent{w.at(kernel.StatusMajorOutage)},
			},
			statuspage.IncidentUpdate{}, nil))(w)
		isDown := func(want time.Duration) {
			w.Helper()
			c := must(w.LoadPage(w.ctx, "acme"))(w)
			if got := c.Summarize(c.AsOf).Histories[w.component.ID].Last(2).In(kernel.StatusMajorOutage); got != want {
				w.Errorf("down for %v, want %v", got, want)
			}
		}
		isDown(0)
		must(w.PublishIncident(w.ctx, w.ws, i.ID, true))(w)
		isDown(2 * time.Hour)
	})
}
