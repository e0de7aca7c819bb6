package api

import (
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

var announcementRoutes = resourceActions[statuspage.Announcement]{
	Resource: resource.Announcement, objects: (*store.Store).Announcements, id: "announcementId",
	reading: rights.AnnouncementRead, changing: rights.AnnouncementChange,
}.routes(
	operation{summary: "List the announcements of a page, those that are shown latest first."},
	operation{
		summary: "Create an announcement, a notice at the top of a page. No one is notified.",
		text: "A page can have 10 announcements that are not over. One more is 422 on `title`. It is shown from " +
			"`shown_from`, by default now, until `shown_until`, by default until it is deleted. Warnings are shown " +
			"first, and then the latest first. Feeds and the documents in Statuspage's format do not have " +
			"announcements.",
	})
