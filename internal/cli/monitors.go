package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/settings"
)

type monitorCommands struct {
	clientSettings `embed:""`

	Create monitorCreate `cmd:"" help:"Create a monitor and print the line that its job has to run."`
	List   monitorList   `cmd:"" help:"List the monitors of all pages, or of one. One that is waiting was never pinged: nothing is raised before its first ping."`
	Show   monitorShow   `cmd:"" help:"Show a monitor with its ping address. While it is waiting for its first ping nothing is raised."`
	Set    monitorSet    `cmd:"" help:"Change a monitor."`
	Rotate monitorRotate `cmd:"" help:"Give a monitor another ping address. The old one works for a day more."`
	Delete monitorDelete `cmd:"" help:"Delete a monitor. If it is down, its incident is resolved."`
}

type monitorCreate struct {
	Name             string  `required:"" placeholder:"NAME" help:"Name of the monitor."`
	Page             string  `required:"" placeholder:"SLUG" help:"Slug of the page that its incidents are opened on."`
	Interval         seconds `required:"" placeholder:"DURATION" help:"The longest time between two pings that is still well, such as 30s, 5m, 25h, 8d. Leave room: 25h for a job of every night."`
	Component        *string `placeholder:"COMPONENT" help:"Id or name of the component that goes down with it."`
	FailureThreshold *int    `placeholder:"COUNT" help:"How many checks in a row have to find it overdue. As the server is set if not given."`
	DownStatus       *string `placeholder:"STATUS" help:"Status of the component while the monitor is down: ${down_statuses}. Default: major_outage."`
	Enabled          *bool   `negatable:"disabled" help:"Switched on, which is the default, or off at first."`
}

func (cmd *monitorCreate) Run(t *talk) error {
	component, err := t.monitorComponent(cmd.Component, cmd.Page)
	if err != nil {
		return err
	}
	fields := body{"name": cmd.Name, "page": cmd.Page, "interval": cmd.Interval}.text("component_id", component).
		number("failure_threshold", cmd.FailureThreshold).text("down_status", cmd.DownStatus).flag("enabled", cmd.Enabled)
	raw, err := t.post(pathOf("monitors"), fields)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(m apiMonitor) {
		t.sayPing(m)
		t.printf("\nDown after %s.\n", m.downAfter())
		t.warnOfHaste(m)
	})
}

// sayPing prints what the monitor's job has to run.
func (t *talk) sayPing(m apiMonitor) {
	state, must := "", "Its job has to run this"
	if !m.Enabled {
		state, must = ", and switched off",
			"Once it is switched on (allswell monitor set "+visible(m.ID)+" --enabled), its job has to run this"
	}
	t.printf("The monitor %s is %s%s. %s at least %s:\n\n  %s\n",
		visible(m.Name), visible(m.ID), state, must, every(m.interval()), allswell.PingCommand(visible(m.PingURL)))
}

// every says how often: "every minute", "every 5 minutes".
func every(interval time.Duration) string {
	spoken := allswell.FormatDuration(interval)
	if unit, single := strings.CutPrefix(spoken, "1 "); single && !strings.Contains(unit, " ") {
		spoken = unit
	}
	return "every " + spoken
}

// defaultCheck is how often an Allswell checks its monitors unless it is set
// otherwise. The API does not say how it is set.
const defaultCheck = time.Minute

// threshold returns how many checks in a row have to find the monitor overdue,
// as far as it can be told from here.
func (m apiMonitor) threshold() int {
	if m.FailureThreshold == nil {
		return allswell.DefaultFailureThreshold
	}
	return *m.FailureThreshold
}

// downAfter says which silence makes the monitor down, at the latest, and what
// is taken for granted in that.
func (m apiMonitor) downAfter() string {
	checks := "as it does by default"
	if m.FailureThreshold == nil {
		checks = fmt.Sprintf("and %d checks in a row count, as by default", m.threshold())
	}
	silence := m.interval() + time.Duration(m.threshold())*defaultCheck
	return fmt.Sprintf("%s without a ping, if this Allswell checks every minute %s", exact(silence), checks)
}

