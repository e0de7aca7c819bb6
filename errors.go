package allswell

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// The failures that a caller can act on. Everything else is a fault of ours.
var (
	// ErrNotFound means there is no such object, or it belongs to another
	// workspace: the two cannot be told apart from outside.
	ErrNotFound = errors.New("not found")

	// ErrUnauthenticated means the API token is missing, unknown or revoked.
	ErrUnauthenticated = errors.New("unauthenticated")

	// ErrBusy means the work could not be done now and changed nothing; the
	// same call may succeed later.
	ErrBusy = errors.New("the service cannot do this right now")

	// ErrUnknownOutcome means the work may have been done, wholly or not at
	// all, or may still be lost in a failover: its commit was not confirmed.
	ErrUnknownOutcome = errors.New("the outcome of the commit is unknown")

	// ErrInProgress means that a request with the same idempotency key has not
	// been answered yet.
	ErrInProgress = errors.New("a request with this idempotency key is still being answered")
)

// Invalid is a refused request: every bad field with what is wrong with it.
// The zero value is ready to collect; a refused request has changed nothing.
type ValidationError struct {
	Fields map[string][]string
}

// Add notes one thing that is wrong with a field. The text is a sentence for
// people and never repeats what the client sent.
func (e *ValidationError) Add(field, format string, args ...any) {
	if e.Fields == nil {
		e.Fields = make(map[string][]string)
	}
	e.Fields[field] = append(e.Fields[field], fmt.Sprintf(format, args...))
}

// Err returns e if anything was added, and nil otherwise.
func (e *ValidationError) Err() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// Error lists what is wrong, fields in alphabetical order.
func (e *ValidationError) Error() string {
	names := make([]string, 0, len(e.Fields))
	for name := range e.Fields {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(strings.Join(e.Fields[name], " "))
	}
	return b.String()
}

// invalid makes an Invalid with a single complaint.
func invalid(field, format string, args ...any) error {
	e := new(ValidationError)
	e.Add(field, format, args...)
	return e
}
