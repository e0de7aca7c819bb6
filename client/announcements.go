package client

import (
	"context"
	"time"

	"github.com/allswell/allswell"
)

// Announcement is a notice at the top of a page.
type Announcement struct {
	Meta
	ID         string                     `json:"id"`
	Title      string                     `json:"title"`
	Message    string                     `json:"message"` // Markdown; "": none
	Level      allswell.AnnouncementLevel `json:"level"`
	ShownFrom  time.Time                  `json:"shown_from"`
	ShownUntil *time.Time                 `json:"shown_until"` // nil: until it is deleted
	CreatedAt  time.Time                  `json:"created_at"`
	UpdatedAt  time.Time                  `json:"updated_at"`
}

// NewAnnouncement describes an announcement to create.
type NewAnnouncement struct {
	Title      string                     `json:"title"`
	Message    string                     `json:"message,omitempty"`     // Markdown
	Level      allswell.AnnouncementLevel `json:"level,omitempty"`       // "": info
	ShownFrom  *time.Time                 `json:"shown_from,omitempty"`  // nil: from now on
	ShownUntil *time.Time                 `json:"shown_until,omitempty"` // nil: until it is deleted
}

// AnnouncementChange is a change of an announcement.
type AnnouncementChange struct {
	Title      *string                     `json:"title,omitempty"`
	Message    *string                     `json:"message,omitempty"`
	Level      *allswell.AnnouncementLevel `json:"level,omitempty"`
	ShownFrom  *time.Time                  `json:"shown_from,omitempty"`
	ShownUntil Nullable[time.Time]         `json:"shown_until,omitzero"`
}

// ListAnnouncements returns the announcements of a page, the latest first.
func (c *Client) ListAnnouncements(page string) *List[Announcement] {
	return &List[Announcement]{client: c, path: pathOf("pages", page, "announcements")}
}

// CreateAnnouncement creates an announcement on a page. Nobody is notified.
func (c *Client) CreateAnnouncement(
	ctx context.Context, page string, announcement NewAnnouncement, options ...CallOption,
) (*Announcement, error) {
	return post[Announcement](ctx, c, pathOf("pages", page, "announcements"), announcement, options...)
}

// GetAnnouncement returns an announcement.
func (c *Client) GetAnnouncement(ctx context.Context, id string) (*Announcement, error) {
	return get[Announcement](ctx, c, pathOf("announcements", id))
}

// ChangeAnnouncement changes an announcement.
func (c *Client) ChangeAnnouncement(ctx context.Context, id string, change AnnouncementChange) (*Announcement, error) {
	return patch[Announcement](ctx, c, pathOf("announcements", id), change)
}

// DeleteAnnouncement deletes an announcement.
func (c *Client) DeleteAnnouncement(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("announcements", id))
}
