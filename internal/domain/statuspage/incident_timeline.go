package statuspage

import (
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Timeline returns the entries shown for the incident, newest first: its loaded updates with their
// states. Updates written after the incident was resolved have the state IncidentResolved.
//
// Timeline adds an entry that is not stored where nobody wrote one: to an incident without updates,
// about its state as of its last change, and to an incident that was resolved without an update, with
// SystemMessageResolved. The id of an added entry stays the same until the state or the updates change.
//
// The newest updates must be loaded. Use Entries for an earlier part of the timeline.
func (i Incident) Timeline() []IncidentUpdate {
	entries := i.Entries()
	added := IncidentUpdate{IncidentID: i.ID, Number: 1, State: i.EffectiveState(), CreatedAt: i.ResolvedAt}
	switch {
	case i.Resolved && (len(entries) == 0 || entries[0].State != IncidentResolved):
	case !i.Resolved && len(entries) == 0:
		added.CreatedAt = kernel.Later(i.CreatedAt, i.UpdatedAt)
	default:
		return entries
	}
	if len(entries) > 0 {
		added.Number += entries[0].Number
	}
	added.System = added.State.SystemMessage()
	added.ID, added.Message = addedID(i.ID, added.State, added.Number), added.System.Text()
	return slices.Insert(entries, 0, added)
}

// SystemMessage returns the message for an incident in the state s about which no person wrote one.
func (s IncidentState) SystemMessage() SystemMessage {
	switch s {
	case IncidentInvestigating:
		return SystemMessage{Kind: SystemMessageInvestigating}
	case IncidentIdentified:
		return SystemMessage{Kind: SystemMessageIdentified}
	case IncidentMonitoring:
		return SystemMessage{Kind: SystemMessageMonitoring}
	default:
		return SystemMessage{Kind: SystemMessageResolved}
	}
}

// Entries is like Timeline but adds no entry.
func (i Incident) Entries() []IncidentUpdate {
	entries := newestFirst(i.Updates)
	for n := range entries {
		if i.Resolved && !entries[n].CreatedAt.Before(i.ResolvedAt) {
			entries[n].State = IncidentResolved
		}
	}
	return entries
}

// addedID returns the id of an entry that Timeline adds. It changes with the state and with the number
// of updates, so that an incident that is reopened and resolved again gets another one.
func addedID(incidentID string, state IncidentState, number int) string {
	sum := sha256.Sum256([]byte(string(state) + "\n" + incidentID + "\n" + strconv.Itoa(number)))
	return kernel.PrefixUpdate + kernel.IDEncoding.EncodeToString(sum[:13])[:20]
}
