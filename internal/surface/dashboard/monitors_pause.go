package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
)

// pauses are the durations for which monitors can be paused, as the form offers them. The last one has no end.
var pauses = []option{
	{Value: "1h", Label: "for 1 hour"}, {Value: "4h", Label: "for 4 hours"}, {Value: "12h", Label: "for 12 hours"},
	{Value: "24h", Label: "for 1 day"}, {Value: "168h", Label: "for 1 week"}, {Label: "until somebody resumes it"},
}

// pauseMonitorsScreen is the data of the template monitors_pause.
type pauseMonitorsScreen struct {
	*form
	Monitors []monitor.Monitor
	Fields   []field
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

// pauseMonitorsScreen returns the screen for the monitors that were chosen. It has no monitors if all were deleted
// meanwhile.
func (v *visit) pauseMonitorsScreen(typed url.Values) (s pauseMonitorsScreen, err error) {
	s = pauseMonitorsScreen{form: newForm(typed), Next: monitorsNext(typed.Get("next")), zone: time.UTC}
	if s.Monitors, err = v.loadChosen(typed); err != nil || len(s.Monitors) == 0 {
		return s, err
	}
	slug := s.Monitors[0].PageSlug
	if slug == "" || slices.ContainsFunc(s.Monitors, func(m monitor.Monitor) bool { return m.PageSlug != slug }) {
		return s, nil
	}
	p, err := v.store.Page(v.r.Context(), v.actor(), slug)
	s.zone = p.Location()
	return s, err
}

// showPauseMonitors asks for how long the monitors that were chosen are paused.
func (v *visit) showPauseMonitors() error {
	typed := v.r.URL.Query()
	if !typed.Has("for") {
		typed.Set("for", pauses[0].Value)
	}
	s, err := v.pauseMonitorsScreen(typed)
	if err != nil {
		return err
	}
	return v.answerPauseMonitors(http.StatusOK, s)
}

func (v *visit) answerPauseMonitors(status int, s pauseMonitorsScreen) error {
	if len(s.Monitors) == 0 {
		return v.redirect(s.Next)
	}
	s.Fields = []field{
		s.draw(field{Name: "for", Label: "Pause", Type: "select", Options: pauses}),
		s.draw(field{Name: "paused_until", Label: "Or until", Type: "datetime-local", Optional: true,
			Hint: "If you enter a time, it counts in place of the choice above. In the time zone " + s.zone.String() +
				". The pause ends with the first check after it, by default within a minute."}),
	}
	focusFirst(s.Fields)
	return v.show(status, "monitors_pause", "Pause monitors", s)
}

// until returns the end of the pause that was chosen; zero: until somebody resumes it. It notes the errors of the
// fields.
func (s pauseMonitorsScreen) until(now time.Time) time.Time {
	if s.Value("paused_until") != "" {
		return s.moment("paused_until", s.zone, now)
	}
	chosen := s.Value("for")
	if !slices.ContainsFunc(pauses, func(o option) bool { return o.Value == chosen }) {
		s.refuse("for", "Choose one of the durations.")
		return time.Time{}
	}
	length, err := time.ParseDuration(chosen)
	if err != nil { // without end
		return time.Time{}
	}
	return now.Add(length).Truncate(time.Second)
}

// pauseMonitors pauses the monitors that were chosen.
func (v *visit) pauseMonitors() error {
	s, err := v.pauseMonitorsScreen(v.r.PostForm)
	if err != nil {
		return err
	}
	if until := s.until(v.now()); !s.HasErrors() {
		err = v.changeChosen(monitor.Pause(until))
	}
	if s.refused(err) || s.HasErrors() {
		return v.answerPauseMonitors(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	return v.redirect(s.Next)
}
