package statuspages

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	fields "github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// pageSettingsScreen is the data of the template page_settings.
type pageSettingsScreen struct {
	*frame.Form
	frame.PageHead
	Tag string // entity tag of the page that the form edits

	General, Visitors []frame.Field
	Footer            [][2]frame.Field
	Domain, Accent    frame.Field
	CSS               frame.Field
	Languages         []frame.Option // that visitors are offered
	LanguageErrors    []string
	Record            *statuspage.DomainRecord // nil: the domain needs no proof
	LookupLabel       string                   // result of the lookup of the domain, for people
	AccentColours     accentColours
	Previews          []preview
	Images            []imageUpload
	Conflict          bool

	Delete frame.Field // the slug, which confirms the deletion
	Size   store.PageSize
}

// pageField returns the field of a form for a field of pages.
func pageField(name string) frame.Field { return frame.FieldOf(resource.Page.Info(name)) }

// showPageSettings shows the settings of a page.
func (r *request) showPageSettings() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	return r.showPageForm(http.StatusOK, &pageSettingsScreen{Form: frame.NewForm(pageValues(h.Page)), PageHead: h})
}

// pageValues returns the values of the form for a page.
func pageValues(p statuspage.Page) url.Values {
	values := resource.Page.FormValues(p, time.UTC)
	values.Set("languages", "")
	for _, l := range i18n.Offered(p.Languages).All() {
		values.Set(languageField(l.Tag), "true")
	}
	for i, link := range p.Footer {
		values.Set(footerField(i, "label"), link.Label)
		values.Set(footerField(i, "url"), link.URL)
	}
	return values
}

func footerField(i int, part string) string { return fmt.Sprintf("footer_links.%d.%s", i, part) }

// showPageForm shows the settings. s has the form and the head.
func (r *request) showPageForm(status int, s *pageSettingsScreen) error {
	sizes, err := r.Store.PageSizes(r.Context(), r.Actor(), []string{s.Page.ID})
	if err != nil {
		return err
	}
	s.Size, s.Conflict = sizes[s.Page.ID], s.SavedMeanwhile != nil
	s.Tag = s.Version("tag", kernel.EntityTag(resource.Page.Audited(s.Page)), s.Conflict)
	slug, home, language := pageField("slug"), pageField("home"), pageField("language")
	slug.Hint = "Of " + r.Base + "/status/" + s.Page.Slug +
		". If you change it, links, feeds and badges with the present address break."
	home.Hint = "One page of the workspace can be shown at " + r.Base + "/ itself."
	language.Type, language.Optional, language.Options = "select", false, languageOptions(s.Value("language"))
	s.General = s.DrawAll(pageField("name"), slug, pageField("description"))
	s.Visitors = s.DrawAll(pageField("visibility"), home, language, pageField("time_zone"), pageField("auto_incidents"),
		pageField("webhook_sign_ups"), pageField("response_times"))
	s.drawFooter()
	css := pageField("custom_css")
	css.Rows = 6
	s.Domain, s.Accent, s.CSS = s.Draw(pageField("domain")), s.Draw(pageField("accent")), s.Draw(css)
	s.drawLanguages()
	s.Delete = s.Draw(frame.Field{Name: "confirm", Label: "Type " + s.Page.Slug + " to confirm", Autocomplete: "off"})
	if s.Page.Domain != "" && !s.Page.Claim.Trusted() {
		record := statuspage.NewDomainRecord(s.Page.ID, s.Page.Domain)
		s.Record = &record
	}
	if s.Page.Lookup != nil {
		s.LookupLabel = lookupLabels[s.Page.Lookup.Result]
	}
	s.AccentColours, s.Previews = newAccentColours(s.Value("accent")), newPreviews(s.Page)
	s.drawImages()
	return r.Show(status, "page_settings", s.Page.Name+": settings", s)
}

// lookupLabels name the results of lookups of domains.
var lookupLabels = map[statuspage.DomainLookupResult]string{
	statuspage.LookupMatch: "right", statuspage.LookupPartial: "partly wrong", statuspage.LookupElsewhere: "elsewhere",
	statuspage.LookupPrivate: "private address", statuspage.LookupNotFound: "no address",
	statuspage.LookupTimeout: "no answer",
	statuspage.LookupFailed:  "DNS error", statuspage.LookupUnknownHost: "cannot compare",
}

// languageOptions returns the languages of pages, and the chosen language if it is not among them, such as de-AT.
func languageOptions(chosen string) []frame.Option {
	options := []frame.Option{{Label: "not set"}}
	for _, l := range i18n.All() {
		options = append(options, frame.Option{Value: l.Tag, Label: l.Name})
	}
	if !slices.ContainsFunc(options, func(o frame.Option) bool {
		return o.Value == chosen
	}) && i18n.Find(chosen) != nil {
		options = append(options, frame.Option{Value: chosen, Label: i18n.Find(chosen).Name + " (" + chosen + ")"})
	}
	return options
}

