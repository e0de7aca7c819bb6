// Package timeinput parses durations and times that people type.
package timeinput

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a duration in whole seconds. It may be negative.
type Duration time.Duration

// String writes the duration without its zero units, as UnmarshalText reads it: "1h", "1m30s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// weeksAndDays matches the units of a duration that time.ParseDuration does not know.
var weeksAndDays = regexp.MustCompile(`^(?:([0-9]{1,6})w)?(?:([0-9]{1,6})d)?`)

// UnmarshalText parses "5m", "90s", "2d", "1w" or "1d12h". A number without a unit is an error, because the API and
// cron count in different ones.
func (d *Duration) UnmarshalText(text []byte) error {
	wrong := errors.New("must be in whole seconds: with the units w, d, h, m and s, such as 30s, 5m, 25h, 2d or 1d12h")
	value := string(text)
	if value != "0" && value != "" && strings.Trim(value, "0123456789") == "" {
		return fmt.Errorf("needs a unit, such as %ss, %sm, %sh or %sd", value, value, value, value)
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
	short, err := time.ParseDuration(rest)
	if err != nil || short%time.Second != 0 {
		return wrong
	}
	total := (weeks*7+days)*24*60*60 + int64(short/time.Second)
	if total > int64(math.MaxInt64/time.Second) {
		return wrong
	}
	*d = Duration(time.Duration(total) * time.Second)
	return nil
}
