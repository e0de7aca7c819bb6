package store

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/database"
)

// auditedMonitor returns a monitor as the audit log records it.
var auditedMonitor = resource.Monitor.Audited

// PingTokenOverlap is how long the old ping token of a rotated monitor stays valid.
const PingTokenOverlap = 24 * time.Hour

// CreateMonitor creates a monitor. A heartbeat waits for its first ping, and a check is due immediately. The error is a
// *kernel.ValidationError if another monitor has its slug or, of any workspace, its token, and kernel.ErrBusy if others
// took every free slug that it found.
func (s *Store) CreateMonitor(
	ctx context.Context, actor kernel.Actor, change monitor.MonitorChange, save ...SaveResponse[monitor.Monitor],
) (monitor.Monitor, error) {
	return s.createMonitor(ctx, actor, change, false, save)
}

// CreateUniqueMonitor is CreateMonitor for a name that no other monitor of the page may have.
func (s *Store) CreateUniqueMonitor(
	ctx context.Context, actor kernel.Actor, change monitor.MonitorChange, save ...SaveResponse[monitor.Monitor],
) (monitor.Monitor, error) {
	return s.createMonitor(ctx, actor, change, true, save)
}

// slugAttempts is how often CreateMonitor looks for a free slug, while others take what it finds.
const slugAttempts = 30

func (s *Store) createMonitor(
	ctx context.Context, actor kernel.Actor, change monitor.MonitorChange, uniqueName bool,
	save []SaveResponse[monitor.Monitor],
) (monitor.Monitor, error) {
	for range slugAttempts {
		m, err := writeAs(ctx, s, actor, func(t *tx) (monitor.Monitor, error) {
			return t.createMonitor(actor, change, uniqueName)
		}, save...)
		// Another transaction can take the slug or the token that this one found free.
		if err == nil || !s.db.IsDuplicate(err) {
			return m, err
		}
	}
	return monitor.Monitor{}, kernel.ErrBusy
}

// lockParents locks the parents of all monitors if a change sets one, so that no cycle is made meanwhile.
func (t *tx) lockParents(change monitor.MonitorChange) error {
	var c monitor.MonitorConfig
	if _ = change(&c); c.ParentID == "" { // the change of the monitor returns the same error
		return nil
	}
	return t.lockMutex(mutexParents)
}

// createMonitor creates a monitor, with a free slug if the change gives none.
func (t *tx) createMonitor(actor kernel.Actor, change monitor.MonitorChange, uniqueName bool) (monitor.Monitor, error) {
	m, err := resource.NewMonitor(change, t.Now)
	m.WorkspaceID = actor.WorkspaceID
	if err = t.completeNewMonitor(actor, err, &m, uniqueName); err != nil {
		return m, err
	}
	if err := t.lockComponents([]string{m.ComponentID}); err != nil {
		return m, err
	}
	if m.DownStatus == "" { // the lock keeps others from linking monitors meanwhile
		others, err := database.One(t.Session, database.ScanInt,
			`SELECT count(*) FROM monitors WHERE component_id = $1`, m.ComponentID)
		if err != nil {
			return m, err
		}
		m.DownStatus = monitor.DefaultDownStatus(m.ComponentID, int(others))
	}
	if err := t.applySuppression(&m); err != nil {
		return m, err
	}
	err = t.insertMonitor(m)
	if err == nil {
		err = t.createCheck(&m)
	}
	if err == nil {
		err = t.audit(actor, kernel.AuditCreate, nil, auditedMonitor(m))
	}
	if !m.IsCheck() {
		t.addEffect(effectPingToken, m.Token)
	}
	return t.filledMonitor(m, err)
}

// completeNewMonitor is resolveMonitor for a new monitor, to which it also gives a token.
func (t *tx) completeNewMonitor(actor kernel.Actor, invalid error, m *monitor.Monitor, uniqueName bool) error {
	var token, sameName error
	if !m.IsCheck() {
		m.Token, token = t.newPingToken(m.Token)
	}
	limit := t.checkCount("monitors", actor.WorkspaceID, "monitors", t.s.maxMonitors)
	invalid = t.resolveMonitor(actor, invalid, monitor.Monitor{}, m)
	if uniqueName {
		sameName = t.checkUniqueName("monitor", m.Name,
			`FROM monitors WHERE workspace_id = $1 AND coalesce(page_id, '') = $2`, m.WorkspaceID, m.PageID)
	}
	return kernel.JoinUnread(invalid, kernel.JoinInvalid(token, limit, sameName))
}

