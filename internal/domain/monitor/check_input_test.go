package monitor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
)

// refusedFields returns the names of the fields that an error refuses.
func refusedFields(err error) string {
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) {
		return fmt.Sprint(err)
	}
	return fmt.Sprint(slices.Sorted(maps.Keys(bad.Messages())))
}

// TestFieldsOfHeartbeatsOfACheck checks that each field of a heartbeat is refused for a check.
func TestFieldsOfHeartbeatsOfACheck(t *testing.T) {
	cron := schedule.Cron{Expression: "0 * * * *", TimeZone: "UTC"}
	for field, set := range map[string]func(*monitor.MonitorConfig){
		"schedule":         func(c *monitor.MonitorConfig) { c.Cron = cron },
		"grace":            func(c *monitor.MonitorConfig) { c.Grace = time.Minute },
		"max_runtime":      func(c *monitor.MonitorConfig) { c.MaxRuntime = time.Minute },
		"publish_output":   func(c *monitor.MonitorConfig) { c.PublishOutput = true },
		"min_runtime":      func(c *monitor.MonitorConfig) { c.MinRuntime = time.Minute },
		"max_per_interval": func(c *monitor.MonitorConfig) { c.MaxPerInterval = 1 },
		"no_overlap":       func(c *monitor.MonitorConfig) { c.NoOverlap = true },
		"type":             func(c *monitor.MonitorConfig) { c.Type = "tcp" },
		"token":            func(c *monitor.MonitorConfig) { c.Token = "0123456789abcdef0123456789abcdef" },
	} {
		changed := checkedMonitor()
		change := func(c *monitor.MonitorConfig) error {
			set(c)
			return nil
		}
		if got := refusedFields(resource.ChangeMonitor(&changed, change, domaintest.Epoch)); got != "["+field+"]" {
			t.Errorf("%s of a check: %s", field, got)
		}
		created := monitor.MonitorConfig{Type: "http", Name: "Shop", Interval: time.Minute}
		set(&created)
		got := refusedFields(domaintest.MonitorRefusal(monitor.MonitorOf(created)))
		if got != "["+field+"]" && field != "type" && field != "schedule" {
			t.Errorf("%s of a new check: %s", field, got)
		}
	}
	withCron := monitor.MonitorOf(monitor.MonitorConfig{Type: "http", Name: "Shop", Cron: cron})
	if got := refusedFields(domaintest.MonitorRefusal(withCron)); got != "[grace schedule]" {
		t.Errorf("the times of a new check: %s", got)
	}
}

// TestFieldsOfChecksOfAHeartbeat checks that each field of a check is refused for a heartbeat, unless its value says
// the same as its absence.
func TestFieldsOfChecksOfAHeartbeat(t *testing.T) {
	heartbeat := monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{Type: monitor.MonitorHeartbeat, Enabled: true, Interval: time.Hour},
		MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
	}
	config := json.RawMessage(`{}`)
	for field, set := range map[string]func(*monitor.CheckSpec){
		"timeout":            func(c *monitor.CheckSpec) { c.Timeout = time.Second },
		"slow_after":         func(c *monitor.CheckSpec) { c.SlowAfter = time.Second },
		"recovery_threshold": func(c *monitor.CheckSpec) { c.RecoveryThreshold = 1 },
		"confirm_from":       func(c *monitor.CheckSpec) { c.ConfirmFrom = 1 },
		"type":               func(c *monitor.CheckSpec) { c.Config = config },
	} {
		m := heartbeat
		change := func(c *monitor.MonitorConfig) error {
			set(&c.Check)
			return nil
		}
		if got := refusedFields(resource.ChangeMonitor(&m, change, domaintest.Epoch)); got != "["+field+"]" {
			t.Errorf("%s of a heartbeat: %s", field, got)
		}
	}
	domaintest.ChangeMonitor(t, &heartbeat, func(c *monitor.MonitorConfig) error {
		c.Check.SlowAfter = 0
		return nil
	}, domaintest.Epoch)
}

