package statuspage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

func TestContractIncident(t *testing.T)  { domaintest.RunRows(t, incidentRows) }
func TestDecisionsIncident(t *testing.T) { domaintest.RunRows(t, incidentDecisionRows) }

// resolvedIncident returns an incident whose state and flag were set to resolved at t1.
func resolvedIncident() statuspage.Incident {
	inc := domaintest.Opened(statuspage.Incident{State: statuspage.IncidentMonitoring})
	domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) {
		i.State = statuspage.IncidentResolved
		i.SetResolved(true)
	})
	return inc
}

var incidentRows = []domaintest.Row{
	{Name: "title: max 255 characters", Test: func(t *testing.T) {
		for _, c := range []struct {
			title string
			bad   []string
		}{
			{"x", nil}, {strings.Repeat("ü", 255), nil}, {strings.Repeat("ü", 256), []string{"title"}},
			{"", []string{"title"}},
		} {
			domaintest.CheckFields(t, statuspage.Incident{Title: c.title}.CheckNew(statuspage.IncidentUpdate{}),
				c.bad...)
			domaintest.CheckFields(t, domaintest.IncidentRefusal(func(i *statuspage.Incident) {
				i.Title = c.title
			}), c.bad...)
		}
	}},
	{Name: "impact: one of none, minor, major, critical", Test: func(t *testing.T) {
		domaintest.Equal(t, "impacts", kernel.Impacts, []kernel.Impact{"none", "minor", "major", "critical"})
		for _, impact := range kernel.Impacts {
			domaintest.CheckFields(t,
				statuspage.Incident{Title: "x", Impact: impact}.CheckNew(statuspage.IncidentUpdate{}))
			domaintest.CheckFields(t, domaintest.IncidentRefusal(func(i *statuspage.Incident) { i.SetImpact(impact) }))
			inc := domaintest.Opened(statuspage.Incident{})
			domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) { i.SetImpact(impact) })
			domaintest.Equal(t, "impact", inc.Impact, impact)
		}
		for _, impact := range []kernel.Impact{"Minor", "severe", " none", "none "} {
			domaintest.CheckFields(t,
				statuspage.Incident{Title: "x", Impact: impact}.CheckNew(statuspage.IncidentUpdate{}), "impact")
			domaintest.CheckFields(t, domaintest.IncidentRefusal(func(i *statuspage.Incident) {
				i.SetImpact(impact)
			}), "impact")
		}
		domaintest.CheckFields(t, domaintest.IncidentRefusal(func(i *statuspage.Incident) {
			i.SetImpact(kernel.Impact(""))
		}), "impact")
	}},
	{Name: "state: one of investigating, identified, monitoring, resolved", Test: func(t *testing.T) {
		domaintest.Equal(t, "states", statuspage.IncidentStates, []statuspage.IncidentState{
			"investigating", "identified", "monitoring", "resolved",
		})
		for _, state := range []statuspage.IncidentState{"Resolved", "open", "down"} {
			domaintest.CheckFields(t,
				statuspage.Incident{Title: "x", State: state}.CheckNew(statuspage.IncidentUpdate{}), "state")
			domaintest.CheckFields(t, domaintest.IncidentRefusal(func(i *statuspage.Incident) {
				i.State = state
			}), "state")
		}
		domaintest.CheckFields(t, domaintest.IncidentRefusal(func(i *statuspage.Incident) {
			i.State = statuspage.IncidentState("")
		}), "state")
	}},
	{Name: "resolved_at: null until resolved", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{State: statuspage.IncidentMonitoring})
		domaintest.Equal(t, "resolved", inc.Resolved, false)
		domaintest.Equal(t, "resolved_at", inc.ResolvedAt, time.Time{})
	}},
	{Name: "created_at and updated_at: the time of creation", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{})
		domaintest.Equal(t, "created_at", inc.CreatedAt, domaintest.T0)
		domaintest.Equal(t, "updated_at", inc.UpdatedAt, domaintest.T0)
	}},
	{Name: "(new), Create incident, state omitted → investigating; impact defaults to none", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{})
		domaintest.Equal(t, "state", inc.State, statuspage.IncidentInvestigating)
		domaintest.Equal(t, "impact", inc.Impact, kernel.ImpactNone)
		domaintest.Equal(t, "updates", len(inc.Updates), 0)
	}},
	{Name: "(new), Create incident, state given → the given state", Test: func(t *testing.T) {
		for _, state := range statuspage.IncidentStates {
			domaintest.Equal(t, "state", domaintest.Opened(statuspage.Incident{State: state}).State, state)
		}
	}},
	{Name: "(new), Create incident, message given → the first timeline entry", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{State: statuspage.IncidentIdentified}, "We are looking.")
		domaintest.Equal(t, "updates", inc.Updates, []statuspage.IncidentUpdate{
			{
				ID: "upd_1", IncidentID: "id", Number: 1, Message: "We are looking.",
				State: statuspage.IncidentIdentified, CreatedAt: domaintest.T0,
			}})
	}},
	{
		Name: "any, Update incident, body has a valid state → the given state; only the fields in the body change; " +
			"updated_at changes",
		Test: func(t *testing.T) {
			for _, from := range statuspage.IncidentStates {
				for _, to := range statuspage.IncidentStates {
					if from == to || from == statuspage.IncidentResolved || to == statuspage.IncidentResolved {
						continue
					}
					inc := domaintest.Opened(statuspage.Incident{State: from, Impact: kernel.ImpactMajor}, "m")
					want := inc
					want.State, want.UpdatedAt = to, domaintest.T1
					domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) { i.State = to })
					domaintest.Equal(t, fmt.Sprintf("%s to %s", from, to), inc, want)
				}
			}
		},
	},
	{
		Name: "any, Update incident, body has state resolved and resolved true → resolved; resolved_at is set to the " +
			"current time",
		Test: func(t *testing.T) {
			for _, from := range statuspage.IncidentStates {
				inc := domaintest.Opened(statuspage.Incident{State: from})
				want := inc
				want.State, want.Resolved, want.ResolvedAt, want.UpdatedAt = statuspage.IncidentResolved, true,
					domaintest.T1, domaintest.T1
				first := domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) {
					i.State = statuspage.IncidentResolved
					i.SetResolved(true)
				})
				domaintest.Equal(t, "from "+string(from), inc, want)
				domaintest.Equal(t, "resolved by this call", first, from != statuspage.IncidentResolved)
			}
		},
	},
	{
		Name: "any, Update incident, body has state resolved and resolved true → the incident moves to history on " +
			"the public page",
		Test: func(t *testing.T) {
			inc := domaintest.Opened(statuspage.Incident{})
			summary := statuspage.PageContents{Incidents: []statuspage.Incident{inc}}.Summarize(domaintest.T2)
			domaintest.Equal(t, "active before", len(summary.Active), 1)
			domaintest.Equal(t, "history before", len(summary.Past[0].Incidents), 0)
			domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) {
				i.State = statuspage.IncidentResolved
				i.SetResolved(true)
			})
			summary = statuspage.PageContents{Incidents: []statuspage.Incident{inc}}.Summarize(domaintest.T2)
			domaintest.Equal(t, "active after", len(summary.Active), 0)
			domaintest.Equal(t, "history after", len(summary.Past[0].Incidents), 1)
		},
	},
	{
		Name: "any, Update incident, body has resolved true → resolved flag true; resolved_at is set to the current " +
			"time",
		Test: func(t *testing.T) {
			for _, from := range statuspage.IncidentStates {
				inc := domaintest.Opened(statuspage.Incident{State: from})
				domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) { i.SetResolved(true) })
				domaintest.Equal(t, "resolved", inc.Resolved, true)
				domaintest.Equal(t, "resolved_at", inc.ResolvedAt, domaintest.T1)
				domaintest.Equal(t, "updated_at", inc.UpdatedAt, domaintest.T1)
			}
		},
	},
	{Name: "any, Update incident, omitted fields stay unchanged", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{State: statuspage.IncidentIdentified, Impact: kernel.ImpactMinor})
		domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) { i.Title = "Checkout is down" })
		domaintest.Equal(t, "title", inc.Title, "Checkout is down")
		domaintest.Equal(t, "state", inc.State, statuspage.IncidentIdentified)
		domaintest.Equal(t, "impact", inc.Impact, kernel.ImpactMinor)
		domaintest.Equal(t, "resolved", inc.Resolved, false)
		domaintest.ChangeIncident(&inc, domaintest.T2, func(i *statuspage.Incident) { i.SetImpact(kernel.ImpactNone) })
		domaintest.Equal(t, "title", inc.Title, "Checkout is down")
		domaintest.Equal(t, "impact", inc.Impact, kernel.ImpactNone)
	}},
	{Name: "any, Add an incident update, message is required", Test: func(t *testing.T) {
		domaintest.CheckFields(t, statuspage.CheckMessage("Fixed."))
		domaintest.CheckFields(t, statuspage.CheckMessage(""), "message")
	}},
}

