package store

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

const userColumns = `id, email, name, created_at`

func scanUser(row database.Row) (u account.User, err error) {
	err = row.Scan(&u.ID, &u.Email, &u.Name, instant{&u.CreatedAt})
	return
}

// Credentials are the stored values that a sign-in with a password is compared with.
type Credentials struct {
	UserID       string
	PasswordHash string // "": the user has no password
}

// Credentials returns the credentials of the user with an email address. If there is no such user, it returns
// empty ones, so that callers treat both alike.
func (s *Store) Credentials(ctx context.Context, email string) (Credentials, error) {
	c, err := database.Lookup(ctx, s.db, func(c *database.Session) (Credentials, error) {
		return database.One(c, func(row database.Row) (c Credentials, err error) {
			err = row.Scan(&c.UserID, text{&c.PasswordHash})
			return
		}, `SELECT id, password_hash FROM users WHERE email = $1`, kernel.NormalizeEmail(email))
	})
	if errors.Is(err, kernel.ErrNotFound) {
		return Credentials{}, nil
	}
	return c, err
}

// Users lists the memberships of all users of the installation, the oldest user first. Users without a workspace are
// missing.
func (s *Store) Users(ctx context.Context) ([]account.Member, error) {
	return read(ctx, s, func(c *session) ([]account.Member, error) {
		return database.Query(c.Session, scanMember, `SELECT `+memberColumns+`
			FROM users JOIN members ON members.user_id = users.id
			ORDER BY users.created_at, users.id, members.created_at`)
	})
}

const memberColumns = `users.id, users.email, users.name, users.created_at, members.workspace_id, members.role, ` +
	`members.page_limited, members.created_at, members.last_seen_at, ` + factorColumns

func scanMember(row database.Row) (m account.Member, err error) {
	err = row.Scan(append([]any{
		&m.ID, &m.Email, &m.Name, instant{&m.CreatedAt}, &m.WorkspaceID, &m.Role, &m.Limit.Limited, instant{&m.Since},
		instant{&m.LastSeenAt},
	},
		factorFields(&m.Factors)...)...)
	return
}

// ErrSetUp means that the installation has an owner already, so a setup code is of no use.
var ErrSetUp = errors.New("there is an owner already")

// IssueSetupCode returns a new code that creates the first owner, once, within account.SetupCodeAge. Earlier ones
// become invalid. It returns ErrSetUp if there is an owner.
func (s *Store) IssueSetupCode(ctx context.Context) (code string, err error) {
	return write(ctx, s, func(t *tx) (string, error) {
		if err := t.lockSetup(); err != nil {
			return "", err
		}
		if _, err := t.Exec(`DELETE FROM one_time_codes WHERE purpose = $1`, string(account.CodeSetup)); err != nil {
			return "", err
		}
		return t.issueCode(account.CodeSetup, "")
	})
}

// lockSetup makes setups wait for each other. It returns ErrSetUp if there is an owner.
func (t *tx) lockSetup() error {
	if _, err := t.workspace(account.DefaultWorkspace); err != nil { // locks its row
		return err
	}
	n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM members WHERE role = $1`,
		string(kernel.RoleOwner))
	if err == nil && n > 0 {
		err = ErrSetUp
	}
	return err
}

// issueCode creates a one-time code. userID is "" if the code belongs to no user.
func (t *tx) issueCode(purpose account.CodePurpose, userID string) (code string, err error) {
	code = rand.Text() // 130 bits
	_, err = t.Exec(`INSERT INTO one_time_codes (hash, purpose, user_id, created_at, ends_at)
		VALUES ($1, $2, $3, $4, $5)`,
		account.HashTokenSecret(code), string(purpose), nullIfEmpty(userID), millis(t.Now),
		millis(t.Now.Add(purpose.Age())))
	return code, err
}

// takeCode deletes a one-time code and returns the id of its user. It returns kernel.ErrNotFound if the code is
// unknown, was used, or has expired.
func (t *tx) takeCode(purpose account.CodePurpose, code string) (userID string, err error) {
	return database.One(t.Session, func(row database.Row) (id string, err error) {
		err = row.Scan(text{&id})
		return
	}, `DELETE FROM one_time_codes WHERE hash = $1 AND purpose = $2 AND ends_at > $3 RETURNING user_id`,
		account.HashTokenSecret(code), string(purpose), millis(t.Now))
}

// codeUser returns the id of the user of a one-time code that is still valid; "" for a code of no user.
func (c *session) codeUser(purpose account.CodePurpose, code string) (string, error) {
	return database.One(c.Session, func(row database.Row) (id string, err error) {
		err = row.Scan(text{&id})
		return
	}, `SELECT user_id FROM one_time_codes WHERE hash = $1 AND purpose = $2 AND ends_at > $3`,
		account.HashTokenSecret(code), string(purpose), millis(c.Now))
}

// FindCode returns the user of a one-time code that is still valid, without using it up; the zero User for a code of
// no user. It returns kernel.ErrNotFound for any other code.
func (s *Store) FindCode(ctx context.Context, purpose account.CodePurpose, code string) (account.User, error) {
	return read(ctx, s, func(c *session) (u account.User, err error) {
		id, err := c.codeUser(purpose, code)
		if err != nil || id == "" {
			return u, err
		}
		return database.One(c.Session, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1`, id)
	})
}

