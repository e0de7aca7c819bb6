package alert

import (
	"time"

	"github.com/allswell/allswell/internal/shared/ical"
)

// CalendarPath is the path of the calendar feed of an on-call schedule. Its query has the schedule's CalendarKey.
const CalendarPath = "/admin/on-call.ics"

// calendarSpan is how far ahead a calendar feed reaches.
const calendarSpan = 26 * 7 * 24 * time.Hour

// Calendar returns the turns of the next half year as an iCalendar document (RFC 5545). host makes the ids of its
// events unique.
func (o OnCall) Calendar(host string, now time.Time) string {
	var w ical.Writer
	w.Line("BEGIN", "VCALENDAR")
	w.Line("VERSION", "2.0")
	w.Line("PRODID", "-//Allswell//On call//EN")
	w.Line("METHOD", "PUBLISH")
	w.Text("X-WR-CALNAME", o.Name)
	w.Line("REFRESH-INTERVAL;VALUE=DURATION", ical.Refresh)
	for _, turn := range o.Turns(o.lastHandOver(now), now.Add(calendarSpan)) {
		w.Line("BEGIN", "VEVENT")
		w.Line("UID", o.ID+"-"+ical.FormatTime(turn.StartsAt)+"@"+host)
		w.Time("DTSTAMP", o.UpdatedAt)
		w.Time("DTSTART", turn.StartsAt)
		w.Time("DTEND", turn.EndsAt)
		w.Text("SUMMARY", turn.Participant.Name+" is on call: "+o.Name)
		w.Line("TRANSP", "TRANSPARENT")
		w.Line("END", "VEVENT")
	}
	w.Line("END", "VCALENDAR")
	return w.String()
}
