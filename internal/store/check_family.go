package store

import (
	"maps"
	"slices"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

// checkFamily has the ancestors of monitors, and which monitors are down while results are applied.
type checkFamily struct {
	// the parent of a monitor, the parent's parent, and so on; nothing for a monitor without a parent
	ancestors map[string][]string
	down      map[string]bool
}

// familyOf loads the ancestors of monitors.
func (t *tx) familyOf(monitors map[string]*monitor.Monitor) (checkFamily, error) {
	f := checkFamily{ancestors: make(map[string][]string), down: make(map[string]bool)}
	var below []string
	for id, m := range monitors {
		if m.ParentID != "" {
			below = append(below, id)
		}
	}
	if len(below) == 0 {
		return f, nil
	}
	_, err := database.Query(t.Session, func(row database.Row) (none struct{}, err error) {
		var id, parent string
		var down bool
		if err = row.Scan(&id, &parent, &down); err == nil {
			f.ancestors[id] = append(f.ancestors[id], parent)
			f.down[parent] = down
		}
		return
	}, `WITH RECURSIVE above (id, parent_id) AS (SELECT id, parent_id FROM monitors WHERE id IN EACH($1)
			UNION SELECT above.id, p.parent_id FROM monitors p JOIN above ON p.id = above.parent_id
			WHERE p.parent_id IS NOT NULL)
		SELECT above.id, above.parent_id, p.state = 'down' FROM above
		JOIN monitors p ON p.id = above.parent_id`, list(below))
	return f, err
}

// parentDown computes Monitor.ParentDown.
func (f checkFamily) parentDown(id string) bool {
	return slices.ContainsFunc(f.ancestors[id], func(parent string) bool { return f.down[parent] })
}

// lockForResults locks what the beginning and the end of outages and of slowness change.
func (t *tx) lockForResults(
	results []monitor.CheckResult, monitors map[string]*monitor.Monitor, f checkFamily, v monitor.CheckView,
) error {
	trial := make(map[string]monitor.Monitor, len(monitors))
	for id, m := range monitors {
		trial[id] = *m
	}
	f.down = maps.Clone(f.down)
	var changing []monitor.Monitor
	for _, r := range results {
		m, ok := trial[r.MonitorID]
		if !ok {
			continue
		}
		slow := m.CheckState.SlowSince
		m.ParentDown = f.parentDown(m.ID)
		e := m.ApplyCheckResult(r, v)
		trial[r.MonitorID], f.down[m.ID] = m, m.State == monitor.MonitorDown
		if e.WentDown || e.Recovered || !m.CheckState.SlowSince.Equal(slow) {
			changing = append(changing, *monitors[r.MonitorID])
		}
	}
	if len(changing) == 0 {
		return nil
	}
	return t.lockForOutage(changing...)
}
