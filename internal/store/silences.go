package store

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/rights"
)

// Silences lists the silences of a workspace that have not ended, or all that are kept if ended is true; the one that
// ends first comes first.
func (s *Store) Silences(ctx context.Context, actor allswell.Actor, ended bool, r Pagination) ([]alert.Silence, int, error) {
	if err := rights.SilenceRead.CheckLimit(actor); err != nil {
		return nil, 0, err
	}
	now, err := s.Clock(ctx)
	if err != nil {
		return nil, 0, err
	}
	return listQuery[alert.Silence]{
		scan: scanSilence, fill: (*session).describeSilences, columns: silenceColumns,
		from: `FROM silences WHERE workspace_id = $1 AND ($2 OR ends_at > $3)`,
		args: []any{actor.WorkspaceID, ended, millis(now)}, order: `ORDER BY ends_at, id`,
	}.load(ctx, s, r)
}

// Silence returns a silence of a workspace.
func (s *Store) Silence(ctx context.Context, actor allswell.Actor, id string) (alert.Silence, error) {
	return read(ctx, s, func(c *session) (alert.Silence, error) {
		if err := rights.SilenceRead.CheckLimit(actor); err != nil {
			return alert.Silence{}, err
		}
		v, err := database.One(c.Session, scanSilence, `SELECT `+silenceColumns+` FROM silences WHERE workspace_id = $1 AND id = $2`, actor.WorkspaceID, id)
		if err != nil {
			return v, err
		}
		return c.described(v)
	})
}

// described returns a silence with what it is about.
func (c *session) described(v alert.Silence) (alert.Silence, error) {
	one := []alert.Silence{v}
	err := c.describeSilences(one)
	return one[0], err
}

// describeSilences sets what silences of one workspace are about.
func (c *session) describeSilences(all []alert.Silence) error {
	if len(all) == 0 {
		return nil
	}
	var ids []string
	for _, v := range all {
		ids = append(append(ids, v.Pages...), v.Monitors...)
	}
	names, err := c.namesOf(all[0].WorkspaceID, ids, "pages", "monitors")
	for i := range all {
		all[i].About = all[i].Words(names)
	}
	return err
}

// CreateSilence creates a silence. A zero StartsAt is now.
func (s *Store) CreateSilence(
	ctx context.Context, actor allswell.Actor, v alert.Silence, save ...SaveResponse[alert.Silence],
) (alert.Silence, error) {
	return writeAs(ctx, s, actor, func(t *tx) (alert.Silence, error) {
		if err := rights.SilenceChange.CheckLimit(actor); err != nil {
			return v, err
		}
		v.ID, v.WorkspaceID, v.CreatedBy, v.CreatedAt, v.UpdatedAt = allswell.NewID(alert.PrefixSilence, t.Now), actor.WorkspaceID, actor.Name, t.Now, t.Now
		if v.StartsAt.IsZero() {
			v.StartsAt = t.Now
		}
		if err := t.validateSilence(&v, alert.Silence{}); err != nil {
			return v, err
		}
		n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM silences
				WHERE workspace_id = $1 AND ends_at > $2`, actor.WorkspaceID, millis(t.Now))
		if err == nil && n >= alert.MaxSilences {
			err = withField(nil, "ends_at", "A workspace can have no more than %d silences that have not ended.", alert.MaxSilences)
		}
		if err != nil {
			return v, err
		}
		filter, err := json.Marshal(v.Filter)
		if err != nil {
			return v, err
		}
		if _, err = t.Exec(`INSERT INTO silences (id, workspace_id, filter, comment, starts_at, ends_at, created_by, created_at, updated_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
			v.ID, v.WorkspaceID, string(filter), v.Comment, millis(v.StartsAt), millis(v.EndsAt), v.CreatedBy, millis(t.Now)); err != nil {
			return v, err
		}
		if err := t.audit(actor, allswell.AuditCreate, nil, v); err != nil {
			return v, err
		}
		return t.described(v)
	}, save...)
}

// ChangeSilence changes a silence, given its id, with a function that gets the silence as it is. The error is an
// *allswell.ValidationError if the silence has ended.
func (s *Store) ChangeSilence(
	ctx context.Context, actor allswell.Actor, id string, p allswell.Precondition, change func(*alert.Silence) error,
) (alert.Silence, error) {
	return writeAs(ctx, s, actor, func(t *tx) (alert.Silence, error) {
		before, err := t.lockSilence(actor, id, p)
		if err != nil {
			return before, err
		}
		if !before.EndsAt.After(t.Now) {
			return before, withField(nil, "ends_at", "The silence has ended. Create another one.")
		}
		v := before
		if err := change(&v); err != nil {
			return v, err
		}
		v.UpdatedAt = t.Now
		if err := t.validateSilence(&v, before); err != nil {
			return v, err
		}
		if err := t.saveSilence(actor, before, v); err != nil {
			return v, err
		}
		return t.described(v)
	})
}

