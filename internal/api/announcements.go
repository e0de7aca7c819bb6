package api

import (
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

type announcementJSON struct {
	ID         string                     `json:"id"`
	Title      string                     `json:"title"`
	Message    string                     `json:"message"`
	Level      allswell.AnnouncementLevel `json:"level"`
	ShownFrom  string                     `json:"shown_from"`
	ShownUntil *string                    `json:"shown_until"`
	CreatedAt  string                     `json:"created_at"`
	UpdatedAt  string                     `json:"updated_at"`
}

func newAnnouncementJSON(a allswell.Announcement) announcementJSON {
	return announcementJSON{
		ID: a.ID, Title: a.Title, Message: a.Message, Level: a.Level,
		ShownFrom: allswell.FormatTime(a.ShownFrom), ShownUntil: timePtr(a.ShownUntil),
		CreatedAt: allswell.FormatTime(a.CreatedAt), UpdatedAt: allswell.FormatTime(a.UpdatedAt),
	}
}

func (a *api) listAnnouncements(c *call) (store.Response, error) {
	return serveList(c, newAnnouncementJSON, func(r store.Pagination) ([]allswell.Announcement, int, error) {
		return a.store.Announcements(c.Context(), c.actor(), c.PathValue("pageSlug"), r)
	})
}

func (a *api) createAnnouncement(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	n := allswell.NewAnnouncement{
		Title: orZero(o.Text("title")), Message: orZero(o.Text("message")), Level: orZero(web.Enum(o, "level", allswell.AnnouncementLevels)),
		ShownFrom: orZero(o.Instant("shown_from")), ShownUntil: orZero(o.Instant("shown_until")),
	}
	if err := o.Check(n.Validate(a.now())); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newAnnouncementJSON)
	return r.respond(a.store.CreateAnnouncement(c.Context(), c.actor(), c.PathValue("pageSlug"), n, r.save...))
}

func (a *api) getAnnouncement(c *call) (store.Response, error) {
	announcement, err := a.store.Announcement(c.Context(), c.actor(), c.PathValue("announcementId"))
	return resourceResponse(announcement, err, newAnnouncementJSON)
}

func (a *api) changeAnnouncement(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	ch := allswell.AnnouncementChange{
		Title: o.Text("title"), Message: o.Text("message"), Level: web.Enum(o, "level", allswell.AnnouncementLevels),
		ShownFrom: o.Instant("shown_from"), ShownUntil: o.Instant("shown_until"),
	}
	if o.Null("shown_until") {
		ch.ShownUntil = new(time.Time)
	}
	if err := o.Check(ch.Validate(a.now())); err != nil {
		return store.Response{}, err
	}
	announcement, err := a.store.ChangeAnnouncement(c.Context(), c.actor(), c.PathValue("announcementId"), ch)
	return resourceResponse(announcement, err, newAnnouncementJSON)
}

func (a *api) deleteAnnouncement(c *call) (store.Response, error) {
	return noContent(a.store.DeleteAnnouncement(c.Context(), c.actor(), c.PathValue("announcementId")))
}
