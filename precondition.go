package allswell

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Precondition is what a conditional request expects of the object that it replaces. The zero
// value expects nothing.
type Precondition struct {
	Tags   []string // one of these entity tags; nil: any
	Exists bool     // that the object exists
	New    bool     // that there is no such object
}

// Check returns ErrPreconditionFailed unless the object is what is expected. o is nil if there is
// none.
func (p Precondition) Check(o Auditable) error {
	switch {
	case o == nil && (p.Exists || p.Tags != nil), o != nil && p.New,
		o != nil && p.Tags != nil && !slices.Contains(p.Tags, EntityTag(o)):
		return ErrPreconditionFailed
	default:
		return nil
	}
}

// EntityTag returns the strong entity tag of an object, with its quotes. It changes with every
// field that a person configures, and not with a status, which changes by itself.
func EntityTag(o Auditable) string {
	object := o.AuditObject()
	fields := maps.Clone(object.Fields)
	delete(fields, "status")
	text, err := json.Marshal(struct {
		ID     string
		Fields map[string]any
	}{object.ID, fields})
	if err != nil {
		panic(err) // strings, numbers, booleans and lists of them always marshal
	}
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}