// resolveMonitor replaces the references of a monitor that a change has set, and gives it a slug if it has none. The
// error is a *kernel.ValidationError with what is invalid in its fields, with every reference to what does not exist,
// and with a slug that another monitor has.
func (t *tx) resolveMonitor(actor kernel.Actor, invalid error, before monitor.Monitor, m *monitor.Monitor) error {
	var place, parent error
	if before.ID == "" || m.PageSlug != before.PageSlug || m.ComponentID != before.ComponentID {
		place = t.link(actor, m)
	}
	if m.ParentID != before.ParentID {
		parent = t.resolveParent(actor, m, m.ParentID)
	}
	return kernel.JoinUnread(invalid, kernel.JoinInvalid(t.resolveSlug(before.Slug, m), place, parent))
}

// resolveSlug makes a slug for a monitor that has none, or checks that a new one is free.
func (t *tx) resolveSlug(before string, m *monitor.Monitor) (err error) {
	switch m.Slug {
	case "":
		m.Slug, err = t.freeSlug(kernel.SlugOf(m.Name, "monitor"), `FROM monitors WHERE workspace_id = $1`,
			m.WorkspaceID)
	case before:
	default:
		others, err := database.One(t.Session, database.ScanInt,
			`SELECT count(*) FROM monitors WHERE workspace_id = $1 AND slug = $2`, m.WorkspaceID, m.Slug)
		if err == nil && others > 0 {
			var bad kernel.ValidationError
			bad.Add("slug", "has already been taken")
			err = bad.Err()
		}
		return err
	}
	return err
}

// insertMonitor saves a new monitor, with a place for the pings of a heartbeat.
func (t *tx) insertMonitor(m monitor.Monitor) error {
	err := monitorTable.insert(t, &monitorRow{Monitor: m})
	if err == nil && !m.IsCheck() {
		_, err = t.Exec(`INSERT INTO last_pings (token, healthy) VALUES ($1, FALSE)`, m.Token)
	}
	return err
}

