package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// withAuthenticator sets up an owner with an authenticator app. Step 100 is the last that was accepted.
func (w *world) withAuthenticator() (owner kernel.Actor, recoveryCodes []string) {
	w.Helper()
	in := must(w.FindSession(w.ctx, setUp(w)))(w)
	owner = in.Actor("192.0.2.1")
	return owner, must(w.SetAuthenticator(w.ctx, owner, "SECRET", 100))(w)
}

func TestAuthenticatorAppIsSetUpOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		in := must(w.FindSession(w.ctx, setUp(w)))(w)
		actor := in.Actor("192.0.2.1")
		other := must(w.StartSession(w.ctx, in.User.ID, account.SignInPassword, store.Browser{}))(w)
		enter := must(w.IssueEnterCode(w.ctx, in.User.ID))(w)
		if _, err := w.RenewRecoveryCodes(w.ctx, actor); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("recovery codes without an authenticator app: %v", err)
		}
		codes := must(w.SetAuthenticator(w.ctx, actor, "SECRET", 100))(w)
		if len(codes) != account.RecoveryCodeCount ||
			strings.Contains(w.dump(), strings.ReplaceAll(codes[0], "-", "")) {
			w.Errorf("recovery codes %q", codes)
		}
		if _, err := w.FindSession(w.ctx, other); !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("another session after the change: %v", err)
		}
		if _, err := w.SignInWithCode(w.ctx, enter, store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("an earlier code after the change: %v", err)
		}
		if _, err := w.SetAuthenticator(w.ctx, actor, "OTHER", 100); !errors.Is(err, kernel.ErrPreconditionFailed) {
			w.Errorf("a second authenticator app: %v", err)
		}
	})
}

func TestSignInNeedsTheAuthenticatorApp(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.withAuthenticator()
		code := w.pendingSignIn()
		w.refusesFactor("the code that has proved the app", code, store.SecondFactor{Step: 100}, store.ErrWrongFactor)
		w.refusesFactor("an older code", code, store.SecondFactor{Step: 99}, store.ErrWrongFactor)
		w.refusesFactor("no recovery code", code, store.SecondFactor{}, store.ErrWrongFactor)
		w.refusesFactor("a wrong recovery code", code, store.SecondFactor{RecoveryCode: "AAAA"}, store.ErrWrongFactor)
		w.refusesFactor("no sign-in under way", "x", store.SecondFactor{Step: 101}, kernel.ErrNotFound)
		must(w.FindSession(w.ctx,
			must(w.FinishSignIn(w.ctx, code, store.SecondFactor{Step: 101}, store.Browser{}))(w)))(w)
		w.refusesFactor("a finished sign-in", code, store.SecondFactor{Step: 102}, kernel.ErrNotFound)
		code = w.pendingSignIn()
		w.refusesFactor("a code used twice", code, store.SecondFactor{Step: 101}, store.ErrWrongFactor)
		w.clock.move(account.SecondFactorCodeAge)
		w.refusesFactor("an expired sign-in", code, store.SecondFactor{Step: 102}, kernel.ErrNotFound)
	})
}

func TestRecoveryCodesReplaceTheAuthenticatorApp(t *testing.T) {
	inWorlds(t, func(w *world) {
		actor, codes := w.withAuthenticator()
		code := w.pendingSignIn()
		must(w.FinishSignIn(w.ctx, code, store.SecondFactor{RecoveryCode: strings.ToLower(codes[0])},
			store.Browser{Address: "192.0.2.9"}))(w)
		w.refusesFactor("a recovery code used twice", w.pendingSignIn(), store.SecondFactor{RecoveryCode: codes[0]},
			store.ErrWrongFactor)
		f := must(w.Factors(w.ctx, actor))(w)
		if f.RecoveryCodes != account.RecoveryCodeCount-1 || !f.HasAuthenticator() {
			w.Errorf("factors %+v", f)
		}
		log, _, err := w.AuditLog(w.ctx, actor, kernel.AuditFilter{ObjectKind: kernel.ObjectUser}, "", 10)
		w.ok(err)
		if len(log) != 2 || string(log[0].After) != `{"recovery_codes":9}` || log[0].Actor.Address != "192.0.2.9" ||
			log[0].Actor.Name != "Ada" {
			w.Errorf("audit entries %+v", log)
		}
		if users := must(w.Users(w.ctx))(w); users[0].Factors.String() != "authenticator" {
			w.Errorf("users %+v", users)
		}

		renewed := must(w.RenewRecoveryCodes(w.ctx, actor))(w)
		w.refusesFactor("a recovery code from before the renewal", w.pendingSignIn(),
			store.SecondFactor{RecoveryCode: codes[1]}, store.ErrWrongFactor)
		must(w.FinishSignIn(w.ctx, w.pendingSignIn(), store.SecondFactor{RecoveryCode: renewed[0]}, store.Browser{}))(w)
	})
}

