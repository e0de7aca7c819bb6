package alert

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestCalendar checks the form of a calendar: its lines, and what it says of turns.
func TestCalendar(t *testing.T) {
	o := OnCall{
		ID: "onc_1", Name: "Ops; day, night 🦊" + strings.Repeat("ü", 40) + "\nBEGIN:VEVENT", Zone: "Europe/Berlin",
		HandOverDay: "mon", HandOverAt: 9 * 60,
		StartsOn: t0.Truncate(24 * time.Hour), UpdatedAt: t0, Participants: []Participant{{Name: "Ann"}, {Name: "Bob"}},
	}
	text := o.Calendar("status.example.com", t0)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		if len(line) > 75 || strings.ContainsAny(line, "\r\n") || line == "" {
			t.Errorf("line %q", line)
		}
	}
	unfolded := strings.ReplaceAll(text, "\r\n ", "")
	events := strings.Count(unfolded, "\r\nBEGIN:VEVENT\r\n")
	if events < 26 || events > 28 || strings.Count(unfolded, "\r\nEND:VEVENT\r\n") != events {
		t.Errorf("Calendar has %d events, want 26 to 28", events)
	}
	for _, want := range []string{
		"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Allswell//On call//EN\r\nMETHOD:PUBLISH\r\nX-WR-CALNAME:Ops\\; " +
			"day\\, night", "\r\nREFRESH-INTERVAL;VALUE=DURATION:PT1H\r\nBEGIN:VEVENT",
		"\r\nDTSTAMP:20260301T120000Z\r\n", "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		"\r\nUID:onc_1-20260223T080000Z@status.example.com\r\n",
		"\r\nDTSTART:20260223T080000Z\r\nDTEND:20260302T080000Z\r\n",
		// summer time
		`SUMMARY:Bob is on call: Ops\; day\, night 🦊`, `\nBEGIN:VEVENT` + "\r\nTRANSP",
		"\r\nDTSTART:20260330T070000Z\r\n",
	} {
		if !strings.Contains(unfolded, want) {
			t.Errorf("%q is missing in %s", want, unfolded[:min(len(unfolded), 900)])
		}
	}
}

// TestCalendarFoldsBetweenCharacters checks for every place of a long name in its line that each line of a calendar is
// text of at most 75 bytes, and that together they have the name.
func TestCalendarFoldsBetweenCharacters(t *testing.T) {
	for shift := range 8 {
		name := strings.Repeat("x", shift) + strings.Repeat("ü🦊", 60)
		text := OnCall{Name: name, Zone: "UTC"}.Calendar("status.example.com", t0)
		for line := range strings.SplitSeq(text, "\r\n") {
			if len(line) > 75 || !utf8.ValidString(line) {
				t.Errorf("after %d characters, the line %q", shift, line)
			}
		}
		if !strings.Contains(strings.ReplaceAll(text, "\r\n ", ""), name) {
			t.Errorf("after %d characters, the name is damaged: %q", shift, text)
		}
	}
}

// TestCalendarOfOverride compares a whole calendar: it begins with the turn that lasts, ends after half a year, and
// cuts a turn for an override. Every character with a meaning is escaped.
func TestCalendarOfOverride(t *testing.T) {
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.FixedZone("", 3600)) }
	o := OnCall{
		ID: "onc_1", Name: `A\B;C,D` + "\r\nE", Zone: "Asia/Tokyo", HandOverDay: "sun", HandOverAt: 10*60 + 30,
		StartsOn:  t0.Truncate(24 * time.Hour),
		UpdatedAt: at(1, 9), Participants: []Participant{{Name: "Ann"}},
		Overrides: []Override{{Participant: "ann", StartsAt: at(3, 8), EndsAt: at(3, 9)}},
	}
	event := func(starts, ends string) string {
		return "BEGIN:VEVENT|UID:onc_1-" + starts + "@host|DTSTAMP:20260301T080000Z|DTSTART:" + starts + "|DTEND:" +
			ends +
			`|SUMMARY:Ann is on call: A\\B\;C\,D\nE|TRANSP:TRANSPARENT|END:VEVENT|`
	}
	want := `BEGIN:VCALENDAR|VERSION:2.0|PRODID:-//Allswell//On call//EN|METHOD:PUBLISH|X-WR-CALNAME:A\\B\;C\,` +
		`D\nE|REFRESH-INTERVAL;VALUE=DURATION:PT1H|` +
		event("20260301T013000Z", "20260303T070000Z") + event("20260303T070000Z", "20260303T080000Z") +
		event("20260303T080000Z", "20260830T120000Z") + "END:VCALENDAR|"
	if got := strings.ReplaceAll(o.Calendar("host", t0), "\r\n", "|"); got != want {
		t.Errorf("Calendar of an override:\ngot\n%s\nwant\n%s", got, want)
	}
	o.Participants = nil
	if got := o.Calendar("host", t0); strings.Contains(got, "VEVENT") || !strings.HasSuffix(got, "END:VCALENDAR\r\n") {
		t.Errorf("without participants: %s", got)
	}
}
