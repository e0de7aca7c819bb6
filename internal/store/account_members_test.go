package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// joined makes an address a member of the world's workspace, with a new account, and returns the secret of its session.
func (w *world) joined(email string, role kernel.Role) string {
	w.Helper()
	issued := must(w.Invite(w.ctx, kernel.SystemActor("test", w.ws.WorkspaceID),
		account.NewInvitation{Email: email, Role: role}))(w)
	return must(w.AcceptInvitation(w.ctx, issued.Code,
		store.Acceptance{Name: "The " + string(role), PasswordHash: "hash"}, store.Browser{}))(w)
}

// signedIn returns the actor of a session.
func (w *world) signedIn(secret string) kernel.Actor {
	w.Helper()
	return must(w.FindSession(w.ctx, secret))(w).Actor("192.0.2.1")
}

func TestInvitationIsAcceptedOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		issued := must(w.Invite(w.ctx, owner, account.NewInvitation{
			Email: " Bob@Example.com", Role: kernel.RoleViewer,
		}))(w)
		found := must(w.FindInvitation(w.ctx, issued.Code))(w)
		if found.Email != "bob@example.com" || found.InviterID != owner.ID || found.UserID != "" ||
			found.Workspace == "" {
			w.Errorf("found %+v", found)
		}
		for what, a := range map[string]store.Acceptance{
			"another account": {UserID: owner.ID}, "an account that does not exist": {UserID: "usr_other"},
		} {
			_, err := w.AcceptInvitation(w.ctx, issued.Code, a, store.Browser{})
			if !errors.Is(err, kernel.ErrPreconditionFailed) {
				w.Errorf("%s: %v", what, err)
			}
		}
		bob := store.Acceptance{Name: "Bob", PasswordHash: "hash"}
		if dump := w.dump(); strings.Contains(dump, issued.Code) {
			w.Error("a code is stored")
		}
		w.clock.move(time.Minute)
		in := must(w.FindSession(w.ctx, must(w.AcceptInvitation(w.ctx, issued.Code, bob, store.Browser{}))(w)))(w)
		if in.User.Email != "bob@example.com" || in.Role != kernel.RoleViewer || in.WorkspaceID != w.ws.WorkspaceID {
			w.Errorf("signed in %+v", in)
		}
		if _, err := w.AcceptInvitation(w.ctx, issued.Code, bob, store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a code used twice: %v", err)
		}
		entries, _, err := w.AuditLog(w.ctx, owner, kernel.AuditFilter{ActorID: in.User.ID}, "", 10)
		if err != nil || len(entries) != 3 || entries[0].Object.Kind != kernel.ObjectSession ||
			string(entries[0].After) != `{"method":"invitation"}` ||
			entries[1].Object.Kind != kernel.ObjectMember || entries[2].Object.Kind != kernel.ObjectInvitation ||
			entries[2].Action != kernel.AuditDelete {
			w.Errorf("audit log %+v, %v", entries, err)
		}

		late := must(w.Invite(w.ctx, owner, account.NewInvitation{
			Email: "late@example.com", Role: kernel.RoleViewer,
		}))(w)
		w.clock.move(account.InvitationAge)
		if _, err := w.AcceptInvitation(w.ctx, late.Code, bob, store.Browser{}); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("an expired code: %v", err)
		}
		if all, _, err := w.Invitations(w.ctx, owner, firstHundred); err != nil || len(all) != 0 {
			w.Errorf("expired invitations are listed: %+v", all)
		}
		w.ok(w.Prune(w.ctx))
		if n := w.value(`SELECT count(*) FROM invitations`); n != "0" {
			w.Errorf("%s invitations are left", n)
		}
	})
}

// TestNumberOfInvitations sends as many invitations as can be pending, and one more. What is withdrawn, expired or of
// another workspace takes no room.
func TestNumberOfInvitations(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		sent := 0
		invite := func(actor kernel.Actor) (account.IssuedInvitation, error) {
			sent++
			return w.Invite(w.ctx, actor, account.NewInvitation{
				Email: fmt.Sprintf("bob%d@example.com", sent), Role: kernel.RoleViewer,
			})
		}
		full := func(when string) {
			w.Helper()
			before := w.dump()
			_, err := invite(owner)
			if w.refused(err, "email"); w.dump() != before {
				w.Errorf("%s: a refused invitation changes something", when)
			}
			if _, n, err := w.Invitations(w.ctx, owner, firstHundred); err != nil || n != account.MaxInvitations {
				w.Errorf("%s: %d invitations are pending, %v", when, n, err)
			}
		}
		first := must(invite(owner))(w)
		w.clock.move(time.Minute)
		for range account.MaxInvitations - 1 {
			must(invite(owner))(w)
		}
		full("at the limit")
		// in place of an earlier one
		must(w.Invite(w.ctx, owner, account.NewInvitation{Email: "bob200@example.com", Role: kernel.RoleEditor}))(w)
		full("after one was replaced")
		must(invite(w.otherWorkspace()))(w)
		w.clock.set(first.EndsAt)
		must(invite(owner))(w)
		full("after one has expired")
		pending, _, err := w.Invitations(w.ctx, owner, firstHundred)
		w.ok(err)
		w.ok(w.WithdrawInvitation(w.ctx, owner, pending[0].ID))
		last := must(invite(owner))(w)
		full("after one was withdrawn")
		must(w.AcceptInvitation(w.ctx, last.Code, store.Acceptance{Name: "Bob", PasswordHash: "hash"},
			store.Browser{}))(w)
		must(invite(owner))(w)
		full("after one was accepted")
	})
}

