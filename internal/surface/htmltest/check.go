package htmltest

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/assets"
	"golang.org/x/net/html"
)

// CheckPage checks the landmarks, the order of the headings and the head of a page.
func CheckPage(t *testing.T, name string, p Tree) {
	t.Helper()
	for _, selector := range []string{
		"html[lang][dir]", "head title", "head link[rel=icon]", "head meta[name=viewport]",
		"head meta[name=color-scheme]", "body header", "body main#main", "body footer", "body a.skip", "h1",
	} {
		if n := len(p.All(selector)); n != 1 {
			t.Errorf("%s: %d times %s", name, n, selector)
		}
	}
	if n := len(p.All("meta[name=theme-color]")); n != 2 {
		t.Errorf("%s: %d theme colours", name, n)
	}
	level := 1
	for n := range p.Descendants() {
		if n.Type == html.ElementNode && len(n.Data) == 2 && n.Data[0] == 'h' && n.Data >= "h1" && n.Data <= "h6" {
			next := int(n.Data[1] - '0')
			if next > level+1 {
				t.Errorf("%s: %s follows a heading of level %d", name, n.Data, level)
			}
			level = next
		}
	}
	ids := map[string]bool{}
	for _, e := range p.All("[id]") {
		if id := e.Attr("id"); ids[id] {
			t.Errorf("%s: the id %s twice", name, id)
		} else {
			ids[id] = true
		}
	}
	for _, use := range p.All("use") {
		if ref := use.Attr("href"); !ids[strings.TrimPrefix(ref, "#")] {
			t.Errorf("%s: the drawing %s is missing", name, ref)
		}
	}
	for _, label := range p.All("[aria-labelledby]") {
		if !ids[label.Attr("aria-labelledby")] {
			t.Errorf("%s: nothing has the id %s", name, label.Attr("aria-labelledby"))
		}
	}
	for _, link := range p.All("link[href]") {
		if ref, ok := strings.CutPrefix(link.Attr("href"), "/assets/"); ok && assets.Find(ref) == nil {
			t.Errorf("%s: the asset %s is missing", name, ref)
		}
	}
	for _, moment := range p.All("time") {
		_, err := time.Parse(kernel.TimeFormat, moment.Attr("datetime"))
		if _, err2 := time.Parse(time.DateOnly, moment.Attr("datetime")); err != nil && err2 != nil {
			t.Errorf("%s: the time %q", name, moment.Attr("datetime"))
		}
	}
}
