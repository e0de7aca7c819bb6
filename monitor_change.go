package allswell

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"
)

// MonitorChange changes the configuration of a monitor. The error is a *ValidationError on what could not be read; all else
// is set. It is applied within the transaction to what is stored, and may be applied more than once.
//
// It gives a page by its slug, without which there is no component, and a component and a parent by id or slug. The store
// resolves them.
type MonitorChange func(*MonitorConfig) error

// NewMonitor returns a monitor as a change makes it: up, and waiting for its first ping. Without a slug, a token or a down
// status, the store gives it one. The error is a *ValidationError with every invalid field.
func NewMonitor(change MonitorChange, now time.Time) (Monitor, error) {
	m := Monitor{
		ID: NewID(PrefixMonitor, now), MonitorStatus: MonitorStatus{State: MonitorUp}, CreatedAt: now, UpdatedAt: now,
	}
	m.Reset(MonitorHeartbeat)
	err := change(&m.MonitorConfig)
	m.complete()
	return m, m.invalid(nil, now, err)
}

// Change applies a change, and what follows from it for the status. A value that does not change is not refused: it stays,
// even if it would not be accepted today. The error is a *ValidationError with every invalid field; the monitor must not be
// used then.
func (m *Monitor) Change(change MonitorChange, now time.Time) error {
	before := *m
	err := change(&m.MonitorConfig)
	m.PageID = before.PageID // which follows from the slug
	m.complete()
	if err = m.invalid(&before.MonitorConfig, now, err); err != nil {
		return err
	}
	m.follow(before, now)
	return nil
}

// MonitorOf returns the change that makes an enabled monitor what v says. Fields that are zero have their defaults or, if
// Reset keeps them, stay.
func MonitorOf(v MonitorConfig) MonitorChange {
	return func(c *MonitorConfig) error {
		c.Reset(cmp.Or(v.Type, MonitorHeartbeat))
		kept := *c
		*c = v
		c.Type, c.Enabled, c.PausedUntil = kept.Type, true, time.Time{}
		c.Slug, c.Token, c.DownStatus = cmp.Or(v.Slug, kept.Slug), cmp.Or(v.Token, kept.Token), cmp.Or(v.DownStatus, kept.DownStatus)
		c.Interval = cmp.Or(v.Interval, v.Cron.Longest(), kept.Interval)
		c.Grace = cmp.Or(v.Grace, defaultGrace(v.Cron))
		c.RunConditions = v.WithDefaults()
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
		c.Check.SecretFields = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(kept.Check.SecretFields), maps.Keys(v.Check.Secrets)))))
		return nil
	}
}

// Reset gives the configuration the defaults of a type. It keeps the slug, the token and the fields of a check, which have
// secrets; the end of a pause; and the down status: its default depends on the other monitors of the component, so that
// repeating a request could change it.
func (m *MonitorConfig) Reset(t MonitorType) {
	*m = MonitorConfig{
		Type: t, Slug: m.Slug, Token: m.Token, Enabled: true, PausedUntil: m.PausedUntil, DownStatus: m.DownStatus,
		RunConditions: RunConditions{}.WithDefaults(),
		Check:         CheckSpec{Config: m.Check.Config, Secrets: m.Check.Secrets, SecretFields: m.Check.SecretFields},
	}
	if t.IsCheck() {
		m.Interval = DefaultCheckInterval
		m.Check.RecoveryThreshold, m.Check.ConfirmFrom = DefaultRecoveryThreshold, 1
	}
}

