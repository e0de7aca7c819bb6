package statuspage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

type link = statuspage.FooterLink

// TestPageSettingsAreChecked checks the settings of new and changed pages.
func TestPageSettingsAreChecked(t *testing.T) {
	long := strings.Repeat("a", 64)
	for field, values := range map[string]map[string]bool{
		"time_zone": {
			"UTC": true, "Europe/Berlin": true, "America/Argentina/Buenos_Aires": true, "": false, "Local": false,
			"Mars/Olympus": false, "../etc/passwd": false, "/etc/localtime": false, "+02:00": false, long + "a": false,
			"Europe/Berlin\x00": false,
		},
		"language": {
			"": true, "en": true, "de": true, "de-AT": true, "DE": true, "ar-Arab-EG": true, "pt-BR": false,
			"gsw": false, "e": false, "english": false, "en_US": false, "de-": false, "<b>": false, "en\n": false,
		},
		"domain": {
			"": true, "status.example.com": true, "xn--bcher-kva.example": true, "a.b": true, "1st.example.com": true,
			strings.Repeat("a", 63) + ".example":     true,
			strings.Repeat("abc.", 56) + "a.example": true, strings.Repeat("abc.", 56) + "ab.example": false,
			"example": false, "Status.example.com": false, "status.example.com:443": false,
			"https://status.example.com": false, "status.example.com.": false,
			".example.com": false, "a..b": false, "-a.example": false, "a-.example": false, "a_b.example": false,
			"127.0.0.1": false, "::1": false, "127.1": false, "0x7f.1": false, "127.0.0.0x1": false, "127.0x": false,
			"[::1]":     false,
			"localhost": false, "status.localhost": false,
			"bücher.example": true, "status.bücher。example": true, "ü／a.example": false, "１２７.0.0.1": false,
			"ü\u202e.example": false, strings.Repeat("ü", 64) + ".example": false, long + ".example": false,
			strings.Repeat("abc.", 63) + "example": false, "status.example.com\n": false,
		},
		"accent": {
			"": true, "#1b4f9c": true, "#ABCDEF": true, "#fff": false, "1b4f9c": false, "#1b4f9": false,
			"#1b4f9cff": false, "#1b4f9g": false, "red": false, "#1b4f9c\n": false,
		},
	} {
		for value, fine := range values {
			change := func(p *statuspage.Page) error {
				*map[string]*string{
					"time_zone": &p.TimeZone, "language": &p.Language, "domain": &p.Domain, "accent": &p.Accent,
				}[field] = value
				return nil
			}
			var bad []string
			if !fine {
				bad = []string{field}
			}
			t.Run(fmt.Sprintf("%s %q", field, value), func(t *testing.T) {
				p, err := domaintest.NewPage(statuspage.Page{
					Name: "n", Slug: "s", TimeZone: "UTC", Language: "ar", Domain: "other.example", Accent: "#000000",
				})
				domaintest.CheckFields(t, err)
				domaintest.CheckFields(t, resource.Page.Apply(&p, change, domaintest.T1), bad...)
				created := statuspage.Page{Name: "n", Slug: "s", TimeZone: "UTC"}
				domaintest.CheckFields(t, resource.Page.Create(&created, change, domaintest.T0), bad...)
			})
		}
	}
}

