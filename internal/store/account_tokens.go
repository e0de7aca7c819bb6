package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// lastUsedStep is the resolution of the stored time of a token's last use.
const lastUsedStep = time.Minute

const tokenColumns = `tokens.id, tokens.workspace_id, tokens.name, scope, page_limited, tokens.created_at, ` +
	`expires_at, last_used_at, revoked_at`

func scanToken(row database.Row) (t account.Token, err error) {
	err = row.Scan(&t.ID, &t.WorkspaceID, &t.Name, &t.Scope, &t.Limit.Limited, instant{&t.CreatedAt},
		instant{&t.ExpiresAt}, instant{&t.LastUsedAt}, instant{&t.RevokedAt})
	return
}

// Authenticate returns the token with the secret. It reads the database each time, so that a revoked token is refused
// immediately. If the token is unknown, revoked or expired, it returns kernel.ErrUnauthenticated. It stores the time of
// the use, at most once a minute.
func (s *Store) Authenticate(ctx context.Context, secret string) (account.Token, error) {
	t, err := database.Lookup(ctx, s.db, func(c *database.Session) (account.Token, error) {
		found, err := database.Query(c, scanToken,
			`SELECT `+tokenColumns+` FROM tokens WHERE hash = $1 AND revoked_at IS NULL`,
			account.HashTokenSecret(secret))
		if err == nil {
			err = fillTokenLimits(&session{c, s}, found)
		}
		if err != nil || len(found) == 0 {
			return account.Token{}, cmp.Or(err, kernel.ErrNotFound)
		}
		if t := found[0]; !t.ExpiresAt.IsZero() {
			now, err := c.ReadClock()
			if err != nil {
				return t, err
			}
			if !t.ExpiresAt.After(now) {
				return t, kernel.ErrNotFound
			}
		}
		return found[0], nil
	})
	if errors.Is(err, kernel.ErrNotFound) {
		return t, kernel.ErrUnauthenticated
	}
	if err != nil {
		return t, err
	}
	if time.Since(t.LastUsedAt) > lastUsedStep {
		_, err := write(ctx, s, func(x *tx) (int64, error) {
			return x.Exec(`UPDATE tokens SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL
				OR last_used_at < $2)`, t.ID, millis(x.Now))
		})
		if err != nil {
			s.log.Log(ctx, LogLevel(err, slog.LevelWarn), "the use of a token could not be noted", "token", t.ID,
				"error", err)
		}
	}
	return t, nil
}

// authorize returns kernel.ErrUnauthenticated if the actor's token is revoked or expired, the session has ended, or
// the user's role, or whether it is limited to pages, has changed. Reading the request may have taken a while since the
// actor was authenticated. Until the transaction ends, the lock makes endWrites, and the deletion of the session or the
// membership, wait.
func (t *tx) authorize(actor kernel.Actor) error {
	var err error
	switch actor.Kind {
	case kernel.ActorToken:
		_, err = database.One(t.Session, database.ScanString,
			`SELECT id FROM tokens WHERE id = $1 AND revoked_at IS NULL
			AND (expires_at IS NULL OR expires_at > $2) FOR KEY SHARE`, actor.ID, millis(t.Now))
	case kernel.ActorUser:
		_, err = database.One(t.Session, database.ScanString,
			`SELECT sessions.id FROM sessions JOIN members ON members.user_id = sessions.user_id
			WHERE sessions.id = $1 AND sessions.user_id = $2 AND members.workspace_id = $3 AND members.role = $4
			AND members.page_limited = $5 FOR KEY SHARE`, actor.SessionID, actor.ID, actor.WorkspaceID,
			string(actor.Role), actor.PageLimited)
	}
	if errors.Is(err, kernel.ErrNotFound) {
		return kernel.ErrUnauthenticated
	}
	return err
}

// endWrites waits for the writes of revoked tokens that authorize has let through, so that none is committed after the
// revocation is acknowledged. New ones are refused, so it never waits long. On SQLite writes do not overlap.
func (s *Store) endWrites(ctx context.Context, ids ...string) error {
	if !s.db.Shared() || len(ids) == 0 {
		return nil
	}
	_, err := write(ctx, s, func(t *tx) (int64, error) {
		_, err := database.Query(t.Session, database.ScanString,
			`SELECT id FROM tokens WHERE id IN EACH($1) AND revoked_at IS NOT NULL ORDER BY id FOR EXCLUSIVE UPDATE`,
			list(ids))
		if err != nil {
			return 0, err
		}
		// A write whose authorize has read the row and not locked it yet reads it again.
		return t.Exec(`UPDATE tokens SET revoked_at = revoked_at WHERE id IN EACH($1) AND revoked_at IS NOT NULL`,
			list(ids))
	})
	if errors.Is(err, kernel.ErrBusy) {
		return fmt.Errorf("%w: the token is revoked, but its last writes may still be running: %v",
			kernel.ErrUnknownOutcome, err)
	}
	return err
}

