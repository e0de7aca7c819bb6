package kernel

import "slices"

// Scope is the permission of a token. Each scope includes the ones before it.
type Scope string

// The scopes. docs/rights.md lists what each scope allows.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	ScopeAdmin Scope = "admin"
)

// Scopes lists the scopes, lowest first.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeAdmin}

// Valid reports whether s is one of the three scopes.
func (s Scope) Valid() bool { return s.rank() > 0 }

// Allows reports whether a token with scope s may use an operation that requires need.
func (s Scope) Allows(need Scope) bool { return s.Valid() && s.rank() >= need.rank() }

// rank returns the place of s in Scopes, counted from 1, or 0.
func (s Scope) rank() int { return slices.Index(Scopes, s) + 1 }
