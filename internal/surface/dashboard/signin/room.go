// Package signin is the room of the dashboard in which people sign in, manage their account, and invite others.
package signin

import (
	"context"
	"embed"
	"errors"
	"net/http"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/passkey"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// Config configures the room.
type Config struct {
	SingleSignOn SingleSignOn
	// SendMail sends a mail in plain text immediately. Nil: mail is off.
	SendMail func(ctx context.Context, to, subject, text string) error
}

// Screens has what the screens of the room share.
type Screens struct {
	Config
	frame *frame.Frame
	// nil: browsers create none for the base URL
	Passkeys *passkey.RelyingParty
	matches  func(ctx context.Context, asker password.Asker, hash, typed string) (bool, error) // password.Matches
	forgot   *forgot
	invited  invited
}

// New returns the screens.
func New(f *frame.Frame, c Config) *Screens {
	return &Screens{
		Config: c, frame: f, Passkeys: passkey.New(f.Base), matches: password.Matches, forgot: newForgot(),
		invited: newInvited(),
	}
}

// Gate returns the functions of this room for the other rooms.
func (s *Screens) Gate() frame.Gate {
	return frame.Gate{
		AdmitByProxy: func(r *frame.Request, route frame.Route) error { return s.enter(r).admitByProxy(route) },
		Confirm:      func(r *frame.Request) (bool, error) { return s.enter(r).confirm() },
	}
}

// request is a request for a screen of this room.
type request struct {
	*frame.Request
	*Screens

	refusedStatus int // of an attempt that refuseAttempt has refused; 0: none was
}

func (s *Screens) enter(r *frame.Request) *request { return &request{Request: r, Screens: s} }

//go:embed templates
var templateFiles embed.FS

var templates = frame.ParseTemplates(templateFiles, nil)

// Room returns the room for the frame.
func (s *Screens) Room() frame.Room {
	return frame.Room{Routes: frame.Bind(s.enter, routes), Templates: templates, Failures: failures}
}

// errBadCode means that a one-time code is unknown, was used, or has expired.
var errBadCode = errors.New("the code is not valid")

// failures are the errors that only this room returns.
var failures = []frame.FailureRow{
	{
		Matches: func(err error) bool { return errors.As(err, new(account.IdentityError)) },
		Answer: func(r *frame.Request, err error) frame.Failure {
			var identity account.IdentityError
			errors.As(err, &identity)
			r.Log.WarnContext(r.Context(), "a sign-in through the reverse proxy failed", "error", err)
			return frame.Failure{Status: http.StatusForbidden, Title: "You cannot sign in", Text: identity.Error()}
		},
	},
	frame.FixedFailure(errBadCode, http.StatusNotFound, "This link is no longer valid",
		"It works once, and for a limited time. Ask the person who sent it for a new one. "+
			"On the server, the command allswell setup-link prints a new link for the first account, and allswell "+
			"user reset EMAIL one for a new password."),
	frame.FixedFailure(errByProxy, http.StatusForbidden, "Not with this sign-in",
		"The reverse proxy has signed you in, so you cannot change passkeys, authenticator apps or recovery codes "+
			"here. If you have a password, sign out, and sign in with it first."),
}
