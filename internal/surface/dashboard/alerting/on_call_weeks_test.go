package alerting

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
)

// TestOnCallCalendarOfWeeks checks the days around a hand-over and a change of the clock.
func TestOnCallCalendarOfWeeks(t *testing.T) {
	o := alert.OnCall{
		Zone: "Europe/Berlin", HandOverDay: "mon", HandOverAt: 9 * 60,
		StartsOn:     time.Date(2026, 10, 19, 0, 0, 0, 0, time.UTC),
		Participants: []alert.Participant{{Name: "Ann"}, {Name: "Bob"}},
		Overrides: []alert.Override{
			{
				Participant: "Ann", StartsAt: time.Date(2026, 10, 28, 11, 0, 0, 0, time.UTC),
				EndsAt: time.Date(2026, 10, 28, 13, 0, 0, 0, time.UTC),
			},
		},
	}
	weeks := onCallCalendar(o, time.Date(2026, 10, 21, 12, 0, 0, 0, time.UTC))
	text := func(d calendarDay) string {
		parts := d.Day + " " + d.Label + ":"
		for _, p := range d.Parts {
			parts += " " + p.From + p.Name
			if p.Override {
				parts += "*"
			}
		}
		return parts
	}
	for _, c := range []struct {
		week, day int
		want      string
	}{
		{0, 0, "Mon 19 Oct: Bob 09:00Ann"}, {0, 6, "Sun 25: Ann"}, {1, 0, "Mon 26: Ann 09:00Bob"},
		{1, 2, "Wed 28: Bob 12:00Ann* 14:00Bob"}, {1, 6, "Sun 1 Nov: Bob"}, {3, 6, "Sun 15: Bob"},
	} {
		if got := text(weeks[c.week][c.day]); got != c.want {
			t.Errorf("who is on call: %s, want %s", got, c.want)
		}
	}
	if !weeks[0][2].Today || weeks[0][2].Past || !weeks[0][1].Past || len(weeks) != calendarWeeks {
		t.Errorf("the first week: %+v", weeks[0])
	}
}
