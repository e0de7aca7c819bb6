package monitor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// MonitorChange changes the configuration of a monitor. The error is a *ValidationError with the fields that could not
// be read; the change sets all others. It is applied within the transaction to the stored configuration, and may be
// applied more than once.
//
// It names the page by its slug, without which there is no component, and a component and a parent by id or slug. The
// store resolves them.
type MonitorChange func(*MonitorConfig) error

// MonitorOf returns the change that gives an enabled monitor the configuration v. Fields of v that are zero get their
// defaults, or keep their values if Reset keeps them.
func MonitorOf(v MonitorConfig) MonitorChange {
	return func(c *MonitorConfig) error {
		c.Reset(cmp.Or(v.Type, MonitorHeartbeat))
		kept := *c
		*c = v
		c.Type, c.Enabled, c.PausedUntil = kept.Type, true, time.Time{}
		c.Slug, c.Token, c.DownStatus = cmp.Or(v.Slug, kept.Slug), cmp.Or(v.Token, kept.Token),
			cmp.Or(v.DownStatus, kept.DownStatus)
		c.Interval = cmp.Or(v.Interval, v.Cron.Longest(), kept.Interval)
		c.Grace = cmp.Or(v.Grace, defaultGrace(v.Cron))
		if c.RunConditions = v.RunConditions; !c.IsCheck() {
			c.RunConditions = v.WithDefaults()
		}
		c.Check.RecoveryThreshold = cmp.Or(v.Check.RecoveryThreshold, kept.Check.RecoveryThreshold)
		c.Check.ConfirmFrom = cmp.Or(v.Check.ConfirmFrom, kept.Check.ConfirmFrom)
		if v.Check.Config == nil {
			c.Check.Config = kept.Check.Config
		}
		c.Check.Secrets = maps.Clone(kept.Check.Secrets)
		if len(v.Check.Secrets) > 0 && c.Check.Secrets == nil {
			c.Check.Secrets = make(map[string]json.RawMessage)
		}
		maps.Copy(c.Check.Secrets, v.Check.Secrets)
		c.Check.SecretFields =
			slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(kept.Check.SecretFields),
				maps.Keys(v.Check.Secrets)))))
		return nil
	}
}

// Reset gives the configuration the defaults of a type. It keeps the slug, the token, the fields of a check, which have
// secrets, the end of a pause, and the down status. The default of the down status depends on the other monitors of the
// component, so repeating a request could change it.
func (m *MonitorConfig) Reset(t MonitorType) {
	*m = MonitorConfig{
		Type: t, Slug: m.Slug, Token: m.Token, Enabled: true, PausedUntil: m.PausedUntil, DownStatus: m.DownStatus,
		Check: CheckSpec{Config: m.Check.Config, Secrets: m.Check.Secrets, SecretFields: m.Check.SecretFields},
	}
	if t.IsCheck() {
		m.Interval = DefaultCheckInterval
		m.Check.RecoveryThreshold, m.Check.ConfirmFrom = DefaultRecoveryThreshold, 1
	} else {
		m.RunConditions = m.WithDefaults()
	}
}

// Reschedule sets the interval, or the Cron if it is not zero. If the kind of the schedule changes, the grace is the
// default of the new one.
func (m *MonitorConfig) Reschedule(interval time.Duration, cron schedule.Cron) {
	if m.Cron.IsZero() != cron.IsZero() {
		m.Grace = defaultGrace(cron)
	}
	if !cron.IsZero() {
		interval = cron.Longest()
	}
	m.Interval, m.Cron = interval, cron
}

// Enable enables the monitor, which ends a pause, or disables it.
func (m *MonitorConfig) Enable(enabled bool) {
	if m.Enabled = enabled; enabled {
		m.PausedUntil = time.Time{}
	}
}

// defaultGrace returns the grace of a monitor with a Cron, or with an interval if that is zero.
func defaultGrace(cron schedule.Cron) time.Duration {
	if cron.IsZero() {
		return 0
	}
	return DefaultCronGrace
}

// DefaultDownStatus returns the down status of a new monitor. One silent job of several does not make its component a
// major outage, so a monitor that shares a component gets StatusPartialOutage. others is the number of other monitors
// of the component; componentID is "" for a monitor without a component.
func DefaultDownStatus(componentID string, others int) kernel.Status {
	if componentID != "" && others == 0 {
		return kernel.StatusMajorOutage
	}
	return kernel.StatusPartialOutage
}

