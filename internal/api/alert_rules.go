package api

import (
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
)

// alertRuleRoutes are the routes of alert rules.
var alertRuleRoutes = []route{
	{"GET", "/api/v1/alert-rules", rights.AlertRuleRead, (*api).listAlertRules, operation{
		id:      "listAlertRules",
		summary: "List the rules that say whom which alerts notify, the oldest first.",
		returns: list("AlertRule"),
	}},
	{"POST", "/api/v1/alert-rules", rights.AlertRuleChange, (*api).createAlertRule, operation{
		id:      "createAlertRule",
		summary: "Create a rule for alerts that begin afterwards.",
		text: "An empty list of `pages`, `monitors`, `tags` or `severities` does not limit the rule; otherwise one " +
			"of the values must match. It must have `channel_ids` or `on_call_ids`. A workspace can have 200 rules, " +
			"each with a name of its own.",
		returns: created("AlertRule", "The rule."),
	}},
	{"POST", "/api/v1/alert-rules/test", rights.AlertRuleRead, (*api).testAlertRules, operation{
		id:      "testAlertRules",
		summary: "Show whom an event would notify, when and why. Nothing is sent.",
		text: "What is shown holds as long as the alert lasts, nobody acknowledges it, and nothing is changed. " +
			"There are up to 50 steps of a rule, and fewer, but at least 10, if more than 40 rules match. Two " +
			"forecasts at a time are made; others are answered 503 with `Retry-After`. It takes a token with the " +
			"scope `read`.",
		returns:   one("AlertForecast", "What each rule would do."),
		rehearsal: true,
	}},
	{"GET", "/api/v1/alert-rules/{ruleId}", rights.AlertRuleRead, (*api).getAlertRule, operation{
		id:      "getAlertRule",
		summary: "Get a rule.",
		returns: one("AlertRule", "The rule."),
	}},
	{"PATCH", "/api/v1/alert-rules/{ruleId}", rights.AlertRuleChange, (*api).changeAlertRule, operation{
		id:      "changeAlertRule",
		summary: "Change a rule; absent fields keep their values.",
		text:    "The rule continues with the alerts that it has begun with.",
		returns: one("AlertRule", "The rule."),
	}},
	{"DELETE", "/api/v1/alert-rules/{ruleId}", rights.AlertRuleChange, (*api).deleteAlertRule, operation{
		id:      "deleteAlertRule",
		summary: "Delete a rule.",
		text:    "Only messages that already wait for a channel are still sent.",
	}},
}

// filterJSON says what a rule or a silence is about.
type filterJSON struct {
	Events     []alert.Event     `json:"events"`
	Pages      []string          `json:"pages"`    // ids
	Monitors   []string          `json:"monitors"` // ids
	Tags       []string          `json:"tags"`
	Severities []allswell.Impact `json:"severities"`
}

func newFilterJSON(f alert.Filter) filterJSON {
	return filterJSON{
		append([]alert.Event{}, f.Events...), append([]string{}, f.Pages...), append([]string{}, f.Monitors...), append([]string{}, f.Tags...),
		append([]allswell.Impact{}, f.Severities...),
	}
}

// readFilterFields reads the given fields of a filter.
func readFilterFields(o *jsonobject.Object, f *alert.Filter) {
	setList(o, &f.Events, "events")
	setList(o, &f.Pages, "pages")
	setList(o, &f.Monitors, "monitors")
	setList(o, &f.Tags, "tags")
	setList(o, &f.Severities, "severities")
}

// setList sets a list to one that is given.
func setList[T ~string](o *jsonobject.Object, list *[]T, field string) {
	given := o.Texts(field)
	if given == nil {
		return
	}
	*list = nil
	for _, text := range given {
		*list = append(*list, T(text))
	}
}

type targetJSON struct {
	ChannelIDs []string `json:"channel_ids"`
	OnCallIDs  []string `json:"on_call_ids"`
}

func newTargetJSON(t alert.Target) targetJSON {
	return targetJSON{append([]string{}, t.ChannelIDs...), append([]string{}, t.OnCallIDs...)}
}

func readTarget(o *jsonobject.Object, t *alert.Target) {
	setList(o, &t.ChannelIDs, "channel_ids")
	setList(o, &t.OnCallIDs, "on_call_ids")
}

type alertRuleJSON struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	filterJSON
	targetJSON
	Delay      int64           `json:"delay"`  // seconds
	Repeat     int64           `json:"repeat"` // seconds; 0: none
	QuietHours *quietHoursJSON `json:"quiet_hours"`
	Escalation []stepJSON      `json:"escalation"`
	Summary    string          `json:"summary"`
	CreatedAt  string          `json:"created_at"`
	UpdatedAt  string          `json:"updated_at"`
}

type quietHoursJSON struct {
	Zone  string          `json:"zone"`
	From  alert.ClockTime `json:"from"`
	Until alert.ClockTime `json:"until"`
	Days  []alert.Weekday `json:"days"`
	targetJSON
}

