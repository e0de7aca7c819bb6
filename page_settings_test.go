package allswell_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/resource"
)

type link = allswell.FooterLink

// TestPageSettingsAreChecked checks the settings of new and changed pages.
func TestPageSettingsAreChecked(t *testing.T) {
	long := strings.Repeat("a", 64)
	for field, values := range map[string]map[string]bool{
		"time_zone": {"UTC": true, "Europe/Berlin": true, "America/Argentina/Buenos_Aires": true, "": false, "Local": false,
			"Mars/Olympus": false, "../etc/passwd": false, "/etc/localtime": false, "+02:00": false, long + "a": false, "Europe/Berlin\x00": false},
		"language": {"": true, "en": true, "de": true, "de-AT": true, "DE": true, "ar-Arab-EG": true, "pt-BR": false, "gsw": false, "e": false, "english": false, "en_US": false, "de-": false, "<b>": false, "en\n": false},
		"domain": {"": true, "status.example.com": true, "xn--bcher-kva.example": true, "a.b": true, "1st.example.com": true, strings.Repeat("a", 63) + ".example": true,
			strings.Repeat("abc.", 56) + "a.example": true, strings.Repeat("abc.", 56) + "ab.example": false,
			"example": false, "Status.example.com": false, "status.example.com:443": false, "https://status.example.com": false, "status.example.com.": false,
			".example.com": false, "a..b": false, "-a.example": false, "a-.example": false, "a_b.example": false, "127.0.0.1": false, "::1": false, "127.1": false, "0x7f.1": false, "127.0.0.0x1": false, "127.0x": false, "[::1]": false,
			"localhost": false, "status.localhost": false,
			"bücher.example": true, "status.bücher。example": true, "ü／a.example": false, "１２７.0.0.1": false, "ü\u202e.example": false, strings.Repeat("ü", 64) + ".example": false, long + ".example": false, strings.Repeat("abc.", 63) + "example": false, "status.example.com\n": false},
		"accent": {"": true, "#1b4f9c": true, "#ABCDEF": true, "#fff": false, "1b4f9c": false, "#1b4f9": false, "#1b4f9cff": false, "#1b4f9g": false, "red": false, "#1b4f9c\n": false},
	} {
		for value, fine := range values {
			change := func(p *allswell.Page) error {
				*map[string]*string{"time_zone": &p.TimeZone, "language": &p.Language, "domain": &p.Domain, "accent": &p.Accent}[field] = value
				return nil
			}
			var bad []string
			if !fine {
				bad = []string{field}
			}
			t.Run(fmt.Sprintf("%s %q", field, value), func(t *testing.T) {
				p, err := newPage(allswell.Page{Name: "n", Slug: "s", TimeZone: "UTC", Language: "ar", Domain: "other.example", Accent: "#000000"})
				checkFields(t, err)
				checkFields(t, resource.Page.Apply(&p, change, t1), bad...)
				created := allswell.Page{Name: "n", Slug: "s", TimeZone: "UTC"}
				checkFields(t, resource.Page.Create(&created, change, t0), bad...)
			})
		}
	}
}

