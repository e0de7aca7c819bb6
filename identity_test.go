package allswell_test

import (
	"testing"

	"github.com/allswell/allswell"
)

// TestRolesOfIdentities: the highest role of groups and domain counts, and a domain only if the address was verified.
func TestRolesOfIdentities(t *testing.T) {
	rules := allswell.SignInRules{
		Groups:  map[string]allswell.Role{"ops": allswell.RoleAdmin, "dev": allswell.RoleEditor},
		Domains: map[string]allswell.Role{"example.com": allswell.RoleViewer, "acme.example": allswell.RoleOwner},
	}
	for _, c := range []struct {
		identity allswell.Identity
		want     allswell.Role
	}{
		{allswell.Identity{}, ""},
		{allswell.Identity{Email: "ada@example.com", EmailVerified: true}, allswell.RoleViewer},
		{allswell.Identity{Email: " Ada@Example.COM ", EmailVerified: true}, allswell.RoleViewer},
		{allswell.Identity{Email: "ada@example.com"}, ""},
		{allswell.Identity{Email: "ada@acme.example", EmailVerified: true}, allswell.RoleOwner},
		{allswell.Identity{Email: "ada@acme.example"}, ""},
		{allswell.Identity{Email: "ada@acme.example", Groups: []string{"dev"}}, allswell.RoleEditor},
		{allswell.Identity{Email: "ada@sub.example.com", EmailVerified: true}, ""},
		{allswell.Identity{Email: "ada@evil.example", Groups: []string{"Ops", "ops "}, EmailVerified: true}, ""},
		{allswell.Identity{Email: "ada@example.com", Groups: []string{"dev", "ops", "other"}, EmailVerified: true}, allswell.RoleAdmin},
	} {
		if got := rules.Role(c.identity); got != c.want {
			t.Errorf("%+v has the role %q, want %q", c.identity, got, c.want)
		}
	}
}
