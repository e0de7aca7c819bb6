package monitor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/fnv"
	"reflect"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// IsCheck reports whether the service checks the monitor's target itself.
func (m MonitorConfig) IsCheck() bool { return m.Type.IsCheck() }

// IsCheck reports whether the service checks the targets of the type itself.
func (t MonitorType) IsCheck() bool { return t != "" && t != MonitorHeartbeat }

// WithDefaults returns the check with defaults for what it lacks. The default timeout depends on the interval.
func (c CheckSpec) WithDefaults(interval time.Duration) CheckSpec {
	if c.Timeout == 0 {
		c.Timeout = min(DefaultCheckTimeout, max(interval, MinCheckInterval)/2).Truncate(time.Second)
	}
	c.RecoveryThreshold, c.ConfirmFrom = cmp.Or(c.RecoveryThreshold, DefaultRecoveryThreshold), cmp.Or(c.ConfirmFrom, 1)
	return c
}

// addInvalidCheck adds the problems of the fields of a check that depend on each other. Unchanged fields are not
// checked.
func (m MonitorConfig) addInvalidCheck(before *MonitorConfig, bad *kernel.ValidationError) {
	c, interval := m.Check, m.Interval
	if before != nil && m.Interval == before.Interval && reflect.DeepEqual(c, before.Check) {
		return
	}
	if CheckCheckInterval(bad, interval); bad.Has("interval") {
		interval = MaxCheckInterval // so that it causes no further problems
	}
	if !bad.Has("timeout") && c.Timeout >= interval {
		bad.Add("timeout", "The timeout, %d s, must be shorter than the interval, %d s: give a shorter timeout, too.",
			c.Timeout/time.Second, interval/time.Second)
	}
	if c.SlowAfter != 0 && c.SlowAfter >= c.Timeout && !bad.Has("slow_after") {
		AddSlowAfter(bad)
	}
	size := len(c.Config)
	for field, value := range c.Secrets {
		size += len(field) + len(value)
	}
	if size > MaxCheckConfig {
		bad.Add("type", "The fields of the check must not be larger than %d bytes together.", MaxCheckConfig)
	}
}

// CheckCheckInterval adds an error if d cannot be the interval of a check.
func CheckCheckInterval(bad *kernel.ValidationError, d time.Duration) {
	if d < MinCheckInterval || d > MaxCheckInterval || d%time.Second != 0 {
		bad.Add("interval", "The interval of a check must be a whole number of seconds from %d to %d.",
			MinCheckInterval/time.Second, MaxCheckInterval/time.Second)
	}
}

// AddSlowAfter adds the error of a duration that cannot be CheckSpec.SlowAfter.
func AddSlowAfter(bad *kernel.ValidationError) {
	bad.Add("slow_after", "must be a whole number of milliseconds, at least one, and shorter than the %s",
		kernel.Name("timeout"))
}

// changedSecrets returns the fields whose secrets differ from before. A secret that cannot be decrypted counts as
// unchanged unless another one was given.
func (c CheckSpec) changedSecrets(before CheckSpec) (fields []string) {
	for _, field := range c.SecretFields {
		if !slices.Contains(before.SecretFields, field) || !SameJSON(c.Secrets[field], before.Secrets[field]) {
			fields = append(fields, field)
		}
	}
	for _, field := range before.SecretFields {
		if !slices.Contains(c.SecretFields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}

// SameJSON reports whether two texts are the same JSON, or both missing. They may be formatted differently, because
// decrypted secrets are not formatted as they were given.
func SameJSON(a, b json.RawMessage) bool {
	var x, y any
	return bytes.Equal(a, b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// CheckPhase returns the offset of a monitor's regular checks from the multiples of its interval since 1970. It depends
// on the id, so that the checks of many monitors are spread evenly.
func CheckPhase(monitorID string, interval time.Duration) time.Duration {
	h := fnv.New64a()
	h.Write([]byte(monitorID))
	return time.Duration(h.Sum64()%uint64(interval/time.Millisecond)) * time.Millisecond
}

// NextCheck returns the first regular check of a monitor after an instant.
func NextCheck(monitorID string, interval time.Duration, after time.Time) time.Time {
	phase := CheckPhase(monitorID, interval)
	since := time.Duration(after.UnixMilli())*time.Millisecond - phase
	n := since/interval + 1
	return time.UnixMilli(int64((n*interval + phase) / time.Millisecond)).UTC()
}
