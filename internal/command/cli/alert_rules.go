package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

type alertRuleVerbs struct {
	List   ruleList   `cmd:"" help:"List the rules."`
	Show   ruleShow   `cmd:"" aliases:"get" help:"Show a rule."`
	Create ruleCreate `cmd:"" help:"Create a rule for alerts that begin afterwards."`
	Put    rulePut    `cmd:"" help:"Create a rule, or replace its configuration. Missing flags get their defaults."`
	Edit   ruleEdit   `cmd:"" aliases:"set" help:"Change a rule. A given list replaces the list of the rule."`
	Delete ruleDelete `cmd:"" help:"Delete a rule."`
	Test   ruleTest   `cmd:"" help:"Show who would be notified of an event, when and why. Nothing is sent."`
}

type ruleList struct{ listing }

func (cmd *ruleList) Run(c *commandContext) error {
	rules, total, err := c.api.ListAlertRules().First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, rules, total, "No rules yet: no one gets alerts.", []string{"RULE", "NAME", "SUMMARY"},
		func(r *client.AlertRule) []string {
			name := r.Name
			if !r.Enabled {
				name += " (disabled)"
			}
			return []string{r.ID, name, r.Summary}
		})
}

// ruleArgument is embedded by the commands of one rule.
type ruleArgument struct {
	Rule string `arg:"" help:"Id of the rule or the beginning of it, its slug or its name."`
}

func (a ruleArgument) get(c *commandContext) (*client.AlertRule, error) {
	if r, err := c.api.GetAlertRule(c.Ctx, a.Rule); !errors.Is(err, client.ErrNotFound) {
		return r, err
	}
	id, err := findNamed(c, c.api.ListAlertRules(), "rule", a.Rule, func(r *client.AlertRule) (id, name string) {
		return r.ID, r.Name
	})
	if err != nil {
		return nil, err
	}
	return c.api.GetAlertRule(c.Ctx, id)
}

type ruleShow struct {
	ruleArgument
	etagFlag
}

func (cmd *ruleShow) Run(c *commandContext) error {
	r, err := cmd.get(c)
	if err != nil || cmd.ETag {
		return printETag(c, r, err)
	}
	var channels, schedules []string
	for _, t := range ruleTargets(r) {
		channels, schedules = append(channels, t.ChannelIDs...), append(schedules, t.OnCallIDs...)
	}
	named, err := c.recipientNames(channels, schedules)
	if err == nil {
		err = c.addSubjectNames(named, r.AlertMatch)
	}
	return object(c, r, err, func(r *client.AlertRule) {
		properties := [][2]string{
			{"Rule", r.Name}, {"Id", r.ID}, {"Slug", r.Slug},
			{"Enabled", map[bool]string{true: "yes", false: "no"}[r.Enabled]}, {"Summary", r.Summary},
			{"About", matchText(r.AlertMatch, named)}, {"Notifies", targetText(r.AlertTarget, named)},
			{"Delay", durationText(r.Delay)}, {"Repeats every", durationText(r.Repeat)},
		}
		if q := r.QuietHours; q != nil {
			text := fmt.Sprintf("%s to %s %s", q.From, q.Until, q.Zone)
			if len(q.Days) > 0 {
				text += " on " + strings.Join(q.Days, ", ")
			}
			if target := targetText(q.AlertTarget, named); target != "" {
				text += "; then " + target
			}
			properties = append(properties, [2]string{"Quiet hours", text})
		}
		for _, s := range r.Escalation {
			properties = append(properties, [2]string{
				"Then, after " + durationText(s.After), targetText(s.AlertTarget, named),
			})
		}
		c.Properties(properties...)
	})
}

// ruleTargets returns all targets of a rule.
func ruleTargets(r *client.AlertRule) []client.AlertTarget {
	targets := []client.AlertTarget{r.AlertTarget}
	if r.QuietHours != nil {
		targets = append(targets, r.QuietHours.AlertTarget)
	}
	for _, s := range r.Escalation {
		targets = append(targets, s.AlertTarget)
	}
	return targets
}

func durationText(s client.Seconds) string {
	if s == 0 {
		return ""
	}
	return settings.ShortDuration(s.Duration())
}

// addSubjectNames adds the names of the pages and monitors that a rule is about.
func (c *commandContext) addSubjectNames(all names, m client.AlertMatch) error {
	if err := addNames(c, all, m.Pages, c.api.ListPages(), func(p *client.Page) (id, name string) {
		return p.ID, p.Name
	}); err != nil {
		return err
	}
	return addNames(c, all, m.Monitors, c.api.ListMonitors(client.MonitorFilter{}),
		func(v *client.Monitor) (id, name string) {
			return v.ID, v.Name
		})
}

func targetText(t client.AlertTarget, named names) string {
	return strings.Join(named.of(slices.Concat(t.ChannelIDs, t.OnCallIDs)), ", ")
}

