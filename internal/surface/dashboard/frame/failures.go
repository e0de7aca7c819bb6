package frame

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/signin/password"
	"github.com/allswell/allswell/internal/surface/web"
)

// ErrForbidden means that the member's role does not allow the request.
var ErrForbidden = errors.New("the role does not allow this")

// ErrSignedOut means that the visitor has to sign in first.
var ErrSignedOut = errors.New("nobody is signed in")

// errOtherWorkspace means that another tab has switched to another workspace since a form was shown.
var errOtherWorkspace = errors.New("the form is of another workspace")

// errBadForm means that the body of a request is not a form, or too large.
var errBadForm = errors.New("the form cannot be read")

// errNotText means that a field of a form is not UTF-8, or contains NUL.
var errNotText = errors.New("the form contains what is no text")

// Failure is the data of the screen of an error.
type Failure struct {
	Status int
	Title  string
	Text   string

	Next  string // URL of the link; "": the overview
	Alone bool   // nobody is signed in, or it is not known who
}

// FailureRow determines the answer to errors of one kind. A room has rows for its own errors.
type FailureRow struct {
	Matches func(error) bool
	Answer  func(*Request, error) Failure // the zero value: it has answered
}

// FixedFailure returns the row of an error that always has the same screen.
func FixedFailure(err error, status int, title, text string) FailureRow {
	return failureBy(err, func(*Request, error) Failure { return Failure{Status: status, Title: title, Text: text} })
}

// failureBy returns the row of an error whose screen answer makes for the request.
func failureBy(err error, answer func(*Request, error) Failure) FailureRow {
	return FailureRow{func(e error) bool { return errors.Is(e, err) }, answer}
}

// failures are the errors that every room can return. An error that wraps another one is listed before it.
var failures = []FailureRow{
	FixedFailure(kernel.ErrNotFound, http.StatusNotFound, "Not found", "There is no such page, or it was deleted."),
	failureBy(ErrForbidden, func(r *Request, _ error) Failure {
		return Failure{
			Status: http.StatusForbidden, Title: "Not allowed",
			Text: fmt.Sprintf("Your role in this workspace, %s, does not allow this. An admin or owner can change it.",
				r.SignedIn.Role),
		}
	}),
	FixedFailure(kernel.ErrPageLimited, http.StatusForbidden, "Not allowed",
		"You are limited to some pages of this workspace, and this is about all of it. An admin or owner can change "+
			"it."),
	failureBy(ErrSignedOut, func(r *Request, _ error) Failure {
		r.askToSignIn()
		return Failure{}
	}),
	failureBy(kernel.ErrUnauthenticated, func(r *Request, _ error) Failure {
		r.SessionCookie.Clear(r.W)
		r.askToSignIn()
		return Failure{}
	}),
	{
		func(err error) bool { return errors.As(err, new(*TooManyAttempts)) },
		func(r *Request, err error) Failure {
			var tooMany *TooManyAttempts
			errors.As(err, &tooMany)
			r.W.Header().Set("Retry-After", tooMany.RetryAfter())
			return Failure{
				Status: http.StatusTooManyRequests, Title: "Too many attempts",
				Text: "Please try again in some minutes.",
			}
		},
	},
	failureBy(errBadForm, func(r *Request, _ error) Failure {
		return Failure{
			Status: http.StatusRequestEntityTooLarge, Title: "The form could not be read",
			Text: fmt.Sprintf("It may have at most %d KiB.", r.maxForm()>>10),
		}
	}),
	FixedFailure(errOtherWorkspace, http.StatusConflict, "You have switched to another workspace",
		"The form was opened in a workspace other than this one. Nothing was saved. Switch back, and send the form "+
			"again."),
	FixedFailure(errNotText, http.StatusBadRequest, "The form could not be read",
		"It may contain only text in UTF-8. Please go back and try again."),
	FixedFailure(kernel.ErrPreconditionFailed, http.StatusConflict, "Someone else has changed this",
		"It was changed after you opened it. Nothing was saved. Go back, reload, and review the change first."),
	FixedFailure(kernel.ErrUnknownOutcome, http.StatusServiceUnavailable, "The change may have been saved",
		"The database did not confirm the change. Check whether it was saved before you try again."),
	FixedFailure(password.ErrBusy, http.StatusServiceUnavailable, "Too many passwords are being checked",
		"Nothing was changed. Please try again in a moment."),
	FixedFailure(errExports, http.StatusServiceUnavailable, "Too many lists are being downloaded",
		"Please try again when a download has ended."),
	FixedFailure(web.ErrBodies, http.StatusServiceUnavailable, "Too many large forms are being read",
		"Nothing was changed. Please try again in a moment."),
	busy,
}

var busy = FixedFailure(kernel.ErrBusy, http.StatusServiceUnavailable, "The database cannot be reached",
	"Nothing was changed. Please try again in a moment.")

// failureOf returns the screen of an error: by the rows of the rooms, and then by failures.
func (r *Request) failureOf(err error) Failure {
	for _, room := range r.rooms {
		for _, row := range room.Failures {
			if row.Matches(err) {
				return row.Answer(r, err)
			}
		}
	}
	for _, row := range failures {
		if row.Matches(err) {
			return row.Answer(r, err)
		}
	}
	if r.Context().Err() != nil {
		return busy.Answer(r, err)
	}
	r.Log.ErrorContext(r.Context(), "a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	return Failure{
		Status: http.StatusInternalServerError, Title: "Something went wrong",
		Text: "The error is in the log of the service. Please try again.",
	}
}

// fail answers with the screen of an error.
func (r *Request) fail(err error) {
	f := r.failureOf(err)
	if f.Status == 0 {
		return
	}
	if f.Status == http.StatusServiceUnavailable {
		r.W.Header().Set("Retry-After", BusyRetryAfter)
		r.Log.Log(r.Context(), slog.LevelDebug, "a request could not be served now", "path", r.URL.Path, "error", err)
		if r.Method == http.MethodGet {
			f.Next = r.URL.RequestURI()
		}
	}
	if err := r.ShowFailure(f); err != nil {
		http.Error(r.W, f.Title, f.Status)
	}
}

// ShowFailure answers with the screen of a failure.
func (r *Request) ShowFailure(f Failure) error {
	f.Alone = r.SignedIn.ID == ""
	return r.Show(f.Status, "error", f.Title, f)
}
