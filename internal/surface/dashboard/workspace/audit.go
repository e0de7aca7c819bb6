package workspace

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// auditScreen is the data of the template audit.
type auditScreen struct {
	*frame.Form
	Fields               []frame.Field
	Chosen               []chosenFilter // filters that links have set
	Entries              []auditRow
	Newest, Older, Query string // URLs, "": none; the filters as a query
}

// chosenFilter is a filter by an object or an actor.
type chosenFilter struct{ Name, Value, Label, Without string }

// auditRow is an entry as the list shows it.
type auditRow struct {
	kernel.AuditEntry
	Who, Did, Kind        string
	Changes               []auditChange
	OnlyObject, OnlyActor string // URLs of the list with a filter
}

// auditChange is a field before and after.
type auditChange struct{ Field, Before, After string }

// auditQuery are the names of the filters, as in the API.
var auditQuery = []string{"kind", "action", "since", "until", "object", "actor"}

// readAuditFilter returns the filter of a form. Since and until are days in UTC; until is included.
func readAuditFilter(f *frame.Form) (kernel.AuditFilter, error) {
	var bad kernel.ValidationError
	day := func(name string) time.Time {
		text := f.Value(name)
		t, err := time.Parse(time.DateOnly, text)
		if text != "" && (err != nil || t.Year() < 2000) {
			bad.Add(name, "field must be a day, such as 2026-11-24")
		}
		return t
	}
	filter := kernel.AuditFilter{
		ObjectKind: kernel.ObjectKind(f.Value("kind")), Action: kernel.AuditAction(f.Value("action")),
		ObjectID: f.Value("object"), ActorID: f.Value("actor"), Since: day("since"), Until: day("until"),
	}
	if !filter.Until.IsZero() {
		filter.Until = filter.Until.AddDate(0, 0, 1)
	}
	return filter, bad.Err()
}

// showAudit lists the changes in the workspace, newest first.
func (r *request) showAudit() error {
	const path = frame.Path + "/audit"
	f := frame.NewForm(r.URL.Query())
	query := frame.Filter(f, auditQuery...)
	s := auditScreen{Form: f, Query: query.Encode()}
	filter, err := readAuditFilter(f)
	status := http.StatusOK
	if f.Refused(err) {
		status = http.StatusUnprocessableEntity
	}
	s.Fields = []frame.Field{
		f.Draw(frame.Field{Name: "kind", Label: "Object", Type: "select", Options: choices("All", kernel.ObjectKinds)}),
		f.Draw(frame.Field{
			Name: "action", Label: "Action", Type: "select", Options: choices("All", kernel.AuditActions),
		}),
		f.Draw(frame.Field{Name: "since", Label: "From", Type: "date", Bare: true}),
		f.Draw(frame.Field{Name: "until", Label: "Until", Type: "date", Bare: true}),
	}
	for _, c := range []chosenFilter{
		{Name: "object", Label: "Changes of one object"}, {Name: "actor", Label: "Changes by one person or token"},
	} {
		if c.Value = query.Get(c.Name); c.Value != "" {
			c.Without = frame.PathWith(path, query, c.Name, "")
			s.Chosen = append(s.Chosen, c)
		}
	}
	if err != nil {
		return r.Show(status, "audit", "Audit log", s)
	}
	before := f.Value("before")
	if before != "" && !kernel.ValidID(kernel.PrefixAuditEntry, before) {
		return kernel.ErrNotFound
	}
	entries, more, err := r.Store.AuditLog(r.Context(), r.Actor(), filter, before, frame.PerPage)
	if err != nil {
		return err
	}
	for _, e := range entries {
		row := auditRow{
			AuditEntry: e, Who: actorName(e.Actor), Did: auditVerb(e), Kind: spaced(e.Object.Kind),
			Changes: changesOf(e),
		}
		row.OnlyObject = frame.PathWith(path, query, "object", e.Object.ID)
		if e.Actor.ID != "" {
			row.OnlyActor = frame.PathWith(path, query, "actor", e.Actor.ID)
		}
		s.Entries = append(s.Entries, row)
	}
	if before != "" {
		s.Newest = path + "?" + s.Query
	}
	if more {
		s.Older = frame.PathWith(path, query, "before", entries[len(entries)-1].ID)
	}
	return r.Show(status, "audit", "Audit log", s)
}

