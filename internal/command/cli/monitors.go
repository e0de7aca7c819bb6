package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// MonitorCommands are the commands of monitors.
type MonitorCommands struct {
	monitorSettings `embed:""`

	List     monitorList     `cmd:"" help:"List the monitors of all pages, or of one. A monitor does not alert until its first ping."`
	Show     monitorShow     `cmd:"" help:"Show a monitor: its ping URL, or its target."`
	Create   monitorCreate   `cmd:"" help:"Create a monitor. Without --type, print the command that its job has to run."`
	Put      monitorPut      `cmd:"" help:"Create a monitor, or replace its configuration. Missing flags get their defaults; ping URL, down status and secrets are kept, and with --disabled the end of a pause."`
	Edit     monitorEdit     `cmd:"" aliases:"set" help:"Change a monitor. A repeatable flag replaces all earlier values."`
	Pause    monitorPause    `cmd:"" help:"Pause a monitor, until a time or until it is resumed. No pings are expected until then, and the ping URL returns 404."`
	Resume   monitorResume   `cmd:"" help:"Resume a monitor that is paused. The next ping is due as if the job had just pinged."`
	Rotate   monitorRotate   `cmd:"" help:"Give a monitor a new ping URL. The old one keeps working for 24 hours."`
	Schedule monitorSchedule `cmd:"" help:"List the next times at which a ping is due."`
	Explain  monitorExplain  `cmd:"" help:"Explain why a monitor has its state, and when it goes down."`
	Outages  monitorOutages  `cmd:"" help:"List a monitor's outages, newest first."`
	Pings    monitorPings    `cmd:"" help:"List the pings and signals of a monitor's job, newest first: plain pings, starts, successes, failures and logs."`
	Output   monitorOutput   `cmd:"" help:"Print the end of a signal's output."`
	Warnings monitorWarnings `cmd:"" help:"List the warnings of a monitor, newest first: runs that violated its conditions."`
	Metrics  monitorMetrics  `cmd:"" help:"Show the statistics of the checks of a monitor: how many failed, and how long the good ones took."`
	Test     monitorTest     `cmd:"" help:"Check the target of a monitor, or of one that does not exist yet, once. The result is not recorded."`
	Results  monitorResults  `cmd:"" help:"List the results of the checks of a monitor in the last 24 hours, newest first."`
	Delete   monitorDelete   `cmd:"" help:"Delete a monitor. If it is down, its incident is resolved."`
}

// ownMonitorFlags are the fields of monitors whose flags are not derived from descriptions: they depend on each other,
// take names, or set more than one thing.
var ownMonitorFlags = []string{
	"slug", "name", "type", "token", "interval", "schedule", "grace", "enabled", "paused_until", "parent_id",
	"component_id", "page", "down_status", "auto_incidents", "timeout", "slow_after", "recovery_threshold",
	"confirm_from", "config",
}

// NewMonitorCommands returns the commands, with flags for all types of checks.
func NewMonitorCommands() (c MonitorCommands) {
	described := slices.DeleteFunc(resource.Monitor.Infos(), func(i field.Info) bool {
		return slices.Contains(ownMonitorFlags, i.Name)
	})
	c.Create.resourceFlags, c.Put.resourceFlags, c.Edit.resourceFlags = newResourceFlags(described, field.Creation),
		newResourceFlags(described, field.Creation), newResourceFlags(described, field.Changing)
	addFieldFlags(check.Fields(), len(check.Types), "Of all checks:",
		&c.Create.fieldFlags, &c.Put.fieldFlags, &c.Edit.fieldFlags, &c.Test.fieldFlags)
	return c
}

type monitorCreate struct {
	monitorFields
	DownStatus *client.Status `placeholder:"STATUS" help:"Status of the component while the monitor is down: ${down_statuses}. Default: major_outage if it is the only monitor of its component, else partial_outage."`
	newSlug
	uniqueName
}

