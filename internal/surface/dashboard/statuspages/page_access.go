package statuspages

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// pageAccessScreen is the data of the template page_access.
type pageAccessScreen struct {
	*frame.Form
	frame.PageHead
	Tag      string // entity tag of the page that the forms edit
	Who      []frame.Field
	Password frame.Field
	Link     string // the secret link, if it has just been created; "": none
	Conflict bool
}

// showPageAccess shows who can see a page while it is private.
func (r *request) showPageAccess() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	return r.showPageAccessForm(http.StatusOK, &pageAccessScreen{
		Form: frame.NewForm(accessValues(h.Page)), PageHead: h,
	})
}

// accessValues returns the values of the form for a page.
func accessValues(p statuspage.Page) url.Values {
	var networks []string
	for _, n := range p.Access.Networks {
		networks = append(networks, n.String())
	}
	return url.Values{"members": {strconv.FormatBool(p.Access.Members)}, "networks": {strings.Join(networks, "\n")}}
}

// showPageAccessForm shows the screen. s has the form and the head.
func (r *request) showPageAccessForm(status int, s *pageAccessScreen) error {
	for name, values := range accessValues(s.Page) {
		if !s.Values.Has(name) { // another form of the screen was sent
			s.Values[name] = values
		}
	}
	s.Conflict = s.SavedMeanwhile != nil
	s.Tag = s.Version("tag", kernel.EntityTag(resource.Page.Audited(s.Page)), s.Conflict)
	s.Who = []frame.Field{
		s.Draw(frame.Field{
			Name: "members", Label: "Members", Type: "select",
			Hint: "Members can open the page under " + r.Base +
				"/status/ only, not at its own domain.",
			Options: []frame.Option{
				{Value: "false", Label: "No access"},
				{Value: "true", Label: "Access when signed in to the dashboard"},
			},
		}),
		s.Draw(frame.Field{
			Name: "networks", Label: "Networks", Type: "textarea", Rows: 3, Optional: true, Placeholder: "10.0.0.0/8",
			Hint: "Addresses or networks, one per line. Visitors from these addresses can see the page.",
		}),
	}
	s.Password = s.Draw(frame.Field{
		Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password",
		Hint: "At least 12 characters.",
	})
	return r.Show(status, "page_access", s.Page.Name+": access", s)
}

// changePageAccess changes who can see a page, unless somebody else has changed the page since the form was shown.
func (r *request) changePageAccess() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	s := &pageAccessScreen{Form: frame.NewForm(r.PostForm), PageHead: h}
	ch, err := r.readAccessChange(s.Form)
	if err == nil {
		s.Page, err = r.Store.ChangePageAccess(r.Context(), r.Actor(), h.Page.Slug, ch, frame.UnchangedSince(s.Values))
	}
	switch {
	case errors.Is(err, kernel.ErrPreconditionFailed):
		s.Page, s.SavedMeanwhile = h.Page, accessValues(h.Page)
		return r.showPageAccessForm(http.StatusConflict, s)
	case s.Refused(err):
		s.Page = h.Page
		return r.showPageAccessForm(http.StatusUnprocessableEntity, s)
	case err != nil:
		return err
	case s.Page.Access.LinkKey != "": // no address ever has it
		s.Form, s.Link = frame.NewForm(accessValues(s.Page)), s.Page.LinkURL(r.Base)
		return r.showPageAccessForm(http.StatusOK, s)
	}
	return r.Redirect(frame.PagePath(h.Page) + "/access?saved")
}

// readAccessChange returns the change of one of the forms of the screen. The button determines the form.
func (r *request) readAccessChange(f *frame.Form) (statuspage.PageAccessChange, error) {
	switch f.Value("change") {
	case "who":
		networks, err := clientaddr.ParseNetworks(strings.Join(strings.Fields(strings.ReplaceAll(f.Value("networks"),
			",", " ")), ","))
		if err != nil {
			bad := new(kernel.ValidationError)
			bad.Add("networks", "%s.", err)
			return nil, bad
		}
		return changeOfAccess(func(a *statuspage.PageAccess, _ time.Time) {
			a.Members, a.Networks = f.Value("members") == "true", networks
		}), nil
	case "password":
		if err := password.Check(f.Value("password")); err != nil {
			return nil, err
		}
		hash, err := password.Hash(r.Context(), password.Proven(fair.Workspace(r.SignedIn.WorkspaceID)),
			f.Value("password"))
		return changeOfAccess(func(a *statuspage.PageAccess, now time.Time) { a.SetPassword(hash, now) }), err
	case "no_password":
		return changeOfAccess(func(a *statuspage.PageAccess, now time.Time) { a.SetPassword("", now) }), nil
	case "link":
		return changeOfAccess((*statuspage.PageAccess).MakeLink), nil
	case "no_link":
		return changeOfAccess(func(a *statuspage.PageAccess, _ time.Time) { a.RemoveLink() }), nil
	}
	return nil, kernel.ErrNotFound
}

// changeOfAccess returns a change that cannot fail as a PageAccessChange.
func changeOfAccess(change func(*statuspage.PageAccess, time.Time)) statuspage.PageAccessChange {
	return func(a *statuspage.PageAccess, now time.Time) error {
		change(a, now)
		return nil
	}
}

// visitPage redirects a signed-in member to a page, which may be private.
func (r *request) visitPage() error {
	slug := r.PathValue("page")
	if !kernel.ValidSlug(slug) {
		return kernel.ErrNotFound
	}
	return r.Redirect("/status/" + slug)
}
