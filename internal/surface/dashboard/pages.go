package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	fields "github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

// pagesScreen is the data of the template pages.
type pagesScreen struct {
	Rows     []pageRow
	Pager    pager
	CanAdmin bool
}

// pageRow is a page in the list.
type pageRow struct {
	statuspage.Page
	Path, URL string
	Size      store.PageSize
}

// showPages lists the pages.
func (v *visit) showPages() error {
	query := v.r.URL.Query()
	r := pagination(query)
	pages, total, err := v.store.Pages(v.r.Context(), v.actor(), store.Filter{}, r)
	if err != nil {
		return err
	}
	ids := make([]string, len(pages))
	for i, p := range pages {
		ids[i] = p.ID
	}
	sizes, err := v.store.PageSizes(v.r.Context(), v.actor(), ids)
	if err != nil {
		return err
	}
	s := pagesScreen{Pager: newPager(Path+"/pages", query, r, len(pages), total), CanAdmin: v.may(rights.PageCreate)}
	for _, p := range pages {
		s.Rows = append(s.Rows, pageRow{Page: p, Path: pagePath(p), URL: p.URL(v.base), Size: sizes[p.ID]})
	}
	return v.showLive("pages", "Pages", s)
}

// pagePath returns the path of the screens of a page.
func pagePath(p statuspage.Page) string { return Path + "/pages/" + p.Slug }

// newPageScreen is the data of the template new_page.
type newPageScreen struct {
	*form
	Fields []field
}

// showNewPage shows the form for a new page.
func (v *visit) showNewPage() error {
	return v.showNewPageForm(http.StatusOK, newForm(url.Values{}))
}

func (v *visit) showNewPageForm(status int, f *form) error {
	s := newPageScreen{form: f, Fields: f.drawAll(append(newPageFields(v.base), pageField("visibility"))...)}
	focusFirst(s.Fields)
	return v.show(status, "new_page", "New page", s)
}

// newPageFields are the fields of every form for a new page.
func newPageFields(base string) []field {
	name, slug := pageField("name"), pageField("slug")
	name.Label, name.Hint = "Name of the page",
		"Visitors see it at the top. Usually the name of your product or company."
	slug.Label, slug.Optional, slug.Hint = "Its address", true,
		"The page is shown at "+base+"/status/…. Left empty, it is made from the name."
	return []field{name, slug}
}

// readNewPage returns the change of an empty page that a form for a new page asks for.
func readNewPage(values url.Values) fields.Change[statuspage.Page] {
	read := resource.Page.ReadForm(statuspage.Page{}, values, time.UTC, time.Time{})
	return func(p *statuspage.Page) error {
		err := read(p)
		p.Slug = cmp.Or(p.Slug, kernel.SlugOf(p.Name, "status"))
		return err
	}
}

// createPage creates a page.
func (v *visit) createPage() error {
	f := newForm(v.r.PostForm)
	p, err := v.store.CreatePage(v.r.Context(), v.actor(), readNewPage(f.values))
	if f.refused(err) {
		return v.showNewPageForm(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return v.redirect(pagePath(p) + "/components")
}

// pageHead is the data of the template page_head, which is above the screens of a page.
type pageHead struct {
	Page        statuspage.Page
	URL         string // of the public page
	Tabs        []navItem
	CanEdit     bool
	CanAnnounce bool
	CanAdmin    bool
	Saved       bool // the form has just been saved
}

// pageHead loads the page of the path.
func (v *visit) pageHead() (pageHead, error) {
	p, err := v.store.Page(v.r.Context(), v.actor(), v.r.PathValue("page"))
	if err != nil {
		return pageHead{}, err
	}
	h := pageHead{
		Page: p, URL: p.URL(v.base), CanEdit: v.may(rights.ComponentChange),
		CanAnnounce: v.may(rights.AnnouncementChange), CanAdmin: v.may(rights.PageChange),
		Saved: v.r.Method == http.MethodGet && v.r.URL.Query().Has("saved"),
		Tabs: []navItem{
			{Label: "Components", Path: pagePath(p) + "/components", Needs: rights.ComponentRead},
			{Label: "Announcements", Path: pagePath(p) + "/announcements", Needs: rights.AnnouncementRead},
			{Label: "Settings", Path: pagePath(p), Needs: rights.PageRead},
			{Label: "Access", Path: pagePath(p) + "/access", Needs: rights.PageAccessRead},
			{Label: "Share", Path: pagePath(p) + "/share", Needs: rights.PageRead},
			{Label: "Ping key", Path: pagePath(p) + "/ping-key", Needs: rights.PingKeyRead},
			{Label: "Subscribers", Path: pagePath(p) + "/subscribers", Needs: rights.SubscriberRead},
		},
	}
	h.Tabs = slices.DeleteFunc(h.Tabs, func(tab navItem) bool { return !v.may(tab.Needs) })
	for i, tab := range h.Tabs {
		h.Tabs[i].Current = v.r.URL.Path == tab.Path ||
			tab.Path != pagePath(p) && strings.HasPrefix(v.r.URL.Path, tab.Path+"/")
	}
	return h, nil
}
