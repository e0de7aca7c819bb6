package allswell

import (
	"crypto/sha256"
	"slices"
	"strconv"
)

// Timeline returns the entries shown for the incident, newest first: its loaded updates with their
// states. Updates written after the incident was resolved have the state IncidentResolved.
//
// If an incident was resolved without an update, Timeline adds an entry for that moment with
// SystemMessageResolved. This entry is not stored; its id stays the same until the next update.
//
// The newest updates must be loaded. Use Entries for an earlier part of the timeline.
func (i Incident) Timeline() []IncidentUpdate {
	entries := i.Entries()
	if !i.Resolved || len(entries) > 0 && entries[0].State == IncidentResolved {
		return entries
	}
	end := IncidentUpdate{IncidentID: i.ID, Number: 1, State: IncidentResolved, System: SystemMessage{Kind: SystemMessageResolved}, CreatedAt: i.ResolvedAt}
	if len(entries) > 0 {
		end.Number += entries[0].Number
	}
	end.ID, end.Message = resolvedID(i.ID, end.Number), end.System.Text()
	return slices.Insert(entries, 0, end)
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

// resolvedID returns the id of the entry that Timeline adds. It changes with the number of
// updates, so that an incident that is reopened and resolved again gets another one.
func resolvedID(incidentID string, number int) string {
	sum := sha256.Sum256([]byte("resolved\n" + incidentID + "\n" + strconv.Itoa(number)))
	return PrefixUpdate + idEncoding.EncodeToString(sum[:13])[:20]
}
