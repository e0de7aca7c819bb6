package alerting

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/shared/timeinput"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// targetsField is the field with the ids of the channels and on-call schedules that a rule notifies first.
const targetsField = "targets"

// alertRuleForm is the form of a rule.
type alertRuleForm struct {
	*frame.Form
	Rule     alert.Rule // zero: a new one
	Conflict bool
	Tag      string
	Summary  string // of the rule, if it was requested and the input is valid

	Name, Slug, Delay, Repeat, Zone, From, Until           frame.Field
	Targets, Events, Days, Instead                         frame.Field // boxes
	Filter                                                 alertFilterForm
	Steps                                                  []stepFields
	FilterOpen, LaterOpen, QuietOpen, MoreSteps, NoTargets bool
}

// ruleSentences replace texts of the API about problems of a rule.
var ruleSentences = map[string]string{
	"A rule must have %s or %s.":                         "Choose who is notified.",
	"Each of the escalation's steps must have %s or %s.": "Choose who is notified in each step.",
	"The after of each of the escalation's steps must be a whole number of seconds from %d to %d.": "The time of " +
		"each step must be from 1m to 24h.",
}

func newAlertRuleForm(values url.Values, rule alert.Rule) *alertRuleForm {
	f := &alertRuleForm{Form: frame.NewForm(values), Rule: rule}
	f.Sentences = ruleSentences
	return f
}

// stepFields are the fields of a step of the escalation.
type stepFields struct {
	Number         int
	After, Targets frame.Field
}

// stepField returns the name of a field of a step.
func stepField(i int, name string) string { return fmt.Sprintf("step.%d.%s", i, name) }

// ruleValues returns the values of the fields of a rule.
func ruleValues(r alert.Rule) url.Values {
	values := resource.AlertRule.FormValues(r, time.UTC)
	values.Set("delay", optionalDuration(r.Delay))
	values.Set("repeat", optionalDuration(r.Repeat))
	values.Set("quiet_hours.zone", "UTC")
	values[targetsField] = targetIDs(r.Target)
	for i, s := range r.Escalation {
		values.Set(stepField(i, "after"), settings.ShortDuration(s.After))
		values[stepField(i, targetsField)] = targetIDs(s.Target)
	}
	if q := r.QuietHours; q != nil {
		for name, texts := range resource.QuietHours.FormValues(*q, time.UTC) {
			values["quiet_hours."+name] = texts
		}
		values["quiet_hours.targets"] = targetIDs(q.Target)
	}
	return values
}

func optionalDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return settings.ShortDuration(d)
}

func targetIDs(t alert.Target) []string { return slices.Concat(t.ChannelIDs, t.OnCallIDs) }

// readTarget returns the target with the chosen ids.
func readTarget(ids []string) (t alert.Target) {
	for _, id := range ids {
		if strings.HasPrefix(id, alert.PrefixOnCall) {
			t.OnCallIDs = append(t.OnCallIDs, id)
		} else {
			t.ChannelIDs = append(t.ChannelIDs, id)
		}
	}
	return t
}

// read returns the change of the rule that the form describes.
func (f *alertRuleForm) read() func(*alert.Rule) error {
	values := withEmptyLists(f.Form, filterFields...)
	var bad kernel.ValidationError
	delay, repeat := f.duration("delay", &bad), f.duration("repeat", &bad)
	delete(values, "delay")
	delete(values, "repeat")
	fields, escalation, quiet := resource.AlertRule.ReadForm(f.Rule, values, time.UTC, time.Time{}), f.escalation(&bad),
		f.quietHours(&bad)
	return func(r *alert.Rule) error {
		r.Target, r.Delay, r.Repeat, r.Escalation, r.QuietHours = readTarget(f.Values[targetsField]), delay, repeat,
			escalation, quiet
		return kernel.JoinInvalid(fields(r), bad.Err())
	}
}

// escalation reads the steps that are not empty.
func (f *alertRuleForm) escalation(bad *kernel.ValidationError) (steps []alert.Step) {
	for i := range alert.MaxSteps {
		step := alert.Step{
			After: f.duration(stepField(i, "after"), bad), Target: readTarget(f.Values[stepField(i, targetsField)]),
		}
		if strings.TrimSpace(f.Value(stepField(i, "after"))) == "" && len(f.Values[stepField(i, targetsField)]) == 0 {
			continue
		}
		if bad.Has(stepField(i, "after")) {
			step.After = alert.MinStepAfter // the invalid text already has an error
		}
		steps = append(steps, step)
	}
	return steps
}

// duration reads a duration in whole seconds; 0: nothing was typed, or it is invalid.
func (f *alertRuleForm) duration(name string, bad *kernel.ValidationError) time.Duration {
	text := strings.ReplaceAll(f.Value(name), " ", "")
	if text == "" {
		return 0
	}
	var d timeinput.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		bad.AddText(name, err.Error())
	}
	return time.Duration(d)
}

