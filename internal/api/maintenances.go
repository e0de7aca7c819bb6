package api

import (
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// maintenanceRoutes are the routes of maintenances.
var maintenanceRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/maintenances", rights.MaintenanceRead, (*api).listMaintenances, operation{
		id:      "listMaintenances",
		summary: "List the planned maintenances of a page, latest first, without their updates.",
		text:    "`getMaintenance` has the updates.",
		query: []parameter{
			{name: "state", schema: ref("MaintenanceState"), text: "Only maintenances in this state."},
		},
		returns: list("Maintenance"),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/maintenances", rights.MaintenanceChange, (*api).createMaintenance, operation{
		id:      "createMaintenance",
		summary: "Plan a maintenance.",
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
	{"GET", "/api/v1/maintenances/{maintenanceId}/updates", rights.MaintenanceRead, (*api).listMaintenanceUpdates, operation{
		id:      "listMaintenanceUpdates",
		summary: "List the updates of a maintenance, oldest first.",
		returns: list("MaintenanceUpdate"),
	}},
	{"POST", "/api/v1/maintenances/{maintenanceId}/updates", rights.MaintenanceChange, (*api).postMaintenanceUpdate, operation{
		id:      "addMaintenanceUpdate",
		summary: "Add an update to the timeline and notify subscribers.",
		text:    "A maintenance can have 1,000 updates. One more is 422 on `message`.",
		returns: created("MaintenanceUpdate", "The new update."),
	}},
}

type maintenanceJSON struct {
	ID             string                    `json:"id"`
	Title          string                    `json:"title"`
	State          allswell.MaintenanceState `json:"state"`
	ScheduledFor   string                    `json:"scheduled_for"`
	ScheduledUntil string                    `json:"scheduled_until"`
	BegunAt        *string                   `json:"begun_at"`
	EndedAt        *string                   `json:"ended_at"`
	RemindBefore   int64                     `json:"remind_before"` // seconds; 0: no reminder
	Components     []componentRefJSON        `json:"components"`
	CreatedAt      string                    `json:"created_at"`
	UpdatedAt      string                    `json:"updated_at"`
}

type componentRefJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func newMaintenanceJSON(m allswell.Maintenance) maintenanceJSON {
	out := maintenanceJSON{
		ID: m.ID, Title: m.Title, State: m.State,
		ScheduledFor: allswell.FormatTime(m.ScheduledFor), ScheduledUntil: allswell.FormatTime(m.ScheduledUntil),
		BegunAt: timePtr(m.BegunAt), EndedAt: timePtr(m.EndedAt), RemindBefore: int64(m.RemindBefore / time.Second),
		Components: make([]componentRefJSON, len(m.Components)),
		CreatedAt:  allswell.FormatTime(m.CreatedAt), UpdatedAt: allswell.FormatTime(m.UpdatedAt),
	}
	for i, c := range m.Components {
		out.Components[i] = componentRefJSON(c)
	}
	return out
}

// maintenanceWithUpdatesJSON is a maintenance with its updates, oldest first.
type maintenanceWithUpdatesJSON struct {
	maintenanceJSON
	Updates []maintenanceUpdateJSON `json:"updates"`
}

func newMaintenanceWithUpdatesJSON(m allswell.Maintenance) maintenanceWithUpdatesJSON {
	out := maintenanceWithUpdatesJSON{
		maintenanceJSON: newMaintenanceJSON(m), Updates: make([]maintenanceUpdateJSON, len(m.Updates)),
	}
	for i, u := range m.Updates {
		out.Updates[i] = newMaintenanceUpdateJSON(u)
	}
	return out
}

// maintenanceUpdateJSON is an update of a maintenance.
type maintenanceUpdateJSON struct {
	ID        string                    `json:"id"`
	Message   string                    `json:"message"`
	State     allswell.MaintenanceState `json:"state"`
	CreatedAt string                    `json:"created_at"`
}

func newMaintenanceUpdateJSON(u allswell.MaintenanceUpdate) maintenanceUpdateJSON {
	return maintenanceUpdateJSON{ID: u.ID, Message: u.Message, State: u.State, CreatedAt: allswell.FormatTime(u.CreatedAt)}
}

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
		State:          jsonobject.Enum(o, "state", allswell.MaintenanceStates),
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
	state := orZero(jsonobject.Enum(o, "state", allswell.MaintenanceStates))
	if err := o.Check(allswell.CheckMessage(message)); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newMaintenanceUpdateJSON)
	return r.respond(a.store.PostMaintenanceUpdate(c.Context(), c.actor(), c.PathValue("maintenanceId"), allswell.NewMaintenanceUpdate{Message: message, State: state}, r.save...))
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
