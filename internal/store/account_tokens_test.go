package store_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

func TestTokens(t *testing.T) {
	inWorlds(t, func(w *world) {
		issued := must(w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "ci", Scope: kernel.ScopeWrite}))(w)
		got := must(w.Authenticate(w.ctx, issued.Secret))(w)
		if !reflect.DeepEqual(got, issued.Token) {
			w.Errorf("authenticated %+v, want %+v", got, issued.Token)
		}
		for _, secret := range []string{
			"", "x", issued.Secret + "x", strings.ToLower(issued.Secret), issued.ID, "\x00", "' OR ''='",
		} {
			if _, err := w.Authenticate(w.ctx, secret); !errors.Is(err, kernel.ErrUnauthenticated) {
				w.Errorf("secret %q: %v", secret, err)
			}
		}
		if strings.Contains(w.dump(), issued.Secret) {
			w.Error("the secret is stored")
		}
		lastUsed := func() time.Time {
			for _, token := range tokensIn(w, w.ws) {
				if token.ID == issued.ID {
					return token.LastUsedAt
				}
			}
			return time.Time{}
		}
		if !lastUsed().Equal(w.clock.now()) {
			w.Errorf("last used %v, want now", lastUsed())
		}
		w.clock.move(2 * time.Minute)
		must(w.Authenticate(w.ctx, issued.Secret))(w)
		if !lastUsed().Equal(w.clock.now()) {
			w.Errorf("last used %v, want now", lastUsed())
		}

		w.ok(w.RevokeToken(w.ctx, w.ws, issued.ID))
		if _, err := w.Authenticate(w.ctx, issued.Secret); !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("revoked: %v", err)
		}
		at := w.clock.now()
		w.clock.move(time.Hour)
		w.ok(w.RevokeToken(w.ctx, w.ws, issued.ID))
		w.ok(w.RevokeAnyToken(w.ctx, issued.ID))
		for _, token := range tokensIn(w, w.ws) {
			if token.ID == issued.ID && !token.RevokedAt.Equal(at) {
				w.Errorf("revoked again: %+v, want the first time kept", token)
			}
		}
		_, err := w.IssueToken(w.ctx, w.ws, account.NewToken{Name: " ", Scope: "root"})
		if invalid := new(kernel.ValidationError); !errors.As(err, &invalid) || len(invalid.Messages()) != 2 {
			w.Errorf("a token without a name, of no scope: %v", err)
		}
	})
}

func tokensIn(w *world, workspace kernel.Actor) []account.Token {
	w.Helper()
	tokens, total, err := w.Tokens(w.ctx, workspace, store.Pagination{Page: 1, PerPage: 100})
	w.ok(err)
	if total != len(tokens) {
		w.Errorf("total %d of %d tokens", total, len(tokens))
	}
	return tokens
}

func TestTokenRevokedOnOneReplicaIsRefusedByTheOther(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		other := w.replica()
		issued := must(w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "ci", Scope: kernel.ScopeRead}))(w)
		must(other.Authenticate(w.ctx, issued.Secret))(w)
		w.ok(w.RevokeToken(w.ctx, w.ws, issued.ID))
		if _, err := other.Authenticate(w.ctx, issued.Secret); !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("revoked: %v", err)
		}
	})
}

func TestFirstTokenAndBootstrap(t *testing.T) {
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		s := storetest.Open(t, dsn, store.Options{})
		secret := account.NewTokenSecret()
		first, err := s.CreateFirstToken(t.Context(), secret)
		if err != nil || !first {
			t.Fatalf("first start: %t, %v", first, err)
		}
		if token := must(s.Authenticate(t.Context(), secret))(t); token.Scope != kernel.ScopeAdmin {
			t.Errorf("the first token: %+v", token)
		}
		if first, err := s.CreateFirstToken(t.Context(), secret); err != nil || !first {
			t.Errorf("the same start, after an unknown outcome: %t, %v", first, err)
		}
		if first, err := s.CreateFirstToken(t.Context(), account.NewTokenSecret()); err != nil || first {
			t.Errorf("second start: %t, %v", first, err)
		}
		const chosen = "correct-horse-battery-staple-0123456789"
		for range 2 {
			if done, err := s.Bootstrap(t.Context(), chosen); err != nil || !done.Active || len(done.Revoked) > 0 {
				t.Fatalf("bootstrap: %+v, %v", done, err)
			}
		}
		token := must(s.Authenticate(t.Context(), chosen))(t)
		all := must(s.AllTokens(t.Context()))(t)
		if len(all) != 2 || all[1].Workspace != account.DefaultWorkspace || all[0].WorkspaceID != token.WorkspaceID {
			t.Errorf("tokens: %+v, want two of the first workspace", all)
		}
		if err := s.RevokeAnyToken(t.Context(), token.ID); err != nil {
			t.Fatal(err)
		}
		if done, err := s.Bootstrap(t.Context(), chosen); err != nil || done.Active {
			t.Fatalf("bootstrap with a revoked token: %+v, %v", done, err)
		}
		if _, err := s.Authenticate(t.Context(), chosen); !errors.Is(err, kernel.ErrUnauthenticated) {
			t.Errorf("a revoked bootstrap token came back to life: %v", err)
		}
		for _, weak := range []string{"", "short", strings.Repeat("a", 31), strings.Repeat("a b", 20)} {
			if _, err := s.Bootstrap(t.Context(), weak); err == nil {
				t.Errorf("bootstrap token %q was taken", weak)
			}
		}
	})
}