// SetUp creates the first owner, in the first workspace, and signs in. It uses the code up. It returns
// kernel.ErrNotFound if the code is not valid (any more), kernel.ErrPreconditionFailed if the e-mail address has an
// account already, and a *kernel.ValidationError if the input is invalid.
func (s *Store) SetUp(ctx context.Context, code string, n account.NewUser, b Browser) (secret string, err error) {
	if err := n.Validate(); err != nil {
		return "", err
	}
	return write(ctx, s, func(t *tx) (string, error) {
		workspace, err := t.workspace(account.DefaultWorkspace) // its locked row serializes setups
		if err == nil {
			_, err = t.takeCode(account.CodeSetup, code)
		}
		if err != nil {
			return "", err
		}
		user := account.User{ID: kernel.NewID(kernel.PrefixUser, t.Now), Email: n.Email, Name: n.Name, CreatedAt: t.Now}
		if err := t.insertUser(user, n.PasswordHash); err != nil {
			return "", err
		}
		if err := t.confirmEmail(user.ID); err != nil { // the operator has given the code
			return "", err
		}
		actor := kernel.Actor{
			Kind: kernel.ActorUser, ID: user.ID, Name: user.Name, WorkspaceID: workspace, Address: b.Address,
		}
		member := account.Member{User: user, WorkspaceID: workspace, Role: kernel.RoleOwner, Since: t.Now}
		if err := t.addMember(actor, member); err != nil {
			return "", err
		}
		return t.startSession(user.ID, workspace, t.signInNow(account.SignInLink, b))
	})
}

// insertUser creates a user, whose address is not confirmed. It returns kernel.ErrPreconditionFailed if the email
// address has an account already.
func (t *tx) insertUser(u account.User, passwordHash string) error {
	n, err := t.Exec(`INSERT INTO users (id, email, name, password_hash, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (email) DO NOTHING`, u.ID, u.Email, u.Name, nullIfEmpty(passwordHash), millis(t.Now))
	if err == nil && n == 0 {
		err = kernel.ErrPreconditionFailed
	}
	return err
}

// confirmEmail records that a user has proved that the address is theirs.
func (t *tx) confirmEmail(userID string) error {
	_, err := t.Exec(`UPDATE users SET email_confirmed = TRUE WHERE id = $1`, userID)
	return err
}

// IssueResetCode returns a code that sets the password of the user with an email address, once, within
// account.ResetCodeAge. Earlier ones become invalid. It returns kernel.ErrNotFound if there is no such user.
func (s *Store) IssueResetCode(ctx context.Context, email string) (code string, err error) {
	return write(ctx, s, func(t *tx) (string, error) {
		id, err := database.One(t.Session, database.ScanString, `SELECT id FROM users WHERE email = $1 FOR UPDATE`,
			kernel.NormalizeEmail(email))
		if err == nil {
			_, err = t.Exec(`DELETE FROM one_time_codes WHERE user_id = $1 AND purpose = $2`, id,
				string(account.CodeReset))
		}
		if err != nil {
			return "", err
		}
		return t.issueCode(account.CodeReset, id)
	})
}

