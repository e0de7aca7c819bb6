package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

const issuer = "https://login.example.com"

// identity returns a verified identity with groups.
func identity(email string, groups ...string) account.Identity {
	name, _, _ := strings.Cut(email, "@")
	return account.Identity{
		Issuer: issuer, Subject: "sub-" + name, Email: email, EmailVerified: true, Name: "The " + name, Groups: groups,
		GroupsKnown: true,
	}
}

// signInRules are rules with groups and a domain.
var signInRules = account.SignInRules{
	Groups: map[string]kernel.Role{"admins": kernel.RoleAdmin, "owners": kernel.RoleOwner}, CreateAccounts: true,
	Domains: map[string]kernel.Role{"example.com": kernel.RoleViewer},
}

// signInIdentity signs in and returns the session.
func (w *world) signInIdentity(i account.Identity, rules account.SignInRules) account.SignedIn {
	w.Helper()
	return must(w.FindSession(w.ctx,
		must(w.SignInIdentity(w.ctx, i, rules, store.Browser{Address: "192.0.2.1"}))(w)))(w)
}

// refusedIdentity checks that an identity cannot sign in.
func (w *world) refusedIdentity(i account.Identity, rules account.SignInRules, want account.IdentityError) {
	w.Helper()
	if _, err := w.SignInIdentity(w.ctx, i, rules, store.Browser{}); !errors.Is(err, want) {
		w.Errorf("%s: %v, want %q", i.Email, err, want)
	}
}

func TestIdentityIsKeptBySubject(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := must(w.FindSession(w.ctx, w.joined("ada@example.com", kernel.RoleOwner)))(w)
		none := account.SignInRules{}
		unverified := identity("Ada@Example.com")
		unverified.EmailVerified = false
		w.refusedIdentity(unverified, none, account.IdentityUnverified)
		capital := identity("ada@example.com")
		capital.Email = "Ada@Example.com"
		in := w.signInIdentity(capital, none)
		if in.User.ID != owner.User.ID || in.Role != kernel.RoleOwner || in.Method != account.SignInOIDC ||
			in.User.Name != owner.User.Name {
			w.Errorf("signed in %+v", in)
		}
		if !in.NeedsConfirmation(w.clock.now()) {
			w.Error("a sign-in at an unknown time counts as confirmation")
		}
		// The address may change, also to one that cannot be used, or pass to somebody else.
		moved := identity("ada@example.com")
		moved.Email, moved.EmailVerified, moved.ConfirmedAt = "", false, w.clock.now().Add(-time.Minute)
		if in := w.signInIdentity(moved, none); in.User.ID != owner.User.ID || in.NeedsConfirmation(w.clock.now()) {
			w.Errorf("with another address: %+v", in)
		}
		other := identity("ada@example.com")
		other.Subject = "somebody else"
		w.refusedIdentity(other, none, account.IdentityOtherSubject)
		other.Issuer = "https://other.example"
		w.signInIdentity(other, none)
		entries, _, err := w.AuditLog(w.ctx, owner.Actor(""), kernel.AuditFilter{ObjectKind: kernel.ObjectUser}, "", 10)
		if err != nil || len(entries) != 2 || !strings.Contains(string(entries[1].After), issuer) ||
			entries[1].Actor.Kind != kernel.ActorSystem {
			w.Errorf("audit log %+v, %v", entries, err)
		}
		if user, err := w.IdentityUser(w.ctx, issuer, "sub-ada"); err != nil || user != owner.User.ID {
			w.Errorf("the user of the identity: %s, %v", user, err)
		}

		// A reset separates the account from all of them.
		code := must(w.IssueResetCode(w.ctx, "ada@example.com"))(w)
		must(w.ResetPassword(w.ctx, code, "hash", store.Browser{}))(w)
		if has := must(w.HasIdentity(w.ctx, issuer, owner.User.ID))(w); has {
			w.Error("an identity is left")
		}
	})
}

func TestIdentityJoins(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		stranger := identity("eve@other.example")
		w.refusedIdentity(stranger, signInRules, account.IdentityNoRole)
		w.refusedIdentity(stranger, account.SignInRules{}, account.IdentityNoAccount)
		noAddress := identity("x", "admins")
		w.refusedIdentity(noAddress, signInRules, account.IdentityNoEmail)
		closed := signInRules
		closed.CreateAccounts = false
		w.refusedIdentity(identity("grace@example.com", "admins"), closed, account.IdentityNoAccount)
		unverified := identity("alan@example.com")
		unverified.EmailVerified = false // so the domain means nothing
		w.refusedIdentity(unverified, signInRules, account.IdentityUnverified)
		unverified.Groups = []string{"admins"} // the address may be somebody else's
		w.refusedIdentity(unverified, signInRules, account.IdentityUnverified)

		in := w.signInIdentity(identity("alan@example.com"), signInRules)
		if in.Role != kernel.RoleViewer || in.User.Name != "The alan" {
			w.Errorf("by domain: %+v", in)
		}
		grace := w.signInIdentity(identity("grace@example.com", "staff", "admins"), signInRules)
		if grace.Role != kernel.RoleAdmin || grace.WorkspaceID != w.ws.WorkspaceID {
			w.Errorf("by group: %+v", grace)
		}
		invited := account.NewInvitation{Email: "eve@other.example", Role: kernel.RoleEditor}
		must(w.Invite(w.ctx, owner, invited))(w)
		unverified = stranger
		unverified.EmailVerified = false
		w.refusedIdentity(unverified, closed, account.IdentityUnverified)
		if in := w.signInIdentity(stranger, account.SignInRules{}); in.Role != kernel.RoleEditor {
			w.Errorf("by invitation: %+v", in)
		}
		if left, _, err := w.Invitations(w.ctx, owner, firstHundred); err != nil || len(left) != 0 {
			w.Errorf("invitations %+v, %v", left, err)
		}
		elsewhere := signInRules
		elsewhere.Workspace = "platform"
		in = w.signInIdentity(identity("alan@example.com"), elsewhere)
		if in.WorkspaceID == w.ws.WorkspaceID || len(in.Workspaces) != 2 {
			w.Errorf("in another workspace: %+v", in)
		}
	})
}

