package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var maintenanceRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/maintenances", rights.MaintenanceRead, (*api).listMaintenances, operation{
		id:      "listMaintenances",
		summary: "List the scheduled maintenance of a page, latest first, without updates.",
		text:    "`getMaintenance` has the updates.",
		query: []parameter{
			{name: "state", schema: ref("MaintenanceState"), text: "Only maintenances in this state."},
		},
		returns: list("Maintenance"),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/maintenances", rights.MaintenanceChange, (*api).createMaintenance, operation{
		id:      "createMaintenance",
		summary: "Schedule maintenance.",
		text: "A page can have 200 maintenances that have not ended. One more is 422 on `title`. It begins and ends " +
			"on schedule, and subscribers are notified. Meanwhile its components are under maintenance, and the " +
			"silence of their monitors does not count; at its end each of these monitors gets a new interval. A " +
			"maintenance whose start has passed begins immediately. It lasts from one minute to 31 days, begins " +
			"within two years and ends in the future.",
		returns: created("MaintenanceWithUpdates", "The new maintenance, with its updates."),
	}},
	{"GET", "/api/v1/maintenances/{maintenanceId}", rights.MaintenanceRead, (*api).getMaintenance, operation{
		id:      "getMaintenance",
		summary: "Get a maintenance with its updates, oldest first.",
		returns: one("MaintenanceWithUpdates", "The maintenance."),
	}},
	{"PATCH", "/api/v1/maintenances/{maintenanceId}", rights.MaintenanceChange, (*api).changeMaintenance, operation{
		id:      "changeMaintenance",
		summary: "Change, move, begin or end a maintenance; absent fields keep their values.",
		text: "`scheduled_for` can be changed until it begins, `scheduled_until` until it ends. `state: " +
			"in_progress` begins it and `state: completed` ends it now; it can be `verifying` in between. It cannot " +
			"go back to `scheduled`. If it is begun early, `scheduled_for` becomes now, and it keeps its duration " +
			"unless `scheduled_until` is given too.",
		returns: one("Maintenance", "The maintenance, without its updates."),
	}},
	{"DELETE", "/api/v1/maintenances/{maintenanceId}", rights.MaintenanceChange, (*api).deleteMaintenance, operation{
		id:      "deleteMaintenance",
		summary: "Delete a maintenance.",
		text:    "If it has not ended, it is cancelled and subscribers are notified.",
	}},
	{"GET", "/api/v1/maintenances/{maintenanceId}/updates", rights.MaintenanceRead, (*api).listMaintenanceUpdates,
		operation{
			id:      "listMaintenanceUpdates",
			summary: "List the updates of a maintenance, oldest first.",
			returns: list("MaintenanceUpdate"),
		}},
	{"POST", "/api/v1/maintenances/{maintenanceId}/updates", rights.MaintenanceChange, (*api).postMaintenanceUpdate,
		operation{
			id:      "addMaintenanceUpdate",
			summary: "Add an update to the timeline and notify subscribers.",
			text: "A `state` also begins or ends the maintenance, with this message. A maintenance can have 1,000 " +
				"updates. " +
				"One more is 422 on `message`.",
			returns: created("MaintenanceUpdate", "The new update."),
		}},
}

// listMaintenances filters by ?state=.
func (a *api) listMaintenances(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	r, state := readPagination(q), web.Choice(q, "state", statuspage.MaintenanceStates)
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	maintenances, total, err := a.store.Maintenances(c.Context(), c.actor(), c.PathValue("pageSlug"), state, r)
	if err != nil {
		return store.Response{}, err
	}
	return newListResponse(maintenances, total, r, resource.Maintenance.JSON)
}

func (a *api) createMaintenance(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, resource.Maintenance.DetailJSON)
	return r.respond(a.store.CreateMaintenance(c.Context(), c.actor(), c.PathValue("pageSlug"),
		resource.Maintenance.Read(o, field.Creation), r.save...))
}

func (a *api) getMaintenance(c *call) (store.Response, error) {
	m, err := a.store.Maintenance(c.Context(), c.actor(), c.PathValue("maintenanceId"))
	return resourceResponse(m, err, resource.Maintenance.DetailJSON)
}

// changeMaintenance changes a maintenance, and begins or ends it. The response has no updates.
func (a *api) changeMaintenance(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	m, err := a.store.ChangeMaintenance(c.Context(), c.actor(), c.PathValue("maintenanceId"),
		resource.Maintenance.Read(o, field.Changing), "")
	return resourceResponse(m, err, resource.Maintenance.JSON)
}

func (a *api) deleteMaintenance(c *call) (store.Response, error) {
	return noContent(a.store.DeleteMaintenance(c.Context(), c.actor(), c.PathValue("maintenanceId")))
}

func (a *api) listMaintenanceUpdates(c *call) (store.Response, error) {
	return serveList(c, resource.MaintenanceUpdate.JSON,
		func(r store.Pagination) ([]statuspage.MaintenanceUpdate, int, error) {
			return a.store.MaintenanceUpdates(c.Context(), c.actor(), c.PathValue("maintenanceId"), r)
		})
}

// postMaintenanceUpdate adds an update to the timeline. With a state, it also begins or ends the maintenance.
func (a *api) postMaintenanceUpdate(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	update := resource.MaintenanceUpdate.Read(o, field.Creation)
	r := newResponder(c, http.StatusCreated, resource.MaintenanceUpdate.JSON)
	return r.respond(
		a.store.PostMaintenanceUpdate(c.Context(), c.actor(), c.PathValue("maintenanceId"), update, "", r.save...))
}
