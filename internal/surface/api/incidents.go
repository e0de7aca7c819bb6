package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var incidentRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/incidents", rights.IncidentRead, (*api).listIncidents, operation{
		id:      "listIncidents",
		summary: "List the incidents of a page, newest first, without their updates.",
		text:    "`getIncident` has the updates.",
		query: []parameter{
			{name: "resolved", schema: yesOrNo, text: "Only resolved incidents, or only unresolved ones."},
			{name: "draft", schema: defaultsTo(false),
				text: "Drafts in place of the published incidents. An outage opens a draft if `auto_incidents` says " +
					"so. Visitors and subscribers do not see it."},
			{name: "component_id", schema: anyText, text: "Only incidents that affect this component."},
		},
		returns: list("Incident"),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/incidents", rights.IncidentChange, (*api).createIncident, operation{
		id:       "createIncident",
		summary:  "Create an incident.",
		text:     "A page can have 200 open incidents that people opened. One more, created or reopened, is 422.",
		returns:  created("IncidentWithUpdates", "The new incident, with its updates."),
		contract: true,
	}},
	{"GET", "/api/v1/incidents/{incidentId}", rights.IncidentRead, (*api).getIncident, operation{
		id:      "getIncident",
		summary: "Get an incident with its updates, oldest first.",
		returns: one("IncidentWithUpdates", "The incident."),
	}},
	{"PATCH", "/api/v1/incidents/{incidentId}", rights.IncidentChange, (*api).changeIncident, operation{
		id:      "changeIncident",
		summary: "Change an incident; absent fields keep their values.",
		text: "`resolved`, not the state, moves an incident to history. `resolved: true` resolves it and sets " +
			"`resolved_at`, each time it is sent; the state stays. `state: resolved` resolves one that is not " +
			"resolved. `resolved: false` reopens it, and gives its components their statuses again; a state " +
			"`resolved` becomes `investigating` unless another is sent, and with `state: resolved` it is 422. " +
			"Another state changes only the state of a resolved incident. A `message` adds an update after the " +
			"change, and subscribers are notified once of both. A blank `message` is ignored. So is one that " +
			"repeats the newest update while nothing else changes: a request can be repeated. `postUpdate` adds an " +
			"update in any case.",
		returns:  one("Incident", "The incident, without its updates."),
		contract: true,
	}},
	{"DELETE", "/api/v1/incidents/{incidentId}", rights.IncidentChange, (*api).deleteIncident, operation{
		id:      "deleteIncident",
		summary: "Delete an incident and its updates.",
	}},
	{"POST", "/api/v1/incidents/{incidentId}/publish", rights.IncidentChange, (*api).publishIncident, operation{
		id:      "publishIncident",
		summary: "Publish a draft and notify subscribers.",
		text: "An incident that is published already does not change. A draft that is resolved can still be " +
			"published. The body is ignored.",
		query: []parameter{
			{name: "notify", schema: defaultsTo(true), text: "`false`: no one is notified."},
		},
		returns: one("IncidentWithUpdates", "The incident with its updates, oldest first."),
	}},
	{"GET", "/api/v1/incidents/{incidentId}/notes", rights.IncidentRead, (*api).listIncidentNotes, operation{
		id:      "listIncidentNotes",
		summary: "List how the job of an incident's monitor failed, oldest first.",
		text:    "Visitors and subscribers do not see the notes.",
		returns: listWith("IncidentNote", "One page of the list. Most incidents have no notes."),
	}},
	{"GET", "/api/v1/incidents/{incidentId}/components", rights.IncidentRead, (*api).getIncidentComponents, operation{
		id:      "getAffectedComponents",
		summary: "List all components that an incident affects, in their order.",
		returns: all("AffectedComponent", "The components."),
	}},
	{"PUT", "/api/v1/incidents/{incidentId}/components", rights.IncidentChange, (*api).putIncidentComponents, operation{
		id:      "setAffectedComponents",
		summary: "Replace the affected components of an incident.",
		text: "While the incident is not resolved, a component has at least the status that the incident gives it; " +
			"`operational` only marks it as affected. A status that is set manually afterwards takes precedence.",
		returns: all("AffectedComponent", "The components."),
	}},
}

