package statuspages

import (
	"html/template"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

var announcementScreens = checkedScreens(objectScreens[statuspage.Announcement]{
	Resource: resource.Announcement, objects: (*store.Store).Announcements,
	list:     func(p statuspage.Page) string { return frame.PagePath(p) + "/announcements" },
	lines:    [][]string{{"title"}, {"message"}, {"level"}, {"shown_from", "shown_until"}},
	deletion: "The announcement disappears from the page immediately.",
})

// announcementsScreen is the data of the template announcements: the list, with the form of a new announcement.
type announcementsScreen struct {
	frame.PageHead
	Rows  []announcementRow
	Pager frame.Pager
	New   objectForm
}

// announcementRow is an announcement in the list.
type announcementRow struct {
	statuspage.Announcement
	Path, State string
	Text        template.HTML
}

// Warning reports whether it is a warning.
func (r announcementRow) Warning() bool { return r.Level == statuspage.AnnouncementWarning }

// showAnnouncements lists the announcements of a page.
func (r *request) showAnnouncements() error {
	p, err := announcementScreens.place(r)
	if err != nil {
		return err
	}
	return r.answerAnnouncements(http.StatusOK, p, announcementScreens.newForm(p))
}

// answerAnnouncements shows the list with the form of a new announcement.
func (r *request) answerAnnouncements(status int, p objectPlace, f objectForm) error {
	rows := frame.Pagination(r.URL.Query())
	all, total, err := r.Store.Announcements().List(r.Context(), r.Actor(), p.Page.Slug, store.Filter{}, rows)
	if err != nil {
		return err
	}
	s := announcementsScreen{
		PageHead: p.PageHead, Pager: frame.NewPager(p.List, url.Values{}, rows, len(all), total), New: f,
	}
	for _, a := range all {
		row := announcementRow{Announcement: a, Path: p.List + "/" + a.ID, State: "planned"}
		row.Text = i18n.UpdateText{Message: a.Message}.HTML(i18n.English(), p.zone)
		switch now := r.Now(); {
		case a.Shown(now):
			row.State = "shown"
		case a.Over(now):
			row.State = "over"
		}
		s.Rows = append(s.Rows, row)
	}
	return r.Show(status, "announcements", p.Page.Name+": announcements", s)
}

// createAnnouncement adds an announcement to a page.
func (r *request) createAnnouncement() error {
	p, err := announcementScreens.place(r)
	if err != nil {
		return err
	}
	refused, err := announcementScreens.create(r, p)
	switch {
	case err != nil:
		return err
	case refused != nil:
		return r.answerAnnouncements(http.StatusUnprocessableEntity, p, announcementScreens.form(refused, p, p.List))
	}
	return r.Redirect(p.List)
}
