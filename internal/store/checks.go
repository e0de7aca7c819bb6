package store

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store/database"
)

const checkColumns = `monitor_id, timeout_ms, slow_after_ms, recovery_threshold, confirm_from, config, secret_fields,
	due_at, failed_from, unknown_from, counted, status, reason, good_results, slow_results, slow_since_at,
	unknown_since_at, late`

// checkRow is a row of checks.
type checkRow struct {
	monitorID string
	monitor.CheckSpec
	monitor.CheckState
	dueAt time.Time // zero: disabled
}

func scanCheck(row database.Row) (r checkRow, err error) {
	var config string
	err = row.Scan(&r.monitorID, duration{&r.Timeout}, duration{&r.SlowAfter}, &r.RecoveryThreshold, &r.ConfirmFrom,
		&config, listOf[string]{&r.SecretFields}, instant{&r.dueAt}, listOf[string]{&r.Round.Failed},
		listOf[string]{&r.Round.Unknown}, &r.Round.Counted, text{(*string)(&r.Status)},
		text{&r.Reason}, &r.Good, &r.Slow, instant{&r.SlowSince}, instant{&r.UnknownSince}, &r.Late)
	r.Config = json.RawMessage(config)
	return
}

// fillChecks loads the checks of the monitors that are checked. It does nothing if there are none.
func (c *session) fillChecks(rows []monitorRow) error {
	index := make(map[string]int)
	var ids []string
	for i, r := range rows {
		if r.IsCheck() {
			index[r.ID], ids = i, append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	checks, err := database.Query(c.Session, scanCheck,
		`SELECT `+checkColumns+` FROM checks WHERE monitor_id IN EACH($1)`, list(ids))
	for _, r := range checks {
		m := &rows[index[r.monitorID]].Monitor
		m.Check, m.CheckState, m.NextCheckAt = r.CheckSpec, r.CheckState, r.dueAt
	}
	return err
}

// createCheck saves the check of a new monitor. It is due immediately.
func (t *tx) createCheck(m *monitor.Monitor) error {
	if !m.IsCheck() {
		return nil
	}
	sealed, err := t.sealSecrets(m.ID, m.Check.Secrets)
	if err != nil {
		return err
	}
	m.Check.Secrets = nil
	m.NextCheckAt = firstCheck(*m, t.Now)
	c, since, lateAt := m.Check, m.NextCheckAt, lateFrom(*m, m.NextCheckAt)
	_, err = t.Exec(`INSERT INTO checks (monitor_id, workspace_id, version, timeout_ms, slow_after_ms,
		recovery_threshold, confirm_from, config, secret_fields, secrets, due_at,
			awaited_since_at, late_at) VALUES ($1, $2, 1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		m.ID, m.WorkspaceID, c.Timeout.Milliseconds(), nullIfZero(c.SlowAfter.Milliseconds()), c.RecoveryThreshold,
		c.ConfirmFrom, configText(c), listText(c.SecretFields), sealed, millis(m.NextCheckAt), millis(since),
		millis(lateAt))
	return err
}

// firstCheck returns when a check that was created, changed or enabled is due: now, unless it is disabled.
func firstCheck(m monitor.Monitor, now time.Time) time.Time {
	if !m.Enabled {
		return time.Time{}
	}
	return now
}

func configText(c monitor.CheckSpec) string {
	if len(c.Config) == 0 {
		return "{}"
	}
	return string(c.Config)
}

// changeCheck saves the check of a locked monitor after a change, and forgets its secrets. A check that was enabled or
// changed is due immediately, and results of its old configuration are dropped.
func (t *tx) changeCheck(before monitor.Monitor, m *monitor.Monitor) error {
	if !m.IsCheck() {
		return nil
	}
	c := m.Check
	m.Check.Secrets = nil
	if !reflect.DeepEqual(c.Secrets, before.Check.Secrets) || !slices.Equal(c.SecretFields, before.Check.SecretFields) {
		if err := t.saveSecrets(m.ID, c); err != nil {
			return err
		}
	}
	if m.Enabled != before.Enabled || m.Interval != before.Interval || !reflect.DeepEqual(c, before.Check) {
		m.NextCheckAt = firstCheck(*m, t.Now)
		_, err := t.Exec(
			`UPDATE checks SET version = version + 1, timeout_ms = $2, slow_after_ms = $3, recovery_threshold = $4,
				confirm_from = $5, config = $6,
				secret_fields = $7, due_at = $8, retry_at = NULL, host = '', awaited_since_at = $8, late_at = $9
				WHERE monitor_id = $1`,
			m.ID, c.Timeout.Milliseconds(), nullIfZero(c.SlowAfter.Milliseconds()), c.RecoveryThreshold, c.ConfirmFrom,
			configText(c), listText(c.SecretFields), millis(m.NextCheckAt), millis(lateFrom(*m, m.NextCheckAt)),
		)
		if err != nil {
			return err
		}
	}
	if err := t.saveCheckingGap(before, *m); err != nil {
		return err
	}
	if err := t.moveSlowCause(before, *m); err != nil {
		return err
	}
	return t.saveCheckState(*m)
}

// saveSecrets saves the secrets of a monitor. The error is a *kernel.ValidationError if some are kept that could not be
// decrypted.
func (t *tx) saveSecrets(monitorID string, c monitor.CheckSpec) error {
	if err := c.HasSecrets(); err != nil {
		return err
	}
	sealed, err := t.sealSecrets(monitorID, c.Secrets)
	if err == nil {
		_, err = t.Exec(`UPDATE checks SET secrets = $2 WHERE monitor_id = $1`, monitorID, sealed)
	}
	return err
}

// isUnreadable reports whether an error means that secrets cannot be opened, and not that the database cannot be read.
func isUnreadable(err error) bool {
	return errors.Is(err, secret.ErrNoKey) || errors.Is(err, secret.ErrDamaged)
}

// secretsOf returns the secrets of a monitor.
func (c *session) secretsOf(monitorID string) (map[string]json.RawMessage, error) {
	sealed, err := database.One(c.Session, func(row database.Row) (sealed []byte, err error) {
		err = row.Scan(&sealed)
		return
	}, `SELECT secrets FROM checks WHERE monitor_id = $1`, monitorID)
	if err != nil {
		return nil, err
	}
	return c.s.openSecrets(monitorID, sealed)
}

// loadSecrets loads the secrets of a monitor. If they cannot be decrypted, there are none, and Check.SecretFields says
// which there should be.
func (c *session) loadSecrets(m *monitor.Monitor) (err error) {
	if len(m.Check.SecretFields) == 0 {
		return nil
	}
	if m.Check.Secrets, err = c.secretsOf(m.ID); isUnreadable(err) {
		err = nil
	}
	return err
}

// saveCheckState saves what the results of a check have led to.
func (t *tx) saveCheckState(m monitor.Monitor) error {
	s := m.CheckState
	_, err := t.Exec(`UPDATE checks SET failed_from = $2, unknown_from = $3, counted = $4, healthy = $5, status = $6,
		reason = $7, good_results = $8, slow_results = $9,
			slow_since_at = $10, unknown_since_at = $11, late = $12 WHERE monitor_id = $1`,
		m.ID, listText(s.Round.Failed), listText(s.Round.Unknown), s.Round.Counted, m.Healthy(),
		nullIfEmpty(string(s.Status)), nullIfEmpty(s.Reason), s.Good, s.Slow, millis(s.SlowSince),
		millis(s.UnknownSince), s.Late)
	return err
}

// moveSlowCause adds, removes or moves the cause of a component whose monitor is slow. The caller has locked the
// components.
func (t *tx) moveSlowCause(before, m monitor.Monitor) error {
	was, is := !before.CheckState.SlowSince.IsZero(), !m.CheckState.SlowSince.IsZero()
	if was == is && (!is || before.ComponentID == m.ComponentID) {
		return nil
	}
	if was != is {
		if err := t.emitSlow(m, is); err != nil {
			return err
		}
	}
	from := originOf(m, "", "")
	if was {
		if err := t.removeCauses(m.ID, from); err != nil {
			return err
		}
	}
	if is {
		return t.addCause(m.ID, m.ComponentID, kernel.StatusDegraded, from)
	}
	return nil
}

// resolveParent sets the parent of a monitor, given by its id or slug. The caller holds the mutex "parents", so that no
// cycle is made meanwhile.
func (t *tx) resolveParent(actor kernel.Actor, m *monitor.Monitor, ref string) error {
	m.ParentID = ""
	if ref == "" {
		return nil
	}
	var bad kernel.ValidationError
	r := accessOf(actor)
	id, err := database.One(t.Session, database.ScanString,
		`SELECT id FROM monitors WHERE `+refColumn(ref)+` = $1 AND `+r.objects(2), ref, r.arg)
	if errors.Is(err, kernel.ErrNotFound) {
		bad.Add("parent_id", "There is no such monitor.")
		return bad.Err()
	}
	if err != nil {
		return err
	}
	above, err := t.ids(`WITH RECURSIVE above (id, parent_id) AS (SELECT id, parent_id FROM monitors WHERE id = $1
		UNION SELECT p.id, p.parent_id FROM monitors p JOIN above ON p.id = above.parent_id) SELECT id FROM above`, id)
	if err != nil {
		return err
	}
	for _, ancestor := range above {
		if ancestor == m.ID {
			bad.Add("parent_id", "A monitor cannot be its own parent, or the parent of one of its parents.")
			return bad.Err()
		}
	}
	below, err := database.One(t.Session, database.ScanInt,
		`WITH RECURSIVE below (id, depth) AS (SELECT id, 1 FROM monitors WHERE parent_id = $1
		UNION ALL SELECT c.id, depth + 1 FROM monitors c JOIN below ON c.parent_id = below.id WHERE depth <= $2)
		SELECT COALESCE(max(depth), 0) FROM below`, m.ID, monitor.MaxParents)
	if err != nil {
		return err
	}
	if len(above)+int(below) > monitor.MaxParents {
		bad.Add("parent_id", "A monitor can have no more than %d levels of parents.", monitor.MaxParents)
		return bad.Err()
	}
	m.ParentID = id
	return nil
}

// checkingGaps loads the checking gaps of monitors that end after an instant, by component. where selects monitors m by
// $3.
func (c *session) checkingGaps(where string, since time.Time, arg any) (map[string][]schedule.ListeningGap, error) {
	rows, err := c.checkingGapRows(where, since, arg)
	if len(rows) == 0 {
		return nil, err
	}
	gaps := make(map[string][]schedule.ListeningGap)
	for _, r := range rows {
		gaps[r.componentID] = append(gaps[r.componentID], r.ListeningGap)
	}
	return gaps, err
}

// checkingGapRow is a checking gap of a monitor.
type checkingGapRow struct {
	monitorID   string
	componentID string // "": none
	monitor.CheckingGap
}

// checkingGapRows loads the gaps like checkingGaps, by component and from the oldest.
func (c *session) checkingGapRows(where string, since time.Time, arg any) ([]checkingGapRow, error) {
	return database.Query(c.Session, func(row database.Row) (r checkingGapRow, err error) {
		err = row.Scan(text{&r.componentID}, instant{&r.From}, instant{&r.To}, text{(*string)(&r.Cause)}, &r.Open,
			&r.monitorID)
		return
	}, `SELECT m.component_id, g.from_at, g.to_at, g.cause, FALSE, m.id FROM monitors m
		JOIN checking_gaps g ON g.monitor_id = m.id WHERE g.to_at > $1 AND `+where+`
		UNION ALL SELECT m.component_id, c.unknown_since_at, $2, CASE WHEN c.late THEN '`+string(monitor.GapLateChecks)+
		`' ELSE '`+string(monitor.GapUnknownResults)+`' END, TRUE, m.id
			FROM monitors m JOIN checks c ON c.monitor_id = m.id WHERE c.unknown_since_at IS NOT NULL
			AND c.unknown_since_at < $2 AND m.enabled AND `+where+`
		ORDER BY 1, 2`, millis(since), millis(c.Now), arg)
}

// saveCheckingGap saves a checking gap that has ended, or that goes on for another reason. Members were notified
// already of one that began because the check was late: see announceLate.
func (t *tx) saveCheckingGap(before, m monitor.Monitor) error {
	from := before.CheckState.UnknownSince
	wasLate := before.CheckState.Late && !m.CheckState.Late
	if from.IsZero() || !m.CheckState.UnknownSince.IsZero() && !wasLate || t.Now.Sub(from) < schedule.LongGap {
		return nil
	}
	cause := monitor.GapUnknownResults
	if before.CheckState.Late {
		cause = monitor.GapLateChecks
	}
	_, err := t.Exec(`INSERT INTO checking_gaps (monitor_id, from_at, to_at, cause) VALUES ($1, $2, $3, $4)
		ON CONFLICT (monitor_id, from_at) DO NOTHING`, m.ID, millis(from), millis(t.Now), string(cause))
	if err == nil && !wasLate {
		err = t.emitAlertEvent(alert.ServiceGap, m.WorkspaceID, m.ID, "checking:"+m.ID, monitor.MonitorEventData{
			Name: "Checking " + m.Name, Detail: "from " + from.UTC().Format(alertTime),
		})
	}
	if err != nil || m.PageID == "" {
		return err
	}
	return t.bumpVersion(m.PageID) // its history changes
}

// maxSuppressedNotes is how many notes of an incident name monitors whose failures are suppressed.
const maxSuppressedNotes = 100

// noteSuppressed adds a note that the failures of a locked monitor are suppressed to the incident of the nearest
// monitor above it that is down and has one. It does nothing if no failure is suppressed or the incident has this note.
func (t *tx) noteSuppressed(m monitor.Monitor) error {
	if m.ParentID == "" || !m.FailuresSuppressed {
		return nil
	}
	type parentIncident struct{ id, pageID string }
	i, err := database.One(t.Session, func(row database.Row) (i parentIncident, err error) {
		err = row.Scan(&i.id, &i.pageID)
		return
	}, `WITH RECURSIVE above (id, parent_id, depth) AS (SELECT id, parent_id, 1 FROM monitors WHERE id = $1
			UNION ALL SELECT p.id, p.parent_id, depth + 1 FROM monitors p JOIN above ON p.id = above.parent_id
			WHERE depth <= $2)
		SELECT i.id, i.page_id FROM above JOIN outages o ON o.monitor_id = above.id AND o.ended_at IS NULL
		JOIN incidents i ON i.outage_id = o.id
		ORDER BY depth LIMIT 1`, m.ParentID, monitor.MaxParents)
	if errors.Is(err, kernel.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO incident_notes (id, incident_id, output, created_at) SELECT $1, i.id, $3, $4
		FROM incidents i WHERE i.id = $2
			AND NOT EXISTS (SELECT 1 FROM incident_notes n WHERE n.incident_id = i.id AND n.output = $3)
			AND (SELECT count(*) FROM incident_notes n WHERE n.incident_id = i.id) < $5`,
		kernel.NewID(kernel.PrefixNote, t.Now), i.id, m.SuppressedNote(i.pageID), millis(t.Now), maxSuppressedNotes)
	return err
}
