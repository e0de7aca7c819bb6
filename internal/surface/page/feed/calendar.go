package feed

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/ical"
	"github.com/allswell/allswell/internal/shared/markdown"
)

const (
	maxDescription  = 4000    // characters of an event's description
	maxDescriptions = 400_000 // characters of all descriptions; later events have precedence
)

// Calendar returns the maintenances of a page as a calendar (RFC 5545), ordered by their scheduled start; base is the
// absolute URL of the page. The same contents give the same bytes: DTSTAMP is when the maintenance was last changed.
func Calendar(p statuspage.PageContents, base string) []byte {
	l := i18n.Or(p.Page.DefaultLanguage())
	name := l.T("feeds.calendar_title", "name", markdown.Line(p.Page.Name))
	var w ical.Writer
	w.Line("BEGIN", "VCALENDAR")
	w.Line("VERSION", "2.0")
	w.Line("PRODID", "-//Allswell//Status page//EN")
	w.Line("CALSCALE", "GREGORIAN")
	w.Text("NAME", name)
	w.Text("X-WR-CALNAME", name)
	w.Line("X-WR-TIMEZONE", p.Page.Location().String())
	w.Line("URL", base)
	w.Line("REFRESH-INTERVAL;VALUE=DURATION", ical.Refresh)
	w.Line("X-PUBLISHED-TTL", ical.Refresh)
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
		writeEvent(&w, l, m, base, descriptions[i])
	}
	if len(maintenances) == 0 {
		writeZone(&w)
	}
	w.Line("END", "VCALENDAR")
	return []byte(w.String())
}

// writeEvent writes one maintenance. It is transparent: it does not make people busy.
func writeEvent(w *ical.Writer, l *i18n.Language, m statuspage.Maintenance, base, description string) {
	begin, end := m.Span()
	begin, end = begin.Truncate(time.Second), end.Truncate(time.Second)
	if !end.After(begin) {
		end = begin.Add(time.Minute) // it ended immediately
	}
	link := base + "/maintenances/" + m.ID
	w.Line("BEGIN", "VEVENT")
	w.Line("UID", m.ID+"@allswell")
	w.Line("SEQUENCE", strconv.Itoa(int(max(0, m.UpdatedAt.Sub(m.CreatedAt))/time.Second)))
	w.Time("DTSTAMP", m.UpdatedAt)
	w.Time("CREATED", m.CreatedAt)
	w.Time("LAST-MODIFIED", m.UpdatedAt)
	w.Time("DTSTART", begin)
	w.Time("DTEND", end)
	w.Text("SUMMARY", markdown.Line(m.Title))
	w.Text("DESCRIPTION", description)
	w.Line("URL", link)
	w.Line("STATUS", "CONFIRMED")
	w.Line("TRANSP", "TRANSPARENT")
	w.Text("CATEGORIES", l.T("impact.maintenance"))
	w.Line("END", "VEVENT")
}

// writeZone writes the time zone UTC, because a calendar needs at least one component.
func writeZone(w *ical.Writer) {
	for _, l := range [][2]string{
		{"BEGIN", "VTIMEZONE"}, {"TZID", "UTC"}, {"BEGIN", "STANDARD"}, {"DTSTART", "19700101T000000"},
		{"TZOFFSETFROM", "+0000"}, {"TZOFFSETTO", "+0000"}, {"END", "STANDARD"}, {"END", "VTIMEZONE"},
	} {
		w.Line(l[0], l[1])
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
