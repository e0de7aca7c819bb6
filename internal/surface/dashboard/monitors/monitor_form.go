package monitors

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/shared/timeinput"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// monitorFormScreen is the data of the template monitor_form.
type monitorFormScreen struct {
	*frame.Form
	Title   string
	Monitor monitor.Monitor // the edited monitor; zero: a new one
	Groups  []frame.FieldGroup
	Tag     string   // entity tag of the monitor that the form edits
	Theirs  []string // changes by somebody else meanwhile
	Cancel  string
	Times   []dueTime // the next times of the typed schedule, if it is valid

	Type   check.Type   // zero: a heartbeat
	Types  []typeChoice // of a new monitor
	Result *checkResult // of the requested test; nil: none was requested
}

// typeChoice is a link to the form of a new monitor of another type.
type typeChoice struct {
	Label, Path string
	Current     bool
}

// typeChoices returns the links to the forms of all types.
func typeChoices(current monitor.MonitorType, component string) (all []typeChoice) {
	for _, kind := range check.MonitorTypes() {
		query := url.Values{}
		if kind != monitor.MonitorHeartbeat {
			query.Set("type", string(kind))
		}
		if component != "" {
			query.Set("component_id", component)
		}
		path := frame.MonitorsPath + "/new"
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
		all = append(all, typeChoice{
			monitorTypeName(kind), path, kind == current || current == "" && kind == monitor.MonitorHeartbeat,
		})
	}
	return all
}

// IsCheck reports whether the form is for a monitor whose target is checked.
func (s *monitorFormScreen) IsCheck() bool { return s.Type.Name != "" }

// dueTime is a time at which a ping is due.
type dueTime struct {
	At   time.Time
	Zone *time.Location
	In   time.Duration // from now
}

// Local returns the time in the zone of the schedule, with seconds if it has any.
func (d dueTime) Local() string {
	if d.At.Second() != 0 {
		return d.At.In(d.Zone).Format("Mon 2 Jan 2006, 15:04:05 MST")
	}
	return d.At.In(d.Zone).Format("Mon 2 Jan 2006, 15:04 MST")
}

// dueTimes returns the next five times of a schedule; none for an interval.
func dueTimes(cron schedule.Cron, now time.Time) (times []dueTime) {
	at := now
	for range 5 {
		if at = cron.Next(at); at.IsZero() {
			break
		}
		times = append(times, dueTime{at, cron.Zone(), at.Sub(now)})
	}
	return times
}

// showNewMonitor shows the form of a new monitor, or of a copy.
func (r *request) showNewMonitor() error {
	var empty monitor.Monitor
	resource.ResetMonitor(&empty, monitor.MonitorHeartbeat)
	values := resource.Monitor.FormValues(empty, time.UTC)
	values.Del("grace") // the default depends on the schedule
	values.Set("schedule.kind", "interval")
	values.Set("interval", "25h")
	values.Set("component_id", r.URL.Query().Get("component_id"))
	s := &monitorFormScreen{Title: "New monitor", Cancel: frame.MonitorsPath}
	if kind := r.URL.Query().Get("type"); kind != "" {
		var ok bool
		if s.Type, ok = check.TypeOf(monitor.MonitorType(kind)); !ok {
			return kernel.ErrNotFound
		}
		defaultCheckValues(values, s.Type)
	}
	if of := r.URL.Query().Get("copy"); of != "" {
		m, err := r.Store.Monitor(r.Context(), r.Actor(), of)
		if err != nil {
			return err
		}
		values = monitorValues(m)
		values.Set("name", "")
		values.Set("slug", "")
		s.Type, _ = check.TypeOf(m.Type)
	} else {
		s.Types = typeChoices(s.Type.Name, values.Get("component_id"))
	}
	s.Form = frame.NewForm(values)
	return r.showMonitorForm(http.StatusOK, s)
}