// incidentJSON is an incident without its updates.
type incidentJSON struct {
	ID         string                   `json:"id"`
	Title      string                   `json:"title"`
	Impact     kernel.Impact            `json:"impact"`
	State      statuspage.IncidentState `json:"state"`
	Resolved   bool                     `json:"resolved"`
	ResolvedAt *string                  `json:"resolved_at"`
	CreatedAt  string                   `json:"created_at"`
	UpdatedAt  string                   `json:"updated_at"`
}

func newIncidentJSON(i statuspage.Incident) incidentJSON {
	return incidentJSON{
		ID: i.ID, Title: i.Title, Impact: i.Impact, State: i.State,
		Resolved: i.Resolved, ResolvedAt: timePtr(i.ResolvedAt),
		CreatedAt: kernel.FormatTime(i.CreatedAt), UpdatedAt: kernel.FormatTime(i.UpdatedAt),
	}
}

// incidentWithUpdatesJSON is an incident with its updates, oldest first.
type incidentWithUpdatesJSON struct {
	incidentJSON
	Updates []timelineEntryJSON `json:"updates"`
}

func newIncidentWithUpdatesJSON(i statuspage.Incident) incidentWithUpdatesJSON {
	out := incidentWithUpdatesJSON{incidentJSON: newIncidentJSON(i), Updates: make([]timelineEntryJSON, len(i.Updates))}
	for n, u := range i.Updates {
		out.Updates[n] = newTimelineEntryJSON(u)
	}
	return out
}

// affectedComponentJSON is a component that an incident affects.
type affectedComponentJSON struct {
	ID     string        `json:"id"`
	Name   string        `json:"name"`
	Status kernel.Status `json:"status"`
}

func newAffectedComponentsJSON(affected []statuspage.AffectedComponent) []affectedComponentJSON {
	out := make([]affectedComponentJSON, len(affected))
	for i, a := range affected {
		out[i] = affectedComponentJSON{a.ComponentID, a.Name, a.Status}
	}
	return out
}

// listIncidents filters by ?resolved=true or false and by ?component_id, and lists drafts with ?draft=true.
func (a *api) listIncidents(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	r, f := readPagination(q), store.IncidentFilter{
		Resolved: q.Flag("resolved"), Drafts: optional.Value(q.Flag("draft")), Component: q.Text("component_id"),
	}
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	incidents, total, err := a.store.Incidents(c.Context(), c.actor(), c.PathValue("pageSlug"), f, r)
	if err != nil {
		return store.Response{}, err
	}
	return newListResponse(incidents, total, r, newIncidentJSON)
}

// createIncident returns the incident with its updates.
func (a *api) createIncident(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	i := statuspage.Incident{
		Title:  optional.Value(o.Text("title")),
		Impact: optional.Value(jsonobject.Enum(o, "impact", kernel.Impacts)),
		State:  optional.Value(jsonobject.Enum(o, "state", statuspage.IncidentStates)),
		Draft:  optional.Value(o.Flag("draft")), CreatedAt: optional.Value(o.Instant("began_at")),
		ResolvedAt: optional.Value(o.Instant("resolved_at")), Affected: readAffected(o),
	}
	message, template := o.Text("message"), optional.Value(o.Text("template"))
	first := statuspage.IncidentUpdate{
		Message: optional.Value(message), Silent: readSilentPast(o, !i.ResolvedAt.IsZero()),
	}
	if message != nil && *message == "" {
		o.Add("message", kernel.Required)
	}
	page := c.PathValue("pageSlug")
	if template != "" {
		if i, first, err = a.store.BeginIncident(c.Context(), c.actor(), page, template, i, first); err != nil {
			return store.Response{}, o.Check(err)
		}
	}
	found := o.Check(i.CheckNew(first))
	r := newResponder(c, http.StatusCreated, newIncidentWithUpdatesJSON)
	return r.respond(a.store.CreateIncident(c.Context(), c.actor(), page, i, first, found, r.save...))
}

func (a *api) getIncident(c *call) (store.Response, error) {
	incident, err := a.store.Incident(c.Context(), c.actor(), c.PathValue("incidentId"))
	return resourceResponse(incident, err, newIncidentWithUpdatesJSON)
}

