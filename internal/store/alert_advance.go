package store

import (
	"context"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

// Limits of one transaction of AdvanceAlerts, which keep its locks short.
const (
	advanceEvents = 500
	advanceRules  = 500 // rules of alerts that are due
)

// AdvanceAlerts opens and ends alerts for new events, applies the rules that are due, and saves notices for the
// channels that the rules notify. Any number of replicas may call it. more reports whether there may be more to do; if
// not, next is when a rule is due, by Clock; zero: none is.
func (s *Store) AdvanceAlerts(ctx context.Context) (more bool, next time.Time, err error) {
	work, err := read(ctx, s, func(c *session) (bool, error) {
		var err error
		if next, err = c.nextProgress(); err != nil || !next.IsZero() && !next.After(c.Now) {
			return true, err
		}
		n, err := database.One(c.Session, database.ScanInt,
			`SELECT count(*) FROM (SELECT 1 FROM monitor_events WHERE routed_at IS NULL LIMIT 1) AS found`)
		return n > 0, err
	})
	if err != nil || !work {
		return false, next, err
	}
	more, err = write(ctx, s, func(t *tx) (bool, error) {
		t.skipBeforeReturn = true
		if err := t.lockMutex(mutexAlerts); err != nil {
			return false, err
		}
		a := advance{
			tx: t, rules: make(map[string][]alert.Rule), silences: make(map[string][]alert.Silence),
			onCall: make(map[string][]alert.OnCall),
		}
		events, err := a.route()
		if err != nil {
			return false, err
		}
		due, err := a.askRules()
		if err == nil {
			err = t.addNotices(a.notices)
		}
		if err == nil {
			next, err = t.nextProgress()
		}
		return events == advanceEvents || due == advanceRules, err
	})
	return more, next, err
}

func (c *session) nextProgress() (next time.Time, err error) {
	return database.One(c.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT min(due_at) FROM alert_progress WHERE due_at IS NOT NULL`)
}

// advance is one transaction of AdvanceAlerts. The rules, silences and schedules of a workspace are loaded when they
// are first needed.
type advance struct {
	*tx
	rules    map[string][]alert.Rule
	silences map[string][]alert.Silence
	onCall   map[string][]alert.OnCall
	notices  []newNotice
}

// newNotice is a notice to be saved.
type newNotice struct {
	alertID, channelID, ruleID string
	kind                       alert.NoticeKind

	fallbackFor string    // the channel that did not accept it; "": none
	decidedAt   time.Time // when it was made for the first channel; zero: by addNotices
}

// route opens and ends the alerts of new events, and returns how many events there were.
func (a *advance) route() (int, error) {
	found, err := a.newAlertEvents(advanceEvents)
	if err != nil || len(found.events) == 0 {
		return 0, err
	}
	var ids []string
	for _, e := range found.events {
		ids = append(ids, e.ID)
		if begun := alert.Event(e.Kind).Ends(); begun != "" {
			if err := a.endAlert(begun, e); err != nil {
				return 0, err
			}
		}
		if found.isOrphaned(e) {
			continue
		}
		if err := a.beginAlert(e, found.subject(e)); err != nil {
			return 0, err
		}
	}
	_, err = a.Exec(`UPDATE monitor_events SET routed_at = $2 WHERE id IN EACH($1)`, list(ids), millis(a.Now))
	return len(ids), err
}

// beginAlert opens the alert of an event, if rules can be about it, and begins the rules that match. An event without
// an end becomes an alert only if a rule matches it.
func (a *advance) beginAlert(e monitor.MonitorEvent, s alert.Subject) error {
	if s.Event.Help() == "" {
		return nil
	}
	rules, err := a.rulesOf(e.WorkspaceID)
	if err != nil {
		return err
	}
	var matching []alert.Rule
	for _, r := range rules {
		if ok, _ := r.Matches(s); ok {
			matching = append(matching, r)
		}
	}
	if len(matching) == 0 && !s.Event.Lasts() {
		return nil
	}
	opened, notifyAt, err := a.openAlert(e, s)
	for _, r := range matching {
		if err == nil {
			err = a.beginRule(r.Begin(opened, notifyAt), opened)
		}
	}
	return err
}

// beginRule saves how far a rule is with an alert that has begun.
func (a *advance) beginRule(p alert.Progress, opened alert.Alert) error {
	why := p.Waits(opened)
	_, err := a.Exec(`INSERT INTO alert_progress (alert_id, rule_id, due_at, step, repeats, holds, held, flapping)
			VALUES ($1, $2, $3, 0, 0, 0, $4, $5)`,
		p.AlertID, p.RuleID, millis(p.DueAt), nullIfEmpty(string(why)), p.Flapping)
	if err != nil {
		return err
	}
	return a.recordHold(p, why)
}

// recordHold records that a rule holds an alert back until it is due; why "": it does not.
func (a *advance) recordHold(p alert.Progress, why alert.HoldReason) error {
	if why == "" || p.DueAt.IsZero() {
		return nil
	}
	_, err := a.Exec(`INSERT INTO alert_holds (alert_id, rule_id, reason, held_at, until_at)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		p.AlertID, p.RuleID, string(why), millis(a.Now), millis(p.DueAt))
	return err
}

// endAlert ends the alert of an event that e ends, and notifies the channels that were notified of it. Rules that would
// have notified later than its end do not, unless they wait because the monitor is flapping: see alert.Rule.Advance.
func (a *advance) endAlert(begun alert.Event, e monitor.MonitorEvent) error {
	ids, err := a.ids(`UPDATE alerts SET resolved_at = $4, end_reason = $5
			WHERE workspace_id = $1 AND event = $2 AND event_key = $3 AND resolved_at IS NULL RETURNING id`,
		e.WorkspaceID, string(begun), e.OutageID, millis(e.CreatedAt), nullIfEmpty(endReasonOf(e.Data)))
	if err != nil || len(ids) == 0 {
		return err
	}
	a.MarkChanged()
	_, err = a.Exec(`UPDATE alert_progress SET due_at = NULL, held = NULL
			WHERE alert_id IN EACH($1) AND NOT flapping AND due_at > $2`, list(ids), millis(e.CreatedAt))
	if err != nil {
		return err
	}
	ended, err := a.noticesToRecipients(ids, alert.NoticeResolved)
	a.notices = append(a.notices, ended...)
	return err
}

// noticesToRecipients returns a notice for every channel that was notified of alerts, or will be by a notice that
// waits. A channel that accepted none of them was not notified.
func (c *session) noticesToRecipients(alertIDs []string, kind alert.NoticeKind) ([]newNotice, error) {
	return database.Query(c.Session, func(row database.Row) (n newNotice, err error) {
		n.kind = kind
		err = row.Scan(&n.alertID, &n.channelID)
		return
	}, `SELECT r.alert_id, r.channel_id FROM alert_recipients r WHERE r.alert_id IN EACH($1) AND `+wasNotified+`
			ORDER BY r.alert_id, r.channel_id`, list(alertIDs))
}

const progressColumns = `alert_id, rule_id, due_at, step, repeats, holds, flapping`

func scanProgress(row database.Row) (p alert.Progress, err error) {
	err = row.Scan(&p.AlertID, &p.RuleID, instant{&p.DueAt}, &p.Step, &p.Repeats, &p.Holds, &p.Flapping)
	return
}

// askRules applies the rules that are due, and returns how many there were.
func (a *advance) askRules() (int, error) {
	due, err := database.Query(a.Session, scanProgress,
		`SELECT `+progressColumns+` FROM alert_progress WHERE due_at <= $1
			ORDER BY due_at, alert_id, rule_id LIMIT $2`,
		millis(a.Now), advanceRules)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	var ids []string
	for _, p := range due {
		ids = append(ids, p.AlertID)
	}
	alerts, err := a.alertsByID(ids)
	if err != nil {
		return 0, err
	}
	for _, p := range due {
		if err := a.askRule(p, alerts[p.AlertID]); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// alertsByID returns alerts by their ids.
func (c *session) alertsByID(ids []string) (map[string]alert.Alert, error) {
	all, err := database.Query(c.Session, scanAlert, `SELECT `+alertColumns+` FROM alerts WHERE id IN EACH($1)`,
		list(ids))
	byID := make(map[string]alert.Alert, len(all))
	for _, a := range all {
		byID[a.ID] = a
	}
	return byID, err
}

// askRule applies a rule to an alert.
func (a *advance) askRule(p alert.Progress, about alert.Alert) error {
	rules, err := a.rulesOf(about.WorkspaceID)
	if err != nil {
		return err
	}
	silences, err := a.silencesOf(about.WorkspaceID)
	if err != nil {
		return err
	}
	action := alert.Action{Next: p}
	action.Next.DueAt = time.Time{} // the rule was disabled
	for _, r := range rules {
		if r.ID == p.RuleID {
			action = r.Advance(p, about, alert.SilencedUntil(silences, about.Subject, a.Now), a.Now)
		}
	}
	next := action.Next
	_, err = a.Exec(
		`UPDATE alert_progress SET due_at = $3, step = $4, repeats = $5, holds = $6, held = $7, flapping = $8
			WHERE alert_id = $1 AND rule_id = $2`,
		p.AlertID, p.RuleID, millis(next.DueAt), next.Step, next.Repeats, next.Holds, nullIfEmpty(string(action.Held)),
		next.Flapping,
	)
	if err != nil {
		return err
	}
	if err := a.recordHold(next, action.Held); err != nil {
		return err
	}
	schedules, err := a.onCallOf(about.WorkspaceID)
	if err != nil {
		return err
	}
	for _, r := range alert.Recipients(action.Notify, schedules, a.Now) {
		if about.Event == alert.ChannelFailed && about.Key == r.ChannelID {
			continue
		}
		a.notices = append(a.notices, newNotice{
			alertID: about.ID, channelID: r.ChannelID, ruleID: p.RuleID, kind: action.Kind,
		})
		if about.Event.Lasts() && about.State() == alert.Resolved { // it was over before anybody was notified
			a.notices = append(a.notices, newNotice{
				alertID: about.ID, channelID: r.ChannelID, ruleID: p.RuleID, kind: alert.NoticeResolved,
			})
		}
	}
	return nil
}

func (a *advance) rulesOf(workspaceID string) ([]alert.Rule, error) {
	return getOrLoad(a.rules, workspaceID, func() ([]alert.Rule, error) { return a.enabledRules(workspaceID) })
}

// enabledRules returns the rules of a workspace that are enabled.
func (c *session) enabledRules(workspaceID string) ([]alert.Rule, error) {
	rules, err := c.allRules(workspaceID)
	return slices.DeleteFunc(rules, func(r alert.Rule) bool { return !r.Enabled }), err
}

// allRules returns the rules of a workspace, the oldest first.
func (c *session) allRules(workspaceID string) ([]alert.Rule, error) {
	return database.Query(c.Session, alertRules.scan,
		`SELECT `+alertRules.selected+` FROM alert_rules WHERE workspace_id = $1 ORDER BY created_at, id`, workspaceID)
}

func (a *advance) silencesOf(workspaceID string) ([]alert.Silence, error) {
	return getOrLoad(a.silences, workspaceID, func() ([]alert.Silence, error) {
		return a.silencesAfter(workspaceID, a.Now)
	})
}

// silencesAfter returns the silences of a workspace that end after an instant.
func (c *session) silencesAfter(workspaceID string, at time.Time) ([]alert.Silence, error) {
	return database.Query(c.Session, silencesTable.scan,
		`SELECT `+silencesTable.selected+` FROM silences WHERE workspace_id = $1 AND ends_at > $2`, workspaceID,
		millis(at))
}

func (a *advance) onCallOf(workspaceID string) ([]alert.OnCall, error) {
	return getOrLoad(a.onCall, workspaceID, func() ([]alert.OnCall, error) { return a.schedulesOf(workspaceID) })
}

// getOrLoad returns the value of a key in a cache, and loads it first if it is missing.
func getOrLoad[T any](cache map[string]T, key string, load func() (T, error)) (T, error) {
	if v, ok := cache[key]; ok {
		return v, nil
	}
	v, err := load()
	if err == nil {
		cache[key] = v
	}
	return v, err
}

// addNotices saves notices for channels that are enabled, and plans when their messages are sent. A channel that one
// rule has notified of an open alert is not notified of it by another rule. The fallbacks of a failing channel are
// notified immediately, because the next attempt may be an hour away. No channel gets a notice twice, so this ends,
// whatever the fallbacks are.
func (t *tx) addNotices(notices []newNotice) error {
	channels := make(map[string]bool)
	for _, n := range notices {
		channels[n.channelID] = true
	}
	if len(channels) == 0 {
		return nil
	}
	enabled, err := t.lockChannels(channels)
	if err != nil {
		return err
	}
	var passedOn []newNotice
	for _, n := range notices {
		fallback, found := enabled[n.channelID]
		if !found {
			continue
		}
		if n.decidedAt.IsZero() {
			n.decidedAt = t.Now
		}
		isNew, err := t.addNotice(n)
		if err != nil {
			return err
		}
		if isNew && fallback != "" {
			n.fallbackFor, n.channelID = n.channelID, fallback
			passedOn = append(passedOn, n)
		}
	}
	t.signal(effectAlertsPending)
	for id := range enabled {
		if err := t.planChannel(id); err != nil {
			return err
		}
	}
	return t.addNotices(passedOn)
}

// addNotice saves a notice and returns true, unless its channel has been notified of the same.
func (t *tx) addNotice(n newNotice) (bool, error) {
	if isNew, err := t.isNew(n); err != nil || !isNew {
		return false, err
	}
	first, err := t.Exec(`INSERT INTO alert_recipients (alert_id, channel_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
		n.alertID, n.channelID)
	if err != nil || first == 0 && n.kind == alert.NoticeOpened {
		return false, err
	}
	_, err = t.Exec(`INSERT INTO alert_notices (id, alert_id, channel_id, kind, rule_id, created_at, decided_at,
		fallback_for)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		kernel.NewID(alert.PrefixNotice, t.Now), n.alertID, n.channelID, string(n.kind), nullIfEmpty(n.ruleID),
		millis(t.Now), millis(n.decidedAt), nullIfEmpty(n.fallbackFor))
	return err == nil, err
}
