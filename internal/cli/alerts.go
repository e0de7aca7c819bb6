package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/console"
	"github.com/allswell/allswell/internal/timeinput"
)

// AlertCommands are the commands of alerts and their rules.
type AlertCommands struct {
	ClientSettings `embed:""`

	List        alertList        `cmd:"" help:"List the alerts, newest first."`
	Show        alertShow        `cmd:"" aliases:"get" help:"Show an alert, whom it has notified, and what the rules will do next."`
	Acknowledge alertAcknowledge `cmd:"" aliases:"ack" help:"Acknowledge an alert, so that it is no longer repeated or escalated."`
	Rule        alertRuleVerbs   `cmd:"" help:"List, show, create, edit, delete and test the rules that say whom alerts notify."`
}

type alertList struct {
	State   alert.State `placeholder:"STATE" help:"Only alerts that are open, acknowledged or resolved."`
	Event   alert.Event `placeholder:"EVENT" help:"Only alerts of this event, such as monitor.down."`
	Monitor string      `placeholder:"MONITOR" help:"Only alerts of this monitor, given by its id, name or slug."`
	listing
}

func (cmd *alertList) Run(c *commandContext) error {
	filter := client.AlertFilter{State: string(cmd.State), Event: string(cmd.Event)}
	if cmd.Monitor != "" {
		id, err := c.monitor(cmd.Monitor)
		if err != nil {
			return err
		}
		filter.Monitor = id
	}
	alerts, total, err := c.api.ListAlerts(filter).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, alerts, total, "No alerts.", []string{"ALERT", "STATE", "SINCE", "TITLE"}, func(a *client.Alert) []string {
		return []string{a.ID, a.State, console.Time(a.OpenedAt), a.Title}
	})
}

// alertArgument is embedded by the commands of one alert.
type alertArgument struct {
	Alert string `arg:"" help:"Id of the alert or the beginning of it, its title if it has not ended, or latest."`
}

func (a alertArgument) id(c *commandContext) (string, error) {
	switch {
	case strings.HasPrefix(a.Alert, alert.PrefixAlert):
		kind := resourceKind{"alert", alert.PrefixAlert}
		return findByID(c, c.api.ListAlerts(client.AlertFilter{}), kind, a.Alert, func(v *client.Alert) string { return v.ID })
	case a.Alert != "latest":
		var lasting []*client.List[client.Alert]
		for _, state := range []alert.State{alert.Open, alert.Acknowledged} {
			lasting = append(lasting, c.api.ListAlerts(client.AlertFilter{State: string(state)}))
		}
		return findTitled(c, lasting, "open alert", a.Alert, func(v *client.Alert) titled { return titled{v.ID, v.Title, v.State == string(alert.Open)} })
	}
	newest, _, err := c.api.ListAlerts(client.AlertFilter{}).First(c.Ctx, 1)
	if err == nil && len(newest) == 0 {
		err = console.UsageErrorf("there are no alerts")
	}
	if err != nil {
		return "", err
	}
	return newest[0].ID, nil
}

// findByID returns the id of a resource that is given by its id or an unambiguous beginning of it.
func findByID[T any](
	c *commandContext, list *client.List[T], kind resourceKind, given string, idOf func(*T) string,
) (string, error) {
	if !strings.HasPrefix(given, kind.prefix) {
		return "", console.UsageErrorf("the id of the %s begins with %s", kind.noun, kind.prefix)
	}
	if isWholeID(kind.prefix, given) {
		return given, nil
	}
	return findByPrefix(c, list, kind.noun, given, idOf)
}

type alertShow struct{ alertArgument }

func (cmd *alertShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	a, err := c.api.GetAlert(c.Ctx, id)
	return object(c, a, err, func(a *client.Alert) {
		c.Facts([2]string{"Alert", a.Title}, [2]string{"Id", a.ID}, [2]string{"Event", a.Event}, [2]string{"State", a.State}, [2]string{"Severity", string(a.Severity)},
			[2]string{"Reason", valueOf(a.Reason)}, [2]string{"Page", valueOf(a.Page)}, [2]string{"Since", console.Time(a.OpenedAt)},
			[2]string{"Acknowledged", acknowledgedText(a)}, [2]string{"Ended", timeOr(a.ResolvedAt, "")}, [2]string{"Ended because", valueOf(a.EndReason)})
		printAlertHistory(c, a)
		c.printPlans(a)
	})
}

