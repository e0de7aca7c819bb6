package api

import (
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// listMaintenances takes ?state= beside the range.
func (a *api) listMaintenances(c *call) (store.StoredResponse, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	r, state := readRange(q), web.Choice(q, "state", allswell.MaintenanceStates)
	if err := q.Check(); err != nil {
		return store.StoredResponse{}, err
	}
	maintenances, total, err := a.store.Maintenances(c.Context(), c.actor(), c.PathValue("pageSlug"), state, r)
	if err != nil {
		return store.StoredResponse{}, err
	}
	return many(maintenances, total, r, presentMaintenance)
}

func (a *api) createMaintenance(c *call) (store.StoredResponse, error) {
	o, err := c.object()
	if err != nil {
		return store.StoredResponse{}, err
	}
	n := allswell.NewMaintenance{
		Title:          orZero(o.Text("title")),
		Message:        o.Text("message"),
		ScheduledFor:   orZero(o.Instant("scheduled_for")),
		ScheduledUntil: orZero(o.Instant("scheduled_until")),
		Components:     o.Texts("components"),
		RemindBefore:   reminder(o.Integer("remind_before")),
	}
	if o.Check(nil) != nil {
		return store.StoredResponse{}, o.Check(n.Validate(a.now()))
	}
	// What time it is is for the store to say.
	r := newResponder(c, http.StatusCreated, presentSchedule)
	return r.respond(a.store.CreateMaintenance(c.Context(), c.actor(), c.PathValue("pageSlug"), n, r.save...))
}

func (a *api) getMaintenance(c *call) (store.StoredResponse, error) {
	m, err := a.store.Maintenance(c.Context(), c.actor(), c.PathValue("maintenanceId"))
	return show(m, err, presentSchedule)
}

// changeMaintenance moves, begins and ends a maintenance, among others; its
// answer has no updates.
func (a *api) changeMaintenance(c *call) (store.StoredResponse, error) {
	o, err := c.object()
	if err != nil {
		return store.StoredResponse{}, err
	}
	ch := allswell.MaintenanceChange{
		Title:          o.Text("title"),
		ScheduledFor:   o.Instant("scheduled_for"),
		ScheduledUntil: o.Instant("scheduled_until"),
		RemindBefore:   reminder(o.Integer("remind_before")),
		State:          web.Enum(o, "state", allswell.MaintenanceStates),
	}
	if components := o.Texts("components"); components != nil {
		ch.Components = &components
	}
	if o.Check(nil) != nil {
		// What the fields alone tell; the rest depends on what there is.
		alone := allswell.MaintenanceChange{Title: ch.Title, Components: ch.Components, RemindBefore: ch.RemindBefore}
		return store.StoredResponse{}, o.Check(alone.Validate(allswell.Maintenance{}, a.now()))
	}
	m, err := a.store.ChangeMaintenance(c.Context(), c.actor(), c.PathValue("maintenanceId"), ch)
	return show(m, err, presentMaintenance)
}

func (a *api) deleteMaintenance(c *call) (store.StoredResponse, error) {
	return gone(a.store.DeleteMaintenance(c.Context(), c.actor(), c.PathValue("maintenanceId")))
}

func (a *api) listMaintenanceUpdates(c *call) (store.StoredResponse, error) {
	return list(c, presentNotice, func(r store.Pagination) ([]allswell.MaintenanceUpdate, int, error) {
		return a.store.MaintenanceUpdates(c.Context(), c.actor(), c.PathValue("maintenanceId"), r)
	})
}

// postMaintenanceUpdate adds to the timeline; with a state it also begins or
// ends the maintenance.
func (a *api) postMaintenanceUpdate(c *call) (store.StoredResponse, error) {
	o, err := c.object()
	if err != nil {
		return store.StoredResponse{}, err
	}
	message := orZero(o.Text("message"))
	state := orZero(web.Enum(o, "state", allswell.MaintenanceStates))
	if err := o.Check(allswell.CheckMessage(message)); err != nil {
		return store.StoredResponse{}, err
	}
	r := newResponder(c, http.StatusCreated, presentNotice)
	return r.respond(a.store.PostMaintenanceUpdate(c.Context(), c.actor(), c.PathValue("maintenanceId"), message, state, r.save...))
}

// reminder makes a duration of seconds as clients give them. What is beyond
// the limits is refused anyway, and may not overflow before.
func reminder(n *int) *time.Duration {
	if n == nil {
		return nil
	}
	const beyond = int(allswell.MaxRemindBefore/time.Second) + 1
	d := time.Duration(min(max(*n, -1), beyond)) * time.Second
	return &d
}
