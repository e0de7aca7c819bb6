package store

import (
	"slices"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store/database"
)

var alertRules = collection[alert.Rule]{
	table: newTable("alert_rules", resource.AlertRule,
		column[alert.Rule]{name: "workspace_id", at: func(r *alert.Rule) any { return &r.WorkspaceID }, fixed: true}),
	prefix: alert.PrefixRule, order: `ORDER BY created_at, id`,
	parent: workspaceParent("alert_rules", alert.PrefixRule, rights.AlertRuleRead, rights.AlertRuleChange,
		func(r *alert.Rule) *string { return &r.WorkspaceID }),
	resolve: (*tx).resolveRule, allow: (*tx).allowRule, describe: (*session).summarizeRules, saved: (*tx).ruleSaved,
	deletion: (*tx).ruleDeletion,
}

// AlertRules returns the rules of workspaces. Lists begin with the oldest. A rule is about alerts that begin after it
// was created. A changed rule continues with the alerts that it has begun with. A deleted rule takes no further steps;
// notices that it has already left for channels are sent.
func (s *Store) AlertRules() Collection[alert.Rule] {
	return Collection[alert.Rule]{s: s, collection: alertRules}
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
		}, `SELECT id, name FROM `+table+` WHERE workspace_id = $1 AND id IN EACH($2)`, workspaceID,
			list(ids)); err != nil {
			return names, err
		}
	}
	return names, nil
}

// allowRule limits how many rules a workspace has.
func (t *tx) allowRule(actor kernel.Actor, before, _ *alert.Rule) error {
	if before != nil {
		return nil
	}
	return t.checkCount("alert_rules", actor.WorkspaceID, "rules", alert.MaxRules)
}

// ruleSaved ends the holds of a rule that has been disabled.
func (t *tx) ruleSaved(before *alert.Rule, r alert.Rule) error {
	if before == nil || r.Enabled {
		return nil
	}
	return t.endHoldsOf(r)
}

// ruleDeletion ends the holds of a rule, and returns what the audit log records about it.
func (t *tx) ruleDeletion(r alert.Rule) (kernel.Auditable, error) {
	return resource.AlertRule.Audited(r), t.endHoldsOf(r)
}

// endHoldsOf records that a rule that is disabled or deleted holds no alerts back any more.
func (t *tx) endHoldsOf(r alert.Rule) error {
	_, err := t.Exec(`UPDATE alert_holds SET until_at = $2 WHERE rule_id = $1 AND until_at > $2
			AND alert_id IN (SELECT alert_id FROM alert_progress WHERE rule_id = $1 AND due_at IS NOT NULL)`,
		r.ID, millis(t.Now))
	return err
}

// resolveRule replaces slugs of pages, monitors, channels and on-call schedules by their ids. The error is a
// *kernel.ValidationError if one of them does not exist.
func (t *tx) resolveRule(_ kernel.Actor, before, r *alert.Rule) (invalid error) {
	if err := t.resolveFilter(r.WorkspaceID, before.Filter, &r.Filter, &invalid); err != nil {
		return err
	}
	resolve := func(target *alert.Target, channels, onCall string) error {
		ids, missing, err := t.idsOf(presentChannels, r.WorkspaceID, target.ChannelIDs, nil)
		if err != nil {
			return err
		}
		if target.ChannelIDs = ids; missing != "" {
			invalid = withField(invalid, channels, "names a channel that does not exist: %s", missing)
		}
		if ids, missing, err = t.idsOf("on_call", r.WorkspaceID, target.OnCallIDs, nil); missing != "" {
			invalid = withField(invalid, onCall, "names an on-call schedule that does not exist: %s", missing)
		}
		target.OnCallIDs = ids
		return err
	}
	err := resolve(&r.Target, "channel_ids", "on_call_ids")
	if r.QuietHours != nil && err == nil {
		hours := *r.QuietHours // the stored rule must not change
		r.QuietHours = &hours
		err = resolve(&hours.Target, "quiet_hours", "quiet_hours")
	}
	r.Escalation = slices.Clone(r.Escalation)
	for i := range r.Escalation {
		if err == nil {
			err = resolve(&r.Escalation[i].Target, "escalation", "escalation")
		}
	}
	if err != nil {
		return err
	}
	return invalid
}

// resolveFilter replaces the slugs of a filter's pages and monitors by their ids, and adds the ones that do not exist
// to invalid. Objects that were in the filter before may have been deleted since.
func (c *session) resolveFilter(workspaceID string, before alert.Filter, f *alert.Filter, invalid *error) error {
	for _, list := range []struct {
		field  string // and table
		refs   *[]string
		stored []string
	}{{"pages", &f.Pages, before.Pages}, {"monitors", &f.Monitors, before.Monitors}} {
		ids, missing, err := c.idsOf(list.field, workspaceID, *list.refs, list.stored)
		if err != nil {
			return err
		}
		if *list.refs = ids; missing != "" {
			*invalid = withField(*invalid, list.field, "One of the %s does not exist: %s.", kernel.Name(list.field),
				alert.Shorten(missing, 80))
		}
	}
	return nil
}