// quietHours reads the quiet hours; nil: neither time was typed.
func (f *alertRuleForm) quietHours(bad *kernel.ValidationError) *alert.QuietHours {
	from, until := strings.TrimSpace(f.Value("quiet_hours.from")), strings.TrimSpace(f.Value("quiet_hours.until"))
	if from == "" && until == "" {
		return nil
	}
	var q alert.QuietHours
	if f.Rule.QuietHours != nil {
		q = *f.Rule.QuietHours // with what the form does not have
	}
	q.Days, q.Zone, q.Target = nil, strings.TrimSpace(f.Value("quiet_hours.zone")),
		readTarget(f.Values["quiet_hours.targets"])
	for _, t := range []struct {
		name, text string
		into       *alert.ClockTime
	}{{"from", from, &q.From}, {"until", until, &q.Until}} {
		if err := t.into.UnmarshalText([]byte(t.text)); err != nil {
			bad.Add("quiet_hours."+t.name, "A time of day such as 22:00 is needed.")
		}
	}
	for _, d := range f.Values["quiet_hours.days"] {
		q.Days = append(q.Days, alert.Weekday(d))
	}
	return &q
}

// previewAlertRule shows the form with one more step, or with a summary of the rule. Nothing is saved.
func (r *request) previewAlertRule(f *alertRuleForm) error {
	if f.Value("preview") == "summary" {
		rule := f.Rule
		if err := resource.AlertRule.Create(&rule, f.read(), r.Now()); f.Refused(err) {
			return r.answerAlertRule(http.StatusUnprocessableEntity, f)
		} else if err != nil {
			return err
		}
	}
	return r.answerAlertRule(http.StatusOK, f)
}

// answerAlertRule shows the form of a rule.
func (r *request) answerAlertRule(status int, f *alertRuleForm) error {
	choices, err := r.ruleChoices(f.Values)
	if err != nil {
		return err
	}
	title := "New rule"
	if f.Rule.ID != "" {
		title = f.Rule.Name
		f.Tag = f.Version("tag", kernel.EntityTag(resource.AlertRule.Audited(f.Rule)), f.Conflict)
	}
	if f.Conflict {
		f.SavedMeanwhile = ruleValues(f.Rule)
	}
	if f.Value("preview") == "summary" && !f.HasErrors() {
		rule := f.Rule
		_ = f.read()(&rule)                      // it has no errors
		for _, ref := range rule.ReferredIDs() { // slugs may be typed
			choices.names[ref] = cmp.Or(choices.names[ref], ref)
		}
		f.Summary = rule.Summarize(choices.names)
	}
	f.NoTargets = len(choices.targets) == 0
	f.drawBasics(choices.targets)
	if f.Filter, err = r.newAlertFilter(f.Form); err != nil {
		return err
	}
	f.FilterOpen = len(f.Filter.Errors)+len(f.Filter.Tags.Errors) > 0 ||
		slices.ContainsFunc([]string{"pages", "monitors", "tags", "severities"}, func(name string) bool {
			return len(wordsOf(f.Form, name)) > 0
		})
	f.drawSteps(choices.targets)
	f.drawQuietHours(choices.targets)
	return r.Show(status, "alert_rule", title, f)
}

func (f *alertRuleForm) drawBasics(targets []frame.Option) {
	slug := frame.FieldOf(resource.AlertRule.Info("slug"))
	slug.Optional = true
	f.Name, f.Slug = f.Draw(frame.FieldOf(resource.AlertRule.Info("name"))), f.Draw(slug)
	f.Targets = f.DrawBoxes(frame.Field{Name: targetsField, Label: "Notify", Options: targets}, "channel_ids",
		"on_call_ids")
	f.Events = f.DrawBoxes(frame.Field{Name: "events", Label: "When", Options: describedEvents()})
	f.Delay = f.Draw(frame.Field{
		Name: "delay", Label: "Delay", Optional: true, Placeholder: "5m",
		Suggestions: []string{"1m", "5m", "15m"}, Hint: "Skip alerts that recover sooner.",
	})
	f.Repeat = f.Draw(frame.Field{
		Name: "repeat", Label: "Repeat every", Optional: true, Placeholder: "30m",
		Suggestions: []string{"15m", "30m", "2h"},
		Hint:        "Until acknowledged, up to " + strconv.Itoa(alert.MaxRepeats) + " times.",
	})
}

