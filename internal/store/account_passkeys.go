package store

import (
	"context"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

const passkeyColumns = `passkeys.id, user_id, passkeys.name, credential_id, public_key, sign_count, backup_eligible, ` +
	`passkeys.created_at, last_used_at`

func scanPasskey(row database.Row) (p account.Passkey, err error) {
	err = row.Scan(&p.ID, &p.UserID, &p.Name, &p.CredentialID, &p.PublicKey, &p.SignCount, &p.BackupEligible,
		instant{&p.CreatedAt}, instant{&p.LastUsedAt})
	return
}

// IssuePasskeyChallenge returns a challenge for a ceremony of a user, or for a sign-in if userID is "". It is valid
// once, within account.PasskeyChallengeAge.
func (s *Store) IssuePasskeyChallenge(ctx context.Context, userID string) (string, error) {
	return write(ctx, s, func(t *tx) (string, error) { return t.issueCode(account.CodePasskey, userID) })
}

// TakePasskeyChallenge uses a challenge up, and returns the id of the user whose ceremony it is for; "" for a sign-in.
// It returns kernel.ErrNotFound if the challenge is not valid (any more).
func (s *Store) TakePasskeyChallenge(ctx context.Context, challenge string) (userID string, err error) {
	return write(ctx, s, func(t *tx) (string, error) { return t.takeCode(account.CodePasskey, challenge) })
}

// Passkeys lists the passkeys of the actor, who is a user, oldest first.
func (s *Store) Passkeys(ctx context.Context, actor kernel.Actor) ([]account.Passkey, error) {
	return read(ctx, s, func(c *session) ([]account.Passkey, error) {
		return database.Query(c.Session, scanPasskey,
			`SELECT `+passkeyColumns+` FROM passkeys WHERE user_id = $1 ORDER BY created_at, id`, actor.ID)
	})
}

// FindPasskey returns the passkey with a credential id, and its user. It returns kernel.ErrNotFound if there is none.
func (s *Store) FindPasskey(ctx context.Context, credentialID []byte) (p account.Passkey, u account.User, err error) {
	p, err = read(ctx, s, func(c *session) (account.Passkey, error) {
		p, err := database.One(c.Session, scanPasskey,
			`SELECT `+passkeyColumns+` FROM passkeys WHERE credential_id = $1`, credentialID)
		if err == nil {
			u, err = database.One(c.Session, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1`, p.UserID)
		}
		return p, err
	})
	return p, u, err
}

// AddPasskey gives the actor, who is a user, a passkey. It ends all other sessions of the user, and invalidates the
// user's codes. It returns a *kernel.ValidationError if the name is not valid, the passkey exists, or there are too
// many.
func (s *Store) AddPasskey(ctx context.Context, actor kernel.Actor, p account.Passkey) error {
	var err error
	if p.Name, err = account.ValidatePasskeyName(p.Name); err != nil {
		return err
	}
	_, err = changeFactors(ctx, s, actor, func(t *tx, before account.UserFactors) (none struct{}, err error) {
		var bad kernel.ValidationError
		if before.Passkeys >= account.MaxPasskeys {
			bad.Add("name", "You can have no more than %d passkeys.", account.MaxPasskeys)
			return none, bad.Err()
		}
		p.ID, p.CreatedAt = kernel.NewID(kernel.PrefixPasskey, t.Now), t.Now
		n, err := t.Exec(`INSERT INTO passkeys (id, user_id, name, credential_id, public_key, sign_count,
			backup_eligible, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (credential_id) DO NOTHING`,
			p.ID, actor.ID, p.Name, p.CredentialID, p.PublicKey, int64(p.SignCount), p.BackupEligible, millis(t.Now))
		if err != nil {
			return none, err
		}
		if n == 0 {
			bad.Add("name", "This passkey exists already.")
			return none, bad.Err()
		}
		return none, t.audit(actor, kernel.AuditCreate, nil, p)
	})
	return err
}

// RenamePasskey changes the name of a passkey of the actor, who is a user. It returns kernel.ErrNotFound if the user
// has no such passkey, and a *kernel.ValidationError if the name is not valid.
func (s *Store) RenamePasskey(ctx context.Context, actor kernel.Actor, id, name string) error {
	name, err := account.ValidatePasskeyName(name)
	if err != nil {
		return err
	}
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		before, err := t.passkeyOf(actor, id)
		if err != nil {
			return err
		}
		after := before
		after.Name = name
		if _, err := t.Exec(`UPDATE passkeys SET name = $2 WHERE id = $1`, id, name); err != nil {
			return err
		}
		return t.audit(actor, kernel.AuditUpdate, before, after)
	})
}

// passkeyOf returns and locks a passkey of the actor, who is a user.
func (t *tx) passkeyOf(actor kernel.Actor, id string) (account.Passkey, error) {
	return database.One(t.Session, scanPasskey,
		`SELECT `+passkeyColumns+` FROM passkeys WHERE id = $1 AND user_id = $2 FOR UPDATE`, id, actor.ID)
}

// RemovePasskey removes a passkey of the actor, who is a user. It ends all other sessions of the user, and invalidates
// the user's codes. It returns kernel.ErrNotFound if the user has no such passkey.
func (s *Store) RemovePasskey(ctx context.Context, actor kernel.Actor, id string) error {
	_, err := changeFactors(ctx, s, actor, func(t *tx, _ account.UserFactors) (none struct{}, err error) {
		p, err := t.passkeyOf(actor, id)
		if err != nil {
			return none, err
		}
		if _, err := t.Exec(`DELETE FROM passkeys WHERE id = $1`, id); err != nil {
			return none, err
		}
		return none, t.audit(actor, kernel.AuditDelete, p, nil)
	})
	return err
}

// SignInWithPasskey starts a session of the user of a passkey whose signature was right. It returns ErrWrongFactor if
// the passkey is gone, or its sign count has not increased, so that it may have been copied.
func (s *Store) SignInWithPasskey(
	ctx context.Context, p account.Passkey, signCount uint32, b Browser,
) (secret string, err error) {
	return write(ctx, s, func(t *tx) (string, error) {
		if err := t.usePasskey(p, signCount); err != nil {
			return "", err
		}
		return t.startSessionAnywhere(p.UserID, t.signInNow(account.SignInPasskey, b))
	})
}

// ConfirmWithPasskey is ConfirmSession with a passkey of the actor whose signature was right. It returns ErrWrongFactor
// as SignInWithPasskey does.
func (s *Store) ConfirmWithPasskey(ctx context.Context, actor kernel.Actor, p account.Passkey, signCount uint32) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		if err := t.usePasskey(p, signCount); err != nil {
			return err
		}
		return t.confirmSession(actor)
	})
}

func (t *tx) usePasskey(p account.Passkey, signCount uint32) error {
	return wrongIfNone(t.Exec(`UPDATE passkeys SET sign_count = $3, last_used_at = $4
		WHERE id = $1 AND user_id = $2 AND (sign_count < $3 OR sign_count = 0 AND $3 = 0)`, p.ID, p.UserID,
		int64(signCount), millis(t.Now)))
}
