package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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

	// ErrPreconditionFailed means that an object does not meet the condition of a request. Nothing was changed.
	ErrPreconditionFailed = errors.New("the precondition failed")

	// ErrSMSLimit means that the limit of SMS, or of sign-ups by SMS, is reached for this UTC day. Nothing was changed.
	ErrSMSLimit = errors.New("the daily limit of SMS is reached")

	// ErrInProgress means that another request with the same idempotency key is still being processed.
	ErrInProgress = errors.New("a request with this idempotency key is still being answered")
)

// ValidationError lists what is wrong with a request that was rejected and had no effect. The zero value is ready to
// use.
type ValidationError struct {
	Problems []Problem

	SameName string // id of the object with the same name, if only the unique_name of the request forbids a second one
}

// Add adds a problem of a field. As in gettext, the code is the English text itself, as a format of package fmt. It is
// either a predicate, which begins with a lower-case letter and has neither subject nor full stop, because its subject
// is the field, such as "must be after %s"; or a whole sentence. Arguments are texts, numbers, and a Name for each
// other field. None of them contains the client's input.
func (e *ValidationError) Add(field, code string, args ...any) {
	if false {
		_ = fmt.Sprintf(code, args...) // lets go vet check the formats of callers
	}
	e.Problems = append(e.Problems, Problem{field, code, plain(args)})
}

// AddText adds a problem whose text was written elsewhere: a predicate or a sentence, like the codes of Add.
func (e *ValidationError) AddText(field, text string) {
	e.Problems = append(e.Problems, Problem{Field: field, Code: strings.ReplaceAll(text, "%", "%%")})
}

// Has reports whether a field has a problem.
func (e *ValidationError) Has(field string) bool {
	return slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.Field == field })
}

// Of returns the problems of a field.
func (e *ValidationError) Of(field string) (problems []Problem) {
	for _, p := range e.Problems {
		if p.Field == field {
			problems = append(problems, p)
		}
	}
	return problems
}

// Messages returns the sentences of the API by field, in the order in which the problems were added.
func (e *ValidationError) Messages() map[string][]string {
	messages := make(map[string][]string)
	for _, p := range e.Problems {
		messages[p.Field] = append(messages[p.Field], p.Message())
	}
	return messages
}

// JoinInvalid returns the problems of several validations as one *ValidationError, or nil if there are none. An error
// of another type is returned unchanged.
func JoinInvalid(validations ...error) error {
	var all ValidationError
	for _, err := range validations {
		var bad *ValidationError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if bad != nil {
			all.Problems = append(all.Problems, bad.Problems...)
			all.SameName = cmp.Or(all.SameName, bad.SameName)
		}
	}
	return all.Err()
}

// AddMissing adds the problems of other that are about fields which have no problem yet, and which are not within such
// a field: a value that could not be read has not been validated.
func (e *ValidationError) AddMissing(other *ValidationError) {
	noted := e.Problems
	for _, p := range other.Problems {
		if !slices.ContainsFunc(noted, func(n Problem) bool { return strings.HasPrefix(p.Field+".", n.Field+".") }) {
			e.Problems = append(e.Problems, p)
		}
	}
}

// JoinUnread returns both errors as one *ValidationError: unread has the problems of fields that could not be read, and
// invalid the problems found in the result. Problems of fields that unread names are left out of invalid. It can also
// join the problems of an object with problems found by comparing it with what is stored. An error of another type is
// returned alone.
func JoinUnread(unread, invalid error) error {
	var all, more *ValidationError
	switch {
	case unread == nil:
		return invalid
	case invalid == nil, !errors.As(unread, &all):
		return unread
	case !errors.As(invalid, &more):
		return invalid
	}
	// a transaction may be repeated
	all = &ValidationError{slices.Clone(all.Problems), cmp.Or(all.SameName, more.SameName)}
	all.AddMissing(more)
	return all
}

// Err returns e if it has any problems, and nil otherwise.
func (e *ValidationError) Err() error {
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// Sorted returns the problems, ordered by field name.
func (e *ValidationError) Sorted() []Problem {
	return slices.SortedStableFunc(slices.Values(e.Problems), func(a, b Problem) int {
		return strings.Compare(a.Field, b.Field)
	})
}

// Error returns all messages, ordered by field name.
func (e *ValidationError) Error() string {
	var messages []string
	for _, p := range e.Sorted() {
		messages = append(messages, p.Message())
	}
	return strings.Join(messages, " ")
}

// Invalid returns a ValidationError with a single message.
func Invalid(field, format string, args ...any) error {
	e := new(ValidationError)
	e.Add(field, format, args...)
	return e
}
