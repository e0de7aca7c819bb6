package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/store"
)

// pageSettingsScreen is the data of the template page_settings.
type pageSettingsScreen struct {
	*form
	pageHead
	Tag string // of the page that the form edits

	General, Visitors []field
	Footer            [][2]field
	Domain, Accent    field
	CSS               field
	Languages         []option // that visitors are offered
	LanguageErrors    []string
	Record            *allswell.DomainRecord // nil: the domain needs no proof
	LookupLabel       string                 // of where the domain points to
	AccentColours     accentColours
	Previews          []preview
	Images            []imageUpload
	Conflict          bool

	Delete field // the slug, to confirm
	Size   store.PageSize
}

var visibilityField = field{Name: "visibility", Label: "Who can see it", Type: "select", Options: []option{
	{Value: string(allswell.VisibilityPublic), Label: "everybody"},
	{Value: string(allswell.VisibilityUnlisted), Label: "everybody who has its address (unlisted)"},
	{Value: string(allswell.VisibilityPrivate), Label: "only clients with a token, and those set under Access (private)"},
}}

// showPageSettings shows the settings of a page.
func (v *visit) showPageSettings() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	return v.showPageForm(http.StatusOK, &pageSettingsScreen{form: newForm(pageValues(h.Page)), pageHead: h})
}

// pageValues returns the values of the form for a page.
func pageValues(p allswell.Page) url.Values {
	values := url.Values{
		"name": {p.Name}, "slug": {p.Slug}, "description": {""}, "visibility": {string(p.Visibility)}, "home": {strconv.FormatBool(p.Home)},
		"webhook_sign_ups": {strconv.FormatBool(p.WebhookSignUps)},
		"response_times":   {strconv.FormatBool(p.ResponseTimes)},
		"auto_incidents":   {string(p.AutoIncidents)}, "language": {p.Language}, "time_zone": {p.TimeZone}, "domain": {p.Domain}, "accent": {p.Accent},
		"custom_css": {p.CustomCSS}, "languages": {""},
	}
	for _, l := range i18n.Offered(p.Languages).All() {
		values.Set(languageField(l.Tag), "true")
	}
	if p.Description != nil {
		values.Set("description", *p.Description)
	}
	for i, link := range p.Footer {
		values.Set(footerField(i, "label"), link.Label)
		values.Set(footerField(i, "url"), link.URL)
	}
	return values
}

func footerField(i int, part string) string { return fmt.Sprintf("footer_links.%d.%s", i, part) }

// showPageForm shows the settings. s has the form and the head.
func (v *visit) showPageForm(status int, s *pageSettingsScreen) error {
	sizes, err := v.store.PageSizes(v.r.Context(), v.actor(), []string{s.Page.ID})
	if err != nil {
		return err
	}
	s.Size, s.Conflict = sizes[s.Page.ID], s.form.saved != nil
	s.Tag = s.version("tag", allswell.EntityTag(s.Page), s.Conflict)
	s.General = []field{
		s.draw(field{Name: "name", Label: "Name"}),
		s.draw(field{Name: "slug", Label: "Address", Hint: "Of " + v.base + "/status/" + s.Page.Slug + ". If you change it, links, feeds and badges with the present address break."}),
		s.draw(field{
			Name: "description", Label: "Description", Type: "textarea", Rows: 3, Optional: true,
			Hint: "Visitors see it below the name.",
		}),
	}
	s.Visitors = []field{
		s.draw(visibilityField),
		s.draw(field{Name: "home", Label: "Start page", Type: "select", Hint: "One page of the workspace can be shown at " + v.base + "/ itself.",
			Options: []option{{Value: "false", Label: "no"}, {Value: "true", Label: "yes, it is the start page"}}}),
		s.draw(field{Name: "language", Label: "Language", Type: "select", Options: languageOptions(s.Value("language")),
			Hint: "For visitors whose own languages are not available."}),
		s.draw(field{
			Name: "time_zone", Label: "Time zone", Placeholder: "Europe/Berlin",
			Hint: "Days of the history begin and end in it.",
		}),
		s.draw(field{Name: "auto_incidents", Label: "When a monitor goes down", Type: "select", Options: []option{
			{Value: string(allswell.AutoIncidentsPublish), Label: "publish an incident and notify subscribers"},
			{Value: string(allswell.AutoIncidentsDraft), Label: "keep an incident as a draft"},
			{Value: string(allswell.AutoIncidentsOff), Label: "open no incident"},
		}, Hint: "Monitors can have a setting of their own. The component changes in any case."}),
		s.draw(field{Name: "webhook_sign_ups", Label: "Webhooks, chats and SMS", Type: "select", Options: []option{
			{Value: "true", Label: "visitors can subscribe them"}, {Value: "false", Label: "only operators can subscribe them"},
		}, Hint: "Targets that visitors add receive nothing before they are confirmed, and never have a private address."}),
		s.draw(field{Name: "response_times", Label: "Response times", Type: "select", Options: []option{
			{Value: "false", Label: "are not shown to visitors"}, {Value: "true", Label: "are shown on the pages of components"},
		}, Hint: "How long the checks of a component's monitors took in the last day, and which failed. Visitors see neither the names of monitors nor their targets."}),
	}
	s.drawFooter()
	s.Domain = s.draw(field{
		Name: "domain", Label: "Domain", Optional: true, Placeholder: "status.example.com",
		Hint: "A host name of your own that leads to this service.",
	})
	s.Accent = s.draw(field{
		Name: "accent", Label: "Accent colour", Optional: true, Placeholder: "#1b4f9c",
		Hint: "For links and buttons. It is made lighter or darker where it would be hard to read.",
	})
	s.CSS = s.draw(field{Name: "custom_css", Label: "Style sheet", Type: "textarea", Rows: 6, Optional: true, Placeholder: ":root { --radius: 0; }",
		Hint: "CSS, at most 20,000 bytes, which the page loads after its own. It may not load anything. Empty, the page looks as usual again."})
	s.drawLanguages()
	s.Delete = s.draw(field{Name: "confirm", Label: "Type " + s.Page.Slug + " to confirm", Autocomplete: "off"})
	if s.Page.Domain != "" && !s.Page.Claim.Trusted() {
		record := allswell.NewDomainRecord(s.Page.ID, s.Page.Domain)
		s.Record = &record
	}
	if s.Page.Lookup != nil {
		s.LookupLabel = lookupLabels[s.Page.Lookup.Result]
	}
	s.AccentColours, s.Previews = newAccentColours(s.Value("accent")), newPreviews(s.Page)
	s.drawImages()
	return v.show(status, "page_settings", s.Page.Name+": settings", s)
}

