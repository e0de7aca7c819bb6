package dashboard

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
)

// announcementsScreen is the data of the template announcements: the list, with the form of a new announcement.
type announcementsScreen struct {
	pageHead
	Rows  []announcementRow
	Pager pager
	New   announcementForm
}

// announcementRow is an announcement in the list.
type announcementRow struct {
	allswell.Announcement
	Path, State string
	Text        template.HTML
}

// Warning reports whether it is a warning.
func (r announcementRow) Warning() bool { return r.Level == allswell.AnnouncementWarning }

// announcementForm is a form for an announcement.
type announcementForm struct {
	*form
	Path   string
	Tag    string // of the announcement that the form edits
	Fields []field
	Times  []field // from when until when it is shown
}

// announcementScreen is the data of the template announcement: an announcement to edit.
type announcementScreen struct {
	pageHead
	announcementForm
	Conflict bool
}

// newAnnouncementForm draws the fields.
func newAnnouncementForm(f *form, p allswell.Page, path string) announcementForm {
	zone := " In the zone of the page, " + p.TimeZone + "."
	return announcementForm{form: f, Path: path, Fields: []field{
		f.draw(field{Name: "title", Label: "Title", Placeholder: "We are moving to a new data centre"}),
		f.draw(field{
			Name: "message", Label: "Text", Type: "textarea", Rows: 3, Optional: true,
			Hint: "Markdown: **bold**, lists, links.",
		}),
		f.draw(field{Name: "level", Label: "Level", Type: "select", Options: []option{
			{Value: string(allswell.AnnouncementInfo), Label: "information"}, {Value: string(allswell.AnnouncementWarning), Label: "warning"},
		}}),
	}, Times: []field{
		f.draw(field{
			Name: "shown_from", Label: "Shown from", Type: "datetime-local", Optional: true,
			Hint: "Left empty: from now on." + zone,
		}),
		f.draw(field{
			Name: "shown_until", Label: "Shown until", Type: "datetime-local", Optional: true,
			Hint: "Left empty: until it is deleted.",
		}),
	}}
}

// announcementText returns the text that was typed.
func announcementText(f *form) string {
	if text := f.text("message"); text != nil {
		return *text
	}
	return ""
}

// announcementsPath returns the path of the announcements of a page.
func announcementsPath(p allswell.Page) string { return pagePath(p) + "/announcements" }

// showAnnouncements lists the announcements of a page.
func (v *visit) showAnnouncements() error {
	h, s, err := v.newAnnouncementsScreen(newForm(url.Values{}))
	if err != nil {
		return err
	}
	return v.showLive("announcements", h.Page.Name+": announcements", s)
}

func (v *visit) newAnnouncementsScreen(f *form) (h pageHead, s announcementsScreen, err error) {
	if h, err = v.pageHead(); err != nil {
		return h, s, err
	}
	r := pagination(v.r.URL.Query())
	all, total, err := v.store.Announcements(v.r.Context(), v.actor(), h.Page.Slug, r)
	if err != nil {
		return h, s, err
	}
	s = announcementsScreen{pageHead: h, Pager: newPager(announcementsPath(h.Page), url.Values{}, r, len(all), total)}
	s.New = newAnnouncementForm(f, h.Page, announcementsPath(h.Page))
	for _, a := range all {
		row := announcementRow{Announcement: a, Path: announcementsPath(h.Page) + "/" + a.ID, State: "planned"}
		row.Text = i18n.UpdateText{Message: a.Message}.HTML(i18n.English(), h.Page.Location())
		switch now := v.now(); {
		case a.Shown(now):
			row.State = "shown"
		case a.Over(now):
			row.State = "over"
		}
		s.Rows = append(s.Rows, row)
	}
	return h, s, nil
}

