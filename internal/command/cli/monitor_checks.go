package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/shared/settings"
)

// newTiming has the flags for the durations of checks, for commands that create or test a monitor.
type newTiming struct {
	Timeout   *time.Duration `placeholder:"DURATION" group:"Of all checks:" help:"Maximum duration of a check, such as 5s; less than the interval. Default: 10s, but at most half the interval."`
	SlowAfter *time.Duration `placeholder:"DURATION" group:"Of all checks:" help:"Response time above which a result is slow, such as 800ms. Default: off."`
}

// counting has the other flags that all checks have.
type counting struct {
	RecoveryThreshold *int `placeholder:"COUNT" group:"Of all checks:" help:"Consecutive good results that end an outage. Default: 1."`
	ConfirmFrom       *int `placeholder:"COUNT" group:"Of all checks:" help:"Number of locations that must find the target failing before a failure counts. Default: 1."`
}

// timing returns the durations of a new check. Zero values mean the defaults.
func (f newTiming) timing() (timeout client.Seconds, slowAfter *client.DecimalSeconds, err error) {
	if f.Timeout != nil {
		if *f.Timeout%time.Second != 0 || *f.Timeout <= 0 {
			return 0, nil, console.UsageErrorf("--timeout must be in whole seconds, such as 5s")
		}
		timeout = client.SecondsOf(*f.Timeout)
	}
	if f.SlowAfter != nil && *f.SlowAfter%time.Millisecond != 0 {
		return 0, nil, console.UsageErrorf("--slow-after must be in whole milliseconds, such as 800ms")
	}
	if f.SlowAfter != nil && *f.SlowAfter != 0 {
		slowAfter = new(client.DecimalSecondsOf(*f.SlowAfter))
	}
	return timeout, slowAfter, nil
}

// hasTarget reports whether the service checks the target of a monitor. Servers from before checks existed send no
// type.
func hasTarget(m *client.Monitor) bool { return m.Type != "" && m.Type != client.MonitorHeartbeat }

