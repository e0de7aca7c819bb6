package store

import (
	"context"
	"slices"
	"strconv"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

// warn saves the warnings of a verdict on a locked monitor, and ends those that it clears.
func (t *tx) warn(m *allswell.Monitor, v allswell.Verdict) error {
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

// saveWarned saves Warned of a monitor, and ends the warnings of other conditions.
func (t *tx) saveWarned(m allswell.Monitor) error {
	if _, err := t.Exec(`UPDATE monitors SET warned = $2 WHERE id = $1`, m.ID, listText(m.Warned)); err != nil {
		return err
	}
	_, err := t.Exec(`UPDATE warnings SET ended_at = $2 WHERE monitor_id = $1 AND ended_at IS NULL AND NOT condition IN EACH($3)`,
		m.ID, millis(t.Now), list(m.Warned))
	return err
}

// addWarning saves a warning, and deletes the oldest one if there are too many.
func (t *tx) addWarning(m allswell.Monitor, v allswell.Violation) error {
	number, err := database.One(t.Session, database.ScanInt, `INSERT INTO warnings (id, monitor_id, number, condition, run_id, message, warned_at)
		SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6 FROM warnings WHERE monitor_id = $2 RETURNING number`,
		allswell.NewID(allswell.PrefixWarning, t.Now), m.ID, string(v.Condition), nullIfEmpty(v.RunID), v.Message, millis(t.Now))
	if err != nil {
		return err
	}
	if number > allswell.MaxWarnings {
		if _, err := t.Exec(`DELETE FROM warnings WHERE monitor_id = $1 AND number <= $2`, m.ID, number-allswell.MaxWarnings); err != nil {
			return err
		}
	}
	t.logEntries = append(t.logEntries, logEntry{"a run violates " + string(v.Condition), "monitor", m.ID, m.Name})
	t.warned = append(t.warned, v.Condition)
	return nil
}

const warningColumns = `id, monitor_id, number, condition, run_id, message, warned_at, ended_at`

func scanWarning(row database.Row) (w allswell.Warning, err error) {
	err = row.Scan(&w.ID, &w.MonitorID, &w.Number, &w.Condition, text{&w.RunID}, &w.Message, instant{&w.WarnedAt}, instant{&w.EndedAt})
	return
}

// WarningFilter limits a list of warnings. Zero fields do not limit it.
type WarningFilter struct {
	Condition allswell.Condition
	Before    int64 // only warnings with a lower number
}

// Warnings lists at most limit warnings of a workspace's monitor, given its id or slug, newest first. more reports whether
// there are others.
func (s *Store) Warnings(ctx context.Context, actor allswell.Actor, ref string, f WarningFilter, limit int) (warnings []allswell.Warning, more bool, err error) {
	warnings, err = read(ctx, s, func(c *session) ([]allswell.Warning, error) {
		m, err := c.monitorOf(actor, ref)
		if err != nil {
			return nil, err
		}
		from, args := `FROM warnings WHERE monitor_id = $1`, []any{m.ID}
		if f.Condition != "" {
			from, args = and(from, args, `condition = $%d`, string(f.Condition))
		}
		if f.Before > 0 {
			from, args = and(from, args, `number < $%d`, f.Before)
		}
		args = append(args, limit+1)
		return database.Query(c.Session, scanWarning, `SELECT `+warningColumns+` `+from+` ORDER BY number DESC LIMIT $`+strconv.Itoa(len(args)), args...)
	})
	if len(warnings) > limit {
		return warnings[:limit], true, err
	}
	return warnings, false, err
}
