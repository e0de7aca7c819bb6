package api

import (
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// listMaintenances filters by ?state=.
func (a *api) listMaintenances(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	r, state := readPagination(q), web.Choice(q, "state", allswell.MaintenanceStates)
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	maintenances, total, err := a.store.Maintenances(c.Context(), c.actor(), c.PathValue("pageSlug"), state, r)
	if err != nil {
		return store.Response{}, err
	}
	return newListResponse(maintenances, total, r, newMaintenanceJSON)
}

func (a *api) createMaintenance(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
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
		return store.Response{}, o.Check(n.Validate(a.now()))
	}
	// The store validates the times again, by its own clock.
	r := newResponder(c, http.StatusCreated, newMaintenanceWithUpdatesJSON)
	return r.respond(a.store.CreateMaintenance(c.Context(), c.actor(), c.PathValue("pageSlug"), n, r.save...))
}

func (a *api) getMaintenance(c *call) (store.Response, error) {
	m, err := a.store.Maintenance(c.Context(), c.actor(), c.PathValue("maintenanceId"))
	return resourceResponse(m, err, newMaintenanceWithUpdatesJSON)
}

// changeMaintenance changes a maintenance, and begins or ends it. The response has no
// updates.
func (a *api) changeMaintenance(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
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
		// Without the stored maintenance, only these fields can be validated.
		alone := allswell.MaintenanceChange{Title: ch.Title, Components: ch.Components, RemindBefore: ch.RemindBefore}
		return store.Response{}, o.Check(alone.Validate(allswell.Maintenance{}, a.now()))
	}
	m, err := a.store.ChangeMaintenance(c.Context(), c.actor(), c.PathValue("maintenanceId"), ch)
	return resourceResponse(m, err, newMaintenanceJSON)
}

func (a *api) deleteMaintenance(c *call) (store.Response, error) {
	return noContent(a.store.DeleteMaintenance(c.Context(), c.actor(), c.PathValue("maintenanceId")))
}

func (a *api) listMaintenanceUpdates(c *call) (store.Response, error) {
	return serveList(c, newMaintenanceUpdateJSON, func(r store.Pagination) ([]allswell.MaintenanceUpdate, int, error) {
		return a.store.MaintenanceUpdates(c.Context(), c.actor(), c.PathValue("maintenanceId"), r)
	})
}

// postMaintenanceUpdate adds an update to the timeline. With a state, it also begins
// or ends the maintenance.
func (a *api) postMaintenanceUpdate(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	message := orZero(o.Text("message"))
	state := orZero(web.Enum(o, "state", allswell.MaintenanceStates))
	if err := o.Check(allswell.CheckMessage(message)); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newMaintenanceUpdateJSON)
	return r.respond(a.store.PostMaintenanceUpdate(c.Context(), c.actor(), c.PathValue("maintenanceId"), message, state, r.save...))
}

// reminder converts seconds to a duration. Values out of range are clamped to invalid
// ones, so that they do not overflow and validation rejects them.
func reminder(n *int) *time.Duration {
	if n == nil {
		return nil
	}
	const beyond = int(allswell.MaxRemindBefore/time.Second) + 1
	d := time.Duration(min(max(*n, -1), beyond)) * time.Second
	return &d
}
