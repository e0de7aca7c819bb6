package subscribers

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// maxRefusedShown is the number of refused lines that the screen of an import shows.
const maxRefusedShown = 200

// subscriberImportScreen is the data of the template subscriber_import, which shows the form, the report of a dry run,
// or the report of an import.
type subscriberImportScreen struct {
	*frame.Form
	frame.PageHead
	Path, Back string
	Fields     []frame.Field
	FileErrors []string
	Confirmed  bool

	Report    *audience.SubscriberImportReport // nil: the form has not been sent yet
	Added     int
	Refused   []audience.ImportLine // at most maxRefusedShown
	Unshown   int                   // refused lines that are not shown
	List      string                // the list that was sent, for the next form
	Consented string
}

// showSubscriberImport shows the form of an import.
func (r *request) showSubscriberImport() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	return r.showImport(http.StatusOK, &subscriberImportScreen{
		Form: frame.NewForm(url.Values{"confirmed": {"false"}}), PageHead: h,
	})
}

// importSubscribers shows the report of a dry run or, once the visitor accepts it, imports the subscribers.
func (r *request) importSubscribers() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	s := &subscriberImportScreen{Form: frame.NewForm(r.PostForm), PageHead: h}
	list, err := r.uploadedText("file", audience.MaxImportBytes)
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
	report, err := r.Store.ImportSubscribers(r.Context(), r.Actor(), h.Page.Slug, n)
	if s.Form.Refused(err) {
		if !s.Invalid.Has("csv") {
			s.Values.Set("csv", list) // a file has to be chosen again
		}
		return r.showImport(http.StatusUnprocessableEntity, s)
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
	return r.showImport(http.StatusOK, s)
}

func (r *request) showImport(status int, s *subscriberImportScreen) error {
	s.Back = frame.PagePath(s.Page) + "/subscribers"
	s.Path = s.Back + "/import"
	s.Fields = []frame.Field{
		s.Draw(frame.Field{
			Name: "csv", Label: "Or paste the addresses", Type: "textarea", Rows: 6, Bare: true,
			Placeholder: "ada@example.com\ngrace@example.com",
			Hint:        "One address per line, or CSV with a column “email”. At most 5,000 lines.",
		}),
		s.Draw(frame.Field{
			Name: "consent", Label: "Source of consent",
			Placeholder: "Form on example.com/news, March 2026", Autocomplete: "off",
			Hint: "Stored with each subscriber, with your name and the time.",
		}),
		s.Draw(frame.Field{Name: "confirmed", Label: "Confirmation", Type: "select", Options: []frame.Option{
			{Value: "false", Label: "ask each address to confirm first"},
			{Value: "true", Label: "none: they have already agreed"},
		}}),
	}
	return r.Show(status, "subscriber_import", s.Page.Name+": import subscribers", s)
}

// uploadedText returns the text of an uploaded file; "": there is none. A text longer than limit is cut off after
// limit+1 bytes.
func (r *request) uploadedText(name string, limit int64) (string, error) {
	file, _, err := r.FormFile(name)
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
