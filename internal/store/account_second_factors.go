package store

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// factorColumns select the factors of a row of users.
const factorColumns = `(SELECT created_at FROM authenticators WHERE user_id = users.id),
	(SELECT count(*) FROM recovery_codes WHERE user_id = users.id), (SELECT max(created_at) FROM recovery_codes
	WHERE user_id = users.id),
	(SELECT count(*) FROM passkeys WHERE user_id = users.id)`

func factorFields(f *account.Factors) []any {
	return []any{instant{&f.AuthenticatorSince}, &f.RecoveryCodes, instant{&f.RecoveryCodesSince}, &f.Passkeys}
}

func (c *session) factors(userID string) (account.UserFactors, error) {
	return database.One(c.Session, func(row database.Row) (f account.UserFactors, err error) {
		err = row.Scan(append([]any{&f.User.ID, &f.User.Email, &f.User.Name, instant{&f.User.CreatedAt}},
			factorFields(&f.Factors)...)...)
		return
	}, `SELECT `+userColumns+`, `+factorColumns+` FROM users WHERE id = $1`, userID)
}

// Factors returns the factors of the actor, who is a user.
func (s *Store) Factors(ctx context.Context, actor kernel.Actor) (account.Factors, error) {
	return read(ctx, s, func(c *session) (account.Factors, error) {
		f, err := c.factors(actor.ID)
		return f.Factors, err
	})
}

// AuthenticatorSecret returns the secret of a user's authenticator app. It returns kernel.ErrNotFound if the user has
// none.
func (s *Store) AuthenticatorSecret(ctx context.Context, userID string) (string, error) {
	return read(ctx, s, func(c *session) (string, error) {
		return database.One(c.Session, database.ScanString, `SELECT secret FROM authenticators WHERE user_id = $1`,
			userID)
	})
}

// ErrWrongFactor means that a second factor is wrong, or has been used before.
var ErrWrongFactor = errors.New("the second factor is wrong")

// SecondFactor proves an identity besides the password.
type SecondFactor struct {
	Step         int64  // of the code of an authenticator app, which was right
	RecoveryCode string // in any case, with or without separators; used if Step is 0
}

// FinishSignIn continues a sign-in with the code of PasswordSignIn.Pending and a second factor. Both work once. It
// returns kernel.ErrNotFound if the code is not valid (any more), and ErrWrongFactor if the second factor is not; the
// code then stays valid.
func (s *Store) FinishSignIn(
	ctx context.Context, pending string, f SecondFactor, b Browser,
) (secret string, err error) {
	return write(ctx, s, func(t *tx) (string, error) {
		id, err := t.codeUser(account.CodeSecondFactor, pending)
		if err != nil {
			return "", err
		}
		actor, err := t.userActor(id, b)
		if err != nil {
			return "", err
		}
		if err := t.useSecondFactor(actor, f); err != nil { // locks the user before the code
			return "", err
		}
		if _, err := t.takeCode(account.CodeSecondFactor, pending); err != nil {
			return "", err
		}
		return t.startSession(id, actor.WorkspaceID, t.signInNow(account.SignInPassword, b))
	})
}

