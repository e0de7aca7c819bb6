package alerting

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// alertsScreen is the data of the template alerts.
type alertsScreen struct {
	*frame.Form
	Lasting, Ended []alertRow
	Counts         store.AlertCounts
	State, Event   frame.Field
	Monitor        *monitor.Monitor // the only one whose alerts are listed; nil: all
	Newest, Older  string           // URLs; "": none
	All            string           // URL of the list of all open alerts; "": it is shown
	Filtered       bool
	NoRules        bool // there are no rules, so nobody is notified
}

// alertRow is an alert in a list.
type alertRow struct {
	alert.Alert
	Next *planLine // nil: nothing comes next
}

// Tone returns the name of the tone of an alert: while it lasts, the tone of its severity.
func (a alertRow) Tone() string { return alertTone(a.Alert) }

func alertTone(a alert.Alert) string {
	switch {
	case a.State() == alert.Resolved:
		return kernel.NeutralTone.Name
	case a.Severity == kernel.ImpactNone:
		return kernel.StatusDegraded.Tone().Name
	}
	return a.Severity.Tone().Name
}

// stateNames are the words for alert.States.
var stateNames = map[alert.State]string{
	alert.Open: "Open", alert.Acknowledged: "Acknowledged", alert.Resolved: "Resolved",
}

func alertState(a alert.Alert) string { return stateNames[a.State()] }

// eventOptions are the events of rules, to choose from.
func eventOptions() (all []frame.Option) {
	for _, e := range alert.Events {
		all = append(all, frame.Option{Value: string(e), Label: e.Label()})
	}
	return all
}

// showAlerts lists the alerts. Alerts that have not ended are first.
func (r *request) showAlerts() error {
	f := frame.NewForm(r.URL.Query())
	filter, before, err := readAlertFilter(f)
	if err != nil {
		return err
	}
	list, err := r.Store.AlertList(r.Context(), r.Actor(), filter, before, frame.PerPage)
	if err != nil {
		return err
	}
	s := alertsScreen{Form: f, Counts: list.Counts, Filtered: filter != store.AlertFilter{}}
	s.drawFilter()
	query := frame.Filter(f, "state", "event", "monitor")
	if filter.Monitor != "" {
		m, err := r.Store.Monitor(r.Context(), r.Actor(), filter.Monitor)
		if err != nil {
			return err
		}
		s.Monitor = &m
	}
	for _, a := range list.Lasting {
		row := alertRow{Alert: a.Alert}
		if a.Plan != nil {
			row.Next = newPlanLine(*a.Plan)
		}
		s.Lasting = append(s.Lasting, row)
	}
	for _, a := range list.Ended {
		s.Ended = append(s.Ended, alertRow{Alert: a})
	}
	if list.Next.ID != "" {
		s.Older = frame.PathWith(alert.Path, query, "before", formatAlertCursor(list.Next))
	}
	if before.ID != "" {
		s.Newest = frame.PathWith(alert.Path, query, "before", "")
	}
	if filter.State == "" && len(list.Lasting) == frame.PerPage {
		s.All = frame.PathWith(alert.Path, query, "state", string(alert.Open))
	}
	if !s.Filtered && len(list.Lasting)+len(list.Ended) == 0 && r.May(rights.AlertRuleRead) {
		_, rules, err := r.Store.AlertRules().List(r.Context(), r.Actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil {
			return err
		}
		s.NoRules = rules == 0
	}
	title := "Alerts"
	if n := list.Counts.Open; n > 0 {
		title = "(" + frame.AlertCount(n) + ") Alerts"
	}
	return r.Show(http.StatusOK, "alerts", title, s)
}

// readAlertFilter reads the filter and the position of the list. The error is kernel.ErrNotFound for a query to which
// no screen links.
func readAlertFilter(f *frame.Form) (store.AlertFilter, store.AlertCursor, error) {
	filter := store.AlertFilter{
		State: alert.State(f.Value("state")), Event: alert.Event(f.Value("event")), Monitor: f.Value("monitor"),
	}
	before, ok := parseAlertCursor(f.Value("before"))
	if !ok || filter.State != "" && !slices.Contains(alert.States, filter.State) ||
		filter.Event != "" && !slices.Contains(alert.Events, filter.Event) {
		return store.AlertFilter{}, store.AlertCursor{}, kernel.ErrNotFound
	}
	return filter, before, nil
}

// drawFilter draws the fields that filter the list.
func (s *alertsScreen) drawFilter() {
	states := []frame.Option{{Label: "All"}}
	for _, state := range alert.States {
		states = append(states, frame.Option{Value: string(state), Label: stateNames[state]})
	}
	s.State = s.Draw(frame.Field{Name: "state", Label: "State", Type: "select", Options: states})
	s.Event = s.Draw(frame.Field{
		Name: "event", Label: "Event", Type: "select",
		Options: append([]frame.Option{{Label: "All"}}, eventOptions()...),
	})
}

// parseAlertCursor parses a position in the list; "" is its beginning.
func parseAlertCursor(text string) (c store.AlertCursor, ok bool) {
	if text == "" {
		return c, true
	}
	at, id, _ := strings.Cut(text, ".")
	ms, err := strconv.ParseInt(at, 10, 64)
	return store.AlertCursor{OpenedAt: time.UnixMilli(ms), ID: id},
		err == nil && ms > 0 && kernel.ValidID(alert.PrefixAlert, id)
}

func formatAlertCursor(c store.AlertCursor) string {
	return strconv.FormatInt(c.OpenedAt.UnixMilli(), 10) + "." + c.ID
}

// planLine is a step that a rule will take.
type planLine struct {
	At   time.Time
	Rule string
	What string
	Held string // what has become of the alert until then, such as "Silenced"; "": it is not held
}

// newPlanLine returns the next step of a plan as a sentence.
func newPlanLine(p store.AlertPlan) *planLine {
	l := &planLine{At: p.DueAt, Rule: p.RuleName, What: "checks again whom to notify", Held: capital(p.Held.Words())}
	if len(p.Steps) > 0 {
		l.What = stepText(p.Steps[0])
	}
	return l
}

// capital returns a text with a capital letter at its beginning.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// stepText says what a rule does in a step.
func stepText(s store.ForecastStep) string {
	var names []string
	for _, c := range s.Channels {
		name := c.Name
		if c.Participant != "" {
			name += " of " + c.Participant
		}
		names = append(names, name)
	}
	for _, c := range s.Disabled {
		names = append(names, alert.DescribeDisabled(c.Name))
	}
	to := strings.Join(names, ", ")
	switch {
	case s.Held != "":
		return "is still " + s.Held.Words()
	case len(s.Channels) == 0:
		return "notifies no one: " + cmp.Or(to, alert.WhyNobody(len(s.Disabled), len(s.Informed)))
	case s.Kind == alert.NoticeRepeated:
		return "notifies again: " + to
	case s.Kind == alert.NoticeEscalated:
		return "escalates to " + to
	}
	return "notifies " + to
}

// Lasted returns how long an alert lasted that has ended; "": it is about an instant.
func (a alertRow) Lasted() string {
	if !a.Event.Lasts() {
		return ""
	}
	return i18n.English().Duration(max(time.Second, a.ResolvedAt.Sub(a.OpenedAt).Truncate(time.Second)))
}
