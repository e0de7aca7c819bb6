package view

import (
	"html/template"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/markdown"
)

// announcementView is a notice at the top of a status page.
type announcementView struct {
	ID, Title string
	Message   template.HTML // "": none
	Warning   bool
}

func viewAnnouncements(announcements []allswell.Announcement) (views []announcementView) {
	for _, a := range announcements {
		views = append(views, announcementView{a.ID, a.Title, markdown.HTML(a.Message), a.Level == allswell.AnnouncementWarning})
	}
	return views
}
