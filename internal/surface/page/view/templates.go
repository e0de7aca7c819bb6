package view

import (
	"embed"
	"html/template"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
)

//go:embed templates
var templateFiles embed.FS

// templates are the templates of each language: the layout, the bodies, whose names begin with "page ", and the parts
// that they share. They are parsed when a language is first used, because each set takes a megabyte.
var templates = sync.OnceValue(templatesByLanguage)

func templatesByLanguage() map[*i18n.Language]func() *template.Template {
	all := make(map[*i18n.Language]func() *template.Template)
	for _, l := range i18n.All() {
		all[l] = sync.OnceValue(func() *template.Template {
			return template.Must(template.New("layout.html").Funcs(functions(l)).ParseFS(templateFiles,
				"templates/*.html"))
		})
	}
	return all
}

// functions returns the functions of the templates of a language. "t" and "HTML" are the methods T and HTML of the
// language. Moments are shown in the page's time zone.
func functions(l *i18n.Language) template.FuncMap {
	return template.FuncMap{
		"t": l.T, "HTML": l.HTML, "tone": tone, "tones": kernel.Tones,
		"iconBody": func(t *kernel.Tone) template.HTML {
			return template.HTML(strings.Replace(t.Icon.Body, " ", ` class="body" `, 1))
		},
		"status": l.Status, "banner": l.Banner, "state": l.State, "impact": l.Impact,
		"maintenanceState": l.MaintenanceState, "duration": l.Duration,
		"moment":   func(m moment) template.HTML { return timeElement(m, "", l.DayYearClock) },
		"ago":      func(m moment) template.HTML { return timeElement(m, "ago", l.DayYearClock) },
		"zoned":    func(m moment) template.HTML { return timeElement(m, "", l.Moment) },
		"dayclock": func(m moment) template.HTML { return timeElement(m, "dayclock", l.DayClock) },
		"clock":    func(m moment) template.HTML { return timeElement(m, "clock", l.Clock) },
		"dayclockIf": func(dated bool, m moment) template.HTML {
			if dated {
				return timeElement(m, "dayclock", l.DayClock)
			}
			return timeElement(m, "clock", l.Clock)
		},
		"strong": func(text string) template.HTML { return element("strong", text) },
		"named":  func(name string) template.HTML { return element(`strong dir="auto"`, name) },
		"target": func(target string) template.HTML { return element(`strong class="target" dir="ltr"`, target) },
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

// element returns escaped text in an element; tag may have attributes.
func element(tag, text string) template.HTML {
	name, _, _ := strings.Cut(tag, " ")
	return template.HTML("<" + tag + ">" + template.HTMLEscapeString(text) + "</" + name + ">")
}

func timeElement(m moment, form string, format func(time.Time) string) template.HTML {
	return i18n.TimeElement(time.Time(m), form, format)
}

// tone returns the CSS class of a status, an impact or the state of a maintenance.
func tone(v any) string {
	switch v := v.(type) {
	case kernel.Status:
		return v.Tone().Name
	case kernel.Impact:
		return v.Tone().Name
	case statuspage.MaintenanceState:
		return kernel.StatusMaintenance.Tone().Name
	default:
		return kernel.StatusUnknown.Tone().Name
	}
}
