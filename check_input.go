package allswell

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"time"
)

// IsCheck reports whether the service checks the monitor's target itself.
func (m MonitorConfig) IsCheck() bool { return m.Type.IsCheck() }

// IsCheck reports whether the service checks the new monitor's target itself.
func (n NewMonitor) IsCheck() bool { return n.Type.IsCheck() }

// IsCheck reports whether the service checks the targets of the type itself.
func (t MonitorType) IsCheck() bool { return t != "" && t != MonitorHeartbeat }

// WithDefaults returns the check with its default timeout and thresholds, for an interval.
func (c CheckSpec) WithDefaults(interval time.Duration) CheckSpec {
	if c.Timeout == 0 {
		c.Timeout = min(DefaultCheckTimeout, interval/2).Truncate(time.Second)
	}
	if c.RecoveryThreshold == 0 {
		c.RecoveryThreshold = DefaultRecoveryThreshold
	}
	if c.ConfirmFrom == 0 {
		c.ConfirmFrom = 1
	}
	return c
}

// check checks the fields that all types have, with their defaults. The package check checks the others.
func (c CheckSpec) check(bad *ValidationError, interval time.Duration) {
	if interval < MinCheckInterval || interval > MaxCheckInterval || interval%time.Second != 0 {
		bad.Add("interval", "The interval of a check must be a whole number of seconds from %d to %d.", MinCheckInterval/time.Second, MaxCheckInterval/time.Second)
		interval = MaxCheckInterval // so that nothing else is wrong
	}
	switch {
	case c.Timeout < MinCheckTimeout || c.Timeout > MaxCheckTimeout || c.Timeout%time.Second != 0:
		bad.Add("timeout", "must be a whole number of seconds from %d to %d", MinCheckTimeout/time.Second, MaxCheckTimeout/time.Second)
	case c.Timeout >= interval:
		bad.Add("timeout", "The timeout, %d s, must be shorter than the interval, %d s: give a shorter timeout, too.", c.Timeout/time.Second, interval/time.Second)
	}
	if c.SlowAfter != 0 && (c.SlowAfter < time.Millisecond || c.SlowAfter >= c.Timeout || c.SlowAfter%time.Millisecond != 0) {
		bad.Add("slow_after", "must be at least a millisecond, and shorter than the %s", Name("timeout"))
	}
	if c.RecoveryThreshold < 1 || c.RecoveryThreshold > MaxRecoveryThreshold {
		bad.Add("recovery_threshold", "must be from 1 to %d", MaxRecoveryThreshold)
	}
	if c.ConfirmFrom < 1 || c.ConfirmFrom > MaxConfirmFrom {
		bad.Add("confirm_from", "must be from 1 to %d", MaxConfirmFrom)
	}
	size := len(c.Config)
	for field, value := range c.Secrets {
		size += len(field) + len(value)
	}
	if size > MaxCheckConfig {
		bad.Add("type", "The fields of the check must not be larger than %d bytes together.", MaxCheckConfig)
	}
}

// checkCheck checks a new monitor of a type that is checked.
func (n NewMonitor) checkCheck(bad *ValidationError) {
	interval, _, _ := n.Schedule()
	n.Check.WithDefaults(max(interval, MinCheckInterval)).check(bad, interval)
	ch := MonitorChange{
		Cron: &n.Cron, Grace: n.Grace, MaxRuntime: &n.MaxRuntime, PublishOutput: &n.PublishOutput,
		Conditions: n.replacement(),
	}
	ch.refuseHeartbeatFields(bad)
	if n.Token != "" {
		bad.Add("token", "Only a heartbeat monitor has a token.")
	}
}

// refuseHeartbeatFields adds an error for every field that only heartbeats have.
func (ch MonitorChange) refuseHeartbeatFields(bad *ValidationError) {
	c := ch.Conditions.ApplyTo(RunConditions{}.WithDefaults())
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"cron", ch.Cron != nil && !ch.Cron.IsZero()}, {"grace", ch.Grace != nil && *ch.Grace != 0}, {"max_runtime", ch.MaxRuntime != nil && *ch.MaxRuntime != 0},
		{"publish_output", ch.PublishOutput != nil && *ch.PublishOutput}, {"min_runtime", c.MinRuntime != 0}, {"max_per_interval", c.MaxPerInterval != 0},
		{"no_overlap", c.NoOverlap},
	} {
		if f.given {
			bad.Add(f.name, "Only a heartbeat monitor has a %s.", Name(f.name))
		}
	}
}

