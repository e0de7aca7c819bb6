package api

import (
	"encoding/json"
	"net/http"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var auditRoutes = []route{
	{"GET", "/api/v1/audit", rights.AuditRead, (*api).listAudit, operation{
		id:      "listAudit",
		summary: "List changes and their authors, newest first.",
		text: "One entry for each change of an object by an actor, with the fields that changed, without secrets " +
			"and subscribers' addresses. Pings, and what monitors and schedules change by themselves, have no " +
			"entries, nor has what a deleted object contained. The actor `system` is a command on the database, or " +
			"a setting. Send `next_cursor` as `cursor`, with the same filters, for the older entries.",
		query: []parameter{
			{name: "kind", schema: ref("ObjectKind"), text: "Only changes of this kind of object."},
			{name: "object", schema: anyText, text: "Only changes of the object with this id."},
			{name: "actor", schema: anyText, text: "Only changes by the token or subscriber with this id."},
			{name: "action", schema: ref("AuditAction")},
			{name: "since", schema: dateTime, text: "Only changes at or after this time."},
			{name: "until", schema: dateTime, text: "Only changes before this time."},
		},
		returns: part("AuditEntry", "log", "^aud_[0-9a-v]{20}$"),
	}},
}

type auditEntryJSON struct {
	ID     string             `json:"id"`
	At     string             `json:"at"`
	Actor  auditActorJSON     `json:"actor"`
	Action kernel.AuditAction `json:"action"`
	Object auditObjectJSON    `json:"object"`
	Before json.RawMessage    `json:"before"`
	After  json.RawMessage    `json:"after"`
}

type auditActorJSON struct {
	Kind    kernel.ActorKind `json:"kind"`
	ID      *string          `json:"id"`
	Name    *string          `json:"name"`
	Address *string          `json:"address"`
}

type auditObjectJSON struct {
	Kind kernel.ObjectKind `json:"kind"`
	ID   string            `json:"id"`
	Name *string           `json:"name"`
}

func newAuditEntryJSON(e kernel.AuditEntry) auditEntryJSON {
	return auditEntryJSON{
		ID: e.ID, At: kernel.FormatTime(e.At), Action: e.Action, Before: e.Before, After: e.After,
		Actor: auditActorJSON{
			Kind: e.Actor.Kind, ID: optional.Ptr(e.Actor.ID), Name: optional.Ptr(e.Actor.Name),
			Address: optional.Ptr(e.Actor.Address),
		},
		Object: auditObjectJSON{Kind: e.Object.Kind, ID: e.Object.ID, Name: optional.Ptr(e.Object.Name)},
	}
}

// cursorMetaJSON has the cursor of the next page of a list.
type cursorMetaJSON struct {
	NextCursor *string `json:"next_cursor"` // null: this is the last page
}

// readCursor reads ?cursor, the id of an audit entry. The entry may have been deleted since.
func readCursor(q *web.Query) string {
	cursor := q.Text("cursor")
	if cursor != "" && !kernel.ValidID(kernel.PrefixAuditEntry, cursor) {
		q.Add("cursor", "must be the next_cursor of an earlier response")
	}
	return cursor
}

// listAudit lists the audit entries of the workspace, newest first. The cursor is
// the id of the last entry that the caller has read.
func (a *api) listAudit(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := kernel.AuditFilter{
		ObjectKind: web.Choice(q, "kind", kernel.ObjectKinds),
		ObjectID:   q.Text("object"),
		ActorID:    q.Text("actor"),
		Action:     web.Choice(q, "action", kernel.AuditActions),
		Since:      q.Time("since"),
		Until:      q.Time("until"),
	}
	limit := q.Integer("limit", defaultPerPage, 1, maxPerPage)
	cursor := readCursor(q)
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	entries, more, err := a.store.AuditLog(c.Context(), c.actor(), f, cursor, limit)
	if err != nil {
		return store.Response{}, err
	}
	next := ""
	if more {
		next = entries[len(entries)-1].ID
	}
	return cursorResponse(entries, newAuditEntryJSON, next)
}

// cursorResponse returns a response with a part of a list. next is the cursor of the next part; "": this is the last
// part.
func cursorResponse[T, J any](items []T, resourceOf func(T) J, next string) (store.Response, error) {
	data := make([]J, len(items))
	for i, item := range items {
		data[i] = resourceOf(item)
	}
	body, err := jsonobject.Marshal(struct {
		Data []J            `json:"data"`
		Meta cursorMetaJSON `json:"meta"`
	}{data, cursorMetaJSON{optional.Ptr(next)}})
	return store.Response{Status: http.StatusOK, Body: body}, err
}
