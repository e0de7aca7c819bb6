// Package jsonobject reads JSON objects strictly and within limits, and reports all errors together; and it writes
// JSON.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Limits of a body, so that reading one does not cost much more than sending it.
const (
	MaxDepth  = 32     // levels of objects and arrays within each other, the outermost included
	MaxFields = 20_000 // of all objects together, duplicates included
)

// BodyField is the field name for errors of the body as a whole.
const BodyField = "body"

// Object is a JSON object that a client has sent. Its accessors collect errors, so that Check can return all of them
// together. A field is absent, null or given; accessors treat null as absent unless their documentation says otherwise.
// Fields that no accessor reads are unknown: see Check and Unknown. Names are case-sensitive.
type Object struct {
	fields   map[string]json.RawMessage
	prefix   string                  // of field names in errors
	bad      *kernel.ValidationError // the outermost object's
	known    map[string]bool         // fields that accessors have asked for
	children []*Object
	lenient  bool            // see AllowUnknown
	readOnly map[string]bool // see AllowReadOnly
}

// Parse parses a body that must be one JSON object (RFC 8259) in UTF-8. It returns a *kernel.ValidationError
// if the body is malformed, nested deeper than MaxDepth or has more than MaxFields fields. A duplicate name is an error
// that Check returns, because parsers disagree about which value counts.
func Parse(body []byte) (*Object, error) {
	depth, fields := measure(body)
	switch {
	case len(bytes.TrimLeft(body, " \t\r\n")) == 0:
		return nil, invalid(BodyField, "The body must be a JSON object; it is empty.")
	case !utf8.Valid(body):
		return nil, invalid(BodyField, "The body must be valid UTF-8.")
	case depth > MaxDepth:
		return nil, invalid(BodyField, "The body may not be nested deeper than %d levels.", MaxDepth)
	case !json.Valid(body):
		return nil, invalid(BodyField, "The body must be valid JSON, one object and nothing after it.")
	case fields > MaxFields:
		return nil, invalid(BodyField, "The body may not have more than %d fields.", MaxFields)
	}
	if body = bytes.TrimLeft(body, " \t\r\n"); body[0] != '{' {
		return nil, invalid(BodyField, "The body must be a JSON object.")
	}
	return readObject(body, "", new(kernel.ValidationError))
}

// readObject reads a valid JSON object.
func readObject(raw json.RawMessage, prefix string, bad *kernel.ValidationError) (*Object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("parsing a valid JSON object: %v, %w", open, err)
	}
	o := &Object{fields: make(map[string]json.RawMessage), prefix: prefix, bad: bad, known: make(map[string]bool)}
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("parsing the name of a member of a valid JSON object: %v, %w", token, err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("parsing the value of a member of a valid JSON object: %w", err)
		}
		if _, twice := o.fields[name]; twice && !o.bad.Has(o.prefix+shortName(name)) {
			o.Add(shortName(name), "The field is given more than once.")
		}
		o.fields[name] = value
	}
	return o, nil
}

// Add adds a problem of one of the object's own fields: see kernel.ValidationError.Add.
func (o *Object) Add(field, code string, args ...any) { o.bad.Add(o.prefix+field, code, args...) }

// measure returns how many levels of brackets a body has, and how many fields its objects have together. For malformed
// JSON the numbers are meaningless.
func measure(body []byte) (depth, fields int) {
	level, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			depth = max(depth, level)
		case c == '}' || c == ']':
			level--
		case c == ':':
			fields++
		}
	}
	return depth, fields
}

// Check returns all errors as one *kernel.ValidationError, or nil: the errors of the accessors, the errors of
// validation for fields without an error of an accessor, and one for each unknown field, unless they are allowed. It is
// called after all accessors. validation is the result of a Validate method of the domain; an error of another type is
// returned unchanged.
func (o *Object) Check(validation error) error {
	if !o.lenient {
		o.rejectUnknown()
	}
	if validation != nil {
		var more *kernel.ValidationError
		if !errors.As(validation, &more) {
			return validation
		}
		o.bad.AddMissing(more)
	}
	return o.bad.Err()
}

