package kernel

import "slices"

// Role is the permission of a member of a workspace. Each role includes the ones before it.
type Role string

// The roles. docs/rights.md lists what each role may do.
const (
	RoleViewer Role = "viewer"
	RoleEditor Role = "editor"
	RoleAdmin  Role = "admin"
	RoleOwner  Role = "owner"
)

// Roles lists the roles, lowest first.
var Roles = []Role{RoleViewer, RoleEditor, RoleAdmin, RoleOwner}

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return r.Rank() > 0 }

// Includes reports whether a member with role r may do what requires the role need.
func (r Role) Includes(need Role) bool { return r.Valid() && r.Rank() >= need.Rank() }

// Rank returns the place of r in Roles, counted from 1, or 0.
func (r Role) Rank() int { return slices.Index(Roles, r) + 1 }
