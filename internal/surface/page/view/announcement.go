package view

import (
	"html/template"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// announcementView is a notice at the top of a status page.
type announcementView struct {
	ID, Title string
	Message   template.HTML // "": none
	Warning   bool
}

func viewAnnouncements(announcements []statuspage.Announcement) (views []announcementView) {
	for _, a := range announcements {
		views = append(views, announcementView{
			a.ID, a.Title, markdown.HTML(a.Message), a.Level == statuspage.AnnouncementWarning,
		})
	}
	return views
}
