package store

import (
	"reflect"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store/database"
)

var silencesTable = newTable("silences", resource.Silence,
	column[alert.Silence]{name: "workspace_id", at: func(v *alert.Silence) any { return &v.WorkspaceID }, fixed: true})

var silences = collection[alert.Silence]{
	table: silencesTable, prefix: alert.PrefixSilence, order: `ORDER BY ends_at, id`,
	parent: workspaceParent("silences", "", rights.SilenceRead, rights.SilenceChange, func(v *alert.Silence) *string {
		return &v.WorkspaceID
	}),
	begin: (*tx).beginSilence, resolve: (*tx).resolveSilence, allow: (*tx).allowSilence,
	describe: (*session).describeSilences, saved: (*tx).silenceSaved, end: (*tx).endSilence,
}

// Silences returns the silences of workspaces. Lists begin with the silence that ends first. A silence that is deleted
// ends now: what it held back is sent, unless it is over by now. It is kept, and a silence that has ended is not
// changed.
func (s *Store) Silences() Collection[alert.Silence] {
	return Collection[alert.Silence]{s: s, collection: silences}
}

// beginSilence notes who creates a silence.
func (t *tx) beginSilence(actor kernel.Actor, v *alert.Silence) error {
	v.CreatedBy = actor.Name
	return nil
}

// resolveSilence replaces slugs of pages and monitors by their ids.
func (t *tx) resolveSilence(_ kernel.Actor, before, v *alert.Silence) (invalid error) {
	if err := t.resolveFilter(v.WorkspaceID, before.Filter, &v.Filter, &invalid); err != nil {
		return err
	}
	return invalid
}

// allowSilence limits how many silences of a workspace have not ended.
func (t *tx) allowSilence(actor kernel.Actor, before, _ *alert.Silence) error {
	if before != nil {
		return nil
	}
	n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM silences
			WHERE workspace_id = $1 AND ends_at > $2`, actor.WorkspaceID, millis(t.Now))
	if err == nil && n >= alert.MaxSilences {
		err = withField(nil, "ends_at", "A workspace can have no more than %d silences that have not ended.",
			alert.MaxSilences)
	}
	return err
}

// describeSilences sets what silences of one workspace are about.
func (c *session) describeSilences(all []alert.Silence) error {
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

// endSilence ends a silence now.
func (t *tx) endSilence(actor kernel.Actor, v alert.Silence) error {
	if !v.EndsAt.After(t.Now) {
		return nil
	}
	before := v
	v.EndsAt, v.UpdatedAt = t.Now, t.Now
	if v.StartsAt.After(t.Now) {
		v.StartsAt = t.Now
	}
	err := silencesTable.update(t, &v)
	if err == nil {
		err = t.silenceSaved(&before, v)
	}
	if err == nil {
		err = t.audit(actor, kernel.AuditUpdate, resource.Silence.Audited(before), resource.Silence.Audited(v))
	}
	return err
}

// silenceSaved plans how long alerts are held back by the silences that exist now. What none holds back any more is
// sent immediately.
func (t *tx) silenceSaved(before *alert.Silence, v alert.Silence) error {
	if before == nil ||
		v.StartsAt.Equal(before.StartsAt) && v.EndsAt.Equal(before.EndsAt) &&
			reflect.DeepEqual(v.Filter, before.Filter) {
		return nil
	}
	return t.planSilenced(v.WorkspaceID)
}

// planSilenced plans when the rules look again at what the silences of a workspace hold back.
func (t *tx) planSilenced(workspaceID string) error {
	const held = `held = $2 AND due_at > $3`
	ids, err := t.ids(`SELECT id FROM alerts WHERE workspace_id = $1
		AND id IN (SELECT alert_id FROM alert_progress WHERE `+held+`)`, workspaceID, string(alert.HeldBySilence),
		millis(t.Now))
	if err != nil || len(ids) == 0 {
		return err
	}
	alerts, err := t.alertsByID(ids)
	if err != nil {
		return err
	}
	lasting, err := t.silencesAfter(workspaceID, t.Now)
	if err != nil {
		return err
	}
	until := make(map[int64][]string) // the alerts by the time until which they are held, in milliseconds
	for _, id := range ids {
		end := kernel.Later(alert.SilencedUntil(lasting, alerts[id].Subject, t.Now), t.Now).UnixMilli()
		until[end] = append(until[end], id)
	}
	for end, ids := range until {
		_, err := t.Exec(`UPDATE alert_holds SET until_at = $4 WHERE alert_id IN EACH($1) AND reason = $2
				AND until_at > $3`, list(ids), string(alert.HeldBySilence), millis(t.Now), end)
		if err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE alert_progress SET due_at = $4
				WHERE alert_id IN EACH($1) AND `+held, list(ids), string(alert.HeldBySilence), millis(t.Now), end)
		if err != nil {
			return err
		}
	}
	t.signal(effectAlertsPending)
	return nil
}
