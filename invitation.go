package allswell

import "time"

// InvitationAge is how long an invitation can be accepted.
const InvitationAge = 7 * 24 * time.Hour

// MaxInvitations is the maximum number of pending invitations to one workspace.
const MaxInvitations = 200

// Invitation invites the owner of an e-mail address to become a member of a workspace. Only the SHA-256 of its one-time
// code is stored.
type Invitation struct {
	ID          string
	WorkspaceID string
	Email       string
	Role        Role
	Limit       PageLimit
	InviterID   string // id of the user who invited; "" if it was a token
	InviterName string
	CreatedAt   time.Time
	EndsAt      time.Time
}

// AuditObject returns the form of i in the audit log.
func (i Invitation) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectInvitation, ID: i.ID, Fields: map[string]any{"role": string(i.Role), "pages": i.Limit.field()}}
}

// IssuedInvitation is a new invitation with its code.
type IssuedInvitation struct {
	Invitation
	Code string
}

// InvitationURL returns the address that accepts an invitation. base is the URL of the service.
func InvitationURL(base, code string) string { return base + "/admin/accept?code=" + code }

// NewInvitation is the input for an invitation.
type NewInvitation struct {
	Email string
	Role  Role
	Limit PageLimit // only for viewers and editors
}

// Validate normalizes the e-mail address. It returns a *ValidationError with every invalid field.
func (n *NewInvitation) Validate() error {
	var bad ValidationError
	n.Email = checkEmail(&bad, "email", n.Email)
	checkRole(&bad, n.Role)
	n.Limit.check(&bad, !n.Role.Includes(RoleAdmin), "Admins and owners")
	return bad.Err()
}

func checkRole(bad *ValidationError, r Role) {
	if !r.Valid() {
		bad.Add("role", "must be viewer, editor, admin or owner")
	}
}

// MemberChange is the input for changing a member.
type MemberChange struct {
	Role  Role       // "": as before
	From  Role       // the role that the member must have before; "": any
	Limit *PageLimit // nil: as before, but none for admins and owners
}

// Validate returns a *ValidationError if the role does not exist.
func (c MemberChange) Validate() error {
	var bad ValidationError
	if c.Role != "" || c.Limit == nil {
		checkRole(&bad, c.Role)
	}
	return bad.Err()
}

// Apply returns the changed member, or a *ValidationError if the role cannot be limited to pages.
func (c MemberChange) Apply(m Member) (Member, error) {
	if c.Role != "" {
		m.Role = c.Role
	}
	if c.Limit != nil {
		m.Limit = *c.Limit
	} else if m.Role.Includes(RoleAdmin) {
		m.Limit = PageLimit{}
	}
	var bad ValidationError
	if c.Limit != nil {
		m.Limit.check(&bad, !m.Role.Includes(RoleAdmin), "Admins and owners")
	}
	return m, bad.Err()
}

// memberRole returns the role whose permissions the actor has over members. An admin token has those of an admin.
func (a Actor) memberRole() Role {
	switch {
	case a.Kind == ActorUser:
		return a.Role
	case a.Kind == ActorToken && a.Scope.Allows(ScopeAdmin):
		return RoleAdmin
	case a.Kind == ActorSystem:
		return RoleOwner
	default:
		return ""
	}
}

// CheckRoles returns a *ValidationError for the field "role" if the actor may not give or take one of the roles: only
// admins manage members, and nobody those above their own role.
func (a Actor) CheckRoles(roles ...Role) error {
	own := a.memberRole()
	for _, r := range roles {
		switch {
		case !own.Includes(RoleAdmin):
			return invalid("role", "Only admins and owners can manage members.")
		case !own.Includes(r):
			return invalid("role", "Only an owner can do this with the role %s.", r)
		}
	}
	return nil
}

// CheckOwnerLeft returns a *ValidationError for the field "role" if the role is taken from the last owner. owners is the
// number of owners before.
func CheckOwnerLeft(was, is Role, owners int64) error {
	if was == RoleOwner && is != RoleOwner && owners <= 1 {
		return invalid("role", "A workspace needs an owner. Make somebody else an owner first.")
	}
	return nil
}
