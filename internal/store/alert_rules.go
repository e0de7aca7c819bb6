package store

import (
	"context"
	"errors"
	"slices"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/rights"
)

// AlertRules lists the rules of a workspace, the oldest first.
func (s *Store) AlertRules(ctx context.Context, actor allswell.Actor, r Pagination) ([]alert.Rule, int, error) {
	if err := rights.AlertRuleRead.CheckLimit(actor); err != nil {
		return nil, 0, err
	}
	return listQuery[alert.Rule]{
		scan: scanAlertRule, fill: (*session).summarizeRules, columns: alertRuleColumns,
		from: `FROM alert_rules WHERE workspace_id = $1`, args: []any{actor.WorkspaceID}, order: `ORDER BY created_at, id`,
	}.load(ctx, s, r)
}

// AlertRule returns a rule of a workspace, given its id or name.
func (s *Store) AlertRule(ctx context.Context, actor allswell.Actor, ref string) (alert.Rule, error) {
	return read(ctx, s, func(c *session) (alert.Rule, error) {
		r, err := c.alertRule(actor, ref)
		if err != nil {
			return r, err
		}
		return c.summarized(r)
	})
}

// summarized returns a rule with its Summary.
func (c *session) summarized(r alert.Rule) (alert.Rule, error) {
	one := []alert.Rule{r}
	err := c.summarizeRules(one)
	return one[0], err
}

// summarizeRules sets the Summary of rules of one workspace.
func (c *session) summarizeRules(rules []alert.Rule) error {
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.ReferredIDs()...)
	}
	if len(ids) == 0 {
		return nil
	}
	names, err := c.namesOf(rules[0].WorkspaceID, ids, "pages", "monitors", "alert_channels", "on_call")
	if err != nil {
		return err
	}
	for i := range rules {
		rules[i].Summary = rules[i].Summarize(names)
	}
	return nil
}

// namesOf returns the names of objects of a workspace in some tables, by their ids.
func (c *session) namesOf(workspaceID string, ids []string, tables ...string) (map[string]string, error) {
	names := make(map[string]string)
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // rules have many of them in common
	for _, table := range tables {
		if _, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
			var id, name string
			if err = row.Scan(&id, &name); err == nil {
				names[id] = name
			}
			return
		}, `SELECT id, name FROM `+table+` WHERE workspace_id = $1 AND id IN EACH($2)`, workspaceID, list(ids)); err != nil {
			return names, err
		}
	}
	return names, nil
}

func (c *session) alertRule(actor allswell.Actor, ref string) (alert.Rule, error) {
	if err := rights.AlertRuleRead.CheckLimit(actor); err != nil {
		return alert.Rule{}, err
	}
	return database.One(c.Session, scanAlertRule, `SELECT `+alertRuleColumns+` FROM alert_rules
			WHERE workspace_id = $1 AND `+idOrName(ref, alert.PrefixRule)+` = $2`, actor.WorkspaceID, ref)
}

// CreateAlertRule creates a rule. It is about alerts that begin afterwards.
func (s *Store) CreateAlertRule(ctx context.Context, actor allswell.Actor, r alert.Rule, save ...SaveResponse[alert.Rule]) (alert.Rule, error) {
	r, err := writeAs(ctx, s, actor, func(t *tx) (alert.Rule, error) {
		if err := rights.AlertRuleChange.CheckLimit(actor); err != nil {
			return r, err
		}
		if err := t.lockMutex(mutexAlerts); err != nil { // so that no channel or schedule that it names is deleted meanwhile
			return r, err
		}
		r.ID, r.WorkspaceID, r.CreatedAt, r.UpdatedAt = allswell.NewID(alert.PrefixRule, t.Now), actor.WorkspaceID, t.Now, t.Now
		if err := t.validateRule(&r); err != nil {
			return r, err
		}
		if err := t.checkCount("alert_rules", r.WorkspaceID, "rules", alert.MaxRules); err != nil {
			return r, err
		}
		data, err := storedRule(r)
		if err != nil {
			return r, err
		}
		if _, err = t.Exec(`INSERT INTO alert_rules (id, workspace_id, name, enabled, rule, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)`,
			r.ID, r.WorkspaceID, r.Name, r.Enabled, data, millis(t.Now)); err != nil {
			return r, err
		}
		if err := t.audit(actor, allswell.AuditCreate, nil, r); err != nil {
			return r, err
		}
		return t.summarized(r)
	}, save...)
	return r, s.nameTaken(err, "rule")
}

