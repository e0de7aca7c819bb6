package api

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// joinOwner lets Ada join as an owner, and returns her session.
func (c *client) joinOwner() account.SignedIn {
	c.t.Helper()
	by, err := c.store.Authenticate(c.t.Context(), c.token)
	if err != nil {
		c.t.Fatal(err)
	}
	invited, err := c.store.Invite(c.t.Context(), kernel.SystemActor("test", by.WorkspaceID), account.NewInvitation{
		Email: "ada@example.com", Role: kernel.RoleOwner,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	owner, _ := c.accept(invited.Code, "Ada", store.Browser{})
	c.clock.Advance(time.Minute)
	return owner
}

// inviteGrace invites Grace as an admin, and returns the response and the code of her invitation.
func (c *client) inviteGrace() (invited answer, code string) {
	c.t.Helper()
	invited = c.post("/api/v1/invitations", `{"email":" Grace@Example.com","role":"admin"}`).is(201)
	_, code, found := strings.Cut(invited.data()["url"].(string), "http://status.example.com/admin/accept?code=")
	if !found {
		c.t.Fatalf("the link is %v", invited.data()["url"])
	}
	return invited, code
}

// joinGrace lets Grace join as an admin, and returns her session and its secret.
func (c *client) joinGrace() (account.SignedIn, string) {
	c.t.Helper()
	_, code := c.inviteGrace()
	return c.accept(code, "Grace", store.Browser{Address: "192.0.2.7", Client: "curl"})
}

// accept accepts an invitation, and returns the session and its secret.
func (c *client) accept(code, name string, browser store.Browser) (account.SignedIn, string) {
	c.t.Helper()
	secret, err := c.store.AcceptInvitation(c.t.Context(), code, store.Acceptance{Name: name}, browser)
	if err != nil {
		c.t.Fatal(err)
	}
	session, err := c.store.FindSession(c.t.Context(), secret)
	if err != nil {
		c.t.Fatal(err)
	}
	return session, secret
}

func TestInvitations(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		invited, code := c.inviteGrace()
		keys(t, invited.data(), "id", "email", "role", "pages", "invited_by", "created_at", "expires_at", "url")
		invited.has(map[string]any{"email": "grace@example.com", "role": "admin"})
		list := c.get("/api/v1/invitations").is(200)
		if len(list.rows()) != 1 || strings.Contains(string(list.body), code) {
			t.Errorf("the invitations are %s, want one without its code", list.body)
		}
	})
}

// TestTokensNeverTouchOwners: a token has the rights of an admin, who neither makes nor changes owners.
func TestTokensNeverTouchOwners(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		owner := c.joinOwner()
		grace, _ := c.joinGrace()
		c.post("/api/v1/invitations", `{"email":"eve@example.com","role":"owner"}`).complains("role")
		c.post("/api/v1/invitations", `{"email":"grace@example.com","role":"viewer"}`).complains("email")
		c.patch("/api/v1/members/"+grace.User.ID, `{"role":"owner"}`).complains("role")
		c.patch("/api/v1/members/"+owner.User.ID, `{"role":"viewer"}`).complains("role")
		c.delete("/api/v1/members/" + owner.User.ID).complains("role")
		c.delete("/api/v1/sessions/" + owner.ID).complains("role")
	})
}

func TestMembers(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.joinOwner()
		grace, _ := c.joinGrace()
		rows := c.get("/api/v1/members").is(200).rows()
		if len(rows) != 2 || rows[0]["role"] != "owner" || rows[1]["email"] != "grace@example.com" {
			t.Fatalf("the members are %v, want the owner and Grace", rows)
		}
		keys(t, rows[0], "id", "email", "name", "role", "pages", "joined_at", "last_seen_at")
		c.patch("/api/v1/members/"+grace.User.ID, `{"role":"editor"}`).is(200).has(map[string]any{
			"id": grace.User.ID, "role": "editor",
		})
		c.delete("/api/v1/members/" + grace.User.ID).is(204)
		if rows := c.get("/api/v1/members").is(200).rows(); len(rows) != 1 {
			t.Errorf("after the removal, the members are %v", rows)
		}
	})
}

func TestSessions(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.joinOwner()
		grace, secret := c.joinGrace()
		sessions := c.get("/api/v1/sessions").is(200).rows()
		if len(sessions) != 2 || sessions[0]["address"] != "192.0.2.7" && sessions[1]["address"] != "192.0.2.7" {
			t.Fatalf("the sessions are %v, want two, and one of 192.0.2.7", sessions)
		}
		keys(t, sessions[0], "id", "member_id", "email", "name", "address", "client", "created_at", "last_used_at",
			"expires_at")
		c.delete("/api/v1/sessions/" + grace.ID).is(204)
		c.delete("/api/v1/sessions/" + grace.ID).is(404)
		if _, err := c.store.FindSession(t.Context(), secret); err == nil {
			t.Error("an ended session is still valid")
		}
		ended := c.get("/api/v1/audit?kind=session&action=delete").is(200).rows()
		if len(ended) != 1 || ended[0]["object"].(map[string]any)["id"] != grace.ID {
			t.Errorf("the audit log has %v, want the end of the session %s", ended, grace.ID)
		}
	})
}