// monitorValues returns the values of the fields of a monitor.
func monitorValues(m monitor.Monitor) url.Values {
	values := resource.Monitor.FormValues(m, time.UTC)
	values.Del("token")
	values.Set("interval", settings.ShortDuration(m.Interval))
	values.Set("component_id", m.PageSlug+"/"+m.ComponentID)
	values.Set("tags", strings.Join(m.Tags, " "))
	setOverlapValue(values, m.RunConditions)
	values.Set("schedule.kind", string(m.Cron.Kind()))
	values.Set("schedule.time_zone", "UTC")
	if !m.Cron.IsZero() {
		values.Set("interval", "")
		values.Set("schedule.expression", m.Cron.Expression)
		values.Set("schedule.time_zone", m.Cron.TimeZone)
	}
	if m.Cron.Kubernetes {
		values.Set("schedule.kind", kindKubernetes)
	}
	values.Set("grace", settings.ShortDuration(m.Grace))
	if m.IsCheck() {
		setCheckValues(values, m)
	}
	return values
}

// showMonitorForm shows the form with its fields.
func (r *request) showMonitorForm(status int, s *monitorFormScreen) error {
	places, err := r.Store.MonitorPlaces(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	where := []frame.Option{{Value: "/", Label: "None (internal only)"}}
	for _, p := range places {
		where = append(where, frame.Option{Value: p.Slug + "/", Label: p.Name + " (no component)"})
		for _, c := range p.Components {
			where = append(where, frame.Option{Value: p.Slug + "/" + c.ID, Label: p.Name + " › " + c.Name})
		}
	}
	down := []frame.Option{}
	if s.Monitor.ID == "" {
		down = append(down, frame.Option{Label: "Automatic"})
	}
	for _, d := range kernel.DownStatuses {
		down = append(down, frame.Option{Value: string(d), Label: i18n.English().Status(d)})
	}
	parents, err := r.parentOptions(s.Monitor)
	if err != nil {
		return err
	}
	isDefault := isDefaultValue
	if s.IsCheck() {
		isDefault = isDefaultOf(s.Type)
	}
	s.Groups = s.DrawGroups(s.fieldGroups(where, down, parents, r.Store.FailureThreshold()), isDefault)
	if !s.Focused {
		frame.FocusFirst(s.Groups[0].Fields)
	}
	var typed monitor.MonitorConfig
	readSchedule(s.Values, &typed, new(kernel.ValidationError))
	s.Times = dueTimes(typed.Cron, time.Now())
	return r.Show(status, "monitor_form", s.Title, s)
}

// readMonitor reads the fields of a form. An edited monitor keeps what the form does not have, and a new one gets the
// defaults of its type. Fields that depend on each other, or that the form has in another form than described, are read
// by hand.
func readMonitor(typed url.Values, t check.Type, isNew bool) monitor.MonitorChange {
	var bad kernel.ValidationError
	var v monitor.MonitorConfig
	var given map[string]json.RawMessage
	var err error
	if t.Name != "" {
		given, err = readCheck(typed, t, &v, &bad)
	} else {
		readSchedule(typed, &v, &bad)
	}
	described := maps.Clone(typed)
	for _, name := range []string{"type", "interval", "grace", "component_id", "no_overlap", "slow_after"} {
		described.Del(name)
	}
	change := resource.Monitor.ReadForm(monitor.Monitor{}, described, time.UTC, time.Time{})
	unread := kernel.JoinInvalid(bad.Err(), err)
	return resource.MonitorChange(func(m *monitor.Monitor) error {
		if m.Type = cmp.Or(t.Name, monitor.MonitorHeartbeat); isNew {
			resource.ResetMonitor(m, m.Type)
		}
		m.PageSlug, m.ComponentID, _ = strings.Cut(typed.Get("component_id"), "/")
		if m.IsCheck() {
			m.Interval, m.Check.SlowAfter = cmp.Or(v.Interval, monitor.DefaultCheckInterval), v.Check.SlowAfter
		} else {
			setSchedule(&m.MonitorConfig, v, typed.Get("grace") != "")
			overlap := typed.Get("no_overlap")
			m.NoOverlap, m.NoOverlapAction = overlap != "", monitor.ConditionAction(overlap)
		}
		return kernel.JoinInvalid(unread, change(m),
			check.Change(m.Type, &m.Check, frame.KeepShown(given, typed, t.Fields, m.Check.Config), true))
	})
}

// setSchedule sets the schedule that was read, and the grace that was read or else the default of the schedule.
func setSchedule(c *monitor.MonitorConfig, read monitor.MonitorConfig, hasGrace bool) {
	c.Cron, c.Grace = schedule.Cron{}, 0
	if c.Reschedule(read.Interval, read.Cron); hasGrace {
		c.Grace = read.Grace
	}
}

// readSchedule reads the schedule and the grace, and adds errors to bad.
func readSchedule(typed url.Values, c *monitor.MonitorConfig, bad *kernel.ValidationError) {
	expression, zone := strings.TrimSpace(typed.Get("schedule.expression")),
		strings.TrimSpace(typed.Get("schedule.time_zone"))
	switch kind := schedule.ScheduleKind(typed.Get("schedule.kind")); kind {
	case schedule.ScheduleCron, schedule.ScheduleCalendar:
		c.Cron = schedule.NewCron(kind, expression, zone)
	case kindKubernetes:
		c.Cron = schedule.NewCron(schedule.ScheduleCron, expression, zone)
		c.Cron.Kubernetes = true
	default:
		c.Interval, _ = readDuration(typed, "interval", bad)
	}
	c.Grace, _ = readDuration(typed, "grace", bad)
}

// readDuration reads a duration, and adds an error to bad if it is invalid. ok is false if nothing was typed.
func readDuration(typed url.Values, name string, bad *kernel.ValidationError) (length time.Duration, ok bool) {
	text := strings.ReplaceAll(typed.Get(name), " ", "")
	if text == "" {
		return 0, false
	}
	var d timeinput.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		bad.AddText(name, err.Error())
		return 0, false
	}
	return time.Duration(d), true
}