// IssueEnterCode returns a code that signs a user in, once, within account.EnterCodeAge.
func (s *Store) IssueEnterCode(ctx context.Context, userID string) (code string, err error) {
	return write(ctx, s, func(t *tx) (string, error) { return t.issueCode(account.CodeEnter, userID) })
}

// SignInWithCode signs in with a code and uses it up. It returns kernel.ErrNotFound if the code is not valid (any
// more).
func (s *Store) SignInWithCode(ctx context.Context, code string, b Browser) (secret string, err error) {
	return write(ctx, s, func(t *tx) (string, error) {
		id, err := t.takeCode(account.CodeEnter, code)
		if err != nil {
			return "", err
		}
		return t.startSessionAnywhere(id, t.signInNow(account.SignInLink, b))
	})
}

// ResetPassword sets the password of a code's user, ends all sessions of the user, invalidates all of
// the user's codes, separates the user from the identities at providers, and signs in, unless a second factor is
// missing. It returns kernel.ErrNotFound if the code is not valid (any more).
func (s *Store) ResetPassword(ctx context.Context, code, passwordHash string, b Browser) (PasswordSignIn, error) {
	return write(ctx, s, func(t *tx) (none PasswordSignIn, err error) {
		id, err := t.codeUser(account.CodeReset, code)
		if err != nil {
			return none, err
		}
		actor, err := t.userActor(id, b) // locks the user before the code, as in IssueResetCode
		if err != nil {
			return none, err
		}
		if _, err := t.takeCode(account.CodeReset, code); err != nil {
			return none, err
		}
		if err := t.setPassword(actor, passwordHash); err != nil {
			return none, err
		}
		if err := t.confirmEmail(id); err != nil { // the code was mailed, or an operator has it
			return none, err
		}
		if _, err := t.Exec(`DELETE FROM identities WHERE user_id = $1`, id); err != nil {
			return none, err
		}
		return t.signInWithPassword(id, actor.WorkspaceID, t.signInNow(account.SignInLink, b))
	})
}

// userActor locks a user, and returns the actor of changes that the user makes without a session, in the workspace that
// the user joined first.
func (t *tx) userActor(userID string, b Browser) (kernel.Actor, error) {
	user, err := database.One(t.Session, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1 FOR UPDATE`, userID)
	if err != nil {
		return kernel.Actor{}, err
	}
	workspace, err := t.firstWorkspace(userID)
	return kernel.Actor{
		Kind: kernel.ActorUser, ID: userID, Name: user.Name, WorkspaceID: workspace, Address: b.Address,
	}, err
}

// ChangePassword sets the password of the actor, who is a user, ends all other sessions of the user, and invalidates
// the user's codes.
func (s *Store) ChangePassword(ctx context.Context, actor kernel.Actor, passwordHash string) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error { return t.setPassword(actor, passwordHash) })
}

// ChangeUser changes the actor, who is a user, with account.User.Change. Only the name is saved.
func (s *Store) ChangeUser(ctx context.Context, actor kernel.Actor, change func(*account.User) error) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		before, err := database.One(t.Session, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1 FOR UPDATE`,
			actor.ID)
		if err != nil {
			return err
		}
		after := before
		if err := after.Change(change); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE users SET name = $2 WHERE id = $1`, actor.ID, after.Name); err != nil {
			return err
		}
		return t.audit(actor, kernel.AuditUpdate, before, after)
	})
}

// setPassword sets the password of the actor, who is a user, deletes the user's one-time codes, and ends all sessions
// of the user but the actor's.
func (t *tx) setPassword(actor kernel.Actor, hash string) error {
	user, err := database.One(t.Session, scanUser,
		`UPDATE users SET password_hash = $2 WHERE id = $1 RETURNING `+userColumns, actor.ID, hash)
	if err != nil {
		return err
	}
	if err := t.endOtherAccess(actor.ID, actor.SessionID); err != nil {
		return err
	}
	return t.audit(actor, kernel.AuditRotate, user, user)
}

// endOtherAccess deletes the one-time codes of a user, and ends all sessions of the user but one. "" is no session.
func (t *tx) endOtherAccess(userID, sessionID string) error {
	if _, err := t.Exec(`DELETE FROM one_time_codes WHERE user_id = $1`, userID); err != nil {
		return err
	}
	_, err := t.Exec(`DELETE FROM sessions WHERE user_id = $1 AND id <> $2`, userID, sessionID)
	return err
}
