// Package badge renders the status or the uptime of a page, or of one of its
// components, as an SVG image and as JSON for shields.io.
package badge

import (
	"encoding/json"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// The names of the documents, below the address of a page or of a component.
const (
	SVGName  = "badge.svg"
	JSONName = "badge.json"
)

// maxLabel is the maximum length of a badge's label, in characters.
const maxLabel = 60

// The themes of a badge. Without one it follows the reader's preference.
const (
	ThemeLight = "light"
	ThemeDark  = "dark"
)

// Set is the badges of a page and of its components.
type Set struct {
	lang       *i18n.Language
	page       subject
	components map[string]subject // by id
}

// subject is a page or a component.
type subject struct {
	name        string
	status      kernel.Status
	severity    kernel.Status // see statuspage.Summary
	incidents   int           // active ones with an impact
	uptime      float64       // of statuspage.HistoryDays, from 0 to 1
	uptimeKnown bool
}

// NewSet returns the badges of a page.
func NewSet(sum statuspage.Summary) Set {
	f := Set{i18n.Or(sum.Page.DefaultLanguage()), newSubject(sum.Page.Name, sum, sum.History), make(map[string]subject)}
	active := make(map[string][]statuspage.Incident) // by component
	for _, inc := range sum.Active {
		for _, a := range inc.Affected {
			active[a.ComponentID] = append(active[a.ComponentID], inc)
		}
	}
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			alone := statuspage.Summary{Status: c.Status(), Active: active[c.ID]}
			f.components[c.ID] = newSubject(c.Name, alone, sum.Histories[c.ID])
		}
	}
	return f
}

// newSubject returns a subject with the status and the incidents of a summary.
func newSubject(name string, sum statuspage.Summary, record statuspage.History) subject {
	f := subject{
		name: markdown.Clip(markdown.Line(name), maxLabel), status: sum.Status.Canonical(), severity: sum.Severity(),
	}
	for _, inc := range sum.Active {
		if inc.Impact.Worse(kernel.ImpactNone) {
			f.incidents++
		}
	}
	f.uptime, f.uptimeKnown = record.Last(statuspage.HistoryDays).Uptime()
	return f
}

// Has reports whether the page has a component; "" is the page itself.
func (f Set) Has(component string) bool {
	_, ok := f.components[component]
	return ok || component == ""
}

// Options are the options in the URL of a badge.
type Options struct {
	Label     string // "": the name of the page or the component
	Theme     string // ThemeLight, ThemeDark, or "" for the reader's preference
	Uptime    bool   // the uptime instead of the status
	Incidents bool   // the number of active incidents instead of the status, if one of them is worse than the status
}

// ParseOptions parses the query of a URL. It ignores unknown values.
func ParseOptions(query url.Values) (o Options) {
	o.Label = markdown.Clip(markdown.Line(query.Get("label")), maxLabel)
	if theme := query.Get("theme"); theme == ThemeLight || theme == ThemeDark {
		o.Theme = theme
	}
	o.Uptime = query.Get("style") == "uptime"
	o.Incidents = query.Get("show") == "incidents"
	return o
}

// Badge is one badge: a label on the left, a message on the right.
type Badge struct {
	label, message string
	tone           *kernel.Tone
}

// Badge returns the badge of a component; "" is the page itself. If outdated is set, the status is unknown, because a
// badge has no space for its age. ok is false if the page has no such component.
func (f Set) Badge(component string, o Options, outdated bool) (b Badge, ok bool) {
	s := f.page
	if component != "" {
		if s, ok = f.components[component]; !ok {
			return Badge{}, false
		}
	}
	if outdated {
		s.status = kernel.StatusUnknown
	}
	switch {
	case o.Uptime:
		b = s.uptimeBadge(f.lang)
	case o.Incidents && !outdated && s.severity.Worse(s.status):
		b = Badge{s.name, f.lang.T("incidents.active_count", "n", s.incidents), s.severity.Tone()}
	default:
		b = Badge{s.name, f.lang.Status(s.status), s.status.Tone()}
	}
	if o.Label != "" {
		b.label = o.Label
	}
	return b, true
}

func (s subject) uptimeBadge(l *i18n.Language) Badge {
	if !s.uptimeKnown {
		return Badge{s.name, l.T("uptime.heading") + ": " + l.T("uptime.not_known"), kernel.StatusUnknown.Tone()}
	}
	return Badge{s.name, l.T("uptime.of", "percent", l.Percent(s.uptime, true)), uptimeTone(s.uptime)}
}

// uptimeTone returns the tone of an uptime.
func uptimeTone(share float64) *kernel.Tone {
	switch {
	case share >= 0.999:
		return kernel.StatusOperational.Tone()
	case share >= 0.99:
		return kernel.StatusDegraded.Tone()
	case share >= 0.95:
		return kernel.StatusPartialOutage.Tone()
	default:
		return kernel.StatusMajorOutage.Tone()
	}
}

// JSON returns the badge for https://shields.io/badges/endpoint-badge.
func (b Badge) JSON() []byte {
	body, err := json.Marshal(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Label         string `json:"label"`
		Message       string `json:"message"`
		Color         string `json:"color"`
	}{1, b.label, b.message, b.tone.Badge[1:]})
	if err != nil {
		panic(err) // strings and a number always marshal
	}
	return body
}