// target returns the target of a monitor as short text; "": it waits for pings.
func target(m *client.Monitor) string {
	for _, name := range []string{"url", "host"} {
		text, _ := m.Check[name].(string)
		if port, ok := m.Check["port"].(float64); ok && name == "host" && text != "" {
			text = fmt.Sprintf("%s:%d", text, int(port))
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// parent returns the id of a parent that is given by its id, name or slug; nil if none is given.
func (c *commandContext) parent(given *string) (*string, error) {
	if given == nil {
		return nil, nil
	}
	id, err := c.monitor(*given)
	return &id, err
}

// monitorName returns the name and the id of a monitor; "" for none.
func (c *commandContext) monitorName(id *string) string {
	if id == nil {
		return ""
	}
	m, err := c.api.GetMonitor(c.Ctx, *id)
	if err != nil {
		return *id
	}
	return m.Name + " (" + m.ID + ")"
}

// printCheck prints what a new monitor does.
func (c *commandContext) printCheck(m *client.Monitor) {
	failures := "the first failure"
	if n := threshold(m); n > 1 {
		failures = fmt.Sprintf("%d consecutive failures", n)
	}
	c.Printf("The monitor %s is %s. %s is checked %s, and the monitor is down after %s.\n", console.Visible(m.Name),
		console.Visible(m.ID), console.Visible(cmp.Or(target(m), "Its target")),
		kernel.EveryDuration(m.Interval.Duration()), failures)
}

// showCheck prints a monitor whose target is checked.
func (c *commandContext) showCheck(m *client.Monitor, component string) error {
	properties := [][2]string{
		{"Monitor", m.Name}, {"Id", m.ID}, {"Slug", m.Slug}, {"Type", string(m.Type)}, {"State", monitorState(m)},
		{"Incident", optional.Value(m.IncidentID)},
	}
	properties = append(properties, checkProperties(m)...)
	slowAfter := ""
	if m.SlowAfter != nil {
		slowAfter = m.SlowAfter.Duration().String()
	}
	confirm := ""
	if optional.Value(m.ConfirmFrom) > 1 {
		confirm = fmt.Sprintf("%d locations", *m.ConfirmFrom)
	}
	properties = append(properties, [2]string{"Interval", settings.ShortDuration(m.Interval.Duration())},
		[2]string{"Timeout", settings.ShortDuration(optional.Value(m.Timeout).Duration())},
		[2]string{"Slow after", slowAfter}, [2]string{"Failure threshold", thresholdText(m)},
		[2]string{"Recovery threshold", fmt.Sprint(optional.Value(m.RecoveryThreshold))},
		[2]string{"Confirmed by", confirm},
		[2]string{"Warnings", warningsText(m)}, [2]string{"Next check due", timeOr(m.NextCheckAt, "never")},
		[2]string{"Parent", c.monitorName(m.ParentID)}, [2]string{"Page", m.Page}, [2]string{"Component", component},
		[2]string{"When down", statusLabel(m.DownStatus)},
		[2]string{"Incidents", string(optional.Value(m.AutoIncidents))}, [2]string{"Tags", strings.Join(m.Tags, ", ")})
	c.Properties(properties...)
	return nil
}

// changeCheck adds the flags of checks and parents that are given to a change.
func (cmd *monitorEdit) changeCheck(c *commandContext, ch *client.MonitorChange) error {
	parent, err := c.parent(cmd.Parent)
	if err != nil {
		return err
	}
	ch.ParentID = nullable(parent, cmd.NoParent)
	timeout, slowAfter, err := cmd.timing()
	if err != nil {
		return err
	}
	if cmd.Timeout != nil {
		ch.Timeout = client.Set(timeout)
	}
	switch {
	case slowAfter != nil:
		ch.SlowAfter = client.Set(*slowAfter)
	case cmd.SlowAfter != nil:
		ch.SlowAfter = client.Null[client.DecimalSeconds]()
	}
	ch.RecoveryThreshold, ch.ConfirmFrom = nullable(cmd.RecoveryThreshold, false), nullable(cmd.ConfirmFrom, false)
	fields, err := cmd.fields(c, "")
	if err != nil {
		return err
	}
	for _, name := range cmd.Reset {
		name = strings.ReplaceAll(name, "-", "_")
		if !slices.ContainsFunc(check.Fields(), func(f configfield.Shared) bool { return f.Name == name }) {
			return console.UsageErrorf("--reset: no type has a field %q", name)
		}
		fields[name] = nil
	}
	if len(fields) > 0 {
		ch.Check = fields
	}
	return nil
}

// checkProperties returns the lines of monitor show for a check: the fields that differ from their defaults, and the
// names of the fields with a secret.
func checkProperties(m *client.Monitor) [][2]string {
	t, _ := check.TypeOf(monitor.MonitorType(m.Type))
	return fieldProperties(t.Fields, m.Check, m.Secrets)
}

// fieldProperties returns a line for each field that differs from its default. The line of a secret does not show its
// value.
func fieldProperties(fields []configfield.Field, values map[string]any, secrets []string) (properties [][2]string) {
	for _, f := range fields {
		switch value := values[f.Name].(type) {
		case nil:
			if slices.Contains(secrets, f.Name) {
				properties = append(properties, [2]string{f.Label, "(secret)"})
			}
		case float64:
			properties = append(properties, [2]string{f.Label, strconv.FormatFloat(value, 'f', -1, 64)})
		case []any:
			var texts []string
			for _, v := range value {
				texts = append(texts, fmt.Sprint(v))
			}
			properties = append(properties, [2]string{f.Label, strings.Join(texts, ", ")})
		case map[string]any:
			var texts []string
			for name, v := range value {
				texts = append(texts, fmt.Sprintf("%s=%v", name, v))
			}
			slices.Sort(texts)
			properties = append(properties, [2]string{f.Label, strings.Join(texts, ", ")})
		case bool:
			if value != (f.Default == "true") {
				properties = append(properties, [2]string{f.Label, fmt.Sprint(value != f.Opposite)})
			}
			continue
		default:
			properties = append(properties, [2]string{f.Label, fmt.Sprint(value)})
		}
		if last := len(properties) - 1; last >= 0 && properties[last] == [2]string{f.Label, f.Default} {
			properties = properties[:last]
		}
	}
	return properties
}

type monitorTest struct {
	Monitor string             `arg:"" optional:"" help:"Id, name or slug of a monitor. Without it, --type says what to check."`
	Type    client.MonitorType `placeholder:"TYPE" help:"Type of the check: ${monitor_types}."`
	newTiming
	fieldFlags
}

// Run checks once and prints the result. It returns an error if the check fails.
func (cmd *monitorTest) Run(c *commandContext) error {
	fields, err := cmd.fields(c, string(cmd.Type))
	if err != nil {
		return err
	}
	var result *client.CheckResult
	switch {
	case cmd.Monitor != "" && (cmd.Type != "" || len(fields) > 0 || cmd.Timeout != nil || cmd.SlowAfter != nil):
		return console.UsageErrorf("give a monitor, or --type with the flags of the type")
	case cmd.Monitor != "":
		id, err := c.monitor(cmd.Monitor)
		if err != nil {
			return err
		}
		if result, err = c.api.TestMonitor(c.Ctx, id); err != nil {
			return err
		}
	case cmd.Type == "":
		return console.UsageErrorf("give a monitor, or --type with the flags of the type")
	default:
		timeout, slowAfter, err := cmd.timing()
		if err != nil {
			return err
		}
		result, err = c.api.TestNewMonitor(c.Ctx,
			client.CheckTest{Type: cmd.Type, Timeout: timeout, SlowAfter: slowAfter, Check: fields})
		if err != nil {
			return err
		}
	}
	if err := object(c, result, nil, c.printResult); err != nil {
		return err
	}
	if result.Status == client.CheckFailed || result.Status == client.CheckUnknown {
		return console.ExitStatus(console.ExitFailed)
	}
	return nil
}

// printResult prints a result with the durations of its phases.
func (c *commandContext) printResult(r *client.CheckResult) {
	properties := [][2]string{{"Status", string(r.Status)}, {"Reason", optional.Value(r.Reason)}}
	for _, p := range []struct {
		label string
		took  *client.DecimalSeconds
	}{
		{"DNS", r.Phases.DNS}, {"Connect", r.Phases.Connect}, {"TLS", r.Phases.TLS},
		{"First byte", r.Phases.FirstByte}, {"Total", &r.Phases.Total},
	} {
		if p.took != nil {
			properties = append(properties, [2]string{p.label, shortTime(p.took.Duration())})
		}
	}
	if r.CertificateExpiresAt != nil {
		properties = append(properties, [2]string{"Certificate expires", console.Time(*r.CertificateExpiresAt)})
	}
	c.Properties(properties...)
	if r.Body != nil {
		c.Printf("\nThe response begins:\n\n%s\n", strings.TrimRight(*r.Body, "\r\n"))
	}
}

// shortTime returns how long a part of a check took: "640µs", "12.3ms", "1.204s".
func shortTime(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}

type monitorResults struct {
	Monitor string `arg:"" help:"Id, name or slug of the monitor."`
	listing
}

func (cmd *monitorResults) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	results, total, err := c.api.ListCheckResults(id).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	header := []string{"TIME", "STATUS", "TOOK", "LOCATION", "REASON"}
	return table(c, results, total, "No results in the last 24 hours.", header, func(r *client.CheckResult) []string {
		return []string{
			console.Time(r.StartedAt), string(r.Status), shortTime(r.Phases.Total.Duration()),
			valueOr(r.Location, "-"), cmp.Or(optional.Value(r.Reason), "-"),
		}
	})
}
