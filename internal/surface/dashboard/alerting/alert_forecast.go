package alerting

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// forecastScreen is the data of the template alert_forecast, which shows who would be notified of an event.
type forecastScreen struct {
	*frame.Form
	Fields   []frame.Field
	Asked    bool
	At       time.Time
	Severity kernel.Impact
	Notified []forecastLine
	Rules    []forecastRule // rules that do not match the event
	Silent   []string       // channels that are not notified
	Disabled []string       // channels that are not notified because they are disabled
	NoRules  bool
	CanEdit  bool
}

// forecastLine is a step of a forecast.
type forecastLine struct {
	At    time.Time
	After time.Duration // since the event
	Who   string        // "": nobody is notified
	Why   string        // what happens, or why nobody is notified
	Rule  alert.Rule

	Disabled []string // channels that are not notified because they are disabled, by name

	step store.ForecastStep
}

// When returns the time between the event and the step, for people.
func (l forecastLine) When() string {
	if l.After <= 0 {
		return "Immediately"
	}
	return "After " + i18n.English().Duration(l.After)
}

// forecastRule is a rule that is not about the event.
type forecastRule struct {
	alert.Rule
	Why string
}

// showForecast shows who would be notified of an event, when and why, and who would not. It changes nothing.
func (r *request) showForecast() error {
	typed := r.URL.Query()
	s := forecastScreen{Asked: typed.Has("event") || typed.Has("monitor"), CanEdit: r.May(rights.AlertRuleChange)}
	if !typed.Has("event") {
		typed.Set("event", string(alert.MonitorDown))
	}
	s.Form = frame.NewForm(typed)
	slug, err := r.findForecastMonitor(s.Form)
	if err != nil {
		return err
	}
	if !typed.Has("zone") {
		zone, err := r.zoneOfForm(slug)
		if err != nil {
			return err
		}
		typed.Set("zone", zone.String())
	}
	q := store.AlertQuestion{
		Event: alert.Event(typed.Get("event")), Monitor: typed.Get("monitor"), Page: typed.Get("page"),
		Severity: kernel.Impact(typed.Get("severity")),
	}
	if tags := wordsOf(s.Form, "tags"); len(tags) > 0 {
		q.Tags = tags
	}
	q.At = s.Moment("at", zoneOf(s.Form), r.Now())
	if !slices.Contains(alert.Events, q.Event) {
		s.Refuse("event", "Choose one of the events.")
	}
	if q.Severity != "" && !q.Severity.Valid() {
		s.Refuse("severity", "Choose one of the severities.")
	}
	if s.Asked && !s.HasErrors() {
		f, err := r.Store.ForecastAlert(r.Context(), r.Actor(), q)
		if err == nil {
			err = r.addForecast(&s, f)
		}
		if err != nil && !s.Refused(err) {
			return err
		}
	}
	status := http.StatusOK
	if s.HasErrors() {
		status = http.StatusUnprocessableEntity
	}
	if err := r.drawForecast(&s); err != nil {
		return err
	}
	return r.Show(status, "alert_forecast", "Who is notified?", s)
}

// findForecastMonitor replaces the typed name or id of a monitor by its slug, and returns the slug of its page; "": it
// has none. If the monitor does not exist, the input stays.
func (r *request) findForecastMonitor(f *frame.Form) (pageSlug string, err error) {
	ref := strings.TrimSpace(f.Value("monitor"))
	if ref == "" {
		return "", nil
	}
	m, err := r.Store.Monitor(r.Context(), r.Actor(), ref)
	if errors.Is(err, kernel.ErrNotFound) {
		named, total, err := r.Store.Monitors(r.Context(), r.Actor(),
			store.MonitorFilter{Filter: store.Filter{Name: ref}}, store.Pagination{Page: 1, PerPage: 1})
		switch {
		case err != nil || total == 0:
			return "", err
		case total > 1:
			f.Refuse("monitor", "Several monitors have this name. Enter the slug of one.")
			return "", nil
		}
		m = named[0]
	} else if err != nil {
		return "", err
	}
	f.Values.Set("monitor", m.Slug)
	return m.PageSlug, nil
}