// ChangeAlertRule changes a rule, given its id or name, with a function that gets the rule as it is. It continues with
// alerts that it has begun with. The error is allswell.ErrPreconditionFailed if the rule does not meet all conditions.
func (s *Store) ChangeAlertRule(ctx context.Context, actor allswell.Actor, id string, p allswell.Precondition, change func(*alert.Rule) error) (alert.Rule, error) {
	r, err := writeAs(ctx, s, actor, func(t *tx) (alert.Rule, error) {
		before, err := t.lockAlertRule(actor, id, p)
		if err != nil {
			return before, err
		}
		r := before
		if err := change(&r); err != nil {
			return r, err
		}
		r.UpdatedAt = t.Now
		if err := t.validateRule(&r); err != nil {
			return r, err
		}
		data, err := storedRule(r)
		if err != nil {
			return r, err
		}
		if _, err = t.Exec(`UPDATE alert_rules SET name = $2, enabled = $3, rule = $4, updated_at = $5 WHERE id = $1`,
			r.ID, r.Name, r.Enabled, data, millis(t.Now)); err != nil {
			return r, err
		}
		if !r.Enabled {
			if err := t.endHoldsOf(r); err != nil {
				return r, err
			}
		}
		if err := t.audit(actor, allswell.AuditUpdate, before, r); err != nil {
			return r, err
		}
		return t.summarized(r)
	})
	return r, s.nameTaken(err, "rule")
}

// DeleteAlertRule deletes a rule, given its id or name. It takes no further steps; notices that it has already left for
// channels are sent.
func (s *Store) DeleteAlertRule(ctx context.Context, actor allswell.Actor, id string, p allswell.Precondition) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		r, err := t.lockAlertRule(actor, id, p)
		if err != nil {
			return err
		}
		if err := t.endHoldsOf(r); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM alert_rules WHERE id = $1`, r.ID); err != nil {
			return err
		}
		return t.audit(actor, allswell.AuditDelete, r, nil)
	})
}

// endHoldsOf records that a rule that is disabled or deleted holds no alerts back any more.
func (t *tx) endHoldsOf(r alert.Rule) error {
	_, err := t.Exec(`UPDATE alert_holds SET until_at = $2 WHERE rule_id = $1 AND until_at > $2
			AND alert_id IN (SELECT alert_id FROM alert_progress WHERE rule_id = $1 AND due_at IS NOT NULL)`,
		r.ID, millis(t.Now))
	return err
}

// lockAlertRule loads and locks a rule, and checks that it meets all conditions.
func (t *tx) lockAlertRule(actor allswell.Actor, ref string, p allswell.Precondition) (alert.Rule, error) {
	if err := rights.AlertRuleChange.CheckLimit(actor); err != nil {
		return alert.Rule{}, err
	}
	if err := t.lockMutex(mutexAlerts); err != nil { // so that the rule does not begin to hold an alert back meanwhile
		return alert.Rule{}, err
	}
	r, err := database.One(t.Session, scanAlertRule, `SELECT `+alertRuleColumns+` FROM alert_rules
			WHERE `+idOrName(ref, alert.PrefixRule)+` = $1 AND workspace_id = $2 FOR UPDATE`, ref, actor.WorkspaceID)
	if err != nil {
		return r, err
	}
	return r, p.Check(r)
}

// validateRule returns an *allswell.ValidationError with every invalid field. It replaces slugs of pages and monitors
// by their ids.
func (t *tx) validateRule(r *alert.Rule) error {
	invalid := r.Validate()
	if err := t.resolveFilter(r.WorkspaceID, &r.Filter, &invalid); err != nil {
		return err
	}
	for i, target := range r.Targets() {
		field, onCall := "escalation", "escalation"
		switch {
		case i == 0:
			field, onCall = "channel_ids", "on_call_ids"
		case i == 1 && r.QuietHours != nil:
			field, onCall = "quiet_hours", "quiet_hours"
		}
		missing, err := t.missingFrom(presentChannels, r.WorkspaceID, target.ChannelIDs)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			invalid = withField(invalid, field, "names a channel that does not exist: %s", missing[0])
		}
		if missing, err = t.missingFrom("on_call", r.WorkspaceID, target.OnCallIDs); err != nil {
			return err
		}
		if len(missing) > 0 {
			invalid = withField(invalid, onCall, "names an on-call schedule that does not exist: %s", missing[0])
		}
	}
	return invalid
}

// resolveFilter replaces the slugs of a filter's pages and monitors by their ids, and adds those that do not exist to
// invalid.
func (c *session) resolveFilter(workspaceID string, f *alert.Filter, invalid *error) error {
	for _, list := range []struct {
		field string // and table
		refs  *[]string
	}{{"pages", &f.Pages}, {"monitors", &f.Monitors}} {
		refs := slices.Clone(*list.refs)
		for i, ref := range refs {
			id, err := c.objectID(list.field, workspaceID, ref)
			if err != nil && !errors.Is(err, allswell.ErrNotFound) {
				return err
			}
			if err != nil {
				*invalid = withField(*invalid, list.field, "One of the %s does not exist: %s.", allswell.Name(list.field), alert.Shorten(ref, 80))
				break
			}
			refs[i] = id
		}
		*list.refs = refs
	}
	return nil
}