func TestFooterIsChecked(t *testing.T) {
	fine := link{Label: "Imprint", URL: "https://example.com/imprint"}
	many := make([]link, allswell.MaxFooterLinks+1)
	for i := range many {
		many[i] = fine
	}
	for name, c := range map[string]struct {
		links []link
		bad   []string
	}{
		"none":                      {[]link{}, nil},
		"three kinds":               {[]link{fine, {"Plain", "http://example.com"}, {"Mail", "mailto:help@example.com"}}, nil},
		"ten":                       {many[1:], nil},
		"eleven":                    {many, []string{"footer_links"}},
		"no label":                  {[]link{fine, {" ", "https://example.com"}}, []string{"footer_links.1.label"}},
		"a long label":              {[]link{{strings.Repeat("ü", allswell.MaxFooterLabelLength+1), "https://example.com"}}, []string{"footer_links.0.label"}},
		"a script":                  {[]link{{"x", "javascript:alert(1)"}}, []string{"footer_links.0.url"}},
		"a script in data":          {[]link{{"x", "data:text/html,<script>"}}, []string{"footer_links.0.url"}},
		"a path":                    {[]link{{"x", "/imprint"}}, []string{"footer_links.0.url"}},
		"no host":                   {[]link{{"x", "https:///imprint"}}, []string{"footer_links.0.url"}},
		"another scheme":            {[]link{{"x", "ftp://example.com"}}, []string{"footer_links.0.url"}},
		"mailto without an address": {[]link{{"x", "mailto:"}}, []string{"footer_links.0.url"}},
		"a long address":            {[]link{{"x", "https://example.com/" + strings.Repeat("a", allswell.MaxURLLength)}}, []string{"footer_links.0.url"}},
		"several invalid links":     {[]link{{"", ""}, fine, {"", "x:y"}}, []string{"footer_links.0.label", "footer_links.0.url", "footer_links.2.label", "footer_links.2.url"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkFields(t, checkNew(resource.Page, allswell.Page{Name: "n", Slug: "s", Footer: c.links}), c.bad...)
		})
	}
	err := checkNew(resource.Page, allswell.Page{Name: "n", Slug: "s", Footer: []link{{"", "x:y"}}})
	equal(t, "the words", err.Error(), "The footer_links.0.label field is required. The url must be an http, https or mailto address.")
}

// TestSettings checks that given settings are brought into the form in which they are stored, that others stay, and that
// UpdatedAt changes only with a setting.
func TestSettings(t *testing.T) {
	before, err := newPage(allswell.Page{Name: "Acme", Slug: "acme"})
	checkFields(t, err)
	given := allswell.Page{
		TimeZone: "Europe/Berlin", Language: "de", Domain: "status.bücher.example", Accent: "#ABCDEF", Footer: []link{{Label: "Imprint", URL: "https://example.com"}},
		Languages: []string{"en", "de", "en"}, CustomCSS: "a{}\r\nb{}\r",
	}
	want, p := before, before
	want.TimeZone, want.Language, want.Domain, want.Accent = "Europe/Berlin", "de", "status.xn--bcher-kva.example", "#abcdef"
	want.Footer, want.Languages, want.CustomCSS, want.UpdatedAt = given.Footer, []string{"de", "en"}, "a{}\nb{}\n", t1
	for _, now := range []time.Time{t1, t2} { // the same again changes nothing
		checkFields(t, resource.Page.Apply(&p, resource.Page.From(given), now))
		equal(t, "all settings", p, want)
	}
	for i, change := range []func(*allswell.Page){
		func(p *allswell.Page) { p.TimeZone = "UTC" }, func(p *allswell.Page) { p.Language = "" }, func(p *allswell.Page) { p.Domain = "" }, func(p *allswell.Page) { p.Accent = "" },
		func(p *allswell.Page) { p.Footer = nil }, func(p *allswell.Page) { p.Languages = nil }, func(p *allswell.Page) { p.CustomCSS = "" },
	} {
		now := at(time.Duration(i+3) * time.Minute)
		checkFields(t, resource.Page.Apply(&p, func(p *allswell.Page) error { change(p); return nil }, now))
		equal(t, fmt.Sprint("taken off: ", i), p.UpdatedAt, now)
	}
	before.UpdatedAt = at(9 * time.Minute)
	equal(t, "plain again", p, before)
}

// TestLocation checks that an unknown time zone is UTC.
func TestLocation(t *testing.T) {
	for name, want := range map[string]string{"Europe/Berlin": "Europe/Berlin", "": "UTC", "UTC": "UTC", "Mars/Olympus": "UTC"} {
		equal(t, name, allswell.Page{TimeZone: name}.Location().String(), want)
	}
}
