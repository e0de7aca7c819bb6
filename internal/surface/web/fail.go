package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// Handler answers a request, or returns an error without having written anything.
type Handler func(http.ResponseWriter, *http.Request) error

// Handle returns an http.Handler that calls h and answers its errors with Fail. A panic is answered as an internal
// error.
func Handle(log *slog.Logger, h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer FailPanic(func(err error) { Fail(w, r, log, err) })
		if err := h(w, r); err != nil {
			Fail(w, r, log, err)
		}
	})
}

// FailPanic calls fail with the panic of the function that defers it, if there is one. It lets http.ErrAbortHandler
// pass.
func FailPanic(fail func(error)) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		panic(p)
	default:
		fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// TooLarge means that the request's body is too long.
type TooLarge struct {
	Most int64 // the limit in bytes
}

func (e *TooLarge) Error() string { return "the request body is too large" }

// Forbidden means that the token is valid, but its scope does not allow the request.
type Forbidden struct {
	Has, Needs kernel.Scope
}

func (e *Forbidden) Error() string {
	return fmt.Sprintf("scope %s is too small, %s is needed", e.Has, e.Needs)
}

// MethodNotAllowed means that the path exists, but not with this method.
type MethodNotAllowed struct {
	Allow []string // the methods of the path
}

func (e *MethodNotAllowed) Error() string { return "method not allowed" }

// TooMany means that a rate limit is exceeded.
type TooMany struct {
	Now   time.Time
	Reset time.Time // when the next request is accepted
	Limit int       // of requests in a minute; 0: the headers have it
}

func (e *TooMany) Error() string { return "too many requests" }

// busyRetry is the Retry-After of a 503 in seconds. A client that tries a few times survives a restart or a failover.
const busyRetry = 5

// ErrorCode is the kind of an error, for programs. Messages may be reworded; codes never change. Responses with 401
// and 404 have no code: their bodies are fixed (see docs/api.md), and their status is sufficient.
type ErrorCode string

// The codes of errors.
const (
	CodeForbidden        ErrorCode = "forbidden"
	CodeMethodNotAllowed ErrorCode = "method_not_allowed"
	CodeInProgress       ErrorCode = "in_progress" // a request with the same Idempotency-Key is in progress
	CodeTooLarge         ErrorCode = "too_large"
	CodeInvalid          ErrorCode = "invalid"
	CodePrecondition     ErrorCode = "precondition_failed" // If-Match or If-None-Match does not match
	CodeRateLimited      ErrorCode = "rate_limited"
	CodeInternal         ErrorCode = "internal"
	CodeBusy             ErrorCode = "busy"            // nothing was changed
	CodeUnknownOutcome   ErrorCode = "unknown_outcome" // the change may or may not have been saved
)

// ErrorCodes lists all codes.
var ErrorCodes = []ErrorCode{
	CodeForbidden, CodeMethodNotAllowed, CodeInProgress, CodePrecondition, CodeTooLarge, CodeInvalid, CodeRateLimited,
	CodeInternal, CodeBusy, CodeUnknownOutcome,
}

// failure is the body of every response that is not a success.
type failure struct {
	Message string              `json:"message"`
	Code    ErrorCode           `json:"code,omitempty"`
	Errors  map[string][]string `json:"errors,omitempty"`
	ID      string              `json:"id,omitempty"`

	Problems []kernel.Problem `json:"problems,omitempty"` // the errors as data, for clients that prefer them
}

// PreferProblems is the preference (RFC 7240) of clients that put errors into words of their own.
const PreferProblems = "problems"

// prefers reports whether a request has a preference.
func prefers(r *http.Request, preference string) bool {
	for _, header := range r.Header.Values("Prefer") {
		for one := range strings.SplitSeq(header, ",") {
			if strings.EqualFold(strings.TrimSpace(one), preference) {
				return true
			}
		}
	}
	return false
}

