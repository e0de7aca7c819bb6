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

// FailPanic recovers a panic of the function that defers it, and calls fail with it as an error. It panics again with
// http.ErrAbortHandler.
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

// PreferProblems is the preference (RFC 7240) of clients that word errors themselves.
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

// answer is the response to an error.
type answer struct {
	status int
	failure
	header map[string]string
	event  string // of the log, at level debug; "": none
}

// answerTo returns the response to an error, and whether the error is of its kind.
type answerTo func(r *http.Request, err error) (answer, bool)

// toError returns an answerTo for errors that wrap known.
func toError(known error, a answer) answerTo {
	return func(_ *http.Request, err error) (answer, bool) { return a, errors.Is(err, known) }
}

// toType returns an answerTo for errors of a type.
func toType[E error](respond func(*http.Request, E) answer) answerTo {
	return func(r *http.Request, err error) (answer, bool) {
		var e E
		if !errors.As(err, &e) {
			return answer{}, false
		}
		return respond(r, e), true
	}
}

// answers are the responses to the errors that handlers return. The first one that matches is sent.
var answers = []answerTo{
	toType(invalidAnswer),
	toError(kernel.ErrNotFound, answer{status: http.StatusNotFound, failure: failure{Message: "Not found."}}),
	toError(kernel.ErrUnauthenticated, answer{
		status: http.StatusUnauthorized, failure: failure{Message: "Unauthenticated."},
		header: map[string]string{"WWW-Authenticate": "Bearer"},
	}),
	toType(func(_ *http.Request, e *Forbidden) answer {
		text := fmt.Sprintf("This token has the scope %s; this call needs %s.", e.Has, e.Needs)
		return answer{status: http.StatusForbidden, failure: failure{Message: text, Code: CodeForbidden}}
	}),
	toError(kernel.ErrPageLimited, answer{status: http.StatusForbidden, failure: failure{
		Message: "This token is limited to some pages; this call needs all of them.", Code: CodeForbidden,
	}}),
	toType(func(_ *http.Request, e *MethodNotAllowed) answer {
		return answer{
			status:  http.StatusMethodNotAllowed,
			failure: failure{Message: "Method not allowed.", Code: CodeMethodNotAllowed},
			header:  map[string]string{"Allow": strings.Join(e.Allow, ", ")},
		}
	}),
	toType(rateLimitedAnswer),
	toType(func(_ *http.Request, e *TooLarge) answer {
		text := fmt.Sprintf("The request body may not be larger than %d bytes.", e.Most)
		return answer{status: http.StatusRequestEntityTooLarge, failure: failure{Message: text, Code: CodeTooLarge}}
	}),
	toError(kernel.ErrPreconditionFailed, answer{status: http.StatusPreconditionFailed, failure: failure{
		Message: "The object is not the one that If-Match or If-None-Match expects.", Code: CodePrecondition,
	}}),
	toError(kernel.ErrInProgress, answer{status: http.StatusConflict, failure: failure{
		Message: "A request with this Idempotency-Key is still being answered.", Code: CodeInProgress,
	}}),
	func(r *http.Request, err error) (answer, bool) {
		// The client has disconnected and gets no response.
		a := answer{status: http.StatusServiceUnavailable, failure: failure{
			Message: "The request was cancelled.", Code: CodeUnknownOutcome,
		}}
		return a, errors.Is(err, context.Canceled) && r.Context().Err() != nil
	},
	toError(kernel.ErrUnknownOutcome, answer{
		status: http.StatusServiceUnavailable, failure: failure{
			Message: "The change may or may not have been saved: the database did not confirm it. " +
				"Please check, or repeat the request, a POST with the same Idempotency-Key.",
			Code: CodeUnknownOutcome,
		},
		header: retryLater, event: "the outcome of a request is unknown",
	}),
	toError(kernel.ErrBusy, busyAnswer),
	toError(context.DeadlineExceeded, busyAnswer),
}

var busyAnswer = answer{
	status: http.StatusServiceUnavailable, failure: failure{
		Message: "The service cannot do this right now. Please try again.", Code: CodeBusy,
	},
	header: retryLater, event: "a request could not be served now",
}

// retryLater is the Retry-After header of a 503, in seconds. A client that tries a few times survives a restart or a
// failover.
var retryLater = map[string]string{"Retry-After": "5"}

func invalidAnswer(r *http.Request, e *kernel.ValidationError) answer {
	body := failure{Message: Sentence(e), Code: CodeInvalid, Errors: e.Messages()}
	if prefers(r, PreferProblems) {
		body.Problems = e.Sorted()
	}
	return answer{status: http.StatusUnprocessableEntity, failure: body}
}

func rateLimitedAnswer(_ *http.Request, e *TooMany) answer {
	wait := math.Ceil(e.Reset.Sub(e.Now).Seconds())
	header := map[string]string{
		"Retry-After":       strconv.Itoa(max(1, int(wait))),
		"X-RateLimit-Reset": strconv.FormatInt(ceilUnix(e.Reset), 10),
	}
	if e.Limit > 0 {
		header["X-RateLimit-Limit"] = strconv.Itoa(e.Limit)
		header["X-RateLimit-Remaining"] = "0"
	}
	return answer{
		status: http.StatusTooManyRequests, header: header,
		failure: failure{Message: "Too many requests.", Code: CodeRateLimited},
	}
}

// Fail answers r with the status and the JSON body for err. It never sends the text of err. An unknown error is an
// internal error: the response is 500 with an id, and the log contains the id with the text.
func Fail(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	for _, row := range answers {
		a, ok := row(r, err)
		if !ok {
			continue
		}
		if a.event != "" {
			log.LogAttrs(r.Context(), slog.LevelDebug, a.event, failureAttrs(r, err)...)
		}
		for name, value := range a.header {
			w.Header().Set(name, value)
		}
		writeFailure(w, a.status, a.failure)
		return
	}
	id := "err_" + strings.ToLower(rand.Text()[:20])
	log.LogAttrs(r.Context(), slog.LevelError, "a request failed",
		append([]slog.Attr{slog.String("id", id)}, failureAttrs(r, err)...)...)
	writeFailure(w, http.StatusInternalServerError, failure{
		Message: "Something went wrong on our side.", Code: CodeInternal, ID: id,
	})
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

// Sentence summarizes a validation error in one line: the first error, with fields in alphabetical order, and the
// number of other errors; "" without errors.
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
