package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/allswell/allswell"
)

// The limits of a request's body.
const (
	MaxBody  = 1 << 20 // bytes
	MaxDepth = 32      // objects and arrays within each other, the outermost included
)

// BodyField is the name under which an error of the body as a whole is
// reported.
const BodyField = "body"

// ReadBody returns the request's whole body. One of more than MaxBody bytes is
// ErrTooLarge; one that breaks off is an *allswell.Invalid.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, ErrTooLarge
	}
	if err != nil {
		return nil, invalid(BodyField, "The body could not be read to its end.")
	}
	return body, nil
}

// Object is a JSON object that a client sent. Its accessors note what is wrong
// with a field and go on, so that Check can name all of it at once. A field is
// absent, null or given: null is "not given", except where an accessor says
// otherwise. Fields that nobody asks for are ignored, whatever they hold. Names
// are compared exactly, with upper and lower case.
type Object struct {
	fields map[string]json.RawMessage
	bad    allswell.Invalid
}

// ParseObject reads a body that must be one JSON object (RFC 8259) in UTF-8
// and nothing else. What is broken or nested deeper than MaxDepth is an
// *allswell.Invalid at once. A name that occurs twice in the object itself
// could be read in two ways: Check complains of it.
func ParseObject(body []byte) (*Object, error) {
	switch {
	case len(bytes.TrimLeft(body, " \t\r\n")) == 0:
		return nil, invalid(BodyField, "The body must be a JSON object; it is empty.")
	case !utf8.Valid(body):
		return nil, invalid(BodyField, "The body must be valid UTF-8.")
	case tooDeep(body):
		return nil, invalid(BodyField, "The body may not be nested deeper than %d levels.", MaxDepth)
	case !json.Valid(body):
		return nil, invalid(BodyField, "The body must be valid JSON, one object and nothing after it.")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, invalid(BodyField, "The body must be a JSON object.")
	}
	o := &Object{fields: make(map[string]json.RawMessage)}
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("a valid object's name could not be read: %v, %w", token, err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("a valid object's value could not be read: %w", err)
		}
		if _, twice := o.fields[name]; twice && len(o.bad.Fields[name]) == 0 {
			o.bad.Add(name, "The field is given more than once.")
		}
		o.fields[name] = value
	}
	return o, nil
}

// tooDeep reports whether brackets outside of strings are nested deeper than
// MaxDepth. It is right for valid JSON and harmless for everything else.
func tooDeep(body []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// Check returns everything that is wrong as one *allswell.Invalid: what the
// accessors noted and, for the fields they did not complain of, what refused
// says. refused is the result of a Validate method of the domain; any other
// error is returned as it is.
func (o *Object) Check(refused error) error {
	if refused != nil {
		var more *allswell.Invalid
		if !errors.As(refused, &more) {
			return refused
		}
		noted := slices.Collect(maps.Keys(o.bad.Fields))
		for field, complaints := range more.Fields {
			if slices.Contains(noted, field) {
				continue
			}
			for _, complaint := range complaints {
				o.bad.Add(field, "%s", complaint)
			}
		}
	}
	return o.bad.Err()
}

// Require complains of each of the fields that is absent or null.
func (o *Object) Require(fields ...string) {
	for _, field := range fields {
		if !o.given(field) {
			o.bad.Add(field, "The %s field is required.", field)
		}
	}
}

// given reports whether the field is there and not null.
func (o *Object) given(field string) bool {
	raw, ok := o.fields[field]
	return ok && string(raw) != "null"
}

// Text returns the field's string, or nil if it is not given.
func (o *Object) Text(field string) *string {
	if !o.given(field) {
		return nil
	}
	text, complaint := readText(o.fields[field])
	if complaint != "" {
		o.bad.Add(field, "The %s %s.", field, complaint)
		return nil
	}
	return &text
}

// readText reads a valid JSON value that must be a string, or says what is
// wrong with it.
func readText(raw json.RawMessage) (text, complaint string) {
	if raw[0] != '"' {
		return "", "must be a string"
	}
	if complaint := badEscape(raw); complaint != "" {
		return "", complaint
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", "must be a string"
	}
	return text, ""
}

// NullableText returns the field's string, or nil for null; given is false if
// the field is absent, which is something else than null here.
func (o *Object) NullableText(field string) (text *string, given bool) {
	_, given = o.fields[field]
	return o.Text(field), given
}

// Texts returns the field's list of strings, or nil if it is not given. An
// empty list is not nil, and a null in a list is no string.
func (o *Object) Texts(field string) []string {
	if !o.given(field) {
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(o.fields[field], &items); err != nil {
		o.bad.Add(field, "The %s must be a list of strings.", field)
		return nil
	}
	texts := make([]string, len(items))
	for i, item := range items {
		var complaint string
		if texts[i], complaint = readText(item); complaint != "" {
			o.bad.Add(field, "Item %d of the %s %s.", i+1, field, complaint)
			return nil
		}
	}
	return texts
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
	o.bad.Add(field, "The %s must be true or false.", field)
	return nil
}

// Integer returns the field's whole number, or nil if it is not given. Only
// digits with an optional minus are one: neither 1.0 nor 1e3 nor "1" is taken,
// and neither is what does not fit into 64 bits.
func (o *Object) Integer(field string) *int {
	if !o.given(field) {
		return nil
	}
	n, err := strconv.Atoi(string(o.fields[field]))
	if err != nil {
		o.bad.Add(field, "The %s must be a whole number.", field)
		return nil
	}
	return &n
}

// Enum returns the field's value, which must be one of the values, or nil if
// it is not given.
func Enum[T ~string](o *Object, field string, values []T) *T {
	if !o.given(field) {
		return nil
	}
	text, complaint := readText(o.fields[field])
	value := T(text)
	if complaint != "" || !slices.Contains(values, value) {
		o.bad.Add(field, "The %s must be one of: %s.", field, words(values))
		return nil
	}
	return &value
}

func words[T ~string](values []T) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return strings.Join(out, ", ")
}

// badEscape returns what is wrong with the escapes of a JSON string, or "".
// encoding/json reads a lone surrogate as U+FFFD, which is not what was sent,
// and no database of ours can store U+0000.
func badEscape(literal []byte) string {
	for i := 0; i < len(literal); i++ {
		if literal[i] != '\\' {
			continue
		}
		i++ // at the letter of the escape
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

// hex4 reads the four hexadecimal digits that valid JSON has after \u.
func hex4(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

func invalid(field, format string, args ...any) error {
	bad := new(allswell.Invalid)
	bad.Add(field, format, args...)
	return bad
}
