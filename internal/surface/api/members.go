package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var memberRoutes = []route{
	{"GET", "/api/v1/members", rights.MemberManage, (*api).listMembers, operation{
		id:      "listMembers",
		summary: "List the members of the workspace, oldest first.",
		returns: list("Member"),
	}},
	{"PATCH", "/api/v1/members/{memberId}", rights.MemberManage, (*api).changeMember, operation{
		id:      "changeMember",
		summary: "Change the role of a member, or the pages to which the member is limited.",
		text: "Admins and owners are never limited: a member who becomes one loses the limit. An API token can " +
			"neither make someone an owner nor change one. The last owner stays one.",
		returns: one("Member", "The changed member."),
	}},
	{"DELETE", "/api/v1/members/{memberId}", rights.MemberManage, (*api).removeMember, operation{
		id:      "removeMember",
		summary: "Remove a member from the workspace.",
		text:    "The sessions there end at once, and the account remains.",
		returns: nothing("The member is removed."),
	}},
	{"GET", "/api/v1/invitations", rights.MemberManage, (*api).listInvitations, operation{
		id:      "listInvitations",
		summary: "List the pending invitations, newest first, without their links.",
		returns: list("Invitation"),
	}},
	{"POST", "/api/v1/invitations", rights.MemberManage, (*api).createInvitation, operation{
		id:      "createInvitation",
		summary: "Invite a member. The link is shown only once.",
		text: "The link is valid for 7 days, once, for this address only. An earlier invitation of the address " +
			"becomes invalid. An API token can invite up to the role admin.",
		returns: created("IssuedInvitation", "The new invitation."),
	}},
	{"DELETE", "/api/v1/invitations/{invitationId}", rights.MemberManage, (*api).withdrawInvitation, operation{
		id:      "withdrawInvitation",
		summary: "Revoke a pending invitation.",
		returns: nothing("The link has become invalid."),
	}},
	{"GET", "/api/v1/sessions", rights.SessionManage, (*api).listSessions, operation{
		id:      "listSessions",
		summary: "List the sessions of all members, newest first.",
		returns: list("Session"),
	}},
	{"DELETE", "/api/v1/sessions/{sessionId}", rights.SessionManage, (*api).endSession, operation{
		id:      "endSession",
		summary: "End a session of a member immediately.",
		returns: nothing("The session has ended."),
	}},
}

type memberJSON struct {
	ID         string      `json:"id"`
	Email      string      `json:"email"`
	Name       string      `json:"name"`
	Role       kernel.Role `json:"role"`
	Pages      []string    `json:"pages"` // null: all
	JoinedAt   string      `json:"joined_at"`
	LastSeenAt *string     `json:"last_seen_at"`
}

func newMemberJSON(m account.Member) memberJSON {
	return memberJSON{
		ID: m.ID, Email: m.Email, Name: m.Name, Role: m.Role, Pages: pagesJSON(m.Limit),
		JoinedAt: kernel.FormatTime(m.Since), LastSeenAt: timePtr(m.LastSeenAt),
	}
}

func (a *api) listMembers(c *call) (store.Response, error) {
	return serveList(c, newMemberJSON, func(r store.Pagination) ([]account.Member, int, error) {
		return a.store.Members(c.Context(), c.actor(), r)
	})
}

func (a *api) changeMember(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	change := account.MemberChange{Role: optional.Value(jsonobject.Enum(o, "role", kernel.Roles))}
	if pages := o.Texts("pages"); pages != nil || o.Null("pages") {
		change.Limit = new(account.LimitTo(pages))
	}
	if err := o.Check(change.Validate()); err != nil {
		return store.Response{}, err
	}
	member, err := a.store.ChangeMember(c.Context(), c.actor(), c.PathValue("memberId"), change)
	return resourceResponse(member, err, newMemberJSON)
}

func (a *api) removeMember(c *call) (store.Response, error) {
	return noContent(a.store.RemoveMember(c.Context(), c.actor(), c.PathValue("memberId")))
}

type invitationJSON struct {
	ID        string      `json:"id"`
	Email     string      `json:"email"`
	Role      kernel.Role `json:"role"`
	Pages     []string    `json:"pages"` // null: all
	InvitedBy string      `json:"invited_by"`
	CreatedAt string      `json:"created_at"`
	ExpiresAt string      `json:"expires_at"`
}

func newInvitationJSON(i account.Invitation) invitationJSON {
	return invitationJSON{
		ID: i.ID, Email: i.Email, Role: i.Role, Pages: pagesJSON(i.Limit), InvitedBy: i.InviterName,
		CreatedAt: kernel.FormatTime(i.CreatedAt), ExpiresAt: kernel.FormatTime(i.EndsAt),
	}
}

// issuedInvitationJSON is a new invitation with its link, which is shown only once.
type issuedInvitationJSON struct {
	invitationJSON
	URL string `json:"url"`
}

func (a *api) listInvitations(c *call) (store.Response, error) {
	return serveList(c, newInvitationJSON, func(r store.Pagination) ([]account.Invitation, int, error) {
		return a.store.Invitations(c.Context(), c.actor(), r)
	})
}

func (a *api) createInvitation(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("email", "role")
	n := account.NewInvitation{
		Email: optional.Value(o.Text("email")), Role: optional.Value(jsonobject.Enum(o, "role", kernel.Roles)),
		Limit: account.LimitTo(o.Texts("pages")),
	}
	if err := o.Check(n.Validate()); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, func(i account.IssuedInvitation) issuedInvitationJSON {
		return issuedInvitationJSON{newInvitationJSON(i.Invitation), account.InvitationURL(c.base, i.Code)}
	})
	return r.respond(a.store.Invite(c.Context(), c.actor(), n, r.save...))
}

func (a *api) withdrawInvitation(c *call) (store.Response, error) {
	return noContent(a.store.WithdrawInvitation(c.Context(), c.actor(), c.PathValue("invitationId")))
}

type sessionJSON struct {
	ID         string `json:"id"`
	MemberID   string `json:"member_id"`
	Email      string `json:"email"`
	Name       string `json:"name"`
	Address    string `json:"address"`
	Client     string `json:"client"`
	CreatedAt  string `json:"created_at"`
	LastUsedAt string `json:"last_used_at"`
	ExpiresAt  string `json:"expires_at"`
}

func newSessionJSON(s account.MemberSession) sessionJSON {
	return sessionJSON{
		ID: s.ID, MemberID: s.User.ID, Email: s.User.Email, Name: s.User.Name, Address: s.Address, Client: s.Client,
		CreatedAt: kernel.FormatTime(s.CreatedAt), LastUsedAt: kernel.FormatTime(s.LastUsedAt),
		ExpiresAt: kernel.FormatTime(s.EndsAt()),
	}
}

// listSessions returns the sessions of all members.
func (a *api) listSessions(c *call) (store.Response, error) {
	return serveList(c, newSessionJSON, func(r store.Pagination) ([]account.MemberSession, int, error) {
		return a.store.MemberSessions(c.Context(), c.actor(), r)
	})
}

func (a *api) endSession(c *call) (store.Response, error) {
	return noContent(a.store.EndMemberSession(c.Context(), c.actor(), c.PathValue("sessionId")))
}