var incidentDecisionRows = []domaintest.Row{
	{Name: "state resolved without resolved: flag and resolved_at are set", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{})
		domaintest.Equal(t, "resolved by this call",
			domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) {
				i.State = statuspage.IncidentResolved
			}), true)
		domaintest.Equal(t, "resolved", inc.Resolved, true)
		domaintest.Equal(t, "resolved_at", inc.ResolvedAt, domaintest.T1)
	}},
	{Name: "state resolved without resolved: at creation too", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{State: statuspage.IncidentResolved})
		domaintest.Equal(t, "resolved", inc.Resolved, true)
		domaintest.Equal(t, "resolved_at", inc.ResolvedAt, domaintest.T0)
	}},
	{Name: "resolved true without state: the state stays", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{State: statuspage.IncidentMonitoring})
		domaintest.Equal(t, "resolved by this call",
			domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) {
				i.SetResolved(true)
			}), true)
		domaintest.Equal(t, "state", inc.State, statuspage.IncidentMonitoring)
	}},
	{Name: "resolved true without state: the incident moves to history because of the flag", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{State: statuspage.IncidentMonitoring})
		domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) { i.SetResolved(true) })
		summary := statuspage.PageContents{Incidents: []statuspage.Incident{inc}}.Summarize(domaintest.T2)
		domaintest.Equal(t, "active", len(summary.Active), 0)
		domaintest.Equal(t, "history", len(summary.Past[0].Incidents), 1)
	}},
	{Name: "resolved true again: resolved_at is set to now each time", Test: func(t *testing.T) {
		inc := resolvedIncident()
		domaintest.Equal(t, "resolved by this call",
			domaintest.ChangeIncident(&inc, domaintest.T2, func(i *statuspage.Incident) {
				i.SetResolved(true)
			}), false)
		domaintest.Equal(t, "resolved_at", inc.ResolvedAt, domaintest.T2)
		domaintest.Equal(t, "updated_at", inc.UpdatedAt, domaintest.T2)
	}},
	{
		Name: "resolved false: reopens, resolved_at null, state resolved falls back to investigating",
		Test: func(t *testing.T) {
			inc := resolvedIncident()
			domaintest.ChangeIncident(&inc, domaintest.T2, func(i *statuspage.Incident) { i.SetResolved(false) })
			domaintest.Equal(t, "resolved", inc.Resolved, false)
			domaintest.Equal(t, "resolved_at", inc.ResolvedAt, time.Time{})
			domaintest.Equal(t, "state", inc.State, statuspage.IncidentInvestigating)
			domaintest.Equal(t, "updated_at", inc.UpdatedAt, domaintest.T2)
		},
	},
	{Name: "resolved false: another state stays", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{State: statuspage.IncidentMonitoring})
		domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) { i.SetResolved(true) })
		domaintest.ChangeIncident(&inc, domaintest.T2, func(i *statuspage.Incident) { i.SetResolved(false) })
		domaintest.Equal(t, "state", inc.State, statuspage.IncidentMonitoring)
	}},
	{Name: "resolved false: a state in the body takes precedence over investigating", Test: func(t *testing.T) {
		inc := resolvedIncident()
		domaintest.ChangeIncident(&inc, domaintest.T2, func(i *statuspage.Incident) {
			i.State = statuspage.IncidentIdentified
			i.SetResolved(false)
		})
		domaintest.Equal(t, "resolved", inc.Resolved, false)
		domaintest.Equal(t, "state", inc.State, statuspage.IncidentIdentified)
	}},
	{Name: "resolved false on an incident that is not resolved: no change", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{})
		want := inc
		domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) { i.SetResolved(false) })
		domaintest.Equal(t, "incident", inc, want)
	}},
	{
		Name: "another state on a resolved incident: only the state changes; flag and time stay",
		Test: func(t *testing.T) {
			for _, state := range statuspage.IncidentStates[:3] {
				inc := resolvedIncident()
				want := inc
				want.State, want.UpdatedAt = state, domaintest.T2
				domaintest.ChangeIncident(&inc, domaintest.T2, func(i *statuspage.Incident) { i.State = state })
				domaintest.Equal(t, string(state), inc, want)
			}
		},
	},
	{Name: "another state on a resolved incident: every state is accepted", Test: func(t *testing.T) {
		for _, state := range statuspage.IncidentStates {
			domaintest.CheckFields(t, domaintest.IncidentRefusal(func(i *statuspage.Incident) { i.State = state }))
		}
	}},
	{Name: "updated_at changes when an update is added", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{}, "one")
		u := inc.AddUpdate("upd_2", "two", &inc.Updates[0], domaintest.T1)
		domaintest.Equal(t, "update", u, statuspage.IncidentUpdate{
			ID: "upd_2", IncidentID: "id", Number: 2, Message: "two", State: statuspage.IncidentInvestigating,
			CreatedAt: domaintest.T1,
		})
		domaintest.Equal(t, "timeline", inc.Updates[1], u)
		domaintest.Equal(t, "updated_at", inc.UpdatedAt, domaintest.T1)
	}},
	{Name: "updated_at: a PATCH without effect does not change it", Test: func(t *testing.T) {
		inc := domaintest.Opened(statuspage.Incident{Impact: kernel.ImpactMinor})
		want := inc
		domaintest.ChangeIncident(&inc, domaintest.T1, func(*statuspage.Incident) {})
		domaintest.ChangeIncident(&inc, domaintest.T1, func(i *statuspage.Incident) {
			i.Title = inc.Title
			i.SetImpact(inc.Impact)
			i.State = inc.State
		})
		domaintest.Equal(t, "incident", inc, want)
	}},
	{Name: "all invalid fields are named at once", Test: func(t *testing.T) {
		domaintest.CheckFields(t,
			statuspage.Incident{Impact: "?", State: "?"}.CheckNew(statuspage.IncidentUpdate{Message: " "}), "title",
			"impact", "state", "message")
		domaintest.CheckFields(t, domaintest.IncidentRefusal(func(i *statuspage.Incident) {
			i.Title = " "
			i.SetImpact(kernel.Impact("?"))
			i.State = statuspage.IncidentState("?")
		}), "title", "impact", "state")
	}},
}