// Tokens lists a workspace's tokens, revoked ones included, oldest first.
func (s *Store) Tokens(ctx context.Context, actor kernel.Actor, r Pagination) ([]account.Token, int, error) {
	return listQuery[account.Token]{
		scan: scanToken, fill: fillTokenLimits, columns: tokenColumns,
		from: `FROM tokens WHERE workspace_id = $1`, args: []any{actor.WorkspaceID}, order: `ORDER BY created_at, id`,
	}.load(ctx, s, r)
}

func fillTokenLimits(c *session, tokens []account.Token) error {
	return fillPageLimits(c, tokens, func(t *account.Token) (string, *account.PageLimit) { return t.ID, &t.Limit })
}

// IssueToken creates a token. Only the result has its secret, which is not stored. It returns a *kernel.ValidationError
// if the input is invalid.
func (s *Store) IssueToken(
	ctx context.Context, actor kernel.Actor, n account.NewToken, save ...SaveResponse[account.IssuedToken],
) (account.IssuedToken, error) {
	if err := n.Validate(); err != nil {
		return account.IssuedToken{}, err
	}
	return writeAs(ctx, s, actor, func(t *tx) (account.IssuedToken, error) {
		return t.issue(actor, n, account.NewTokenSecret())
	}, save...)
}

// IssueTokenFor is IssueToken for a workspace given by name. It creates a workspace that does not exist.
func (s *Store) IssueTokenFor(ctx context.Context, workspace string, n account.NewToken) (account.IssuedToken, error) {
	var bad kernel.ValidationError
	kernel.CheckLine(&bad, "workspace", workspace, kernel.MaxNameLength)
	if err := errors.Join(bad.Err(), n.Validate()); err != nil {
		return account.IssuedToken{}, err
	}
	return write(ctx, s, func(t *tx) (account.IssuedToken, error) {
		id, err := t.workspace(workspace)
		if err != nil {
			return account.IssuedToken{}, err
		}
		return t.issue(kernel.SystemActor("allswell token create", id), n, account.NewTokenSecret())
	})
}

// RevokeToken revokes a token: when it returns nil, no write of the token is under way, and none will be accepted.
// Revoking it again does not change the time. It returns kernel.ErrNotFound if the workspace has no such token, and
// kernel.ErrUnknownOutcome if the token is revoked, but its last writes may still be running.
func (s *Store) RevokeToken(ctx context.Context, actor kernel.Actor, id string) error {
	err := writeOnlyAs(ctx, s, actor, func(t *tx) error {
		return t.revoke(actor, id)
	})
	if err != nil {
		return err
	}
	return s.endWrites(ctx, id)
}

// WorkspaceToken is a token with the name of its workspace.
type WorkspaceToken struct {
	account.Token
	Workspace string
}

// AllTokens lists the tokens of all workspaces, oldest first.
func (s *Store) AllTokens(ctx context.Context) ([]WorkspaceToken, error) {
	return read(ctx, s, func(c *session) ([]WorkspaceToken, error) {
		all, err := database.Query(c.Session, func(row database.Row) (t WorkspaceToken, err error) {
			t.Token, err = scanToken(widerRow{row, []any{&t.Workspace}})
			return
		}, `SELECT `+tokenColumns+`, workspaces.name
			FROM tokens JOIN workspaces ON workspaces.id = workspace_id ORDER BY tokens.created_at, tokens.id`)
		if err == nil {
			err = fillPageLimits(c, all, func(t *WorkspaceToken) (string, *account.PageLimit) { return t.ID, &t.Limit })
		}
		return all, err
	})
}

// RevokeAnyToken is RevokeToken for the operator, in any workspace.
func (s *Store) RevokeAnyToken(ctx context.Context, id string) error {
	err := writeOnly(ctx, s, func(t *tx) error {
		workspace, err := database.One(t.Session, database.ScanString, `SELECT workspace_id FROM tokens WHERE id = $1`,
			id)
		if err != nil {
			return err
		}
		return t.revoke(kernel.SystemActor("allswell token revoke", workspace), id)
	})
	if err != nil {
		return err
	}
	return s.endWrites(ctx, id)
}

// revoke revokes a token of the actor's workspace. A token that is revoked already keeps its time.
func (t *tx) revoke(actor kernel.Actor, id string) error {
	token, err := database.One(t.Session, scanToken,
		`SELECT `+tokenColumns+` FROM tokens WHERE id = $1 AND workspace_id = $2 FOR UPDATE`, id, actor.WorkspaceID)
	if err != nil || !token.RevokedAt.IsZero() {
		return err
	}
	revoked := token
	revoked.RevokedAt = t.Now
	if _, err := t.Exec(`UPDATE tokens SET revoked_at = $2 WHERE id = $1`, id, millis(t.Now)); err != nil {
		return err
	}
	return t.audit(actor, kernel.AuditRevoke, token, revoked)
}