// CheckChange is the input for changing a check. Nil fields keep their values.
type CheckChange struct {
	Timeout           *time.Duration // 0: the default
	SlowAfter         *time.Duration // 0: no result is slow
	RecoveryThreshold *int           // 0: the default
	ConfirmFrom       *int           // 0: the default
	Config            json.RawMessage
	Secrets           map[string]json.RawMessage // by field; null removes one, and those that are not given are kept
}

// IsZero reports whether the change keeps everything.
func (ch CheckChange) IsZero() bool {
	return ch.Timeout == nil && ch.SlowAfter == nil && ch.RecoveryThreshold == nil && ch.ConfirmFrom == nil && ch.Config == nil && ch.Secrets == nil
}

// refuse adds an error for every field that is given, because a heartbeat has none of them.
func (ch CheckChange) refuse(bad *ValidationError) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"timeout", ch.Timeout != nil}, {"slow_after", ch.SlowAfter != nil && *ch.SlowAfter != 0}, {"recovery_threshold", ch.RecoveryThreshold != nil},
		{"confirm_from", ch.ConfirmFrom != nil}, {"type", ch.Config != nil || ch.Secrets != nil},
	} {
		if f.given {
			bad.Add(f.name, "A heartbeat monitor has no fields of a check.")
		}
	}
}

// replacement returns the change that makes a check what c describes. Secrets that c does not have are kept.
func (c CheckSpec) replacement() CheckChange {
	return CheckChange{&c.Timeout, &c.SlowAfter, &c.RecoveryThreshold, &c.ConfirmFrom, c.Config, c.Secrets}
}

// ApplyTo returns the check after the change, with defaults for the interval. Its Secrets are only those that ch sets.
func (ch CheckChange) ApplyTo(c CheckSpec, interval time.Duration) CheckSpec {
	set(&c.Timeout, ch.Timeout)
	set(&c.SlowAfter, ch.SlowAfter)
	set(&c.RecoveryThreshold, ch.RecoveryThreshold)
	set(&c.ConfirmFrom, ch.ConfirmFrom)
	if ch.Config != nil {
		c.Config = ch.Config
	}
	c.Secrets = nil
	if len(ch.Secrets) == 0 {
		return c.WithDefaults(interval)
	}
	fields := make(map[string]bool)
	for _, field := range c.SecretFields {
		fields[field] = true
	}
	c.Secrets = make(map[string]json.RawMessage)
	for field, value := range ch.Secrets {
		if delete(fields, field); !isNull(value) {
			c.Secrets[field], fields[field] = value, true
		}
	}
	c.SecretFields = slices.Sorted(maps.Keys(fields))
	return c.WithDefaults(interval)
}

func isNull(value json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(value), []byte("null")) }

// ValidateFor returns a *ValidationError with every field that is not valid for the type of the monitor.
func (ch MonitorChange) ValidateFor(m Monitor) error {
	var bad ValidationError
	if ch.Type != "" && ch.Type != m.Type {
		bad.Add("type", "The type of a monitor cannot be changed.")
		return bad.Err()
	}
	if !m.IsCheck() {
		ch.Check.refuse(&bad)
		return bad.Err()
	}
	interval := m.Interval
	set(&interval, ch.Interval)
	ch.Check.ApplyTo(m.Check, interval).check(&bad, interval)
	ch.refuseHeartbeatFields(&bad)
	return bad.Err()
}

// applyCheckChange changes the check of a monitor. before is the monitor without the change. If the check is enabled or
// disabled, or its configuration or a secret changes, its results are counted from zero.
func (m *Monitor) applyCheckChange(ch CheckChange, before Monitor) {
	if !m.IsCheck() {
		return
	}
	m.Check = ch.ApplyTo(m.Check, m.Interval)
	m.SecretVersions = m.SecretVersions.Changed(slices.Collect(maps.Keys(ch.Secrets))...)
	if m.Enabled != before.Enabled || !bytes.Equal(m.Check.Config, before.Check.Config) || len(ch.Secrets) > 0 {
		m.restartCheck()
	}
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
