package api

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// TestPeople does with an admin token what an owner does on the screen of members.
func TestPeople(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		by, err := c.store.Authenticate(t.Context(), c.token)
		if err != nil {
			t.Fatal(err)
		}
		ownerCode, err := c.store.Invite(t.Context(), kernel.SystemActor("test", by.WorkspaceID), account.NewInvitation{
			Email: "ada@example.com", Role: kernel.RoleOwner,
		})
		if err != nil {
			t.Fatal(err)
		}
		ownerSecret, err := c.store.AcceptInvitation(t.Context(), ownerCode.Code, store.Acceptance{Name: "Ada"},
			store.Browser{})
		if err != nil {
			t.Fatal(err)
		}
		owner, err := c.store.FindSession(t.Context(), ownerSecret)
		if err != nil {
			t.Fatal(err)
		}

		c.clock.Advance(time.Minute)
		invited := c.post("/api/v1/invitations", `{"email":" Grace@Example.com","role":"admin"}`).is(201)
		keys(t, invited.data(), "id", "email", "role", "pages", "invited_by", "created_at", "expires_at", "url")
		invited.has(map[string]any{"email": "grace@example.com", "role": "admin"})
		_, code, found := strings.Cut(invited.data()["url"].(string), "http://status.example.com/admin/accept?code=")
		if !found {
			t.Fatalf("the link is %v", invited.data()["url"])
		}
		if list := c.get("/api/v1/invitations").is(200); len(list.rows()) != 1 ||
			strings.Contains(string(list.body), code) {
			t.Errorf("the list: %s", list.body)
		}
		secret, err := c.store.AcceptInvitation(t.Context(), code, store.Acceptance{Name: "Grace"}, store.Browser{
			Address: "192.0.2.7", Client: "curl",
		})
		if err != nil {
			t.Fatal(err)
		}
		grace, err := c.store.FindSession(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}

		// A token has the rights of an admin: it neither makes nor touches owners.
		c.post("/api/v1/invitations", `{"email":"eve@example.com","role":"owner"}`).complains("role")
		c.post("/api/v1/invitations", `{"email":"grace@example.com","role":"viewer"}`).complains("email")
		c.patch("/api/v1/members/"+grace.User.ID, `{"role":"owner"}`).complains("role")
		c.patch("/api/v1/members/"+owner.User.ID, `{"role":"viewer"}`).complains("role")
		c.delete("/api/v1/members/" + owner.User.ID).complains("role")
		c.delete("/api/v1/sessions/" + owner.ID).complains("role")

		rows := c.get("/api/v1/members").is(200).rows()
		if len(rows) != 2 || rows[0]["role"] != "owner" || rows[1]["email"] != "grace@example.com" {
			t.Errorf("the members: %v", rows)
		}
		keys(t, rows[0], "id", "email", "name", "role", "pages", "joined_at", "last_seen_at")
		c.patch("/api/v1/members/"+grace.User.ID, `{"role":"editor"}`).is(200).has(map[string]any{
			"id": grace.User.ID, "role": "editor",
		})

		sessions := c.get("/api/v1/sessions").is(200).rows()
		if len(sessions) != 2 || sessions[0]["address"] != "192.0.2.7" && sessions[1]["address"] != "192.0.2.7" {
			t.Errorf("the sessions: %v", sessions)
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
			t.Errorf("the audit log: %v", ended)
		}
		c.delete("/api/v1/members/" + grace.User.ID).is(204)
		if rows := c.get("/api/v1/members").is(200).rows(); len(rows) != 1 {
			t.Errorf("after the removal: %v", rows)
		}
	})
}
