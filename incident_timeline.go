package allswell

import (
	"crypto/sha256"
	"slices"
	"strconv"
)

// Timeline returns what is shown of an incident's course, newest first: its
// updates, each in the state that it told. What was written since the incident
// was resolved tells that it is, whatever state it was left in.
//
// Whoever resolves an incident without a word leaves a timeline that ends in
// another state. It then has one entry more, of the moment in which that was
// done; its Auto is SystemMessageResolved. It is not stored, and its id is the same each
// time until there are further updates.
//
// It is of the updates that are loaded, which have to be the newest; Entries is
// for a part of the timeline that ends before them.
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

// Entries returns the updates that are loaded as Timeline does, without the entry
// that is not stored.
func (i Incident) Entries() []IncidentUpdate {
	entries := newestFirst(i.Updates)
	for n := range entries {
		if i.Resolved && !entries[n].CreatedAt.Before(i.ResolvedAt) {
			entries[n].State = IncidentResolved
		}
	}
	return entries
}

// resolvedID is the id of an entry that is not stored. An incident that was
// opened again, and written about, gets another when it is resolved again.
func resolvedID(incidentID string, number int) string {
	sum := sha256.Sum256([]byte("resolved\n" + incidentID + "\n" + strconv.Itoa(number)))
	return PrefixUpdate + idEncoding.EncodeToString(sum[:13])[:20]
}