// EndSilence ends a silence now. What it held back is sent, unless it is over by now. A silence that has ended stays as
// it is.
func (s *Store) EndSilence(ctx context.Context, actor allswell.Actor, id string, p allswell.Precondition) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		before, err := t.lockSilence(actor, id, p)
		if err != nil || !before.EndsAt.After(t.Now) {
			return err
		}
		v := before
		v.EndsAt, v.UpdatedAt = t.Now, t.Now
		if v.StartsAt.After(t.Now) {
			v.StartsAt = t.Now
		}
		return t.saveSilence(actor, before, v)
	})
}

// saveSilence saves a changed silence. What silences hold back then is held until they end as they are now: what none
// holds back any more is sent at once.
func (t *tx) saveSilence(actor allswell.Actor, before, v alert.Silence) error {
	filter, err := json.Marshal(v.Filter)
	if err != nil {
		return err
	}
	if _, err = t.Exec(`UPDATE silences SET filter = $2, comment = $3, starts_at = $4, ends_at = $5, updated_at = $6 WHERE id = $1`,
		v.ID, string(filter), v.Comment, millis(v.StartsAt), millis(v.EndsAt), millis(v.UpdatedAt)); err != nil {
		return err
	}
	if !v.StartsAt.Equal(before.StartsAt) || !v.EndsAt.Equal(before.EndsAt) || !reflect.DeepEqual(v.Filter, before.Filter) {
		if err := t.planSilenced(v.WorkspaceID); err != nil {
			return err
		}
	}
	return t.audit(actor, allswell.AuditUpdate, before, v)
}

// planSilenced plans when the rules look again at what the silences of a workspace hold back.
func (t *tx) planSilenced(workspaceID string) error {
	const held = `held = $2 AND due_at > $3`
	ids, err := t.ids(`SELECT id FROM alerts WHERE workspace_id = $1
		AND id IN (SELECT alert_id FROM alert_progress WHERE `+held+`)`, workspaceID, string(alert.HeldBySilence), millis(t.Now))
	if err != nil || len(ids) == 0 {
		return err
	}
	alerts, err := t.alertsByID(ids)
	if err != nil {
		return err
	}
	silences, err := t.silencesAfter(workspaceID, t.Now)
	if err != nil {
		return err
	}
	until := make(map[int64][]string) // the alerts by when they are held no more, in milliseconds
	for _, id := range ids {
		end := allswell.Later(alert.SilencedUntil(silences, alerts[id].Subject, t.Now), t.Now).UnixMilli()
		until[end] = append(until[end], id)
	}
	for end, ids := range until {
		if _, err := t.Exec(`UPDATE alert_holds SET until_at = $4 WHERE alert_id IN EACH($1) AND reason = $2
				AND until_at > $3`, list(ids), string(alert.HeldBySilence), millis(t.Now), end); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE alert_progress SET due_at = $4
				WHERE alert_id IN EACH($1) AND `+held, list(ids), string(alert.HeldBySilence), millis(t.Now), end); err != nil {
			return err
		}
	}
	t.alertsPending = true
	return nil
}

// lockSilence loads and locks a silence, and checks that it meets all conditions.
func (t *tx) lockSilence(actor allswell.Actor, id string, p allswell.Precondition) (alert.Silence, error) {
	if err := rights.SilenceChange.CheckLimit(actor); err != nil {
		return alert.Silence{}, err
	}
	if err := t.lockMutex(mutexAlerts); err != nil {
		return alert.Silence{}, err
	}
	v, err := database.One(t.Session, scanSilence, `SELECT `+silenceColumns+` FROM silences WHERE id = $1 AND workspace_id = $2 FOR UPDATE`, id, actor.WorkspaceID)
	if err != nil {
		return v, err
	}
	return v, p.Check(v)
}

// validateSilence returns an *allswell.ValidationError with every invalid field; see alert.Silence.Validate. It
// replaces slugs of pages and monitors by their ids, and the line breaks that browsers send.
func (t *tx) validateSilence(v *alert.Silence, saved alert.Silence) error {
	if v.Comment != saved.Comment {
		v.Comment = strings.ReplaceAll(v.Comment, "\r\n", "\n")
	}
	invalid := v.Validate(saved, t.Now)
	if err := t.resolveFilter(v.WorkspaceID, &v.Filter, &invalid); err != nil {
		return err
	}
	return invalid
}
