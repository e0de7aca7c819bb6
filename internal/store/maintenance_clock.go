package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// maxDueMaintenances is how many maintenances one call advances at most.
const maxDueMaintenances = 100

// AdvanceMaintenances applies the transitions that are due: it sends reminders of maintenances, begins and ends them,
// each in a transaction of its own. It returns when the next transition is due, by Clock, or the zero Time if there is
// none. A maintenance that fails stays due and does not hold up the others. Any number of replicas may run it.
func (s *Store) AdvanceMaintenances(ctx context.Context) (next time.Time, err error) {
	type due struct {
		id string
		at time.Time
	}
	edges, err := read(ctx, s, func(c *session) (out []due, err error) {
		out, err = database.Query(c.Session, func(row database.Row) (d due, err error) {
			err = row.Scan(&d.id, instant{&d.at})
			return
		}, `SELECT id, next_transition_at FROM maintenances WHERE next_transition_at IS NOT NULL
			ORDER BY next_transition_at, id LIMIT $1`, maxDueMaintenances)
		for i, d := range out {
			if d.at.After(c.Now) {
				next, out = d.at, out[:i]
				break
			}
		}
		if len(out) == maxDueMaintenances {
			next = c.Now // there may be more
		}
		return
	})
	if err != nil {
		return time.Time{}, err
	}
	var failed []error
	for _, d := range edges {
		at, err := write(ctx, s, func(t *tx) (time.Time, error) {
			t.skipBeforeReturn = true
			return t.advanceOne(d.id)
		})
		if errors.Is(err, kernel.ErrBusy) || errors.Is(err, kernel.ErrUnknownOutcome) {
			return time.Time{}, err // the others would fail, too
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("maintenance %s: %w", d.id, err))
			continue
		}
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next, errors.Join(failed...)
}

// advanceOne advances a maintenance that may have been changed or deleted meanwhile, and
// returns when its next transition is due.
func (t *tx) advanceOne(id string) (time.Time, error) {
	m, err := database.One(t.Session, maintenances.scan,
		`SELECT `+maintenances.selected+` FROM maintenances WHERE id = $1`, id)
	if err == nil {
		m, err = t.lockMaintenance(m, nil)
	}
	if errors.Is(err, kernel.ErrNotFound) {
		return time.Time{}, nil
	}
	if err == nil {
		err = t.advance(&m)
	}
	return m.NextTransitionAt(), err
}

// advance applies the transitions of a locked maintenance that are due.
func (t *tx) advance(m *statuspage.Maintenance) error {
	for {
		transition := m.Advance(t.Now)
		if transition == statuspage.TransitionNone {
			return nil
		}
		if err := t.applyTransition(m, transition, transition.Message(), transition.SystemMessage()); err != nil {
			return err
		}
	}
}

// applyTransition saves a maintenance after a transition, which may be TransitionNone, with
// all its effects: the update if there is a message, the causes of the components, the suppression of the
// monitors, and the event. auto is the form of the message if the service wrote it.
func (t *tx) applyTransition(
	m *statuspage.Maintenance, transition statuspage.MaintenanceTransition, message string,
	auto statuspage.SystemMessage,
) error {
	kind, hasEvent := map[statuspage.MaintenanceTransition]statuspage.EventKind{
		statuspage.TransitionRemind: statuspage.EventMaintenanceReminder,
		statuspage.TransitionBegin:  statuspage.EventMaintenanceBegun,
		statuspage.TransitionEnd:    statuspage.EventMaintenanceEnded,
		statuspage.TransitionMissed: statuspage.EventMaintenanceEnded,
	}[transition]
	var u *statuspage.MaintenanceUpdate
	if message != "" {
		number := 1
		if n := len(m.Updates); n > 0 {
			number = m.Updates[n-1].Number + 1
		}
		added := m.AddUpdate(kernel.NewID(kernel.PrefixUpdate, t.Now), message, number, t.Now)
		added.System = auto
		m.Updates[len(m.Updates)-1] = added
		if err := maintenanceUpdates.insert(t, &added); err != nil {
			return err
		}
		u = &added
		if !hasEvent {
			kind, hasEvent = statuspage.EventMaintenanceUpdated, true
		}
	}
	t.signal(effectMaintenanceChange)
	if err := maintenances.update(t, m); err != nil {
		return err
	}
	if err := t.applyTransitionEffects(*m, transition); err != nil || !hasEvent {
		return err
	}
	if err := t.emitMaintenanceAlert(*m, transition); err != nil {
		return err
	}
	return t.emitMaintenance(kind, *m, u)
}

// applyTransitionEffects applies a transition to the components and their monitors.
func (t *tx) applyTransitionEffects(m statuspage.Maintenance, transition statuspage.MaintenanceTransition) error {
	if message := transitionLogMessages[transition]; message != "" {
		t.logAfter(message, "maintenance", m.ID, m.Title)
	}
	switch transition {
	case statuspage.TransitionBegin:
		for _, c := range m.Components {
			if err := t.addCause(m.ID, c.ID, kernel.StatusMaintenance, origin{}); err != nil {
				return err
			}
		}
	case statuspage.TransitionEnd:
		if err := t.removeCauses(m.ID, origin{}); err != nil {
			return err
		}
	case statuspage.TransitionMissed:
	default:
		return nil
	}
	return t.suppress(m.Components)
}

// transitionLogMessages are the log messages of the transitions.
var transitionLogMessages = map[statuspage.MaintenanceTransition]string{
	statuspage.TransitionRemind: "maintenance reminder sent", statuspage.TransitionBegin: "maintenance began",
	statuspage.TransitionEnd: "maintenance ended", statuspage.TransitionMissed: "maintenance window was missed",
}

// suppress updates the monitors of the components for the maintenances that are running: until their end no ping is
// expected. Monitors whose maintenance has ended get a fresh interval from now. The caller has locked the components.
func (t *tx) suppress(components []statuspage.ComponentName) error {
	monitors, err := t.monitors(`WHERE component_id IN EACH($1) ORDER BY id FOR UPDATE`,
		list(statuspage.ComponentIDs(components)))
	if err != nil {
		return err
	}
	return t.suppressMonitors(monitors)
}

// suppressMonitors is suppress for locked monitors.
func (t *tx) suppressMonitors(monitors []monitor.Monitor) error {
	components := make([]string, len(monitors))
	for i, m := range monitors {
		components[i] = m.ComponentID
	}
	until, err := t.suppressedUntil(components)
	if err != nil {
		return err
	}
	var changed []monitor.Monitor
	for _, m := range monitors {
		if m.Suppress(until[m.ComponentID], t.Now) {
			changed = append(changed, m)
		}
	}
	if err := t.fillNextChecks(changed); err != nil {
		return err
	}
	for _, m := range changed {
		if err := t.saveMonitorState(m); err != nil {
			return err
		}
	}
	return nil
}

// suppressedUntil returns the end of the running maintenance of each component.
func (t *tx) suppressedUntil(components []string) (map[string]time.Time, error) {
	type row struct {
		component string
		until     time.Time
	}
	rows, err := database.Query(t.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.component, instant{&r.until})
		return
	}, `SELECT c.component_id, max(m.scheduled_until_at) FROM maintenance_components c
		JOIN maintenances m ON m.id = c.maintenance_id
		WHERE c.component_id IN EACH($1) AND m.state IN ('in_progress', 'verifying')
		GROUP BY c.component_id`, list(components))
	until := make(map[string]time.Time, len(rows))
	for _, r := range rows {
		until[r.component] = r.until
	}
	return until, err
}
