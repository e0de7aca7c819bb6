package feed

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
)

const (
	maxLine         = 75      // bytes of a line without its end (RFC 5545, 3.1)
	maxDescription  = 4000    // characters of an event's description
	maxDescriptions = 400_000 // characters of all descriptions; later events have precedence
	calendarTime    = "20060102T150405Z"
	calendarRefresh = "PT1H" // requested interval of calendar programs
)

// Calendar returns the maintenances of a page as a calendar (RFC 5545), ordered by
// their scheduled start; base is the absolute URL of the page. The same contents
// give the same bytes: DTSTAMP is when the maintenance was last changed.
func Calendar(p statuspage.PageContents, base string) []byte {
	l := i18n.Or(p.Page.DefaultLanguage())
	name := l.T("feeds.calendar_title", "name", markdown.Line(p.Page.Name))
	var w calendarWriter
	w.line("BEGIN", "VCALENDAR")
	w.line("VERSION", "2.0")
	w.line("PRODID", "-//Allswell//Status page//EN")
	w.line("CALSCALE", "GREGORIAN")
	w.text("NAME", name)
	w.text("X-WR-CALNAME", name)
	w.line("X-WR-TIMEZONE", p.Page.Location().String())
	w.line("URL", base)
	w.line("REFRESH-INTERVAL;VALUE=DURATION", calendarRefresh)
	w.line("X-PUBLISHED-TTL", calendarRefresh)
	maintenances := slices.SortedFunc(slices.Values(p.Maintenances), func(a, b statuspage.Maintenance) int {
		return cmp.Or(a.ScheduledFor.Compare(b.ScheduledFor), cmp.Compare(a.ID, b.ID))
	})
	room := maxDescriptions
	descriptions := make([]string, len(maintenances))
	for i, m := range slices.Backward(maintenances) {
		descriptions[i] = describe(l, p.Page.Location(), m, min(room, maxDescription))
		room -= utf8.RuneCountInString(descriptions[i])
	}
	for i, m := range maintenances {
		w.event(l, m, base, descriptions[i])
	}
	if len(maintenances) == 0 {
		w.empty()
	}
	w.line("END", "VCALENDAR")
	return w.Bytes()
}

// calendarWriter writes content lines.
type calendarWriter struct{ bytes.Buffer }

// event writes one maintenance. It is transparent: it does not make people busy.
func (w *calendarWriter) event(l *i18n.Language, m statuspage.Maintenance, base, description string) {
	begin, end := m.Span()
	begin, end = begin.Truncate(time.Second), end.Truncate(time.Second)
	if !end.After(begin) {
		end = begin.Add(time.Minute) // it ended at once
	}
	link := base + "/maintenances/" + m.ID
	w.line("BEGIN", "VEVENT")
	w.line("UID", m.ID+"@allswell")
	w.line("SEQUENCE", strconv.Itoa(int(max(0, m.UpdatedAt.Sub(m.CreatedAt))/time.Second)))
	w.instant("DTSTAMP", m.UpdatedAt)
	w.instant("CREATED", m.CreatedAt)
	w.instant("LAST-MODIFIED", m.UpdatedAt)
	w.instant("DTSTART", begin)
	w.instant("DTEND", end)
	w.text("SUMMARY", markdown.Line(m.Title))
	w.text("DESCRIPTION", description)
	w.line("URL", link)
	w.line("STATUS", "CONFIRMED")
	w.line("TRANSP", "TRANSPARENT")
	w.text("CATEGORIES", l.T("impact.maintenance"))
	w.line("END", "VEVENT")
}

// empty writes the time zone UTC, because a calendar needs at least one component.
func (w *calendarWriter) empty() {
	for _, l := range [][2]string{
		{"BEGIN", "VTIMEZONE"}, {"TZID", "UTC"}, {"BEGIN", "STANDARD"}, {"DTSTART", "19700101T000000"},
		{"TZOFFSETFROM", "+0000"}, {"TZOFFSETTO", "+0000"}, {"END", "STANDARD"}, {"END", "VTIMEZONE"},
	} {
		w.line(l[0], l[1])
	}
}

// describe returns the state, the affected components and the updates of a
// maintenance, newest first, with about limit characters at most.
func describe(l *i18n.Language, zone *time.Location, m statuspage.Maintenance, limit int) string {
	parts := []string{l.MaintenanceState(m.State)}
	if len(m.Components) > 0 {
		names := make([]string, len(m.Components))
		for i, c := range m.Components {
			names[i] = c.Name
		}
		parts[0] += "\n" + l.T("maintenance.affected") + ": " + joinNames(l, names)
	}
	room := limit - utf8.RuneCountInString(parts[0])
	for _, n := range maintenanceNotes(l, m) {
		if room <= 0 {
			break
		}
		whole := n.Message
		n.Message = markdown.Prefix(whole, maxDescription+1)
		text := n.Plain(l, zone)
		if len(n.Message) < len(whole) || n.cut {
			text += "…"
		}
		room -= utf8.RuneCountInString(text)
		if room < 0 {
			parts = append(parts, string([]rune(text)[:max(0, utf8.RuneCountInString(text)+room)])+"…")
			break
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

func (w *calendarWriter) instant(name string, t time.Time) {
	w.line(name, t.UTC().Format(calendarTime))
}

// calendarEscapes escapes a text (RFC 5545, 3.3.11).
var calendarEscapes = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`)

// text writes a property whose value is text.
func (w *calendarWriter) text(name, value string) { w.line(name, calendarEscapes.Replace(value)) }

// line writes a property as a content line, folded between characters.
func (w *calendarWriter) line(name, value string) {
	rest, room := name+":"+value, maxLine
	for len(rest) > room {
		cut := room
		for !utf8.RuneStart(rest[cut]) {
			cut--
		}
		w.WriteString(rest[:cut] + "\r\n ")
		rest, room = rest[cut:], maxLine-1 // continuation lines begin with a space
	}
	w.WriteString(rest + "\r\n")
}
