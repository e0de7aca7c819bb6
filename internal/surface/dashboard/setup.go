package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// setupScreen is the data of the template setup: the step that is to be done.
type setupScreen struct {
	*form
	Step   int
	Page   statuspage.Page
	Fields []field
	Skip   string // where to go without this step; "": nowhere

	Kinds  []typeChoice // of the first monitor
	Check  bool         // it is a check of a target
	Result *checkResult // of a test of the target; nil: none was asked for
}

// setupTitles are the titles of the steps.
var setupTitles = []string{1: "Create your account", 2: "Your first page", 3: "What it shows", 4: "Your first monitor"}

// Title returns the title of the step.
func (s *setupScreen) Title() string { return setupTitles[s.Step] }

// Done returns the number of steps before this one.
func (s *setupScreen) Done() int { return s.Step - 1 }

// Steps returns the titles of all steps, in order.
func (s *setupScreen) Steps() []string { return setupTitles[1:] }

func (v *visit) showStep(status int, s *setupScreen, fields ...field) error {
	for _, x := range fields {
		s.Fields = append(s.Fields, s.draw(x))
	}
	focusFirst(s.Fields)
	return v.show(status, "setup", s.Title(), s)
}

// showSetup shows the first step, for the code that the first start prints.
func (v *visit) showSetup() error {
	code := v.r.URL.Query().Get("code")
	if err := v.findCode(account.CodeSetup, code, nil); err != nil {
		return err
	}
	return v.showAccount(http.StatusOK, newForm(url.Values{"code": {code}}))
}

func (v *visit) showAccount(status int, f *form) error {
	return v.showStep(status, &setupScreen{form: f, Step: 1},
		field{Name: "name", Label: "Your name", Autocomplete: "name"},
		field{Name: "email", Label: "E-mail", Type: "email", Autocomplete: "username"},
		newPassword)
}

// setUp creates the first owner and signs in.
func (v *visit) setUp() error {
	f := newForm(v.r.PostForm)
	if err := v.findCode(account.CodeSetup, f.Value("code"), nil); err != nil {
		return err
	}
	n := account.NewUser{Name: f.Value("name"), Email: f.Value("email")}
	if f.refused(kernel.JoinInvalid(n.Validate(), password.Check(f.Value("password"), n.Name, n.Email))) {
		return v.showAccount(http.StatusUnprocessableEntity, f)
	}
	var err error
	if n.PasswordHash, err = password.Hash(
		v.r.Context(), v.asker(attempter{account: n.Email, proven: true}), f.Value("password"),
	); err != nil {
		return err
	}
	secret, err := v.store.SetUp(v.r.Context(), f.Value("code"), n, v.browser())
	if err == nil {
		v.rememberBrowser(n.PasswordHash)
	}
	return v.startSession(secret, err, Path+"/setup/page")
}

// showSetupPage shows the second step, or leads to the overview if there is a page already.
func (v *visit) showSetupPage() error {
	_, pages, err := v.store.Pages(v.r.Context(), v.actor(), store.Filter{}, store.Pagination{Page: 1, PerPage: 1})
	if err != nil {
		return err
	}
	if pages > 0 {
		return v.redirect(Path)
	}
	return v.showPageStep(http.StatusOK, newForm(url.Values{}))
}

func (v *visit) showPageStep(status int, f *form) error {
	return v.showStep(status, &setupScreen{form: f, Step: 2, Skip: Path}, newPageFields(v.base)...)
}

// setUpPage creates the first page.
func (v *visit) setUpPage() error {
	f := newForm(v.r.PostForm)
	p, err := v.store.CreatePage(v.r.Context(), v.actor(), readNewPage(f.values))
	if f.refused(err) {
		return v.showPageStep(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return v.redirect(Path + "/setup/" + p.Slug + "/components")
}

// showSetupComponents shows the third step.
func (v *visit) showSetupComponents() error {
	return v.showComponentsStep(http.StatusOK, newForm(url.Values{}))
}

func (v *visit) showComponentsStep(status int, f *form) error {
	page, err := v.store.Page(v.r.Context(), v.actor(), v.r.PathValue("page"))
	if err != nil {
		return err
	}
	return v.showStep(status,
		&setupScreen{form: f, Step: 3, Page: page, Skip: Path + "/setup/" + page.Slug + "/monitor"},
		field{
			Name: "components", Label: "Components, one per line", Type: "textarea", Rows: 6,
			Placeholder: "Website\nAPI\nBackups",
			Hint:        "What your users depend on. You can group, rename and reorder them later.",
		})
}

// maxSetupComponents is the maximum number of components that the third step creates.
const maxSetupComponents = 50

// setUpComponents creates the components that the page does not have yet.
func (v *visit) setUpComponents() error {
	f, slug := newForm(v.r.PostForm), v.r.PathValue("page")
	refuse := func(message string, args ...any) error {
		f.refuse("components", message, args...)
		return v.showComponentsStep(http.StatusUnprocessableEntity, f)
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
		known, _, err := v.store.Components().List(v.r.Context(), v.actor(), slug, store.Filter{Name: name},
			store.Pagination{Page: 1, PerPage: 1})
		if err == nil && len(known) == 0 { // a repeated form creates nothing twice
			_, err = v.store.Components().Create(v.r.Context(), v.actor(), slug,
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
	return v.redirect(Path + "/setup/" + slug + "/monitor")
}
