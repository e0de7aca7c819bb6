package store

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// sessionStep is the resolution of the stored time of a session's last use.
const sessionStep = 5 * time.Minute

// maxSessions is the maximum number of sessions of one user. A further sign-in ends the oldest.
const maxSessions = 50

// Browser describes the browser that signs in.
type Browser struct {
	Address string // IP address
	Client  string // User-Agent
}

// signIn is how a session begins.
type signIn struct {
	Browser
	method      account.SignInMethod
	confirmedAt time.Time // when the user last proved who they are
}

// signInNow returns a sign-in of a user who has just proved who they are.
func (t *tx) signInNow(method account.SignInMethod, b Browser) signIn {
	return signIn{b, method, t.Now}
}

// maxClientLength is the number of bytes of a User-Agent that are stored.
const maxClientLength = 300

const sessionColumns = `sessions.id, sessions.user_id, sessions.workspace_id, sessions.created_at, last_used_at, ` +
	`confirmed_at, address, client, method`

func scanSession(row database.Row) (s account.Session, err error) {
	err = row.Scan(&s.ID, &s.UserID, &s.WorkspaceID, instant{&s.CreatedAt}, instant{&s.LastUsedAt},
		instant{&s.ConfirmedAt}, &s.Address, &s.Client, &s.Method)
	return
}

// StartSession signs in a user who has proved who they are, to the workspace that the user joined first, and returns
// the secret of the session. It returns kernel.ErrNotFound if the user does not exist or is a member of no workspace.
func (s *Store) StartSession(
	ctx context.Context, userID string, method account.SignInMethod, b Browser,
) (secret string, err error) {
	return write(ctx, s, func(t *tx) (string, error) { return t.startSessionAnywhere(userID, t.signInNow(method, b)) })
}

func (t *tx) startSessionAnywhere(userID string, in signIn) (secret string, err error) {
	workspace, err := t.firstWorkspace(userID)
	if err != nil {
		return "", err
	}
	return t.startSession(userID, workspace, in)
}

// PasswordSignIn is the result of a correct password: a session, or a one-time code with which FinishSignIn continues.
type PasswordSignIn struct {
	Secret  string // of the session; "": a second factor is missing
	Pending string // the code for FinishSignIn; "" with a session
}

// SignInWithPassword is StartSession for a user who has proved the password of the credentials, unless a second factor
// is missing. It returns kernel.ErrNotFound also if the password has been changed meanwhile.
func (s *Store) SignInWithPassword(ctx context.Context, c Credentials, b Browser) (PasswordSignIn, error) {
	return write(ctx, s, func(t *tx) (PasswordSignIn, error) {
		// Changes of the password and of second factors take the same lock, and end the sessions that exist.
		hash, err := database.One(t.Session, database.ScanString,
			`SELECT coalesce(password_hash, '') FROM users WHERE id = $1 FOR UPDATE`, c.UserID)
		if err == nil && hash != c.PasswordHash {
			err = kernel.ErrNotFound
		}
		if err != nil {
			return PasswordSignIn{}, err
		}
		workspace, err := t.firstWorkspace(c.UserID)
		if err != nil {
			return PasswordSignIn{}, err
		}
		return t.signInWithPassword(c.UserID, workspace, t.signInNow(account.SignInPassword, b))
	})
}

// signInWithPassword starts a session, or issues the code for FinishSignIn if the user has an authenticator app.
func (t *tx) signInWithPassword(userID, workspaceID string, in signIn) (out PasswordSignIn, err error) {
	n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM authenticators WHERE user_id = $1`,
		userID)
	switch {
	case err != nil:
	case n > 0:
		out.Pending, err = t.issueCode(account.CodeSecondFactor, userID)
	default:
		out.Secret, err = t.startSession(userID, workspaceID, in)
	}
	return out, err
}

// firstWorkspace returns the id of the workspace that a user joined first. It returns kernel.ErrNotFound if there is
// none.
func (t *tx) firstWorkspace(userID string) (string, error) {
	return database.One(t.Session, database.ScanString,
		`SELECT workspace_id FROM members WHERE user_id = $1 ORDER BY created_at, workspace_id LIMIT 1`, userID)
}

func (t *tx) startSession(userID, workspaceID string, in signIn) (secret string, err error) {
	user, err := database.One(t.Session, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1`, userID)
	if err != nil {
		return "", err
	}
	_, err = t.Exec(`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE user_id = $1
		ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $2)`, userID, maxSessions-1)
	if err != nil {
		return "", err
	}
	secret = rand.Text() + rand.Text() // 260 bits
	begun := account.Session{ID: kernel.NewID(kernel.PrefixSession, t.Now), Method: in.method}
	_, err = t.Exec(`INSERT INTO sessions (id, user_id, workspace_id, hash, created_at, last_used_at, confirmed_at,
		address, client, method)
		VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9)`,
		begun.ID, userID, workspaceID, account.HashTokenSecret(secret), millis(t.Now), millis(in.confirmedAt),
		in.Address, strings.ToValidUTF8(in.Client[:min(len(in.Client), maxClientLength)], ""), string(in.method))
	if err == nil {
		err = t.recordLastSeen(userID, workspaceID)
	}
	if err != nil {
		return "", err
	}
	actor := kernel.Actor{
		Kind: kernel.ActorUser, ID: userID, Name: user.Name, WorkspaceID: workspaceID, Address: in.Address,
	}
	return secret, t.audit(actor, kernel.AuditCreate, nil, begun)
}