// Reschedule sets the interval, or the Cron if it is not zero. If the kind of the schedule changes, the grace is the
// default of the new one.
func (m *MonitorConfig) Reschedule(interval time.Duration, cron Cron) {
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
func defaultGrace(cron Cron) time.Duration {
	if cron.IsZero() {
		return 0
	}
	return DefaultCronGrace
}

// DefaultDownStatus returns the down status of a new monitor. One silent job of several does not
// make its component a major outage, so a monitor that shares a component gets
// StatusPartialOutage. others is the number of other monitors of the component; componentID is ""
// for a monitor without a component.
func DefaultDownStatus(componentID string, others int) Status {
	if componentID != "" && others == 0 {
		return StatusMajorOutage
	}
	return StatusPartialOutage
}

// complete sets the defaults that depend on other fields, and puts values into their form.
func (m *MonitorConfig) complete() {
	m.Tags = SortTags(m.Tags)
	if m.IsCheck() {
		m.Check = m.Check.WithDefaults(m.Interval)
	}
}

// follow changes the status as follows from a change of the configuration. Enabling a monitor or changing its schedule
// begins a new wait. A monitor that is disabled is up: its outage ends. A new schedule does not end an outage; only a ping
// does. If a check is enabled or disabled, or its configuration or a secret changes, its results are counted from zero.
func (m *Monitor) follow(before Monitor, now time.Time) {
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

// invalid returns a *ValidationError with every invalid field, after those that could not be read, which err says. Values
// that are those of before are not checked; nil: the monitor is new.
func (m MonitorConfig) invalid(before *MonitorConfig, now time.Time, err error) error {
	var bad ValidationError
	was := MonitorConfig{}
	if before != nil {
		was = *before
	}
	changed := func(now, was any) bool { return before == nil || !reflect.DeepEqual(now, was) }
	switch {
	case before != nil && m.Type != was.Type:
		bad.Add("type", "The type of a monitor cannot be changed.")
		return bad.Err()
	case m.IsCheck():
		m.refuseHeartbeatFields(&bad)
		if changed(m.Check, was.Check) || changed(m.Interval, was.Interval) {
			m.Check.check(&bad, m.Interval)
		}
	default:
		m.refuseCheckFields(&bad)
		if before != nil && m.Token != was.Token {
			bad.Add("token", "The token of a monitor cannot be changed. Rotate it to get a new one.")
		} else if before == nil {
			checkPingToken(&bad, m.Token)
		}
		if m.Cron.IsZero() && changed(m.Interval, was.Interval) {
			checkInterval(&bad, m.Interval)
		} else if changed(m.Cron, was.Cron) {
			m.Cron.validate(&bad)
		}
	}
	if before == nil {
		CheckOptionalSlug(&bad, m.Slug)
	} else if m.Slug != was.Slug {
		checkSlug(&bad, m.Slug)
	}
	if changed(m.Name, was.Name) {
		CheckLine(&bad, "name", m.Name, MaxNameLength)
	}
	if m.PageSlug == "" && m.ComponentID != "" && (before == nil || m.PageSlug != was.PageSlug || m.ComponentID != was.ComponentID) {
		bad.Add("page", "field is required with a %s", Name("component_id"))
	}
	if m.Enabled && !m.PausedUntil.IsZero() {
		bad.Add("paused_until", "cannot be given for a monitor that is enabled")
	} else if changed(m.PausedUntil, was.PausedUntil) {
		checkPause(&bad, m.PausedUntil, now)
	}
	if changed(m.Tags, was.Tags) {
		CheckTags(&bad, m.Tags)
	}
	m.checkCounting(&bad, was)
	m.checkRuns(&bad, was)
	return JoinUnread(err, bad.Err())
}

// checkCounting checks when the monitor is down, how late pings may come, and what an outage does.
func (m MonitorConfig) checkCounting(bad *ValidationError, was MonitorConfig) {
	if m.Grace != was.Grace && (m.Grace < 0 || m.Grace > MaxGrace || m.Grace%time.Second != 0) {
		bad.Add("grace", "must be a whole number of seconds from 0 to %d", MaxGrace/time.Second)
	}
	if m.FailureThreshold != 0 && m.FailureThreshold != was.FailureThreshold {
		CheckThreshold(bad, m.FailureThreshold)
	}
	if m.DownStatus != was.DownStatus && !slices.Contains(DownStatuses, m.DownStatus) {
		bad.Add("down_status", "must be one of: %s", JoinValues(DownStatuses))
	}
	if m.AutoIncidents != "" && m.AutoIncidents != was.AutoIncidents {
		checkAutoIncidents(bad, m.AutoIncidents)
	}
}

// checkRuns checks the conditions on runs.
func (m MonitorConfig) checkRuns(bad *ValidationError, was MonitorConfig) {
	if m.MaxRuntime != 0 && m.MaxRuntime != was.MaxRuntime {
		CheckRuntime(bad, "max_runtime", m.MaxRuntime)
	}
	if m.MinRuntime != 0 && m.MinRuntime != was.MinRuntime {
		CheckRuntime(bad, "min_runtime", m.MinRuntime)
	}
	if m.MaxPerInterval != 0 && m.MaxPerInterval != was.MaxPerInterval {
		CheckMaxPerInterval(bad, m.MaxPerInterval)
	}
	for _, condition := range Conditions {
		if !slices.Contains(ConditionActions, m.Action(condition)) {
			bad.Add(string(condition)+"_action", "must be one of: %s", JoinValues(ConditionActions))
		}
	}
	if m.MaxRuntime > 0 && m.MinRuntime > m.MaxRuntime {
		bad.Add("min_runtime", "must not be longer than the %s", Name("max_runtime"))
	}
}

func checkInterval(bad *ValidationError, d time.Duration) {
	if d < MinInterval || d > MaxInterval || d%time.Second != 0 {
		bad.Add("interval", "must be a whole number of seconds from %d to %d",
			MinInterval/time.Second, MaxInterval/time.Second)
	}
}

// CheckRuntime adds an error if d cannot be the limit of a run.
func CheckRuntime(bad *ValidationError, field string, d time.Duration) {
	if d <= 0 || d > MaxRuntime || d%time.Second != 0 {
		bad.Add(field, "must be a whole number of seconds from 1 to %d", MaxRuntime/time.Second)
	}
}

// CheckMaxPerInterval adds an error if n cannot be the maximum number of runs.
func CheckMaxPerInterval(bad *ValidationError, n int) {
	if n < 1 || n > MaxPerInterval {
		bad.Add("max_per_interval", "must be from 1 to %d", MaxPerInterval)
	}
}

// CheckThreshold adds an error if n cannot be the failure threshold of a monitor.
func CheckThreshold(bad *ValidationError, n int) {
	if n < 1 || n > MaxFailureThreshold {
		bad.Add("failure_threshold", "must be from 1 to %d", MaxFailureThreshold)
	}
}
