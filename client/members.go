package client

import (
	"context"
	"time"
)

// Member is a person who can sign in to the dashboard.
type Member struct {
	Meta
	ID         string     `json:"id"`
	Email      string     `json:"email"`
	Name       string     `json:"name"`
	Role       Role       `json:"role"`
	Pages      []string   `json:"pages"` // slugs of the pages to which the member is limited; nil: all
	JoinedAt   time.Time  `json:"joined_at"`
	LastSeenAt *time.Time `json:"last_seen_at"` // precise to some minutes; nil: not since the member joined
}

// MemberChange describes a change of a member.
type MemberChange struct {
	Role  Role               `json:"role,omitempty"` // "": as before
	Pages Nullable[[]string] `json:"pages,omitzero"` // slugs of the pages to limit the member to; null: all
}

// Invitation invites the owner of an email address to become a member.
type Invitation struct {
	Meta
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Role      Role      `json:"role"`
	Pages     []string  `json:"pages"`      // nil: all
	InvitedBy string    `json:"invited_by"` // name of the person or the token
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	URL       string    `json:"url"` // the link that accepts it, a secret; only after CreateInvitation
}

// NewInvitation describes an invitation to create.
type NewInvitation struct {
	Email string   `json:"email"`
	Role  Role     `json:"role"`
	Pages []string `json:"pages,omitempty"` // slugs of the pages to limit the member to; nil: all
}

// Session is a sign-in of a member with one browser.
type Session struct {
	Meta
	ID         string    `json:"id"`
	MemberID   string    `json:"member_id"`
	Email      string    `json:"email"`
	Name       string    `json:"name"`
	Address    string    `json:"address"` // IP address at the sign-in
	Client     string    `json:"client"`  // User-Agent at the sign-in
	CreatedAt  time.Time `json:"created_at"`
	LastUsedAt time.Time `json:"last_used_at"` // precise to some minutes
	ExpiresAt  time.Time `json:"expires_at"`   // if it is not used until then
}

// ListMembers returns the members of the workspace, the oldest first.
func (c *Client) ListMembers() *List[Member] {
	return &List[Member]{client: c, path: pathOf("members")}
}

// ChangeMember changes a member.
func (c *Client) ChangeMember(ctx context.Context, id string, change MemberChange) (*Member, error) {
	return patch[Member](ctx, c, pathOf("members", id), change)
}

// RemoveMember removes a member from the workspace and ends the member's sessions. The account remains.
func (c *Client) RemoveMember(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("members", id))
}

// ListInvitations returns the pending invitations, the newest first, without their links.
func (c *Client) ListInvitations() *List[Invitation] {
	return &List[Invitation]{client: c, path: pathOf("invitations")}
}

// CreateInvitation invites an email address. The link is returned only here. An earlier invitation of the address
// becomes invalid.
func (c *Client) CreateInvitation(
	ctx context.Context, invitation NewInvitation, options ...CallOption,
) (*Invitation, error) {
	return post[Invitation](ctx, c, pathOf("invitations"), invitation, options...)
}

// WithdrawInvitation deletes a pending invitation.
func (c *Client) WithdrawInvitation(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("invitations", id))
}

// ListSessions returns the sessions of all members, the newest first.
func (c *Client) ListSessions() *List[Session] {
	return &List[Session]{client: c, path: pathOf("sessions")}
}

// EndSession ends a session of a member immediately.
func (c *Client) EndSession(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("sessions", id))
}
