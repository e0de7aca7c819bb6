package page

import (
	"bytes"
	"embed"
	"html/template"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell"
)

//go:embed templates
var templateFiles embed.FS

// templates are the executable pages, by the names that the bodies give. Each
// is the layout with its own "main".
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(template.FuncMap{
		"tone": tone, "label": allswell.Status.Label, "stateLabel": allswell.State.Label,
	}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // the build has embedded the folder
	}
	all := make(map[string]*template.Template)
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), path.Ext(f.Name()))
		if name == "layout" || name == "parts" {
			continue
		}
		own := template.Must(layout.Clone())
		all[name] = template.Must(own.ParseFS(templateFiles, "templates/"+f.Name()))
	}
	return all
}

// tone returns the name under which style sheet and drawings know a status or
// an impact.
func tone(v any) string {
	switch v := v.(type) {
	case allswell.Status:
		switch v.Canonical() {
		case allswell.Operational:
			return "ok"
		case allswell.Degraded:
			return "degraded"
		case allswell.PartialOutage:
			return "partial"
		case allswell.MajorOutage:
			return "major"
		case allswell.Maintenance:
			return "maintenance"
		}
	case allswell.Impact:
		switch v {
		case allswell.ImpactMinor:
			return "degraded"
		case allswell.ImpactMajor:
			return "partial"
		case allswell.ImpactCritical:
			return "major"
		default:
			return "none"
		}
	}
	return "unknown"
}

// sheet is a rendered page, with what it takes to render it once more when the
// database is gone.
type sheet struct {
	screen screen
	doc    *document

	mu      sync.Mutex
	late    *document // with the line that updates are delayed
	lateFor time.Time // since when
}

func newSheet(s screen) (*sheet, error) {
	doc, err := renderDocument(s, cachePage)
	if err != nil {
		return nil, err
	}
	return &sheet{screen: s, doc: doc}, nil
}

// renderDocument renders a screen ready to be served.
func renderDocument(s screen, cacheControl string) (*document, error) {
	html, err := render(s)
	if err != nil {
		return nil, err
	}
	doc := newDocument(html, typeHTML, cacheControl)
	doc.secret = s.Frame.Secret
	return doc, nil
}

func render(s screen) ([]byte, error) {
	var out bytes.Buffer
	if err := templates[s.Body.template()].Execute(&out, s); err != nil {
		return nil, err
	}
	return bytes.Clone(out.Bytes()), nil
}

// delayed returns the sheet with the line that it could not be refreshed since
// an instant. It is rendered once for each instant.
func (sh *sheet) delayed(since time.Time) (*document, error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.late == nil || !sh.lateFor.Equal(since) {
		s := sh.screen
		s.Frame.Late = moment(since)
		s.Frame.Tag = lateTag(s.Frame.Tag)
		late, err := renderDocument(s, cachePage)
		if err != nil {
			return nil, err
		}
		sh.late, sh.lateFor = late, since
	}
	return sh.late, nil
}
