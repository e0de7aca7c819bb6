package allswell

import "time"

// TimeFormat is how every instant is written for the outside world: RFC 3339,
// UTC, exactly three fraction digits (design: timestamps).
const TimeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime writes t in TimeFormat, in UTC, cut to the millisecond.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeFormat) }

// later returns the later of two instants. The zero Time stands for "never",
// so it loses to any real instant.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier returns the earlier of two instants.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
