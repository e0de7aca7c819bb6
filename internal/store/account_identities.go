package store

import (
	"context"
	"errors"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// IdentityUser returns the id of the user of an identity. It returns kernel.ErrNotFound if there is none.
func (s *Store) IdentityUser(ctx context.Context, issuer, subject string) (string, error) {
	return read(ctx, s, func(c *session) (string, error) { return identityUser(c.Session, issuer, subject) })
}

func identityUser(c *database.Session, issuer, subject string) (string, error) {
	return database.One(c, database.ScanString, `SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2`,
		issuer, subject)
}

// HasIdentity reports whether a user can sign in with an identity of an issuer; "" means any issuer.
func (s *Store) HasIdentity(ctx context.Context, issuer, userID string) (bool, error) {
	n, err := read(ctx, s, func(c *session) (int64, error) {
		return database.One(c.Session, database.ScanInt,
			`SELECT count(*) FROM identities WHERE user_id = $1 AND (issuer = $2 OR $3)`, userID, issuer, issuer == "")
	})
	return n > 0, err
}

// IssueStateCode returns a code that begins a sign-in through an identity provider, once, within account.StateCodeAge.
func (s *Store) IssueStateCode(ctx context.Context) (code string, err error) {
	return write(ctx, s, func(t *tx) (string, error) { return t.issueCode(account.CodeState, "") })
}

// TakeStateCode uses up a code of IssueStateCode. It returns kernel.ErrNotFound if the code is invalid, expired or
// used.
func (s *Store) TakeStateCode(ctx context.Context, code string) error {
	return writeOnly(ctx, s, func(t *tx) error {
		_, err := t.takeCode(account.CodeState, code)
		return err
	})
}

// SignInIdentity signs in the person with an identity and returns the secret of the session.
//
// A new identity is linked to the account with its verified email address. If there is none, and the rules or an
// invitation give the person a role, it is linked to a new account. Without a verified address it is linked to nobody.
// The rules decide about membership of their workspace.
//
// If the person cannot sign in, it returns an account.IdentityError. Even then it removes a membership that the groups
// of the identity do not allow any more.
func (s *Store) SignInIdentity(
	ctx context.Context, i account.Identity, rules account.SignInRules, b Browser,
) (secret string, err error) {
	if rules.Workspace == "" {
		rules.Workspace = account.DefaultWorkspace
	}
	var refused account.IdentityError
	secret, err = write(ctx, s, func(t *tx) (secret string, err error) {
		refused = "" // the transaction may be repeated
		x := identitySignIn{tx: t, identity: i, rules: rules, role: rules.Role(i)}
		secret, err = x.signIn(b)
		if errors.As(err, &refused) {
			err = nil // commit the removal of a membership
		}
		return secret, err
	})
	if err == nil && refused != "" {
		err = refused
	}
	return secret, err
}

// identitySignIn is a sign-in of an identity in a transaction.
type identitySignIn struct {
	*tx
	identity  account.Identity
	rules     account.SignInRules
	role      kernel.Role // the role that the rules give
	workspace string      // id of the workspace of the rules
	linked    bool        // the identity was linked to the user just now
}

func (x *identitySignIn) signIn(b Browser) (secret string, err error) {
	x.workspace, err = x.tx.workspace(x.rules.Workspace) // its locked row serializes sign-ins
	if err != nil {
		return "", err
	}
	user, err := x.user()
	if err != nil {
		return "", err
	}
	joined, err := x.applyRole(user, b)
	if err != nil {
		return "", err
	}
	workspace := x.workspace
	if !joined {
		if workspace, err = x.otherWorkspace(user, b); err != nil {
			return "", err
		}
	}
	if x.linked {
		actor := kernel.SystemActor("single sign-on", workspace)
		err := x.audit(actor, kernel.AuditUpdate, nil, account.LinkedIdentity{User: user, Issuer: x.identity.Issuer})
		if err != nil {
			return "", err
		}
	}
	in := signIn{b, x.identity.Method(), x.identity.ConfirmedAt}
	switch {
	case in.confirmedAt.IsZero():
		in.confirmedAt = time.Unix(0, 0) // long ago
	case in.confirmedAt.After(x.Now):
		in.confirmedAt = x.Now
	}
	return x.startSession(user.ID, workspace, in)
}

// user returns the user of the identity, who may be new.
func (x *identitySignIn) user() (user account.User, err error) {
	find := func(condition string, args ...any) error {
		user, err = database.One(x.Session, scanUser, `SELECT `+userColumns+` FROM users WHERE `+condition, args...)
		return err
	}
	id, err := identityUser(x.Session, x.identity.Issuer, x.identity.Subject)
	if err == nil {
		return user, find(`id = $1`, id)
	}
	if !errors.Is(err, kernel.ErrNotFound) {
		return user, err
	}
	n := account.NewUser{Email: x.identity.Email, Name: x.identity.DisplayName()}
	if n.Validate() != nil {
		return user, account.IdentityNoEmail
	}
	if !x.identity.EmailVerified { // the address may belong to somebody else
		return user, account.IdentityUnverified
	}
	err = find(`email = $1`, n.Email)
	switch {
	case err == nil:
		return user, x.link(user)
	case !errors.Is(err, kernel.ErrNotFound):
		return user, err
	}
	return x.newUser(n)
}

// newUser creates the user of the identity, if the rules or an invitation give a role.
func (x *identitySignIn) newUser(n account.NewUser) (user account.User, err error) {
	invited, err := x.countInvitations(n.Email)
	if err != nil {
		return user, err
	}
	if (x.role == "" || !x.rules.CreateAccounts) && invited == 0 {
		if len(x.rules.Groups) > 0 && x.rules.CreateAccounts {
			return user, account.IdentityNoRole
		}
		return user, account.IdentityNoAccount
	}
	user = account.User{ID: kernel.NewID(kernel.PrefixUser, x.Now), Email: n.Email, Name: n.Name, CreatedAt: x.Now}
	if err := x.insertUser(user, ""); err != nil {
		return user, err
	}
	return user, x.link(user)
}

// link links the identity to a user. It returns account.IdentityOtherSubject if the user has another identity of the
// issuer: the email address may have passed to another person.
func (x *identitySignIn) link(user account.User) error {
	n, err := database.One(x.Session, database.ScanInt,
		`SELECT count(*) FROM identities WHERE issuer = $1 AND user_id = $2`, x.identity.Issuer, user.ID)
	if err != nil {
		return err
	}
	if n > 0 {
		return account.IdentityOtherSubject
	}
	_, err = x.Exec(`INSERT INTO identities (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4)`,
		x.identity.Issuer, x.identity.Subject, user.ID, millis(x.Now))
	x.linked = true
	if err == nil { // the provider has verified the address
		err = x.confirmEmail(user.ID)
	}
	return err
}

// applyRole makes the user a member of the workspace of the rules with the role that the rules give, and reports
// whether the user is a member afterwards. A new member joins by a pending invitation if there is one: it may limit the
// member to some pages.
func (x *identitySignIn) applyRole(user account.User, b Browser) (joined bool, err error) {
	role := func() (string, error) {
		return database.One(x.Session, database.ScanString,
			`SELECT role FROM members WHERE user_id = $1 AND workspace_id = $2`, user.ID, x.workspace)
	}
	was, err := role()
	if errors.Is(err, kernel.ErrNotFound) && x.role != "" && x.rules.CreateAccounts {
		if err = x.acceptInvitations(user, x.workspace, b); err == nil {
			was, err = role()
		}
	}
	actor, before := kernel.SystemActor("single sign-on", x.workspace), kernel.Role(was)
	switch {
	case errors.Is(err, kernel.ErrNotFound) && (x.role == "" || !x.rules.CreateAccounts):
		return false, nil
	case errors.Is(err, kernel.ErrNotFound):
		return true,
			x.addMember(actor, account.Member{User: user, WorkspaceID: x.workspace, Role: x.role, Since: x.Now})
	case err != nil:
		return false, err
	case !x.rules.ManagesRole(x.identity) || before == x.role:
		return true, nil
	}
	owners, err := x.owners(x.workspace)
	if err != nil {
		return false, err
	}
	if account.CheckOwnerLeft(before, x.role, owners) != nil {
		x.s.log.Warn("the groups of the last owner give a lower role: the owner keeps the role", "user", user.ID,
			"role", string(x.role))
		return true, nil
	}
	if x.role == "" {
		return false, x.removeMember(actor, user.ID)
	}
	member, err := x.lockMember(x.workspace, user.ID)
	if err == nil {
		_, err = x.setRole(actor, member, x.role)
	}
	return true, err
}

// otherWorkspace returns the workspace in which a session begins if the user is not a member of the rules' workspace:
// one that the user belongs to or was invited to.
func (x *identitySignIn) otherWorkspace(user account.User, b Browser) (string, error) {
	workspace, err := x.firstWorkspace(user.ID)
	if !errors.Is(err, kernel.ErrNotFound) {
		return workspace, err
	}
	if err = x.acceptInvitations(user, "", b); err == nil {
		workspace, err = x.firstWorkspace(user.ID)
	}
	if errors.Is(err, kernel.ErrNotFound) {
		err = account.IdentityNoAccount
		if len(x.rules.Groups) > 0 && x.role == "" {
			err = account.IdentityNoRole
		}
	}
	return workspace, err
}

func (t *tx) countInvitations(email string) (int, error) {
	n, err := database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM invitations WHERE email = $1 AND ends_at > $2`, email, millis(t.Now))
	return int(n), err
}

// acceptInvitations accepts the invitations of a user to a workspace ("": to all), if the issuer has verified that the
// account's address belongs to the person.
func (x *identitySignIn) acceptInvitations(user account.User, workspaceID string, b Browser) error {
	if !x.identity.EmailVerified || kernel.NormalizeEmail(x.identity.Email) != user.Email {
		return nil
	}
	pending, err := database.Query(x.Session, database.ScanString, `SELECT workspace_id FROM invitations
		WHERE email = $1 AND ends_at > $2 AND (workspace_id = $3 OR $4) ORDER BY workspace_id`, user.Email,
		millis(x.Now), workspaceID, workspaceID == "")
	for _, id := range pending {
		if err == nil {
			err = x.acceptInvitation(user, id, b)
		}
	}
	return err
}

// acceptInvitation accepts the invitation of a user to a workspace, unless it was withdrawn meanwhile.
func (x *identitySignIn) acceptInvitation(user account.User, workspaceID string, b Browser) error {
	if err := x.lockMembers(workspaceID); err != nil {
		return err
	}
	i, err := database.One(x.Session, scanInvitation, `SELECT `+invitationColumns+` FROM invitations
		WHERE email = $1 AND ends_at > $2 AND workspace_id = $3`, user.Email, millis(x.Now), workspaceID)
	if errors.Is(err, kernel.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return x.joinInvited(user, i, b)
}