// Require records an error for each of the fields that is absent or null.
func (o *Object) Require(fields ...string) {
	for _, field := range fields {
		if !o.given(field) {
			o.Add(field, kernel.Required)
		}
	}
}

// given reports whether the field is present and not null.
func (o *Object) given(field string) bool {
	raw, ok := o.raw(field)
	return ok && string(raw) != "null"
}

// Given reports whether the field is present and not null.
func (o *Object) Given(field string) bool { return o.given(field) }

// Raw returns the field's valid JSON value, which may be null. ok is false if the field is absent. It is also false,
// with an error, if the value has text that cannot be stored, or is an object with a duplicate name.
func (o *Object) Raw(field string) (value json.RawMessage, ok bool) {
	if value, ok = o.raw(field); !ok {
		return nil, false
	}
	if problem := badEscape(value); problem != "" {
		o.bad.AddText(o.prefix+field, problem)
		return nil, false
	}
	var twice kernel.ValidationError
	if value[0] == '{' {
		if _, err := readObject(value, "", &twice); err != nil || twice.Err() != nil {
			o.Add(field, "must not have the same name twice")
			return nil, false
		}
	}
	return value, true
}

// raw returns the value of a field, and marks the field as known.
func (o *Object) raw(field string) (value json.RawMessage, ok bool) {
	if o.known != nil {
		o.known[field] = true
	}
	value, ok = o.fields[field]
	return value, ok
}

// Reject records an error if the field is present. It is for fields that are set by another request.
func (o *Object) Reject(field, code string, args ...any) {
	if _, ok := o.raw(field); ok {
		o.Add(field, code, args...)
	}
}

// Null reports whether the field is present and null.
func (o *Object) Null(field string) bool {
	raw, _ := o.raw(field)
	return string(raw) == "null"
}

// Text returns the field's string, or nil if it is not given.
func (o *Object) Text(field string) *string {
	if !o.given(field) {
		return nil
	}
	text, problem := readText(o.fields[field])
	if problem != "" {
		o.bad.AddText(o.prefix+field, problem)
		return nil
	}
	return &text
}

// readText parses a valid JSON value that must be a string, or returns what is wrong with it.
func readText(raw json.RawMessage) (text, problem string) {
	if raw[0] != '"' {
		return "", "must be a string"
	}
	if problem := badEscape(raw); problem != "" {
		return "", problem
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", "must be a string"
	}
	return text, ""
}

// NullableText returns the field's string, or nil for null. given is false if the field is absent.
func (o *Object) NullableText(field string) (text *string, given bool) {
	_, given = o.raw(field)
	return o.Text(field), given
}

