package store

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/rights"
)

// OnCallSchedules lists the on-call schedules of a workspace, the oldest first.
func (s *Store) OnCallSchedules(ctx context.Context, actor allswell.Actor, r Pagination) ([]alert.OnCall, int, error) {
	if err := rights.OnCallRead.CheckLimit(actor); err != nil {
		return nil, 0, err
	}
	return listQuery[alert.OnCall]{
		scan: scanOnCall, columns: onCallColumns,
		from: `FROM on_call WHERE workspace_id = $1`, args: []any{actor.WorkspaceID}, order: `ORDER BY created_at, id`,
	}.load(ctx, s, r)
}

// OnCallSchedule returns an on-call schedule of a workspace, given its id or slug.
func (s *Store) OnCallSchedule(ctx context.Context, actor allswell.Actor, ref string) (alert.OnCall, error) {
	return read(ctx, s, func(c *session) (alert.OnCall, error) { return c.onCallSchedule(actor, ref) })
}

// OnCallCalendar returns the on-call schedule with a calendar key. It is for anyone who knows the key.
func (s *Store) OnCallCalendar(ctx context.Context, key string) (alert.OnCall, error) {
	return read(ctx, s, func(c *session) (alert.OnCall, error) {
		return database.One(c.Session, scanOnCall, `SELECT `+onCallColumns+` FROM on_call WHERE calendar_key = $1`, key)
	})
}

func (c *session) onCallSchedule(actor allswell.Actor, ref string) (alert.OnCall, error) {
	if err := rights.OnCallRead.CheckLimit(actor); err != nil {
		return alert.OnCall{}, err
	}
	return database.One(c.Session, scanOnCall, `SELECT `+onCallColumns+` FROM on_call WHERE workspace_id = $1 AND `+refColumn(ref)+` = $2`, actor.WorkspaceID, ref)
}

// CreateOnCall creates an on-call schedule.
func (s *Store) CreateOnCall(
	ctx context.Context, actor allswell.Actor, o alert.OnCall, save ...SaveResponse[alert.OnCall],
) (alert.OnCall, error) {
	o, err := writeAs(ctx, s, actor, func(t *tx) (alert.OnCall, error) {
		if err := rights.OnCallChange.CheckLimit(actor); err != nil {
			return o, err
		}
		if err := t.lockMutex(mutexAlerts); err != nil { // for validateOnCall
			return o, err
		}
		o.ID, o.WorkspaceID, o.CalendarKey, o.CreatedAt, o.UpdatedAt = allswell.NewID(alert.PrefixOnCall, t.Now), actor.WorkspaceID, rand.Text(), t.Now, t.Now
		if err := t.validateOnCall(&o, nil); err != nil {
			return o, err
		}
		if err := t.checkCount("on_call", o.WorkspaceID, "on-call schedules", alert.MaxOnCall); err != nil {
			return o, err
		}
		data, err := storedOnCall(o)
		if err != nil {
			return o, err
		}
		if _, err = t.Exec(`INSERT INTO on_call (id, workspace_id, slug, name, schedule, calendar_key, created_at, updated_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
			o.ID, o.WorkspaceID, o.Slug, o.Name, data, o.CalendarKey, millis(t.Now)); err != nil {
			return o, err
		}
		return o, t.audit(actor, allswell.AuditCreate, nil, o)
	}, save...)
	return o, err
}

// ChangeOnCall changes an on-call schedule, given its id or slug, with a function that gets the schedule as it is.
func (s *Store) ChangeOnCall(
	ctx context.Context, actor allswell.Actor, id string, p allswell.Precondition, change func(*alert.OnCall) error,
) (alert.OnCall, error) {
	o, err := writeAs(ctx, s, actor, func(t *tx) (alert.OnCall, error) {
		if err := t.lockMutex(mutexAlerts); err != nil { // for validateOnCall
			return alert.OnCall{}, err
		}
		before, err := t.lockOnCall(actor, id, p)
		if err != nil {
			return before, err
		}
		o := before
		if err := change(&o); err != nil {
			return o, err
		}
		o.UpdatedAt = t.Now
		if err := t.validateOnCall(&o, before.Overrides); err != nil {
			return o, err
		}
		data, err := storedOnCall(o)
		if err != nil {
			return o, err
		}
		if _, err = t.Exec(`UPDATE on_call SET name = $2, schedule = $3, updated_at = $4 WHERE id = $1`, o.ID, o.Name, data, millis(t.Now)); err != nil {
			return o, err
		}
		return o, t.audit(actor, allswell.AuditUpdate, before, o)
	})
	return o, err
}

// DeleteOnCall deletes an on-call schedule, given its id or slug. The error is an *allswell.ValidationError if a rule
// names it.
func (s *Store) DeleteOnCall(ctx context.Context, actor allswell.Actor, id string, p allswell.Precondition) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		if err := t.lockMutex(mutexAlerts); err != nil { // so that no rule names it meanwhile
			return err
		}
		o, err := t.lockOnCall(actor, id, p)
		if err != nil {
			return err
		}
		if err := t.checkUnused(o.WorkspaceID, o.ID); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM on_call WHERE id = $1`, o.ID); err != nil {
			return err
		}
		return t.audit(actor, allswell.AuditDelete, o, nil)
	})
}

