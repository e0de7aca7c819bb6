package statuspage

import "github.com/allswell/allswell/internal/domain/kernel"

// LeadIncident returns the active incident that the page leads with: the newest of the incidents with the most severe
// impact. Incidents without an impact do not count. ok is false if there is none.
//
// Its impact can be worse than the status of the page, which depends on the components alone.
func (s Summary) LeadIncident() (lead Incident, ok bool) {
	for _, inc := range s.Active { // newest first
		if inc.Impact.Worse(lead.Impact) {
			lead, ok = inc, true
		}
	}
	return lead, ok
}

// Severity returns the status that sums up the page: the worse of its status and of the status that
// goes with the impact of the incident that it leads with.
func (s Summary) Severity() kernel.Status {
	if lead, ok := s.LeadIncident(); ok && lead.Impact.Status().Worse(s.Status) {
		return lead.Impact.Status()
	}
	return s.Status
}
