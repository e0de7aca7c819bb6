package store_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/allswell/allswell"
)

// TestAdminsCannotTouchOwners tries everything by which an admin could take rights from an owner, or get them.
func TestAdminsCannotTouchOwners(t *testing.T) {
	inWorlds(t, func(w *world) {
		ownersSecret := w.joined("ada@example.com", allswell.RoleOwner)
		owner := w.signedIn(ownersSecret)
		admin := w.signedIn(w.joined("admin@example.com", allswell.RoleAdmin))
		invited := must(w.Invite(w.ctx, owner, allswell.NewInvitation{Email: "second@example.com", Role: allswell.RoleOwner}))(w)
		for name, try := range map[string]func(actor allswell.Actor) error{
			"change an owner's role": func(actor allswell.Actor) error {
				_, err := w.ChangeMember(w.ctx, actor, owner.ID, allswell.MemberChange{Role: allswell.RoleEditor})
				return err
			},
			"become an owner": func(actor allswell.Actor) error {
				_, err := w.ChangeMember(w.ctx, actor, actor.ID, allswell.MemberChange{Role: allswell.RoleOwner})
				return err
			},
			"remove an owner":        func(actor allswell.Actor) error { return w.RemoveMember(w.ctx, actor, owner.ID) },
			"end an owner's session": func(actor allswell.Actor) error { return w.EndMemberSession(w.ctx, actor, owner.SessionID) },
			"invite an owner": func(actor allswell.Actor) error {
				_, err := w.Invite(w.ctx, actor, allswell.NewInvitation{Email: "x@example.com", Role: allswell.RoleOwner})
				return err
			},
			"withdraw an owner's invitation": func(actor allswell.Actor) error { return w.WithdrawInvitation(w.ctx, actor, invited.ID) },
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

// TestInvitationsEndWithTheRightToInvite makes an owner an admin: invitations as owner end, those that an admin could send stay.
func TestInvitationsEndWithTheRightToInvite(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", allswell.RoleOwner))
		second := w.signedIn(w.joined("second@example.com", allswell.RoleOwner))
		asOwner := must(w.Invite(w.ctx, second, allswell.NewInvitation{Email: "o@example.com", Role: allswell.RoleOwner}))(w)
		asAdmin := must(w.Invite(w.ctx, second, allswell.NewInvitation{Email: "a@example.com", Role: allswell.RoleAdmin}))(w)
		must(w.ChangeMember(w.ctx, owner, second.ID, allswell.MemberChange{Role: allswell.RoleAdmin}))(w)
		if _, err := w.FindInvitation(w.ctx, asOwner.Code); !errors.Is(err, allswell.ErrNotFound) {
			w.Errorf("an invitation as owner of somebody who is an admin now: %v", err)
		}
		must(w.FindInvitation(w.ctx, asAdmin.Code))(w)
	})
}

// TestNumberOfPasskeys adds as many passkeys as a user can have, and one more.
func TestNumberOfPasskeys(t *testing.T) {
	inWorlds(t, func(w *world) {
		user := w.signedIn(w.joined("ada@example.com", allswell.RoleOwner))
		for n := range allswell.MaxPasskeys + 1 {
			id := binary.BigEndian.AppendUint32(nil, uint32(n))
			err := w.AddPasskey(w.ctx, user, allswell.Passkey{Name: "Key", CredentialID: id, PublicKey: id})
			if (err != nil) != (n == allswell.MaxPasskeys) {
				w.Fatalf("passkey %d: %v", n+1, err)
			}
		}
	})
}