// lockOnCall loads and locks an on-call schedule, and checks that it meets all conditions.
func (t *tx) lockOnCall(actor allswell.Actor, ref string, p allswell.Precondition) (alert.OnCall, error) {
	if err := rights.OnCallChange.CheckLimit(actor); err != nil {
		return alert.OnCall{}, err
	}
	o, err := database.One(t.Session, scanOnCall, `SELECT `+onCallColumns+` FROM on_call
			WHERE `+refColumn(ref)+` = $1 AND workspace_id = $2 FOR UPDATE`, ref, actor.WorkspaceID)
	if err != nil {
		return o, err
	}
	return o, p.Check(o)
}

// validateOnCall returns an *allswell.ValidationError with every invalid field. It gives a schedule without a slug one, and
// overrides without an id theirs. before are the overrides that the schedule already has. The mutex of the alerts must be
// held, so that no other schedule takes the name or the slug, and no channel is deleted meanwhile.
func (t *tx) validateOnCall(o *alert.OnCall, before []alert.Override) error {
	invalid := o.Validate(t.Now, before)
	for _, unique := range []struct{ column, value, message string }{
		{"name", o.Name, "Another on-call schedule has this name."}, {"slug", o.Slug, "The slug has already been taken."},
	} {
		others, err := t.ids(`SELECT id FROM on_call WHERE workspace_id = $1 AND `+unique.column+` = $2 AND id <> $3`, o.WorkspaceID, unique.value, o.ID)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			invalid = withField(invalid, unique.column, "%s", unique.message)
		}
	}
	if o.Slug == "" {
		slug, err := t.freeSlug(allswell.SlugOf(o.Name, "on-call"), `FROM on_call WHERE workspace_id = $1`, o.WorkspaceID)
		if err != nil {
			return err
		}
		o.Slug = slug
	}
	if !allswell.ValidSlug(o.Slug) {
		invalid = withField(invalid, "slug", "must have 1 to 63 characters: lower-case letters, digits and hyphens")
	}
	for i := range o.Overrides {
		if o.Overrides[i].ID == "" {
			o.Overrides[i].ID = allswell.NewID(alert.PrefixOverride, t.Now)
		}
	}
	for _, p := range o.Participants {
		missing, err := t.missingFrom(presentChannels, o.WorkspaceID, p.ChannelIDs)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			invalid = withField(invalid, "participants", "The participant %s has a channel that does not exist: %s.", p.Name, missing[0])
		}
	}
	return invalid
}

// storedOnCall returns what scanOnCall reads.
func storedOnCall(o alert.OnCall) (string, error) {
	data, err := json.Marshal(onCallJSON{o.Zone, o.HandOverDay, o.HandOverAt, o.StartsOn, o.Participants, o.Overrides})
	return string(data), err
}
