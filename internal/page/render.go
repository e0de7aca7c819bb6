package page

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/web"
)

//go:embed templates
var templateFiles embed.FS

// templates are those of each language: the layout, the pages that go into it,
// each by the name that its body gives behind "page ", and the parts that they
// share. They are made when a language is first asked for, because each takes a
// megabyte.
var templates = everyLanguage()

func everyLanguage() map[*i18n.Language]func() *template.Template {
	all := make(map[*i18n.Language]func() *template.Template)
	for _, l := range i18n.All() {
		all[l] = sync.OnceValue(func() *template.Template {
			return template.Must(template.New("layout.html").Funcs(vocabulary(l)).ParseFS(templateFiles, "templates/*.html"))
		})
	}
	return all
}

// vocabulary is what templates can say in a language. t and HTML are its T and
// HTML. Moments are given by the page's clock.
func vocabulary(l *i18n.Language) template.FuncMap {
	return template.FuncMap{
		"t": l.T, "HTML": l.HTML, "tone": tone, "tones": allswell.Tones,
		"iconBody": func(t *allswell.Tone) template.HTML { return withAttribute(t.Icon.Body, `class="body"`) },
		"status":   l.Status, "banner": l.Banner, "state": l.State, "impact": l.Impact,
		"maintenanceState": l.MaintenanceState, "duration": l.Duration,
		"moment":    func(m moment) template.HTML { return timeElement(m, "", l.Moment) },
		"dayclock":  func(m moment) template.HTML { return timeElement(m, "dayclock", l.DayClock) },
		"clock":     func(m moment) template.HTML { return timeElement(m, "clock", l.Clock) },
		"clockzone": func(m moment) template.HTML { return timeElement(m, "clock", l.ClockZone) },
		"strong":    func(text string) template.HTML { return element("strong", text) },
		"named":     func(name string) template.HTML { return element(`strong dir="auto"`, name) },
		"target":    func(target string) template.HTML { return element(`strong class="target" dir="ltr"`, target) },
		"namedList": func(names []string) template.HTML {
			shown := make([]string, len(names))
			for i, name := range names {
				shown[i] = string(element(`span dir="auto"`, name))
			}
			return template.HTML(strings.Join(shown, template.HTMLEscapeString(l.Separator)))
		},
		"separator": func() string { return l.Separator },
	}
}

// element returns a text in an element, given with its attributes.
func element(tag, text string) template.HTML {
	name, _, _ := strings.Cut(tag, " ")
	return template.HTML("<" + tag + ">" + template.HTMLEscapeString(text) + "</" + name + ">")
}

func timeElement(m moment, form string, format func(time.Time) string) template.HTML {
	return i18n.TimeElement(time.Time(m), form, format)
}

// tone returns the name of the CSS class for a status, an impact or a state of a
// maintenance.
func tone(v any) string {
	switch v := v.(type) {
	case allswell.Status:
		return v.Tone().Name
	case allswell.Impact:
		return v.Tone().Name
	case allswell.MaintenanceState:
		return allswell.StatusMaintenance.Tone().Name
	default:
		return allswell.StatusUnknown.Tone().Name
	}
}

// renderDocument renders a screen ready to be served. It stops when ctx ends.
func renderDocument(ctx context.Context, s screen, cacheControl string) (*web.Document, error) {
	html, err := render(ctx, s)
	if err != nil {
		return nil, err
	}
	// What people type is escaped and cannot look like a form or a script.
	form, script := bytes.Contains(html, []byte("<form ")), bytes.Contains(html, []byte("<script "))
	return web.NewDocument(html, web.DocumentHeader{
		ContentType: typeHTML, CacheControl: cacheControl, Policy: web.PolicyPage(form, script), ByLanguage: true, Secret: s.Layout.Secret,
	}), nil
}

func render(ctx context.Context, s screen) ([]byte, error) {
	all := templates[s.Layout.At.lang]()
	page, out := renderBuffer{ctx: ctx}, renderBuffer{ctx: ctx}
	if err := all.ExecuteTemplate(&page, "page "+s.Body.template(), s.Body); err != nil {
		return nil, err
	}
	if err := all.Execute(&out, struct {
		Layout layout
		Main   template.HTML
	}{s.Layout, template.HTML(page.String())}); err != nil {
		return nil, err
	}
	return bytes.Clone(out.Bytes()), nil
}

// renderBuffer takes what templates write until ctx ends, and no more than
// maxDocument bytes.
type renderBuffer struct {
	bytes.Buffer
	ctx context.Context
}

// errDocumentTooLarge means that the limits of the parts do not keep a document
// within maxDocument.
var errDocumentTooLarge = errors.New("the document is larger than it may be")

// Write is the only method that templates call.
func (b *renderBuffer) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.Len()+len(p) > maxDocument {
		return 0, errDocumentTooLarge
	}
	return b.Buffer.Write(p)
}