// BootstrapResult is the result of Bootstrap.
type BootstrapResult struct {
	Revoked []string // ids of the bootstrap tokens that this one replaces
	Active  bool     // false if secret was revoked before
}

// Bootstrap makes secret an admin token of the first workspace, unless it is a token already, and revokes all earlier
// bootstrap tokens in the same transaction. If secret was revoked before, it stays revoked and nothing changes: in a
// rolling deployment, replicas with the old value do not bring it back.
func (s *Store) Bootstrap(ctx context.Context, secret string) (BootstrapResult, error) {
	if err := account.CheckBootstrapToken(secret); err != nil {
		return BootstrapResult{}, err
	}
	done, err := write(ctx, s, func(t *tx) (BootstrapResult, error) {
		workspaceID, err := t.workspace(account.DefaultWorkspace) // its locked row serializes the replicas
		if err != nil {
			return BootstrapResult{}, err
		}
		actor := kernel.SystemActor("ALLSWELL_BOOTSTRAP_TOKEN", workspaceID)
		token, err := database.One(t.Session, scanToken, `SELECT `+tokenColumns+` FROM tokens WHERE hash = $1`,
			account.HashTokenSecret(secret))
		if errors.Is(err, kernel.ErrNotFound) {
			var issued account.IssuedToken
			issued, err = t.issue(actor, account.NewToken{Name: "bootstrap", Scope: kernel.ScopeAdmin}, secret)
			token = issued.Token
		}
		if err != nil || !token.RevokedAt.IsZero() {
			return BootstrapResult{}, err
		}
		_, err = t.Exec(`UPDATE tokens SET bootstrap = TRUE WHERE id = $1 AND NOT bootstrap`, token.ID)
		if err != nil {
			return BootstrapResult{}, err
		}
		replaced, err := database.Query(t.Session, database.ScanString,
			`SELECT id FROM tokens WHERE bootstrap AND id <> $1 AND revoked_at IS NULL AND workspace_id = $2
				ORDER BY id`, token.ID, workspaceID)
		for _, id := range replaced {
			if err == nil {
				err = t.revoke(actor, id)
			}
		}
		return BootstrapResult{Revoked: replaced, Active: true}, err
	})
	if err != nil {
		return done, err
	}
	return done, s.endWrites(ctx, done.Revoked...)
}

// CreateFirstToken makes secret an admin token of the first workspace if there has never
// been a token. It returns true if secret is the first token, even if an earlier call
// created it, so that a call with an unknown outcome can be repeated.
func (s *Store) CreateFirstToken(ctx context.Context, secret string) (first bool, err error) {
	return write(ctx, s, func(t *tx) (bool, error) {
		id, err := t.workspace(account.DefaultWorkspace) // its locked row serializes the replicas
		if err != nil {
			return false, err
		}
		n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM tokens`)
		if err != nil {
			return false, err
		}
		if n > 0 {
			n, err = database.One(t.Session, database.ScanInt, `SELECT count(*) FROM tokens WHERE hash = $1`,
				account.HashTokenSecret(secret))
			return n > 0, err
		}
		_, err = t.issue(kernel.SystemActor("first start", id), account.NewToken{
			Name: "admin token (first start)", Scope: kernel.ScopeAdmin,
		}, secret)
		return err == nil, err
	})
}

// workspace returns the id of the workspace with the name and locks its row. It creates a
// workspace that does not exist.
func (t *tx) workspace(name string) (string, error) {
	return database.One(t.Session, database.ScanString,
		`INSERT INTO workspaces (id, name, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id`,
		kernel.NewID(kernel.PrefixWorkspace, t.Now), name, millis(t.Now))
}

func (t *tx) issue(actor kernel.Actor, n account.NewToken, secret string) (account.IssuedToken, error) {
	token := account.Token{
		ID: kernel.NewID(kernel.PrefixToken, t.Now), WorkspaceID: actor.WorkspaceID,
		Name: n.Name, Scope: n.Scope, Limit: n.Limit, CreatedAt: t.Now, ExpiresAt: n.ExpiresAt,
	}
	if err := n.CheckExpiry(t.Now); err != nil {
		return account.IssuedToken{}, err
	}
	if err := t.setPageLimit(actor, token.ID, &token.Limit); err != nil {
		return account.IssuedToken{}, err
	}
	_, err := t.Exec(`INSERT INTO tokens (id, workspace_id, name, scope, page_limited, hash, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		token.ID, token.WorkspaceID, token.Name, string(token.Scope), token.Limit.Limited,
		account.HashTokenSecret(secret), millis(t.Now), millis(n.ExpiresAt))
	if err == nil {
		err = t.audit(actor, kernel.AuditCreate, nil, token)
	}
	return account.IssuedToken{Token: token, Secret: secret}, err
}

// requireRow returns ErrNotFound if a statement changed no row.
func requireRow(n int64, err error) error {
	if err == nil && n == 0 {
		return kernel.ErrNotFound
	}
	return err
}