// createAnnouncement adds an announcement to a page.
func (v *visit) createAnnouncement() error {
	f := newForm(v.r.PostForm)
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	n := allswell.NewAnnouncement{
		Title: strings.TrimSpace(f.Value("title")), Message: announcementText(f), Level: allswell.AnnouncementLevel(f.Value("level")),
		ShownFrom:  f.moment("shown_from", h.Page.Location(), v.now()),
		ShownUntil: f.moment("shown_until", h.Page.Location(), v.now()),
	}
	if !f.HasErrors() {
		_, err = v.store.CreateAnnouncement(v.r.Context(), v.actor(), h.Page.Slug, n)
		f.refused(err)
	}
	if f.HasErrors() {
		_, s, err := v.newAnnouncementsScreen(f)
		if err != nil {
			return err
		}
		return v.show(http.StatusUnprocessableEntity, "announcements", h.Page.Name+": announcements", s)
	}
	if err != nil {
		return err
	}
	return v.redirect(announcementsPath(h.Page))
}

// announcement loads the announcement of the path.
func (v *visit) announcement() (h pageHead, a allswell.Announcement, err error) {
	if h, err = v.pageHead(); err != nil {
		return h, a, err
	}
	a, err = v.store.Announcement(v.r.Context(), v.actor(), v.r.PathValue("announcement"))
	if err == nil && a.PageID != h.Page.ID {
		err = errNotFound
	}
	return h, a, err
}

// announcementValues returns the values of the form for an announcement.
func announcementValues(a allswell.Announcement, zone *time.Location) url.Values {
	values := url.Values{
		"title": {a.Title}, "message": {a.Message}, "level": {string(a.Level)},
		"shown_from": {a.ShownFrom.In(zone).Format(clockLayout)}, "shown_until": {""},
	}
	if !a.ShownUntil.IsZero() {
		values.Set("shown_until", a.ShownUntil.In(zone).Format(clockLayout))
	}
	return values
}

// showAnnouncement shows the form for an announcement.
func (v *visit) showAnnouncement() error {
	h, a, err := v.announcement()
	if err != nil {
		return err
	}
	return v.answerAnnouncement(http.StatusOK, h, a, newForm(announcementValues(a, h.Page.Location())))
}

func (v *visit) answerAnnouncement(status int, h pageHead, a allswell.Announcement, f *form) error {
	s := announcementScreen{
		pageHead: h, announcementForm: newAnnouncementForm(f, h.Page, announcementsPath(h.Page)+"/"+a.ID),
		Conflict: f.saved != nil,
	}
	s.Tag = f.version("tag", allswell.EntityTag(a), s.Conflict)
	return v.show(status, "announcement", a.Title, s)
}

// changeAnnouncement saves an announcement, unless somebody else has changed it since the form was shown.
func (v *visit) changeAnnouncement() error {
	h, a, err := v.announcement()
	if err != nil {
		return err
	}
	f, zone := newForm(v.r.PostForm), h.Page.Location()
	saved := announcementValues(a, zone)
	ch := allswell.AnnouncementChange{
		Title: new(strings.TrimSpace(f.Value("title"))), Message: new(announcementText(f)), Level: new(allswell.AnnouncementLevel(f.Value("level"))),
	}
	for name, to := range map[string]**time.Time{"shown_from": &ch.ShownFrom, "shown_until": &ch.ShownUntil} {
		if f.Value(name) != saved.Get(name) { // the form has no seconds
			*to = new(f.moment(name, zone, v.now()))
		}
	}
	if ch.ShownFrom != nil && ch.ShownFrom.IsZero() {
		*ch.ShownFrom = v.now()
	}
	if !f.HasErrors() {
		_, err = v.store.ChangeAnnouncement(v.r.Context(), v.actor(), a.ID, ch, allswell.Precondition{Tags: []string{f.Value("tag")}})
		f.refused(err)
	}
	switch {
	case f.HasErrors():
		return v.answerAnnouncement(http.StatusUnprocessableEntity, h, a, f)
	case errors.Is(err, allswell.ErrPreconditionFailed):
		f.saved = saved
		return v.answerAnnouncement(http.StatusConflict, h, a, f)
	case err != nil:
		return err
	}
	return v.redirect(announcementsPath(h.Page))
}

// deleteAnnouncement deletes an announcement.
func (v *visit) deleteAnnouncement() error {
	h, a, err := v.announcement()
	if err != nil {
		return err
	}
	if err := v.store.DeleteAnnouncement(v.r.Context(), v.actor(), a.ID); err != nil {
		return err
	}
	return v.redirect(announcementsPath(h.Page))
}
