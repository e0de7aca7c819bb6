package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// incidentJSON is an incident without its updates.
type incidentJSON struct {
	ID         string                 `json:"id"`
	Title      string                 `json:"title"`
	Impact     allswell.Impact        `json:"impact"`
	State      allswell.IncidentState `json:"state"`
	Resolved   bool                   `json:"resolved"`
	ResolvedAt *string                `json:"resolved_at"`
	CreatedAt  string                 `json:"created_at"`
	UpdatedAt  string                 `json:"updated_at"`
}

func newIncidentJSON(i allswell.Incident) incidentJSON {
	return incidentJSON{
		ID: i.ID, Title: i.Title, Impact: i.Impact, State: i.State,
		Resolved: i.Resolved, ResolvedAt: timePtr(i.ResolvedAt),
		CreatedAt: allswell.FormatTime(i.CreatedAt), UpdatedAt: allswell.FormatTime(i.UpdatedAt),
	}
}

// incidentWithUpdatesJSON is an incident with its updates, oldest first.
type incidentWithUpdatesJSON struct {
	incidentJSON
	Updates []timelineEntryJSON `json:"updates"`
}

func newIncidentWithUpdatesJSON(i allswell.Incident) incidentWithUpdatesJSON {
	out := incidentWithUpdatesJSON{incidentJSON: newIncidentJSON(i), Updates: make([]timelineEntryJSON, len(i.Updates))}
	for n, u := range i.Updates {
		out.Updates[n] = newTimelineEntryJSON(u)
	}
	return out
}

// affectedComponentJSON is a component that an incident affects.
type affectedComponentJSON struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Status allswell.Status `json:"status"`
}

func newAffectedComponentsJSON(affected []allswell.AffectedComponent) []affectedComponentJSON {
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
		Resolved: q.Flag("resolved"), Drafts: orZero(q.Flag("draft")), Component: q.Text("component_id"),
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
	n := allswell.NewIncident{
		Title:   orZero(o.Text("title")),
		Impact:  orZero(web.Enum(o, "impact", allswell.Impacts)),
		State:   orZero(web.Enum(o, "state", allswell.IncidentStates)),
		Message: o.Text("message"),
		Draft:   orZero(o.Flag("draft")),

		BeganAt:    orZero(o.Instant("began_at")),
		ResolvedAt: orZero(o.Instant("resolved_at")),

		Template: orZero(o.Text("template")),
		Affected: readAffected(o),
	}
	n.Silent = readSilentPast(o, !n.ResolvedAt.IsZero())
	if err := o.Check(n.Validate()); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newIncidentWithUpdatesJSON)
	return r.respond(a.store.CreateIncident(c.Context(), c.actor(), c.PathValue("pageSlug"), n, r.save...))
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
	ch := allswell.IncidentChange{
		Title:    o.Text("title"),
		Impact:   web.Enum(o, "impact", allswell.Impacts),
		State:    web.Enum(o, "state", allswell.IncidentStates),
		Resolved: o.Flag("resolved"),
		Message:  o.Text("message"),
		Silent:   readSilent(o),
	}
	if ch.Message != nil && strings.TrimSpace(*ch.Message) == "" {
		ch.Message = nil // forms send a field that is left empty
	}
	if err := o.Check(ch.Validate()); err != nil {
		return store.Response{}, err
	}
	incident, err := a.store.ChangeIncident(c.Context(), c.actor(), c.PathValue("incidentId"), ch)
	return resourceResponse(incident, err, newIncidentJSON)
}

// readSilent reads whether nobody is notified: "notify": false.
func readSilent(o *web.Object) bool {
	notify := o.Flag("notify")
	return notify != nil && !*notify
}

// readSilentPast is readSilent, but of what is over nobody is notified without "notify": true.
func readSilentPast(o *web.Object, over bool) bool {
	notify := o.Flag("notify")
	return notify == nil && over || notify != nil && !*notify
}

// publishIncident publishes a draft, with ?notify=false silently. It reads no body.
func (a *api) publishIncident(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	notify := q.Flag("notify")
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusOK, newIncidentWithUpdatesJSON)
	return r.respond(a.store.PublishIncident(c.Context(), c.actor(), c.PathValue("incidentId"), notify != nil && !*notify, r.save...))
}

func (a *api) deleteIncident(c *call) (store.Response, error) {
	return noContent(a.store.DeleteIncident(c.Context(), c.actor(), c.PathValue("incidentId")))
}

// readAffected reads the affected components of an incident with their statuses. It
// returns nil if they are absent.
func readAffected(o *web.Object) []allswell.AffectedComponent {
	items := o.Objects("components", allswell.MaxAffectedComponents)
	if items == nil {
		return nil
	}
	affected := make([]allswell.AffectedComponent, len(items))
	for i, item := range items {
		item.Require("id", "status")
		affected[i] = allswell.AffectedComponent{
			ComponentID: strconv.Itoa(i), // unique, so that two invalid ids are not reported as duplicates
			Status:      orZero(web.Enum(item, "status", allswell.AffectedStatuses)),
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
	affected := readAffected(o)
	if err := o.Check(allswell.CheckAffected(affected)); err != nil {
		return store.Response{}, err
	}
	affected, err = a.store.SetIncidentComponents(c.Context(), c.actor(), c.PathValue("incidentId"), affected)
	return resourceResponse(affected, err, newAffectedComponentsJSON)
}
