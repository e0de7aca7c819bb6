package dashboard

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
)

// maxResults is how many of the last results of a monitor are shown.
const maxResults = 10

// relative is the parent of a monitor, or one of its children.
type relative struct {
	monitor.Monitor
	IsParent bool
}

// fact is a setting of a check. The value of a Secret is never shown.
type fact struct {
	Label, Value string
	Secret       string // name of the field; "": it is none
}

// Views returns the last result from each location; none if there is only one.
func (s monitorScreen) Views() (all []checkResult) {
	if len(s.Explanation.Views) < 2 && s.Check.ConfirmFrom < 2 {
		return nil
	}
	for _, r := range s.Explanation.Views {
		all = append(all, checkResult{r})
	}
	return all
}

// Parent returns the monitor that this one depends on; nil: none that the member can see.
func (s monitorScreen) Parent() *relative {
	for i := range s.Family {
		if s.Family[i].IsParent {
			return &s.Family[i]
		}
	}
	return nil
}

// loadCheck loads what the screen of a monitor shows of its checks.
func (v *visit) loadCheck(s *monitorScreen) error {
	results, _, err := v.store.CheckResults(v.r.Context(), v.actor(), s.ID,
		store.Pagination{Page: 1, PerPage: maxResults})
	for _, r := range results {
		r.Body = monitor.OutputText([]byte(r.Body), monitor.MaxFailedBody)
		s.Results = append(s.Results, checkResult{r})
	}
	s.Facts = monitorFacts(s.Monitor)
	return err
}

// monitorFacts returns the settings of a check that differ from the defaults.
func monitorFacts(m monitor.Monitor) []fact {
	values := monitorValues(m)
	t, _ := check.TypeOf(m.Type)
	facts := typeFacts(t.Fields, values, m.Check.SecretFields)
	add := func(label, value string) { facts = append(facts, fact{Label: label, Value: value}) }
	english := i18n.English()
	add("Interval", english.Duration(m.Interval))
	add("Timeout", english.Duration(m.Check.Timeout))
	if m.Check.SlowAfter > 0 {
		add("Slow after", shortTime(m.Check.SlowAfter))
	}
	if n := m.Check.RecoveryThreshold; n > 1 {
		add("Good results in a row until it is up", strconv.Itoa(n))
	}
	if n := m.Check.ConfirmFrom; n > 1 {
		add("Locations that must agree on a failure", strconv.Itoa(n))
	}
	return facts
}

// loadFamily loads the parent and the children of a monitor. Those that the member cannot see are left out.
func (v *visit) loadFamily(m monitor.Monitor) (family []relative, err error) {
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
	var tested *checkResult
	if err = m.Check.HasSecrets(); err == nil {
		tested, err = v.testCheck(m.Type, m.Check)
	}
	var invalid *kernel.ValidationError
	if errors.As(err, &invalid) {
		f := newForm(nil)
		f.bad = invalid
		return v.showFailure(failure{
			Status: http.StatusUnprocessableEntity, Title: "Nothing was tested", Text: strings.Join(f.Others(), " "),
			Next: monitorsPath + "/" + m.ID,
		})
	}
	if err != nil {
		return err
	}
	return v.showMonitorWith(tested)
}
