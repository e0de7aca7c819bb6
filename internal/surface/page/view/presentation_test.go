package view

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
)

func TestURLsOfPresentation(t *testing.T) {
	de := i18n.Find("de")
	month := time.Date(2020, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		page statuspage.Page
		f    Variant
		want []string // home, its canonical address, a month, that in English
	}{
		{statuspage.Page{Slug: "acme"}, Variant{Language: de},
			[]string{
				"/status/acme/", "/status/acme", "/status/acme/history?month=2020-11",
				"/status/acme/history?month=2020-11&lang=en",
			}},
		{statuspage.Page{Slug: "acme"}, Variant{Language: de, Chosen: true},
			[]string{
				"/status/acme/?lang=de", "/status/acme?lang=de", "/status/acme/history?month=2020-11&lang=de",
				"/status/acme/history?month=2020-11&lang=en",
			}},
		{statuspage.Page{Slug: "acme", Host: "a.example"}, Variant{Language: de},
			[]string{
				"/status/acme/", "https://a.example/", "/status/acme/history?month=2020-11",
				"/status/acme/history?month=2020-11&lang=en",
			}},
		{statuspage.Page{Slug: "acme", Host: "a.example"}, Variant{Language: de, Chosen: true, OwnDomain: true},
			[]string{
				"/?lang=de", "https://a.example/?lang=de", "/history?month=2020-11&lang=de",
				"/history?month=2020-11&lang=en",
			}},
		{statuspage.Page{Slug: "acme", Host: "a.example"}, Variant{Language: de, OwnDomain: true},
			[]string{"/", "https://a.example/", "/history?month=2020-11", "/history?month=2020-11&lang=en"}},
	} {
		at := Present(c.page, c.f)
		got := []string{at.Home(), at.canonical("/"), at.month(month), at.inLanguage(monthPath(month), i18n.Find("en"))}
		if !slices.Equal(got, c.want) {
			t.Errorf("the URLs for %+v: %q, want %q", c.f, got, c.want)
		}
	}
}
