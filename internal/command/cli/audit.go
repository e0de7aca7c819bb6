package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// AuditCommands are the commands of the audit log.
type AuditCommands struct {
	ClientSettings `embed:""`

	List auditList `cmd:"" help:"List changes and their authors, newest first."`
}

type auditList struct {
	Kind   string             `placeholder:"KIND" help:"Only changes of this kind of object, such as component, channel or incident_update."`
	Object string             `placeholder:"ID" help:"Only changes of the object with this id."`
	Actor  string             `placeholder:"ID" help:"Only changes by the token or subscriber with this id."`
	Action client.AuditAction `placeholder:"ACTION" help:"Only this action: create, update, delete, rotate, revoke, retry, confirm, resume, test or export."`
	Since  *timeinput.Moment  `placeholder:"TIME" help:"Only changes at or after this time, such as 2026-11-21T04:00:00Z or, in the time zone of this computer, 2026-11-21."`
	Until  *timeinput.Moment  `placeholder:"TIME" help:"Only changes before this time."`
	listing
}

func (cmd *auditList) Run(c *commandContext) error {
	filter := client.AuditFilter{
		ObjectKind: auditKind(cmd.Kind), ObjectID: cmd.Object, ActorID: cmd.Actor, Action: cmd.Action,
	}
	for _, limit := range []struct {
		given *timeinput.Moment
		at    *time.Time
	}{{cmd.Since, &filter.Since}, {cmd.Until, &filter.Until}} {
		if limit.given == nil {
			continue
		}
		var err error
		if *limit.at, err = limit.given.In(time.Local, time.Now()); err != nil {
			return &console.UsageError{Err: err}
		}
	}
	var entries []*client.AuditEntry
	for e, err := range c.api.ListAudit(c.Ctx, filter) {
		if err != nil {
			return err
		}
		if entries = append(entries, e); len(entries) >= int(cmd.Limit) {
			break
		}
	}
	header := []string{"TIME", "ACTOR", "ACTION", "OBJECT", "CHANGES"}
	return table(c, entries, len(entries), "No changes.", header, func(e *client.AuditEntry) []string {
		return []string{
			console.Time(e.At), auditActor(e.Actor), string(e.Action), auditObject(e.Object), auditChanges(e),
		}
	})
}

// auditKinds are the kinds of objects that have another name in the audit log than in commands.
var auditKinds = map[string]client.ObjectKind{
	"channel": client.ObjectAlertChannel, "rule": client.ObjectAlertRule, "oncall": client.ObjectOnCall,
	"schedule": client.ObjectOnCall,
}

// auditKind returns the kind of objects that is given by its name in the audit log, with hyphens or underscores, or in
// commands.
func auditKind(given string) client.ObjectKind {
	if kind, found := auditKinds[given]; found {
		return kind
	}
	return client.ObjectKind(strings.ReplaceAll(given, "-", "_"))
}

func auditActor(a client.AuditActor) string {
	name := string(a.Kind)
	actor := kernel.Actor{Kind: kernel.ActorKind(a.Kind), Name: optional.Value(a.Name)}
	if shown := actor.DisplayName(); shown != "" {
		name = shown
	}
	if a.Address != nil {
		name += " (" + *a.Address + ")"
	}
	return name
}

func auditObject(o client.AuditObject) string {
	if o.Name == nil {
		return string(o.Kind) + " " + o.ID
	}
	return string(o.Kind) + " " + *o.Name
}

// auditChanges returns the changed fields: "status: operational → degraded". For a new object, it returns the fields
// that it has besides its name: "interval: 300".
func auditChanges(e *client.AuditEntry) string {
	var before, after map[string]any
	if json.Unmarshal(e.Before, &before) != nil || json.Unmarshal(e.After, &after) != nil {
		return ""
	}
	var changes []string
	for _, field := range slices.Sorted(maps.Keys(after)) {
		if e.Action == client.AuditCreate {
			value := auditValue(after[field])
			if field != "name" && value != "none" && value != "false" && value != "[]" {
				changes = append(changes, field+": "+value)
			}
			continue
		}
		changes = append(changes,
			fmt.Sprintf("%s: %s → %s", field, auditValue(before[field]), auditValue(after[field])))
	}
	return strings.Join(changes, ", ")
}

func auditValue(v any) string {
	if v == nil || v == "" {
		return "none"
	}
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
