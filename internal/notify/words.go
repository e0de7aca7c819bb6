package notify

import (
	"fmt"
	htmltemplate "html/template"
	"strings"
	"time"

	"github.com/allswell/allswell"
)

// stateWord says in a word or two what an event told.
func stateWord(e allswell.Event) string {
	switch e.Kind {
	case allswell.EventIncidentResolved:
		return allswell.IncidentResolved.Label()
	case allswell.EventMaintenanceScheduled:
		return "Scheduled"
	case allswell.EventMaintenanceReminder:
		return "Reminder"
	case allswell.EventMaintenanceBegun:
		return "Begun"
	case allswell.EventMaintenanceUpdated:
		return updateWord(*e.Data.Maintenance, e.UpdateID != "")
	case allswell.EventMaintenanceEnded:
		return "Complete"
	case allswell.EventMaintenanceCancelled:
		return "Cancelled"
	default:
		return e.Data.State.Label()
	}
}

// updateWord is the word for news of a maintenance that is no turn of it: that
// somebody wrote something, or else that it was moved.
func updateWord(m allswell.MaintenanceData, written bool) string {
	running := m.State == allswell.MaintenanceInProgress || m.State == allswell.MaintenanceVerifying
	switch {
	case running && written:
		return m.State.Label()
	case running:
		return "New end"
	case written:
		return "Update"
	default:
		return "New time"
	}
}

// impactWord is empty where there is nothing to say.
func impactWord(i allswell.Impact) string {
	if i == allswell.ImpactNone || i == "" {
		return ""
	}
	return i.Label()
}

// isResolved reports whether an event left its incident resolved.
func isResolved(e allswell.Event) bool {
	return e.Data.Resolved || e.Kind == allswell.EventIncidentResolved
}

// toneOf returns the tone of an event: that of its impact, unless it ends what it
// is about or is about a maintenance.
func toneOf(e allswell.Event) *allswell.Tone {
	switch {
	case e.Kind == allswell.EventMaintenanceEnded, e.Kind == allswell.EventIncidentResolved, e.Data.State == allswell.IncidentResolved:
		return allswell.StatusOperational.Tone()
	case e.Kind == allswell.EventMaintenanceCancelled:
		return &allswell.NeutralTone
	case e.Data.Maintenance != nil:
		return allswell.StatusMaintenance.Tone()
	default:
		return e.Data.Impact.Tone()
	}
}

// mailTones are the tones that a mail can have.
func mailTones() []*allswell.Tone { return append(allswell.Tones(), &allswell.NeutralTone) }

// affectedWords lists the components that an event concerns, at most
// mailComponents of them by name, with the statuses that an incident gives them
// as long as it is not resolved.
func affectedWords(e allswell.Event) string {
	var words []string
	for _, a := range e.Data.Affected {
		word := oneLine(a.Name, allswell.MaxNameLength)
		if !isResolved(e) {
			word += " (" + strings.ToLower(a.New.Label()) + ")"
		}
		words = append(words, word)
	}
	if m := e.Data.Maintenance; m != nil {
		for _, c := range m.Components {
			words = append(words, oneLine(c.Name, allswell.MaxNameLength))
		}
	}
	if more := len(words) - mailComponents; more > 0 {
		words = append(words[:mailComponents], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// How times are written.
const (
	mailDay   = "2 Jan 2006"
	mailClock = "15:04"
)

// timeIn writes an instant to the minute, in a zone that it names.
func timeIn(zone *time.Location, t time.Time) string {
	t = t.In(zone)
	return t.Format(mailDay+", "+mailClock) + " " + zoneOf(t)
}

// spanIn writes from when until when something is to be, in a zone that it names.
// What is the same at both ends is said once.
func spanIn(zone *time.Location, from, until time.Time) string {
	from, until = from.In(zone), until.In(zone)
	begin, end := from.Format(mailDay+", "+mailClock), until.Format(mailClock)
	dash := "–"
	if from.Format(mailDay) != until.Format(mailDay) {
		end, dash = until.Format(mailDay+", "+mailClock), " – "
	}
	if zoneOf(from) != zoneOf(until) { // the clocks are changed in between
		begin, dash = begin+" "+zoneOf(from), " – "
	}
	return begin + dash + end + " " + zoneOf(until)
}

// zoneOf is the abbreviation of the zone of t. Zones without one are named by
// their distance from UTC.
func zoneOf(t time.Time) string {
	name, _ := t.Zone()
	if strings.Trim(name, "+-0123456789") == "" {
		return "UTC" + t.Format("-07:00")
	}
	return name
}

// mailStyles are the looks of the elements that a message may have. Mail clients
// keep what an element carries itself; the classes are for dark ones. The first
// that fits counts.
var mailStyles = strings.NewReplacer(
	"<blockquote><p>", openQuote+openFirst,
	"<blockquote>", openQuote,
	"<li><p>", "<li>"+openFirst,
	"<p>", openParagraph,
	"<pre><code>", `<pre class="code" style="margin:10px 0 0;padding:10px 12px;`+codeStyle+`line-height:1.5;white-space:pre-wrap;direction:ltr;text-align:left;"><code>`,
	"<code>", `<code class="code" style="padding:1px 4px;`+codeStyle+`">`,
	"<ul>", `<ul style="`+listStyle+`">`,
	"<ol", `<ol style="`+listStyle+`"`,
	"<hr>", `<hr class="line" style="margin:14px 0 4px;border:0;border-top:1px solid #e2dfd7;">`,
	"<a href=", `<a class="link" style="color:#1b4f9c;" href=`,
)

const (
	openParagraph = `<p style="margin:10px 0 0;">`
	openFirst     = `<p style="margin:0;">`
	openQuote     = `<blockquote class="quote" style="margin:10px 0 0;padding:0 12px;border-left:3px solid #c9c5ba;color:#555c65;">`
	codeStyle     = `background-color:#f0eee8;border-radius:4px;font-family:Consolas,Menlo,monospace;font-size:14px;`
	listStyle     = `margin:6px 0 0;padding:0 24px;`
)

// styled gives a message made by markdown.HTML its looks. What people typed has
// no "<" in it, so that only elements are found.
func styled(message htmltemplate.HTML) htmltemplate.HTML {
	html := mailStyles.Replace(string(message))
	if rest, ok := strings.CutPrefix(html, openParagraph); ok {
		html = openFirst + rest
	}
	return htmltemplate.HTML(html)
}
