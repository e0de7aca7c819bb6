package store_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestAdminsCannotTouchOwners tries everything by which an admin could take rights from an owner, or get them.
func TestAdminsCannotTouchOwners(t *testing.T) {
	inWorlds(t, func(w *world) {
		ownersSecret := w.joined("ada@example.com", kernel.RoleOwner)
		owner := w.signedIn(ownersSecret)
		admin := w.signedIn(w.joined("admin@example.com", kernel.RoleAdmin))
		invited := must(w.Invite(w.ctx, owner, account.NewInvitation{
			Email: "second@example.com", Role: kernel.RoleOwner,
		}))(w)
		for name, try := range map[string]func(actor kernel.Actor) error{
			"change an owner's role": func(actor kernel.Actor) error {
				_, err := w.ChangeMember(w.ctx, actor, owner.ID, account.MemberChange{Role: kernel.RoleEditor})
				return err
			},
			"become an owner": func(actor kernel.Actor) error {
				_, err := w.ChangeMember(w.ctx, actor, actor.ID, account.MemberChange{Role: kernel.RoleOwner})
				return err
			},
			"remove an owner": func(actor kernel.Actor) error { return w.RemoveMember(w.ctx, actor, owner.ID) },
			"end an owner's session": func(actor kernel.Actor) error {
				return w.EndMemberSession(w.ctx, actor, owner.SessionID)
			},
			"invite an owner": func(actor kernel.Actor) error {
				_, err := w.Invite(w.ctx, actor, account.NewInvitation{Email: "x@example.com", Role: kernel.RoleOwner})
				return err
			},
			"withdraw an owner's invitation": func(actor kernel.Actor) error {
				return w.WithdrawInvitation(w.ctx, actor, invited.ID)
			},
		} {
			if err := refused(try(admin), "role"); err == nil {
				w.Errorf("an admin can %s", name)
			}
		}
		if err := w.EndMemberSession(w.ctx, owner, admin.SessionID); err != nil {
			w.Error(err)
		}
		must(w.FindSession(w.ctx, ownersSecret))(w)
		must(w.FindInvitation(w.ctx, invited.Code))(w)
	})
}

// TestInvitationsEndWithTheRightToInvite makes an owner an admin: invitations as owner end, and invitations that an
// admin could send stay.
func TestInvitationsEndWithTheRightToInvite(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		second := w.signedIn(w.joined("second@example.com", kernel.RoleOwner))
		asOwner := must(w.Invite(w.ctx, second, account.NewInvitation{
			Email: "o@example.com", Role: kernel.RoleOwner,
		}))(w)
		asAdmin := must(w.Invite(w.ctx, second, account.NewInvitation{
			Email: "a@example.com", Role: kernel.RoleAdmin,
		}))(w)
		must(w.ChangeMember(w.ctx, owner, second.ID, account.MemberChange{Role: kernel.RoleAdmin}))(w)
		if _, err := w.FindInvitation(w.ctx, asOwner.Code); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("an invitation as owner of somebody who is an admin now: %v", err)
		}
		must(w.FindInvitation(w.ctx, asAdmin.Code))(w)
	})
}

// TestNumberOfPasskeys adds as many passkeys as a user can have, and one more.
func TestNumberOfPasskeys(t *testing.T) {
	inWorlds(t, func(w *world) {
		user := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		for n := range account.MaxPasskeys + 1 {
			id := binary.BigEndian.AppendUint32(nil, uint32(n))
			err := w.AddPasskey(w.ctx, user, account.Passkey{Name: "Key", CredentialID: id, PublicKey: id})
			if (err != nil) != (n == account.MaxPasskeys) {
				w.Fatalf("passkey %d: %v", n+1, err)
			}
		}
	})
}
