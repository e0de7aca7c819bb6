package account_test

import (
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestRolesOfIdentities: the highest role of groups and domain counts, and a domain only if the address was verified.
func TestRolesOfIdentities(t *testing.T) {
	rules := account.SignInRules{
		Groups:  map[string]kernel.Role{"ops": kernel.RoleAdmin, "dev": kernel.RoleEditor},
		Domains: map[string]kernel.Role{"example.com": kernel.RoleViewer, "acme.example": kernel.RoleOwner},
	}
	for _, c := range []struct {
		identity account.Identity
		want     kernel.Role
	}{
		{account.Identity{}, ""},
		{account.Identity{Email: "ada@example.com", EmailVerified: true}, kernel.RoleViewer},
		{account.Identity{Email: " Ada@Example.COM ", EmailVerified: true}, kernel.RoleViewer},
		{account.Identity{Email: "ada@example.com"}, ""},
		{account.Identity{Email: "ada@acme.example", EmailVerified: true}, kernel.RoleOwner},
		{account.Identity{Email: "ada@acme.example"}, ""},
		{account.Identity{Email: "ada@acme.example", Groups: []string{"dev"}}, kernel.RoleEditor},
		{account.Identity{Email: "ada@sub.example.com", EmailVerified: true}, ""},
		{account.Identity{Email: "ada@evil.example", Groups: []string{"Ops", "ops "}, EmailVerified: true}, ""},
		{account.Identity{Email: "ada@example.com", Groups: []string{"dev", "ops", "other"}, EmailVerified: true},
			kernel.RoleAdmin},
	} {
		if got := rules.Role(c.identity); got != c.want {
			t.Errorf("%+v has the role %q, want %q", c.identity, got, c.want)
		}
	}
}