func TestFooterIsChecked(t *testing.T) {
	fine := link{Label: "Imprint", URL: "https://example.com/imprint"}
	many := make([]link, statuspage.MaxFooterLinks+1)
	for i := range many {
		many[i] = fine
	}
	for name, c := range map[string]struct {
		links []link
		bad   []string
	}{
		"none": {[]link{}, nil},
		"three kinds": {[]link{
			fine, {"Plain", "http://example.com"}, {"Mail", "mailto:help@example.com"},
		}, nil},
		"ten":      {many[1:], nil},
		"eleven":   {many, []string{"footer_links"}},
		"no label": {[]link{fine, {" ", "https://example.com"}}, []string{"footer_links.1.label"}},
		"a long label": {[]link{
			{strings.Repeat("ü", statuspage.MaxFooterLabelLength+1), "https://example.com"},
		}, []string{"footer_links.0.label"}},
		"a script":                  {[]link{{"x", "javascript:alert(1)"}}, []string{"footer_links.0.url"}},
		"a script in data":          {[]link{{"x", "data:text/html,<script>"}}, []string{"footer_links.0.url"}},
		"a path":                    {[]link{{"x", "/imprint"}}, []string{"footer_links.0.url"}},
		"no host":                   {[]link{{"x", "https:///imprint"}}, []string{"footer_links.0.url"}},
		"another scheme":            {[]link{{"x", "ftp://example.com"}}, []string{"footer_links.0.url"}},
		"mailto without an address": {[]link{{"x", "mailto:"}}, []string{"footer_links.0.url"}},
		"a long address": {[]link{{"x", "https://example.com/" + strings.Repeat("a", kernel.MaxURLLength)}},
			[]string{"footer_links.0.url"}},
		"several invalid links": {[]link{{"", ""}, fine, {"", "x:y"}},
			[]string{"footer_links.0.label", "footer_links.0.url", "footer_links.2.label", "footer_links.2.url"}},
	} {
		t.Run(name, func(t *testing.T) {
			domaintest.CheckFields(t,
				domaintest.CheckNew(resource.Page, statuspage.Page{Name: "n", Slug: "s", Footer: c.links}), c.bad...)
		})
	}
	err := domaintest.CheckNew(resource.Page, statuspage.Page{Name: "n", Slug: "s", Footer: []link{{"", "x:y"}}})
	domaintest.Equal(t, "the words", err.Error(),
		"The footer_links.0.label field is required. The url must be an http, https or mailto address.")
}

// TestSettings checks that given settings are brought into the form in which they are stored, that others stay, and
// that UpdatedAt changes only with a setting.
func TestSettings(t *testing.T) {
	before, err := domaintest.NewPage(statuspage.Page{Name: "Acme", Slug: "acme"})
	domaintest.CheckFields(t, err)
	given := statuspage.Page{
		TimeZone: "Europe/Berlin", Language: "de", Domain: "status.bücher.example", Accent: "#ABCDEF",
		Footer:    []link{{Label: "Imprint", URL: "https://example.com"}},
		Languages: []string{"en", "de", "en"}, CustomCSS: "a{}\r\nb{}\r",
	}
	want, p := before, before
	want.TimeZone, want.Language, want.Domain, want.Accent = "Europe/Berlin", "de", "status.xn--bcher-kva.example",
		"#abcdef"
	want.Footer, want.Languages, want.CustomCSS, want.UpdatedAt = given.Footer, []string{"de", "en"}, "a{}\nb{}\n",
		domaintest.T1
	for _, now := range []time.Time{domaintest.T1, domaintest.T2} { // the same again changes nothing
		domaintest.CheckFields(t, resource.Page.Apply(&p, resource.Page.From(given), now))
		domaintest.Equal(t, "all settings", p, want)
	}
	for i, change := range []func(*statuspage.Page){
		func(p *statuspage.Page) {
			p.TimeZone = "UTC"
		}, func(p *statuspage.Page) {
			p.Language = ""
		}, func(p *statuspage.Page) { p.Domain = "" }, func(p *statuspage.Page) { p.Accent = "" },
		func(p *statuspage.Page) {
			p.Footer = nil
		}, func(p *statuspage.Page) { p.Languages = nil }, func(p *statuspage.Page) { p.CustomCSS = "" },
	} {
		now := domaintest.At(time.Duration(i+3) * time.Minute)
		domaintest.CheckFields(t, resource.Page.Apply(&p, func(p *statuspage.Page) error {
			change(p)
			return nil
		}, now))
		domaintest.Equal(t, fmt.Sprint("taken off: ", i), p.UpdatedAt, now)
	}
	before.UpdatedAt = domaintest.At(9 * time.Minute)
	domaintest.Equal(t, "plain again", p, before)
}

// TestLocation checks that an unknown time zone is UTC.
func TestLocation(t *testing.T) {
	for name, want := range map[string]string{
		"Europe/Berlin": "Europe/Berlin", "": "UTC", "UTC": "UTC", "Mars/Olympus": "UTC",
	} {
		domaintest.Equal(t, name, statuspage.Page{TimeZone: name}.Location().String(), want)
	}
}