// changeIncident returns the incident without its updates.
func (a *api) changeIncident(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	title, resolved := o.Text("title"), o.Flag("resolved")
	impact, state := jsonobject.Enum(o, "impact", kernel.Impacts), jsonobject.Enum(o, "state",
		statuspage.IncidentStates)
	u := statuspage.IncidentUpdate{Message: optional.Value(o.Text("message")), Silent: readSilent(o)}
	if strings.TrimSpace(u.Message) == "" {
		u.Message = "" // forms send a field that is left empty
	}
	if resolved != nil && !*resolved && optional.Value(state) == statuspage.IncidentResolved {
		o.Add("resolved", "field cannot be false while the state is resolved")
	}
	change := changeOf(o, func(i *statuspage.Incident) {
		set(&i.Title, title)
		setImpact(i, impact)
		set(&i.State, state)
		if resolved != nil {
			i.SetResolved(*resolved)
		}
	})
	incident, err := a.store.ChangeIncident(c.Context(), c.actor(), c.PathValue("incidentId"), change, u, "")
	return resourceResponse(incident, err, newIncidentJSON)
}

// changeOf returns change as an IncidentChange. The IncidentChange returns the errors of reading o.
func changeOf(o *jsonobject.Object, change func(*statuspage.Incident)) statuspage.IncidentChange {
	unread := o.Check(nil)
	return func(i *statuspage.Incident) error {
		change(i)
		return unread
	}
}

// set sets a field to *given unless given is nil.
func set[T any](field *T, given *T) {
	if given != nil {
		*field = *given
	}
}

func setImpact(i *statuspage.Incident, impact *kernel.Impact) {
	if impact != nil {
		i.SetImpact(*impact)
	}
}

func setAffected(i *statuspage.Incident, affected []statuspage.AffectedComponent) {
	if affected != nil {
		i.Affected = affected
	}
}

// readSilent reports whether the body has "notify": false, so that nobody is notified.
func readSilent(o *jsonobject.Object) bool {
	notify := o.Flag("notify")
	return notify != nil && !*notify
}

// readSilentPast is readSilent for an incident or update that may be over. If over is set, nobody is notified unless
// the body has "notify": true.
func readSilentPast(o *jsonobject.Object, over bool) bool {
	notify := o.Flag("notify")
	return notify == nil && over || notify != nil && !*notify
}

// publishIncident publishes a draft; with ?notify=false, nobody is notified. It reads no body.
func (a *api) publishIncident(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	notify := q.Flag("notify")
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusOK, newIncidentWithUpdatesJSON)
	return r.respond(a.store.PublishIncident(c.Context(), c.actor(), c.PathValue("incidentId"),
		notify != nil && !*notify, r.save...))
}

func (a *api) deleteIncident(c *call) (store.Response, error) {
	return noContent(a.store.DeleteIncident(c.Context(), c.actor(), c.PathValue("incidentId")))
}

// readAffected reads the affected components of an incident with their statuses. It returns nil if they are absent.
func readAffected(o *jsonobject.Object) []statuspage.AffectedComponent {
	items := o.Objects("components", statuspage.MaxAffectedComponents)
	if items == nil {
		return nil
	}
	affected := make([]statuspage.AffectedComponent, len(items))
	for i, item := range items {
		item.Require("id", "status")
		affected[i] = statuspage.AffectedComponent{
			ComponentID: strconv.Itoa(i), // unique, so that two invalid ids are not reported as duplicates
			Status:      optional.Value(jsonobject.Enum(item, "status", kernel.AffectedStatuses)),
		}
		if id := item.Text("id"); id != nil {
			affected[i].ComponentID = *id
		}
	}
	return affected
}

func (a *api) getIncidentComponents(c *call) (store.Response, error) {
	affected, err := a.store.IncidentComponents(c.Context(), c.actor(), c.PathValue("incidentId"))
	return resourceResponse(affected, err, newAffectedComponentsJSON)
}

// putIncidentComponents replaces the affected components of an incident.
func (a *api) putIncidentComponents(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("components")
	given := readAffected(o)
	change := changeOf(o, func(i *statuspage.Incident) { i.Affected = given })
	affected, err := a.store.SetIncidentComponents(c.Context(), c.actor(), c.PathValue("incidentId"), change)
	return resourceResponse(affected, err, newAffectedComponentsJSON)
}
