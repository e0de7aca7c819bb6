// Package statuspageapi renders the documents of version 2 of the public API of Atlassian Statuspage (statuspage.io),
// for programs written for it. Some of them reject unknown members, so the objects have exactly the members of the
// original; docs/statuspage.md describes them.
package statuspageapi

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// Prefix is the path of the documents, below the URL of a page.
const Prefix = "api/v2/"

// Names are the names of the documents, below Prefix.
var Names = []string{
	"summary.json", "status.json", "components.json", "incidents.json", "incidents/unresolved.json",
	"scheduled-maintenances.json", "scheduled-maintenances/upcoming.json", "scheduled-maintenances/active.json",
}

// Documents returns the eight documents by name. newest has the page's newest
// incidents and maintenances; home is the absolute URL of the page.
func Documents(sum statuspage.Summary, newest statuspage.PageContents, home string) (map[string][]byte, error) {
	v := newBuilder(sum, newest, home)
	severity := sum.Severity() // as Statuspage does
	overall := statusObject{severity.Statuspage().Indicator, kernel.Banner(severity)}
	unresolved := v.incidents(sum.Active)
	upcoming, active := v.maintenances(sum.Upcoming), v.maintenances(sum.Running)
	planned := append(slices.Clip(active), upcoming...)
	incidents := slices.SortedFunc(slices.Values(newest.Incidents), func(a, b statuspage.Incident) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	latest := slices.SortedFunc(slices.Values(newest.Maintenances), func(a, b statuspage.Maintenance) int {
		return cmp.Or(b.ScheduledFor.Compare(a.ScheduledFor), cmp.Compare(b.ID, a.ID))
	})
	bodies := make(map[string][]byte)
	for name, document := range map[string]any{
		"summary.json": struct {
			Page         pageObject          `json:"page"`
			Components   []componentObject   `json:"components"`
			Incidents    []incidentObject    `json:"incidents"`
			Maintenances []maintenanceObject `json:"scheduled_maintenances"`
			Status       statusObject        `json:"status"`
		}{v.page, v.components, unresolved, planned, overall},
		"status.json": struct {
			Page   pageObject   `json:"page"`
			Status statusObject `json:"status"`
		}{v.page, overall},
		"components.json": struct {
			Page       pageObject        `json:"page"`
			Components []componentObject `json:"components"`
		}{v.page, v.components},
		"incidents.json":                       v.incidentList(v.incidents(incidents)),
		"incidents/unresolved.json":            v.incidentList(unresolved),
		"scheduled-maintenances.json":          v.maintenanceList(v.maintenances(latest)),
		"scheduled-maintenances/upcoming.json": v.maintenanceList(upcoming),
		"scheduled-maintenances/active.json":   v.maintenanceList(active),
	} {
		body, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		bodies[name] = body
	}
	return bodies, nil
}

func (v *builder) incidentList(list []incidentObject) any {
	return struct {
		Page      pageObject       `json:"page"`
		Incidents []incidentObject `json:"incidents"`
	}{v.page, list}
}

func (v *builder) maintenanceList(list []maintenanceObject) any {
	return struct {
		Page         pageObject          `json:"page"`
		Maintenances []maintenanceObject `json:"scheduled_maintenances"`
	}{v.page, list}
}
