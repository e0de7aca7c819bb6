package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// Words describes the times in English, with their zone unless it is UTC: "06:00 on the 1st of each month", "02:30
// every day (Europe/Berlin)". It names other than simple times by their expressions.
func (c Cron) Words() string {
	single := !c.Calendar && !strings.Contains(c.Expression, "\n")
	if fields := strings.Fields(c.Expression); single && len(fields) == 5 {
		if words := fieldWords(fields[0], fields[1], fields[2], fields[3], fields[4]); words != "" {
			return words + c.notes()
		}
	}
	return c.String()
}

// fieldWords describes the fields of a cron expression; "": they are not simple.
func fieldWords(minute, hour, day, month, weekday string) string {
	if month != "*" {
		return ""
	}
	if hour == "*" && day == "*" && weekday == "*" {
		return hourlyWords(minute)
	}
	m, isMinute := number(minute, 59)
	h, isHour := number(hour, 23)
	if !isMinute || !isHour {
		return ""
	}
	clock := fmt.Sprintf("%02d:%02d", h, m)
	if day == "*" && weekday == "*" {
		return clock + " every day"
	}
	if d, ok := number(day, 31); ok && d > 0 && weekday == "*" {
		return clock + " on the " + ordinal(d) + " of each month"
	}
	if day != "*" {
		return ""
	}
	first, last, isRange := strings.Cut(weekday, "-")
	from, to := dayName(first), dayName(last)
	switch {
	case from == "" || isRange && to == "":
		return ""
	case isRange:
		return clock + " " + from + " to " + to
	}
	return clock + " on " + from + "s"
}

// hourlyWords describes the minutes of every hour; "": they are not simple.
func hourlyWords(minute string) string {
	if minute == "*" || minute == "*/1" {
		return "every minute"
	}
	if step, ok := strings.CutPrefix(minute, "*/"); ok {
		if n, ok := number(step, 30); ok && n > 0 && 60%n == 0 {
			return fmt.Sprintf("every %d min", n)
		}
		return ""
	}
	switch m, ok := number(minute, 59); {
	case !ok:
		return ""
	case m == 0:
		return "every hour"
	default:
		return fmt.Sprintf("every hour at :%02d", m)
	}
}

// number reads a number of up to two digits.
func number(text string, most int) (n int, ok bool) {
	if len(text) == 0 || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n <= most
}

// ordinal returns a day of the month: "1st", "2nd", "11th".
func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// dayName returns the name of a day of the week; "": it is none.
func dayName(field string) string {
	names := []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	if n, ok := number(field, 7); ok {
		return names[n%7]
	}
	for _, name := range names {
		if strings.EqualFold(name[:3], field) {
			return name
		}
	}
	return ""
}
