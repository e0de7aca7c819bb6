package store_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// oneTimeCode is a kind of code that works once.
type oneTimeCode struct {
	age   time.Duration
	issue func() string
	take  func(code string) error
}

// oneTimeCodes returns every kind of code, of a user with an authenticator app.
func (w *world) oneTimeCodes(user kernel.Actor, email string) map[account.CodePurpose]oneTimeCode {
	w.Helper()
	b, step := store.Browser{Address: "192.0.2.9"}, int64(100)
	must(w.SetAuthenticator(w.ctx, user, "SECRET", step))(w)
	return map[account.CodePurpose]oneTimeCode{
		account.CodeSetup: {account.SetupCodeAge, func() string { return must(w.IssueSetupCode(w.ctx))(w) },
			func(code string) error { _, err := w.SetUp(w.ctx, code, ada, b); return err }},
		account.CodeReset: {account.ResetCodeAge, func() string { return must(w.IssueResetCode(w.ctx, email))(w) },
			func(code string) error { _, err := w.ResetPassword(w.ctx, code, "new hash", b); return err }},
		account.CodeEnter: {account.EnterCodeAge, func() string { return must(w.IssueEnterCode(w.ctx, user.ID))(w) },
			func(code string) error { _, err := w.SignInWithCode(w.ctx, code, b); return err }},
		account.CodeSecondFactor: {account.SecondFactorCodeAge, func() string {
			return must(w.SignInWithPassword(w.ctx, must(w.Credentials(w.ctx, email))(w), b))(w).Pending
		}, func(code string) error {
			step++ // one that has not been used
			_, err := w.FinishSignIn(w.ctx, code, store.SecondFactor{Step: step}, b)
			return err
		}},
		account.CodePasskey: {account.PasskeyChallengeAge,
			func() string { return must(w.IssuePasskeyChallenge(w.ctx, user.ID))(w) },
			func(code string) error { _, err := w.TakePasskeyChallenge(w.ctx, code); return err }},
		account.CodeState: {account.StateCodeAge, func() string { return must(w.IssueStateCode(w.ctx))(w) },
			func(code string) error { return w.TakeStateCode(w.ctx, code) }},
		"invitation": {account.InvitationAge, func() string {
			return must(w.Invite(w.ctx, w.ws, account.NewInvitation{
				Email: "bob@example.com", Role: kernel.RoleViewer,
			}))(w).Code
		}, func(code string) error {
			_, err := w.AcceptInvitation(w.ctx, code, store.Acceptance{Name: "Bob", PasswordHash: "hash"}, b)
			return err
		}},
	}
}

// TestCodesWorkForTheirPurposeOnly uses a code of each kind for every other purpose, which changes nothing: the code of
// a password reset, for example, does not sign in without the second factor.
func TestCodesWorkForTheirPurposeOnly(t *testing.T) {
	inWorlds(t, func(w *world) {
		codes := w.oneTimeCodes(w.signedIn(w.joined("grace@example.com", kernel.RoleViewer)), "grace@example.com")
		issued := map[account.CodePurpose]string{}
		for purpose, c := range codes {
			issued[purpose] = c.issue()
		}
		before := w.dump()
		for purpose, code := range issued {
			for other, c := range codes {
				if other == purpose {
					continue
				}
				if err := c.take(code); !errors.Is(err, kernel.ErrNotFound) {
					w.Errorf("a code for %s is used for %s: %v", purpose, other, err)
				}
				if _, err := w.FindCode(w.ctx, other, code); !errors.Is(err, kernel.ErrNotFound) {
					w.Errorf("a code for %s is found for %s: %v", purpose, other, err)
				}
			}
		}
		if w.dump() != before {
			w.Error("a code for another purpose changes something")
		}
		if _, err := w.FindInvitation(w.ctx, issued[account.CodeReset]); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a reset code is found as an invitation: %v", err)
		}
	})
}

// TestCodesWorkOnceWithinTheirAge uses a code of each kind in the last millisecond of its age, again, and a millisecond
// later.
func TestCodesWorkOnceWithinTheirAge(t *testing.T) {
	inWorlds(t, func(w *world) {
		codes := w.oneTimeCodes(w.signedIn(w.joined("grace@example.com", kernel.RoleViewer)), "grace@example.com")
		for _, purpose := range slices.Sorted(maps.Keys(codes)) {
			c := codes[purpose]
			expired := c.issue()
			w.clock.move(c.age)
			if err := c.take(expired); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("an expired code for %s: %v", purpose, err)
			}
			code := c.issue()
			w.clock.move(c.age - time.Millisecond)
			if err := c.take(code); err != nil {
				w.Errorf("a code for %s in the last millisecond: %v", purpose, err)
			}
			if err := c.take(code); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("a code for %s is used twice: %v", purpose, err)
			}
		}
	})
}