// exact writes a duration for people with all its units: "25 h 3 min".
func exact(d time.Duration) string {
	var parts []string
	for _, unit := range []struct {
		name string
		size time.Duration
		from time.Duration // a day is told from two days on: 25 h reads better than 1 d 1 h
	}{{"d", 24 * time.Hour, 48 * time.Hour}, {"h", time.Hour, 0}, {"min", time.Minute, 0}, {"s", time.Second, 0}} {
		if n := d / unit.size; n > 0 && d >= unit.from {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit.name))
			d -= n * unit.size
		}
	}
	return strings.Join(parts, " ")
}

// leastPatience is what a restart of the service and the retries of a job take:
// a monitor that is down sooner can be so because of a restart alone.
const leastPatience = time.Minute

// warnOfHaste says so if the monitor is down that soon, as far as it can be
// told from here: with a check every minute, and three in a row.
func (t *talk) warnOfHaste(m apiMonitor) {
	if m.interval()+time.Duration(m.threshold()-1)*defaultCheck < leastPatience {
		t.printf("\nSo short an interval with a single check can take a restart of Allswell for silence: use %s, or a failure threshold of 2.\n",
			settings.ShortDuration(leastPatience))
	}
}

// interval returns the interval as a duration.
func (m apiMonitor) interval() time.Duration { return time.Duration(m.Interval) * time.Second }

// monitorComponent finds a component that may be given by its name, or not at
// all.
func (t *talk) monitorComponent(given *string, page string) (*string, error) {
	if given == nil || strings.HasPrefix(*given, allswell.PrefixComponent) {
		return given, nil
	}
	id, err := t.component(*given, page)
	return &id, err
}

type monitorList struct {
	Page string `placeholder:"SLUG" help:"Only those of this page."`
	listing
}

func (cmd *monitorList) Run(t *talk) error {
	monitors, total, err := cmd.monitors(t)
	if err != nil {
		return err
	}
	header := []string{"MONITOR", "STATE", "INTERVAL", "LAST PING", "PAGE", "NAME"}
	return table(t.printer, monitors, total, "No monitors yet.", header, func(m apiMonitor) []string {
		last := "never"
		if m.LastPingAt != nil {
			last = when(*m.LastPingAt)
		}
		return []string{m.ID, m.state(), settings.ShortDuration(m.interval()), last, m.Page, m.Name}
	})
}

// monitors returns those that are asked for, and how many there are in all.
func (cmd *monitorList) monitors(t *talk) (monitors []json.RawMessage, total int, err error) {
	if cmd.Page == "" {
		return t.api.list(t.ctx, pathOf("monitors"), int(cmd.Limit))
	}
	if monitors, err = t.monitorsOf(cmd.Page); err == nil && len(monitors) == 0 {
		_, err = t.get(pathOf("pages", cmd.Page)) // there may be no such page
	}
	return monitors[:min(len(monitors), int(cmd.Limit))], len(monitors), err
}

// monitorsOf returns a page's monitors. The API lists those of all pages only.
func (t *talk) monitorsOf(page string) (monitors []json.RawMessage, err error) {
	all, _, err := t.api.list(t.ctx, pathOf("monitors"), maxFind)
	if err != nil {
		return nil, err
	}
	for _, raw := range all {
		m, err := decode[apiMonitor](raw)
		if err != nil {
			return nil, err
		}
		if m.Page == page {
			monitors = append(monitors, raw)
		}
	}
	return monitors, nil
}

// state says in one word how the monitor is.
func (m apiMonitor) state() string {
	switch {
	case !m.Enabled:
		return "off"
	case m.LastPingAt == nil:
		return "waiting"
	}
	return m.State
}

type monitorShow struct {
	Monitor string `arg:"" help:"Id or name of the monitor."`
}

// monitor finds a monitor that may be given by its name, and returns its path.
func (t *talk) monitor(given string) (string, error) {
	id, err := t.find("monitor", allswell.PrefixMonitor, given, pathOf("monitors"))
	return pathOf("monitors", id), err
}

