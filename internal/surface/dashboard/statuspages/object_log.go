package statuspages

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// maxLogEntries is the number of audit entries that the screen of an object shows.
const maxLogEntries = 50

// objectLog returns the newest changes of the objects with these ids: an incident or a maintenance, and its updates.
func (r *request) objectLog(ids []string) (log frame.ObjectLog, err error) {
	entries, more, err := r.Store.ObjectLog(r.Context(), r.Actor(), ids, maxLogEntries)
	log = frame.ObjectLog{More: more, Authors: map[string]string{}}
	for _, e := range entries {
		who := e.Actor.Name
		if e.Actor.Kind == kernel.ActorToken {
			who = fmt.Sprintf("Token “%s”", e.Actor.Name)
		}
		if e.Action == kernel.AuditCreate && e.Object.Kind != kernel.ObjectPostmortem { // it has the id of its incident
			log.Authors[e.Object.ID] = who
		}
		what := describe(e)
		var after struct{ Notify *bool }
		if json.Unmarshal(e.After, &after) == nil && after.Notify != nil {
			what += ", no one was notified"
		}
		log.Lines = append(log.Lines, frame.LogLine{Who: who, What: what, At: e.At})
	}
	return log, err
}

// describe returns an audit entry as a sentence.
func describe(e kernel.AuditEntry) string {
	switch {
	case e.Object.Kind == kernel.ObjectPostmortem:
		return describePostmortem(e)
	case e.Object.Kind == kernel.ObjectIncidentUpdate && e.Action == kernel.AuditDelete:
		return "deleted an update"
	case (e.Object.Kind == kernel.ObjectIncidentUpdate || e.Object.Kind == kernel.ObjectMaintenanceUpdate) &&
		e.Action == kernel.AuditUpdate:
		return "edited an update"
	case e.Object.Kind == kernel.ObjectIncidentUpdate || e.Object.Kind == kernel.ObjectMaintenanceUpdate:
		return "posted an update"
	case e.Action == kernel.AuditCreate && e.Object.Kind == kernel.ObjectMaintenance:
		return "scheduled the maintenance"
	case e.Action == kernel.AuditCreate:
		return "opened the incident"
	}
	var before, after map[string]any
	if json.Unmarshal(e.Before, &before) != nil || json.Unmarshal(e.After, &after) != nil {
		return "changed the " + strings.ReplaceAll(string(e.Object.Kind), "_", " ")
	}
	switch {
	case before["draft"] == true && after["draft"] == false:
		return "published the draft"
	case after["merged_into"] != nil:
		return "merged the incident into another one"
	case after["merged_incident"] != nil:
		return fmt.Sprintf("merged “%s” into it", after["merged_incident"])
	case before["taken_over"] == false && after["taken_over"] == true:
		return "took over the incident"
	case before["taken_over"] == true && after["taken_over"] == false:
		return "gave the incident back to its monitor"
	case before["resolved"] == false && after["resolved"] == true:
		return "resolved the incident"
	case before["resolved"] == true && after["resolved"] == false:
		return "reopened the incident"
	}
	var parts []string
	if state, ok := after["state"].(string); ok {
		parts = append(parts, "set the state to "+stateLabel(e.Object.Kind, state))
		delete(after, "state")
	}
	if len(after) > 0 {
		names := strings.Join(slices.Sorted(maps.Keys(after)), ", ")
		parts = append(parts, "changed "+strings.ReplaceAll(names, "_", " "))
	}
	return strings.Join(parts, ", ")
}

// stateLabel returns the label of a state of an incident or a maintenance.
func stateLabel(kind kernel.ObjectKind, state string) string {
	if kind == kernel.ObjectMaintenance {
		return i18n.English().MaintenanceState(statuspage.MaintenanceState(state))
	}
	return i18n.English().State(statuspage.IncidentState(state))
}

// describePostmortem describes an audit entry of a post-mortem.
func describePostmortem(e kernel.AuditEntry) string {
	var before, after struct{ Published bool }
	_ = json.Unmarshal(e.Before, &before) // they have only what changed
	_ = json.Unmarshal(e.After, &after)
	switch {
	case e.Action == kernel.AuditDelete:
		return "deleted the post-mortem"
	case after.Published:
		return "published the post-mortem"
	case before.Published:
		return "made the post-mortem a draft"
	case e.Action == kernel.AuditCreate:
		return "wrote a post-mortem"
	default:
		return "edited the post-mortem"
	}
}