// lookupLabels name the results of lookups of domains.
var lookupLabels = map[allswell.DomainLookupResult]string{
	allswell.LookupMatch: "right", allswell.LookupPartial: "partly wrong", allswell.LookupElsewhere: "elsewhere",
	allswell.LookupPrivate: "private address", allswell.LookupNotFound: "no address", allswell.LookupTimeout: "no answer",
	allswell.LookupFailed: "DNS error", allswell.LookupUnknownHost: "cannot compare",
}

// languageOptions returns the languages of pages, and the chosen one if it is another, such as de-AT.
func languageOptions(chosen string) []option {
	options := []option{{Label: "not set"}}
	for _, l := range i18n.All() {
		options = append(options, option{Value: l.Tag, Label: l.Name})
	}
	if !slices.ContainsFunc(options, func(o option) bool { return o.Value == chosen }) && i18n.Find(chosen) != nil {
		options = append(options, option{Value: chosen, Label: i18n.Find(chosen).Name + " (" + chosen + ")"})
	}
	return options
}

// drawLanguages draws the languages that visitors can be offered.
func (s *pageSettingsScreen) drawLanguages() {
	s.LanguageErrors = s.draw(field{Name: "languages"}).Errors
	for _, l := range i18n.All() {
		s.Languages = append(s.Languages, option{Value: l.Tag, Label: l.Name, Selected: s.Value(languageField(l.Tag)) != ""})
	}
}

// languageField returns the name of the box of a language.
func languageField(tag string) string { return "languages." + tag }

// chosenLanguages returns the tags of the languages whose boxes are checked.
func chosenLanguages(values url.Values) []string {
	return slices.DeleteFunc(i18n.Tags(), func(tag string) bool { return values.Get(languageField(tag)) == "" })
}

// readLanguages returns the languages that were chosen; none if all of them were, so that later ones are offered, too.
func readLanguages(values url.Values) *[]string {
	chosen := chosenLanguages(values)
	if len(chosen) == len(i18n.All()) {
		chosen = nil
	}
	return &chosen
}

// checkLanguages returns the errors of the languages of a form.
func checkLanguages(values url.Values) error {
	bad := new(allswell.ValidationError)
	if l := cmp.Or(values.Get("language"), "en"); i18n.Find(l) == nil {
		bad.Add("language", "must be one of: %s", strings.Join(i18n.Tags(), ", "))
	}
	if values.Has("languages") && len(chosenLanguages(values)) == 0 {
		bad.Add("languages", "Choose at least one language.")
	}
	return bad.Err()
}

