package monitors

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// pauses are the durations of pauses that the form offers. The last one has no end.
var pauses = []frame.Option{
	{Value: "1h", Label: "for 1 hour"}, {Value: "4h", Label: "for 4 hours"}, {Value: "12h", Label: "for 12 hours"},
	{Value: "24h", Label: "for 1 day"}, {Value: "168h", Label: "for 1 week"}, {Label: "until resumed"},
}

// pauseMonitorsScreen is the data of the template monitors_pause.
type pauseMonitorsScreen struct {
	*frame.Form
	Monitors []monitor.Monitor
	Fields   []frame.Field
	Next     string
	zone     *time.Location // of the time that can be typed
}

// Down reports whether one of the monitors is down.
func (s pauseMonitorsScreen) Down() bool { return deleteMonitorsScreen{Monitors: s.Monitors}.Down() }

// Jobs reports whether jobs ping one of the monitors.
func (s pauseMonitorsScreen) Jobs() bool { return deleteMonitorsScreen{Monitors: s.Monitors}.Jobs() }

// Checks reports whether the target of one of the monitors is checked.
func (s pauseMonitorsScreen) Checks() bool {
	return deleteMonitorsScreen{Monitors: s.Monitors}.Checks()
}

// pauseMonitorsScreen returns the screen for the selected monitors. It has no monitors if all were deleted meanwhile.
func (r *request) pauseMonitorsScreen(typed url.Values) (s pauseMonitorsScreen, err error) {
	s = pauseMonitorsScreen{Form: frame.NewForm(typed), Next: monitorsNext(typed.Get("next")), zone: time.UTC}
	if s.Monitors, err = r.loadChosen(typed); err != nil || len(s.Monitors) == 0 {
		return s, err
	}
	slug := s.Monitors[0].PageSlug
	if slug == "" || slices.ContainsFunc(s.Monitors, func(m monitor.Monitor) bool { return m.PageSlug != slug }) {
		return s, nil
	}
	p, err := r.Store.Page(r.Context(), r.Actor(), slug)
	s.zone = p.Location()
	return s, err
}

// showPauseMonitors asks how long the selected monitors are to be paused.
func (r *request) showPauseMonitors() error {
	typed := r.URL.Query()
	if !typed.Has("for") {
		typed.Set("for", pauses[0].Value)
	}
	s, err := r.pauseMonitorsScreen(typed)
	if err != nil {
		return err
	}
	return r.answerPauseMonitors(http.StatusOK, s)
}

func (r *request) answerPauseMonitors(status int, s pauseMonitorsScreen) error {
	if len(s.Monitors) == 0 {
		return r.Redirect(s.Next)
	}
	s.Fields = []frame.Field{
		s.Draw(frame.Field{Name: "for", Label: "Pause", Type: "select", Options: pauses}),
		s.Draw(frame.Field{Name: "paused_until", Label: "Or until", Type: "datetime-local", Optional: true,
			Hint: "Overrides the choice above. Time zone: " + s.zone.String() +
				". Resumes within a minute of this time."}),
	}
	frame.FocusFirst(s.Fields)
	return r.Show(status, "monitors_pause", "Pause monitors", s)
}

// until returns the end of the chosen pause; zero: until somebody resumes the monitors. It adds errors to the fields.
func (s pauseMonitorsScreen) until(now time.Time) time.Time {
	if s.Value("paused_until") != "" {
		return s.Moment("paused_until", s.zone, now)
	}
	chosen := s.Value("for")
	if !slices.ContainsFunc(pauses, func(o frame.Option) bool { return o.Value == chosen }) {
		s.Refuse("for", "Choose one of the durations.")
		return time.Time{}
	}
	length, err := time.ParseDuration(chosen)
	if err != nil { // without end
		return time.Time{}
	}
	return now.Add(length).Truncate(time.Second)
}

// pauseMonitors pauses the selected monitors.
func (r *request) pauseMonitors() error {
	s, err := r.pauseMonitorsScreen(r.PostForm)
	if err != nil {
		return err
	}
	if until := s.until(r.Now()); !s.HasErrors() {
		err = r.changeChosen(monitor.Pause(until))
	}
	if s.Refused(err) || s.HasErrors() {
		return r.answerPauseMonitors(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	return r.Redirect(s.Next)
}
