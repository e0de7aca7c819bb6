package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// AlertPlan is what a rule will still do about an alert.
type AlertPlan struct {
	RuleID, RuleName string
	DueAt            time.Time
	Held             alert.HoldReason // why it has not notified of it yet; "": it is not held
	Steps            []ForecastStep   // the next ones, as long as nobody acknowledges the alert and it lasts
}

// alertPlans returns what rules will still do about alerts of a workspace, by the ids of the alerts, the plan that is
// due first before the others. Each plan has at most the given number of steps.
func (c *session) alertPlans(workspaceID string, alerts []alert.Alert, steps int) (map[string][]AlertPlan, error) {
	about := make(map[string]alert.Alert)
	var ids []string
	for _, a := range alerts {
		about[a.ID], ids = a, append(ids, a.ID)
	}
	held := make(map[string]alert.HoldReason)
	due, err := database.Query(c.Session, func(row database.Row) (p alert.Progress, err error) {
		var why string
		err = row.Scan(&p.AlertID, &p.RuleID, instant{&p.DueAt}, &p.Step, &p.Repeats, &p.Holds, &p.Flapping, text{&why})
		held[p.AlertID+p.RuleID] = alert.HoldReason(why)
		return
	}, `SELECT `+progressColumns+
		`, held FROM alert_progress WHERE alert_id IN EACH($1) AND due_at IS NOT NULL
			ORDER BY due_at, rule_id`, list(ids))
	if err != nil || len(due) == 0 {
		return nil, err
	}
	cfg, err := c.alertConfiguration(workspaceID, c.Now)
	if err != nil {
		return nil, err
	}
	plans := make(map[string][]AlertPlan)
	for _, p := range due {
		i := slices.IndexFunc(cfg.rules, func(r alert.Rule) bool { return r.ID == p.RuleID })
		if i < 0 || !cfg.rules[i].Enabled {
			continue
		}
		r := cfg.rules[i]
		plan := AlertPlan{RuleID: r.ID, RuleName: r.Name, DueAt: p.DueAt, Held: held[p.AlertID+p.RuleID]}
		for _, step := range r.ForecastFrom(p, about[p.AlertID], cfg.silences, cfg.schedules, steps) {
			plan.Steps = append(plan.Steps, cfg.withChannels(step))
		}
		plans[p.AlertID] = append(plans[p.AlertID], plan)
	}
	notified, err := c.alertRecipients(ids)
	for id, about := range plans {
		steps := make(map[string][]ForecastStep)
		for _, p := range about {
			steps[p.RuleID] = p.Steps
		}
		skipInformed(steps, notified[id])
	}
	return plans, err
}

// alertRecipients returns the channels that were notified of alerts, by the ids of the alerts and of the channels.
func (c *session) alertRecipients(alertIDs []string) (map[string]map[string]bool, error) {
	notified := make(map[string]map[string]bool)
	for _, id := range alertIDs {
		notified[id] = make(map[string]bool)
	}
	_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var id, channelID string
		if err = row.Scan(&id, &channelID); err == nil {
			notified[id][channelID] = true
		}
		return
	}, `SELECT alert_id, channel_id FROM alert_recipients WHERE alert_id IN EACH($1)`, list(alertIDs))
	return notified, err
}

// alertConfiguration is what decides who is notified of the alerts of a workspace.
type alertConfiguration struct {
	rules     []alert.Rule // the oldest first
	silences  []alert.Silence
	schedules []alert.OnCall
	channels  map[string]configuredChannel // by id
}

// alertConfiguration loads the configuration of a workspace, without silences that end before an instant.
func (c *session) alertConfiguration(workspaceID string, at time.Time) (cfg alertConfiguration, err error) {
	if cfg.rules, err = c.allRules(workspaceID); err != nil {
		return cfg, err
	}
	if cfg.silences, err = c.silencesAfter(workspaceID, at); err != nil {
		return cfg, err
	}
	if cfg.schedules, err = c.schedulesOf(workspaceID); err != nil {
		return cfg, err
	}
	cfg.channels, err = c.configuredChannels(workspaceID)
	return cfg, err
}

