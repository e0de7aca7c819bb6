package store

import (
	"cmp"
	"context"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// Members lists the members of the actor's workspace, oldest first.
func (s *Store) Members(ctx context.Context, actor kernel.Actor, r Pagination) ([]account.Member, int, error) {
	return listQuery[account.Member]{
		scan: scanMember, fill: fillMemberLimits, columns: memberColumns,
		from: `FROM users JOIN members ON members.user_id = users.id WHERE members.workspace_id = $1`,
		args: []any{actor.WorkspaceID}, order: `ORDER BY members.created_at, users.id`,
	}.load(ctx, s, r)
}

func fillMemberLimits(c *session, members []account.Member) error {
	return fillPageLimits(c, members, func(m *account.Member) (string, *account.PageLimit) {
		return memberHolder(m.WorkspaceID, m.ID), &m.Limit
	})
}

func (t *tx) addMember(actor kernel.Actor, m account.Member) error {
	_, err := t.Exec(`INSERT INTO members (user_id, workspace_id, role, page_limited, created_at)
		VALUES ($1, $2, $3, $4, $5)`, m.ID, m.WorkspaceID, string(m.Role), m.Limit.Limited, millis(t.Now))
	if err == nil {
		err = t.audit(actor, kernel.AuditCreate, nil, m)
	}
	return err
}

// writeMembersAs is writeAs for an f that changes the members of the actor's workspace. Such changes wait for each
// other, and an actor whose role one of them has changed is refused.
func writeMembersAs[T any](
	ctx context.Context, s *Store, actor kernel.Actor, f func(*tx) (T, error), save ...SaveResponse[T],
) (T, error) {
	return write(ctx, s, func(t *tx) (none T, err error) {
		if err := t.lockMembers(actor.WorkspaceID); err != nil {
			return none, err
		}
		if err := t.authorize(actor); err != nil {
			return none, err
		}
		return f(t)
	}, save...)
}

// lockMembers makes changes of a workspace's members and invitations wait for each other.
func (t *tx) lockMembers(workspaceID string) error {
	_, err := database.One(t.Session, database.ScanString, `SELECT id FROM workspaces WHERE id = $1 FOR UPDATE`,
		workspaceID)
	return err
}

// lockMember returns a member and waits for the writes that authorize has let through with the role.
func (t *tx) lockMember(workspaceID, userID string) (account.Member, error) {
	_, err := database.One(t.Session, database.ScanString,
		`SELECT user_id FROM members WHERE user_id = $1 AND workspace_id = $2 FOR EXCLUSIVE UPDATE`, userID,
		workspaceID)
	if err != nil {
		return account.Member{}, err
	}
	members, err := database.Query(t.Session, scanMember, `SELECT `+memberColumns+`
		FROM users JOIN members ON members.user_id = users.id WHERE members.user_id = $1
		AND members.workspace_id = $2`, userID, workspaceID)
	if err == nil {
		err = fillMemberLimits(&t.session, members)
	}
	if err != nil || len(members) == 0 {
		return account.Member{}, cmp.Or(err, kernel.ErrNotFound)
	}
	return members[0], nil
}

func (t *tx) owners(workspaceID string) (int64, error) {
	return database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM members WHERE workspace_id = $1 AND role = $2`, workspaceID, string(kernel.RoleOwner))
}

// ChangeMember changes the role of a member of the actor's workspace, and the pages to which it is limited. When it
// returns nil, no write with the earlier role is under way, and none will be accepted. It returns kernel.ErrNotFound if
// there is no such member, a *kernel.ValidationError if the change is invalid, the actor may not make it, or no owner
// would be left, and kernel.ErrPreconditionFailed if c.From is not the member's role.
func (s *Store) ChangeMember(
	ctx context.Context, actor kernel.Actor, userID string, c account.MemberChange,
) (account.Member, error) {
	if err := c.Validate(); err != nil {
		return account.Member{}, err
	}
	return writeMembersAs(ctx, s, actor, func(t *tx) (account.Member, error) {
		before, err := t.lockMember(actor.WorkspaceID, userID)
		if err != nil {
			return before, err
		}
		if c.From != "" && c.From != before.Role {
			return before, kernel.ErrPreconditionFailed
		}
		after, err := c.Apply(before)
		if err != nil {
			return before, err
		}
		if err := t.checkRoleChange(actor, before.Role, after.Role); err != nil {
			return before, err
		}
		return t.changeMember(actor, before, c)
	})
}

// setRole changes the role of a member who is locked.
func (t *tx) setRole(actor kernel.Actor, before account.Member, role kernel.Role) (account.Member, error) {
	return t.changeMember(actor, before, account.MemberChange{Role: role})
}

// changeMember changes a member who is locked.
func (t *tx) changeMember(actor kernel.Actor, before account.Member, c account.MemberChange) (account.Member, error) {
	after, err := c.Apply(before)
	if err != nil {
		return before, err
	}
	if c.Limit != nil || !after.Limit.Limited {
		if err := t.setPageLimit(actor, memberHolder(before.WorkspaceID, before.ID), &after.Limit); err != nil {
			return before, err
		}
	}
	_, err = t.Exec(`UPDATE members SET role = $3, page_limited = $4 WHERE user_id = $1 AND workspace_id = $2`,
		before.ID, before.WorkspaceID, string(after.Role), after.Limit.Limited)
	if err != nil {
		return before, err
	}
	if err := t.withdrawInvitationsOf(actor, before.ID, after.Role); err != nil {
		return before, err
	}
	return after, t.audit(actor, kernel.AuditUpdate, before, after)
}

// checkRoleChange returns a *kernel.ValidationError if the actor may not change a member's role, or no owner would be
// left. The role "" means that the person is no member.
func (t *tx) checkRoleChange(actor kernel.Actor, was, is kernel.Role) error {
	if err := account.CheckRoles(actor, was, is); err != nil {
		return err
	}
	owners, err := t.owners(actor.WorkspaceID)
	if err != nil {
		return err
	}
	return account.CheckOwnerLeft(was, is, owners)
}

// RemoveMember removes a member from the actor's workspace and ends the member's sessions there. When it returns nil,
// no write of the member is under way, and none will be accepted. The account remains. It returns kernel.ErrNotFound if
// there is no such member, and a *kernel.ValidationError if the actor may not do this or no owner would be left.
func (s *Store) RemoveMember(ctx context.Context, actor kernel.Actor, userID string) error {
	_, err := writeMembersAs(ctx, s, actor, func(t *tx) (none struct{}, err error) {
		return none, t.removeMember(actor, userID)
	})
	return err
}

// removeMember is RemoveMember for a workspace whose members are locked.
func (t *tx) removeMember(actor kernel.Actor, userID string) error {
	// Requests lock their session before the membership, too.
	_, err := t.Exec(`DELETE FROM sessions WHERE user_id = $1 AND workspace_id = $2`, userID, actor.WorkspaceID)
	if err != nil {
		return err
	}
	member, err := t.lockMember(actor.WorkspaceID, userID)
	if err != nil {
		return err
	}
	if err := t.checkRoleChange(actor, member.Role, ""); err != nil {
		return err
	}
	_, err = t.Exec(`DELETE FROM members WHERE user_id = $1 AND workspace_id = $2`, userID, actor.WorkspaceID)
	if err != nil {
		return err
	}
	if err := t.setPageLimit(actor, memberHolder(actor.WorkspaceID, userID), &account.PageLimit{}); err != nil {
		return err
	}
	if err := t.withdrawInvitationsOf(actor, userID, ""); err != nil {
		return err
	}
	return t.audit(actor, kernel.AuditDelete, member, nil)
}