func TestNewPasswordKeepsTheSecondFactor(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.withAuthenticator()
		reset := must(w.ResetPassword(w.ctx, must(w.IssueResetCode(w.ctx, "ada@example.com"))(w), "x",
			store.Browser{}))(w)
		if reset.Secret != "" {
			w.Error("a link for a new password signs in without the second factor")
		}
		actor := must(w.FindSession(w.ctx,
			must(w.FinishSignIn(w.ctx, reset.Pending, store.SecondFactor{Step: 500}, store.Browser{}))(w)))(w).Actor("")
		w.ok(w.RemoveAuthenticator(w.ctx, actor))
		if n := w.value(`SELECT count(*) FROM recovery_codes`); n != "0" {
			w.Errorf("%s recovery codes without an authenticator app", n)
		}
		if err := w.RemoveAuthenticator(w.ctx, actor); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("removed twice: %v", err)
		}
	})
}

func TestOperatorRemovesTheSecondFactor(t *testing.T) {
	inWorlds(t, func(w *world) {
		actor, _ := w.withAuthenticator()
		w.ok(w.RemoveFactors(w.ctx, "allswell user reset", "ADA@example.com"))
		if _, err := w.Sessions(w.ctx, actor); err != nil {
			w.Errorf("the sessions of the user afterwards: %v", err)
		}
		in := must(w.SignInWithPassword(w.ctx, must(w.Credentials(w.ctx, ada.Email))(w), store.Browser{}))(w)
		if in.Secret == "" {
			w.Error("the operator cannot remove the second factor")
		}
		log, _, err := w.AuditLog(w.ctx, actor, kernel.AuditFilter{ObjectKind: kernel.ObjectUser}, "", 1)
		w.ok(err)
		if log[0].Actor.Name != "allswell user reset" ||
			!strings.Contains(string(log[0].After), `"authenticator":false`) {
			w.Errorf("the audit entry of the operator: %+v", log[0])
		}
		if err := w.RemoveFactors(w.ctx, "x", "nobody@example.com"); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("nobody's factors: %v", err)
		}
	})
}

// pendingSignIn proves the password of the owner, and returns the code of the sign-in that lacks the second factor.
func (w *world) pendingSignIn() string {
	w.Helper()
	half := must(w.SignInWithPassword(w.ctx, must(w.Credentials(w.ctx, ada.Email))(w), store.Browser{}))(w)
	if half.Secret != "" || half.Pending == "" {
		w.Fatalf("the password alone leads to %+v", half)
	}
	if _, err := w.FindSession(w.ctx, half.Pending); !errors.Is(err, kernel.ErrUnauthenticated) {
		w.Errorf("the code of a sign-in under way is a session: %v", err)
	}
	return half.Pending
}

// refusesFactor checks that a second factor does not finish a sign-in, and changes nothing.
func (w *world) refusesFactor(what, code string, f store.SecondFactor, want error) {
	w.Helper()
	before := w.dump()
	if _, err := w.FinishSignIn(w.ctx, code, f, store.Browser{}); !errors.Is(err, want) {
		w.Errorf("%s: %v", what, err)
	}
	if w.dump() != before {
		w.Errorf("%s changes something", what)
	}
}

// TestPasswordChangedDuringSignIn finishes a sign-in whose password was checked before it was changed.
func TestPasswordChangedDuringSignIn(t *testing.T) {
	inWorlds(t, func(w *world) {
		in := must(w.FindSession(w.ctx, setUp(w)))(w)
		checked := must(w.Credentials(w.ctx, in.User.Email))(w)
		if err := w.ChangePassword(w.ctx, in.Actor(""), "another hash"); err != nil {
			w.Fatal(err)
		}
		if got, err := w.SignInWithPassword(w.ctx, checked, store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("sign-in after the change of the password: %+v, %v", got, err)
		}
	})
}

// TestOneCodeSignsInOnce uses one code of an authenticator app for two sign-ins at the same time.
func TestOneCodeSignsInOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		in := must(w.FindSession(w.ctx, setUp(w)))(w)
		must(w.SetAuthenticator(w.ctx, in.Actor(""), "SECRET", 100))(w)
		results := make(chan error, 4)
		for range cap(results) {
			pending := must(w.SignInWithPassword(w.ctx, must(w.Credentials(w.ctx, in.User.Email))(w),
				store.Browser{}))(w).Pending
			go func() {
				_, err := w.FinishSignIn(w.ctx, pending, store.SecondFactor{Step: 101}, store.Browser{})
				results <- err
			}()
		}
		accepted := 0
		for range cap(results) {
			if err := <-results; err == nil {
				accepted++
			} else if !errors.Is(err, store.ErrWrongFactor) {
				w.Error(err)
			}
		}
		if accepted != 1 {
			w.Errorf("one code was accepted %d times", accepted)
		}
	})
}
