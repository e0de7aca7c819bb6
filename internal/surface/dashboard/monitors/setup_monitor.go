package monitors

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// setupCheck is the type of checks that the fourth step offers. The form of a new monitor has all types.
const setupCheck monitor.MonitorType = "http"

// setupMonitorScreen is the data of the template setup_monitor: the fourth step.
type setupMonitorScreen struct {
	frame.SetupStep
	Kinds  []typeChoice
	Check  bool         // of a target
	Result *checkResult // of a test of the target; nil: none was requested
}

// showSetupMonitor shows the fourth step: for a job that pings, or for a target to check.
func (r *request) showSetupMonitor() error {
	values := url.Values{"interval": {"24h"}}
	if r.URL.Query().Get("type") == string(setupCheck) {
		values = url.Values{"interval": {"1m"}, "type": {string(setupCheck)}}
	}
	return r.showMonitorStep(http.StatusOK, frame.NewForm(values), nil)
}

// intervals are the intervals that the form of the first monitor offers.
var intervals = []struct {
	length time.Duration
	label  string
}{
	{time.Minute, "minute"}, {5 * time.Minute, "5 minutes"}, {15 * time.Minute, "15 minutes"}, {time.Hour, "hour"},
	{6 * time.Hour, "6 hours"}, {24 * time.Hour, "day"}, {7 * 24 * time.Hour, "week"},
}

// showMonitorStep shows the fourth step, with the result of a test if there is one.
func (r *request) showMonitorStep(status int, f *frame.Form, result *checkResult) error {
	slug := r.PathValue("page")
	page, err := r.Store.Page(r.Context(), r.Actor(), slug)
	if err != nil {
		return err
	}
	components, _, err := r.Store.Components().List(r.Context(), r.Actor(), slug, store.Filter{}, store.Pagination{
		Page: 1, PerPage: 200,
	})
	if err != nil {
		return err
	}
	affected := frame.Field{
		Name: "component_id", Label: "Affected component", Type: "select",
		Options: []frame.Option{{Label: "None (don’t show on a status page)"}},
	}
	for _, c := range components {
		affected.Options = append(affected.Options, frame.Option{Value: c.ID, Label: c.Name})
	}
	path := frame.Path + "/setup/" + page.Slug + "/monitor"
	s := &setupMonitorScreen{
		frame.SetupStep{Form: f, Step: 4, Page: page, Skip: frame.Path}, nil, f.Value("type") == string(setupCheck),
		result,
	}
	s.Kinds = []typeChoice{
		{"Cron job or heartbeat", path, !s.Check}, {"Website or server", path + "?type=" + string(setupCheck), s.Check},
	}
	often := frame.Field{
		Name: "interval", Label: "Runs every", Type: "select",
		Hint: "Grace period: a quarter of the interval, up to 1 hour.",
	}
	fields := []frame.Field{{Name: "name", Label: "Job name", Placeholder: "Nightly backup"}}
	suggested := len(components) - 1
	if s.Check {
		often.Label, often.Hint, suggested = "Check every", "", 0
		fields = []frame.Field{
			{Name: "name", Label: "Name", Placeholder: "Website"},
			{
				Name: "url", Label: "URL", Placeholder: "https://www.example.com/", InputMode: "url",
				Hint: "Up when the response status is 200 to 299.",
			},
		}
	}
	if len(components) > 0 && !f.Values.Has("component_id") {
		f.Values.Set("component_id", components[suggested].ID)
	}
	for _, i := range intervals {
		if !s.Check || i.length <= 24*time.Hour {
			often.Options = append(often.Options, frame.Option{Value: settings.ShortDuration(i.length), Label: i.label})
		}
	}
	s.DrawFields(append(fields, often, affected)...)
	return r.Show(status, "setup_monitor", s.Title(), s)
}

// setUpMonitor creates the first monitor, or tests its target. Because the durations of jobs vary, the monitor of a job
// expects a ping within a little more than the time between two runs.
func (r *request) setUpMonitor() error {
	f := frame.NewForm(r.PostForm)
	if f.Value("type") == string(setupCheck) {
		return r.setUpCheck(f)
	}
	every, _ := readDuration(f.Values, "interval", new(kernel.ValidationError))
	m, err := r.createFirstMonitor(func(c *monitor.MonitorConfig) error {
		c.Name, c.Interval, c.PageSlug, c.ComponentID = strings.TrimSpace(f.Value("name")), every+slack(every),
			r.PathValue("page"), f.Value("component_id")
		return nil
	})
	if f.Refused(err) {
		return r.showMonitorStep(http.StatusUnprocessableEntity, f, nil)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.MonitorsPath + "/" + m.ID + "/first-ping")
}

// createFirstMonitor creates a monitor. If the page has a monitor with this name that was created within the last hour,
// it returns that one, because the form was sent twice.
func (r *request) createFirstMonitor(change monitor.MonitorChange) (monitor.Monitor, error) {
	wanted, err := resource.NewMonitor(change, r.Now())
	if err != nil {
		return wanted, err
	}
	wanted.Slug = kernel.SlugOf(wanted.Name, "monitor")
	m, err := r.Store.CreateMonitor(r.Context(), r.Actor(), func(c *monitor.MonitorConfig) error {
		err := change(c)
		c.Slug = wanted.Slug
		return err
	})
	if bad := (*kernel.ValidationError)(nil); !errors.As(err, &bad) || !bad.Has("slug") {
		return m, err
	}
	earlier, findErr := r.Store.Monitor(r.Context(), r.Actor(), wanted.Slug)
	if findErr == nil && earlier.Name == wanted.Name && earlier.PageSlug == r.PathValue("page") &&
		earlier.IsCheck() == wanted.IsCheck() && r.Now().Sub(earlier.CreatedAt) < time.Hour {
		return earlier, nil
	}
	return r.Store.CreateMonitor(r.Context(), r.Actor(), change)
}

// setUpCheck creates the first monitor as a check of a URL, or tests the URL.
func (r *request) setUpCheck(f *frame.Form) error {
	t, _ := check.TypeOf(setupCheck)
	change := readMonitor(url.Values{
		"name": f.Values["name"], "url": f.Values["url"], "interval": f.Values["interval"],
		"component_id": {r.PathValue("page") + "/" + f.Value("component_id")},
	}, t, true)
	var result *checkResult
	var made monitor.Monitor
	var err error
	test := f.Value("preview") == "test"
	if !test {
		made, err = r.createFirstMonitor(change)
	} else if spec, bad := r.changedCheck(made, change); bad != nil {
		err = bad
	} else {
		result, err = r.testCheck(setupCheck, spec)
	}
	switch {
	case f.Refused(err):
		return r.showMonitorStep(http.StatusUnprocessableEntity, f, nil)
	case err != nil:
		return err
	case test:
		return r.showMonitorStep(http.StatusOK, f, result)
	}
	return r.Redirect(frame.MonitorsPath + "/" + made.ID)
}

// slack returns the extra time before a job is overdue: a quarter of the time between two runs, at most an hour.
func slack(every time.Duration) time.Duration { return min(every/4, time.Hour) }
