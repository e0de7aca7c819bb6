package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Query holds the parameters of a URL. Its accessors collect errors, like the accessors of Object. Parameters that no
// accessor reads are ignored.
type Query struct {
	values url.Values
	bad    kernel.ValidationError
}

// QueryField is the field name for errors of the query as a whole.
const QueryField = "query"

// ParseQuery parses the query of a URL, without the "?".
func ParseQuery(raw string) *Query {
	q := new(Query)
	var err error
	if q.values, err = url.ParseQuery(raw); err != nil {
		q.bad.Add(QueryField, "The query string of the address is malformed.")
	}
	return q
}

// Add adds a problem: see kernel.ValidationError.Add.
func (q *Query) Add(name, code string, args ...any) { q.bad.Add(name, code, args...) }

// Check returns all errors as one *kernel.ValidationError, or nil.
func (q *Query) Check() error { return q.bad.Err() }

// one returns the parameter's value. ok is false if it is absent or, which is an error, given more than once.
func (q *Query) one(name string) (value string, ok bool) {
	switch values := q.values[name]; len(values) {
	case 0:
		return "", false
	case 1:
		return values[0], true
	}
	q.bad.Add(name, "is given more than once")
	return "", false
}

// Integer returns the parameter as a whole number from minimum to maximum, or def if it is absent.
func (q *Query) Integer(name string, def, minimum, maximum int) int {
	text, ok := q.one(name)
	if !ok {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 63) // digits only, no sign
	if err != nil || n < uint64(minimum) || n > uint64(maximum) {
		q.bad.Add(name, "must be a whole number from %d to %d", minimum, maximum)
		return def
	}
	return int(n)
}

// Text returns the parameter, or "" if it is absent. NUL characters and invalid UTF-8 are errors.
func (q *Query) Text(name string) string {
	text, _ := q.one(name)
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		q.bad.Add(name, "must be text in UTF-8")
		return ""
	}
	return text
}

// Texts returns the comma-separated texts in the parameter, or nil if it is absent. More than most texts are an error.
func (q *Query) Texts(name string, most int) []string {
	text := q.Text(name)
	if text == "" {
		return nil
	}
	texts := strings.Split(text, ",")
	if len(texts) > most {
		q.bad.Add(name, "may have at most %d values", most)
		return nil
	}
	return texts
}

// Time returns the parameter, an instant in RFC 3339, or the zero Time if it is absent.
func (q *Query) Time(name string) time.Time {
	text, ok := q.one(name)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		q.bad.Add(name, "must be a time such as 2026-11-21T04:00:00Z")
	}
	return t
}

// Flag returns the parameter, which must be true or false, or nil if it is absent.
func (q *Query) Flag(name string) *bool {
	text, ok := q.one(name)
	if !ok {
		return nil
	}
	if text != "true" && text != "false" {
		q.bad.Add(name, "must be true or false")
		return nil
	}
	flag := text == "true"
	return &flag
}

// Choice returns the parameter, which must be one of the values, or "" if it is absent.
func Choice[T ~string](q *Query, name string, values []T) T {
	text, ok := q.one(name)
	if ok && !slices.Contains(values, T(text)) {
		q.bad.Add(name, "must be one of: %s", kernel.JoinValues(values))
		return ""
	}
	return T(text)
}

// Choices returns the comma-separated values in the parameter, without duplicates, or nil if it is absent. Other values
// are an error.
func Choices[T ~string](q *Query, name string, values []T) []T {
	text, ok := q.one(name)
	if !ok {
		return nil
	}
	var chosen []T
	for part := range strings.SplitSeq(text, ",") {
		value := T(part)
		if !slices.Contains(values, value) {
			q.bad.Add(name, "must be one or several of: %s", kernel.JoinValues(values))
			return nil
		}
		if !slices.Contains(chosen, value) {
			chosen = append(chosen, value)
		}
	}
	return chosen
}
