package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/optional"
)

// AlertCommands are the commands of alerts and their rules.
type AlertCommands struct {
	ClientSettings `embed:""`

	List        alertList        `cmd:"" help:"List the alerts, newest first."`
	Show        alertShow        `cmd:"" aliases:"get" help:"Show an alert, who was notified, and what the rules will do next."`
	Acknowledge alertAcknowledge `cmd:"" aliases:"ack" help:"Acknowledge an alert. Stops repeats and escalation."`
	Rule        alertRuleVerbs   `cmd:"" help:"List, show, create, put, edit, delete and test the rules that decide who gets alerts."`
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
	return table(c, alerts, total, "No alerts.", []string{"ALERT", "STATE", "SINCE", "TITLE"},
		func(a *client.Alert) []string {
			return []string{a.ID, a.State, console.Time(a.OpenedAt), a.Title}
		})
}

// alertArgument is embedded by the commands of one alert.
type alertArgument struct {
	Alert string `arg:"" help:"Id of the alert or the beginning of it, its title unless it is resolved, or latest."`
}

func (a alertArgument) id(c *commandContext) (string, error) {
	switch {
	case strings.HasPrefix(a.Alert, alert.PrefixAlert):
		kind := resourceKind{"alert", alert.PrefixAlert}
		return findByID(c, c.api.ListAlerts(client.AlertFilter{}), kind, a.Alert, func(
			v *client.Alert,
		) string {
			return v.ID
		})
	case a.Alert != "latest":
		var lasting []*client.List[client.Alert]
		for _, state := range []alert.State{alert.Open, alert.Acknowledged} {
			lasting = append(lasting, c.api.ListAlerts(client.AlertFilter{State: string(state)}))
		}
		return findTitled(c, lasting, "open alert", a.Alert, func(v *client.Alert) titled {
			return titled{v.ID, v.Title, v.State == string(alert.Open)}
		})
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

// NewAlertCommands returns the commands, with a flag for each field of a rule.
func NewAlertCommands() (c AlertCommands) {
	fields := resource.AlertRule.Infos()
	c.Rule.Create.resourceFlags, c.Rule.Edit.resourceFlags = newResourceFlags(fields, field.Creation),
		newResourceFlags(fields, field.Changing)
	c.Rule.Put.resourceFlags = newPutFlags(fields)
	return c
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
		c.Properties([2]string{"Alert", a.Title}, [2]string{"Id", a.ID}, [2]string{"Event", a.Event},
			[2]string{"State", a.State}, [2]string{"Severity", string(a.Severity)},
			[2]string{"Reason", optional.Value(a.Reason)}, [2]string{"Page", optional.Value(a.Page)},
			[2]string{"Since", console.Time(a.OpenedAt)}, [2]string{"Acknowledged", acknowledgedText(a)},
			[2]string{"Resolved", timeOr(a.ResolvedAt, "")},
			[2]string{"Resolved because", optional.Value(a.EndReason)})
		printAlertHistory(c, a)
		c.printPlans(a)
	})
}

// printPlans prints what comes next, or why nothing does before the alert is resolved.
func (c *commandContext) printPlans(a *client.Alert) {
	switch {
	case len(a.Plans) > 0:
		c.Printf("Next, unless acknowledged or resolved:\n")
	case a.State == string(alert.Acknowledged):
		c.Printf("Acknowledged: no repeats or escalation.\n")
	case a.State == string(alert.Open) && len(a.Notices) > 0:
		c.Printf("No further notifications before the alert is resolved.\n")
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
			channel += " (fallback for " + console.Visible(*t.InPlaceOf) + ")"
		}
		all = append(all, entry{t.At, fmt.Sprintf("%-12s %s: %s", t.Kind, channel, noticeState(t))})
	}
	for _, h := range a.Holds {
		held := map[bool]string{true: "was "}[h.Over] + alert.HoldReason(h.Reason).Words()
		all = append(all, entry{
			h.At,
			fmt.Sprintf("%s until %s by rule %s", console.Visible(held), console.Time(h.Until),
				console.Visible(valueOr(h.Rule, "(deleted)"))),
		})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	for _, e := range all {
		c.Printf("%s  %s\n", console.Time(e.at), e.text)
	}
	if len(all) == 0 && len(a.Plans) == 0 {
		c.Printf("No notifications (no matching rule).\n")
	}
}

func acknowledgedText(a *client.Alert) string {
	if a.AcknowledgedAt == nil {
		return ""
	}
	return console.Time(*a.AcknowledgedAt) + " by " + optional.Value(a.AcknowledgedBy)
}

// noticeState describes the outcome of a notice.
func noticeState(n client.AlertNotice) string {
	switch {
	case n.SentAt != nil:
		return "delivered " + console.Time(*n.SentAt)
	case n.Failed:
		return "failed: " + console.Visible(optional.Value(n.Reason))
	case n.Reason != nil:
		return "retrying: " + console.Visible(*n.Reason)
	}
	return "pending"
}

func heldText(held *string) string {
	if held == nil {
		return ""
	}
	return ", " + alert.HoldReason(*held).Words()
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
			c.Printf("%s: the alert is already resolved.\n", console.Visible(a.Title))
			return
		}
		c.Printf("%s: acknowledged by %s.\n", console.Visible(a.Title), console.Visible(*a.AcknowledgedBy))
	})
}