type stepJSON struct {
	After int64 `json:"after"` // seconds
	targetJSON
}

func newAlertRuleJSON(r alert.Rule) alertRuleJSON {
	out := alertRuleJSON{
		ID: r.ID, Name: r.Name, Enabled: r.Enabled, filterJSON: newFilterJSON(r.Filter), targetJSON: newTargetJSON(r.Target),
		Delay: int64(r.Delay / time.Second), Repeat: int64(r.Repeat / time.Second), Escalation: []stepJSON{},
		Summary: r.Summary, CreatedAt: allswell.FormatTime(r.CreatedAt), UpdatedAt: allswell.FormatTime(r.UpdatedAt),
	}
	if q := r.QuietHours; q != nil {
		out.QuietHours = &quietHoursJSON{q.Zone, q.From, q.Until, append([]alert.Weekday{}, q.Days...), newTargetJSON(q.Target)}
	}
	for _, s := range r.Escalation {
		out.Escalation = append(out.Escalation, stepJSON{int64(s.After / time.Second), newTargetJSON(s.Target)})
	}
	return out
}

func (a *api) listAlertRules(c *call) (store.Response, error) {
	return serveList(c, newAlertRuleJSON, func(r store.Pagination) ([]alert.Rule, int, error) {
		return a.store.AlertRules(c.Context(), c.actor(), r)
	})
}

func (a *api) getAlertRule(c *call) (store.Response, error) {
	r, err := a.store.AlertRule(c.Context(), c.actor(), c.PathValue("ruleId"))
	return taggedResponse(c, r, err, newAlertRuleJSON)
}

// readAlertRule returns a function that sets the given fields of a rule. Its accessors are called at once.
func readAlertRule(o *jsonobject.Object) func(*alert.Rule) {
	name, enabled := o.Text("name"), o.Flag("enabled")
	delay, repeat := seconds(o.Integer("delay")), seconds(o.Integer("repeat"))
	var given alert.Rule
	readFilterFields(o, &given.Filter)
	readTarget(o, &given.Target)
	readQuietHours(o, &given)
	readEscalation(o, &given)
	return func(r *alert.Rule) {
		set(&r.Name, name)
		set(&r.Enabled, enabled)
		set(&r.Delay, delay)
		set(&r.Repeat, repeat)
		replaceFilter(o, &r.Filter, given.Filter)
		replaceTarget(o, &r.Target, given.Target)
		if given.QuietHours != nil || o.Null("quiet_hours") {
			r.QuietHours = given.QuietHours
		}
		if o.Given("escalation") || o.Null("escalation") {
			r.Escalation = given.Escalation
		}
	}
}

// replaceFilter replaces the lists that a request has.
func replaceFilter(o *jsonobject.Object, f *alert.Filter, given alert.Filter) {
	replace(o, "events", &f.Events, given.Events)
	replace(o, "pages", &f.Pages, given.Pages)
	replace(o, "monitors", &f.Monitors, given.Monitors)
	replace(o, "tags", &f.Tags, given.Tags)
	replace(o, "severities", &f.Severities, given.Severities)
}

func replaceTarget(o *jsonobject.Object, t *alert.Target, given alert.Target) {
	replace(o, "channel_ids", &t.ChannelIDs, given.ChannelIDs)
	replace(o, "on_call_ids", &t.OnCallIDs, given.OnCallIDs)
}

// replace replaces a list if the request has it.
func replace[T any](o *jsonobject.Object, field string, list *[]T, given []T) {
	if o.Given(field) {
		*list = given
	}
}

func readQuietHours(o *jsonobject.Object, r *alert.Rule) {
	object, given := o.Object("quiet_hours")
	if !given || object == nil {
		return
	}
	object.Require("zone", "from", "until")
	q := alert.QuietHours{Zone: orZero(object.Text("zone")), From: readClockTime(object, "from"), Until: readClockTime(object, "until")}
	setList(object, &q.Days, "days")
	readTarget(object, &q.Target)
	r.QuietHours = &q
}

// readClockTime reads a time of day. An invalid one is an error of o.
func readClockTime(o *jsonobject.Object, field string) (t alert.ClockTime) {
	if text := o.Text(field); text != nil {
		if err := t.UnmarshalText([]byte(*text)); err != nil {
			o.Add(field, "must be a time of day, such as 22:00")
		}
	}
	return t
}

func readEscalation(o *jsonobject.Object, r *alert.Rule) {
	for _, object := range o.Objects("escalation", alert.MaxSteps) {
		object.Require("after")
		step := alert.Step{After: orZero(seconds(object.Integer("after")))}
		readTarget(object, &step.Target)
		r.Escalation = append(r.Escalation, step)
	}
}

func (a *api) createAlertRule(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("name")
	rule := alert.Rule{Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents}}
	readAlertRule(o)(&rule)
	if err := o.Check(rule.Validate()); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newAlertRuleJSON)
	return r.respond(a.store.CreateAlertRule(c.Context(), c.actor(), rule, r.save...))
}

