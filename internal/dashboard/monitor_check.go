package dashboard

import (
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/store"
)

// maxResults is how many of the last results of a monitor are shown.
const maxResults = 10

// relative is the parent of a monitor, or one of its children.
type relative struct {
	allswell.Monitor
	IsParent bool
}

// loadCheck loads what the screen of a monitor shows of its checks.
func (v *visit) loadCheck(s *monitorScreen) error {
	results, _, err := v.store.CheckResults(v.r.Context(), v.actor(), s.ID, store.Pagination{Page: 1, PerPage: maxResults})
	for _, r := range results {
		r.Body = allswell.OutputText([]byte(r.Body), allswell.MaxFailedBody)
		s.Results = append(s.Results, checkResult{r})
	}
	s.Facts = monitorFacts(s.Monitor)
	return err
}

// monitorFacts returns what a monitor checks, as label and value, without what is as by default.
func monitorFacts(m allswell.Monitor) [][2]string {
	values := monitorValues(m)
	t, _ := check.TypeOf(m.Type)
	var facts [][2]string
	for _, f := range t.Fields {
		value := values.Get(f.Name)
		switch {
		case slices.Contains(m.Check.SecretFields, f.Name):
			facts = append(facts, [2]string{f.Label, "a secret"})
		case value == "" || value == f.Default:
		case f.Kind == check.KindFlag && value == "true":
			facts = append(facts, [2]string{f.Label, "yes"})
		case f.Kind == check.KindFlag:
			facts = append(facts, [2]string{f.Label, "no"})
		default:
			facts = append(facts, [2]string{f.Label, strings.ReplaceAll(value, "\n", ", ")})
		}
	}
	english := i18n.English()
	facts = append(facts, [2]string{"Interval", english.Duration(m.Interval)}, [2]string{"Timeout", english.Duration(m.Check.Timeout)})
	if m.Check.SlowAfter > 0 {
		facts = append(facts, [2]string{"Slow after", shortTime(m.Check.SlowAfter)})
	}
	for _, count := range []string{"recovery_threshold", "confirm_from"} {
		if text := values.Get(count); text != "1" {
			facts = append(facts, [2]string{map[string]string{"recovery_threshold": "Good results in a row until it is up", "confirm_from": "Locations that must agree on a failure"}[count], text})
		}
	}
	return facts
}

// loadFamily loads the parent and the children of a monitor. Those that the member cannot see are left out.
func (v *visit) loadFamily(m allswell.Monitor) (family []relative, err error) {
	all, err := v.store.MonitorFamily(v.r.Context(), v.actor(), m)
	for _, other := range all {
		family = append(family, relative{other, other.ID == m.ParentID})
	}
	return family, err
}

// testMonitor checks the target of a monitor once, and shows the monitor with the result.
func (v *visit) testMonitor() error {
	m, err := v.store.MonitorCheck(v.r.Context(), v.actor(), v.r.PathValue("monitor"))
	if err != nil {
		return err
	}
	if !m.IsCheck() {
		return errNotFound
	}
	if err := m.Check.HasSecrets(); err != nil {
		return err
	}
	tested, err := v.testCheck(m.Type, m.Check)
	if err != nil {
		return err
	}
	return v.showMonitorWith(tested)
}
