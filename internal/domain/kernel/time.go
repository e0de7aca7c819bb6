package kernel

import "time"

// TimeFormat is the format of all times in the API, in feeds and in messages: RFC 3339 in UTC with
// three fraction digits.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime formats t in TimeFormat, in UTC, truncated to milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeFormat) }

// Later returns the later of two instants. The zero Time, which means never, is earlier than any other.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Earlier returns the earlier of two instants.
func Earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
