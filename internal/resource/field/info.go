package field

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/resource/configfield"
)

// Kind is how the values of a field are written.
type Kind string

// The kinds.
const (
	KindID   Kind = "id"   // a string that the service gives
	KindLine Kind = "line" // a string of one line, in which no character disrupts the text around it
	// a string with line breaks and tabs, in which no other character disrupts the text around it
	KindLines    Kind = "lines"
	KindText     Kind = "text"     // a string
	KindMarkdown Kind = "markdown" // a string with lines of Markdown
	KindChoice   Kind = "choice"   // one of some strings
	KindTime     Kind = "time"     // a string by RFC 3339, or null
	KindInteger  Kind = "integer"  // a whole number
	KindDuration Kind = "duration" // a whole number of seconds
	KindBool     Kind = "bool"     // true or false
	KindDate     Kind = "date"     // a day, such as 2026-11-21
	KindClock    Kind = "clock"    // a time of day, such as 22:00

	KindSlug      Kind = "slug"      // the slug of the object
	KindReference Kind = "reference" // the slug of another object
	// a list of ids or slugs of components, shown as objects with their ids and names
	KindComponents Kind = "components"
	KindObjects    Kind = "objects" // a list of objects of another resource

	KindTexts      Kind = "texts"      // a list of strings
	KindChoices    Kind = "choices"    // a list of some strings
	KindReferences Kind = "references" // a list of ids or slugs of other objects, shown as ids
	KindPart       Kind = "part"       // an object without an id, or null
	KindParts      Kind = "parts"      // a list of objects without ids
	KindConfig     Kind = "config"     // the fields of the type of an object, which stand beside the others
	KindDecimal    Kind = "decimal"    // a number of seconds with decimals
	KindOwn        Kind = "own"        // a value whose schemas, and whose type in the client, are written by hand
)

// Request is a kind of request.
type Request string

// The kinds of requests.
const (
	Creation    Request = "creation"    // creates an object
	Changing    Request = "change"      // changes some fields of one
	Replacement Request = "replacement" // replaces one as a whole
)

// Info is the description of a field for documents, forms and flags.
type Info struct {
	Name        string // the key in JSON
	Kind        Kind
	Type        reflect.Type // of the values in Go
	Doc         string       // what it is, without a full stop
	Empty       string       // what a missing value means, such as "until it is deleted"; "": nothing special
	Label       string       // in forms
	Hint        string       // below the input of forms
	Placeholder string       // in the empty input of forms
	Options     []Option     // the values of a choice
	Default     string       // of a choice, or of a value whose zero can be meant; "": none
	Max         int          // the maximum length of a text in characters
	Pattern     string       // a regular expression that texts match; "": none is known
	Suggested   []string     // some values of a text that commands suggest
	Least, Most int          // of an integer
	None        string       // the label of no value in forms with options
	Required    bool         // it must have a value: a text one with a visible character
	Nullable    bool         // null removes the value
	Emptied     bool         // null in a request empties the list
	ReadOnly    bool         // only the service sets it
	Audited     bool         // the audit log records it although it is read-only, if it has a value
	Kept        bool         // a request that replaces an object, and does not give the field, keeps its value
	DefaultHand bool         // Resource.ReadHand sets the default, which depends on other fields
	Only        []Request    // the kinds of requests that can give it; nil: all
	WriteOnly   bool         // it is in requests, and not in responses
	NotEmpty    bool         // of a text that may be missing: if it is given, it has a visible character
	Detail      bool         // lists of objects do not show it
	Once        bool         // it is a secret, which only the response to the request that makes it shows
	Prefix      string       // of ids
	// the type of objects, such as "MaintenanceUpdate", or what references refer to, such as "monitor"
	Of         string
	Part       *Description // of an object within the object
	Items      int          // the maximum length of a list; 0: any
	Longest    time.Duration
	Shortest   time.Duration // of a duration that is not 0
	Schema     string        // of the values of a choice in the document
	SentSchema string        // of KindOwn in requests
	Client     string        // the type of KindOwn in the client, or of the fields of KindConfig
	ByHand     bool          // Resource.ReadHand reads it from requests
	OfSome     bool          // not all objects have it
	Plain      bool          // the client has the zero value in place of null
	NullColumn bool          // the zero value is NULL in the column
	Typed      bool          // forms have the duration as a text with units
	Within     Embedded      // the type of the client that has the field; zero: the resource itself
	// the column with a JSON object that has the field; "": it has a column of its own, or none
	Packed string
	Config []configfield.Shared // the fields of all types

	column, flag, noFlag string
}

// Embedded is a type of the client for fields that several resources have.
type Embedded struct{ Name, Doc string }

// Option is a value of a choice, and its label in forms.
type Option struct{ Value, Label string }

// In reports whether a kind of request can give the field.
func (i Info) In(r Request) bool {
	return !i.ReadOnly && (i.Only == nil || slices.Contains(i.Only, r))
}

// NullEmpties reports whether null in a request empties the list. In others it is a field that is not given.
func (i Info) NullEmpties() bool { return i.Kind == KindParts || i.Emptied }

// IsPointer reports whether a missing value is a nil pointer, so that the empty text is a value.
func (i Info) IsPointer() bool { return i.Type.Kind() == reflect.Pointer }

// Column returns the name of the field's column: the field's name, for times with the ending _at, and for durations
// with the ending _ms. It is "" for a field without one.
func (i Info) Column() string {
	switch {
	case i.column == "-", i.Packed != "":
		return ""
	case i.column != "":
		return i.column
	case i.Kind == KindTime && !strings.HasSuffix(i.Name, "_at"):
		return i.Name + "_at"
	case i.Kind == KindDuration:
		return i.Name + "_ms"
	}
	return i.Name
}

// FlagName returns the name of the field's flag.
func (i Info) FlagName() string { return strings.ReplaceAll(cmp.Or(i.flag, i.Name), "_", "-") }

// NoFlagName returns the name of the flag that removes the value.
func (i Info) NoFlagName() string { return cmp.Or(i.noFlag, "no-"+i.FlagName()) }

// isOptionalNumber reports whether the values are numbers, and 0 stands for null.
func (i Info) isOptionalNumber() bool {
	return i.Nullable && (i.Kind == KindInteger || i.Kind == KindDuration || i.Kind == KindDecimal)
}

// Missing is the JSON value of a missing field.
type Missing int

// The values that stand for missing ones.
const (
	MissingEmpty Missing = iota // an empty text or list
	MissingNull                 // null
	MissingZero                 // 0
	// none: an object always has a value, unless the request that creates it does not give one
	MissingAbsent
)

// Missing returns the JSON value of the field if it is missing.
func (i Info) Missing() Missing {
	switch {
	case i.Kind == KindInteger && !i.Nullable, i.Kind == KindSlug, i.Kept && i.Kind == KindChoice:
		return MissingAbsent
	case i.Kind == KindTime, i.Nullable:
		return MissingNull
	case i.Kind == KindDuration:
		return MissingZero
	}
	return MissingEmpty
}

// ZeroIsGiven reports whether a request can give the zero value of the Go type, so that a missing value is a nil
// pointer.
func (i Info) ZeroIsGiven() bool {
	switch i.Kind {
	case KindTime, KindInteger, KindBool, KindPart, KindOwn, KindDecimal:
		return true
	case KindDuration:
		return i.Default != "" || i.Kept || i.DefaultHand
	case KindSlug:
		return false
	}
	return i.IsPointer() || i.Kept || i.DefaultHand
}