// monitorFields is embedded by the commands that create a monitor.
type monitorFields struct {
	Name string             `required:"" placeholder:"NAME" help:"Name of the monitor."`
	Type client.MonitorType `placeholder:"TYPE" help:"How it watches: ${monitor_types}. Default: heartbeat, which expects pings."`
	pageFlag
	Token    string              `name:"ping-token" placeholder:"TOKEN" help:"Token of its ping URL, to keep one of another service: a UUID or 16 to 64 letters, digits and hyphens. By default a random one."`
	NoPage   bool                `help:"Create it without a page and a component. Its outages open no incidents."`
	Interval *timeinput.Duration `xor:"schedule" placeholder:"DURATION" help:"Maximum time between pings, such as 30s, 5m, 25h, 8d. Allow some slack: 25h for a nightly job. For checks, the time between checks: 1m by default."`
	newSchedule
	Parent        *string               `placeholder:"MONITOR" help:"Id, name or slug of the parent monitor. Suppresses alerts while the parent is down."`
	Grace         *timeinput.Duration   `placeholder:"DURATION" help:"How much later than due a ping may come, such as 5m, 2h. Default: 0s, and 5m with --cron or --calendar."`
	Component     *string               `placeholder:"COMPONENT" help:"Id, name or slug of the component that goes down with it."`
	AutoIncidents *client.AutoIncidents `placeholder:"MODE" help:"Incidents of its outages: publish, draft (a person publishes it) or off. By default the page's setting."`
	Enabled       *bool                 `negatable:"disabled" help:"Whether it is enabled (the default) or disabled."`
	resourceFlags
	newTiming
	counting
	fieldFlags
}

// monitor returns the description of the monitor.
func (f *monitorFields) monitor(c *commandContext, slug string) (client.NewMonitor, error) {
	switch {
	case f.NoPage && f.Component != nil:
		return client.NewMonitor{}, console.UsageErrorf("--component needs a page: leave out --no-page")
	case f.NoPage:
		f.Page = ""
	default:
		if err := f.choose(c); err != nil {
			return client.NewMonitor{}, err
		}
	}
	schedule, err := f.schedule()
	if err != nil {
		return client.NewMonitor{}, err
	}
	if f.Interval == nil && schedule == nil && (f.Type == "" || f.Type == client.MonitorHeartbeat) {
		return client.NewMonitor{},
			console.UsageErrorf("missing flags: --interval=DURATION or --cron=EXPRESSION or --calendar=EXPRESSION, " +
				"or --type with a type of check")
	}
	component, err := c.monitorComponent(f.Component, &f.pageFlag)
	if err != nil {
		return client.NewMonitor{}, err
	}
	parent, err := c.parent(f.Parent)
	if err != nil {
		return client.NewMonitor{}, err
	}
	fields, err := f.fields(c, string(f.Type))
	if err != nil {
		return client.NewMonitor{}, err
	}
	if len(fields) > 0 && f.Type == "" {
		return client.NewMonitor{},
			console.UsageErrorf("--%s is a flag of checks: give --type, too (--server is the URL of the Allswell "+
				"server)", flagOfField(fields))
	}
	timeout, slowAfter, err := f.timing()
	if err != nil {
		return client.NewMonitor{}, err
	}
	given, err := f.given(c, nil)
	if err != nil {
		return client.NewMonitor{}, err
	}
	n, err := convert[client.NewMonitor](given)
	n.Type, n.Check, n.Timeout, n.SlowAfter, n.RecoveryThreshold, n.ConfirmFrom = f.Type, fields, timeout, slowAfter,
		f.RecoveryThreshold, f.ConfirmFrom
	n.Slug, n.Token, n.Name, n.Page, n.ComponentID, n.ParentID = slug, f.Token, f.Name, f.Page,
		optional.Value(component), optional.Value(parent)
	n.Interval, n.Schedule, n.Grace, n.Enabled, n.AutoIncidents = optional.Value(secondsOf(f.Interval)), schedule,
		secondsOf(f.Grace), f.Enabled, optional.Value(f.AutoIncidents)
	return n, err
}

