package store

import (
	"context"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// AlertStanding is what every screen shows of the alerts of a workspace.
type AlertStanding struct {
	AlertCounts
	// there are monitors, and no enabled rule names an on-call schedule or an enabled channel that accepted its last
	// message
	Unheard bool
	// the active silence that holds back every alert, the one that ends last; nil: none
	Silence *alert.Silence
}

// AlertStanding returns how many alerts of a workspace have not ended, and whether anyone is notified of them. An actor
// who is limited to pages sees only the counts.
func (s *Store) AlertStanding(ctx context.Context, actor kernel.Actor) (AlertStanding, error) {
	return read(ctx, s, func(c *session) (standing AlertStanding, err error) {
		if standing.AlertCounts, err = c.alertCounts(actor); err != nil || accessOf(actor).limited {
			return standing, err
		}
		if standing.Unheard, err = c.unheard(actor.WorkspaceID); err != nil {
			return standing, err
		}
		silences, err := c.activeSilences(actor.WorkspaceID)
		for _, silence := range silences {
			if silence.MatchesAll() && (standing.Silence == nil || silence.EndsAt.After(standing.Silence.EndsAt)) {
				standing.Silence = &silence
			}
		}
		return standing, err
	})
}

// unheard reports whether a workspace has monitors, and no rule that reaches anyone.
func (c *session) unheard(workspaceID string) (bool, error) {
	monitors, err := database.One(c.Session, database.ScanInt,
		`SELECT count(*) FROM (SELECT 1 FROM monitors WHERE workspace_id = $1 LIMIT 1) AS one`, workspaceID)
	if err != nil || monitors == 0 {
		return false, err
	}
	rules, err := database.Query(c.Session, alertRules.table.scan,
		`SELECT `+alertRules.table.selected+` FROM alert_rules WHERE workspace_id = $1 AND enabled`, workspaceID)
	if err != nil {
		return false, err
	}
	working, err := c.ids(`SELECT id FROM alert_channels WHERE workspace_id = $1 AND deleted_at IS NULL AND enabled
		AND failing_since_at IS NULL`, workspaceID)
	return !slices.ContainsFunc(rules, func(r alert.Rule) bool { return r.Reaches(working) }), err
}

// activeSilences loads the silences of a workspace that hold alerts back now.
func (c *session) activeSilences(workspaceID string) ([]alert.Silence, error) {
	all, err := c.silencesAfter(workspaceID, c.Now)
	return slices.DeleteFunc(all, func(s alert.Silence) bool { return s.StartsAt.After(c.Now) }), err
}

// silencedUntil returns until when the alerts about outages of monitors are held back, by id. Monitors whose alerts are
// not held back are omitted.
func (c *session) silencedUntil(workspaceID string, ids []string) (map[string]time.Time, error) {
	silences, err := c.activeSilences(workspaceID)
	if err != nil || len(silences) == 0 {
		return nil, err
	}
	subjects, err := c.monitorSubjects(ids)
	until := make(map[string]time.Time)
	for id, s := range subjects {
		s.Event = alert.MonitorDown
		s.Severity = s.Event.Severity(s.Severity)
		if end := alert.SilencedUntil(silences, s, c.Now); !end.IsZero() {
			until[id] = end
		}
	}
	return until, err
}
