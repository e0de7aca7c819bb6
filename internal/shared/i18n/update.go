package i18n

import (
	"html/template"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// IncidentTitle returns the title of an incident: translated if the outage of a monitor
// set it, and otherwise as it was written.
func (l *Language) IncidentTitle(inc statuspage.Incident) string {
	if inc.DownMonitor != "" {
		return l.T("auto.down", "name", inc.DownMonitor)
	}
	return inc.Title
}

// Headline returns the headline of a page: the impact and the title of the incident that it leads with, or the sentence
// for its status.
func (l *Language) Headline(sum statuspage.Summary) string {
	if lead, ok := sum.LeadIncident(); ok {
		lead.Title, lead.DownMonitor = markdown.Line(lead.Title), markdown.Line(lead.DownMonitor)
		return l.T("page.lead", "impact", l.Impact(lead.Impact), "title", l.Isolate(l.IncidentTitle(lead)))
	}
	return l.Banner(sum.Status)
}

// UpdateText is the text of an update: Markdown that a person wrote, or a system
// message, which the service wrote itself and which is translated.
type UpdateText struct {
	Message string
	System  statuspage.SystemMessage // zero: a person wrote it
	At      time.Time                // shown beside the text, in the same zone; zero: no time is
}

// key returns the key of a system message. It is "" if a person or a later version of the service wrote the text.
func (u UpdateText) key(l *Language) string {
	if key := "auto." + string(u.System.Kind); u.System.Kind != "" && l.Has(key) {
		return key
	}
	return ""
}

// HTML returns the text as HTML. System messages have times in the given zone.
func (u UpdateText) HTML(l *Language, zone *time.Location) template.HTML {
	key := u.key(l)
	if key == "" {
		return markdown.HTML(u.Message)
	}
	element := func(t time.Time) template.HTML {
		form, format := u.timeForm(l, t.In(zone))
		return TimeElement(t.In(zone), form, format)
	}
	return "<p>" + l.HTML(key, "time", element(u.System.Since), "due", element(u.System.Due),
		"interval", l.Duration(u.System.Interval), "duration", l.Duration(u.System.Lasted)) + "</p>" +
		markdown.HTML(u.System.OutputBlock())
}

// Plain returns the text without markup. System messages have times in the given zone.
func (u UpdateText) Plain(l *Language, zone *time.Location) string {
	switch key := u.key(l); {
	case key == "":
		return markdown.Text(u.Message)
	case u.System.Output != "":
		return u.sentence(key, l, zone) + "\n\n" + u.System.Output
	default:
		return u.sentence(key, l, zone)
	}
}

// sentence returns the sentence of a system message.
func (u UpdateText) sentence(key string, l *Language, zone *time.Location) string {
	text := func(t time.Time) string {
		_, format := u.timeForm(l, t.In(zone))
		return format(t.In(zone))
	}
	return l.T(key, "time", text(u.System.Since), "due", text(u.System.Due),
		"interval", l.Duration(u.System.Interval), "duration", l.Duration(u.System.Lasted))
}

// timeForm returns the form of a time in a system message; see TimeElement. It leaves out the zone, and the date if it
// is the same as u.At's: they are beside the text.
func (u UpdateText) timeForm(l *Language, t time.Time) (form string, format func(time.Time) string) {
	switch {
	case u.At.IsZero():
		return "", l.Moment
	case l.DateYear(u.At.In(t.Location())) == l.DateYear(t):
		return "clock", l.Clock
	default:
		return "dayclock", l.DayClock
	}
}

// Excerpt returns the beginning of the text as one line.
func (u UpdateText) Excerpt(l *Language, zone *time.Location) string {
	if key := u.key(l); key != "" {
		return u.sentence(key, l, zone)
	}
	return markdown.Excerpt(u.Message)
}

// TimeElement returns an instant as an HTML <time> element with the text that format returns. form is the value of
// data-form, which tells page.js how to format the time in the visitor's zone; "" is the date and time to the minute.
func TimeElement(t time.Time, form string, format func(time.Time) string) template.HTML {
	if form != "" {
		form = `" data-form="` + form
	}
	return template.HTML(`<time datetime="` + kernel.FormatTime(t) + form + `">` +
		template.HTMLEscapeString(format(t)) + `</time>`)
}