// TestBootstrapTokenReplaced walks through a rolling deployment: the new value
// revokes the old one, for good, and touches no other token.
func TestBootstrapTokenReplaced(t *testing.T) {
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		s := storetest.Open(t, dsn, store.Options{})
		ctx := t.Context()
		by := func(letter string) string { return strings.Repeat(letter, 40) }
		works := func(want bool, secrets ...string) {
			t.Helper()
			for _, secret := range secrets {
				_, err := s.Authenticate(ctx, secret)
				if err != nil && !errors.Is(err, kernel.ErrUnauthenticated) || (err == nil) != want {
					t.Errorf("token %.3s…: %v, want it in force: %t", secret, err, want)
				}
			}
		}
		must(s.Bootstrap(ctx, by("a")))(t)
		first := must(s.Authenticate(ctx, by("a")))(t)
		hand := must(s.IssueTokenFor(ctx, account.DefaultWorkspace, account.NewToken{
			Name: "bootstrap", Scope: kernel.ScopeAdmin,
		}))(t)
		works(true, by("a"), hand.Secret)

		done := must(s.Bootstrap(ctx, by("b")))(t)
		if !done.Active || !slices.Equal(done.Revoked, []string{first.ID}) {
			t.Errorf("the new value: %+v, want %s revoked", done, first.ID)
		}
		works(true, by("b"), hand.Secret)
		works(false, by("a"))
		// A replica that still has the old value starts again.
		if done := must(s.Bootstrap(ctx, by("a")))(t); done.Active || len(done.Revoked) > 0 {
			t.Errorf("the old value again: %+v", done)
		}
		works(true, by("b"), hand.Secret)
		works(false, by("a"))
		// A token that was issued by hand becomes the bootstrap token.
		if done := must(s.Bootstrap(ctx, hand.Secret))(t); !done.Active || len(done.Revoked) != 1 {
			t.Errorf("a token that exists: %+v", done)
		}
		works(true, hand.Secret)
		works(false, by("a"), by("b"))
	})
}

// TestRevokedTokensAreNoFirstStart checks that a restart creates no new admin token after
// all tokens have been revoked.
func TestRevokedTokensAreNoFirstStart(t *testing.T) {
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		secret := account.NewTokenSecret()
		must(s.CreateFirstToken(t.Context(), secret))(t)
		token := must(s.Authenticate(t.Context(), secret))(t)
		if err := s.RevokeAnyToken(t.Context(), token.ID); err != nil {
			t.Fatal(err)
		}
		if first, err := s.CreateFirstToken(t.Context(), account.NewTokenSecret()); err != nil || first {
			t.Errorf("a start after the revocation: %t, %v", first, err)
		}
	})
}

func TestFirstTokenIsIssuedByOneReplica(t *testing.T) {
	t.Parallel()
	dsn := storetest.PostgreSQL(t)
	var firsts, tokens = make(chan bool, 8), make(chan error, 8)
	var starts []func()
	for range 4 {
		s := storetest.Open(t, dsn, store.Options{})
		starts = append(starts, func() {
			first, err := s.CreateFirstToken(t.Context(), account.NewTokenSecret())
			firsts <- first
			tokens <- err
		}, func() {
			_, err := s.Bootstrap(t.Context(), strings.Repeat("b", 40))
			tokens <- err
		})
	}
	together(starts[0], starts[2], starts[4], starts[6])
	together(starts[1], starts[3], starts[5], starts[7])
	n := 0
	for range 4 {
		if <-firsts {
			n++
		}
	}
	for range 8 {
		if err := <-tokens; err != nil {
			t.Error(err)
		}
	}
	if all := must(storetest.Open(t, dsn, store.Options{}).AllTokens(t.Context()))(t); n != 1 || len(all) != 2 {
		t.Errorf("%d first tokens, %d tokens; want 1 and 2", n, len(all))
	}
}

