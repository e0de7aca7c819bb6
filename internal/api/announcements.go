package api

import (
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// announcementRoutes are the routes of announcements.
var announcementRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/announcements", read, (*api).listAnnouncements, operation{
		id:      "listAnnouncements",
		summary: "List the announcements of a page, those that are shown latest first.",
		returns: list("Announcement"),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/announcements", write, (*api).createAnnouncement, operation{
		id:      "createAnnouncement",
		summary: "Create an announcement, a notice at the top of a page. Nobody is notified.",
		text: "A page can have 10 announcements that are not over. One more is 422 on `title`. It is shown from " +
			"`shown_from`, by default now, until `shown_until`, by default until it is deleted. Warnings are shown " +
			"first, and then the latest first. Feeds and the documents in Statuspage's format do not have " +
			"announcements.",
		returns: created("Announcement", "The new announcement."),
	}},
	{"GET", "/api/v1/announcements/{announcementId}", read, (*api).getAnnouncement, operation{
		id:      "getAnnouncement",
		summary: "Get an announcement.",
		returns: one("Announcement", "The announcement."),
	}},
	{"PATCH", "/api/v1/announcements/{announcementId}", write, (*api).changeAnnouncement, operation{
		id:      "changeAnnouncement",
		summary: "Change an announcement; absent fields keep their values.",
		text:    "`shown_until: null` shows it until it is deleted.",
		returns: one("Announcement", "The announcement."),
	}},
	{"DELETE", "/api/v1/announcements/{announcementId}", write, (*api).deleteAnnouncement, operation{
		id:      "deleteAnnouncement",
		summary: "Delete an announcement.",
	}},
}

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
