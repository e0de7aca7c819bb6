package dashboard

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/audience"
)

// maxRefusedShown is the number of refused lines that the screen of an import shows.
const maxRefusedShown = 200

// subscriberImportScreen is the data of the template subscriber_import: the form, what an import would do, or what it
// did.
type subscriberImportScreen struct {
	*form
	pageHead
	Path, Back string
	Fields     []field
	FileErrors []string
	Confirmed  bool

	Report    *audience.SubscriberImportReport // nil: the form has not been sent yet
	Added     int
	Refused   []audience.ImportLine // at most maxRefusedShown
	Unshown   int                   // refused lines that are not shown
	List      string                // what was sent, for the next form
	Consented string
}

// showSubscriberImport shows the form of an import.
func (v *visit) showSubscriberImport() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	return v.showImport(http.StatusOK, &subscriberImportScreen{
		form: newForm(url.Values{"confirmed": {"false"}}), pageHead: h,
	})
}

// importSubscribers shows what an import would do or, once that is accepted, imports.
func (v *visit) importSubscribers() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	s := &subscriberImportScreen{form: newForm(v.r.PostForm), pageHead: h}
	list, err := v.uploadedText("file", audience.MaxImportBytes)
	if err != nil {
		return err
	}
	if list == "" {
		list = s.Value("csv")
	}
	n := audience.SubscriberImport{
		CSV: list, Consent: strings.TrimSpace(s.Value("consent")), Confirmed: s.Value("confirmed") == "true",
		DryRun: s.Value("step") != "import",
	}
	report, err := v.store.ImportSubscribers(v.r.Context(), v.actor(), h.Page.Slug, n)
	if s.refused(err) {
		if !s.bad.Has("csv") {
			s.values.Set("csv", list) // a file has to be chosen again
		}
		return v.showImport(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	s.Report, s.List, s.Consented, s.Confirmed = &report, list, n.Consent, n.Confirmed
	s.Added = report.Count(audience.ImportAdded)
	for _, l := range report.Lines {
		switch {
		case l.Result == audience.ImportAdded:
		case len(s.Refused) == maxRefusedShown:
			s.Unshown++
		default:
			s.Refused = append(s.Refused, l)
		}
	}
	return v.showImport(http.StatusOK, s)
}

func (v *visit) showImport(status int, s *subscriberImportScreen) error {
	s.Back = pagePath(s.Page) + "/subscribers"
	s.Path = s.Back + "/import"
	s.Fields = []field{
		s.draw(field{
			Name: "csv", Label: "Or paste the addresses", Type: "textarea", Rows: 6, Bare: true,
			Placeholder: "ada@example.com\ngrace@example.com",
			Hint:        "One address per line, or CSV with a column “email”. At most 5,000 lines.",
		}),
		s.draw(field{
			Name: "consent", Label: "Where does their consent come from?",
			Placeholder: "Form on example.com/news, March 2026", Autocomplete: "off",
			Hint: "It is stored with each subscriber, with your name and the time.",
		}),
		s.draw(field{Name: "confirmed", Label: "Confirmation", Type: "select", Options: []option{
			{Value: "false", Label: "ask each address to confirm first"},
			{Value: "true", Label: "none: they have agreed to these messages"},
		}}),
	}
	return v.show(status, "subscriber_import", s.Page.Name+": import subscribers", s)
}

// uploadedText returns the text of a file that was sent with a form, or "" if there is none. A longer one is cut off
// after limit+1 bytes.
func (v *visit) uploadedText(name string, limit int64) (string, error) {
	file, _, err := v.r.FormFile(name)
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	return string(text), err
}
