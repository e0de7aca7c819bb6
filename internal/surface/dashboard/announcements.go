package dashboard

import (
	"html/template"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
)

var announcementScreens = checkedScreens(objectScreens[statuspage.Announcement]{
	Resource: resource.Announcement, objects: (*store.Store).Announcements,
	list:     func(p statuspage.Page) string { return pagePath(p) + "/announcements" },
	lines:    [][]string{{"title"}, {"message"}, {"level"}, {"shown_from", "shown_until"}},
	deletion: "It disappears from the page at once.",
})

// announcementsScreen is the data of the template announcements: the list, with the form of a new announcement.
type announcementsScreen struct {
	pageHead
	Rows  []announcementRow
	Pager pager
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
func (v *visit) showAnnouncements() error {
	p, err := announcementScreens.place(v)
	if err != nil {
		return err
	}
	return v.answerAnnouncements(http.StatusOK, p, announcementScreens.newForm(p))
}

// answerAnnouncements shows the list with the form of a new announcement.
func (v *visit) answerAnnouncements(status int, p objectPlace, f objectForm) error {
	r := pagination(v.r.URL.Query())
	all, total, err := v.store.Announcements().List(v.r.Context(), v.actor(), p.Page.Slug, store.Filter{}, r)
	if err != nil {
		return err
	}
	s := announcementsScreen{pageHead: p.pageHead, Pager: newPager(p.List, url.Values{}, r, len(all), total), New: f}
	for _, a := range all {
		row := announcementRow{Announcement: a, Path: p.List + "/" + a.ID, State: "planned"}
		row.Text = i18n.UpdateText{Message: a.Message}.HTML(i18n.English(), p.zone)
		switch now := v.now(); {
		case a.Shown(now):
			row.State = "shown"
		case a.Over(now):
			row.State = "over"
		}
		s.Rows = append(s.Rows, row)
	}
	if status == http.StatusOK {
		return v.showLive("announcements", p.Page.Name+": announcements", s)
	}
	return v.show(status, "announcements", p.Page.Name+": announcements", s)
}

// createAnnouncement adds an announcement to a page.
func (v *visit) createAnnouncement() error {
	p, err := announcementScreens.place(v)
	if err != nil {
		return err
	}
	refused, err := announcementScreens.create(v, p)
	switch {
	case err != nil:
		return err
	case refused != nil:
		return v.answerAnnouncements(http.StatusUnprocessableEntity, p, announcementScreens.form(refused, p, p.List))
	}
	return v.redirect(p.List)
}
