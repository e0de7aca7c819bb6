package allswell_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/resource"
)

// refusedFields returns the names of the fields that an error refuses.
func refusedFields(err error) string {
	var bad *allswell.ValidationError
	if !errors.As(err, &bad) {
		return fmt.Sprint(err)
	}
	return fmt.Sprint(slices.Sorted(maps.Keys(bad.Messages())))
}

// TestFieldsOfTheOtherKind checks that each field of a heartbeat is refused for a check, each of a check for a heartbeat, and
// none whose value says the same as its absence.
func TestFieldsOfTheOtherKind(t *testing.T) {
	heartbeat := allswell.Monitor{
		MonitorConfig: allswell.MonitorConfig{Type: allswell.MonitorHeartbeat, Enabled: true, Interval: time.Hour},
		MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp},
	}
	cron := allswell.Cron{Expression: "0 * * * *", TimeZone: "UTC"}
	for field, set := range map[string]func(*allswell.MonitorConfig){
		"schedule": func(c *allswell.MonitorConfig) { c.Cron = cron }, "grace": func(c *allswell.MonitorConfig) { c.Grace = time.Minute },
		"max_runtime": func(c *allswell.MonitorConfig) { c.MaxRuntime = time.Minute }, "publish_output": func(c *allswell.MonitorConfig) { c.PublishOutput = true },
		"min_runtime": func(c *allswell.MonitorConfig) { c.MinRuntime = time.Minute }, "max_per_interval": func(c *allswell.MonitorConfig) { c.MaxPerInterval = 1 },
		"no_overlap": func(c *allswell.MonitorConfig) { c.NoOverlap = true }, "type": func(c *allswell.MonitorConfig) { c.Type = "tcp" },
		"token": func(c *allswell.MonitorConfig) { c.Token = "0123456789abcdef0123456789abcdef" },
	} {
		changed := checkedMonitor()
		change := func(c *allswell.MonitorConfig) error {
			set(c)
			return nil
		}
		if got := refusedFields(resource.ChangeMonitor(&changed, change, epoch)); got != "["+field+"]" {
			t.Errorf("%s of a check: %s", field, got)
		}
		created := allswell.MonitorConfig{Type: "http", Name: "Shop", Interval: time.Minute}
		set(&created)
		if got := refusedFields(newRefusal(allswell.MonitorOf(created))); got != "["+field+"]" && field != "type" && field != "schedule" {
			t.Errorf("%s of a new check: %s", field, got)
		}
	}
	if got := refusedFields(newRefusal(allswell.MonitorOf(allswell.MonitorConfig{Type: "http", Name: "Shop", Cron: cron}))); got != "[grace schedule]" {
		t.Errorf("the times of a new check: %s", got)
	}

	config := json.RawMessage(`{}`)
	for field, set := range map[string]func(*allswell.CheckSpec){
		"timeout": func(c *allswell.CheckSpec) { c.Timeout = time.Second }, "slow_after": func(c *allswell.CheckSpec) { c.SlowAfter = time.Second },
		"recovery_threshold": func(c *allswell.CheckSpec) { c.RecoveryThreshold = 1 }, "confirm_from": func(c *allswell.CheckSpec) { c.ConfirmFrom = 1 },
		"type": func(c *allswell.CheckSpec) { c.Config = config },
	} {
		m := heartbeat
		if got := refusedFields(resource.ChangeMonitor(&m, func(c *allswell.MonitorConfig) error { set(&c.Check); return nil }, epoch)); got != "["+field+"]" {
			t.Errorf("%s of a heartbeat: %s", field, got)
		}
	}
	change(t, &heartbeat, func(c *allswell.MonitorConfig) error { c.Check.SlowAfter = 0; return nil }, epoch)
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
	c := allswell.CheckSpec{SecretFields: []string{"password", "token"}, Secrets: secrets("password", `"p"`, "token", `"t"`)}
	for name, change := range map[string]struct {
		given, want map[string]json.RawMessage
		fields      string
	}{
		"nothing":       {nil, c.Secrets, "[password token]"},
		"one is new":    {secrets("a", `"x"`), secrets("a", `"x"`, "password", `"p"`, "token", `"t"`), "[a password token]"},
		"one is other":  {secrets("token", `"x"`), secrets("password", `"p"`, "token", `"x"`), "[password token]"},
		"one is same":   {secrets("token", ` "t" `), c.Secrets, "[password token]"},
		"one is gone":   {secrets("token", " null"), secrets("password", `"p"`), "[password]"},
		"all are gone":  {secrets("token", "null", "password", "null"), secrets(), "[]"},
		"none was gone": {secrets("b", "null"), c.Secrets, "[password token]"},
	} {
		m := checkedMonitor(func(m *allswell.Monitor) { m.Check.SecretFields, m.Check.Secrets = c.SecretFields, c.Secrets })
		before := allswell.EntityTag(resource.Monitor.Audited(m))
		err := resource.ChangeMonitor(&m, func(c *allswell.MonitorConfig) error { setSecrets(c, change.given); return nil }, epoch)
		got := m.Check
		if err != nil || fmt.Sprint(got.SecretFields) != change.fields || !maps.EqualFunc(got.Secrets, change.want, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Errorf("%s: fields %v, secrets %s, %v", name, got.SecretFields, got.Secrets, err)
		}
		if same := maps.Equal(stringsOf(change.want), stringsOf(c.Secrets)); (allswell.EntityTag(resource.Monitor.Audited(m)) == before) != same {
			t.Errorf("%s: the entity tag changes: %t", name, allswell.EntityTag(resource.Monitor.Audited(m)) != before)
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
	healthy := func(m *allswell.Monitor) { m.CheckState.Status = allswell.CheckOK }
	if !checkedMonitor(healthy).Healthy() {
		t.Error("a monitor that is up is not healthy")
	}
	for name, change := range map[string]func(*allswell.Monitor){
		"disabled": func(m *allswell.Monitor) { m.Enabled = false }, "down": func(m *allswell.Monitor) { m.State = allswell.MonitorDown },
		"failing": func(m *allswell.Monitor) { m.ConsecutiveFailures = 1 }, "new": func(m *allswell.Monitor) { m.CheckState.Status = "" },
		"failed": func(m *allswell.Monitor) { m.CheckState.Status = allswell.CheckFailed }, "slowing": func(m *allswell.Monitor) { m.CheckState.Slow = 1 },
		"slow": func(m *allswell.Monitor) { m.CheckState.SlowSince = epoch }, "unknown": func(m *allswell.Monitor) { m.CheckState.UnknownSince = epoch },
		"a round with a failure": func(m *allswell.Monitor) { m.CheckState.Round.Failed = []string{""} },
		"a round without one":    func(m *allswell.Monitor) { m.CheckState.Round.Unknown = []string{"a"} },
		"a round that counted":   func(m *allswell.Monitor) { m.CheckState.Round.Counted = true },
		"warned":                 func(m *allswell.Monitor) { m.Warned = []allswell.Condition{allswell.ConditionCertificateExpiry} },
		"of a long interval":     func(m *allswell.Monitor) { m.Interval = allswell.MaxCheckInterval },
	} {
		if checkedMonitor(healthy, change).Healthy() {
			t.Errorf("%s: healthy", name)
		}
	}
}
