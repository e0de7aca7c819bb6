package alert

import (
	"strings"
	"time"
	"unicode/utf8"
)

// CalendarPath is the path of the calendar feed of an on-call schedule. Its query has the schedule's CalendarKey.
const CalendarPath = "/admin/on-call.ics"

// calendarSpan is how far ahead a calendar feed reaches.
const calendarSpan = 26 * 7 * 24 * time.Hour

// Calendar returns the turns of the next half year as an iCalendar document (RFC 5545). host makes the ids of its
// events unique.
func (o OnCall) Calendar(host string, now time.Time) string {
	var b strings.Builder
	line := func(name, value string) { foldLine(&b, name+":"+value) }
	line("BEGIN", "VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//Allswell//On call//EN")
	line("METHOD", "PUBLISH")
	line("X-WR-CALNAME", calendarText(o.Name))
	line("REFRESH-INTERVAL;VALUE=DURATION", "PT1H")
	for _, turn := range o.Turns(o.lastHandOver(now), now.Add(calendarSpan)) {
		line("BEGIN", "VEVENT")
		line("UID", o.ID+"-"+calendarTime(turn.StartsAt)+"@"+host)
		line("DTSTAMP", calendarTime(o.UpdatedAt))
		line("DTSTART", calendarTime(turn.StartsAt))
		line("DTEND", calendarTime(turn.EndsAt))
		line("SUMMARY", calendarText(turn.Participant.Name+" is on call: "+o.Name))
		line("TRANSP", "TRANSPARENT")
		line("END", "VEVENT")
	}
	line("END", "VCALENDAR")
	return b.String()
}

func calendarTime(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

var calendarEscape = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r", "", "\n", `\n`)

func calendarText(text string) string { return calendarEscape.Replace(text) }

// foldLine writes a line in parts of at most 75 bytes, as RFC 5545 asks for in section 3.1, without cutting a character.
func foldLine(b *strings.Builder, line string) {
	const limit = 74 // with the space of a continuation
	for len(line) > limit {
		end := limit
		for !utf8.RuneStart(line[end]) {
			end--
		}
		b.WriteString(line[:end] + "\r\n ")
		line = line[end:]
	}
	b.WriteString(line + "\r\n")
}