func (r *request) drawForecast(s *forecastScreen) error {
	list, err := r.Store.MonitorList(r.Context(), r.Actor(), store.MonitorQuery{Order: store.MonitorsByName},
		store.Pagination{Page: 1, PerPage: maxFilterMonitors})
	if err != nil {
		return err
	}
	var names []string
	for _, m := range list.Monitors {
		names = append(names, m.Name)
	}
	pages, err := r.Pages()
	if err != nil {
		return err
	}
	pageOptions := []frame.Option{{Label: "From monitor"}}
	for _, p := range pages {
		pageOptions = append(pageOptions, frame.Option{Value: p.ID, Label: p.Name})
	}
	s.Fields = []frame.Field{
		s.Draw(frame.Field{
			Name: "event", Label: "Event", Type: "select", Options: eventOptions(), Wide: true,
		}),
		s.Draw(frame.Field{
			Name: "monitor", Label: "Monitor", Optional: true, Suggestions: names,
			Hint: "Name or slug. Default: any.",
		}),
		s.Draw(frame.Field{
			Name: "at", Label: "At", Type: "datetime-local", Optional: true,
			Hint: "Time zone: " + zoneOf(s.Form).String() + ". Default: now.",
		}),
		s.Draw(frame.Field{Name: "page", Label: "Page", Type: "select", Options: pageOptions}),
		s.Draw(frame.Field{
			Name: "tags", Label: "Tags", Optional: true, Placeholder: "prod", Hint: "Replaces the tags of the monitor.",
		}),
		s.Draw(frame.Field{
			Name: "severity", Label: "Severity", Type: "select",
			Options: append([]frame.Option{{Label: "From event"}}, frame.ImpactOptions()...),
		}),
	}
	return nil
}

// addForecast adds a forecast to the screen.
func (r *request) addForecast(s *forecastScreen, f store.AlertForecast) error {
	channels, err := r.channels()
	if err != nil {
		return err
	}
	s.At, s.Severity, s.NoRules = f.At, f.Subject.Severity, len(f.Rules) == 0
	for _, rule := range f.Rules {
		if rule.Differs != "" {
			s.Rules = append(s.Rules, forecastRule{rule.Rule, rule.Reason})
			continue
		}
		s.Notified = append(s.Notified, forecastLines(rule, f.At)...)
	}
	slices.SortStableFunc(s.Notified, func(a, b forecastLine) int { return a.At.Compare(b.At) })
	notified, fallbacks := make(map[string]bool), make(map[string]bool) // by id of the channel
	for i := range s.Notified {
		s.Notified[i].describe()
		for _, ch := range s.Notified[i].step.Channels {
			notified[ch.ChannelID] = true
			for _, fallback := range ch.Fallbacks {
				fallbacks[fallback.ID] = true
			}
		}
	}
	for _, ch := range channels {
		switch {
		case notified[ch.ID] || fallbacks[ch.ID]:
		case !ch.Enabled:
			s.Disabled = append(s.Disabled, ch.Name)
		default:
			s.Silent = append(s.Silent, ch.Name)
		}
	}
	return nil
}

// forecastLines returns the steps of a rule after an event. Only the first repetition is included.
func forecastLines(r store.RuleForecast, from time.Time) (lines []forecastLine) {
	for _, step := range r.Steps {
		lines = append(lines, forecastLine{At: step.At, After: step.At.Sub(from), Rule: r.Rule, step: step})
		if step.Kind == alert.NoticeRepeated {
			break
		}
	}
	return lines
}

// describe sets Who and Why of the line.
func (l *forecastLine) describe() {
	var names []string
	for _, ch := range l.step.Channels {
		var fallbacks []string
		for _, fallback := range ch.Fallbacks {
			fallbacks = append(fallbacks, fallback.Name)
		}
		names = append(names, alert.DescribeChannel(ch.Name, ch.Participant, fallbacks))
	}
	for _, ch := range l.step.Disabled {
		l.Disabled = append(l.Disabled, alert.DescribeDisabled(ch.Name))
	}
	l.Who, l.Why = strings.Join(names, ", "), noticeNames[l.step.Kind]
	switch {
	case l.step.Held != "":
		l.Why = capital(l.step.Held.Words())
	case len(l.step.Channels) == 0:
		l.Why = alert.WhyNobody(len(l.step.Disabled), len(l.step.Informed))
	case l.step.Kind == alert.NoticeEscalated:
		l.Why += ": not acknowledged"
	case l.step.Kind == alert.NoticeRepeated:
		l.Why += fmt.Sprintf(" %s until acknowledged, up to %d times", kernel.FormatEvery(l.Rule.Repeat),
			alert.MaxRepeats)
	}
}