// UseSecondFactor uses up a second factor of a user, who is about to join a workspace. The audit log of this workspace
// records the use of a recovery code. It returns ErrWrongFactor if the factor is wrong or was used before.
func (s *Store) UseSecondFactor(ctx context.Context, userID, workspaceID string, f SecondFactor, b Browser) error {
	return writeOnly(ctx, s, func(t *tx) error {
		user, err := database.One(t.Session, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1`, userID)
		if err != nil {
			return err
		}
		return t.useSecondFactor(kernel.Actor{
			Kind: kernel.ActorUser, ID: userID, Name: user.Name, WorkspaceID: workspaceID, Address: b.Address,
		}, f)
	})
}

// useSecondFactor uses up a second factor of the actor, who is a user. The use of a recovery code is audited.
func (t *tx) useSecondFactor(actor kernel.Actor, f SecondFactor) error {
	before, err := t.lockFactors(actor.ID)
	if err != nil {
		return err
	}
	if f.Step > 0 {
		return wrongIfNone(t.Exec(`UPDATE authenticators SET last_step = $2 WHERE user_id = $1 AND last_step < $2`,
			actor.ID, f.Step))
	}
	err = wrongIfNone(
		t.Exec(`DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2`, actor.ID, recoveryHash(f.RecoveryCode)),
	)
	if err != nil {
		return err
	}
	return t.auditFactors(actor, before)
}

func wrongIfNone(n int64, err error) error {
	if err == nil && n == 0 {
		err = ErrWrongFactor
	}
	return err
}

// recoveryHash returns the stored form of a recovery code.
func recoveryHash(code string) []byte {
	return account.HashTokenSecret(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(code)))
}

// lockFactors locks the user, so that changes of factors wait for each other, and returns the factors.
func (t *tx) lockFactors(userID string) (account.UserFactors, error) {
	_, err := database.One(t.Session, database.ScanString, `SELECT id FROM users WHERE id = $1 FOR UPDATE`, userID)
	if err != nil {
		return account.UserFactors{}, err
	}
	return t.factors(userID)
}

func (t *tx) auditFactors(actor kernel.Actor, before account.UserFactors) error {
	after, err := t.factors(before.User.ID)
	if err != nil {
		return err
	}
	return t.audit(actor, kernel.AuditUpdate, before, after)
}

// changeFactors changes the factors of the actor, who is a user: it ends all other sessions of the user, invalidates
// the user's codes, and audits the change.
func changeFactors[T any](
	ctx context.Context, s *Store, actor kernel.Actor, f func(t *tx, before account.UserFactors) (T, error),
) (T, error) {
	return writeAs(ctx, s, actor, func(t *tx) (none T, err error) {
		before, err := t.lockFactors(actor.ID)
		if err != nil {
			return none, err
		}
		out, err := f(t, before)
		if err == nil {
			err = t.endOtherAccess(actor.ID, actor.SessionID)
		}
		if err == nil {
			err = t.auditFactors(actor, before)
		}
		return out, err
	})
}

// SetAuthenticator gives the actor, who is a user, an authenticator app, and returns recovery codes. step is the step
// of the code that has proved it. It ends all other sessions of the user, and invalidates the user's codes. It returns
// kernel.ErrPreconditionFailed if the user has an authenticator app.
func (s *Store) SetAuthenticator(
	ctx context.Context, actor kernel.Actor, secret string, step int64,
) (recoveryCodes []string, err error) {
	return changeFactors(ctx, s, actor, func(t *tx, before account.UserFactors) ([]string, error) {
		if before.HasAuthenticator() {
			return nil, kernel.ErrPreconditionFailed
		}
		_, err := t.Exec(`INSERT INTO authenticators (user_id, secret, last_step, created_at) VALUES ($1, $2, $3, $4)`,
			actor.ID, secret, step, millis(t.Now))
		if err != nil {
			return nil, err
		}
		return t.newRecoveryCodes(actor.ID)
	})
}

// RenewRecoveryCodes replaces the recovery codes of the actor, who is a user. It ends all other sessions of the user,
// and invalidates the user's codes. It returns kernel.ErrNotFound if the user has no authenticator app.
func (s *Store) RenewRecoveryCodes(ctx context.Context, actor kernel.Actor) ([]string, error) {
	return changeFactors(ctx, s, actor, func(t *tx, before account.UserFactors) ([]string, error) {
		if !before.HasAuthenticator() {
			return nil, kernel.ErrNotFound
		}
		return t.newRecoveryCodes(actor.ID)
	})
}

// newRecoveryCodes replaces the recovery codes of a user.
func (t *tx) newRecoveryCodes(userID string) (codes []string, err error) {
	if _, err := t.Exec(`DELETE FROM recovery_codes WHERE user_id = $1`, userID); err != nil {
		return nil, err
	}
	for range account.RecoveryCodeCount {
		c := rand.Text()[:16] // 80 bits
		_, err := t.Exec(`INSERT INTO recovery_codes (user_id, hash, created_at) VALUES ($1, $2, $3)`,
			userID, recoveryHash(c), millis(t.Now))
		if err != nil {
			return nil, err
		}
		codes = append(codes, strings.Join([]string{c[:4], c[4:8], c[8:12], c[12:]}, "-"))
	}
	return codes, nil
}

// RemoveAuthenticator removes the authenticator app and the recovery codes of the actor, who is a user. It ends all
// other sessions of the user, and invalidates the user's codes. It returns kernel.ErrNotFound if the user has none.
func (s *Store) RemoveAuthenticator(ctx context.Context, actor kernel.Actor) error {
	_, err := changeFactors(ctx, s, actor, func(t *tx, before account.UserFactors) (none struct{}, err error) {
		if !before.HasAuthenticator() {
			return none, kernel.ErrNotFound
		}
		return none, t.removeFactors(actor.ID, "authenticators", "recovery_codes")
	})
	return err
}

func (t *tx) removeFactors(userID string, tables ...string) error {
	for _, table := range tables {
		if _, err := t.Exec(`DELETE FROM `+table+` WHERE user_id = $1`, userID); err != nil {
			return err
		}
	}
	return nil
}

// RemoveFactors removes all factors but the password of the user with an email address, ends all sessions of the user,
// and invalidates the user's codes. It is for the operator. It returns kernel.ErrNotFound if there is no such user.
func (s *Store) RemoveFactors(ctx context.Context, command, email string) error {
	return writeOnly(ctx, s, func(t *tx) error {
		id, err := database.One(t.Session, database.ScanString, `SELECT id FROM users WHERE email = $1`,
			kernel.NormalizeEmail(email))
		if err != nil {
			return err
		}
		before, err := t.lockFactors(id)
		if err == nil {
			err = t.removeFactors(id, "authenticators", "recovery_codes", "passkeys")
		}
		if err == nil {
			err = t.endOtherAccess(id, "")
		}
		if err != nil {
			return err
		}
		workspace, err := t.firstWorkspace(id)
		if errors.Is(err, kernel.ErrNotFound) {
			return nil // no workspace, so no audit log
		}
		if err != nil {
			return err
		}
		return t.auditFactors(kernel.SystemActor(command, workspace), before)
	})
}