// drawLanguages draws the languages that visitors can be offered.
func (s *pageSettingsScreen) drawLanguages() {
	s.LanguageErrors = s.Draw(frame.Field{Name: "languages"}).Errors
	for _, l := range i18n.All() {
		s.Languages = append(s.Languages, frame.Option{
			Value: l.Tag, Label: l.Name, Selected: s.Value(languageField(l.Tag)) != "",
		})
	}
}

// languageField returns the name of the box of a language.
func languageField(tag string) string { return "languages." + tag }

// chosenLanguages returns the tags of the languages whose boxes are checked.
func chosenLanguages(values url.Values) []string {
	return slices.DeleteFunc(i18n.Tags(), func(tag string) bool { return values.Get(languageField(tag)) == "" })
}

// readLanguages returns the chosen languages. It returns nil if all were chosen, so that languages of later versions
// are offered, too.
func readLanguages(values url.Values) []string {
	chosen := chosenLanguages(values)
	if len(chosen) == len(i18n.All()) {
		return nil
	}
	return chosen
}

// drawFooter draws the footer links, and two empty rows.
func (s *pageSettingsScreen) drawFooter() {
	n := 0
	for s.Values.Has(footerField(n, "url")) {
		n++
	}
	for i := range min(n+2, statuspage.MaxFooterLinks) {
		s.Footer = append(s.Footer, [2]frame.Field{
			s.Draw(frame.Field{Name: footerField(i, "label"), Label: "Label", Optional: true, Placeholder: "Contact"}),
			s.Draw(frame.Field{
				Name: footerField(i, "url"), Label: "Address", Optional: true,
				Placeholder: "https://example.com/contact",
			}),
		})
	}
}

// readFooter returns the typed footer links. It removes empty rows from the values, so that errors appear beside their
// rows.
func readFooter(values url.Values) []statuspage.FooterLink {
	links := []statuspage.FooterLink{}
	for i := range statuspage.MaxFooterLinks {
		label, address := footerField(i, "label"), footerField(i, "url")
		link := statuspage.FooterLink{
			Label: strings.TrimSpace(values.Get(label)), URL: strings.TrimSpace(values.Get(address)),
		}
		values.Del(label)
		values.Del(address)
		if link != (statuspage.FooterLink{}) {
			values.Set(footerField(len(links), "label"), link.Label)
			values.Set(footerField(len(links), "url"), link.URL)
			links = append(links, link)
		}
	}
	return links
}

// readPage returns the change of the page that a form describes. Fields that the form does not have stay unchanged. If
// only is given, only these fields are read.
func readPage(before statuspage.Page, values url.Values, only ...string) fields.Change[statuspage.Page] {
	described, reads := resource.Page, func(name string) bool { return len(only) == 0 || slices.Contains(only, name) }
	if len(only) > 0 {
		described = described.Only(only...)
	}
	inputs := maps.Clone(values)
	inputs.Del("languages") // they are boxes
	change, boxes, rows := described.ReadForm(before, inputs, time.UTC, before.UpdatedAt), values.Has("languages"),
		values.Has(footerField(0, "url"))
	links := readFooter(values)
	return func(p *statuspage.Page) error {
		var bad kernel.ValidationError
		if reads("footer_links") && rows {
			p.Footer = links
		}
		if reads("languages") && boxes {
			if p.Languages = readLanguages(values); len(chosenLanguages(values)) == 0 {
				bad.Add("languages", "Choose at least one language.")
			}
		}
		return kernel.JoinInvalid(change(p), bad.Err())
	}
}

// changePage saves the settings, unless somebody else has changed them since the form was shown.
func (r *request) changePage() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	s := &pageSettingsScreen{Form: frame.NewForm(r.PostForm), PageHead: h}
	p, err := r.Store.ChangePage(r.Context(), r.Actor(), h.Page.Slug, readPage(h.Page, r.PostForm),
		frame.UnchangedSince(s.Values))
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		s.SavedMeanwhile = pageValues(h.Page)
		return r.showPageForm(http.StatusConflict, s)
	}
	if s.Refused(err) {
		return r.showPageForm(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.PagePath(p) + "?saved")
}

// verifyPageDomain checks the domain of a page now.
func (r *request) verifyPageDomain() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	if r.VerifyDomain != nil {
		_, err = r.VerifyDomain(r.Context(), r.Actor(), h.Page.Slug)
	}
	if s := (&pageSettingsScreen{Form: frame.NewForm(pageValues(h.Page)), PageHead: h}); s.Refused(err) {
		return r.showPageForm(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.PagePath(h.Page) + "#domain")
}

// deletePage deletes a page if its slug was typed.
func (r *request) deletePage() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	if strings.TrimSpace(r.PostForm.Get("confirm")) != h.Page.Slug {
		s := &pageSettingsScreen{Form: frame.NewForm(pageValues(h.Page)), PageHead: h}
		s.Values.Set("confirm", r.PostForm.Get("confirm"))
		s.Refuse("confirm", "Nothing was deleted: this is not %s.", h.Page.Slug)
		return r.showPageForm(http.StatusUnprocessableEntity, s)
	}
	if err := r.Store.DeletePage(r.Context(), r.Actor(), h.Page.Slug); err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/pages")
}
