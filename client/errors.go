package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Errors that an *Error matches, by errors.Is.
var (
	ErrInvalid         = errors.New("the request is invalid")                              // 422
	ErrUnauthenticated = errors.New("the token is missing, unknown or revoked")            // 401
	ErrForbidden       = errors.New("the token's scope does not allow this")               // 403
	ErrNotFound        = errors.New("there is no such resource in the token's workspace")  // 404
	ErrRateLimited     = errors.New("the rate limit is used up")                           // 429
	ErrBusy            = errors.New("the server cannot do this now; nothing was changed")  // 503
	ErrUnknownOutcome  = errors.New("the server does not know whether anything was saved") // 503
)

// ErrNotAllswell means that another service answers at the server's address.
var ErrNotAllswell = errors.New("is not an Allswell server")

// Codes of errors. The server sends them, except for CodeUnauthenticated and CodeNotFound, which follow from the
// status.
const (
	CodeUnauthenticated  = "unauthenticated"
	CodeForbidden        = "forbidden"
	CodeNotFound         = "not_found"
	CodeMethodNotAllowed = "method_not_allowed"
	CodeInProgress       = "in_progress"         // a request with the same Idempotency-Key is in progress
	CodePrecondition     = "precondition_failed" // see IfMatch and IfNoneMatch
	CodeTooLarge         = "too_large"
	CodeInvalid          = "invalid"
	CodeRateLimited      = "rate_limited"
	CodeInternal         = "internal"
	CodeBusy             = "busy"            // nothing was changed
	CodeUnknownOutcome   = "unknown_outcome" // the change may or may not have been saved
)

// codeOf returns the code of an error that the server sent without one. A 503 without a code may have changed
// something.
func codeOf(status int) string {
	return map[int]string{
		http.StatusUnprocessableEntity:   CodeInvalid,
		http.StatusUnauthorized:          CodeUnauthenticated,
		http.StatusForbidden:             CodeForbidden,
		http.StatusNotFound:              CodeNotFound,
		http.StatusMethodNotAllowed:      CodeMethodNotAllowed,
		http.StatusRequestEntityTooLarge: CodeTooLarge,
		http.StatusConflict:              CodeInProgress,
		http.StatusPreconditionFailed:    CodePrecondition,
		http.StatusTooManyRequests:       CodeRateLimited,
		http.StatusServiceUnavailable:    CodeUnknownOutcome,
		http.StatusInternalServerError:   CodeInternal,
	}[status]
}

// Error is the response to a request that the server refused, or failed to execute.
type Error struct {
	Method     string              `json:"-"`        // of the request
	Path       string              `json:"-"`        // of the request, escaped, from /api/v1 on
	Status     int                 `json:"-"`        // the HTTP status
	Code       string              `json:"code"`     // machine-readable: CodeInvalid, CodeNotFound, …
	Message    string              `json:"message"`  // for people
	Errors     map[string][]string `json:"errors"`   // the messages by field, if Code is CodeInvalid
	Problems   []Problem           `json:"problems"` // Errors as data, by field; from an old server, only their texts
	LogID      string              `json:"id"`       // finds the cause in the server's log, if Code is CodeInternal
	RetryAfter time.Duration       `json:"-"`        // when a repetition may succeed; 0: not known
	RequestID  string              `json:"-"`        // finds the request in the server's log
}

// Error returns the message, with all fields that are wrong.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %d: %s", e.Method, e.Path, e.Status, e.Message)
	if len(e.Errors) > 0 {
		separator := " ("
		for _, field := range slices.Sorted(maps.Keys(e.Errors)) {
			fmt.Fprintf(&b, "%s%s: %s", separator, field, strings.Join(e.Errors[field], " "))
			separator = "; "
		}
		b.WriteString(")")
	}
	if e.LogID != "" {
		fmt.Fprintf(&b, " (%s)", e.LogID)
	}
	return b.String()
}

// Is reports whether the error is one of ErrInvalid, ErrNotFound and so on.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrInvalid:
		return e.Status == http.StatusUnprocessableEntity
	case ErrUnauthenticated:
		return e.Status == http.StatusUnauthorized
	case ErrForbidden:
		return e.Status == http.StatusForbidden
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	case ErrRateLimited:
		return e.Status == http.StatusTooManyRequests
	case ErrBusy:
		return e.Code == CodeBusy
	case ErrUnknownOutcome:
		return e.Code == CodeUnknownOutcome
	}
	return false
}

// NetworkError means that a request got no response.
type NetworkError struct {
	URL     string        // the server's address
	Timeout time.Duration // the limit of the call
	Err     error

	// MayBeExecuted is false if the server cannot have executed the request, or if the request changes nothing.
	MayBeExecuted bool

	retryable bool
}

// Error says why there was no answer.
func (e *NetworkError) Error() string {
	text := fmt.Sprintf("%s cannot be reached: %s", e.URL, reason(e.Err))
	var slow net.Error
	switch {
	case errors.Is(e.Err, context.Canceled):
		text = "interrupted before " + e.URL + " answered"
	case errors.Is(e.Err, context.DeadlineExceeded), errors.As(e.Err, &slow) && slow.Timeout():
		text = fmt.Sprintf("%s did not answer within %s", e.URL, e.Timeout)
	}
	if e.MayBeExecuted {
		text += "; the request may have been executed"
	}
	return text
}

// Unwrap returns the cause, such as context.Canceled.
func (e *NetworkError) Unwrap() error { return e.Err }

// reason shortens a network error whose text repeats the address.
func reason(err error) string {
	var (
		system *os.SyscallError
		lookup *net.DNSError
	)
	switch {
	case errors.As(err, &system):
		return system.Err.Error()
	case errors.As(err, &lookup):
		return "looking up its name: " + lookup.Err
	}
	return err.Error()
}
