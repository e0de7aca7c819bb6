package kernel

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// DurationPart is a number of one unit of time.
type DurationPart struct {
	Count int
	Unit  time.Duration // a day, an hour, a minute or a second
}

// SplitDuration returns d, rounded to seconds, as one or two parts of adjacent units; the rest is cut off. 24 hours and
// 3 seconds are 1 day. Less than half a second, and negative durations, are 0 seconds.
func SplitDuration(d time.Duration) []DurationPart {
	d = max(d, 0).Round(time.Second)
	units := []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}
	for i, unit := range units {
		if d < unit {
			continue
		}
		parts := []DurationPart{{int(d / unit), unit}}
		if i+1 < len(units) {
			if rest := d % unit / units[i+1]; rest > 0 {
				parts = append(parts, DurationPart{int(rest), units[i+1]})
			}
		}
		return parts
	}
	return []DurationPart{{0, time.Second}}
}

// FormatDuration formats d in English with the parts of SplitDuration: "5 minutes", "1 hour 30
// minutes". Package i18n formats durations in other languages.
func FormatDuration(d time.Duration) string {
	names := map[time.Duration]string{
		24 * time.Hour: "day", time.Hour: "hour", time.Minute: "minute", time.Second: "second",
	}
	var words []string
	for _, part := range SplitDuration(d) {
		plural := "s"
		if part.Count == 1 {
			plural = ""
		}
		words = append(words, fmt.Sprintf("%d %s%s", part.Count, names[part.Unit], plural))
	}
	return strings.Join(words, " ")
}

// FormatEvery formats the time between repetitions: "every minute", "every 30 minutes".
func FormatEvery(d time.Duration) string {
	if text, ok := strings.CutPrefix(FormatDuration(d), "1 "); ok && !strings.Contains(text, " ") {
		return "every " + text
	}
	return "every " + FormatDuration(d)
}

// CompactDuration formats d, rounded to seconds, in English with one or two short units, and cuts off the rest: "12 s",
// "16 h 26 min", "8 d". It counts up to two days in hours.
func CompactDuration(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	units := []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	if d < 48*time.Hour {
		units = units[1:]
	}
	for i, unit := range units {
		if d < unit.length {
			continue
		}
		text := fmt.Sprintf("%d %s", d/unit.length, unit.name)
		if i+1 < len(units) {
			if rest := d % unit.length / units[i+1].length; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "0 s"
}

// EveryDuration says in English how often something happens: "every minute", "every 25 h".
func EveryDuration(d time.Duration) string {
	switch d {
	case time.Second:
		return "every second"
	case time.Minute:
		return "every minute"
	case time.Hour:
		return "every hour"
	case 24 * time.Hour:
		return "every day"
	}
	return "every " + CompactDuration(d)
}

// FormatNumber formats n with a comma between groups of three digits: "1,200".
func FormatNumber(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