// Texts returns the field's list of strings, or nil if it is not given. An empty list is not nil. A null in the list is
// an error.
func (o *Object) Texts(field string) []string {
	if !o.given(field) {
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(o.fields[field], &items); err != nil {
		o.Add(field, "must be a list of strings")
		return nil
	}
	texts := make([]string, len(items))
	for i, item := range items {
		var problem string
		if texts[i], problem = readText(item); problem != "" {
			o.Add(field, "Item %d of the %s %s.", i+1, kernel.Name(field), problem)
			return nil
		}
	}
	return texts
}

// Objects returns the field's list of at most limit objects, or nil if it is not given. An empty list is not nil.
// Errors of the objects' fields are recorded in o with dotted paths, such as "field.0.name".
func (o *Object) Objects(field string, limit int) []*Object {
	if !o.given(field) {
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(o.fields[field], &items); err != nil {
		o.Add(field, "must be a list of objects")
		return nil
	}
	if len(items) > limit {
		o.Add(field, "may have at most %d items", limit)
		return nil
	}
	objects := make([]*Object, len(items))
	for i, item := range items {
		path := fmt.Sprintf("%s.%d", field, i)
		var err error
		if objects[i], err = readObject(item, o.prefix+path+".", o.bad); err != nil {
			o.Add(path, "Each item of the %s must be an object.", kernel.Name(field))
			objects[i] = new(Object)
			objects[i].bad = new(kernel.ValidationError) // its other errors are dropped
			continue
		}
		o.children = append(o.children, objects[i])
	}
	return objects
}

// Object returns the field's object. given reports whether the field is present and not null. The object is nil if it
// is not given, or if the value is not an object, which is an error. Errors of its fields are recorded in o with dotted
// paths, such as "field.name".
func (o *Object) Object(field string) (object *Object, given bool) {
	if !o.given(field) {
		return nil, false
	}
	object, err := readObject(o.fields[field], o.prefix+field+".", o.bad)
	if err != nil {
		o.Add(field, "must be an object")
		return nil, true
	}
	o.children = append(o.children, object)
	return object, true
}

// instantForm matches RFC 3339. time.Parse accepts more.
var instantForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// Instant returns the field's time in UTC, truncated to milliseconds, or nil if it is not given.
func (o *Object) Instant(field string) *time.Time {
	if !o.given(field) {
		return nil
	}
	text, problem := readText(o.fields[field])
	at, err := time.Parse(time.RFC3339, text)
	if problem != "" || err != nil || !instantForm.MatchString(text) || at.IsZero() {
		o.Add(field, "must be an instant by RFC 3339, such as 2026-11-21T04:00:00Z")
		return nil
	}
	at = at.UTC().Truncate(time.Millisecond)
	return &at
}

// Flag returns the field's boolean, or nil if it is not given.
func (o *Object) Flag(field string) *bool {
	if !o.given(field) {
		return nil
	}
	switch flag := string(o.fields[field]); flag {
	case "true", "false":
		value := flag == "true"
		return &value
	}
	o.Add(field, "must be true or false")
	return nil
}

// Number returns the field's number, or nil if it is not given.
func (o *Object) Number(field string) *float64 {
	if !o.given(field) {
		return nil
	}
	n, err := strconv.ParseFloat(string(o.fields[field]), 64)
	if err != nil {
		o.Add(field, "must be a number")
		return nil
	}
	return &n
}

// Integer returns the field's whole number, or nil if it is not given. It accepts digits with an optional minus that
// fit into 64 bits, and neither 1.0 nor 1e3 nor "1".
func (o *Object) Integer(field string) *int {
	if !o.given(field) {
		return nil
	}
	n, err := strconv.Atoi(string(o.fields[field]))
	if err != nil {
		o.Add(field, "must be a whole number")
		return nil
	}
	return &n
}

// Enum returns the field's value, which must be one of the values, or nil if it is not given.
func Enum[T ~string](o *Object, field string, values []T) *T {
	if !o.given(field) {
		return nil
	}
	text, problem := readText(o.fields[field])
	value := T(text)
	if problem != "" || !slices.Contains(values, value) {
		o.Add(field, "must be one of: %s", kernel.JoinValues(values))
		return nil
	}
	return &value
}

// badEscape returns what is wrong with the escapes of a JSON string, or "". encoding/json replaces a lone surrogate
// with U+FFFD, which the client did not send, and PostgreSQL cannot store U+0000.
func badEscape(literal []byte) string {
	for i := 0; i < len(literal); i++ {
		if literal[i] != '\\' {
			continue
		}
		i++ // the letter of the escape
		if literal[i] != 'u' {
			continue
		}
		r := hex4(literal[i+1:])
		i += 4
		switch {
		case r == 0:
			return "may not contain NUL characters"
		case !utf16.IsSurrogate(r):
		case bytes.HasPrefix(literal[i+1:], []byte(`\u`)) &&
			utf16.DecodeRune(r, hex4(literal[i+3:])) != utf8.RuneError:
			i += 6
		default:
			return "contains half of a surrogate pair"
		}
	}
	return ""
}

// hex4 parses the four hexadecimal digits after \u in valid JSON.
func hex4(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

func invalid(field, format string, args ...any) error {
	bad := new(kernel.ValidationError)
	bad.Add(field, format, args...)
	return bad
}