// TestRemovalEndsWhatAMemberCanDo removes an admin: sessions end, and invitations that the admin has sent.
func TestRemovalEndsWhatAMemberCanDo(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		secret := w.joined("admin@example.com", kernel.RoleAdmin)
		admin := w.signedIn(secret)
		own := must(w.Invite(w.ctx, admin, account.NewInvitation{
			Email: "second@example.com", Role: kernel.RoleAdmin,
		}))(w)

		changed := must(w.ChangeMember(w.ctx, owner, admin.ID, account.MemberChange{Role: kernel.RoleEditor}))(w)
		if changed.Role != kernel.RoleEditor {
			w.Errorf("changed %+v", changed)
		}
		_, err := w.CreatePage(w.ctx, admin, resource.Page.From(statuspage.Page{Name: "X", Slug: "x-of-admin"}))
		if !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("with the earlier role: %v", err)
		}
		if _, err := w.FindInvitation(w.ctx, own.Code); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("an invitation of a former admin: %v", err)
		}
		must(w.FindSession(w.ctx, secret))(w)
		w.ok(w.RemoveMember(w.ctx, owner, admin.ID))
		if _, err := w.FindSession(w.ctx, secret); !errors.Is(err, kernel.ErrUnauthenticated) {
			w.Errorf("the session of a removed member: %v", err)
		}
		if err := w.RemoveMember(w.ctx, owner, admin.ID); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("removed twice: %v", err)
		}
		_, err = w.StartSession(w.ctx, admin.ID, account.SignInPassword, store.Browser{})
		if !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a removed member signs in: %v", err)
		}

		// A member who returns needs the password that the account has now.
		back := must(w.Invite(w.ctx, owner, account.NewInvitation{
			Email: "admin@example.com", Role: kernel.RoleViewer,
		}))(w)
		_, err = w.AcceptInvitation(w.ctx, back.Code,
			store.Acceptance{UserID: admin.ID, PasswordHash: "an earlier hash"}, store.Browser{})
		if !errors.Is(err, kernel.ErrPreconditionFailed) {
			w.Errorf("with a password that was changed meanwhile: %v", err)
		}
		accepted := store.Acceptance{UserID: admin.ID, PasswordHash: "hash", Method: account.SignInProxy}
		in := must(w.FindSession(w.ctx, must(w.AcceptInvitation(w.ctx, back.Code, accepted, store.Browser{}))(w)))(w)
		if in.Method != account.SignInProxy {
			w.Errorf("the session began by %s", in.Method)
		}
	})
}

// TestRoleChangeWaitsForWrites lowers the role of a member in the middle of a write. No write with the earlier role is
// committed after ChangeMember has returned.
func TestRoleChangeWaitsForWrites(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		editor := w.signedIn(w.joined("editor@example.com", kernel.RoleEditor))
		admin := w.signedIn(w.joined("admin@example.com", kernel.RoleAdmin))
		other := w.replica()
		for name, change := range map[string]func() error{
			"Changed": func() error {
				_, err := other.ChangeMember(w.ctx, owner, editor.ID, account.MemberChange{Role: kernel.RoleViewer})
				return err
			},
			"Removed": func() error { return other.RemoveMember(w.ctx, owner, admin.ID) },
		} {
			actor := map[string]kernel.Actor{"Changed": editor, "Removed": admin}[name]
			done := make(chan struct{})
			var committed string
			w.interrupt("before", "COMMIT", func() {
				go func() {
					defer close(done)
					if err := change(); err != nil {
						w.Error(err)
					}
					committed = w.value(`SELECT count(*) FROM components WHERE name = '` + name + `'`)
				}()
				w.untilWaiting(done)
			})
			must(w.Components().Create(w.ctx, actor, "acme",
				resource.Component.From(statuspage.Component{Name: name})))(w)
			<-done
			if committed != "1" {
				w.Errorf("%s returned before a write of the member was committed", name)
			}
		}
	})
}

// TestOwnersDoNotRemoveEachOther lets two owners remove each other concurrently: one is left.
func TestOwnersDoNotRemoveEachOther(t *testing.T) {
	inWorlds(t, func(w *world) {
		a := w.signedIn(w.joined("a@example.com", kernel.RoleOwner))
		b := w.signedIn(w.joined("b@example.com", kernel.RoleOwner))
		results := make(chan error)
		for _, pair := range [][2]kernel.Actor{{a, b}, {b, a}} {
			go func() { results <- w.RemoveMember(w.ctx, pair[0], pair[1].ID) }()
		}
		for range 2 {
			if err := <-results; err != nil && !errors.Is(err, kernel.ErrUnauthenticated) {
				w.Error(err)
			}
		}
		if n := w.value(`SELECT count(*) FROM members WHERE role = 'owner'`); n != "1" {
			w.Errorf("%s owners are left, want 1", n)
		}
	})
}
