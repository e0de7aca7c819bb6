package monitors

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// monitorTypeName returns the name of a type of monitors for people.
func monitorTypeName(kind monitor.MonitorType) string {
	if t, ok := check.TypeOf(kind); ok {
		return t.Label
	}
	return "Heartbeat"
}

// monitorTarget returns the target of a monitor as short text; "": it waits for pings.
func monitorTarget(m monitor.Monitor) string {
	var config struct {
		URL, Host string
		Port      int
	}
	if !m.IsCheck() || json.Unmarshal(m.Check.Config, &config) != nil {
		return ""
	}
	switch {
	case config.URL != "":
		return config.URL
	case config.Port > 0:
		return fmt.Sprintf("%s:%d", config.Host, config.Port)
	}
	return config.Host
}

// countingFields are the form fields of a check that determine when a result counts.
func countingFields(threshold int) []frame.Field {
	fields := monitorFields("timeout", "slow_after", "failure_threshold", "recovery_threshold", "confirm_from")
	fields[2].Placeholder = strconv.Itoa(threshold)
	fields[2].Hint = thresholdHint("Consecutive failures", threshold)
	for i := range fields[2:] {
		fields[2+i].InputMode = "numeric"
	}
	return fields
}

// setCheckValues sets the values of the fields of a check that are not set from the description of monitors.
func setCheckValues(values url.Values, m monitor.Monitor) {
	if m.Check.SlowAfter > 0 {
		values.Set("slow_after", m.Check.SlowAfter.String())
	}
	t, _ := check.TypeOf(m.Type)
	frame.SetTypeValues(values, t.Fields, m.Check.Config)
}

// defaultCheckValues sets the defaults of flags and choices, which forms show.
func defaultCheckValues(values url.Values, t check.Type) {
	values.Set("interval", "1m")
	frame.SetTypeDefaults(values, t.Fields)
}

// readCheck reads into c the fields that all checks have and that are not in the description of monitors. It returns
// the typed fields of the type; null removes one.
func readCheck(
	typed url.Values, t check.Type, c *monitor.MonitorConfig, bad *kernel.ValidationError,
) (map[string]json.RawMessage, error) {
	interval, ok := readDuration(typed, "interval", bad)
	if c.Interval = interval; ok && interval == 0 {
		monitor.CheckCheckInterval(bad, interval)
	}
	if text := strings.ReplaceAll(typed.Get("slow_after"), " ", ""); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			bad.Add("slow_after", "must be a duration, such as 800ms or 2s")
		}
		c.Check.SlowAfter = d
	}
	fields, secrets, err := frame.ReadTypeFields(typed, t.Fields, nil)
	if fields != nil {
		maps.Copy(fields, secrets)
	}
	return fields, err
}

// testCheck runs a check once.
func (r *request) testCheck(kind monitor.MonitorType, spec monitor.CheckSpec) (*checkResult, error) {
	if r.Tests == nil {
		return nil, frame.ErrNoTests
	}
	result, err := r.Tests.Test(r.Context(), r.Actor().WorkspaceID, kind, spec)
	if err != nil {
		return nil, frame.TooManyTests(err)
	}
	return &checkResult{result}, nil
}

// checkResult is a result with texts for people.
type checkResult struct{ monitor.CheckResult }

// resultNames are the words for the statuses of results.
var resultNames = map[monitor.CheckStatus]string{
	monitor.CheckOK: "OK", monitor.CheckSlow: "Slow", monitor.CheckFailed: "Failed", monitor.CheckUnknown: "Unknown",
}

// Label returns the status of the result, for people.
func (r checkResult) Label() string { return resultNames[r.Status] }

// Summary says what the check found, with how long it took or why it failed: "OK · 1.5 ms", "Failed · no answer".
func (r checkResult) Summary() string {
	if r.explained() {
		return r.Label() + " · " + r.Reason
	}
	return r.Label() + " · " + r.Took()
}

// explained reports whether Summary says the reason.
func (r checkResult) explained() bool {
	return r.Reason != "" && (r.Status == monitor.CheckFailed || r.Status == monitor.CheckUnknown)
}

// Warns returns the warning of a good result; "": it has none.
func (r checkResult) Warns() string {
	if r.explained() {
		return ""
	}
	return r.Reason
}

// Tone returns the name of the tone of the result.
func (r checkResult) Tone() string {
	switch {
	case r.Status == monitor.CheckOK && !r.Warning:
		return kernel.StatusOperational.Tone().Name
	case r.Status == monitor.CheckFailed:
		return kernel.StatusMajorOutage.Tone().Name
	case r.Status == monitor.CheckUnknown:
		return kernel.NeutralTone.Name
	default:
		return kernel.StatusDegraded.Tone().Name
	}
}

// Took returns the duration of the whole check.
func (r checkResult) Took() string { return shortTime(r.Phases.Total) }

// Parts returns the durations of the phases of the check.
func (r checkResult) Parts() (all [][2]string) {
	for _, p := range []struct {
		label string
		took  time.Duration
	}{
		{"DNS", r.Phases.DNS}, {"Connect", r.Phases.Connect}, {"TLS", r.Phases.TLS},
		{"First byte", r.Phases.FirstByte}, {"Total", r.Phases.Total},
	} {
		if p.took > 0 {
			all = append(all, [2]string{p.label, shortTime(p.took)})
		}
	}
	return all
}

// shortTime returns how long a part of a check took: "0.6 ms", "12 ms", "1.20 s".
func shortTime(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 0, 64) + " ms"
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
}
