package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// logLine is a line of the log that is being written, in the format of slog's TextHandler or JSONHandler.
type logLine struct {
	bytes []byte
	json  bool
}

func (l *logLine) begin(at time.Time, level slog.Level, message string) {
	if l.json {
		l.bytes = append(l.bytes, `{"time":"`...)
		l.bytes = at.AppendFormat(l.bytes, time.RFC3339Nano)
		l.bytes = append(l.bytes, `","level":"`...)
		l.bytes = append(append(l.bytes, level.String()...), '"')
	} else {
		l.bytes = append(l.bytes, "time="...)
		l.milliseconds(at)
		l.bytes = append(l.bytes, " level="...)
		l.bytes = append(l.bytes, level.String()...)
	}
	l.text(slog.MessageKey, message)
}

// milliseconds writes a time with three fraction digits. The time package formats RFC3339Nano five times faster than a
// layout with three digits. RFC3339Nano has as many digits as needed: exactly four, because a tenth of a millisecond is
// added.
func (l *logLine) milliseconds(at time.Time) {
	const length = len("2006-01-02T15:04:05.000")
	begin := len(l.bytes)
	l.bytes = at.Truncate(time.Millisecond).Add(time.Millisecond/10).AppendFormat(l.bytes, time.RFC3339Nano)
	l.bytes = append(l.bytes[:begin+length], l.bytes[begin+length+1:]...)
}

// key begins a field. Keys are plain words, which need no quotes.
func (l *logLine) key(key string) {
	if l.json {
		l.bytes = append(append(append(l.bytes, ',', '"'), key...), '"', ':')
	} else {
		l.bytes = append(append(append(l.bytes, ' '), key...), '=')
	}
}

func (l *logLine) text(key, value string) {
	l.key(key)
	switch {
	case l.json && isPlain(value):
		l.bytes = append(append(append(l.bytes, '"'), value...), '"')
	case l.json:
		var quoted bytes.Buffer
		encoder := json.NewEncoder(&quoted)
		encoder.SetEscapeHTML(false)
		encoder.Encode(value) // never fails for a string
		l.bytes = append(l.bytes, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
	case value == "" || !isPlain(value) && needsQuotes(value):
		l.bytes = strconv.AppendQuote(l.bytes, value)
	default:
		l.bytes = append(l.bytes, value...)
	}
}

// isPlain reports whether a text consists of ASCII that no format has to quote or escape, as nearly all texts do.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= utf8.RuneSelf || c == '"' || c == '=' || c == '\\' {
			return false
		}
	}
	return true
}

// needsQuotes reports whether slog.TextHandler quotes a text.
func needsQuotes(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r == '"' || r == '=' || r == utf8.RuneError || unicode.IsSpace(r) || r != 0x7f && !unicode.IsPrint(r)
	})
}

func (l *logLine) number(key string, value int64) {
	l.key(key)
	l.bytes = strconv.AppendInt(l.bytes, value, 10)
}

// duration writes a duration: in JSON as nanoseconds.
func (l *logLine) duration(key string, value time.Duration) {
	l.key(key)
	if l.json {
		l.bytes = strconv.AppendInt(l.bytes, int64(value), 10)
	} else {
		l.bytes = append(l.bytes, value.String()...)
	}
}

func (l *logLine) address(key string, value netip.Addr) {
	if value.Zone() != "" {
		l.text(key, value.String())
		return
	}
	l.key(key)
	if l.json {
		l.bytes = append(l.bytes, '"')
	}
	l.bytes = value.AppendTo(l.bytes)
	if l.json {
		l.bytes = append(l.bytes, '"')
	}
}

func (l *logLine) end() {
	if l.json {
		l.bytes = append(l.bytes, '}')
	}
	l.bytes = append(l.bytes, '\n')
}
