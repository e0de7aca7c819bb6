package page

import (
	"html/template"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/markdown"
)

// said is the message of an update: what somebody has written, or what the
// service tells by itself, in the page's language and by its clock.
type said struct {
	message string
	auto    allswell.Auto
}

// key returns the message that the language has for what the service tells; "":
// somebody has written it.
func (s said) key(l *lang) string {
	if s.auto.Kind == "" {
		return ""
	}
	key := "auto." + string(s.auto.Kind)
	if l.messages[key] == nil {
		return "" // of a later version
	}
	return key
}

// html returns the message as elements.
func (s said) html(l *lang, zone *time.Location) template.HTML {
	key := s.key(l)
	if key == "" {
		return markdown.HTML(s.message)
	}
	since := timeElement(moment(s.auto.Since.In(zone)), "", l.Moment)
	return "<p>" + l.HTML(key, "time", since, "interval", l.Duration(s.auto.Interval), "duration", l.Duration(s.auto.Lasted)) + "</p>"
}

// text returns the message without elements.
func (s said) text(l *lang, zone *time.Location) string {
	key := s.key(l)
	if key == "" {
		return markdown.Text(s.message)
	}
	return l.T(key, "time", l.Moment(s.auto.Since.In(zone)), "interval", l.Duration(s.auto.Interval), "duration", l.Duration(s.auto.Lasted))
}

// excerpt returns the beginning of the message as one line.
func (s said) excerpt(l *lang, zone *time.Location) string {
	if key := s.key(l); key != "" {
		return s.text(l, zone)
	}
	return excerpt(s.message)
}

// titleOf returns the title of an incident: what somebody has written, or what
// the service calls it by itself, in the page's language.
func titleOf(l *lang, inc allswell.Incident) string {
	if monitor, ok := inc.Down(); ok {
		return l.T("auto.down", "name", monitor)
	}
	return inc.Title
}
