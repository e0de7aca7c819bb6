package dashboard

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
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// pageAccessScreen is the data of the template page_access.
type pageAccessScreen struct {
	*form
	pageHead
	Tag      string // of the page that the forms edit
	Who      []field
	Password field
	Link     string // that has just been made; "": none
	Conflict bool
}

// showPageAccess shows who can see a page while it is private.
func (v *visit) showPageAccess() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	return v.showPageAccessForm(http.StatusOK, &pageAccessScreen{form: newForm(accessValues(h.Page)), pageHead: h})
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
func (v *visit) showPageAccessForm(status int, s *pageAccessScreen) error {
	for name, values := range accessValues(s.Page) {
		if !s.values.Has(name) { // another form of the screen was sent
			s.values[name] = values
		}
	}
	s.Conflict = s.form.saved != nil
	s.Tag = s.version("tag", kernel.EntityTag(resource.Page.Audited(s.Page)), s.Conflict)
	s.Who = []field{
		s.draw(field{
			Name: "members", Label: "Members of this workspace", Type: "select",
			Hint: "They see the page below " + v.base +
				"/status/, where their browser is known, not at its own domain.",
			Options: []option{
				{Value: "false", Label: "cannot see it by signing in"},
				{Value: "true", Label: "can see it while they are signed in to the dashboard"},
			},
		}),
		s.draw(field{
			Name: "networks", Label: "Networks", Type: "textarea", Rows: 3, Optional: true, Placeholder: "10.0.0.0/8",
			Hint: "Addresses or networks, one per line. Visitors from these addresses can see the page.",
		}),
	}
	s.Password = s.draw(field{
		Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password",
		Hint: "At least 12 characters.",
	})
	return v.show(status, "page_access", s.Page.Name+": access", s)
}

// changePageAccess changes who can see a page, unless somebody else has changed the page since the form was shown.
func (v *visit) changePageAccess() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	s := &pageAccessScreen{form: newForm(v.r.PostForm), pageHead: h}
	ch, err := v.readAccessChange(s.form)
	if err == nil {
		s.Page, err = v.store.ChangePageAccess(v.r.Context(), v.actor(), h.Page.Slug, ch, shownVersion(s.values))
	}
	switch {
	case errors.Is(err, kernel.ErrPreconditionFailed):
		s.Page, s.saved = h.Page, accessValues(h.Page)
		return v.showPageAccessForm(http.StatusConflict, s)
	case s.refused(err):
		s.Page = h.Page
		return v.showPageAccessForm(http.StatusUnprocessableEntity, s)
	case err != nil:
		return err
	case s.Page.Access.LinkKey != "": // no address ever has it
		s.form, s.Link = newForm(accessValues(s.Page)), s.Page.LinkURL(v.base)
		return v.showPageAccessForm(http.StatusOK, s)
	}
	return v.redirect(pagePath(h.Page) + "/access?saved")
}

// readAccessChange returns the change that one of the forms of the screen asks for: the button says which.
func (v *visit) readAccessChange(f *form) (statuspage.PageAccessChange, error) {
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
		hash, err := password.Hash(v.r.Context(), password.Proven(fair.Workspace(v.in.WorkspaceID)),
			f.Value("password"))
		return changeOfAccess(func(a *statuspage.PageAccess, now time.Time) { a.SetPassword(hash, now) }), err
	case "no_password":
		return changeOfAccess(func(a *statuspage.PageAccess, now time.Time) { a.SetPassword("", now) }), nil
	case "link":
		return changeOfAccess((*statuspage.PageAccess).MakeLink), nil
	case "no_link":
		return changeOfAccess(func(a *statuspage.PageAccess, _ time.Time) { a.RemoveLink() }), nil
	}
	return nil, errNotFound
}

// changeOfAccess returns a change for which nothing has to be read.
func changeOfAccess(change func(*statuspage.PageAccess, time.Time)) statuspage.PageAccessChange {
	return func(a *statuspage.PageAccess, now time.Time) error {
		change(a, now)
		return nil
	}
}

// visitPage redirects a signed-in member to a private page.
func (v *visit) visitPage() error {
	slug := v.r.PathValue("page")
	if !kernel.ValidSlug(slug) {
		return errNotFound
	}
	return v.redirect("/status/" + slug)
}