// printPlans prints what comes next, or why nothing does.
func (c *commandContext) printPlans(a *client.Alert) {
	switch {
	case len(a.Plans) > 0:
		c.Printf("What comes next, as long as it lasts and nobody acknowledges it:\n")
	case a.State == string(alert.Resolved):
		c.Printf("Nothing comes next: it is over.\n")
	case a.State == string(alert.Acknowledged):
		c.Printf("Nothing comes next before its end: it is acknowledged.\n")
	case len(a.Notices) > 0:
		c.Printf("Nothing comes next before its end: no rule repeats or escalates it any more.\n")
	}
	for _, p := range a.Plans {
		held := ""
		if p.Held != nil {
			held = heldText(p.Held) + " until " + console.Time(p.DueAt)
		}
		c.Printf("%s%s:\n", console.Visible(p.Rule), held)
		c.printForecastSteps(client.RuleForecast{Steps: p.Steps})
	}
}

// printAlertHistory prints whom an alert has notified and what held it back, the oldest first.
func printAlertHistory(c *commandContext, a *client.Alert) {
	type entry struct {
		at   time.Time
		text string
	}
	var all []entry
	for _, t := range a.Notices {
		channel := console.Visible(t.Channel)
		if t.Deleted {
			channel += " (deleted, " + console.Visible(t.Type) + ")"
		}
		if t.InPlaceOf != nil {
			channel += " in place of " + console.Visible(*t.InPlaceOf)
		}
		all = append(all, entry{t.At, fmt.Sprintf("%-12s %s: %s", t.Kind, channel, noticeState(t))})
	}
	for _, h := range a.Holds {
		held := map[bool]string{false: "is held back", true: "was held back"}[h.Over]
		all = append(all, entry{h.At, fmt.Sprintf("%s by the rule %s until %s: %s", held, console.Visible(valueOr(h.Rule, "that was deleted")), console.Time(h.Until), strings.ReplaceAll(h.Reason, "_", " "))})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	for _, e := range all {
		c.Printf("%s  %s\n", console.Time(e.at), e.text)
	}
	if len(all) == 0 && len(a.Plans) == 0 {
		c.Printf("No rule has notified anybody of it, or will.\n")
	}
}

func acknowledgedText(a *client.Alert) string {
	if a.AcknowledgedAt == nil {
		return ""
	}
	return console.Time(*a.AcknowledgedAt) + " by " + valueOf(a.AcknowledgedBy)
}

// noticeState returns the outcome of a notice in words.
func noticeState(n client.AlertNotice) string {
	switch {
	case n.SentAt != nil:
		return "accepted " + console.Time(*n.SentAt)
	case n.Failed:
		return "not accepted: " + console.Visible(valueOf(n.Reason))
	case n.Reason != nil:
		return "being tried: " + console.Visible(*n.Reason)
	}
	return "waits"
}

func heldText(held *string) string {
	if held == nil {
		return ""
	}
	return ", held by " + strings.ReplaceAll(*held, "_", " ")
}

type alertAcknowledge struct{ alertArgument }

func (cmd *alertAcknowledge) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	a, err := c.api.AcknowledgeAlert(c.Ctx, id)
	return object(c, a, err, func(a *client.Alert) {
		if a.AcknowledgedBy == nil {
			c.Printf("%s: the alert is over already.\n", console.Visible(a.Title))
			return
		}
		c.Printf("%s: acknowledged by %s.\n", console.Visible(a.Title), console.Visible(*a.AcknowledgedBy))
	})
}

// SilenceCommands are the commands of silences.
type SilenceCommands struct {
	ClientSettings `embed:""`

	List   silenceList   `cmd:"" help:"List the silences that have not ended."`
	Show   silenceShow   `cmd:"" aliases:"get" help:"Show a silence."`
	Create silenceCreate `cmd:"" help:"Hold alerts back for a time. Alerts that are still open at its end are sent then."`
	Edit   silenceEdit   `cmd:"" aliases:"set" help:"Change a silence that has not ended."`
	End    silenceEnd    `cmd:"" aliases:"delete" help:"End a silence now."`
}

type silenceList struct {
	Ended bool `help:"Also list those that have ended in the last 90 days."`
	listing
}

func (cmd *silenceList) Run(c *commandContext) error {
	silences, total, err := c.api.ListSilences(cmd.Ended).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, silences, total, "No silences.", []string{"SILENCE", "FROM", "UNTIL", "ABOUT", "COMMENT"}, func(v *client.Silence) []string {
		return []string{v.ID, console.Time(v.StartsAt), console.Time(v.EndsAt), v.About, v.Comment}
	})
}

