package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// AuditEntry is one change of one object, and who made it.
type AuditEntry struct {
	Meta
	ID     string          `json:"id"`
	At     time.Time       `json:"at"`
	Actor  AuditActor      `json:"actor"`
	Action AuditAction     `json:"action"`
	Object AuditObject     `json:"object"`
	Before json.RawMessage `json:"before"` // the changed fields before; {} for a new object
	After  json.RawMessage `json:"after"`  // the changed fields afterwards; {} for a deleted object
}

// AuditActor is who made a change.
type AuditActor struct {
	Kind ActorKind `json:"kind"`
	ID   *string   `json:"id"` // of the token, the user or the subscriber
	// of the token, the user or the command; for ActorLink, the name that the person typed, or the name or e-mail
	// address of the person; for ActorSlack, the name in Slack
	Name    *string `json:"name"`
	Address *string `json:"address"` // IP address of the client
}

// AuditObject is an object that was changed. It may be gone.
type AuditObject struct {
	Kind ObjectKind `json:"kind"`
	ID   string     `json:"id"`
	Name *string    `json:"name"` // at that time
}

// AuditFilter limits a list of audit entries. Empty fields do not limit it.
type AuditFilter struct {
	ObjectKind ObjectKind
	ObjectID   string
	ActorID    string
	Action     AuditAction
	Since      time.Time // inclusive
	Until      time.Time // exclusive
}

// ListAudit returns an iterator over the audit log of the workspace, newest entries first. It needs an admin token. It
// asks the server for 100 entries at a time, when they are needed. After an error the iteration ends.
func (c *Client) ListAudit(ctx context.Context, filter AuditFilter) iter.Seq2[*AuditEntry, error] {
	return listByCursor[AuditEntry](ctx, c, pathOf("audit"), auditQuery(filter))
}

// timeFormat is the format of times in the API.
const timeFormat = "2006-01-02T15:04:05.000Z"

func auditQuery(f AuditFilter) url.Values {
	query := url.Values{"limit": {strconv.Itoa(maxPerPage)}}
	for name, value := range map[string]string{
		"kind": string(f.ObjectKind), "object": f.ObjectID, "actor": f.ActorID, "action": string(f.Action),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if !f.Since.IsZero() {
		query.Set("since", f.Since.UTC().Format(timeFormat))
	}
	if !f.Until.IsZero() {
		query.Set("until", f.Until.UTC().Format(timeFormat))
	}
	return query
}
