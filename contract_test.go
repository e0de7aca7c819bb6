package allswell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/google/go-cmp/cmp"
)

// row is one rule of the API contract (docs/api.md), or one decision about a case that the contract
// does not mention. Its name states the rule, so the tests are the list of rules:
//
//	go test -v -run '^Test(Contract|Decisions)' . ./internal/api
type row struct {
	name string
	test func(*testing.T)
}

func TestContractIncident(t *testing.T)   { runRows(t, incidentRows) }
func TestContractComponent(t *testing.T)  { runRows(t, componentRows) }
func TestContractMonitor(t *testing.T)    { runRows(t, monitorRows) }
func TestDecisionsIncident(t *testing.T)  { runRows(t, incidentDecisionRows) }
func TestDecisionsComponent(t *testing.T) { runRows(t, componentDecisionRows) }
func TestDecisionsMonitor(t *testing.T)   { runRows(t, monitorDecisionRows) }
func TestDecisionsCommon(t *testing.T)    { runRows(t, commonDecisionRows) }

func runRows(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, r.test)
	}
}

// Instants for the rows.
var (
	t0 = at(0)
	t1 = at(time.Minute)
	t2 = at(2 * time.Minute)
)

func ptr[T any](v T) *T { return &v }

// opened returns an incident that was created at t0.
func opened(i allswell.Incident, message ...string) allswell.Incident {
	i.ID, i.PageID, i.Title = "id", "page_1", "Checkout is slow"
	i.Open(allswell.IncidentUpdate{ID: "upd_1", Message: strings.Join(message, "")}, t0)
	return i
}

// changed applies a valid change to an incident, and reports whether that resolved it.
func changed(i *allswell.Incident, now time.Time, change func(*allswell.Incident)) bool {
	before := *i
	_, err := i.Change(func(i *allswell.Incident) error { change(i); return nil }, allswell.IncidentUpdate{}, nil, now)
	if err != nil {
		panic(err)
	}
	return i.Resolved && !before.Resolved
}

// refusal returns what is wrong with a change of an incident.
func refusal(change func(*allswell.Incident)) error {
	i := opened(allswell.Incident{})
	_, err := i.Change(func(i *allswell.Incident) error { change(i); return nil }, allswell.IncidentUpdate{}, nil, t1)
	return err
}

// resolvedIncident returns an incident whose state and flag were set to resolved at t1.
func resolvedIncident() allswell.Incident {
	inc := opened(allswell.Incident{State: allswell.IncidentMonitoring})
	changed(&inc, t1, func(i *allswell.Incident) { i.State = allswell.IncidentResolved; i.SetResolved(true) })
	return inc
}