func (cmd *monitorShow) Run(t *talk) error {
	path, err := t.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	raw, err := t.get(path)
	if err != nil {
		return err
	}
	if t.json {
		return t.raw(raw)
	}
	m, err := decode[apiMonitor](raw)
	if err != nil {
		return err
	}
	component := ""
	if m.ComponentID != nil {
		c, err := read[apiComponent](t.ctx, t.api, pathOf("pages", m.Page, "components", *m.ComponentID))
		if err != nil {
			return err
		}
		component = c.Name + " (" + c.ID + ")"
	}
	threshold := "as the server is set"
	if m.FailureThreshold != nil {
		threshold = strconv.Itoa(*m.FailureThreshold)
	}
	instant := func(text *string) string {
		if text == nil {
			return "never"
		}
		return when(*text)
	}
	t.facts([2]string{"Monitor", m.Name}, [2]string{"Id", m.ID}, [2]string{"State", m.state()},
		[2]string{"Interval", settings.ShortDuration(m.interval())}, [2]string{"Failure threshold", threshold},
		[2]string{"Down after", m.downAfter()},
		[2]string{"Last ping", instant(m.LastPingAt)}, [2]string{"Next ping due", instant(m.NextCheckAt)},
		[2]string{"Page", m.Page}, [2]string{"Component", component},
		[2]string{"When down", statusWords(m.DownStatus)}, [2]string{"Ping", allswell.PingCommand(m.PingURL)})
	return nil
}

type monitorSet struct {
	Monitor          string   `arg:"" help:"Id or name of the monitor."`
	Name             *string  `placeholder:"NAME" help:"Another name."`
	Interval         *seconds `placeholder:"DURATION" help:"Another interval, the longest time between two pings that is still well: 30s, 5m, 25h, 8d. The wait begins anew."`
	Page             *string  `placeholder:"SLUG" help:"Another page."`
	Component        *string  `placeholder:"COMPONENT" xor:"component" help:"Id of another component, or its name together with --page."`
	NoComponent      bool     `xor:"component" help:"No component."`
	Enabled          *bool    `negatable:"disabled" help:"Switch it on, or off."`
	FailureThreshold *int     `placeholder:"COUNT" help:"How many checks in a row have to find it overdue. 0: as the server is set."`
	DownStatus       *string  `placeholder:"STATUS" help:"Status of the component while the monitor is down: ${down_statuses}."`
}

func (cmd *monitorSet) Run(t *talk) error {
	path, err := t.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	component := cmd.Component
	if component != nil && !strings.HasPrefix(*component, allswell.PrefixComponent) {
		page := orEmpty(cmd.Page)
		if page == "" {
			m, err := read[apiMonitor](t.ctx, t.api, path)
			if err != nil {
				return err
			}
			page = m.Page
		}
		if component, err = t.monitorComponent(component, page); err != nil {
			return err
		}
	}
	fields := body{}.text("name", cmd.Name).text("page", cmd.Page).text("component_id", component).
		flag("enabled", cmd.Enabled).number("failure_threshold", cmd.FailureThreshold).text("down_status", cmd.DownStatus)
	if cmd.NoComponent {
		fields["component_id"] = ""
	}
	if cmd.Interval != nil {
		fields["interval"] = *cmd.Interval
	}
	raw, err := t.patch(path, fields)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(m apiMonitor) {
		t.printf("The monitor %s is set.\n", visible(m.Name))
		t.warnOfHaste(m)
	})
}

type monitorRotate struct {
	Monitor string `arg:"" help:"Id or name of the monitor."`
}

func (cmd *monitorRotate) Run(t *talk) error {
	path, err := t.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	raw, err := t.post(path+"/rotate", nil)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(m apiMonitor) {
		t.sayPing(m)
		t.printf("\nThe old address works for a day more.\n")
	})
}

type monitorDelete struct {
	Monitor string `arg:"" help:"Id or name of the monitor."`
}

func (cmd *monitorDelete) Run(t *talk) error {
	path, err := t.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	return t.remove(path, "monitor", cmd.Monitor)
}