type monitorPut struct {
	Monitor string `arg:"" help:"Slug of the monitor, or the id of one that exists."`
	monitorFields
	DownStatus *client.Status `placeholder:"STATUS" help:"Status of the component while the monitor is down: ${down_statuses}. By default, an existing monitor keeps its own, and a new one gets the default of create."`
	putFlags
}

func (cmd *monitorPut) Run(c *commandContext) error {
	read := func() (client.NewMonitor, error) {
		described, err := cmd.monitor(c, "")
		described.DownStatus = cmd.DownStatus
		return described, err
	}
	return putDescribed(c, cmd.putFlags, "monitor", kernel.PrefixMonitor, cmd.Monitor, read, c.api.GetMonitor,
		c.api.PutMonitor)
}

func (cmd *monitorCreate) Run(c *commandContext) error {
	described, err := cmd.monitor(c, cmd.Slug)
	if err != nil {
		return err
	}
	described.DownStatus, described.UniqueName = cmd.DownStatus, !cmd.AllowDuplicate
	monitor, err := c.api.CreateMonitor(c.Ctx, described)
	return object(c, monitor, cmd.explain(err), func(m *client.Monitor) {
		if hasTarget(m) {
			c.printCheck(m)
			c.printDownStatus(m, cmd.DownStatus == nil)
			return
		}
		c.printPing(m)
		c.Printf("\nCounts as down %s.\n", downAfter(m))
		c.printDownStatus(m, cmd.DownStatus == nil)
		c.warnOfHaste(m)
	})
}

// printPing prints the command that the monitor's job has to run.
func (c *commandContext) printPing(m *client.Monitor) {
	state := ""
	if !m.Enabled {
		state = ", and paused (resume it with allswell monitor resume " + console.Visible(m.ID) + ")"
	}
	c.Printf("The monitor %s is %s%s. Add this to the job (%s):\n\n  %s\n", console.Visible(m.Name),
		console.Visible(m.ID), state, expectation(m), monitor.PingCommand(console.Visible(m.PingURL)))
	if m.Schedule.Kind == client.ScheduleCron && !m.Schedule.Kubernetes {
		c.Printf("\nIn a crontab, after the command:\n\n")
		for line := range strings.SplitSeq(m.Schedule.Expression, "\n") {
			c.Printf("  %s  COMMAND && %s >/dev/null\n", console.Visible(line),
				monitor.PingCommand(console.Visible(m.PingURL)))
		}
	}
}

// printDownStatus prints which status the component of a monitor gets while the monitor is down, and the reason if that
// is the default.
func (c *commandContext) printDownStatus(m *client.Monitor, byDefault bool) {
	if m.ComponentID == nil {
		return
	}
	why := ""
	switch {
	case !byDefault:
	case m.DownStatus == client.StatusMajorOutage:
		why = ", because it is the component's only monitor"
	default:
		why = ", because the component has other monitors"
	}
	c.Printf("Status of the component when down: %s%s (change: allswell monitor edit %s --down-status STATUS).\n",
		statusLabel(m.DownStatus), why, console.Visible(m.ID))
}

// defaultCheck is how often a server checks its monitors by default. The API does not have the setting.
const defaultCheck = time.Minute

// threshold returns how many checks in a row must find the monitor overdue: the server's value, or the default.
func threshold(m *client.Monitor) int {
	return cmp.Or(m.EffectiveFailureThreshold, optional.Value(m.FailureThreshold), monitor.DefaultFailureThreshold)
}

// downAfter returns the longest time without pings until the monitor is down, with the assumptions behind it.
func downAfter(m *client.Monitor) string {
	late := m.Grace.Duration() + time.Duration(threshold(m))*defaultCheck
	return settings.ShortDuration(late) + " after a missed ping"
}

// minDownAfter is the time that a restart of the server takes, including the retries of a job. A restart alone can
// bring down a monitor that goes down sooner.
const minDownAfter = time.Minute

// warnOfHaste warns if the monitor goes down sooner than minDownAfter, assuming the default settings of the server.
func (c *commandContext) warnOfHaste(m *client.Monitor) {
	if m.Interval.Duration()+m.Grace.Duration()+time.Duration(threshold(m)-1)*defaultCheck < minDownAfter {
		c.Printf("\nWith so short an interval and a single check, a restart of the server can make the monitor go "+
			"down: use %s, or a failure threshold of 2.\n",
			settings.ShortDuration(minDownAfter))
	}
}