func TestGroupsDecideAtEverySignIn(t *testing.T) {
	inWorlds(t, func(w *world) {
		first := w.signInIdentity(identity("ada@other.example", "owners"), signInRules)
		second := w.signInIdentity(identity("grace@other.example", "owners"), signInRules)
		if first.Role != kernel.RoleOwner || second.Role != kernel.RoleOwner {
			w.Errorf("owners %s, %s", first.Role, second.Role)
		}
		if in := w.signInIdentity(identity("grace@other.example", "admins"), signInRules); in.Role != kernel.RoleAdmin {
			w.Errorf("demoted to %s", in.Role)
		}
		unknown := identity("grace@other.example")
		unknown.GroupsKnown = false
		if in := w.signInIdentity(unknown, signInRules); in.Role != kernel.RoleAdmin {
			w.Errorf("without the claim: %s", in.Role)
		}
		if in := w.signInIdentity(identity("ada@other.example", "admins"), signInRules); in.Role != kernel.RoleOwner {
			w.Errorf("the last owner becomes %s", in.Role)
		}
		w.refusedIdentity(identity("grace@other.example", "staff"), signInRules, account.IdentityNoRole)
		if n := w.value(`SELECT count(*) FROM sessions WHERE user_id = '` + second.User.ID + `'`); n != "0" {
			w.Errorf("%s sessions of a removed member", n)
		}
		if members, _, err := w.Members(w.ctx, first.Actor(""), firstHundred); err != nil || len(members) != 1 {
			w.Errorf("members %+v, %v", members, err)
		}
		in := w.signInIdentity(identity("grace@other.example", "admins"), signInRules)
		if in.User.ID != second.User.ID {
			w.Errorf("who returns has another account: %+v", in)
		}
	})
}

func TestStateCodeIsTakenOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		code, late := must(w.IssueStateCode(w.ctx))(w), must(w.IssueStateCode(w.ctx))(w)
		w.ok(w.TakeStateCode(w.ctx, code))
		if err := w.TakeStateCode(w.ctx, code); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("taken twice: %v", err)
		}
		w.clock.move(account.StateCodeAge)
		if err := w.TakeStateCode(w.ctx, late); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("taken late: %v", err)
		}
	})
}

// TestNoSessionIsConfirmedInTheFuture signs in in every way that exists: a session is confirmed when its user last
// proved who they are, and not later than now, whatever a provider says.
func TestNoSessionIsConfirmedInTheFuture(t *testing.T) {
	inWorlds(t, func(w *world) {
		user := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		now, b := w.clock.now(), store.Browser{}
		confirmed := func(what, secret string, want time.Time) {
			w.Helper()
			if in := must(w.FindSession(w.ctx, secret))(w); !in.ConfirmedAt.Equal(want) {
				w.Errorf("%s: confirmed at %s, want %s", what, in.ConfirmedAt, want)
			}
		}
		for _, from := range []string{issuer, account.IssuerProxy} {
			for _, c := range []struct{ said, want time.Time }{
				{time.Time{}, time.Unix(0, 0)}, {now.Add(-time.Hour), now.Add(-time.Hour)},
				{now.Add(-time.Millisecond), now.Add(-time.Millisecond)}, {now, now},
				{now.Add(time.Millisecond), now}, {now.Add(time.Hour), now}, {now.AddDate(100, 0, 0), now},
			} {
				i := identity("ada@example.com")
				i.Issuer, i.ConfirmedAt = from, c.said
				confirmed(from+" at "+c.said.String(), must(w.SignInIdentity(w.ctx, i, account.SignInRules{}, b))(w),
					c.want)
			}
		}
		w.ok(w.AddPasskey(w.ctx, user, account.Passkey{
			Name: "Key", CredentialID: []byte("id"), PublicKey: []byte("key"),
		}))
		key := must(w.Passkeys(w.ctx, user))(w)[0]
		confirmed("passkey", must(w.SignInWithPasskey(w.ctx, key, 1, b))(w), now)
		confirmed("password",
			must(w.SignInWithPassword(w.ctx, must(w.Credentials(w.ctx, "ada@example.com"))(w), b))(w).Secret, now)
		confirmed("link", must(w.SignInWithCode(w.ctx, must(w.IssueEnterCode(w.ctx, user.ID))(w), b))(w), now)
		confirmed("invitation", w.joined("bob@example.com", kernel.RoleViewer), now)
		must(w.SetAuthenticator(w.ctx, user, "SECRET", 100))(w)
		half := must(w.SignInWithPassword(w.ctx, must(w.Credentials(w.ctx, "ada@example.com"))(w), b))(w)
		confirmed("second factor", must(w.FinishSignIn(w.ctx, half.Pending, store.SecondFactor{Step: 101}, b))(w), now)

		// A confirmation is valid for ConfirmationAge to the millisecond, also if a provider's clock is ahead.
		ahead := identity("ada@example.com")
		ahead.ConfirmedAt = now.Add(time.Hour)
		in := w.signInIdentity(ahead, account.SignInRules{})
		for after, want := range map[time.Duration]bool{
			account.ConfirmationAge: false, account.ConfirmationAge + time.Millisecond: true,
		} {
			if got := in.NeedsConfirmation(now.Add(after)); got != want {
				w.Errorf("%s after the sign-in, the session needs a confirmation: %v", after, got)
			}
		}
	})
}
