package dashboard

import (
	"html/template"
	"net/http"
	"net/url"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

var announcementScreens = objectScreens[allswell.Announcement]{
	Resource: resource.Announcement, objects: (*store.Store).Announcements,
	lines:    [][]string{{"title"}, {"message"}, {"level"}, {"shown_from", "shown_until"}},
	deletion: "It disappears from the page at once.",
}

// announcementsScreen is the data of the template announcements: the list, with the form of a new announcement.
type announcementsScreen struct {
	pageHead
	Rows  []announcementRow
	Pager pager
	New   objectForm
}

// announcementRow is an announcement in the list.
type announcementRow struct {
	allswell.Announcement
	Path, State string
	Text        template.HTML
}

// Warning reports whether it is a warning.
func (r announcementRow) Warning() bool { return r.Level == allswell.AnnouncementWarning }

// showAnnouncements lists the announcements of a page.
func (v *visit) showAnnouncements() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	return v.answerAnnouncements(http.StatusOK, h, announcementScreens.newForm(h.Page))
}

// answerAnnouncements shows the list with the form of a new announcement.
func (v *visit) answerAnnouncements(status int, h pageHead, f objectForm) error {
	r, path := pagination(v.r.URL.Query()), announcementScreens.path(h.Page)
	all, total, err := v.store.Announcements().List(v.r.Context(), v.actor(), h.Page.Slug, r)
	if err != nil {
		return err
	}
	s := announcementsScreen{pageHead: h, Pager: newPager(path, url.Values{}, r, len(all), total), New: f}
	for _, a := range all {
		row := announcementRow{Announcement: a, Path: path + "/" + a.ID, State: "planned"}
		row.Text = i18n.UpdateText{Message: a.Message}.HTML(i18n.English(), h.Page.Location())
		switch now := v.now(); {
		case a.Shown(now):
			row.State = "shown"
		case a.Over(now):
			row.State = "over"
		}
		s.Rows = append(s.Rows, row)
	}
	if status == http.StatusOK {
		return v.showLive("announcements", h.Page.Name+": announcements", s)
	}
	return v.show(status, "announcements", h.Page.Name+": announcements", s)
}

// createAnnouncement adds an announcement to a page.
func (v *visit) createAnnouncement() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	refused, err := announcementScreens.create(v, h.Page)
	switch {
	case err != nil:
		return err
	case refused != nil:
		return v.answerAnnouncements(http.StatusUnprocessableEntity, h, *refused)
	}
	return v.redirect(announcementScreens.path(h.Page))
}
