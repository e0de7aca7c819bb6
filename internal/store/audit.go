package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

const auditColumns = `id, workspace_id, happened_at, actor_kind, actor_id, actor_name, actor_address, action,
	object_kind, object_id, object_name, old_fields, new_fields`

// auditEntryColumns are the columns that scanAuditEntry reads.
const auditEntryColumns = auditColumns + `,
	coalesce((SELECT type FROM alert_channels WHERE object_kind = 'alert_channel'
	AND alert_channels.id = object_id), '')`

// scanAuditEntry reads an entry. It hides what became secret of channels, because replicas of an earlier version may
// have written it after migration 87.
func scanAuditEntry(row database.Row) (e kernel.AuditEntry, err error) {
	var before, after, channelType string
	err = row.Scan(&e.ID, &e.Actor.WorkspaceID, instant{&e.At}, &e.Actor.Kind, text{&e.Actor.ID}, &e.Actor.Name,
		text{&e.Actor.Address}, &e.Action, &e.Object.Kind, &e.Object.ID, &e.Object.Name, &before, &after,
		&channelType)
	if e.Object.Kind == kernel.ObjectAlertChannel {
		before, after = hideSecrets(channelType, before), hideSecrets(channelType, after)
	}
	e.Before, e.After = json.RawMessage(before), json.RawMessage(after)
	return
}

// audit writes the audit entry of a change. before is nil for a new object, after is nil
// for a deleted one. An update that changed nothing has no entry.
//
// The object is locked and before was read under that lock. So the last entry of the
// object is visible here, and the new one sorts after it and has no earlier time.
func (t *tx) audit(actor kernel.Actor, action kernel.AuditAction, before, after kernel.Auditable) error {
	e, ok := kernel.NewAuditEntry(actor, action, before, after)
	if !ok {
		return nil
	}
	last, err := database.One(t.Session, database.ScanString,
		`SELECT coalesce(max(id), '') FROM audit_entries WHERE workspace_id = $1`, actor.WorkspaceID)
	if err == nil {
		e.At, err = t.ReadClock() // Now is older if the transaction has waited for locks
	}
	if err != nil {
		return err
	}
	e.ID = kernel.NewIDAfter(last, kernel.PrefixAuditEntry, e.At)
	_, err = t.Exec(`INSERT INTO audit_entries (`+auditColumns+
		`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		e.ID, actor.WorkspaceID, millis(e.At), string(actor.Kind), nullIfEmpty(actor.ID), actor.Name,
		nullIfEmpty(actor.Address), string(e.Action), string(e.Object.Kind), e.Object.ID, e.Object.Name,
		string(e.Before), string(e.After))
	return err
}

// auditSubscriber is audit for a change by the subscriber.
func (t *tx) auditSubscriber(action kernel.AuditAction, before, after kernel.Auditable, sub audience.Subscriber) error {
	workspace, err := database.One(t.Session, database.ScanString, `SELECT workspace_id FROM pages WHERE id = $1`,
		sub.PageID)
	if err != nil {
		return err
	}
	return t.audit(kernel.Actor{Kind: kernel.ActorSubscriber, ID: sub.ID, WorkspaceID: workspace}, action, before,
		after)
}

// AuditLog returns the audit entries of the actor's workspace that match the filter, newest first: at most limit
// entries that are older than the entry with the id before, or the newest if before is "". more reports whether there
// are older ones.
func (s *Store) AuditLog(
	ctx context.Context, actor kernel.Actor, f kernel.AuditFilter, before string, limit int,
) (entries []kernel.AuditEntry, more bool, err error) {
	where, args := `workspace_id = $1`, []any{actor.WorkspaceID}
	and := func(condition string, value any) {
		args = append(args, value)
		where += fmt.Sprintf(` AND %s $%d`, condition, len(args))
	}
	for _, c := range []struct{ column, value string }{
		{`object_kind`, string(f.ObjectKind)}, {`object_id`, f.ObjectID}, {`actor_id`, f.ActorID},
		{`action`, string(f.Action)},
	} {
		if c.value != "" {
			and(c.column+` =`, c.value)
		}
	}
	if !f.Since.IsZero() {
		and(`happened_at >=`, millis(f.Since))
	}
	if !f.Until.IsZero() {
		and(`happened_at <`, millis(f.Until))
	}
	if before != "" {
		and(`id <`, before)
	}
	args = append(args, limit+1)
	entries, err = read(ctx, s, func(c *session) ([]kernel.AuditEntry, error) {
		return database.Query(c.Session, scanAuditEntry, `SELECT `+auditEntryColumns+` FROM audit_entries WHERE `+where+
			fmt.Sprintf(` ORDER BY id DESC LIMIT $%d`, len(args)), args...)
	})
	if len(entries) > limit {
		return entries[:limit], true, err
	}
	return entries, false, err
}

// pruneAuditLog deletes the audit entries that are older than the setting keeps them.
func (s *Store) pruneAuditLog(ctx context.Context) error {
	return s.deleteInSteps(ctx, `FROM audit_entries WHERE happened_at <= $1`, func(t *tx) any {
		return millis(t.Now.Add(-s.auditRetention))
	})
}