// Complete sets the defaults that depend on other fields, and sorts the tags.
func (m *MonitorConfig) Complete() {
	m.Tags = SortTags(m.Tags)
	if m.IsCheck() {
		m.Check = m.Check.WithDefaults(m.Interval)
	}
}

// Follow updates the status after a change of the configuration. Enabling a monitor or changing its schedule begins a
// new wait. A monitor that is disabled is up: its outage ends. A new schedule does not end an outage; only a ping does.
// If a check is enabled or disabled, or its configuration or a secret changes, its results are counted from zero.
func (m *Monitor) Follow(before Monitor, now time.Time) {
	if m.Enabled != before.Enabled || m.Interval != before.Interval || m.Cron != before.Cron {
		m.restartWait(now)
	}
	if !m.Enabled {
		m.State = MonitorUp
	}
	if m.IsCheck() {
		secrets := m.Check.changedSecrets(before.Check)
		if len(secrets) == 0 {
			m.Check.Secrets = before.Check.Secrets // in the same form
		}
		m.SecretVersions = m.SecretVersions.Changed(secrets...)
		if m.Enabled != before.Enabled || !bytes.Equal(m.Check.Config, before.Check.Config) || len(secrets) > 0 {
			m.restartCheck()
		}
	}
	m.dropWarned()
}

// AddInvalid adds the problems of fields that depend on each other. Fields that are the same in before are not
// checked; nil: the monitor is new.
func (m MonitorConfig) AddInvalid(before *MonitorConfig, now time.Time, bad *kernel.ValidationError) {
	was := MonitorConfig{}
	if before != nil {
		was = *before
	}
	if m.PageSlug == "" && m.ComponentID != "" &&
		(before == nil || m.PageSlug != was.PageSlug || m.ComponentID != was.ComponentID) {
		bad.Add("page", "field is required with a %s", kernel.Name("component_id"))
	}
	if m.Enabled && !m.PausedUntil.IsZero() {
		bad.Add("paused_until", "cannot be given for a monitor that is enabled")
	} else if before == nil || !m.PausedUntil.Equal(was.PausedUntil) {
		checkPause(bad, m.PausedUntil, now)
	}
	if (before != nil || m.DownStatus != "") && m.DownStatus != was.DownStatus &&
		!slices.Contains(kernel.DownStatuses, m.DownStatus) {
		bad.Add("down_status", "must be one of: %s", kernel.JoinValues(kernel.DownStatuses))
	}
	if m.MaxRuntime > 0 && m.MinRuntime > m.MaxRuntime {
		bad.Add("min_runtime", "must not be longer than the %s", kernel.Name("max_runtime"))
	}
	if m.IsCheck() {
		m.addInvalidCheck(before, bad)
		return
	}
	if m.Type != "" && (m.Check.Config != nil || len(m.Check.SecretFields) > 0) {
		bad.Add("type", "A heartbeat monitor has no fields of a check.")
	}
	if before != nil && m.Token != was.Token {
		bad.Add("token", "The token of a monitor cannot be changed. Rotate it to get a new one.")
	} else if before == nil {
		checkPingToken(bad, m.Token)
	}
	if changed := before == nil || m.Interval != was.Interval || m.Cron != was.Cron; m.Cron.IsZero() && changed {
		checkInterval(bad, m.Interval)
	} else if changed {
		m.Cron.Validate(bad)
	}
}

func checkInterval(bad *kernel.ValidationError, d time.Duration) {
	if d < MinInterval || d > MaxInterval || d%time.Second != 0 {
		bad.Add("interval", "must be a whole number of seconds from %d to %d",
			MinInterval/time.Second, MaxInterval/time.Second)
	}
}

// checkPingToken accepts "", for which a token is made.
func checkPingToken(bad *kernel.ValidationError, token string) {
	if token != "" && !kernel.IsPingToken(token) {
		bad.Add("token", "must be a UUID or have %d to %d letters, digits and hyphens, but not %d",
			kernel.MinPingTokenLength, kernel.MaxPingTokenLength, kernel.PingKeyLength)
	}
}
