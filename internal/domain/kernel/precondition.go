package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Precondition is the condition that the object of a request must meet. Every object meets the zero Precondition.
type Precondition struct {
	Tags   []string // the object has one of these entity tags; nil: any
	Exists bool     // the object exists
	New    bool     // the object does not exist
}

// Check returns ErrPreconditionFailed unless o meets the condition. o is nil if the object does not exist.
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
// field that people configure and with the versions of its secrets, but not with a status, which
// can change without them. Nothing of a secret goes into it.
func EntityTag(o Auditable) string {
	object := o.AuditObject()
	fields := maps.Clone(object.Fields)
	delete(fields, "status")
	text, err := json.Marshal(struct {
		ID      string
		Fields  map[string]any
		Secrets SecretVersions `json:",omitempty"`
	}{object.ID, fields, object.Secrets})
	if err != nil {
		panic(err) // strings, numbers, booleans and lists of them always marshal
	}
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}
