package feed

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/markdown"
	"github.com/allswell/allswell/internal/shared/markdown/markdowntest"
)

// property is a parsed line of a calendar.
type property struct{ name, value string }

// readCalendar unfolds and splits a calendar, and checks the form of its lines.
func readCalendar(t testing.TB, body []byte) (lines []property) {
	t.Helper()
	text, ok := strings.CutSuffix(string(body), "\r\n")
	if !ok {
		t.Fatalf("the last line of %q does not end", body)
	}
	for raw := range strings.SplitSeq(text, "\r\n") {
		if len(raw) > 75 || !utf8.ValidString(raw) || strings.ContainsAny(raw, "\r\n") {
			t.Errorf("%d bytes in the line %q", len(raw), raw)
		}
		if more, folded := strings.CutPrefix(raw, " "); folded && len(lines) > 0 {
			lines[len(lines)-1].value += more
			continue
		}
		lines = append(lines, property{value: raw})
	}
	for i, l := range lines {
		name, value, ok := strings.Cut(l.value, ":")
		if !ok {
			t.Fatalf("the line %q has no name", l.value)
		}
		lines[i] = property{name, value}
	}
	return lines
}

// unescape decodes a text as RFC 5545 defines.
func unescape(t testing.TB, value string) string {
	t.Helper()
	var out strings.Builder
	for rest := value; rest != ""; rest = rest[1:] {
		switch c := rest[0]; {
		case c == ';' || c == ',':
			t.Errorf("%q is not escaped in %q", c, value)
		case c == '\\' && len(rest) > 1 && rest[1] == 'n':
			out.WriteByte('\n')
			rest = rest[1:]
		case c == '\\' && len(rest) > 1 && strings.IndexByte(`\;,`, rest[1]) >= 0:
			out.WriteByte(rest[1])
			rest = rest[1:]
		case c == '\\':
			t.Errorf("%q has an invalid escape", value)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

func TestCalendar(t *testing.T) {
	p := newsPage(`Lamps; "new", \ old`, "We *swap* them.\n\nAll of them.", "Lamps, all")
	early := p.Maintenances[0]
	early.ID, early.State, early.Components, early.Updates = "mnt_0", statuspage.MaintenanceCompleted, nil, nil
	early.ScheduledFor, early.ScheduledUntil = day.AddDate(0, 0, -1), day.AddDate(0, 0, -1).Add(time.Hour)
	early.BegunAt, early.EndedAt = early.ScheduledFor.Add(time.Second/2), early.ScheduledFor.Add(20*time.Minute)
	p.Maintenances = append(p.Maintenances, early)
	want := []property{
		{"BEGIN", "VCALENDAR"}, {"VERSION", "2.0"}, {"PRODID", "-//Allswell//Status page//EN"},
		{"CALSCALE", "GREGORIAN"},
		{"NAME", `Scheduled maintenance of Lamps\, all`}, {"X-WR-CALNAME", `Scheduled maintenance of Lamps\, all`},
		{"X-WR-TIMEZONE", "Europe/Berlin"}, {"URL", newsBase}, {"REFRESH-INTERVAL;VALUE=DURATION", "PT1H"},
		{"X-PUBLISHED-TTL", "PT1H"},

		{"BEGIN", "VEVENT"}, {"UID", "mnt_0@allswell"}, {"SEQUENCE", "1800"}, {"DTSTAMP", "20201121T163405Z"},
		{"CREATED", "20201121T160405Z"},
		{"LAST-MODIFIED", "20201121T163405Z"}, {"DTSTART", "20201120T150405Z"}, {"DTEND", "20201120T152405Z"},
		{"SUMMARY", `Lamps\; "new"\, \\ old`}, {"DESCRIPTION", "Completed"},
		{"URL", newsBase + "/maintenances/mnt_0"}, {"STATUS", "CONFIRMED"}, {"TRANSP", "TRANSPARENT"},
		{"CATEGORIES", "Maintenance"}, {"END", "VEVENT"},

		{"BEGIN", "VEVENT"}, {"UID", "mnt_1@allswell"}, {"SEQUENCE", "1800"}, {"DTSTAMP", "20201121T163405Z"},
		{"CREATED", "20201121T160405Z"},
		{"LAST-MODIFIED", "20201121T163405Z"}, {"DTSTART", "20201128T150405Z"}, {"DTEND", "20201128T170405Z"},
		{"SUMMARY", `Lamps\; "new"\, \\ old`},
		{"DESCRIPTION", `Scheduled\nAffected components: Lamps\, all\n\nWe swap them.\n\nAll of them.`},
		{"URL", newsBase + "/maintenances/mnt_1"}, {"STATUS", "CONFIRMED"}, {"TRANSP", "TRANSPARENT"},
		{"CATEGORIES", "Maintenance"}, {"END", "VEVENT"},
		{"END", "VCALENDAR"},
	}
	if got := readCalendar(t, Calendar(p, newsBase)); !slices.Equal(got, want) {
		t.Errorf("the calendar is\n%q\nwant\n%q", got, want)
	}
}

func TestCalendarEdges(t *testing.T) {
	p := newsPage("Lamps", "Ready.", "Lamps")
	values := func(name string) (found []string) {
		for _, l := range readCalendar(t, Calendar(p, newsBase)) {
			if l.name == name {
				found = append(found, l.value)
			}
		}
		return found
	}
	m := &p.Maintenances[0]
	m.State, m.BegunAt, m.EndedAt = statuspage.MaintenanceCompleted, day.Add(time.Millisecond),
		day.Add(2*time.Millisecond)
	got := [2][]string{values("DTSTART"), values("DTEND")}
	if got[0][0] != "20201121T150405Z" || got[1][0] != "20201121T150505Z" {
		t.Errorf("a maintenance without a length has %v", got)
	}
	for n := range 40 {
		m.Updates = append(m.Updates, statuspage.MaintenanceUpdate{Number: n + 2, Message: strings.Repeat("ü", 1000)})
	}
	if got := utf8.RuneCountInString(values("DESCRIPTION")[0]); got > maxDescription+100 || got < maxDescription {
		t.Errorf("the description has %d characters", got)
	}
	p.Page.TimeZone, p.Page.Language = "", "de"
	if got := values("X-WR-CALNAME"); got[0] != "Geplante Wartungen von Lamps" {
		t.Errorf("its name is %q", got)
	}
	p.Maintenances = nil
	if got := values("BEGIN"); !slices.Equal(got, []string{"VCALENDAR", "VTIMEZONE", "STANDARD"}) {
		t.Errorf("the empty calendar has %q", got)
	}
}

func FuzzCalendar(f *testing.F) {
	for i, s := range markdowntest.Seeds {
		f.Add(s, markdowntest.Seeds[(i+1)%len(markdowntest.Seeds)], markdowntest.Seeds[(i+2)%len(markdowntest.Seeds)])
	}
	f.Fuzz(func(t *testing.T, title, message, name string) {
		p := newsPage(title, message, name)
		lines := readCalendar(t, Calendar(p, newsBase))
		var names []string
		for _, l := range lines {
			names = append(names, l.name)
			switch l.name {
			case "SUMMARY":
				if got, want := unescape(t, l.value), markdowntest.Line(title); got != want {
					t.Errorf("the summary is %q, want %q", got, want)
				}
			case "DESCRIPTION":
				got, text := unescape(t, l.value), markdown.Text(message)
				if utf8.RuneCountInString(text) < maxDescription-1000 && utf8.RuneCountInString(name) < 255 &&
					!strings.HasSuffix(got, "\n\n"+text) {
					t.Errorf("the description is %q, want %q at its end", got, text)
				}
				if shown := markdown.Clip(markdowntest.Line(name), maxName); !strings.Contains(got, shown) {
					t.Errorf("the summary: %q is not in %q", shown, got)
				}
			case "X-WR-CALNAME":
				if got := unescape(t, l.value); !strings.Contains(got, markdowntest.Line(name)) {
					t.Errorf("the name of the calendar: %q is not in %q", markdowntest.Line(name), got)
				}
			}
		}
		if want := readCalendar(t, Calendar(newsPage("x", "x", "x"), newsBase)); len(names) != len(want) {
			t.Errorf("the lines are %q", names)
		}
	})
}
