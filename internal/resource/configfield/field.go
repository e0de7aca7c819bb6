// Package configfield describes the fields of objects that have many types, such as checks and channels, and reads
// their values. API, forms and flags are derived from these descriptions.
package configfield

import (
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Kind is the kind of a field's values.
type Kind string

// The kinds.
const (
	KindText     Kind = "text"      // a JSON string of one line
	KindLongText Kind = "long_text" // a JSON string of several lines
	KindInteger  Kind = "integer"   // a JSON number
	KindFlag     Kind = "flag"      // true or false
	KindList     Kind = "list"      // a JSON array of strings of one line
	KindMap      Kind = "map"       // a JSON object of strings of one line
)

// Field describes a field. Flags and form fields are named after its key in JSON.
type Field struct {
	Name     string // such as "expected_statuses"
	Label    string // such as "Expected status codes"
	Help     string // one line
	Kind     Kind
	Secret   bool     // write-only
	Required bool     // clients must give it
	Advanced bool     // forms hide it in a section that can be opened
	Syntax   bool     // a text that may have control characters, as far as its syntax allows; Configured checks it
	Choices  []string // valid values of a text; nil: any
	Default  string   // as a text; "": none
	// the smallest and largest integer; Max is also the maximum length of texts, and of entries of lists and maps; 0:
	// see Limit
	Min, Max int
	Example  string
	NoHint   bool // forms do not show Help, which repeats the label
	Opposite bool // of a flag: the label asks for the opposite, so true is shown as no
}

// Limit returns the maximum length of a text or of an entry in characters, or the largest integer.
func (f Field) Limit() int {
	switch {
	case f.Max > 0:
		return f.Max
	case f.Kind == KindLongText:
		return maxLongText
	}
	return maxText
}

// Limits of the values of fields.
const (
	maxText     = 2_000  // characters of a text of one line
	maxLongText = 16_384 // characters of a text of several lines
	MaxEntries  = 50     // maximum number of entries of a list or a map
)

// Configured is a configuration: a struct with a field for each Field, under its JSON key.
type Configured interface {
	// Validate adds a problem for each invalid field, and sets defaults.
	Validate(bad *kernel.ValidationError)
}

// Find returns the field of a name.
func Find(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}
