package statuspages

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// showSetupPage shows the second step, or redirects to the overview if there already is a page.
func (r *request) showSetupPage() error {
	_, pages, err := r.Store.Pages(r.Context(), r.Actor(), store.Filter{}, store.Pagination{Page: 1, PerPage: 1})
	if err != nil {
		return err
	}
	if pages > 0 {
		return r.Redirect(frame.Path)
	}
	return r.showPageStep(http.StatusOK, frame.NewForm(url.Values{}))
}

func (r *request) showPageStep(status int, f *frame.Form) error {
	s := &frame.SetupStep{Form: f, Step: 2, Skip: frame.Path}
	s.DrawFields(newPageFields(r.Base)...)
	return r.Show(status, "setup_page", s.Title(), s)
}

// setUpPage creates the first page.
func (r *request) setUpPage() error {
	f := frame.NewForm(r.PostForm)
	p, err := r.Store.CreatePage(r.Context(), r.Actor(), readNewPage(f.Values))
	if f.Refused(err) {
		return r.showPageStep(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/setup/" + p.Slug + "/components")
}

// showSetupComponents shows the third step.
func (r *request) showSetupComponents() error {
	return r.showComponentsStep(http.StatusOK, frame.NewForm(url.Values{}))
}

func (r *request) showComponentsStep(status int, f *frame.Form) error {
	page, err := r.Store.Page(r.Context(), r.Actor(), r.PathValue("page"))
	if err != nil {
		return err
	}
	s := &frame.SetupStep{Form: f, Step: 3, Page: page, Skip: frame.Path + "/setup/" + page.Slug + "/monitor"}
	s.DrawFields(frame.Field{
		Name: "components", Label: "Components, one per line", Type: "textarea", Rows: 6,
		Placeholder: "Website\nAPI\nBackups",
		Hint:        "What your users depend on. You can group, rename and reorder them later.",
	})
	return r.Show(status, "setup_page", s.Title(), s)
}

// maxSetupComponents is the maximum number of components that the third step creates.
const maxSetupComponents = 50

// setUpComponents creates the components that the page does not have yet.
func (r *request) setUpComponents() error {
	f, slug := frame.NewForm(r.PostForm), r.PathValue("page")
	refuse := func(message string, args ...any) error {
		f.Refuse("components", message, args...)
		return r.showComponentsStep(http.StatusUnprocessableEntity, f)
	}
	var names []string
	for line := range strings.Lines(f.Value("components")) {
		if name := strings.TrimSpace(line); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 || len(names) > maxSetupComponents {
		return refuse("Enter between 1 and %d components, each on a line of its own.", maxSetupComponents)
	}
	for _, name := range names {
		known, _, err := r.Store.Components().List(r.Context(), r.Actor(), slug, store.Filter{Name: name},
			store.Pagination{Page: 1, PerPage: 1})
		if err == nil && len(known) == 0 { // a repeated form creates nothing twice
			_, err = r.Store.Components().Create(r.Context(), r.Actor(), slug,
				resource.Component.From(statuspage.Component{Name: name}))
		}
		var bad *kernel.ValidationError
		if errors.As(err, &bad) {
			return refuse("One line cannot be a name: %s", bad.Problems[0].Message())
		}
		if err != nil {
			return err
		}
	}
	return r.Redirect(frame.Path + "/setup/" + slug + "/monitor")
}