// TestRevokedTokenChangesNothing tries every verb that changes something with a token that
// was revoked, and with a session that was ended, after the request was authenticated.
func TestRevokedTokenChangesNothing(t *testing.T) {
	inWorlds(t, func(w *world) {
		x := w.things()
		issued := must(w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "ci", Scope: kernel.ScopeAdmin}))(w)
		w.ok(w.RevokeToken(w.ctx, w.ws, issued.ID))
		in := must(w.FindSession(w.ctx, setUp(w)))(w)
		session := in.Actor("")
		w.ok(w.EndSession(w.ctx, session, in.ID))
		for what, actor := range map[string]kernel.Actor{
			"a revoked token": issued.Actor(""), "an ended session": session,
		} {
			before := w.dump()
			for name, try := range verbs {
				if try == nil || name == "IssueToken" || slices.Contains(reading, name) {
					continue
				}
				if err := try(w.Store, w.ctx, actor, x); !errors.Is(err, kernel.ErrUnauthenticated) {
					w.Errorf("%s with %s: %v", name, what, err)
				}
			}
			newToken := account.NewToken{Name: "more", Scope: kernel.ScopeAdmin}
			if _, err := w.IssueToken(w.ctx, actor, newToken); !errors.Is(err, kernel.ErrUnauthenticated) {
				w.Errorf("IssueToken with %s: %v", what, err)
			}
			check := store.DomainCheck{PageID: x.page, Domain: "status.example.com", Actor: actor}
			_, err := w.RecordDomainCheck(w.ctx, check, statuspage.DomainFound)
			if !errors.Is(err, kernel.ErrUnauthenticated) {
				w.Errorf("RecordDomainCheck with %s: %v", what, err)
			}
			_, setting := w.SetAuthenticator(w.ctx, actor, "x", 1)
			_, renewing := w.RenewRecoveryCodes(w.ctx, actor)
			for name, err := range map[string]error{
				"SetAuthenticator": setting, "RenewRecoveryCodes": renewing,
				"RemoveAuthenticator": w.RemoveAuthenticator(w.ctx, actor),
				"AddPasskey":          w.AddPasskey(w.ctx, actor, account.Passkey{Name: "x"}),
				"RenamePasskey":       w.RenamePasskey(w.ctx, actor, "x", "x"),
				"RemovePasskey":       w.RemovePasskey(w.ctx, actor, "x"),
				"ConfirmWithPasskey":  w.ConfirmWithPasskey(w.ctx, actor, account.Passkey{}, 1),

				"ChangePassword":   w.ChangePassword(w.ctx, actor, "x"),
				"EndOtherSessions": w.EndOtherSessions(w.ctx, actor),
				"ConfirmSession":   w.ConfirmSession(w.ctx, actor),
				"ChangeUser": w.ChangeUser(w.ctx, actor, func(u *account.User) error {
					u.Name = "x"
					return nil
				}),
				"SwitchWorkspace": w.SwitchWorkspace(w.ctx, actor, actor.WorkspaceID),
			} {
				if !errors.Is(err, kernel.ErrUnauthenticated) {
					w.Errorf("%s with %s: %v", name, what, err)
				}
			}
			if w.dump() != before {
				w.Errorf("%s changed something", what)
			}
		}
	})
}

// TestRevocationWaitsForWrites revokes a token in the middle of a write of another replica.
// No write is committed after RevokeToken has returned.
func TestRevocationWaitsForWrites(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		other := w.replica()
		issued := must(w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "ci", Scope: kernel.ScopeWrite}))(w)
		done := make(chan struct{})
		var committed string
		w.interrupt("before", "COMMIT", func() {
			go func() {
				defer close(done)
				if err := other.RevokeToken(w.ctx, w.ws, issued.ID); err != nil {
					w.Error(err)
				}
				committed = w.value(`SELECT count(*) FROM components WHERE name = 'Last'`)
			}()
			w.untilWaiting(done)
		})
		must(w.Components().Create(w.ctx, issued.Actor(""), "acme",
			resource.Component.From(statuspage.Component{Name: "Last"})))(w)
		<-done
		if committed != "1" {
			w.Error("the component was committed after the token was revoked")
		}
		_, err := w.Components().Create(w.ctx, issued.Actor(""), "acme",
			resource.Component.From(statuspage.Component{Name: "Late"}))
		if !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("after the revocation: %v", err)
		}
	})
}

// TestTokensRevokeEachOther: revocations at the same time do not wait for each other.
func TestTokensRevokeEachOther(t *testing.T) {
	inWorlds(t, func(w *world) {
		for range 5 {
			a := must(w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "a", Scope: kernel.ScopeAdmin}))(w)
			b := must(w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "b", Scope: kernel.ScopeAdmin}))(w)
			revoke := func(by, token account.IssuedToken) func() {
				return func() {
					err := w.RevokeToken(w.ctx, by.Actor(""), token.ID)
					if err != nil && !errors.Is(err, kernel.ErrUnauthenticated) {
						w.Error(err)
					}
				}
			}
			together(revoke(a, b), revoke(b, a), revoke(a, a), revoke(b, b))
			if n := w.value(`SELECT count(*) FROM tokens WHERE name IN ('a', 'b') AND revoked_at IS NULL`); n == "2" {
				w.Error("no token was revoked")
			}
		}
	})
}
