package statuspage

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Automatic reports whether an outage opened the incident.
func (i Incident) Automatic() bool { return i.OutageID != "" }

// TakeOver leaves an automatic incident to people if taken is true, or gives it back to its monitor, and reports
// whether that changed it. The recovery of the monitor does not resolve an incident that was taken over. It returns a
// *ValidationError for the field incident if no monitor opened the incident, or if it is resolved.
func (i *Incident) TakeOver(taken bool, now time.Time) (changed bool, err error) {
	var bad kernel.ValidationError
	switch {
	case !i.Automatic():
		bad.Add("incident", "No monitor opened the incident.")
	case i.Resolved:
		bad.Add("incident", "is resolved")
	}
	if err := bad.Err(); err != nil || i.TakenOver == taken {
		return false, err
	}
	i.TakenOver, i.UpdatedAt = taken, kernel.Later(now, i.UpdatedAt)
	return true, nil
}

// CheckMerge returns a *ValidationError for the field incident_id if the incident cannot be merged into another one.
// Affected of both must be loaded.
func (i Incident) CheckMerge(into Incident) error {
	var bad kernel.ValidationError
	switch {
	case i.ID == into.ID:
		bad.Add("incident_id", "An incident cannot be merged into itself.")
	case i.PageID != into.PageID:
		bad.Add("incident_id", "The incident must be on the same page.")
	case i.Resolved:
		bad.Add("incident_id", "A resolved incident cannot be merged.")
	case into.Resolved:
		bad.Add("incident_id", "The incident is resolved.")
	case into.Draft && !i.Draft:
		bad.Add("incident_id", "The incident is a draft, which visitors do not see.")
	case len(into.MergedAffected(i)) > MaxAffectedComponents:
		bad.Add("incident_id", "The two incidents affect more than %d components.", MaxAffectedComponents)
	}
	return bad.Err()
}

// MergedAffected returns the affected components of both incidents, each with the worse status.
func (i Incident) MergedAffected(from Incident) []AffectedComponent {
	all, at := append([]AffectedComponent(nil), i.Affected...), map[string]int{}
	for n, a := range all {
		at[a.ComponentID] = n
	}
	for _, a := range from.Affected {
		n, known := at[a.ComponentID]
		switch {
		case !known:
			all = append(all, a)
		case a.Status.Worse(all[n].Status):
			all[n].Status = a.Status
		}
	}
	return all
}