// ruleFlags are the flags of commands that create or change a rule. The flags below are for the parts of a rule.
type ruleFlags struct {
	resourceFlags
	QuietHours *string  `placeholder:"FROM-UNTIL" help:"When alerts wait for the end of these hours, such as 22:00-07:00."`
	QuietZone  *string  `placeholder:"ZONE" help:"Time zone of the quiet hours, such as Europe/Berlin. Default: UTC."`
	QuietDay   []string `placeholder:"DAY" help:"Day on which quiet hours begin: mon, tue, … Repeatable. Default: every day."`
	Escalate   []string `placeholder:"AFTER:TARGET" sep:"none" help:"Who is notified next unless the alert is acknowledged, such as 10m:Phone; TARGET is a channel or an on-call schedule. Repeatable."`
}

// givesQuietHours reports whether a flag of the quiet hours is given.
func (f ruleFlags) givesQuietHours() bool {
	return f.QuietHours != nil || f.QuietZone != nil || len(f.QuietDay) > 0
}

// quietHours returns the quiet hours after the change; nil: no flag of the quiet hours is given. What is not given
// stays as in before, which is nil if there were none.
func (f ruleFlags) quietHours(before *client.QuietHours) (*client.QuietHours, error) {
	if !f.givesQuietHours() {
		return nil, nil
	}
	q := client.QuietHours{Zone: "UTC"}
	switch {
	case before != nil:
		q = *before
	case f.QuietHours == nil:
		return nil, console.UsageErrorf("--quiet-zone and --quiet-day need --quiet-hours")
	}
	if f.QuietHours != nil {
		from, until, ok := strings.Cut(*f.QuietHours, "-")
		if !ok {
			return nil, console.UsageErrorf("--quiet-hours must be two times of day, such as 22:00-07:00")
		}
		q.From, q.Until = strings.TrimSpace(from), strings.TrimSpace(until)
	}
	if f.QuietZone != nil {
		q.Zone = *f.QuietZone
	}
	if len(f.QuietDay) > 0 {
		q.Days = f.QuietDay
	}
	return &q, nil
}

