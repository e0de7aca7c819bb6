package store

import (
	"slices"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// setUses sets what uses channels of one workspace, given the id of the channel through which subscribers get SMS.
func (c *session) setUses(channels []alert.Channel, smsID string) error {
	workspaceID := channels[0].WorkspaceID
	users, err := c.channelUsers(workspaceID)
	if err != nil {
		return err
	}
	fallbackOf := make(map[string][]alert.ChannelUse) // by id of the fallback
	if _, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var id string
		use := alert.ChannelUse{Kind: alert.UseFallback}
		err = row.Scan(&id, &use.ID, &use.Name)
		fallbackOf[id] = append(fallbackOf[id], use)
		return
	}, `SELECT fallback_id, id, name FROM alert_channels WHERE workspace_id = $1 AND deleted_at IS NULL
		AND fallback_id IS NOT NULL
		ORDER BY created_at, id`, workspaceID); err != nil {
		return err
	}
	for i := range channels {
		ch := &channels[i]
		ch.SubscriberSMS = ch.ID == smsID
		ch.UsedBy = nil
		if ch.SubscriberSMS {
			ch.UsedBy = append(ch.UsedBy, alert.ChannelUse{Kind: alert.UseSMS})
		}
		ch.UsedBy = slices.Concat(ch.UsedBy, users.usesOf(ch.ID), fallbackOf[ch.ID])
	}
	return nil
}

// channelUsers are the rules and on-call schedules of a workspace, the oldest first.
type channelUsers struct {
	rules     []alert.Rule
	schedules []alert.OnCall
}

func (c *session) channelUsers(workspaceID string) (u channelUsers, err error) {
	if u.rules, err = c.allRules(workspaceID); err != nil {
		return u, err
	}
	u.schedules, err = c.schedulesOf(workspaceID)
	return u, err
}

// usesOf returns which of them name a channel or an on-call schedule.
func (u channelUsers) usesOf(id string) (uses []alert.ChannelUse) {
	for _, r := range u.rules {
		if slices.ContainsFunc(r.Targets(), func(t alert.Target) bool {
			return slices.Contains(t.ChannelIDs, id) || slices.Contains(t.OnCallIDs, id)
		}) {
			uses = append(uses, alert.ChannelUse{Kind: alert.UseRule, ID: r.ID, Name: r.Name})
		}
	}
	for _, o := range u.schedules {
		if slices.ContainsFunc(o.Participants, func(p alert.Participant) bool {
			return slices.Contains(p.ChannelIDs, id)
		}) {
			uses = append(uses, alert.ChannelUse{Kind: alert.UseOnCall, ID: o.ID, Name: o.Name})
		}
	}
	return uses
}

// checkUnused returns a *kernel.ValidationError if a rule or an on-call schedule of a workspace names a channel or a
// schedule.
func (c *session) checkUnused(workspaceID, id string) error {
	users, err := c.channelUsers(workspaceID)
	if err != nil {
		return err
	}
	var bad kernel.ValidationError
	for _, use := range users.usesOf(id) {
		what := map[alert.ChannelUseKind]string{alert.UseRule: "rule", alert.UseOnCall: "on-call schedule"}[use.Kind]
		bad.Add("id", "The %s %q uses it.", what, use.Name)
	}
	return bad.Err()
}
