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
		MonitorConfig: allswell.MonitorConfig{Enabled: true, Interval: time.Hour},
		MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp},
	}
	cron := allswell.Cron{Expression: "0 * * * *", TimeZone: "UTC"}
	conditions := func(ch allswell.ConditionsChange) allswell.MonitorChange {
		return allswell.MonitorChange{Conditions: ch}
	}
	for field, ch := range map[string]allswell.MonitorChange{
		"cron": {Cron: &cron}, "grace": {Grace: new(time.Minute)}, "max_runtime": {MaxRuntime: new(time.Minute)}, "publish_output": {PublishOutput: new(true)},
		"min_runtime":      conditions(allswell.ConditionsChange{MinRuntime: new(time.Minute)}),
		"max_per_interval": conditions(allswell.ConditionsChange{MaxPerInterval: new(1)}),
		"no_overlap":       conditions(allswell.ConditionsChange{NoOverlap: new(true)}),
		"type":             {Type: "tcp"},
	} {
		if got := refusedFields(ch.ValidateFor(checkedMonitor())); got != "["+field+"]" {
			t.Errorf("%s of a check: %s", field, got)
		}
	}
	nothing := allswell.MonitorChange{
		Type: "http", Cron: &allswell.Cron{}, Grace: new(time.Duration(0)), MaxRuntime: new(time.Duration(0)), PublishOutput: new(false),
		Conditions: allswell.ConditionsChange{MinRuntime: new(time.Duration(0)), MaxPerInterval: new(0), NoOverlap: new(false)},
	}
	if err := nothing.ValidateFor(checkedMonitor()); err != nil {
		t.Errorf("a check without fields of a heartbeat: %v", err)
	}
	for field, n := range map[string]allswell.NewMonitor{
		"grace": {Grace: new(time.Minute)}, "max_runtime": {MaxRuntime: time.Minute}, "publish_output": {PublishOutput: true}, "token": {Token: "0123456789abcdef0123456789abcdef"},
		"min_runtime": {RunConditions: allswell.RunConditions{MinRuntime: time.Minute}}, "no_overlap": {RunConditions: allswell.RunConditions{NoOverlap: true}},
		"max_per_interval": {RunConditions: allswell.RunConditions{MaxPerInterval: 1}},
	} {
		n.Type, n.Name, n.Interval = "http", "Shop", time.Minute
		if got := refusedFields(n.Validate()); got != "["+field+"]" {
			t.Errorf("%s of a new check: %s", field, got)
		}
	}
	if got := refusedFields((allswell.NewMonitor{Type: "http", Name: "Shop", Cron: cron}).Validate()); got != "[cron interval]" && got != "[cron]" {
		t.Errorf("the times of a new check: %s", got)
	}

	config := json.RawMessage(`{}`)
	for _, c := range []struct {
		field string
		ch    allswell.CheckChange
	}{
		{"timeout", allswell.CheckChange{Timeout: new(time.Second)}}, {"timeout", allswell.CheckChange{Timeout: new(time.Duration(0))}},
		{"slow_after", allswell.CheckChange{SlowAfter: new(time.Second)}}, {"recovery_threshold", allswell.CheckChange{RecoveryThreshold: new(1)}},
		{"confirm_from", allswell.CheckChange{ConfirmFrom: new(1)}}, {"type", allswell.CheckChange{Config: config}},
		{"type", allswell.CheckChange{Secrets: map[string]json.RawMessage{"password": config}}},
	} {
		if got := refusedFields(allswell.MonitorChange{Check: c.ch}.ValidateFor(heartbeat)); got != "["+c.field+"]" {
			t.Errorf("%s of a heartbeat: %s", c.field, got)
		}
		if c.ch.IsZero() {
			t.Errorf("a change of %s is no change", c.field)
		}
	}
	for _, ch := range []allswell.MonitorChange{{}, {Type: heartbeat.Type}, {Check: allswell.CheckChange{SlowAfter: new(time.Duration(0))}}} {
		if err := ch.ValidateFor(heartbeat); err != nil {
			t.Errorf("%+v of a heartbeat: %v", ch, err)
		}
	}
	if ch := (allswell.CheckChange{SlowAfter: new(time.Duration(0))}); ch.IsZero() || !(allswell.CheckChange{}).IsZero() {
		t.Error("a change is none, or no change is one")
	}
}

// TestSecretsOfAChange checks which secrets a check has after a change, that only those of the change are stored, and that a
// secret which is missing is named.
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
		"nothing":       {nil, nil, "[password token]"},
		"one is new":    {secrets("a", `"x"`), secrets("a", `"x"`), "[a password token]"},
		"one is other":  {secrets("token", `"x"`), secrets("token", `"x"`), "[password token]"},
		"one is gone":   {secrets("token", " null"), secrets(), "[password]"},
		"all are gone":  {secrets("token", "null", "password", "null"), secrets(), "[]"},
		"none was gone": {secrets("b", "null"), secrets(), "[password token]"},
	} {
		got := allswell.CheckChange{Secrets: change.given}.ApplyTo(c, time.Minute)
		if fmt.Sprint(got.SecretFields) != change.fields || !maps.EqualFunc(got.Secrets, change.want, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Errorf("%s: fields %v, secrets %s", name, got.SecretFields, got.Secrets)
		}
		m := checkedMonitor(func(m *allswell.Monitor) { m.Check.SecretFields = c.SecretFields })
		before := allswell.EntityTag(m)
		if m.Apply(allswell.MonitorChange{Check: allswell.CheckChange{Secrets: change.given}}, epoch); (allswell.EntityTag(m) == before) != (change.given == nil) {
			t.Errorf("%s: the entity tag changes: %t", name, allswell.EntityTag(m) != before)
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