// escalation returns the steps of the flag --escalate.
func (f ruleFlags) escalation(c *commandContext) (steps []client.EscalationStep, err error) {
	for _, given := range f.Escalate {
		after, name, ok := strings.Cut(given, ":")
		var d timeinput.Duration
		if !ok || d.UnmarshalText([]byte(after)) != nil {
			return nil, console.UsageErrorf("--escalate must be AFTER:TARGET, such as 10m:Phone")
		}
		step := client.EscalationStep{After: client.SecondsOf(time.Duration(d))}
		if step.AlertTarget, err = c.escalationTarget(name); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// escalationTarget returns the channel or the on-call schedule with an id, a name or, of a schedule, a slug.
func (c *commandContext) escalationTarget(given string) (t client.AlertTarget, err error) {
	var none notFound
	channel, channelErr := c.channel(given)
	if channelErr != nil && !errors.As(channelErr, &none) {
		return t, channelErr
	}
	schedule, err := c.onCall(given)
	switch {
	case err != nil && !errors.As(err, &none):
		return t, err
	case channelErr == nil && err == nil:
		return t,
			console.UsageErrorf("--escalate: %q is a channel and an on-call schedule: give the id of one (%s or %s)",
				given, channel, schedule)
	case channelErr == nil:
		t.ChannelIDs = []string{channel}
	case err == nil:
		t.OnCallIDs = []string{schedule}
	default:
		return t, console.UsageErrorf("--escalate: there is no channel and no on-call schedule %q", given)
	}
	return t, nil
}

// rule returns the description of a rule to create or to replace.
func (f ruleFlags) rule(c *commandContext) (n client.NewAlertRule, err error) {
	given, err := f.given(c, nil)
	if err == nil {
		n, err = convert[client.NewAlertRule](given)
	}
	if err == nil {
		n.QuietHours, err = f.quietHours(nil)
	}
	if err == nil {
		n.Escalation, err = f.escalation(c)
	}
	return n, err
}

type rulePut struct {
	Rule string `arg:"" help:"Slug of the rule, or the id of one that exists."`
	ruleFlags
	putFlags
}

func (cmd *rulePut) Run(c *commandContext) error {
	read := func() (client.NewAlertRule, error) { return cmd.rule(c) }
	return putDescribed(c, cmd.putFlags, "rule", alert.PrefixRule, cmd.Rule, read, c.api.GetAlertRule,
		c.api.PutAlertRule)
}

type ruleCreate struct{ ruleFlags }

func (cmd *ruleCreate) Run(c *commandContext) error {
	n, err := cmd.rule(c)
	if err != nil {
		return err
	}
	r, err := c.api.CreateAlertRule(c.Ctx, n)
	return object(c, r, err, func(r *client.AlertRule) {
		c.Printf("The rule %s is %s. %s\n", console.Visible(r.Name), console.Visible(r.ID), console.Visible(r.Summary))
	})
}

type ruleEdit struct {
	ruleArgument
	ruleFlags
	NoQuietHours bool `help:"Remove the quiet hours."`
	NoEscalation bool `help:"Remove the escalation."`
}

func (cmd *ruleEdit) Run(c *commandContext) error {
	given, err := cmd.given(c, nil)
	if err != nil {
		return err
	}
	steps, err := cmd.escalation(c)
	if err != nil {
		return err
	}
	if cmd.NoEscalation {
		steps = []client.EscalationStep{}
	}
	if steps != nil {
		given["escalation"] = steps
	}
	if cmd.NoQuietHours || cmd.givesQuietHours() {
		given["quiet_hours"] = nil
	}
	change, err := asInput[client.AlertRuleChange](given, nil)
	if err != nil {
		return err
	}
	r, err := cmd.get(c)
	if err != nil {
		return err
	}
	quiet, err := cmd.quietHours(r.QuietHours)
	if err != nil {
		return err
	}
	if quiet != nil {
		change.QuietHours = client.Set(*quiet)
	}
	r, err = c.api.ChangeAlertRule(c.Ctx, r.ID, change, client.IfMatch(r.ETag()))
	return object(c, r, err, func(r *client.AlertRule) { c.Printf("Changed the rule %s.\n", console.Visible(r.Name)) })
}

type ruleDelete struct {
	ruleArgument
	unasked
}

func (cmd *ruleDelete) Run(c *commandContext) error {
	r, err := cmd.get(c)
	if err != nil {
		return err
	}
	return c.deleted(c.api.DeleteAlertRule(c.Ctx, r.ID), "rule", r.Name)
}

type ruleTest struct {
	Event    alert.Event       `default:"monitor.down" placeholder:"EVENT" help:"Event. Default: monitor.down."`
	Monitor  string            `placeholder:"MONITOR" help:"The monitor that it is about, given by its id, name or slug."`
	Page     string            `placeholder:"SLUG" help:"Slug of a page. Default: the page of the monitor."`
	Tag      []string          `placeholder:"TAG" help:"Tag of the monitor; repeatable. Replaces all others."`
	Severity *client.Impact    `placeholder:"SEVERITY" help:"none, minor, major or critical. Default: the severity of the event; of an outage without --monitor, critical."`
	At       *timeinput.Moment `placeholder:"TIME" help:"When it happens: in the zone of --page or of ALLSWELL_PAGE, or with an offset. Default: now."`
}

func (cmd *ruleTest) Run(c *commandContext) error {
	q := client.AlertQuestion{Event: string(cmd.Event), Page: cmd.Page, Tags: cmd.Tag, Severity: cmd.Severity}
	var err error
	if cmd.Monitor != "" {
		if q.Monitor, err = c.monitor(cmd.Monitor); err != nil {
			return err
		}
	}
	if cmd.At != nil {
		at, err := c.moment(*cmd.At, zonePage(cmd.Page))
		if err != nil {
			return err
		}
		q.At = &at
	}
	f, err := c.api.TestAlertRules(c.Ctx, q)
	return object(c, f, err, c.printForecast)
}

// printForecast prints who would be notified of an event.
func (c *commandContext) printForecast(f *client.AlertForecast) {
	if len(f.Rules) == 0 {
		c.Printf("No rules: no one gets alerts.\n")
	}
	for _, r := range f.Rules {
		if !r.Matches {
			c.Printf("%s: no one. %s\n", console.Visible(r.Name),
				console.Visible(valueOr(r.Reason, "It does not match.")))
			continue
		}
		c.Printf("%s:\n", console.Visible(r.Name))
		c.printForecastSteps(r)
	}
}

// printForecastSteps prints what a rule would do. Repetitions to the same channels that follow each other are one line.
func (c *commandContext) printForecastSteps(r client.RuleForecast) {
	last := ""
	for _, s := range r.Steps {
		who := forecastChannels(s)
		switch {
		case s.Kind == nil:
			who = "no one" + heldText(s.Held)
		case who == "":
			who = "no one: " + alert.WhyNobody(len(s.Disabled), len(s.Informed))
		}
		line := fmt.Sprintf("%-10s %s", valueOr(s.Kind, "-"), console.Visible(who))
		if optional.Value(s.Kind) == string(alert.NoticeRepeated) {
			if line == last {
				continue
			}
			last = line
			if r.Repeat != nil {
				line += fmt.Sprintf(", then every %s until acknowledged, up to %d times",
					durationText(r.Repeat.Every), r.Repeat.Times)
			}
		} else {
			last = ""
		}
		c.Printf("  %s  %s\n", console.Time(s.At), line)
	}
}

// forecastChannels describes the channels of a step.
func forecastChannels(s client.ForecastStep) string {
	var all []string
	for _, ch := range s.Channels {
		var fallbacks []string
		for _, fallback := range ch.Fallbacks {
			fallbacks = append(fallbacks, fallback.Name)
		}
		all = append(all, alert.DescribeChannel(ch.Name, optional.Value(ch.OnCall), fallbacks))
	}
	for _, ch := range s.Disabled {
		all = append(all, alert.DescribeDisabled(ch.Name))
	}
	return strings.Join(all, ", ")
}