// readTags returns the tags in a text, separated by white space or commas.
func readTags(text string) []string { return strings.Fields(strings.ReplaceAll(text, ",", " ")) }

// createMonitor creates a monitor, and shows how its job pings.
func (r *request) createMonitor() error {
	s := &monitorFormScreen{Form: frame.NewForm(r.PostForm), Title: "New monitor", Cancel: frame.MonitorsPath}
	s.Type, _ = check.TypeOf(monitor.MonitorType(s.Value("type")))
	if r.URL.Query().Get("copy") == "" {
		s.Types = typeChoices(s.Type.Name, r.URL.Query().Get("component_id"))
	}
	if s.Value("preview") == "times" {
		return r.showMonitorForm(http.StatusOK, s)
	}
	change := readMonitor(r.PostForm, s.Type, true)
	if s.Value("preview") == "test" {
		return r.showTest(s, change)
	}
	create := r.Store.CreateUniqueMonitor
	if s.AllowsSameName() {
		create = r.Store.CreateMonitor
	}
	m, err := create(r.Context(), r.Actor(), change)
	if s.Refused(err) {
		s.OfferSameName("monitor", func(id string) string { return frame.MonitorsPath + "/" + id })
		return r.showMonitorForm(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	if m.IsCheck() {
		return r.Redirect(frame.MonitorsPath + "/" + m.ID)
	}
	return r.Redirect(frame.MonitorsPath + "/" + m.ID + "/first-ping")
}

func (r *request) editedMonitor() (*monitorFormScreen, error) {
	m, err := r.Store.MonitorCheck(r.Context(), r.Actor(), r.PathValue("monitor"))
	t, _ := check.TypeOf(m.Type)
	return &monitorFormScreen{
		Title: "Edit " + m.Name, Monitor: m, Tag: kernel.EntityTag(resource.Monitor.Audited(m)),
		Cancel: frame.MonitorsPath + "/" + m.ID, Type: t,
	}, err
}

// showEditMonitor shows the form of a monitor.
func (r *request) showEditMonitor() error {
	s, err := r.editedMonitor()
	if err != nil {
		return err
	}
	s.Form = frame.NewForm(monitorValues(s.Monitor))
	return r.showMonitorForm(http.StatusOK, s)
}

// editMonitor changes a monitor, unless somebody else has changed it since the form was shown.
func (r *request) editMonitor() error {
	s, err := r.editedMonitor()
	if err != nil {
		return err
	}
	s.Form = frame.NewForm(r.PostForm)
	change := readMonitor(r.PostForm, s.Type, false)
	switch s.Value("preview") {
	case "":
	case "test":
		s.Tag = s.Value("tag")
		return r.showTest(s, change)
	default:
		s.Tag = s.Value("tag")
		return r.showMonitorForm(http.StatusOK, s)
	}
	_, err = r.Store.ChangeMonitor(r.Context(), r.Actor(), s.Monitor.ID, change, frame.UnchangedSince(s.Values))
	switch {
	case errors.Is(err, kernel.ErrPreconditionFailed):
		s.Theirs = otherValues(s.Type, r.PostForm, monitorValues(s.Monitor))
		return r.showMonitorForm(http.StatusConflict, s)
	case s.Refused(err):
		s.Tag = s.Value("tag")
		return r.showMonitorForm(http.StatusUnprocessableEntity, s)
	case err != nil:
		return err
	}
	return r.Redirect(s.Cancel)
}

// monitorFieldNames are fields of the form, in their order, with words for them. Other fields are named by their
// labels.
var monitorFieldNames = [][2]string{
	{"name", "name"}, {"slug", "slug"}, {"schedule.kind", "schedule"}, {"interval", "interval"},
	{"schedule.expression", "expression"}, {"schedule.time_zone", "time zone"}, {"grace", "grace period"},
	{"component_id", "affected component"}, {"down_status", "status when down"},
	{"failure_threshold", "failure threshold"}, {"auto_incidents", "incidents setting"},
	{"max_runtime", "maximum duration"}, {"max_runtime_action", "action if the maximum duration is exceeded"},
	{"min_runtime", "minimum duration"}, {"min_runtime_action", "action if a run is shorter"},
	{"max_per_interval", "maximum number of runs"},
	{"max_per_interval_action", "action if the maximum number of runs is exceeded"},
	{"no_overlap", "action for overlapping runs"}, {"publish_output", "publication of output"},
	{"tags", "list of tags"}, {"timeout", "timeout"}, {"slow_after", "slow threshold"},
	{"recovery_threshold", "recovery threshold"}, {"confirm_from", "number of confirming locations"},
	{"parent_id", "parent monitor"},
}

// otherValues describes the saved values that differ from the input.
func otherValues(t check.Type, typed, saved url.Values) (all []string) {
	names := slices.Clone(monitorFieldNames)
	for _, i := range resource.Monitor.Infos() {
		if !slices.ContainsFunc(names, func(n [2]string) bool {
			return n[0] == i.Name
		}) && typed.Has(i.Name) && i.Name != "type" {
			names = append(names, [2]string{i.Name, "field “" + i.Label + "”"})
		}
	}
	for _, f := range t.Fields {
		if !f.Secret {
			names = append(names, [2]string{f.Name, "field “" + f.Label + "”"})
		}
	}
	for _, name := range names {
		if t.Name != "" && !typed.Has(name[0]) {
			continue // only heartbeats have this field
		}
		if text := saved.Get(name[0]); frame.UnixLines(text) != frame.UnixLines(typed.Get(name[0])) {
			all = append(all, "The "+name[1]+" is now “"+cmp.Or(strings.Trim(text, "/"), "none")+"”.")
		}
	}
	return all
}