// Fail answers r with the status and the JSON body for err. It never sends the text of err. An unknown error is an
// internal error: the response is 500 with an id, and the log contains the id with the text.
func Fail(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	var (
		bad       *kernel.ValidationError
		forbidden *Forbidden
		method    *MethodNotAllowed
		tooMany   *TooMany
		tooLarge  *TooLarge
		h         = w.Header()
	)
	switch {
	case errors.As(err, &bad):
		body := failure{Message: Sentence(bad), Code: CodeInvalid, Errors: bad.Messages()}
		if prefers(r, PreferProblems) {
			body.Problems = bad.Sorted()
		}
		writeFailure(w, http.StatusUnprocessableEntity, body)
	case errors.Is(err, kernel.ErrNotFound):
		writeFailure(w, http.StatusNotFound, failure{Message: "Not found."})
	case errors.Is(err, kernel.ErrUnauthenticated):
		h.Set("WWW-Authenticate", "Bearer")
		writeFailure(w, http.StatusUnauthorized, failure{Message: "Unauthenticated."})
	case errors.As(err, &forbidden):
		writeFailure(w, http.StatusForbidden, failure{Code: CodeForbidden, Message: fmt.Sprintf(
			"This token has the scope %s; this call needs %s.", forbidden.Has, forbidden.Needs)})
	case errors.Is(err, kernel.ErrPageLimited):
		writeFailure(w, http.StatusForbidden, failure{
			Code: CodeForbidden, Message: "This token is limited to some pages; this call needs all of them.",
		})
	case errors.As(err, &method):
		h.Set("Allow", strings.Join(method.Allow, ", "))
		writeFailure(w, http.StatusMethodNotAllowed, failure{
			Message: "Method not allowed.", Code: CodeMethodNotAllowed,
		})
	case errors.As(err, &tooMany):
		wait := math.Ceil(tooMany.Reset.Sub(tooMany.Now).Seconds())
		h.Set("Retry-After", strconv.Itoa(max(1, int(wait))))
		h.Set("X-RateLimit-Reset", strconv.FormatInt(ceilUnix(tooMany.Reset), 10))
		if tooMany.Limit > 0 {
			h.Set("X-RateLimit-Limit", strconv.Itoa(tooMany.Limit))
			h.Set("X-RateLimit-Remaining", "0")
		}
		writeFailure(w, http.StatusTooManyRequests, failure{Message: "Too many requests.", Code: CodeRateLimited})
	case errors.As(err, &tooLarge):
		writeFailure(w, http.StatusRequestEntityTooLarge, failure{Code: CodeTooLarge, Message: fmt.Sprintf(
			"The request body may not be larger than %d bytes.", tooLarge.Most)})
	case errors.Is(err, kernel.ErrPreconditionFailed):
		writeFailure(w, http.StatusPreconditionFailed, failure{
			Message: "The object is not the one that If-Match or If-None-Match expects.", Code: CodePrecondition})
	case errors.Is(err, kernel.ErrInProgress):
		writeFailure(w, http.StatusConflict, failure{
			Message: "A request with this Idempotency-Key is still being answered.", Code: CodeInProgress})
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		// The client has disconnected and gets no response.
		writeFailure(w, http.StatusServiceUnavailable, failure{
			Message: "The request was cancelled.", Code: CodeUnknownOutcome,
		})
	case errors.Is(err, kernel.ErrUnknownOutcome):
		log.LogAttrs(r.Context(), slog.LevelDebug, "the outcome of a request is unknown", failureAttrs(r, err)...)
		h.Set("Retry-After", strconv.Itoa(busyRetry))
		writeFailure(w, http.StatusServiceUnavailable, failure{
			Code: CodeUnknownOutcome, Message: "The change may or may not have been saved: " +
				"the database did not confirm it. Please check, or repeat the request, a POST with the same " +
				"Idempotency-Key.",
		})
	case errors.Is(err, kernel.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		log.LogAttrs(r.Context(), slog.LevelDebug, "a request could not be served now", failureAttrs(r, err)...)
		h.Set("Retry-After", strconv.Itoa(busyRetry))
		writeFailure(w, http.StatusServiceUnavailable, failure{
			Message: "The service cannot do this right now. Please try again.", Code: CodeBusy})
	default:
		id := "err_" + strings.ToLower(rand.Text()[:20])
		log.LogAttrs(r.Context(), slog.LevelError, "a request failed",
			append([]slog.Attr{slog.String("id", id)}, failureAttrs(r, err)...)...)
		writeFailure(w, http.StatusInternalServerError, failure{
			Message: "Something went wrong on our side.", Code: CodeInternal, ID: id})
	}
}

// failureAttrs returns the attributes of the log entry of a request that failed.
func failureAttrs(r *http.Request, err error) []slog.Attr {
	return []slog.Attr{slog.String("method", r.Method), slog.String("route", r.Pattern), slog.Any("error", err)}
}

func writeFailure(w http.ResponseWriter, status int, f failure) {
	body, err := jsonobject.Marshal(f)
	if err != nil { // impossible for strings
		panic(err)
	}
	WriteJSON(w, status, body)
}

// ceilUnix returns t in Unix seconds, rounded up.
func ceilUnix(t time.Time) int64 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return s
}

// Sentence summarises a validation error in one line: the first error, with fields in alphabetical order, and the
// number of other errors.
func Sentence(bad *kernel.ValidationError) string {
	if len(bad.Problems) == 0 {
		return ""
	}
	first := bad.Sorted()[0].Message()
	switch others := len(bad.Problems) - 1; {
	case others == 1:
		return first + " (And 1 more error.)"
	case others > 1:
		return fmt.Sprintf("%s (And %d more errors.)", first, others)
	}
	return first
}
