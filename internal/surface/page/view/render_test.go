package view

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
	"github.com/allswell/allswell/internal/shared/markdown"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// TestEveryTemplate renders all templates in all languages and checks what all
// pages have in common.
func TestEveryTemplate(t *testing.T) {
	t.Parallel()
	for _, at := range presentations() {
		done := map[string]bool{}
		for _, s := range models(at, "Hello") {
			name := s.template
			done[name] = true
			out, err := s.Render(t.Context())
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			p := htmltest.Parse(t, string(out))
			name += " in " + at.lang.Tag + " at " + at.base + "/"
			htmltest.CheckPage(t, name, p)
			if html := p.All("html")[0]; html.Attr("lang") != at.lang.Tag || html.Attr("dir") != at.lang.Dir {
				t.Errorf("%s: language %s, direction %s", name, html.Attr("lang"), html.Attr("dir"))
			}
			found := i18ntest.Leftovers(
				strings.NewReplacer("https://status.example", "", "https://status.acme.example", "").Replace(p.Text()),
			)
			if len(found) > 0 {
				t.Errorf("%s: %q is not translated", name, found)
			}
			if s.Layout.Site != nil {
				checkLinks(t, name, at, p)
			}
		}
		if got, want := slices.Sorted(maps.Keys(done)), pageTemplates(at.lang); !slices.Equal(got, want) {
			t.Errorf("rendered %v of the templates %v", got, want)
		}
	}
}

// pageTemplates returns the names of the templates of bodies.
func pageTemplates(l *i18n.Language) (names []string) {
	for _, t := range templates()[l]().Templates() {
		if name, ok := strings.CutPrefix(t.Name(), "page "); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkLinks checks that links stay below the URL of the page and keep the chosen
// language.
func checkLinks(t *testing.T, name string, at Presentation, p htmltest.Tree) {
	t.Helper()
	for _, a := range p.All("body [href]") {
		href := a.Attr("href")
		// feeds have no language
		if strings.HasPrefix(href, "#") || a.Attr("rel") == "noopener" || a.Attr("hreflang") != "" ||
			strings.Contains(href, "/history.") {
			continue
		}
		under := strings.HasPrefix(href, at.base+"/") || href == at.base || strings.HasPrefix(href, at.base+"?")
		if !under {
			t.Errorf("%s: a link to %s", name, href)
		}
		if says := strings.Contains(href, "lang="+at.lang.Tag); says != at.chosen {
			t.Errorf("%s: the link to %s names the language: %v", name, href, says)
		}
	}
}

// TestTextIsEscaped compares the elements of pages with hostile texts to the elements of pages with harmless texts.
func TestTextIsEscaped(t *testing.T) {
	t.Parallel()
	for _, at := range presentations() {
		friendly := models(at, "Hello")
		for i, s := range models(at, hostile) {
			name := s.template
			out, err := s.Render(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			same, err := friendly[i].Render(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := htmltest.Parse(t, string(out))
			if got, want := skeleton(p), skeleton(htmltest.Parse(t, string(same))); got != want {
				t.Errorf("%s: the elements are\n%s\nwant\n%s", name, got, want)
			}
			if name != "firststeps" && name != "access" && !strings.Contains(p.RawText(), markdown.Line(hostile)) {
				t.Errorf("%s does not show the text", name)
			}
		}
	}
}

// skeleton returns the elements with the names of their attributes.
func skeleton(p htmltest.Tree) string {
	var b strings.Builder
	for n := range p.Descendants() {
		if n.Type == html.ElementNode {
			b.WriteString("<" + n.Data)
			for _, a := range n.Attr {
				b.WriteString(" " + a.Key)
			}
			b.WriteString(">")
		}
	}
	return b.String()
}

func TestMessagesAreMarkdown(t *testing.T) {
	p := sample("x")
	p.Incidents = p.Incidents[:1]
	p.Incidents[0].Updates[1].Message = "one\n\n  two  https://status.example/x\nthree\n\n**four**"
	out, err := statusModel(englishPresentation(), p.Summarize(day)).Render(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	message := htmltest.Parse(t, string(out)).All(".timeline .message")[0]
	if got := message.Texts("p"); !slices.Equal(got, []string{"one", "two https://status.example/xthree", "four"}) {
		t.Errorf("the paragraphs read %q", got)
	}
	if a := message.All("a"); len(a) != 1 || a[0].Attr("href") != "https://status.example/x" || a[0].Attr("rel") == "" {
		t.Errorf("%d links", len(a))
	}
}