// AlertCursor is a place in the list of alerts. The zero AlertCursor is its beginning.
type AlertCursor struct {
	OpenedAt time.Time
	ID       string
}

// AlertList is a part of the alerts of a workspace. Both lists begin with the alert that began last.
type AlertList struct {
	Lasting []ListedAlert // alerts that have not ended
	Ended   []alert.Alert
	Next    AlertCursor // where the list continues; zero: it does not
	Counts  AlertCounts
}

// ListedAlert is an alert with its next step.
type ListedAlert struct {
	alert.Alert
	Plan *AlertPlan // nil: nothing comes next
}

// AlertCounts is how many alerts have not ended: at most MaxAlertCount are counted.
type AlertCounts struct{ Open, Acknowledged int }

// MaxAlertCount is the maximum number of alerts that are counted.
const MaxAlertCount = 1000

// AlertList returns the alerts that match a filter and come after a place in the list, at most limit in each list.
// Without a state, only the first part has alerts that have not ended.
func (s *Store) AlertList(
	ctx context.Context, actor kernel.Actor, f AlertFilter, before AlertCursor, limit int,
) (AlertList, error) {
	return read(ctx, s, func(c *session) (l AlertList, err error) {
		if l.Counts, err = c.alertCounts(actor); err != nil {
			return l, err
		}
		if f.State == "" || f.State == alert.Resolved {
			ended := f
			ended.State = alert.Resolved
			if l.Ended, l.Next, err = c.alertsBefore(actor, ended, before, limit); err != nil {
				return l, err
			}
		}
		if f.State == alert.Resolved || f.State == "" && before.ID != "" {
			return l, nil
		}
		lasting, next, err := c.alertsBefore(actor, f, before, limit)
		if err != nil {
			return l, err
		}
		if f.State != "" {
			l.Next = next
		}
		plans, err := c.alertPlans(actor.WorkspaceID, lasting, 1)
		for _, a := range lasting {
			listed := ListedAlert{Alert: a}
			if p := plans[a.ID]; len(p) > 0 {
				listed.Plan = &p[0]
			}
			l.Lasting = append(l.Lasting, listed)
		}
		return l, err
	})
}

// alertsBefore returns the alerts before a place. Without a state, it returns only alerts that have not ended.
func (c *session) alertsBefore(
	actor kernel.Actor, f AlertFilter, before AlertCursor, limit int,
) (alerts []alert.Alert, next AlertCursor, err error) {
	from, args := f.from(actor)
	if f.State == "" {
		from += ` AND resolved_at IS NULL`
	}
	if before.ID != "" {
		args = append(args, before.OpenedAt.UnixMilli(), before.ID)
		from += fmt.Sprintf(` AND (opened_at, id) < ($%d, $%d)`, len(args)-1, len(args))
	}
	args = append(args, limit+1)
	alerts, err = database.Query(c.Session, scanAlert, `SELECT `+alertColumns+` `+from+`
			ORDER BY opened_at DESC, id DESC LIMIT $`+strconv.Itoa(len(args)), args...)
	if len(alerts) > limit {
		alerts = alerts[:limit]
		next = AlertCursor{alerts[limit-1].OpenedAt, alerts[limit-1].ID}
	}
	return alerts, next, err
}

func (c *session) alertCounts(actor kernel.Actor) (n AlertCounts, err error) {
	from, args := alertsOf(actor)
	limit := strconv.Itoa(MaxAlertCount)
	_, err = database.One(c.Session, func(row database.Row) (none struct{}, err error) {
		err = row.Scan(&n.Open, &n.Acknowledged)
		return
	}, `SELECT (SELECT count(*) FROM (SELECT 1 `+from+` AND resolved_at IS NULL AND acknowledged_at IS NULL LIMIT `+
		limit+`) AS unacknowledged),
		(SELECT count(*) FROM (SELECT 1 `+from+` AND resolved_at IS NULL AND acknowledged_at IS NOT NULL LIMIT `+
		limit+`) AS acknowledged)`, args...)
	return n, err
}
