package allswell

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// The errors that callers handle. All other errors are internal.
var (
	// ErrNotFound means that the object does not exist or belongs to another workspace; callers
	// cannot distinguish the two.
	ErrNotFound = errors.New("not found")

	// ErrUnauthenticated means that the API token is missing, unknown, revoked or expired.
	ErrUnauthenticated = errors.New("unauthenticated")

	// ErrPageLimited means that the actor is limited to some pages, and the operation concerns the whole workspace.
	ErrPageLimited = errors.New("limited to some pages")

	// ErrBusy means that nothing was changed. The same call may succeed later.
	ErrBusy = errors.New("the service cannot do this right now")

	// ErrUnknownOutcome means that the commit was not confirmed. The change was made
	// completely or not at all, and a failover may still discard it.
	ErrUnknownOutcome = errors.New("the outcome of the commit is unknown")

	// ErrPreconditionFailed means that an object does not meet the condition of a request. Nothing
	// was changed.
	ErrPreconditionFailed = errors.New("the precondition failed")

	// ErrSMSLimit means that the limit of SMS, or of sign-ups by SMS, is reached for this UTC day. Nothing was changed.
	ErrSMSLimit = errors.New("the daily limit of SMS is reached")

	// ErrInProgress means that another request with the same idempotency key is still being
	// processed.
	ErrInProgress = errors.New("a request with this idempotency key is still being answered")
)

// ValidationError lists the invalid fields of a request that was rejected and had no effect. The
// zero value is ready to use.
type ValidationError struct {
	Fields map[string][]string

	SameName string // the id of what has the name, if that is refused only because the input has UniqueName
}

// Add adds an error for a field. The message is a sentence for people and never contains the
// client's input.
func (e *ValidationError) Add(field, format string, args ...any) {
	if e.Fields == nil {
		e.Fields = make(map[string][]string)
	}
	e.Fields[field] = append(e.Fields[field], fmt.Sprintf(format, args...))
}

// JoinInvalid returns the errors of several validations as one *ValidationError, or nil if there are none. An error of
// another type is returned unchanged.
func JoinInvalid(validations ...error) error {
	var all ValidationError
	for _, err := range validations {
		var bad *ValidationError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if bad == nil {
			continue
		}
		for field, messages := range bad.Fields {
			for _, message := range messages {
				all.Add(field, "%s", message)
			}
		}
	}
	return all.Err()
}

// Err returns e if it has any errors, and nil otherwise.
func (e *ValidationError) Err() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// Error returns all messages, ordered by field name.
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

// invalid returns a ValidationError with a single message.
func invalid(field, format string, args ...any) error {
	e := new(ValidationError)
	e.Add(field, format, args...)
	return e
}
