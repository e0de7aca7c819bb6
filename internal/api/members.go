package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

type memberJSON struct {
	ID         string        `json:"id"`
	Email      string        `json:"email"`
	Name       string        `json:"name"`
	Role       allswell.Role `json:"role"`
	Pages      []string      `json:"pages"` // null: all
	JoinedAt   string        `json:"joined_at"`
	LastSeenAt *string       `json:"last_seen_at"`
}

func newMemberJSON(m allswell.Member) memberJSON {
	return memberJSON{
		ID: m.ID, Email: m.Email, Name: m.Name, Role: m.Role, Pages: pagesJSON(m.Limit),
		JoinedAt: allswell.FormatTime(m.Since), LastSeenAt: timePtr(m.LastSeenAt),
	}
}

func (a *api) listMembers(c *call) (store.Response, error) {
	return serveList(c, newMemberJSON, func(r store.Pagination) ([]allswell.Member, int, error) {
		return a.store.Members(c.Context(), c.actor(), r)
	})
}

func (a *api) changeMember(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	change := allswell.MemberChange{Role: orZero(web.Enum(o, "role", allswell.Roles))}
	if pages := o.Texts("pages"); pages != nil || o.Null("pages") {
		change.Limit = new(allswell.LimitTo(pages))
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
	ID        string        `json:"id"`
	Email     string        `json:"email"`
	Role      allswell.Role `json:"role"`
	Pages     []string      `json:"pages"` // null: all
	InvitedBy string        `json:"invited_by"`
	CreatedAt string        `json:"created_at"`
	ExpiresAt string        `json:"expires_at"`
}

func newInvitationJSON(i allswell.Invitation) invitationJSON {
	return invitationJSON{
		ID: i.ID, Email: i.Email, Role: i.Role, Pages: pagesJSON(i.Limit), InvitedBy: i.InviterName,
		CreatedAt: allswell.FormatTime(i.CreatedAt), ExpiresAt: allswell.FormatTime(i.EndsAt),
	}
}

// issuedInvitationJSON is a new invitation with its link, which is shown only once.
type issuedInvitationJSON struct {
	invitationJSON
	URL string `json:"url"`
}

func (a *api) listInvitations(c *call) (store.Response, error) {
	return serveList(c, newInvitationJSON, func(r store.Pagination) ([]allswell.Invitation, int, error) {
		return a.store.Invitations(c.Context(), c.actor(), r)
	})
}

func (a *api) createInvitation(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("email", "role")
	n := allswell.NewInvitation{
		Email: orZero(o.Text("email")), Role: orZero(web.Enum(o, "role", allswell.Roles)), Limit: allswell.LimitTo(o.Texts("pages")),
	}
	if err := o.Check(n.Validate()); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, func(i allswell.IssuedInvitation) issuedInvitationJSON {
		return issuedInvitationJSON{newInvitationJSON(i.Invitation), allswell.InvitationURL(c.base, i.Code)}
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

func newSessionJSON(s allswell.MemberSession) sessionJSON {
	return sessionJSON{
		ID: s.ID, MemberID: s.User.ID, Email: s.User.Email, Name: s.User.Name, Address: s.Address, Client: s.Client,
		CreatedAt: allswell.FormatTime(s.CreatedAt), LastUsedAt: allswell.FormatTime(s.LastUsedAt), ExpiresAt: allswell.FormatTime(s.EndsAt()),
	}
}

// listSessions returns the sessions of all members.
func (a *api) listSessions(c *call) (store.Response, error) {
	return serveList(c, newSessionJSON, func(r store.Pagination) ([]allswell.MemberSession, int, error) {
		return a.store.MemberSessions(c.Context(), c.actor(), r)
	})
}

func (a *api) endSession(c *call) (store.Response, error) {
	return noContent(a.store.EndMemberSession(c.Context(), c.actor(), c.PathValue("sessionId")))
}