// monitorComponent returns the id of a component that is given by its id or name; nil if none is given.
func (c *commandContext) monitorComponent(given *string, page *pageFlag) (*string, error) {
	if given == nil {
		return nil, nil
	}
	id, err := c.component(*given, page)
	return &id, err
}

type monitorShow struct {
	Monitor string `arg:"" help:"Id, name or slug of the monitor."`
	etagFlag
}

func (cmd *monitorShow) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	m, err := c.api.GetMonitor(c.Ctx, id)
	if err != nil || cmd.ETag {
		return printETag(c, m, err)
	}
	if c.JSON {
		return object(c, m, err, nil)
	}
	component := ""
	if m.ComponentID != nil {
		v, err := c.api.GetComponent(c.Ctx, m.Page, *m.ComponentID)
		if err != nil {
			return err
		}
		component = v.Name + " (" + v.ID + ")"
	}
	if hasTarget(m) {
		return c.showCheck(m, component)
	}
	rhythm := ""
	if e, err := c.api.ExplainMonitor(c.Ctx, id); err == nil && e.Rhythm != nil {
		rhythm = monitor.PingRhythm{
			Every: e.Rhythm.Every.Duration(), Spread: e.Rhythm.Spread.Duration(), AtLeast: e.Rhythm.AtLeast,
		}.String()
	}
	c.Properties([2]string{"Monitor", m.Name}, [2]string{"Id", m.ID}, [2]string{"Slug", m.Slug},
		[2]string{"State", monitorState(m)}, [2]string{"Incident", optional.Value(m.IncidentID)},
		[2]string{scheduleLabel(m), scheduleText(m.Schedule)}, [2]string{"Grace period", graceText(m.Grace)},
		[2]string{"Seems to run", rhythm}, [2]string{"Failure threshold", thresholdText(m)},
		[2]string{"Down", downAfter(m)}, [2]string{"Maximum duration", maxRuntime(m)},
		[2]string{"Conditions", conditionsText(m)}, [2]string{"Warnings", warningsText(m)},
		[2]string{"Publishes output", publishesOutput(m)}, [2]string{"Last ping", timeOr(m.LastPingAt, "never")},
		[2]string{"Next ping due", timeOr(m.NextCheckAt, "never")}, [2]string{"Parent", c.monitorName(m.ParentID)},
		[2]string{"Page", m.Page}, [2]string{"Component", component}, [2]string{"When down", statusLabel(m.DownStatus)},
		[2]string{"Incidents", string(optional.Value(m.AutoIncidents))}, [2]string{"Tags", strings.Join(m.Tags, ", ")},
		[2]string{"Ping", pingCommand(m)})
	return nil
}

// pingCommand returns the command that pings a monitor, or "" if the server does not show the ping URL to this token.
func pingCommand(m *client.Monitor) string {
	if m.PingURL == "" {
		return ""
	}
	return monitor.PingCommand(m.PingURL)
}

// maxRuntime returns the maximum duration of a run; "": the monitor has none.
func maxRuntime(m *client.Monitor) string {
	if m.MaxRuntime == nil {
		return ""
	}
	return settings.ShortDuration(m.MaxRuntime.Duration())
}

// publishesOutput returns "yes" if the output of failed runs is published.
func publishesOutput(m *client.Monitor) string {
	if m.PublishOutput {
		return "yes"
	}
	return ""
}

// thresholdText returns a monitor's failure threshold, with a note if it is the server's setting.
func thresholdText(m *client.Monitor) string {
	switch {
	case m.FailureThreshold != nil:
		return strconv.Itoa(*m.FailureThreshold)
	case m.EffectiveFailureThreshold > 0:
		return strconv.Itoa(m.EffectiveFailureThreshold) + " (server default)"
	}
	return "server default"
}