// drawSteps draws the steps that are not empty, and an empty one.
func (f *alertRuleForm) drawSteps(targets []frame.Option) {
	last := 0
	for i := range alert.MaxSteps {
		if f.Value(stepField(i, "after")) != "" || len(f.Values[stepField(i, targetsField)]) > 0 {
			last = i + 1
		}
	}
	for i := range min(last+1, alert.MaxSteps) {
		label := "Escalate after"
		if i > 0 {
			label = "Then after"
		}
		step := stepFields{
			Number: i + 1,
			After:  f.Draw(frame.Field{Name: stepField(i, "after"), Label: label, Optional: true, Placeholder: "10m"}),
		}
		step.Targets = f.DrawBoxes(frame.Field{Name: stepField(i, targetsField), Label: "Notify", Options: targets})
		f.Steps = append(f.Steps, step)
	}
	if errs := f.ErrorsOf("escalation", ""); len(errs) > 0 {
		f.Complain(&f.Steps[max(0, last-1)].After, errs)
	}
	f.MoreSteps = last > 0 && last < alert.MaxSteps
	f.LaterOpen = last > 0 || f.Delay.Value+f.Repeat.Value != "" ||
		len(f.Delay.Errors)+len(f.Repeat.Errors)+len(f.Slug.Errors) > 0 || f.Value("preview") == "step"
}

func (f *alertRuleForm) drawQuietHours(targets []frame.Option) {
	f.From = f.Draw(frame.Field{Name: "quiet_hours.from", Label: "From", Type: "time", Optional: true})
	f.Until = f.Draw(frame.Field{Name: "quiet_hours.until", Label: "Until", Type: "time", Optional: true})
	f.Zone = f.Draw(frame.Field{Name: "quiet_hours.zone", Label: "Time zone", Bare: true, Placeholder: "Europe/Berlin"})
	f.Complain(&f.Zone, f.ErrorsOf("quiet_hours", ""))
	f.Days = f.DrawBoxes(frame.Field{
		Name: "quiet_hours.days", Label: "Only on these days", Short: true, Options: weekdayOptions(),
		Hint: "Days they start on. Default: every day.",
	})
	f.Instead = f.DrawBoxes(frame.Field{
		Name: "quiet_hours.targets", Label: "Notify these instead", Options: targets,
		Hint: "Default: hold until quiet hours end.",
	})
	f.QuietOpen = f.From.Value+f.Until.Value != "" || len(f.Zone.Errors)+len(f.From.Errors)+len(f.Until.Errors) > 0
}

// ruleChoices are the channels and schedules that a rule can notify, and names by id for its summary.
type ruleChoices struct {
	targets []frame.Option
	names   map[string]string
}

func (r *request) ruleChoices(typed url.Values) (c ruleChoices, err error) {
	channels, err := r.channels()
	if err != nil {
		return c, err
	}
	c.names = make(map[string]string)
	for _, ch := range channels {
		c.names[ch.ID] = ch.Name
		label := ch.Name + " (" + typeName(ch.Type) + ")"
		if !ch.Enabled {
			label += ", disabled"
		}
		c.targets = append(c.targets, frame.Option{Value: ch.ID, Label: label})
	}
	schedules, _, err := r.Store.OnCallSchedules().List(r.Context(), r.Actor(), "", store.Filter{}, store.Pagination{
		Page: 1, PerPage: alert.MaxOnCall,
	})
	if err != nil {
		return c, err
	}
	for _, o := range schedules {
		c.names[o.ID] = o.Name
		c.targets = append(c.targets, frame.Option{Value: o.ID, Label: "The person on call for " + o.Name})
	}
	pages, err := r.Pages()
	if err != nil {
		return c, err
	}
	for _, p := range pages {
		c.names[p.ID] = p.Name
	}
	monitors, err := r.monitorOptions(typed["monitors"])
	for _, m := range monitors {
		c.names[m.Value] = m.Label
	}
	return c, err
}

// maxMonitorOptions is the maximum number of monitors to choose from.
const maxMonitorOptions = 500

// monitorOptions returns the first monitors by name, and the monitors with the chosen ids.
func (r *request) monitorOptions(chosen []string) (all []frame.Option, err error) {
	list, err := r.Store.MonitorList(r.Context(), r.Actor(), store.MonitorQuery{Order: store.MonitorsByName},
		store.Pagination{Page: 1, PerPage: maxMonitorOptions})
	for _, m := range list.Monitors {
		all = append(all, frame.Option{Value: m.ID, Label: m.Name})
	}
	for _, id := range chosen {
		if !slices.ContainsFunc(all, func(o frame.Option) bool { return o.Value == id }) {
			all = append(all, frame.Option{Value: id, Label: id})
		}
	}
	return all, err
}

// describedEvents are the events of rules with their descriptions.
func describedEvents() (all []frame.Option) {
	for _, e := range alert.Events {
		all = append(all, frame.Option{Value: string(e), Label: e.Help()})
	}
	return all
}

// isConflict reports whether somebody else has changed an object meanwhile.
func isConflict(err error) bool { return errors.Is(err, kernel.ErrPreconditionFailed) }
