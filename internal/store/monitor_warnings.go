package store

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// warn saves the warnings of a verdict on a locked monitor, and ends the warnings that it clears.
func (t *tx) warn(m *monitor.Monitor, v monitor.Verdict) error {
	before := m.Warned
	warnings := m.Warn(v)
	if slices.Equal(before, m.Warned) {
		return nil
	}
	if err := t.saveWarned(*m); err != nil {
		return err
	}
	for _, violation := range warnings {
		if err := t.addWarning(*m, violation); err != nil {
			return err
		}
	}
	return nil
}

// saveWarned saves Warned of a locked monitor, ends the warnings of other conditions, and emits events of that.
func (t *tx) saveWarned(m monitor.Monitor) error {
	if _, err := t.Exec(`UPDATE monitors SET warned = $2 WHERE id = $1`, m.ID, listText(m.Warned)); err != nil {
		return err
	}
	warnings, err := database.Query(t.Session, func(row database.Row) (w monitor.Warning, err error) {
		err = row.Scan(&w.ID, &w.Condition)
		return
	}, `UPDATE warnings SET ended_at = $2 WHERE monitor_id = $1 AND ended_at IS NULL AND NOT condition IN EACH($3)
		RETURNING id, condition`,
		m.ID, millis(t.Now), list(m.Warned))
	if err != nil || len(warnings) == 0 {
		return err
	}
	var ended []string
	for _, w := range warnings {
		ended = append(ended, w.ID)
		_, event := warningAlert(w.Condition)
		err := t.emitAlertEvent(event, m.WorkspaceID, m.ID, w.ID, monitor.MonitorEventData{Name: m.Name})
		if err != nil {
			return err
		}
	}
	begun, err := database.Query(t.Session, scanEvent,
		`SELECT `+eventColumns+` FROM events WHERE warning_id IN EACH($1) AND kind = $2 ORDER BY ordinal`,
		list(ended), string(statuspage.EventMonitorWarning))
	for _, e := range begun {
		if err == nil {
			err = t.emitWarning(e.Ended(t.Now))
		}
	}
	return err
}

// warningAlert returns the events that begin and end the alert of a warning.
func warningAlert(c monitor.Condition) (begun, ended alert.Event) {
	if c == monitor.ConditionCertificateExpiry {
		return alert.MonitorCertificate, alert.MonitorCertificateEnded
	}
	return alert.MonitorWarning, alert.MonitorWarningEnded
}

// emitWarning writes an event of a warning of a locked monitor, if a webhook of the page asks for warnings. Visitors
// must not notice: it does not make a new version of the page. Its place in the order of events matters only among the
// events of the monitor, and the monitor's lock ensures it.
func (t *tx) emitWarning(e audience.Event) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	var components any // none
	if len(e.Components) > 0 {
		components = list(e.Components)
	}
	_, err = t.Exec(`INSERT INTO events (id, page_id, page_version, ordinal, kind, monitor_id, warning_id, components,
		data, created_at)
		SELECT $1, p.id, p.version, $3, $4, $5, $6, $7, $8, $9 FROM pages p
		WHERE p.id = $2 AND EXISTS (SELECT 1 FROM subscribers s WHERE s.page_id = p.id AND s.warnings)`,
		kernel.NewID(kernel.PrefixEvent, t.Now), e.PageID, e.Ordinal, string(e.Kind), e.MonitorID, e.WarningID,
		components, string(data), millis(e.CreatedAt))
	t.signal(effectDeliveriesPending)
	return err
}

// addWarning saves a warning, deletes the oldest one if there are too many, and emits an event.
func (t *tx) addWarning(m monitor.Monitor, v monitor.Violation) (err error) {
	w := monitor.Warning{ID: kernel.NewID(kernel.PrefixWarning, t.Now), MonitorID: m.ID, Violation: v, WarnedAt: t.Now}
	w.Number, err = database.One(t.Session, database.ScanInt,
		`INSERT INTO warnings (id, monitor_id, number, condition, run_id, message, warned_at)
		SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6 FROM warnings WHERE monitor_id = $2
		RETURNING number`,
		w.ID, m.ID, string(v.Condition), nullIfEmpty(v.RunID), v.Message, millis(t.Now))
	if err != nil {
		return err
	}
	if w.Number > monitor.MaxWarnings {
		_, err := t.Exec(`DELETE FROM warnings WHERE monitor_id = $1 AND number <= $2`,
			m.ID, w.Number-monitor.MaxWarnings)
		if err != nil {
			return err
		}
	}
	t.logAfter("a run violates "+string(v.Condition), "monitor", m.ID, m.Name)
	t.addEffect(effectWarning, string(v.Condition))
	event, _ := warningAlert(v.Condition)
	err = t.emitAlertEvent(event, m.WorkspaceID, m.ID, w.ID, monitor.MonitorEventData{Name: m.Name, Detail: v.Message})
	if err != nil || m.PageID == "" {
		return err
	}
	return t.emitWarning(audience.NewWarningEvent(m, w))
}

const warningColumns = `id, monitor_id, number, condition, run_id, message, warned_at, ended_at`

func scanWarning(row database.Row) (w monitor.Warning, err error) {
	err = row.Scan(&w.ID, &w.MonitorID, &w.Number, &w.Condition, text{&w.RunID}, &w.Message, instant{&w.WarnedAt},
		instant{&w.EndedAt})
	return
}

// WarningFilter limits a list of warnings. Zero fields do not limit it.
type WarningFilter struct {
	Condition monitor.Condition
	Before    int64 // only warnings with a lower number
}

// Warnings lists at most limit warnings of a workspace's monitor, given its id or slug, newest first. more reports
// whether there are others.
func (s *Store) Warnings(
	ctx context.Context, actor kernel.Actor, ref string, f WarningFilter, limit int,
) (warnings []monitor.Warning, more bool, err error) {
	warnings, err = read(ctx, s, func(c *session) ([]monitor.Warning, error) {
		m, err := c.monitorOf(actor, ref)
		if err != nil {
			return nil, err
		}
		from, args := `FROM warnings WHERE monitor_id = $1`, []any{m.ID}
		if f.Condition != "" {
			from, args = withCondition(from, args, `condition = $%d`, string(f.Condition))
		}
		if f.Before > 0 {
			from, args = withCondition(from, args, `number < $%d`, f.Before)
		}
		args = append(args, limit+1)
		return database.Query(c.Session, scanWarning,
			`SELECT `+warningColumns+` `+from+` ORDER BY number DESC LIMIT $`+strconv.Itoa(len(args)), args...)
	})
	if len(warnings) > limit {
		return warnings[:limit], true, err
	}
	return warnings, false, err
}