// newPingToken returns the token that was given for a new monitor, or a random one. The error is a
// *kernel.ValidationError if a monitor of any workspace has the token.
func (t *tx) newPingToken(given string) (string, error) {
	if given == "" {
		return kernel.NewPingToken(), nil
	}
	taken, err := database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM monitors WHERE token = $1 OR old_token = $1 AND old_token_until_at > $2`, given,
		millis(t.Now))
	if err != nil {
		return "", err
	}
	if taken == 0 {
		// another monitor had it before, and its overlap has ended
		_, err = t.Exec(`UPDATE monitors SET old_token = NULL, old_token_until_at = NULL WHERE old_token = $1`, given)
		return given, err
	}
	var bad kernel.ValidationError
	bad.Add("token", "has already been taken")
	return "", bad.Err()
}

// link resolves the page that m names by its slug, and the component that it names
// by id or slug, which must be on that page. Without a page there is no component.
func (t *tx) link(actor kernel.Actor, m *monitor.Monitor) error {
	var bad kernel.ValidationError
	if m.PageSlug == "" {
		if actor.PageLimited {
			bad.Add("page", "field is required, because you can change only some pages")
		}
		m.PageID = ""
		return bad.Err()
	}
	p, err := t.pageBySlug(actor, m.PageSlug)
	if errors.Is(err, kernel.ErrNotFound) {
		bad.Add("page", "There is no page with this slug.")
		return bad.Err()
	}
	if err != nil {
		return err
	}
	m.PageID = p.ID
	if m.ComponentID == "" {
		return nil
	}
	m.ComponentID, err = database.One(t.Session, database.ScanString,
		`SELECT id FROM components WHERE `+refColumn(m.ComponentID)+` = $1 AND page_id = $2`, m.ComponentID, p.ID)
	if errors.Is(err, kernel.ErrNotFound) {
		bad.Add("component_id", "The component does not exist on this page.")
		err = bad.Err()
	}
	return err
}

// applySuppression suppresses a monitor whose component is under maintenance. The caller has
// locked the component, so that no maintenance begins meanwhile and misses the monitor.
func (t *tx) applySuppression(m *monitor.Monitor) error {
	until, err := t.suppressedUntil([]string{m.ComponentID})
	m.Suppress(until[m.ComponentID], t.Now)
	return err
}

// ChangeMonitor changes a monitor. Disabling a monitor that is down ends its outage; linking it to another component
// moves the outage's cause there. If the monitor does not meet all conditions, the error is
// kernel.ErrPreconditionFailed. If another monitor has its new slug, it is a *kernel.ValidationError.
func (s *Store) ChangeMonitor(
	ctx context.Context, actor kernel.Actor, id string, change monitor.MonitorChange, conds ...kernel.Precondition,
) (monitor.Monitor, error) {
	m, err := writeAs(ctx, s, actor, func(t *tx) (monitor.Monitor, error) {
		if err := t.lockParents(change); err != nil {
			return monitor.Monitor{}, err
		}
		m, err := t.lockMonitor(actor, id)
		if err == nil {
			err = check(conds, auditedMonitor(m))
		}
		if err != nil {
			return m, err
		}
		return t.changeMonitor(actor, m, change)
	})
	return m, s.slugTaken(err)
}

// changeMonitor changes a locked monitor, and ends or moves its outage.
func (t *tx) changeMonitor(
	actor kernel.Actor, m monitor.Monitor, change monitor.MonitorChange,
) (_ monitor.Monitor, err error) {
	if err := t.loadSecrets(&m); err != nil {
		return m, err
	}
	before := m
	if err = t.resolveMonitor(actor, resource.ChangeMonitor(&m, change, t.Now), before, &m); err != nil {
		return m, err
	}
	ends := before.State == monitor.MonitorDown && m.State == monitor.MonitorUp
	moved := m.PageID != before.PageID || m.ComponentID != before.ComponentID
	moves := before.State == monitor.MonitorDown &&
		(m.ComponentID != before.ComponentID || m.DownStatus != before.DownStatus)
	if err := t.lockMonitorChange(before, &m, moved, ends || moves); err != nil {
		return m, err
	}
	if !reflect.DeepEqual(m, before) {
		m.UpdatedAt = kernel.Later(t.Now, m.UpdatedAt)
	}
	if m, err = t.filledMonitor(m, nil); err != nil {
		return m, err
	}
	if err := t.saveChangedMonitor(before, &m); err != nil {
		return m, err
	}
	if m.Enabled && !before.Enabled && !m.IsCheck() {
		t.addEffect(effectPingToken, m.Token)
	}
	if ends {
		err = t.endOutage(m, monitor.OutageEndedByDisable)
	} else if moves {
		err = t.moveOutageCause(m)
	}
	if err != nil {
		return m, err
	}
	return m, t.audit(actor, kernel.AuditUpdate, auditedMonitor(before), auditedMonitor(m))
}

// lockMonitorChange locks what a change of a locked monitor affects: the component before and after it if it is linked
// to one, or is slow, and what the end or the move of an outage changes. A monitor that is linked is then suppressed by
// the maintenance of its component.
func (t *tx) lockMonitorChange(before monitor.Monitor, m *monitor.Monitor, linked, outage bool) (err error) {
	switch {
	case outage:
		err = t.lockForOutage(before, *m)
	case linked, !before.CheckState.SlowSince.IsZero(): // the cause of its slowness may move, or end
		err = t.lockComponents([]string{before.ComponentID, m.ComponentID})
	}
	if err == nil && linked {
		err = t.applySuppression(m)
	}
	return err
}

// saveChangedMonitor saves a monitor, its runs, its warnings and its check after a change.
func (t *tx) saveChangedMonitor(before monitor.Monitor, m *monitor.Monitor) error {
	if !m.Enabled {
		if err := t.dropRuns(m); err != nil {
			return err
		}
	}
	if !slices.Equal(m.Warned, before.Warned) {
		if err := t.saveWarned(*m); err != nil {
			return err
		}
	}
	if err := t.saveMonitor(*m); err != nil {
		return err
	}
	if err := t.saveHealthy(*m); err != nil {
		return err
	}
	return t.changeCheck(before, m)
}

// saveMonitor saves a monitor after a change. The caller has computed NextCheckAt.
func (t *tx) saveMonitor(m monitor.Monitor) error {
	return monitorTable.update(t, &monitorRow{Monitor: m})
}

// saveMonitorState saves the fields that pings and ticks change. The caller has computed NextCheckAt.
func (t *tx) saveMonitorState(m monitor.Monitor) error {
	_, err := t.Exec(`UPDATE monitors SET state = $2, consecutive_failures = $3, last_ping_at = $4,
		waiting_since_at = $5,
			next_check_at = $6, rejected_at = $7, ticked_at = $8, updated_at = $9, suppressed_until_at = $10,
			run_due_at = $11, failures_suppressed = $12
			WHERE id = $1`,
		m.ID, string(m.State), m.ConsecutiveFailures, millis(m.LastPingAt), millis(m.WaitingSince),
		deadlineColumn{&m}.parameter(), millis(m.RejectedAt), millis(m.TickedAt), millis(m.UpdatedAt),
		millis(m.SuppressedUntil), millis(m.RunDueAt), m.FailuresSuppressed)
	return err
}

// saveHealthy saves last_pings.healthy: whether the next ping changes only the time of the
// last ping. A ping ends the run without an id, also if its end is no longer expected.
func (t *tx) saveHealthy(m monitor.Monitor) error {
	_, err := t.Exec(`UPDATE last_pings SET healthy = $2 AND NOT EXISTS (SELECT 1 FROM signals WHERE monitor_id = $3
		AND running AND run_id IS NULL) WHERE token = $1`,
		m.Token, m.Enabled && m.State == monitor.MonitorUp && !m.WaitingSince.IsZero() && m.RunDueAt.IsZero(), m.ID)
	return err
}

// RotateMonitor gives a heartbeat monitor a new ping token. The old one stays valid for PingTokenOverlap; the token
// before it becomes invalid. For a check, the error is a *kernel.ValidationError.
func (s *Store) RotateMonitor(
	ctx context.Context, actor kernel.Actor, id string, save ...SaveResponse[monitor.Monitor],
) (monitor.Monitor, error) {
	return writeAs(ctx, s, actor, func(t *tx) (monitor.Monitor, error) {
		m, err := t.lockMonitor(actor, id)
		if err == nil && m.IsCheck() {
			var bad kernel.ValidationError
			bad.Add("type", "Only a heartbeat monitor has a ping token.")
			err = bad.Err()
		}
		if err != nil {
			return m, err
		}
		before, old := m, m.Token
		m.Token, m.SecretVersions = kernel.NewPingToken(), m.SecretVersions.Changed("token")
		m.UpdatedAt = kernel.Later(t.Now, m.UpdatedAt)
		_, err = t.Exec(`UPDATE monitors SET token = $2, old_token = $3, old_token_until_at = $4, updated_at = $5,
				secret_versions = $6 WHERE id = $1`,
			m.ID, m.Token, old, millis(t.Now.Add(PingTokenOverlap)), millis(m.UpdatedAt),
			versionsText(m.SecretVersions))
		if err != nil {
			return m, err
		}
		if err := t.keepPastToken(m.ID, old); err != nil {
			return m, err
		}
		t.addEffect(effectPingToken, m.Token)
		if err := t.audit(actor, kernel.AuditRotate, auditedMonitor(before), auditedMonitor(m)); err != nil {
			return m, err
		}
		return t.filledMonitor(m, nil)
	}, save...)
}

// DeleteMonitor deletes a monitor. If it is down, its outage ends first. If it does not
// meet all conditions, the error is kernel.ErrPreconditionFailed.
func (s *Store) DeleteMonitor(ctx context.Context, actor kernel.Actor, id string, conds ...kernel.Precondition) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		m, err := t.lockMonitor(actor, id)
		if err == nil {
			err = check(conds, auditedMonitor(m))
		}
		if err == nil && m.State == monitor.MonitorDown {
			if err = t.lockForOutage(m); err == nil {
				err = t.endOutage(m, monitor.OutageEndedByDelete)
			}
		}
		if err == nil && len(m.Warned) > 0 {
			m.Warned = nil
			err = t.saveWarned(m)
		}
		if err == nil && !m.CheckState.SlowSince.IsZero() {
			if err = t.removeCauses(m.ID, originOf(m, "", "")); err == nil {
				err = t.emitAlertEvent(alert.MonitorSlowEnded, m.WorkspaceID, m.ID, m.ID, monitor.MonitorEventData{
					Name: m.Name, Reason: monitor.OutageEndedByDelete.String(),
				})
			}
		}
		if err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM monitors WHERE id = $1`, m.ID); err != nil {
			return err
		}
		return t.audit(actor, kernel.AuditDelete, auditedMonitor(m), nil)
	})
}
