package store

import (
	"cmp"
	"context"
	"crypto/rand"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

const invitationColumns = `invitations.id, invitations.workspace_id, invitations.email, invitations.role, ` +
	`invitations.page_limited, inviter_id, inviter_name, invitations.created_at, ends_at`

func scanInvitation(row database.Row) (i account.Invitation, err error) {
	err = row.Scan(&i.ID, &i.WorkspaceID, &i.Email, &i.Role, &i.Limit.Limited, text{&i.InviterID}, &i.InviterName,
		instant{&i.CreatedAt}, instant{&i.EndsAt})
	return
}

// Invitations lists the invitations to the actor's workspace that can still be accepted, newest first.
func (s *Store) Invitations(ctx context.Context, actor kernel.Actor, r Pagination) ([]account.Invitation, int, error) {
	now, err := s.Clock(ctx)
	if err != nil {
		return nil, 0, err
	}
	return listQuery[account.Invitation]{
		scan: scanInvitation, fill: fillInvitationLimits, columns: invitationColumns,
		from: `FROM invitations WHERE workspace_id = $1 AND ends_at > $2`, args: []any{actor.WorkspaceID, millis(now)},
		order: `ORDER BY created_at DESC, id DESC`,
	}.load(ctx, s, r)
}

func fillInvitationLimits(c *session, invitations []account.Invitation) error {
	return fillPageLimits(c, invitations, func(i *account.Invitation) (string, *account.PageLimit) {
		return i.ID, &i.Limit
	})
}

// Invite invites an e-mail address to the actor's workspace. An earlier invitation of the address becomes invalid. Only
// the result has the code, which is not stored. It returns a *kernel.ValidationError if the input is invalid, the actor
// may not give the role, the address belongs to a member, or there are account.MaxInvitations pending invitations.
func (s *Store) Invite(
	ctx context.Context, actor kernel.Actor, n account.NewInvitation,
	save ...SaveResponse[account.IssuedInvitation],
) (account.IssuedInvitation, error) {
	if err := n.Validate(); err != nil {
		return account.IssuedInvitation{}, err
	}
	return writeMembersAs(ctx, s, actor, func(t *tx) (out account.IssuedInvitation, err error) {
		if err := account.CheckRoles(actor, n.Role); err != nil {
			return out, err
		}
		if err := t.checkInvited(actor, n.Email); err != nil {
			return out, err
		}
		earlier, err := database.Query(t.Session, scanInvitation,
			`SELECT `+invitationColumns+` FROM invitations WHERE workspace_id = $1 AND email = $2`, actor.WorkspaceID,
			n.Email)
		if err != nil {
			return out, err
		}
		for _, i := range earlier {
			if err := t.withdrawInvitation(actor, i); err != nil {
				return out, err
			}
		}
		out.Code = rand.Text() // 130 bits
		out.Invitation = account.Invitation{
			ID: kernel.NewID(kernel.PrefixInvitation, t.Now), WorkspaceID: actor.WorkspaceID, Email: n.Email,
			Role: n.Role, Limit: n.Limit, InviterName: actor.Name, CreatedAt: t.Now,
			EndsAt: t.Now.Add(account.InvitationAge),
		}
		if actor.Kind == kernel.ActorUser {
			out.InviterID = actor.ID
		}
		if err := t.setPageLimit(actor, out.ID, &out.Limit); err != nil {
			return out, err
		}
		_, err = t.Exec(`INSERT INTO invitations (id, workspace_id, email, role, hash, inviter_id, inviter_name,
			created_at, ends_at, page_limited)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, out.ID, out.WorkspaceID, out.Email, string(out.Role),
			account.HashTokenSecret(out.Code),
			nullIfEmpty(out.InviterID), out.InviterName, millis(out.CreatedAt), millis(out.EndsAt), out.Limit.Limited)
		if err == nil {
			err = t.audit(actor, kernel.AuditCreate, nil, out.Invitation)
		}
		return out, err
	}, save...)
}

// checkInvited returns a *kernel.ValidationError if an address belongs to a member, or there are too many invitations.
func (t *tx) checkInvited(actor kernel.Actor, email string) error {
	var bad kernel.ValidationError
	n, err := database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM members JOIN users ON users.id = members.user_id
		WHERE members.workspace_id = $1 AND users.email = $2`, actor.WorkspaceID, email)
	if err != nil {
		return err
	}
	if n > 0 {
		bad.Add("email", "This address belongs to a member of the workspace.")
	}
	n, err = database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM invitations WHERE workspace_id = $1 AND ends_at > $2 AND email <> $3`,
		actor.WorkspaceID, millis(t.Now), email) // an invitation replaces an earlier one to the same address
	if err != nil {
		return err
	}
	if n >= account.MaxInvitations {
		bad.Add("email", "A workspace can have no more than %d pending invitations.", account.MaxInvitations)
	}
	return bad.Err()
}

// WithdrawInvitation deletes an invitation to the actor's workspace. It returns kernel.ErrNotFound if there is none
// with the id, because it was accepted, for example.
func (s *Store) WithdrawInvitation(ctx context.Context, actor kernel.Actor, id string) error {
	_, err := writeMembersAs(ctx, s, actor, func(t *tx) (none struct{}, err error) {
		i, err := database.One(t.Session, scanInvitation,
			`SELECT `+invitationColumns+` FROM invitations WHERE id = $1 AND workspace_id = $2`, id, actor.WorkspaceID)
		if err != nil {
			return none, err
		}
		return none, t.withdrawInvitation(actor, i)
	})
	return err
}

// withdrawInvitation deletes an invitation. It returns a *kernel.ValidationError if the actor may not give its role.
func (t *tx) withdrawInvitation(actor kernel.Actor, i account.Invitation) error {
	if err := account.CheckRoles(actor, i.Role); err != nil {
		return err
	}
	return t.deleteInvitation(actor, i)
}

func (t *tx) deleteInvitation(actor kernel.Actor, i account.Invitation) error {
	if err := requireRow(t.Exec(`DELETE FROM invitations WHERE id = $1`, i.ID)); err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM page_limits WHERE holder_id = $1`, i.ID); err != nil {
		return err
	}
	return t.audit(actor, kernel.AuditDelete, i, nil)
}

// withdrawInvitationsOf deletes the invitations that a user has sent and could not send with the role. Otherwise
// somebody who is removed could come back through an invitation of their own. The role "" means that the user is no
// member.
func (t *tx) withdrawInvitationsOf(actor kernel.Actor, userID string, role kernel.Role) error {
	sent, err := database.Query(t.Session, scanInvitation, `SELECT `+invitationColumns+` FROM invitations
		WHERE workspace_id = $1 AND inviter_id = $2 ORDER BY id`, actor.WorkspaceID, userID)
	for _, i := range sent {
		if err == nil && !(role.Includes(kernel.RoleAdmin) && role.Includes(i.Role)) {
			err = t.deleteInvitation(actor, i)
		}
	}
	return err
}

// FoundInvitation is an invitation as the invited person sees it.
type FoundInvitation struct {
	account.Invitation
	Workspace string // its name
	UserID    string // the account with the email address; "": there is none
	NeedsCode bool   // the account has an authenticator app
}

// FindInvitation returns the invitation with a code that can still be accepted. It returns kernel.ErrNotFound for any
// other code.
func (s *Store) FindInvitation(ctx context.Context, code string) (FoundInvitation, error) {
	return read(ctx, s, func(c *session) (FoundInvitation, error) { return c.findInvitation(code) })
}

func (c *session) findInvitation(code string) (FoundInvitation, error) {
	return database.One(c.Session, func(row database.Row) (i FoundInvitation, err error) {
		i.Invitation, err = scanInvitation(widerRow{row, []any{&i.Workspace, text{&i.UserID}, &i.NeedsCode}})
		return
	}, `SELECT `+invitationColumns+`, workspaces.name, users.id, authenticators.user_id IS NOT NULL FROM invitations
		JOIN workspaces ON workspaces.id = invitations.workspace_id LEFT JOIN users ON users.email = invitations.email
		LEFT JOIN authenticators ON authenticators.user_id = users.id
		WHERE invitations.hash = $1 AND ends_at > $2`, account.HashTokenSecret(code), millis(c.Now))
}

// Acceptance is how an invitation is accepted: by an account that exists, or by a new one.
type Acceptance struct {
	UserID       string               // the account that has proved its identity; "": a new one
	Name         string               // of the new account
	PasswordHash string               // of the new account; otherwise the hash that was proved; "": something else was
	Method       account.SignInMethod // of the new session; "": SignInInvitation
}

// AcceptInvitation makes the invited person a member, uses the code up, and signs in to the workspace. It returns
// kernel.ErrNotFound if the code is not valid (any more). It returns kernel.ErrPreconditionFailed if the account does
// not belong to the invited address, if its password has been changed meanwhile, or if a new account is to be created
// and the address already has one, and a *kernel.ValidationError if the new account is not valid.
func (s *Store) AcceptInvitation(ctx context.Context, code string, a Acceptance, b Browser) (secret string, err error) {
	return write(ctx, s, func(t *tx) (string, error) {
		i, err := t.findInvitation(code)
		if err == nil {
			err = t.lockMembers(i.WorkspaceID)
		}
		if err == nil {
			i, err = t.findInvitation(code) // its state after waiting
		}
		if err != nil {
			return "", err
		}
		if a.UserID != i.UserID {
			return "", kernel.ErrPreconditionFailed
		}
		user, err := t.acceptingUser(i, a)
		if err != nil {
			return "", err
		}
		if err := t.joinInvited(user, i.Invitation, b); err != nil {
			return "", err
		}
		return t.startSession(user.ID, i.WorkspaceID, t.signInNow(cmp.Or(a.Method, account.SignInInvitation), b))
	})
}

// joinInvited makes a user a member as an invitation says, and deletes the invitation. It is the only way from an
// invitation to a membership, for every way of signing in. The members of the workspace are locked. Somebody who is a
// member already keeps their membership.
func (t *tx) joinInvited(user account.User, i account.Invitation, b Browser) error {
	actor := kernel.Actor{
		Kind: kernel.ActorUser, ID: user.ID, Name: user.Name, WorkspaceID: i.WorkspaceID, Address: b.Address,
	}
	limited := []account.Invitation{i}
	if err := fillInvitationLimits(&t.session, limited); err != nil {
		return err
	}
	i = limited[0]
	members, err := database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM members WHERE user_id = $1 AND workspace_id = $2`, user.ID, i.WorkspaceID)
	if err != nil || members > 0 {
		return cmp.Or(err, t.deleteInvitation(actor, i))
	}
	_, err = t.Exec(`UPDATE page_limits SET holder_id = $2 WHERE holder_id = $1`,
		i.ID, memberHolder(i.WorkspaceID, user.ID))
	if err != nil {
		return err
	}
	if err := t.deleteInvitation(actor, i); err != nil {
		return err
	}
	return t.addMember(actor, account.Member{
		User: user, WorkspaceID: i.WorkspaceID, Role: i.Role, Limit: i.Limit, Since: t.Now,
	})
}

// acceptingUser returns the account that accepts an invitation, which it creates if the address has none.
func (t *tx) acceptingUser(i FoundInvitation, a Acceptance) (account.User, error) {
	if i.UserID != "" {
		// Changes of the password take the same lock, and end the sessions that exist.
		hash, err := database.One(t.Session, database.ScanString,
			`SELECT coalesce(password_hash, '') FROM users WHERE id = $1 FOR UPDATE`, i.UserID)
		if err == nil && a.PasswordHash != "" && a.PasswordHash != hash {
			err = kernel.ErrPreconditionFailed
		}
		if err != nil {
			return account.User{}, err
		}
		return database.One(t.Session, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1`, i.UserID)
	}
	n := account.NewUser{Email: i.Email, Name: a.Name, PasswordHash: a.PasswordHash}
	if err := n.Validate(); err != nil {
		return account.User{}, err
	}
	user := account.User{ID: kernel.NewID(kernel.PrefixUser, t.Now), Email: n.Email, Name: n.Name, CreatedAt: t.Now}
	return user, t.insertUser(user, n.PasswordHash)
}