// matchText returns what a rule or a silence is about.
func matchText(m client.AlertMatch, named names) string {
	var parts []string
	for _, list := range []struct {
		name   string
		values []string
	}{{"event", m.Events}, {"page", m.Pages}, {"monitor", m.Monitors}, {"tag", m.Tags}, {"severity", textsOf(m.Severities)}} {
		if len(list.values) > 0 {
			parts = append(parts, list.name+" "+strings.Join(named.of(list.values), " or "))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "everything")
}

// matchFlags are the flags that say what a rule or a silence is about.
type matchFlags struct {
	Event    []string          `xor:"event" placeholder:"EVENT" help:"Only these events, such as monitor.down. Repeatable."`
	Page     []string          `xor:"page" placeholder:"SLUG" help:"Only what is on these pages. Repeatable."`
	Monitor  []string          `xor:"monitor" placeholder:"MONITOR" sep:"none" help:"Only these monitors, given by id, name or slug. Repeatable."`
	Tag      []string          `xor:"tag" placeholder:"TAG" help:"Only monitors with one of these tags. Repeatable."`
	Severity []allswell.Impact `xor:"severity" placeholder:"SEVERITY" help:"Only these severities: none, minor, major or critical. Repeatable."`
}

func (f matchFlags) match(c *commandContext) (client.AlertMatch, error) {
	m := f.given()
	m.Monitors = nil
	for _, given := range f.Monitor {
		id, err := c.monitor(given)
		if err != nil {
			return m, err
		}
		m.Monitors = append(m.Monitors, id)
	}
	return m, nil
}

// given returns what the flags say, with monitors as they are given.
func (f matchFlags) given() client.AlertMatch {
	return client.AlertMatch{Events: f.Event, Pages: f.Page, Monitors: f.Monitor, Tags: f.Tag, Severities: f.Severity}
}

// matchesAll reports whether nothing limits a rule or a silence.
func matchesAll(m client.AlertMatch) bool {
	return len(m.Events)+len(m.Pages)+len(m.Monitors)+len(m.Tags)+len(m.Severities) == 0
}

// applied returns what a rule or a silence is about after a change.
func applied(m client.AlertMatch, ch client.AlertMatchChange) client.AlertMatch {
	return client.AlertMatch{
		Events: valueOr(ch.Events, m.Events), Pages: valueOr(ch.Pages, m.Pages), Monitors: valueOr(ch.Monitors, m.Monitors),
		Tags: valueOr(ch.Tags, m.Tags), Severities: valueOr(ch.Severities, m.Severities),
	}
}

// matchChangeFlags are the flags that change what a rule or a silence is about.
type matchChangeFlags struct {
	matchFlags
	NoEvents     bool `xor:"event" help:"Do not limit it to events."`
	NoPages      bool `xor:"page" help:"Do not limit it to pages."`
	NoMonitors   bool `xor:"monitor" help:"Do not limit it to monitors."`
	NoTags       bool `xor:"tag" help:"Do not limit it to tags."`
	NoSeverities bool `xor:"severity" help:"Do not limit it to severities."`
}

// change returns the change that sets the lists that are given, and empties those that are to be removed.
func (f matchChangeFlags) change(c *commandContext) (ch client.AlertMatchChange, err error) {
	m, err := f.match(c)
	return client.AlertMatchChange{
		Events: listChange(m.Events, f.NoEvents), Pages: listChange(m.Pages, f.NoPages), Monitors: listChange(m.Monitors, f.NoMonitors),
		Tags: listChange(m.Tags, f.NoTags), Severities: listChange(m.Severities, f.NoSeverities),
	}, err
}

// listChange returns the new items of a list; nil: it is not changed.
func listChange[T any](given []T, remove bool) *[]T {
	switch {
	case remove:
		return &[]T{}
	case len(given) > 0:
		return &given
	}
	return nil
}

type silenceCreate struct {
	matchFlags
	For     *timeinput.Duration `placeholder:"DURATION" xor:"end" required:"" help:"Time from now to the end, such as 2h."`
	Until   *timeinput.Moment   `placeholder:"TIME" xor:"end" required:"" help:"When it ends, such as 'tomorrow 6:00' in the zone of the page, or with an offset."`
	Comment string              `placeholder:"TEXT" help:"Reason for the silence."`
	All     bool                `help:"Silence everything without confirmation. Required if no other flag limits the silence and there is no terminal."`
}

func (cmd *silenceCreate) Run(c *commandContext) error {
	switch {
	case cmd.All && !matchesAll(cmd.given()):
		return console.UsageErrorf("--all silences everything, so no other flag can limit the silence")
	case !cmd.All && matchesAll(cmd.given()):
		if err := c.confirm(silenceOfEverything); err != nil {
			return err
		}
	}
	match, err := cmd.match(c)
	if err != nil {
		return err
	}
	ends, err := silenceEnds(c, cmd.For, cmd.Until, cmd.Page)
	if err != nil {
		return err
	}
	v, err := c.api.CreateSilence(c.Ctx, client.NewSilence{AlertMatch: match, Comment: cmd.Comment, EndsAt: ends})
	return object(c, v, err, func(v *client.Silence) {
		c.Printf("The silence %s is about %s, until %s.\n", console.Visible(v.ID), console.Visible(v.About), console.Time(v.EndsAt))
	})
}

// silenceOfEverything is asked before a silence is about everything.
var silenceOfEverything = question{
	verb: "silence", done: "silenced", what: "everything",
	warning: "nobody is notified of any alert until the silence ends", flag: "--all",
}

// silenceEnds returns when a silence ends, given a duration from now or a time in the zone of the only page of pages.
func silenceEnds(c *commandContext, lasts *timeinput.Duration, until *timeinput.Moment, pages []string) (time.Time, error) {
	if lasts != nil {
		return time.Now().Add(time.Duration(*lasts)).Truncate(time.Second), nil
	}
	page := pageFlag{}
	if len(pages) == 1 {
		page.Page = pages[0]
	}
	return c.moment(*until, &page)
}

// silenceArgument is embedded by the commands of one silence.
type silenceArgument struct {
	Silence string `arg:"" help:"Id of the silence or the beginning of it."`
}

func (a silenceArgument) id(c *commandContext) (string, error) {
	kind := resourceKind{"silence", alert.PrefixSilence}
	return findByID(c, c.api.ListSilences(true), kind, a.Silence, func(v *client.Silence) string { return v.ID })
}

type silenceShow struct{ silenceArgument }

func (cmd *silenceShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	v, err := c.api.GetSilence(c.Ctx, id)
	return object(c, v, err, func(v *client.Silence) {
		c.Facts([2]string{"Silence", v.ID}, [2]string{"About", v.About}, [2]string{"From", console.Time(v.StartsAt)}, [2]string{"Until", console.Time(v.EndsAt)},
			[2]string{"Comment", v.Comment}, [2]string{"Created by", v.CreatedBy})
	})
}

type silenceEdit struct {
	silenceArgument
	matchChangeFlags
	For     *timeinput.Duration `placeholder:"DURATION" xor:"end" help:"Time from now to the end, such as 2h."`
	Until   *timeinput.Moment   `placeholder:"TIME" xor:"end" help:"When it ends, such as 'tomorrow 6:00' in the zone of the page, or with an offset."`
	Comment *string             `placeholder:"TEXT" help:"Reason for the silence."`
	All     bool                `help:"Silence everything without confirmation. Required if the change removes the last limit and there is no terminal."`
}

func (cmd *silenceEdit) Run(c *commandContext) error {
	match, err := cmd.change(c)
	if err != nil {
		return err
	}
	change := client.SilenceChange{AlertMatchChange: match, Comment: cmd.Comment}
	if cmd.For != nil || cmd.Until != nil {
		ends, err := silenceEnds(c, cmd.For, cmd.Until, cmd.Page)
		if err != nil {
			return err
		}
		change.EndsAt = &ends
	}
	if err := checkNotEmpty(change); err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	v, err := c.api.GetSilence(c.Ctx, id)
	if err != nil {
		return err
	}
	if !cmd.All && !matchesAll(v.AlertMatch) && matchesAll(applied(v.AlertMatch, match)) {
		if err := c.confirm(silenceOfEverything); err != nil {
			return err
		}
	}
	v, err = c.api.ChangeSilence(c.Ctx, id, change, client.IfMatch(v.ETag()))
	return object(c, v, err, func(v *client.Silence) {
		c.Printf("The silence %s is about %s, until %s.\n", console.Visible(v.ID), console.Visible(v.About), console.Time(v.EndsAt))
	})
}

type silenceEnd struct {
	silenceArgument
	unasked
}

func (cmd *silenceEnd) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	if err := c.api.EndSilence(c.Ctx, id); err != nil {
		return err
	}
	c.Done("Ended the silence %s.", console.Visible(id))
	return nil
}