// TestSecretsOfAChange checks which secrets a check has after a change, and that a secret which is missing is named.
func TestSecretsOfAChange(t *testing.T) {
	secrets := func(values ...string) map[string]json.RawMessage {
		out := make(map[string]json.RawMessage)
		for i := 0; i < len(values); i += 2 {
			out[values[i]] = json.RawMessage(values[i+1])
		}
		return out
	}
	c := monitor.CheckSpec{
		SecretFields: []string{"password", "token"}, Secrets: secrets("password", `"p"`, "token", `"t"`),
	}
	for name, change := range map[string]struct {
		given, want map[string]json.RawMessage
		fields      string
	}{
		"nothing": {nil, c.Secrets, "[password token]"},
		"one is new": {secrets("a", `"x"`), secrets("a", `"x"`, "password", `"p"`, "token", `"t"`),
			"[a password token]"},
		"one is other":  {secrets("token", `"x"`), secrets("password", `"p"`, "token", `"x"`), "[password token]"},
		"one is same":   {secrets("token", ` "t" `), c.Secrets, "[password token]"},
		"one is gone":   {secrets("token", " null"), secrets("password", `"p"`), "[password]"},
		"all are gone":  {secrets("token", "null", "password", "null"), secrets(), "[]"},
		"none was gone": {secrets("b", "null"), c.Secrets, "[password token]"},
	} {
		m := checkedMonitor(func(m *monitor.Monitor) {
			m.Check.SecretFields, m.Check.Secrets = c.SecretFields, c.Secrets
		})
		before := kernel.EntityTag(resource.Monitor.Audited(m))
		err := resource.ChangeMonitor(&m, func(c *monitor.MonitorConfig) error {
			domaintest.SetSecrets(c, change.given)
			return nil
		}, domaintest.Epoch)
		got := m.Check
		if err != nil || fmt.Sprint(got.SecretFields) != change.fields ||
			!maps.EqualFunc(got.Secrets, change.want, func(a, b json.RawMessage) bool {
				return string(a) == string(b)
			}) {
			t.Errorf("%s: fields %v, secrets %s, %v", name, got.SecretFields, got.Secrets, err)
		}
		same := maps.Equal(stringsOf(change.want), stringsOf(c.Secrets))
		if (kernel.EntityTag(resource.Monitor.Audited(m)) == before) != same {
			t.Errorf("%s: the entity tag changes: %t", name, kernel.EntityTag(resource.Monitor.Audited(m)) != before)
		}
	}
	if err := c.HasSecrets(); err != nil {
		t.Error(err)
	}
	c.Secrets = secrets("token", `"t"`)
	if got := refusedFields(c.HasSecrets()); got != "[password]" {
		t.Errorf("a missing secret: %s", got)
	}
}

func stringsOf(values map[string]json.RawMessage) map[string]string {
	out := make(map[string]string)
	for field, value := range values {
		out[field] = string(value)
	}
	return out
}

// TestHealthy checks that a good result changes something in every state but one.
func TestHealthy(t *testing.T) {
	healthy := func(m *monitor.Monitor) { m.CheckState.Status = monitor.CheckOK }
	if !checkedMonitor(healthy).Healthy() {
		t.Error("a monitor that is up is not healthy")
	}
	for name, change := range map[string]func(*monitor.Monitor){
		"disabled": func(m *monitor.Monitor) {
			m.Enabled = false
		}, "down": func(m *monitor.Monitor) { m.State = monitor.MonitorDown },
		"failing": func(m *monitor.Monitor) {
			m.ConsecutiveFailures = 1
		}, "new": func(m *monitor.Monitor) { m.CheckState.Status = "" },
		"failed": func(m *monitor.Monitor) {
			m.CheckState.Status = monitor.CheckFailed
		}, "slowing": func(m *monitor.Monitor) { m.CheckState.Slow = 1 },
		"slow": func(m *monitor.Monitor) {
			m.CheckState.SlowSince = domaintest.Epoch
		}, "unknown": func(m *monitor.Monitor) { m.CheckState.UnknownSince = domaintest.Epoch },
		"a round with a failure": func(m *monitor.Monitor) { m.CheckState.Round.Failed = []string{""} },
		"a round without one":    func(m *monitor.Monitor) { m.CheckState.Round.Unknown = []string{"a"} },
		"a round that counted":   func(m *monitor.Monitor) { m.CheckState.Round.Counted = true },
		"warned": func(m *monitor.Monitor) {
			m.Warned = []monitor.Condition{monitor.ConditionCertificateExpiry}
		},
		"of a long interval": func(m *monitor.Monitor) { m.Interval = monitor.MaxCheckInterval },
	} {
		if checkedMonitor(healthy, change).Healthy() {
			t.Errorf("%s: healthy", name)
		}
	}
}