// recordLastSeen notes the time at which a member was last seen.
func (t *tx) recordLastSeen(userID, workspaceID string) error {
	_, err := t.Exec(`UPDATE members SET last_seen_at = $3 WHERE user_id = $1 AND workspace_id = $2`, userID,
		workspaceID, millis(t.Now))
	return err
}

// FindSession returns the session with a secret, its user, and the user's role and workspaces. It returns
// kernel.ErrUnauthenticated if the session does not exist, has expired, or the user has left all workspaces.
func (s *Store) FindSession(ctx context.Context, secret string) (account.SignedIn, error) {
	found, _, err := s.findSession(ctx, secret)
	return found, err
}

// UseSession is FindSession for a request of the user. It stores the time of the use, at most once in sessionStep.
func (s *Store) UseSession(ctx context.Context, secret string) (account.SignedIn, error) {
	found, now, err := s.findSession(ctx, secret)
	if err == nil && now.Sub(found.LastUsedAt) > sessionStep {
		s.recordUse(ctx, found.Session)
	}
	return found, err
}

// findSession is FindSession, with the time of the search.
func (s *Store) findSession(ctx context.Context, secret string) (found account.SignedIn, now time.Time, err error) {
	found, err = read(ctx, s, func(c *session) (in account.SignedIn, err error) {
		now = c.Now
		in.Session, err = database.One(c.Session, scanSession,
			`SELECT `+sessionColumns+` FROM sessions WHERE hash = $1`, account.HashTokenSecret(secret))
		if err != nil {
			return in, err
		}
		if !in.EndsAt().After(now) {
			return in, kernel.ErrUnauthenticated
		}
		in.User, err = database.One(c.Session, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1`, in.UserID)
		if err != nil {
			return in, err
		}
		_, err = database.Query(c.Session, func(row database.Row) (w account.Workspace, err error) {
			var role kernel.Role
			var limited bool
			err = row.Scan(&w.ID, &w.Name, instant{&w.CreatedAt}, &role, &limited)
			in.Workspaces = append(in.Workspaces, w)
			if limited {
				in.LimitedIn = append(in.LimitedIn, w.ID)
			}
			if w.ID == in.WorkspaceID {
				in.Role, in.PageLimited = role, limited
			}
			return
		}, `SELECT workspaces.id, workspaces.name, workspaces.created_at, members.role, members.page_limited
			FROM members JOIN workspaces ON workspaces.id = members.workspace_id WHERE members.user_id = $1
			ORDER BY members.created_at, workspaces.id`, in.UserID)
		if err == nil && in.Role == "" {
			err = kernel.ErrUnauthenticated
		}
		return in, err
	})
	if errors.Is(err, kernel.ErrNotFound) {
		err = kernel.ErrUnauthenticated
	}
	return found, now, err
}

func (s *Store) recordUse(ctx context.Context, used account.Session) {
	err := writeOnly(ctx, s, func(t *tx) error {
		_, err := t.Exec(`UPDATE sessions SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2`,
			used.ID, millis(t.Now))
		if err != nil {
			return err
		}
		return t.recordLastSeen(used.UserID, used.WorkspaceID)
	})
	if err != nil {
		s.log.Log(ctx, LogLevel(err, slog.LevelWarn), "the use of a session could not be noted", "session", used.ID,
			"error", err)
	}
}

// Sessions lists the sessions of the actor, who is a user, newest first.
func (s *Store) Sessions(ctx context.Context, actor kernel.Actor) ([]account.Session, error) {
	return read(ctx, s, func(c *session) ([]account.Session, error) {
		all, err := database.Query(c.Session, scanSession,
			`SELECT `+sessionColumns+` FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, id DESC`, actor.ID)
		live := all[:0]
		for _, one := range all {
			if one.EndsAt().After(c.Now) {
				live = append(live, one)
			}
		}
		return live, err
	})
}

// EndSession ends a session of the actor, who is a user. When it returns nil, no write of the session is under way, and
// none will be accepted. It returns kernel.ErrNotFound if the user has no such session.
func (s *Store) EndSession(ctx context.Context, actor kernel.Actor, id string) error {
	return writeOnly(ctx, s, func(t *tx) error {
		return requireRow(t.Exec(`DELETE FROM sessions WHERE id = $1 AND user_id = $2`, id, actor.ID))
	})
}

// MemberSessions lists the sessions of the members of the actor's workspace, newest first.
func (s *Store) MemberSessions(
	ctx context.Context, actor kernel.Actor, r Pagination,
) ([]account.MemberSession, int, error) {
	now, err := s.Clock(ctx)
	if err != nil {
		return nil, 0, err
	}
	return listQuery[account.MemberSession]{
		scan: scanMemberSession, columns: memberSessionColumns,
		from: memberSessions + ` AND sessions.created_at > $2 AND last_used_at > $3`,
		args: []any{
			actor.WorkspaceID, millis(now.Add(-account.SessionMaxAge)), millis(now.Add(-account.SessionIdleLimit)),
		},
		order: `ORDER BY sessions.created_at DESC, sessions.id DESC`,
	}.load(ctx, s, r)
}

const (
	memberSessionColumns = sessionColumns + `, users.email, users.name, users.created_at, members.role`
	memberSessions       = `FROM sessions JOIN users ON users.id = sessions.user_id
		JOIN members ON members.user_id = users.id WHERE members.workspace_id = $1`
)

func scanMemberSession(row database.Row) (m account.MemberSession, err error) {
	m.Session, err = scanSession(widerRow{row, []any{&m.User.Email, &m.User.Name, instant{&m.User.CreatedAt}, &m.Role}})
	m.User.ID = m.UserID
	return m, err
}

// EndMemberSession ends a session of a member of the actor's workspace. When it returns nil, no write of the session is
// under way, and none will be accepted. It returns kernel.ErrNotFound if no member has the session, and a
// *kernel.ValidationError if the member's role is above the actor's.
func (s *Store) EndMemberSession(ctx context.Context, actor kernel.Actor, id string) error {
	_, err := writeMembersAs(ctx, s, actor, func(t *tx) (none struct{}, err error) {
		ended, err := database.One(t.Session, scanMemberSession,
			`SELECT `+memberSessionColumns+` `+memberSessions+` AND sessions.id = $2`, actor.WorkspaceID, id)
		if err != nil {
			return none, err
		}
		if err := account.CheckRoles(actor, ended.Role); err != nil {
			return none, err
		}
		if err := requireRow(t.Exec(`DELETE FROM sessions WHERE id = $1`, id)); err != nil {
			return none, err
		}
		return none, t.audit(actor, kernel.AuditDelete, ended, nil)
	})
	return err
}

// EndOtherSessions ends all sessions of the actor, who is a user, except the session of the request.
func (s *Store) EndOtherSessions(ctx context.Context, actor kernel.Actor) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		_, err := t.Exec(`DELETE FROM sessions WHERE user_id = $1 AND id <> $2`, actor.ID, actor.SessionID)
		return err
	})
}

// ConfirmSession notes that the user of a session has proved their identity again.
func (s *Store) ConfirmSession(ctx context.Context, actor kernel.Actor) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error { return t.confirmSession(actor) })
}

func (t *tx) confirmSession(actor kernel.Actor) error {
	return requireRow(t.Exec(`UPDATE sessions SET confirmed_at = $2 WHERE id = $1`, actor.SessionID, millis(t.Now)))
}

// SwitchWorkspace makes the session of the actor, who is a user, show another workspace of the user. It returns
// kernel.ErrNotFound if the user is no member of it.
func (s *Store) SwitchWorkspace(ctx context.Context, actor kernel.Actor, workspaceID string) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		err := requireRow(t.Exec(`UPDATE sessions SET workspace_id = $2
			WHERE id = $1 AND EXISTS (SELECT 1 FROM members WHERE user_id = $3 AND workspace_id = $2)`, actor.SessionID,
			workspaceID, actor.ID))
		if err != nil {
			return err
		}
		return t.recordLastSeen(actor.ID, workspaceID)
	})
}
