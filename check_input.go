package allswell

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"time"
)

// IsCheck reports whether the service checks the monitor's target itself.
func (m MonitorConfig) IsCheck() bool { return m.Type.IsCheck() }

// IsCheck reports whether the service checks the targets of the type itself.
func (t MonitorType) IsCheck() bool { return t != "" && t != MonitorHeartbeat }

// WithDefaults returns the check with the timeout that it has by default with an interval, unless it has one.
func (c CheckSpec) WithDefaults(interval time.Duration) CheckSpec {
	if c.Timeout == 0 {
		c.Timeout = min(DefaultCheckTimeout, max(interval, MinCheckInterval)/2).Truncate(time.Second)
	}
	return c
}

// check checks the fields that all types have, with their defaults. The package check checks the others.
func (c CheckSpec) check(bad *ValidationError, interval time.Duration) {
	if CheckCheckInterval(bad, interval); bad.Has("interval") {
		interval = MaxCheckInterval // so that nothing else is wrong
	}
	if CheckTimeout(bad, c.Timeout); !bad.Has("timeout") && c.Timeout >= interval {
		bad.Add("timeout", "The timeout, %d s, must be shorter than the interval, %d s: give a shorter timeout, too.", c.Timeout/time.Second, interval/time.Second)
	}
	if c.SlowAfter != 0 && (c.SlowAfter < time.Millisecond || c.SlowAfter >= c.Timeout || c.SlowAfter%time.Millisecond != 0) {
		AddSlowAfter(bad)
	}
	CheckRecoveryThreshold(bad, c.RecoveryThreshold)
	CheckConfirmFrom(bad, c.ConfirmFrom)
	size := len(c.Config)
	for field, value := range c.Secrets {
		size += len(field) + len(value)
	}
	if size > MaxCheckConfig {
		bad.Add("type", "The fields of the check must not be larger than %d bytes together.", MaxCheckConfig)
	}
}

// CheckCheckInterval adds an error if d cannot be the interval of a check.
func CheckCheckInterval(bad *ValidationError, d time.Duration) {
	if d < MinCheckInterval || d > MaxCheckInterval || d%time.Second != 0 {
		bad.Add("interval", "The interval of a check must be a whole number of seconds from %d to %d.", MinCheckInterval/time.Second, MaxCheckInterval/time.Second)
	}
}

// AddSlowAfter adds the error of a duration that cannot be CheckSpec.SlowAfter.
func AddSlowAfter(bad *ValidationError) {
	bad.Add("slow_after", "must be at least a millisecond, and shorter than the %s", Name("timeout"))
}

// CheckTimeout adds an error if d cannot be the timeout of a check.
func CheckTimeout(bad *ValidationError, d time.Duration) {
	if d < MinCheckTimeout || d > MaxCheckTimeout || d%time.Second != 0 {
		bad.Add("timeout", "must be a whole number of seconds from %d to %d", MinCheckTimeout/time.Second, MaxCheckTimeout/time.Second)
	}
}

// CheckRecoveryThreshold adds an error if n cannot be the recovery threshold of a check.
func CheckRecoveryThreshold(bad *ValidationError, n int) {
	if n < 1 || n > MaxRecoveryThreshold {
		bad.Add("recovery_threshold", "must be from 1 to %d", MaxRecoveryThreshold)
	}
}

// CheckConfirmFrom adds an error if n cannot be the number of locations that confirm a failure.
func CheckConfirmFrom(bad *ValidationError, n int) {
	if n < 1 || n > MaxConfirmFrom {
		bad.Add("confirm_from", "must be from 1 to %d", MaxConfirmFrom)
	}
}

// refuseHeartbeatFields adds an error for every field that is set and that only heartbeats have.
func (m MonitorConfig) refuseHeartbeatFields(bad *ValidationError) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"token", m.Token != ""}, {"cron", !m.Cron.IsZero()}, {"grace", m.Grace != 0}, {"max_runtime", m.MaxRuntime != 0}, {"publish_output", m.PublishOutput},
		{"min_runtime", m.MinRuntime != 0}, {"max_per_interval", m.MaxPerInterval != 0}, {"no_overlap", m.NoOverlap},
	} {
		if f.set {
			bad.Add(f.name, "Only a heartbeat monitor has a %s.", Name(f.name))
		}
	}
}

// refuseCheckFields adds an error for every field that is set and that only checks have.
func (m MonitorConfig) refuseCheckFields(bad *ValidationError) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"timeout", m.Check.Timeout != 0}, {"slow_after", m.Check.SlowAfter != 0}, {"recovery_threshold", m.Check.RecoveryThreshold != 0},
		{"confirm_from", m.Check.ConfirmFrom != 0}, {"type", m.Check.Config != nil || len(m.Check.SecretFields) > 0},
	} {
		if f.set {
			bad.Add(f.name, "A heartbeat monitor has no fields of a check.")
		}
	}
}

// changedSecrets returns the fields whose secrets are not those of before. A secret that cannot be decrypted is the same
// unless another one was given.
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

// SameJSON reports whether two texts are the same JSON, or both missing: what is decrypted is not written as it was given.
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

// auditCheck adds the fields of a check that the audit log records: its configuration, and the names, but not the
// values, of its secrets.
func (m MonitorConfig) auditCheck(fields map[string]any) {
	c := m.Check
	var config map[string]any
	if json.Unmarshal(c.Config, &config) == nil {
		maps.Copy(fields, config)
	}
	fields["type"], fields["timeout"], fields["recovery_threshold"], fields["confirm_from"] = m.Type, int64(c.Timeout/time.Second), c.RecoveryThreshold, c.ConfirmFrom
	if c.SlowAfter > 0 {
		fields["slow_after"] = c.SlowAfter.Seconds()
	}
	if len(c.SecretFields) > 0 {
		fields["secrets"] = slices.Clone(c.SecretFields)
	}
}
