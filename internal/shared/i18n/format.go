package i18n

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// durationKeys are the messages of the units of time.
var durationKeys = map[time.Duration]string{
	24 * time.Hour: "duration.days", time.Hour: "duration.hours", time.Minute: "duration.minutes",
	time.Second: "duration.seconds",
}

// Duration formats d with the parts of kernel.SplitDuration: "5 minutes", "1 hour 30 minutes".
func (l *Language) Duration(d time.Duration) string {
	var texts []string
	for _, part := range kernel.SplitDuration(d) {
		texts = append(texts, l.T(durationKeys[part.Unit], "n", part.Count))
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return l.formats["two_units"].fill(func(name string) string {
		if name == "large" {
			return texts[0]
		}
		return texts[1]
	})
}

// ResponseTime formats the duration of a response: "120 ms" if it is below 10 seconds, and "12 s" otherwise.
func (l *Language) ResponseTime(d time.Duration) string {
	if d < 10*time.Second {
		return l.T("times.ms", "value", l.Number(int(d.Round(time.Millisecond)/time.Millisecond)))
	}
	return l.T("times.s", "value", l.Number(int(d.Round(time.Second)/time.Second)))
}

// Date formats the day of t in its own zone, as the methods below do: "Monday, 2 January".
func (l *Language) Date(t time.Time) string { return l.formatTime("date", l.months, t) }

// DateYear formats the day of t: "2 January 2026".
func (l *Language) DateYear(t time.Time) string { return l.formatTime("date_year", l.months, t) }

// Month formats the month of t: "January 2026".
func (l *Language) Month(t time.Time) string { return l.formatTime("month", l.monthsAlone, t) }

// Moment formats t to the minute, with the zone: "2 Jan 2026, 15:04 CET".
func (l *Language) Moment(t time.Time) string { return l.formatTime("moment", l.months, t) }

// Period formats two instants to the minute, with the zone: "2 Jan 2026, 15:04–16:00 CET", "2 Jan 2026, 15:04 – 3 Jan
// 2026, 16:00 CET". It does not repeat the day and the zone if both instants have the same.
func (l *Language) Period(from, until time.Time) string {
	sameDay := l.DateYear(from) == l.DateYear(until)
	sameZone := l.zoneName(from) == l.zoneName(until)
	format, begin, end := "period", l.Moment, l.Moment
	if sameDay {
		end = l.ClockZone
	}
	if sameZone {
		begin = func(t time.Time) string { return l.formatTime("day_year_clock", l.months, t) }
	}
	if sameDay && sameZone {
		format = "period_in_day"
	}
	return l.formats[format].fill(func(name string) string {
		if name == "from" {
			return begin(from)
		}
		return end(until)
	})
}

// ShortDate formats the day of t without the year: "2 Jan".
func (l *Language) ShortDate(t time.Time) string { return l.formatTime("day", l.months, t) }

// DayClock formats t to the minute, without the year: "2 Jan, 15:04".
func (l *Language) DayClock(t time.Time) string { return l.formatTime("day_clock", l.months, t) }

// DayYearClock formats t to the minute: "2 Jan 2026, 15:04".
func (l *Language) DayYearClock(t time.Time) string {
	return l.formatTime("day_year_clock", l.months, t)
}

// DayRange formats the days from one to another, without the year: "2–5 Jan", "30 Jan – 2 Feb", or
// "2 Jan" if both are the same day.
func (l *Language) DayRange(from, to time.Time) string {
	switch {
	case from.YearDay() == to.YearDay() && from.Year() == to.Year():
		return l.ShortDate(from)
	case from.Month() != to.Month():
		return l.T("bars.range", "from", l.ShortDate(from), "to", l.ShortDate(to))
	}
	return l.formats["days_in_month"].fill(func(name string) string {
		if name == "first" {
			return strconv.Itoa(from.Day())
		}
		return l.ShortDate(to)
	})
}

// Clock formats the time of day: "15:04".
func (l *Language) Clock(t time.Time) string { return l.formatTime("clock", l.months, t) }

// ClockZone formats the time of day with the zone: "15:04 CET".
func (l *Language) ClockZone(t time.Time) string { return l.formatTime("clock_zone", l.months, t) }

func (l *Language) formatTime(format string, months []string, t time.Time) string {
	return l.formats[format].fill(func(name string) string {
		switch name {
		case "weekday":
			return l.weekdays[t.Weekday()]
		case "day":
			return strconv.Itoa(t.Day())
		case "month":
			return months[t.Month()-1]
		case "mon":
			return l.monthsShort[t.Month()-1]
		case "year":
			return strconv.Itoa(t.Year())
		case "clock":
			return l.Clock(t)
		case "hour":
			return t.Format("15")
		case "minute":
			return t.Format("04")
		default:
			return l.zoneName(t)
		}
	})
}

// zoneName returns the abbreviation of the zone of t, or the offset from UTC for zones without one: "CET", "UTC+05:45".
func (l *Language) zoneName(t time.Time) string {
	abbreviation, _ := t.Zone()
	if own := l.zones[abbreviation]; own != "" {
		return own
	}
	if strings.HasPrefix(abbreviation, "+") || strings.HasPrefix(abbreviation, "-") || abbreviation == "" {
		return "UTC" + t.Format("-07:00")
	}
	return abbreviation
}

// Percent formats an uptime, which is a share of 1: "100%" if it is 1, and otherwise with statuspage.UptimeDecimals
// decimals, rounded down: "99.90%". If known is false it returns the text for "not known".
func (l *Language) Percent(v float64, known bool) string {
	if !known || math.IsNaN(v) {
		return l.T("uptime.not_known")
	}
	v = min(max(v, 0), 1)
	if v == 1 {
		return l.percentSign("100")
	}
	text := strconv.FormatFloat(statuspage.UptimePercent(v, statuspage.UptimeDecimals), 'f', statuspage.UptimeDecimals,
		64)
	return l.percentSign(strings.Replace(text, ".", l.decimal, 1))
}

// WholePercent formats a share of 1, rounded to whole percent: "30%".
func (l *Language) WholePercent(v float64) string {
	return l.percentSign(strconv.Itoa(int(math.Round(v * 100))))
}

func (l *Language) percentSign(number string) string {
	return l.formats["percent"].fill(func(string) string { return number })
}

// UptimePeriod names the part of the last n days of a history that has data: "over 90 days", or "since 22 Nov" if there
// are fewer. It is "" if there is no data.
func (l *Language) UptimePeriod(history statuspage.History, n int) string {
	known := history.WithData()
	switch {
	case len(known) == 0:
		return ""
	case len(known) < n:
		return l.T("uptime.since", "day", l.ShortDate(known[0].Date))
	default:
		return l.T("bars.over", "n", n)
	}
}

// Number formats a whole number with thousands separators.
func (l *Language) Number(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + l.groupMark + digits[i:]
	}
	return sign + digits
}

// fill returns the pattern with each placeholder replaced by its value.
func (p pattern) fill(value func(name string) string) string {
	var out strings.Builder
	for _, piece := range p {
		if piece.name == "" {
			out.WriteString(piece.text)
		} else {
			out.WriteString(value(piece.name))
		}
	}
	return out.String()
}