func (a *api) changeAlertRule(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	change := readAlertRule(o)
	valid := alert.Rule{Name: "x", Filter: alert.Filter{Events: alert.DefaultEvents}, Target: alert.Target{ChannelIDs: []string{"x"}}}
	change(&valid)
	if !o.Given("channel_ids") || !o.Given("on_call_ids") {
		valid.ChannelIDs = append(valid.ChannelIDs, "x") // the rule may have others
	}
	if err := o.Check(valid.Validate()); err != nil {
		return store.Response{}, err
	}
	r, err := a.store.ChangeAlertRule(c.Context(), c.actor(), c.PathValue("ruleId"), c.cond, func(r *alert.Rule) error {
		change(r)
		return nil
	})
	return taggedResponse(c, r, err, newAlertRuleJSON)
}

func (a *api) deleteAlertRule(c *call) (store.Response, error) {
	return noContent(a.store.DeleteAlertRule(c.Context(), c.actor(), c.PathValue("ruleId"), c.cond))
}

type alertForecastJSON struct {
	Event     alert.Event        `json:"event"`
	MonitorID *string            `json:"monitor_id"`
	PageID    *string            `json:"page_id"`
	Severity  allswell.Impact    `json:"severity"`
	At        string             `json:"at"`
	Rules     []ruleForecastJSON `json:"rules"`
}

type ruleForecastJSON struct {
	ID      string             `json:"id"`
	Name    string             `json:"name"`
	Matches bool               `json:"matches"`
	Differs *string            `json:"differs"`
	Reason  *string            `json:"reason"`
	Repeat  *forecastRepeat    `json:"repeat"`
	Steps   []forecastStepJSON `json:"steps"`
}

// forecastRepeat is the repetition of an alert, of which the steps are only the beginning.
type forecastRepeat struct {
	Every int64 `json:"every"` // seconds
	Times int   `json:"times"` // at most
}

type forecastStepJSON struct {
	At       string                `json:"at"`
	Kind     *alert.NoticeKind     `json:"kind"`
	Held     *alert.HoldReason     `json:"held"`
	Channels []forecastChannelJSON `json:"channels"`
	Disabled []channelNameJSON     `json:"disabled"`
	Informed []channelNameJSON     `json:"informed"`
}

type forecastChannelJSON struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	OnCall    *string           `json:"on_call"`
	Fallbacks []channelNameJSON `json:"fallbacks"`
}

type channelNameJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func newAlertForecastJSON(f store.AlertForecast) alertForecastJSON {
	out := alertForecastJSON{
		Event: f.Subject.Event, MonitorID: ptrOrNil(f.Subject.MonitorID), PageID: ptrOrNil(f.Subject.PageID), Severity: f.Subject.Severity,
		At: allswell.FormatTime(f.At), Rules: []ruleForecastJSON{},
	}
	for _, r := range f.Rules {
		rule := ruleForecastJSON{ID: r.Rule.ID, Name: r.Rule.Name, Matches: r.Differs == "", Differs: ptrOrNil(r.Differs), Reason: ptrOrNil(r.Reason)}
		if r.Repeats {
			rule.Repeat = &forecastRepeat{int64(r.Rule.Repeat / time.Second), alert.MaxRepeats}
		}
		rule.Steps = newForecastStepsJSON(r.Steps)
		out.Rules = append(out.Rules, rule)
	}
	return out
}

func newForecastStepsJSON(steps []store.ForecastStep) []forecastStepJSON {
	all := []forecastStepJSON{}
	for _, s := range steps {
		step := forecastStepJSON{
			At: allswell.FormatTime(s.At), Kind: ptrOrNil(s.Kind), Held: ptrOrNil(s.Held),
			Channels: []forecastChannelJSON{}, Disabled: newChannelNamesJSON(s.Disabled), Informed: newChannelNamesJSON(s.Informed),
		}
		for _, ch := range s.Channels {
			step.Channels = append(step.Channels, forecastChannelJSON{ch.ChannelID, ch.Name, ptrOrNil(ch.Participant), newChannelNamesJSON(ch.Fallbacks)})
		}
		all = append(all, step)
	}
	return all
}

func newChannelNamesJSON(channels []store.ChannelName) []channelNameJSON {
	all := []channelNameJSON{}
	for _, ch := range channels {
		all = append(all, channelNameJSON(ch))
	}
	return all
}

// testAlertRules says who would be notified of an event.
func (a *api) testAlertRules(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("event")
	q := store.AlertQuestion{
		Event: orZero(jsonobject.Enum(o, "event", alert.Events)), Monitor: orZero(o.Text("monitor")), Page: orZero(o.Text("page")), Tags: o.Texts("tags"),
		Severity: orZero(jsonobject.Enum(o, "severity", allswell.Impacts)), At: orZero(o.Instant("at")),
	}
	if err := o.Check(nil); err != nil {
		return store.Response{}, err
	}
	f, err := a.store.ForecastAlert(c.Context(), c.actor(), q)
	return resourceResponse(f, err, newAlertForecastJSON)
}