// drawFooter draws the footer links, and room for two more.
func (s *pageSettingsScreen) drawFooter() {
	n := 0
	for s.values.Has(footerField(n, "url")) {
		n++
	}
	for i := range min(n+2, allswell.MaxFooterLinks) {
		s.Footer = append(s.Footer, [2]field{
			s.draw(field{Name: footerField(i, "label"), Label: "Label", Optional: true, Placeholder: "Contact"}),
			s.draw(field{
				Name: footerField(i, "url"), Label: "Address", Optional: true,
				Placeholder: "https://example.com/contact",
			}),
		})
	}
}

// readFooter returns the footer links that were typed. It closes the gaps that empty rows leave in the values, so that
// errors stand beside their rows.
func readFooter(values url.Values) *[]allswell.FooterLink {
	links := []allswell.FooterLink{}
	for i := range allswell.MaxFooterLinks {
		label, address := footerField(i, "label"), footerField(i, "url")
		link := allswell.FooterLink{Label: strings.TrimSpace(values.Get(label)), URL: strings.TrimSpace(values.Get(address))}
		values.Del(label)
		values.Del(address)
		if link != (allswell.FooterLink{}) {
			values.Set(footerField(len(links), "label"), link.Label)
			values.Set(footerField(len(links), "url"), link.URL)
			links = append(links, link)
		}
	}
	return &links
}

// readPageChange returns the change that a form asks for. Fields that it does not have stay as they are.
func readPageChange(values url.Values) allswell.PageChange {
	text := func(name string) *string {
		if !values.Has(name) {
			return nil
		}
		return new(strings.TrimSpace(strings.ReplaceAll(values.Get(name), "\r\n", "\n")))
	}
	ch := allswell.PageChange{Name: text("name"), Slug: text("slug")}
	if description := text("description"); description != nil {
		ch.HasDescription = true
		if *description != "" {
			ch.Description = description
		}
	}
	ch.Language, ch.TimeZone, ch.Domain, ch.Accent = text("language"), text("time_zone"), text("domain"), text("accent")
	if css := text("custom_css"); css != nil {
		ch.CustomCSS = css
	}
	if values.Has("languages") {
		ch.Languages = readLanguages(values)
	}
	ch.Visibility = (*allswell.Visibility)(text("visibility"))
	ch.AutoIncidents = (*allswell.AutoIncidents)(text("auto_incidents"))
	if home := text("home"); home != nil {
		ch.Home = new(*home == "true")
	}
	if times := text("response_times"); times != nil {
		ch.ResponseTimes = new(*times == "true")
	}
	if signUps := text("webhook_sign_ups"); signUps != nil {
		ch.WebhookSignUps = new(*signUps == "true")
	}
	if values.Has(footerField(0, "url")) {
		ch.Footer = readFooter(values)
	}
	return ch
}

// changePage saves the settings, unless somebody else has changed them since the form was shown.
func (v *visit) changePage() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	s := &pageSettingsScreen{form: newForm(v.r.PostForm), pageHead: h}
	ch := readPageChange(v.r.PostForm)
	if s.refused(checkLanguages(v.r.PostForm)) {
		return v.showPageForm(http.StatusUnprocessableEntity, s)
	}
	p, err := v.store.ChangePage(v.r.Context(), v.actor(), h.Page.Slug, ch, allswell.Precondition{Tags: []string{s.Value("tag")}})
	if errors.Is(err, allswell.ErrPreconditionFailed) {
		s.saved = pageValues(h.Page)
		return v.showPageForm(http.StatusConflict, s)
	}
	if s.refused(err) {
		return v.showPageForm(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	return v.redirect(pagePath(p) + "?saved")
}

// verifyPageDomain checks the domain of a page now.
func (v *visit) verifyPageDomain() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	if v.verifyDomain != nil {
		_, err = v.verifyDomain(v.r.Context(), v.actor(), h.Page.Slug)
	}
	if s := (&pageSettingsScreen{form: newForm(pageValues(h.Page)), pageHead: h}); s.refused(err) {
		return v.showPageForm(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	return v.redirect(pagePath(h.Page) + "#domain")
}

// deletePage deletes a page, if its slug was typed.
func (v *visit) deletePage() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	if strings.TrimSpace(v.r.PostForm.Get("confirm")) != h.Page.Slug {
		s := &pageSettingsScreen{form: newForm(pageValues(h.Page)), pageHead: h}
		s.values.Set("confirm", v.r.PostForm.Get("confirm"))
		s.refuse("confirm", "Nothing was deleted: this is not %s.", h.Page.Slug)
		return v.showPageForm(http.StatusUnprocessableEntity, s)
	}
	if err := v.store.DeletePage(v.r.Context(), v.actor(), h.Page.Slug); err != nil {
		return err
	}
	return v.redirect(Path + "/pages")
}