// choices returns the options of a select for one of some values, or for none.
func choices[T ~string](none string, values []T) []frame.Option {
	options := []frame.Option{{Label: none}}
	for _, value := range values {
		options = append(options, frame.Option{Value: string(value), Label: spaced(value)})
	}
	return options
}

func spaced[T ~string](name T) string { return strings.ReplaceAll(string(name), "_", " ") }

// actorName returns the name of the author of a change.
func actorName(a kernel.Actor) string {
	switch {
	case a.Kind == kernel.ActorSubscriber:
		return "A subscriber"
	case a.Kind == kernel.ActorToken:
		return "The token “" + a.Name + "”"
	case a.DisplayName() == "":
		return "Allswell"
	}
	return a.DisplayName()
}

// auditVerb returns the action of an entry as a verb in the past.
func auditVerb(e kernel.AuditEntry) string {
	switch {
	case e.Action == kernel.AuditRotate && e.Object.Kind == kernel.ObjectUser:
		return "set the password of"
	case e.Action == kernel.AuditDelete && e.Object.Kind == kernel.ObjectSession:
		return "ended"
	case e.Object.Kind == kernel.ObjectSession:
		return "began"
	}
	words := map[kernel.AuditAction]string{
		kernel.AuditCreate: "created", kernel.AuditUpdate: "changed", kernel.AuditDelete: "deleted",
		kernel.AuditRotate: "renewed the secret of", kernel.AuditRevoke: "revoked", kernel.AuditRetry: "sent again",
		kernel.AuditConfirm: "confirmed", kernel.AuditResume: "resumed", kernel.AuditTest: "sent a test message to",
		kernel.AuditExport: "downloaded", kernel.AuditImport: "imported subscribers of",
		kernel.AuditAcknowledge: "acknowledged",
	}
	if word, ok := words[e.Action]; ok {
		return word
	}
	return spaced(e.Action)
}

// changesOf returns the fields that an entry changed, by name.
func changesOf(e kernel.AuditEntry) []auditChange {
	read := func(text json.RawMessage) (fields map[string]json.RawMessage) {
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil
		}
		return fields
	}
	before, after := read(e.Before), read(e.After)
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	var changes []auditChange
	for _, name := range slices.Compact(names) {
		changes = append(changes, auditChange{spaced(name), plainJSON(before[name]), plainJSON(after[name])})
	}
	return changes
}

// plainJSON returns a JSON value for people: a string without quotes, and "" for null.
func plainJSON(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil { // null, too
		return text
	}
	return string(value)
}

// exportAudit answers with all entries that match the filters as CSV, newest first.
func (r *request) exportAudit() error {
	filter, err := readAuditFilter(frame.NewForm(r.URL.Query()))
	if err != nil {
		return kernel.ErrNotFound
	}
	return frame.SendCSV(r.Request, frame.CSVExport[kernel.AuditEntry]{
		Name: "the audit log", File: "audit.csv",
		Header: []string{
			"id", "at", "actor_kind", "actor_id", "actor_name", "actor_address", "action", "object_kind", "object_id",
			"object_name", "before", "after",
		},
		Row: func(e kernel.AuditEntry) []string {
			return []string{
				e.ID, kernel.FormatTime(e.At), string(e.Actor.Kind), e.Actor.ID, e.Actor.Name, e.Actor.Address,
				string(e.Action), string(e.Object.Kind), e.Object.ID, e.Object.Name, string(e.Before), string(e.After),
			}
		},
		ID: func(e kernel.AuditEntry) string { return e.ID },
		Read: func(before string) ([]kernel.AuditEntry, bool, error) {
			return r.Store.AuditLog(r.Context(), r.Actor(), filter, before, frame.ExportStep)
		},
	})
}