// checkFields checks that err names exactly these fields.
func checkFields(t *testing.T, err error, fields ...string) {
	t.Helper()
	var got []string
	if err != nil {
		invalid, ok := err.(*allswell.ValidationError)
		if !ok {
			t.Fatalf("error %v is not a *ValidationError", err)
		}
		for field, words := range invalid.Messages() {
			got = append(got, field)
			if len(words) == 0 {
				t.Errorf("%s is named without a message", field)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(fields)
	if !slices.Equal(got, fields) {
		t.Errorf("fields %v, want %v", got, fields)
	}
}

// equal checks that got is want.
func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var incidentRows = []row{
	{"title: max 255 characters", func(t *testing.T) {
		for _, c := range []struct {
			title string
			bad   []string
		}{{"x", nil}, {strings.Repeat("ü", 255), nil}, {strings.Repeat("ü", 256), []string{"title"}}, {"", []string{"title"}}} {
			checkFields(t, allswell.Incident{Title: c.title}.CheckNew(allswell.IncidentUpdate{}), c.bad...)
			checkFields(t, refusal(func(i *allswell.Incident) { i.Title = c.title }), c.bad...)
		}
	}},
	{"impact: one of none, minor, major, critical", func(t *testing.T) {
		equal(t, "impacts", allswell.Impacts, []allswell.Impact{"none", "minor", "major", "critical"})
		for _, impact := range allswell.Impacts {
			checkFields(t, allswell.Incident{Title: "x", Impact: impact}.CheckNew(allswell.IncidentUpdate{}))
			checkFields(t, refusal(func(i *allswell.Incident) { i.SetImpact(impact) }))
			inc := opened(allswell.Incident{})
			changed(&inc, t1, func(i *allswell.Incident) { i.SetImpact(impact) })
			equal(t, "impact", inc.Impact, impact)
		}
		for _, impact := range []allswell.Impact{"Minor", "severe", " none", "none "} {
			checkFields(t, allswell.Incident{Title: "x", Impact: impact}.CheckNew(allswell.IncidentUpdate{}), "impact")
			checkFields(t, refusal(func(i *allswell.Incident) { i.SetImpact(impact) }), "impact")
		}
		checkFields(t, refusal(func(i *allswell.Incident) { i.SetImpact(allswell.Impact("")) }), "impact")
	}},
	{"state: one of investigating, identified, monitoring, resolved", func(t *testing.T) {
		equal(t, "states", allswell.IncidentStates, []allswell.IncidentState{"investigating", "identified", "monitoring", "resolved"})
		for _, state := range []allswell.IncidentState{"Resolved", "open", "down"} {
			checkFields(t, allswell.Incident{Title: "x", State: state}.CheckNew(allswell.IncidentUpdate{}), "state")
			checkFields(t, refusal(func(i *allswell.Incident) { i.State = state }), "state")
		}
		checkFields(t, refusal(func(i *allswell.Incident) { i.State = allswell.IncidentState("") }), "state")
	}},
	{"resolved_at: null until resolved", func(t *testing.T) {
		inc := opened(allswell.Incident{State: allswell.IncidentMonitoring})
		equal(t, "resolved", inc.Resolved, false)
		equal(t, "resolved_at", inc.ResolvedAt, time.Time{})
	}},
	{"created_at and updated_at: the time of creation", func(t *testing.T) {
		inc := opened(allswell.Incident{})
		equal(t, "created_at", inc.CreatedAt, t0)
		equal(t, "updated_at", inc.UpdatedAt, t0)
	}},
	{"(new), Create incident, state omitted → investigating; impact defaults to none", func(t *testing.T) {
		inc := opened(allswell.Incident{})
		equal(t, "state", inc.State, allswell.IncidentInvestigating)
		equal(t, "impact", inc.Impact, allswell.ImpactNone)
		equal(t, "updates", len(inc.Updates), 0)
	}},
	{"(new), Create incident, state given → the given state", func(t *testing.T) {
		for _, state := range allswell.IncidentStates {
			equal(t, "state", opened(allswell.Incident{State: state}).State, state)
		}
	}},
	{"(new), Create incident, message given → the first timeline entry", func(t *testing.T) {
		inc := opened(allswell.Incident{State: allswell.IncidentIdentified}, "We are looking.")
		equal(t, "updates", inc.Updates, []allswell.IncidentUpdate{
			{ID: "upd_1", IncidentID: "id", Number: 1, Message: "We are looking.", State: allswell.IncidentIdentified, CreatedAt: t0}})
	}},
	{"any, Update incident, body has a valid state → the given state; only the fields in the body change; updated_at changes", func(t *testing.T) {
		for _, from := range allswell.IncidentStates {
			for _, to := range allswell.IncidentStates {
				if from == to || from == allswell.IncidentResolved || to == allswell.IncidentResolved {
					continue
				}
				inc := opened(allswell.Incident{State: from, Impact: allswell.ImpactMajor}, "m")
				want := inc
				want.State, want.UpdatedAt = to, t1
				changed(&inc, t1, func(i *allswell.Incident) { i.State = to })
				equal(t, fmt.Sprintf("%s to %s", from, to), inc, want)
			}
		}
	}},
	{"any, Update incident, body has state resolved and resolved true → resolved; resolved_at is set to the current time", func(t *testing.T) {
		for _, from := range allswell.IncidentStates {
			inc := opened(allswell.Incident{State: from})
			want := inc
			want.State, want.Resolved, want.ResolvedAt, want.UpdatedAt = allswell.IncidentResolved, true, t1, t1
			first := changed(&inc, t1, func(i *allswell.Incident) { i.State = allswell.IncidentResolved; i.SetResolved(true) })
			equal(t, "from "+string(from), inc, want)
			equal(t, "resolved by this call", first, from != allswell.IncidentResolved)
		}
	}},
	{"any, Update incident, body has state resolved and resolved true → the incident moves to history on the public page", func(t *testing.T) {
		inc := opened(allswell.Incident{})
		summary := allswell.PageContents{Incidents: []allswell.Incident{inc}}.Summarize(t2)
		equal(t, "active before", len(summary.Active), 1)
		equal(t, "history before", len(summary.Past[0].Incidents), 0)
		changed(&inc, t1, func(i *allswell.Incident) { i.State = allswell.IncidentResolved; i.SetResolved(true) })
		summary = allswell.PageContents{Incidents: []allswell.Incident{inc}}.Summarize(t2)
		equal(t, "active after", len(summary.Active), 0)
		equal(t, "history after", len(summary.Past[0].Incidents), 1)
	}},
	{"any, Update incident, body has resolved true → resolved flag true; resolved_at is set to the current time", func(t *testing.T) {
		for _, from := range allswell.IncidentStates {
			inc := opened(allswell.Incident{State: from})
			changed(&inc, t1, func(i *allswell.Incident) { i.SetResolved(true) })
			equal(t, "resolved", inc.Resolved, true)
			equal(t, "resolved_at", inc.ResolvedAt, t1)
			equal(t, "updated_at", inc.UpdatedAt, t1)
		}
	}},
	{"any, Update incident, omitted fields stay unchanged", func(t *testing.T) {
		inc := opened(allswell.Incident{State: allswell.IncidentIdentified, Impact: allswell.ImpactMinor})
		changed(&inc, t1, func(i *allswell.Incident) { i.Title = "Checkout is down" })
		equal(t, "title", inc.Title, "Checkout is down")
		equal(t, "state", inc.State, allswell.IncidentIdentified)
		equal(t, "impact", inc.Impact, allswell.ImpactMinor)
		equal(t, "resolved", inc.Resolved, false)
		changed(&inc, t2, func(i *allswell.Incident) { i.SetImpact(allswell.ImpactNone) })
		equal(t, "title", inc.Title, "Checkout is down")
		equal(t, "impact", inc.Impact, allswell.ImpactNone)
	}},
	{"any, Add an incident update, message is required", func(t *testing.T) {
		checkFields(t, allswell.CheckMessage("Fixed."))
		checkFields(t, allswell.CheckMessage(""), "message")
	}},
}

var incidentDecisionRows = []row{
	{"state resolved without resolved: flag and resolved_at are set", func(t *testing.T) {
		inc := opened(allswell.Incident{})
		equal(t, "resolved by this call", changed(&inc, t1, func(i *allswell.Incident) { i.State = allswell.IncidentResolved }), true)
		equal(t, "resolved", inc.Resolved, true)
		equal(t, "resolved_at", inc.ResolvedAt, t1)
	}},
	{"state resolved without resolved: at creation too", func(t *testing.T) {
		inc := opened(allswell.Incident{State: allswell.IncidentResolved})
		equal(t, "resolved", inc.Resolved, true)
		equal(t, "resolved_at", inc.ResolvedAt, t0)
	}},
	{"resolved true without state: the state stays", func(t *testing.T) {
		inc := opened(allswell.Incident{State: allswell.IncidentMonitoring})
		equal(t, "resolved by this call", changed(&inc, t1, func(i *allswell.Incident) { i.SetResolved(true) }), true)
		equal(t, "state", inc.State, allswell.IncidentMonitoring)
	}},
	{"resolved true without state: the incident moves to history because of the flag", func(t *testing.T) {
		inc := opened(allswell.Incident{State: allswell.IncidentMonitoring})
		changed(&inc, t1, func(i *allswell.Incident) { i.SetResolved(true) })
		summary := allswell.PageContents{Incidents: []allswell.Incident{inc}}.Summarize(t2)
		equal(t, "active", len(summary.Active), 0)
		equal(t, "history", len(summary.Past[0].Incidents), 1)
	}},
	{"resolved true again: resolved_at is set to now each time", func(t *testing.T) {
		inc := resolvedIncident()
		equal(t, "resolved by this call", changed(&inc, t2, func(i *allswell.Incident) { i.SetResolved(true) }), false)
		equal(t, "resolved_at", inc.ResolvedAt, t2)
		equal(t, "updated_at", inc.UpdatedAt, t2)
	}},
	{"resolved false: reopens, resolved_at null, state resolved falls back to investigating", func(t *testing.T) {
		inc := resolvedIncident()
		changed(&inc, t2, func(i *allswell.Incident) { i.SetResolved(false) })
		equal(t, "resolved", inc.Resolved, false)
		equal(t, "resolved_at", inc.ResolvedAt, time.Time{})
		equal(t, "state", inc.State, allswell.IncidentInvestigating)
		equal(t, "updated_at", inc.UpdatedAt, t2)
	}},
	{"resolved false: another state stays", func(t *testing.T) {
		inc := opened(allswell.Incident{State: allswell.IncidentMonitoring})
		changed(&inc, t1, func(i *allswell.Incident) { i.SetResolved(true) })
		changed(&inc, t2, func(i *allswell.Incident) { i.SetResolved(false) })
		equal(t, "state", inc.State, allswell.IncidentMonitoring)
	}},
	{"resolved false: a state in the body takes precedence over investigating", func(t *testing.T) {
		inc := resolvedIncident()
		changed(&inc, t2, func(i *allswell.Incident) { i.State = allswell.IncidentIdentified; i.SetResolved(false) })
		equal(t, "resolved", inc.Resolved, false)
		equal(t, "state", inc.State, allswell.IncidentIdentified)
	}},
	{"resolved false on an incident that is not resolved: no change", func(t *testing.T) {
		inc := opened(allswell.Incident{})
		want := inc
		changed(&inc, t1, func(i *allswell.Incident) { i.SetResolved(false) })
		equal(t, "incident", inc, want)
	}},
	{"another state on a resolved incident: only the state changes; flag and time stay", func(t *testing.T) {
		for _, state := range allswell.IncidentStates[:3] {
			inc := resolvedIncident()
			want := inc
			want.State, want.UpdatedAt = state, t2
			changed(&inc, t2, func(i *allswell.Incident) { i.State = state })
			equal(t, string(state), inc, want)
		}
	}},
	{"another state on a resolved incident: every state is accepted", func(t *testing.T) {
		for _, state := range allswell.IncidentStates {
			checkFields(t, refusal(func(i *allswell.Incident) { i.State = state }))
		}
	}},
	{"updated_at changes when an update is added", func(t *testing.T) {
		inc := opened(allswell.Incident{}, "one")
		u := inc.AddUpdate("upd_2", "two", &inc.Updates[0], t1)
		equal(t, "update", u, allswell.IncidentUpdate{ID: "upd_2", IncidentID: "id", Number: 2, Message: "two", State: allswell.IncidentInvestigating, CreatedAt: t1})
		equal(t, "timeline", inc.Updates[1], u)
		equal(t, "updated_at", inc.UpdatedAt, t1)
	}},
	{"updated_at: a PATCH without effect does not change it", func(t *testing.T) {
		inc := opened(allswell.Incident{Impact: allswell.ImpactMinor})
		want := inc
		changed(&inc, t1, func(*allswell.Incident) {})
		changed(&inc, t1, func(i *allswell.Incident) { i.Title = inc.Title; i.SetImpact(inc.Impact); i.State = inc.State })
		equal(t, "incident", inc, want)
	}},
	{"all invalid fields are named at once", func(t *testing.T) {
		checkFields(t, allswell.Incident{Impact: "?", State: "?"}.CheckNew(allswell.IncidentUpdate{Message: " "}), "title", "impact", "state", "message")
		checkFields(t, refusal(func(i *allswell.Incident) {
			i.Title = " "
			i.SetImpact(allswell.Impact("?"))
			i.State = allswell.IncidentState("?")
		}), "title", "impact", "state")
	}},
}
