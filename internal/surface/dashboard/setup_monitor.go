package dashboard

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
)

// setupCheck is the type of the checks that the fourth step offers. The form of a new monitor has all.
const setupCheck monitor.MonitorType = "http"

// showSetupMonitor shows the fourth step: for a job that pings, or for a target to check.
func (v *visit) showSetupMonitor() error {
	values := url.Values{"interval": {"24h"}}
	if v.r.URL.Query().Get("type") == string(setupCheck) {
		values = url.Values{"interval": {"1m"}, "type": {string(setupCheck)}}
	}
	return v.showMonitorStep(http.StatusOK, newForm(values), nil)
}

// intervals are the intervals that the form of the first monitor offers.
var intervals = []struct {
	length time.Duration
	label  string
}{
	{time.Minute, "every minute"}, {5 * time.Minute, "every 5 minutes"}, {15 * time.Minute, "every 15 minutes"},
	{time.Hour, "every hour"},
	{6 * time.Hour, "every 6 hours"}, {24 * time.Hour, "every day"}, {7 * 24 * time.Hour, "every week"},
}

// showMonitorStep shows the fourth step, with the result of a test if there is one.
func (v *visit) showMonitorStep(status int, f *form, result *checkResult) error {
	slug := v.r.PathValue("page")
	page, err := v.store.Page(v.r.Context(), v.actor(), slug)
	if err != nil {
		return err
	}
	components, _, err := v.store.Components().List(v.r.Context(), v.actor(), slug, store.Filter{}, store.Pagination{
		Page: 1, PerPage: 200,
	})
	if err != nil {
		return err
	}
	affected := field{
		Name: "component_id", Label: "While it is down, this component is down, too", Type: "select",
		Options: []option{{Label: "none: show nothing on the page"}},
	}
	for _, c := range components {
		affected.Options = append(affected.Options, option{Value: c.ID, Label: c.Name})
	}
	path := Path + "/setup/" + page.Slug + "/monitor"
	s := &setupScreen{
		form: f, Step: 4, Page: page, Skip: Path, Check: f.Value("type") == string(setupCheck), Result: result,
	}
	s.Kinds = []typeChoice{
		{"A job that pings", path, !s.Check}, {"A target to check", path + "?type=" + string(setupCheck), s.Check},
	}
	often := field{
		Name: "interval", Label: "It runs", Type: "select",
		Hint: "Its ping is overdue a quarter of this time later, at most an hour.",
	}
	fields := []field{{Name: "name", Label: "A job that should run regularly", Placeholder: "Nightly backup"}}
	suggested := len(components) - 1
	if s.Check {
		often.Label, often.Hint, suggested = "It is checked", "", 0
		fields = []field{
			{Name: "name", Label: "A website or an API", Placeholder: "Website"},
			{
				Name: "url", Label: "Its URL", Placeholder: "https://www.example.com/", InputMode: "url",
				Hint: "It is up while it answers with a status from 200 to 299.",
			},
		}
	}
	if len(components) > 0 && !f.values.Has("component_id") {
		f.values.Set("component_id", components[suggested].ID)
	}
	for _, i := range intervals {
		if !s.Check || i.length <= 24*time.Hour {
			often.Options = append(often.Options, option{Value: settings.ShortDuration(i.length), Label: i.label})
		}
	}
	return v.showStep(status, s, append(fields, often, affected)...)
}

// setUpMonitor creates the first monitor, or tests the target that it would check. Jobs take different times, so their
// monitor expects a ping within a little more than the time between two runs.
func (v *visit) setUpMonitor() error {
	f := newForm(v.r.PostForm)
	if f.Value("type") == string(setupCheck) {
		return v.setUpCheck(f)
	}
	every, _ := readDuration(f.values, "interval", new(kernel.ValidationError))
	m, err := v.createFirstMonitor(func(c *monitor.MonitorConfig) error {
		c.Name, c.Interval, c.PageSlug, c.ComponentID = strings.TrimSpace(f.Value("name")), every+slack(every),
			v.r.PathValue("page"), f.Value("component_id")
		return nil
	})
	if f.refused(err) {
		return v.showMonitorStep(http.StatusUnprocessableEntity, f, nil)
	}
	if err != nil {
		return err
	}
	return v.redirect(monitorsPath + "/" + m.ID + "/first-ping")
}

// createFirstMonitor creates a monitor, or returns the one of this name on the page if it was created within the last
// hour: then the form was sent twice.
func (v *visit) createFirstMonitor(change monitor.MonitorChange) (monitor.Monitor, error) {
	wanted, err := resource.NewMonitor(change, v.now())
	if err != nil {
		return wanted, err
	}
	wanted.Slug = kernel.SlugOf(wanted.Name, "monitor")
	m, err := v.store.CreateMonitor(v.r.Context(), v.actor(), func(c *monitor.MonitorConfig) error {
		err := change(c)
		c.Slug = wanted.Slug
		return err
	})
	if bad := (*kernel.ValidationError)(nil); !errors.As(err, &bad) || !bad.Has("slug") {
		return m, err
	}
	earlier, findErr := v.store.Monitor(v.r.Context(), v.actor(), wanted.Slug)
	if findErr == nil && earlier.Name == wanted.Name && earlier.PageSlug == v.r.PathValue("page") &&
		earlier.IsCheck() == wanted.IsCheck() && v.now().Sub(earlier.CreatedAt) < time.Hour {
		return earlier, nil
	}
	return v.store.CreateMonitor(v.r.Context(), v.actor(), change)
}

// setUpCheck creates the first monitor as a check of a URL, or tests the URL.
func (v *visit) setUpCheck(f *form) error {
	t, _ := check.TypeOf(setupCheck)
	change := readMonitor(url.Values{
		"name": f.values["name"], "url": f.values["url"], "interval": f.values["interval"],
		"component_id": {v.r.PathValue("page") + "/" + f.Value("component_id")},
	}, t, true)
	var result *checkResult
	var made monitor.Monitor
	var err error
	test := f.Value("preview") == "test"
	if !test {
		made, err = v.createFirstMonitor(change)
	} else if spec, bad := v.changedCheck(made, change); bad != nil {
		err = bad
	} else {
		result, err = v.testCheck(setupCheck, spec)
	}
	switch {
	case f.refused(err):
		return v.showMonitorStep(http.StatusUnprocessableEntity, f, nil)
	case err != nil:
		return err
	case test:
		return v.showMonitorStep(http.StatusOK, f, result)
	}
	return v.redirect(monitorsPath + "/" + made.ID)
}

// slack returns how much later than usual a job may run before it is overdue: a quarter of the time between two runs,
// at most an hour.
func slack(every time.Duration) time.Duration { return min(every/4, time.Hour) }
