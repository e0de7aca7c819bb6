package statuspages

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	fields "github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// pagesScreen is the data of the template pages.
type pagesScreen struct {
	Rows     []pageRow
	Pager    frame.Pager
	CanAdmin bool
}

// pageRow is a page in the list.
type pageRow struct {
	statuspage.Page
	Path, URL string
	Size      store.PageSize
}

// showPages lists the pages.
func (r *request) showPages() error {
	query := r.URL.Query()
	rows := frame.Pagination(query)
	pages, total, err := r.Store.Pages(r.Context(), r.Actor(), store.Filter{}, rows)
	if err != nil {
		return err
	}
	ids := make([]string, len(pages))
	for i, p := range pages {
		ids[i] = p.ID
	}
	sizes, err := r.Store.PageSizes(r.Context(), r.Actor(), ids)
	if err != nil {
		return err
	}
	s := pagesScreen{
		Pager: frame.NewPager(frame.Path+"/pages", query, rows, len(pages), total), CanAdmin: r.May(rights.PageCreate),
	}
	for _, p := range pages {
		s.Rows = append(s.Rows, pageRow{Page: p, Path: frame.PagePath(p), URL: p.URL(r.Base), Size: sizes[p.ID]})
	}
	return r.Show(http.StatusOK, "pages", "Pages", s)
}

// newPageScreen is the data of the template new_page.
type newPageScreen struct {
	*frame.Form
	Fields []frame.Field
}

// showNewPage shows the form for a new page.
func (r *request) showNewPage() error {
	return r.showNewPageForm(http.StatusOK, frame.NewForm(url.Values{}))
}

func (r *request) showNewPageForm(status int, f *frame.Form) error {
	s := newPageScreen{Form: f, Fields: f.DrawAll(append(newPageFields(r.Base), pageField("visibility"))...)}
	frame.FocusFirst(s.Fields)
	return r.Show(status, "new_page", "New page", s)
}

// newPageFields are the fields of every form for a new page.
func newPageFields(base string) []frame.Field {
	name, slug := pageField("name"), pageField("slug")
	name.Label, name.Hint = "Page name",
		"Visitors see it at the top. Usually the name of your product or company."
	slug.Label, slug.Optional, slug.Hint = "URL", true,
		"The page is shown at "+base+"/status/…. Leave empty to derive it from the name."
	return []frame.Field{name, slug}
}

// readNewPage returns the change that turns an empty page into the page that a form describes.
func readNewPage(values url.Values) fields.Change[statuspage.Page] {
	read := resource.Page.ReadForm(statuspage.Page{}, values, time.UTC, time.Time{})
	return func(p *statuspage.Page) error {
		err := read(p)
		p.Slug = cmp.Or(p.Slug, kernel.SlugOf(p.Name, "status"))
		return err
	}
}

// createPage creates a page.
func (r *request) createPage() error {
	f := frame.NewForm(r.PostForm)
	p, err := r.Store.CreatePage(r.Context(), r.Actor(), readNewPage(f.Values))
	if f.Refused(err) {
		return r.showNewPageForm(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.PagePath(p) + "/components")
}
