package cli

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// seconds is a duration on the command line, in whole seconds. The server checks its limits.
type seconds int64

func (s seconds) duration() time.Duration { return time.Duration(s) * time.Second }

// instant is a point in time on the command line.
type instant time.Time

// UnmarshalText parses "2026-11-21T22:00:00+01:00".
func (i *instant) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return errors.New("must be a time with its zone, such as 2026-11-21T22:00:00+01:00 or 2026-11-21T21:00:00Z")
	}
	*i = instant(t)
	return nil
}

// weeksAndDays matches the units of a duration that time.ParseDuration does not know.
var weeksAndDays = regexp.MustCompile(`^(?:([0-9]{1,6})w)?(?:([0-9]{1,6})d)?`)

// UnmarshalText parses "5m", "90s", "2d", "1w", "1d12h" or "300".
func (s *seconds) UnmarshalText(text []byte) error {
	wrong := errors.New("must be in whole seconds: with the units w, d, h, m and s, such as 30s, 5m, 25h, 2d or 1d12h, or a bare number such as 300")
	value := string(text)
	if value != "" && strings.Trim(value, "0123456789") == "" {
		value += "s"
	}
	long := weeksAndDays.FindStringSubmatch(value)
	weeks, _ := strconv.ParseInt(cmp.Or(long[1], "0"), 10, 64) // digits
	days, _ := strconv.ParseInt(cmp.Or(long[2], "0"), 10, 64)
	rest := value[len(long[0]):]
	if long[0] != "" {
		if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
			return wrong
		}
		rest = cmp.Or(rest, "0s")
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d%time.Second != 0 {
		return wrong
	}
	total := (weeks*7+days)*24*60*60 + int64(d/time.Second)
	if total > int64(math.MaxInt64/time.Second) {
		return wrong
	}
	*s = seconds(total)
	return nil
}
