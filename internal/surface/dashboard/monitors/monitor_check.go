package monitors

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// maxResults is how many of the last results of a monitor are shown.
const maxResults = 10

// relative is the parent of a monitor, or one of its children.
type relative struct {
	monitor.Monitor
	IsParent bool
}

// Views returns the last result of each location; none if there is only one location.
func (s monitorScreen) Views() (all []checkResult) {
	if len(s.Explanation.Views) < 2 && s.Check.ConfirmFrom < 2 {
		return nil
	}
	for _, r := range s.Explanation.Views {
		all = append(all, checkResult{r})
	}
	return all
}

// Parent returns the monitor on which this one depends; nil: there is none that the member can see.
func (s monitorScreen) Parent() *relative {
	for i := range s.Family {
		if s.Family[i].IsParent {
			return &s.Family[i]
		}
	}
	return nil
}

// loadCheck loads the check results and settings for the screen of a monitor.
func (r *request) loadCheck(s *monitorScreen) error {
	results, _, err := r.Store.CheckResults(r.Context(), r.Actor(), s.ID,
		store.Pagination{Page: 1, PerPage: maxResults})
	for _, result := range results {
		result.Body = monitor.OutputText([]byte(result.Body), monitor.MaxFailedBody)
		s.Results = append(s.Results, checkResult{result})
	}
	s.Settings = checkSettings(s.Monitor)
	return err
}

// checkSettings returns the settings of a check that differ from the defaults.
func checkSettings(m monitor.Monitor) []frame.ShownSetting {
	values := monitorValues(m)
	t, _ := check.TypeOf(m.Type)
	shown := frame.ShownSettings(t.Fields, values, m.Check.SecretFields)
	add := func(label, value string) { shown = append(shown, frame.ShownSetting{Label: label, Value: value}) }
	add("Interval", kernel.CompactDuration(m.Interval))
	add("Timeout", kernel.CompactDuration(m.Check.Timeout))
	if m.Check.SlowAfter > 0 {
		add("Slow after", shortTime(m.Check.SlowAfter))
	}
	if n := m.Check.RecoveryThreshold; n > 1 {
		add("Recovery threshold", strconv.Itoa(n))
	}
	if n := m.Check.ConfirmFrom; n > 1 {
		add("Confirming locations", strconv.Itoa(n))
	}
	return shown
}

// loadFamily loads the parent and the children of a monitor. Monitors that the member cannot see are omitted.
func (r *request) loadFamily(m monitor.Monitor) (family []relative, err error) {
	all, err := r.Store.MonitorFamily(r.Context(), r.Actor(), m)
	for _, other := range all {
		family = append(family, relative{other, other.ID == m.ParentID})
	}
	return family, err
}

// testMonitor checks the target of a monitor once, and shows the monitor with the result.
func (r *request) testMonitor() error {
	m, err := r.Store.MonitorCheck(r.Context(), r.Actor(), r.PathValue("monitor"))
	if err != nil {
		return err
	}
	if !m.IsCheck() {
		return kernel.ErrNotFound
	}
	var tested *checkResult
	if err = m.Check.HasSecrets(); err == nil {
		tested, err = r.testCheck(m.Type, m.Check)
	}
	var invalid *kernel.ValidationError
	if errors.As(err, &invalid) {
		f := frame.NewForm(nil)
		f.Invalid = invalid
		return r.ShowFailure(frame.Failure{
			Status: http.StatusUnprocessableEntity, Title: "Not tested", Text: strings.Join(f.Others(), " "),
			Next: frame.MonitorsPath + "/" + m.ID,
		})
	}
	if err != nil {
		return err
	}
	return r.showMonitorWith(tested)
}