type monitorEdit struct {
	Monitor  string              `arg:"" help:"Id, name or slug of the monitor."`
	Name     *string             `placeholder:"NAME" help:"New name."`
	Slug     *string             `placeholder:"SLUG" help:"New slug: a-z, 0-9 and hyphens, at most 63. Jobs that ping it by slug, with a ping key, must use it, too."`
	Interval *timeinput.Duration `xor:"schedule" placeholder:"DURATION" help:"New interval, the maximum expected time between two pings: 30s, 5m, 25h, 8d. It begins now."`
	editedSchedule
	Grace         *timeinput.Duration `placeholder:"DURATION" help:"How much later than due a ping may come. Without it, a change from times to --interval sets 0s, and the reverse 5m."`
	Page          *string             `placeholder:"SLUG" xor:"page" help:"New page."`
	NoPage        bool                `xor:"page,component" help:"Remove the monitor from its page and component. Its outages then open no incidents."`
	Component     *string             `placeholder:"COMPONENT" xor:"component" help:"Id, name or slug of the new component."`
	NoComponent   bool                `xor:"component" help:"Remove the component."`
	Enabled       *bool               `negatable:"disabled" help:"Enable or disable it."`
	DownStatus    *client.Status      `placeholder:"STATUS" help:"Status of the component while the monitor is down: ${down_statuses}."`
	AutoIncidents *string             `placeholder:"publish|draft|off|page" help:"Incidents of its outages: publish, draft, off, or page for the page's setting."`
	Parent        *string             `xor:"parent" placeholder:"MONITOR" help:"Id, name or slug of a monitor on which this one depends."`
	NoParent      bool                `xor:"parent" help:"Remove the dependency on another monitor."`
	resourceFlags
	newTiming
	counting
	Reset []string `sep:"none" placeholder:"FIELD" group:"Of all checks:" help:"Reset a field of the type, such as method or password, to its default; this removes a secret. Repeatable."`
	fieldFlags
}

func (cmd *monitorEdit) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	schedule, condition, err := cmd.edited(c, id, cmd.Interval != nil)
	if err != nil {
		return err
	}
	given, err := cmd.given(c, nil)
	if err != nil {
		return err
	}
	change, err := convert[client.MonitorChange](given)
	if err != nil {
		return err
	}
	change.Name, change.Slug, change.Interval, change.Schedule, change.Grace = cmd.Name, cmd.Slug,
		secondsOf(cmd.Interval), schedule, secondsOf(cmd.Grace)
	change.Page, change.Enabled, change.DownStatus = nullable(cmd.Page, cmd.NoPage), cmd.Enabled, cmd.DownStatus
	if cmd.AutoIncidents != nil {
		change.AutoIncidents = client.Set(client.AutoIncidents(*cmd.AutoIncidents))
		if *cmd.AutoIncidents == "page" {
			change.AutoIncidents = client.Null[client.AutoIncidents]()
		}
	}
	component, err := cmd.componentID(c, id)
	if err != nil {
		return err
	}
	change.ComponentID = nullable(component, false)
	if err := cmd.changeCheck(c, &change); err != nil {
		return err
	}
	if err := checkNotEmpty(change); err != nil {
		return err
	}
	monitor, err := c.api.ChangeMonitor(c.Ctx, id, change, condition...)
	return object(c, monitor, err, func(m *client.Monitor) {
		c.Printf("Changed the monitor %s.\n", console.Visible(m.Name))
		if !hasTarget(m) {
			c.warnOfHaste(m)
		}
	})
}

// componentID returns the id of the new component, "" for none, or nil if it stays. A name is looked up on the new
// page, or on the monitor's current page.
func (cmd *monitorEdit) componentID(c *commandContext, monitor string) (*string, error) {
	if cmd.NoComponent {
		return new(""), nil
	}
	page := optional.Value(cmd.Page)
	if cmd.Component != nil && page == "" && !isWholeID(kernel.PrefixComponent, *cmd.Component) {
		m, err := c.api.GetMonitor(c.Ctx, monitor)
		if err != nil {
			return nil, err
		}
		page = m.Page
	}
	return c.monitorComponent(cmd.Component, &pageFlag{page})
}
