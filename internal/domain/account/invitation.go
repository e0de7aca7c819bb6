package account

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// InvitationAge is how long an invitation can be accepted.
const InvitationAge = 7 * 24 * time.Hour

// MaxInvitations is the maximum number of pending invitations to one workspace.
const MaxInvitations = 200

// Invitation invites the owner of an email address to become a member of a workspace. Only the SHA-256 of its one-time
// code is stored.
type Invitation struct {
	ID          string
	WorkspaceID string
	Email       string
	Role        kernel.Role
	Limit       PageLimit
	InviterID   string // id of the user who invited; "" if it was a token
	InviterName string
	CreatedAt   time.Time
	EndsAt      time.Time
}

// AuditObject returns the form of i in the audit log.
func (i Invitation) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{
		Kind: kernel.ObjectInvitation, ID: i.ID,
		Fields: map[string]any{"role": string(i.Role), "pages": i.Limit.field()},
	}
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
	Role  kernel.Role
	Limit PageLimit // only for viewers and editors
}

// Validate normalizes the email address. It returns a *ValidationError with every invalid field.
func (n *NewInvitation) Validate() error {
	var bad kernel.ValidationError
	n.Email = kernel.CheckEmail(&bad, "email", n.Email)
	checkRole(&bad, n.Role)
	n.Limit.check(&bad, !n.Role.Includes(kernel.RoleAdmin), "Admins and owners")
	return bad.Err()
}

func checkRole(bad *kernel.ValidationError, r kernel.Role) {
	if !r.Valid() {
		bad.Add("role", "must be viewer, editor, admin or owner")
	}
}

// MemberChange is the input for changing a member.
type MemberChange struct {
	Role  kernel.Role // "": as before
	From  kernel.Role // the role that the member must have before; "": any
	Limit *PageLimit  // nil: as before, but none for admins and owners
}

// Validate returns a *ValidationError if the role does not exist.
func (c MemberChange) Validate() error {
	var bad kernel.ValidationError
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
	} else if m.Role.Includes(kernel.RoleAdmin) {
		m.Limit = PageLimit{}
	}
	var bad kernel.ValidationError
	if c.Limit != nil {
		m.Limit.check(&bad, !m.Role.Includes(kernel.RoleAdmin), "Admins and owners")
	}
	return m, bad.Err()
}

// memberRole returns the role whose permissions the actor has over members. An admin token has the permissions of an
// admin.
func memberRole(a kernel.Actor) kernel.Role {
	switch {
	case a.Kind == kernel.ActorUser:
		return a.Role
	case a.Kind == kernel.ActorToken && a.Scope.Allows(kernel.ScopeAdmin):
		return kernel.RoleAdmin
	case a.Kind == kernel.ActorSystem:
		return kernel.RoleOwner
	default:
		return ""
	}
}

// CheckRoles returns a *ValidationError for the field "role" if the actor may not give or take one of the roles: only
// admins manage members, and nobody gives or takes a role above their own.
func CheckRoles(a kernel.Actor, roles ...kernel.Role) error {
	own := memberRole(a)
	for _, r := range roles {
		switch {
		case !own.Includes(kernel.RoleAdmin):
			return kernel.Invalid("role", "Only admins and owners can manage members.")
		case !own.Includes(r):
			return kernel.Invalid("role", "Only an owner can do this with the role %s.", r)
		}
	}
	return nil
}

// CheckOwnerLeft returns a *ValidationError for the field "role" if the role is taken from the last owner. owners is
// the number of owners before.
func CheckOwnerLeft(was, is kernel.Role, owners int64) error {
	if was == kernel.RoleOwner && is != kernel.RoleOwner && owners <= 1 {
		return kernel.Invalid("role", "A workspace needs an owner. Make someone else an owner first.")
	}
	return nil
}
