package signin

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/surface/signin/password"
)

// What tests of the screens use.
const (
	ConfirmCodeField    = confirmCodeField
	ConfirmField        = confirmField
	InvitesPerAddress   = invitesPerAddress
	InvitesPerWorkspace = invitesPerWorkspace
	PasskeyField        = passkeyField
	ResetsPerAccount    = resetsPerAccount
)

// QueuedResets returns how many requests for a new password wait for their mail.
func (s *Screens) QueuedResets() int { return len(s.forgot.queue) }

// TakeInvitation counts a mail with an invitation of a workspace, and reports whether it may be sent.
func (s *Screens) TakeInvitation(workspaceID string, now time.Time) bool {
	return s.invited.workspaces.Take(workspaceID, now).Allowed
}

// ForgetInvitations forgets the mails with invitations that workspaces have sent.
func (s *Screens) ForgetInvitations() { s.invited.workspaces = newInvited().workspaces }

// RefusePasswords makes every check of a password fail with an error.
func (s *Screens) RefusePasswords(err error) {
	s.matches = func(context.Context, password.Asker, string, string) (bool, error) { return false, err }
}
