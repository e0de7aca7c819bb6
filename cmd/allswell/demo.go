package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/allswell/allswell"
)

type demoCommand struct {
	Listen string `env:"ALLSWELL_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address that HTTP is served on. If the port is taken, the next free one."`
	For    string `placeholder:"DURATION" help:"End after this long, such as 30s or 5m. Until interrupted if not given."`
}

// The demo's clock: checks every second, so that a job that pings every second
// is down five seconds after its last ping.
const (
	demoCheck     = time.Second
	demoInterval  = 2 // seconds
	demoThreshold = 3
	demoPatience  = time.Minute // for what Allswell is expected to notice
	demoPorts     = 100         // tried one after the other
)

// demo runs the real service with an example and tells what happens.
type demo struct {
	*console
	service *service
	api     *client
	secret  string // of its API token
	mailbox *demoMailbox
	jobs    []*job
}

const demoPage = "demo"

// The example. Every job pings for one component.
var (
	demoGroups = []struct {
		name       string
		components []string
	}{
		{"Shop", []string{"Website", "Checkout", "Search"}},
		{"Behind the scenes", []string{"E-mail", "Backups"}},
	}
	demoJobs = []struct{ name, component string }{
		{"mail sender", "E-mail"},
		{"order worker", "Checkout"},
		{"backup copier", "Backups"},
		{"search indexer", "Search"},
	}
)

func (cmd *demoCommand) Run(c *console) (err error) {
	p := settingsParser{values: settingsOf(*cmd)}
	address := p.address("ALLSWELL_LISTEN")
	if p.err != nil {
		return p.err
	}
	lasts, err := time.ParseDuration(cmd.For)
	if cmd.For != "" && (err != nil || lasts <= 0) {
		return &usageError{errors.New("--for must be a positive duration, such as 30s or 5m")}
	}
	folder, err := os.MkdirTemp("", "allswell-demo-")
	if err != nil {
		return fmt.Errorf("the demo needs a temporary folder: %w", err)
	}
	defer func() {
		if gone := os.RemoveAll(folder); gone != nil {
			err = errors.Join(err, fmt.Errorf("the temporary folder %s is left behind: %w", folder, gone))
		}
	}()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if lasts > 0 {
		ctx, cancel = context.WithTimeout(ctx, lasts)
		defer cancel()
	}
	d := &demo{console: &console{ctx, c.in, c.out, c.err}}
	if d.mailbox, err = openMailbox(d.received); err != nil {
		return fmt.Errorf("the demo's mail server: %w", err)
	}
	defer d.mailbox.close()
	if err := d.open(address, folder); err != nil {
		return err
	}
	defer d.service.close()
	return d.run(address)
}

// open makes the service, on the next free port if the wanted one is taken.
func (d *demo) open(address, folder string) (err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	first, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	cfg := config{
		database:      "sqlite:" + filepath.Join(folder, "demo.db"),
		checkInterval: demoCheck, failureThreshold: demoThreshold, logLevel: slog.LevelError,
		smtpURL: d.mailbox.url, mailFrom: &mail.Address{Name: "Example Shop", Address: "status@example.com"},
	}
	if d.secret, err = makePast(d.ctx, cfg.database, time.Now()); err != nil {
		return err
	}
	for n := first; n < first+demoPorts && n < 1<<16; n++ {
		cfg.listen = net.JoinHostPort(host, strconv.Itoa(n))
		d.service, err = newService(d.ctx, cfg, cfg.logger(d.console))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
	return err
}

// run serves, tells the story until the time is over or somebody interrupts,
// and ends everything that it started.
func (d *demo) run(wanted string) error {
	serving, stop := context.WithCancel(context.WithoutCancel(d.ctx))
	defer stop()
	served := make(chan error, 1)
	telling, cancel := context.WithCancel(d.ctx)
	defer cancel()
	go func() {
		served <- d.service.run(serving)
		cancel()
	}()
	d.ctx = telling
	told := d.tell(wanted)
	if errors.Is(told, context.Canceled) || errors.Is(told, context.DeadlineExceeded) || telling.Err() != nil {
		told = nil
	}
	if told == nil {
		d.say("The demo ends: its processes, its service and its database go.")
	}
	for _, j := range d.jobs {
		j.kill()
	}
	stop()
	return errors.Join(told, <-served)
}

// say prints a line of the story.
func (d *demo) say(format string, args ...any) {
	d.printf("%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

// tell makes the example and goes on with one story after the other.
func (d *demo) tell(wanted string) error {
	if err := d.prepare(); err != nil {
		return err
	}
	d.printf("The demo's status page: %s\n", d.pageURL())
	if got := d.service.listener.Addr().String(); !samePort(wanted, got) {
		_, port, _ := net.SplitHostPort(wanted)
		d.printf("(Port %s is taken, so this is the next free one.)\n", port)
	}
	d.printf(`
Open it in a browser, and watch it as you read on. Behind it is the real
service, on a temporary database, checking its monitors every second. Ctrl-C
ends it and leaves nothing behind. Mail to subscribers goes to a mailbox of the
demo's own, which prints it here. To join in, from another terminal:

  export ALLSWELL_URL=%s ALLSWELL_TOKEN=%s
  %s incident open --page demo --title "Something is wrong" --impact minor --message "We are looking into it."

`, d.api.base, d.api.token, programName())
	var names []string
	for _, j := range d.jobs {
		if err := j.start(); err != nil {
			return err
		}
		names = append(names, fmt.Sprintf("%s (%d)", j.name, j.pid()))
	}
	d.say("%d jobs run, each a process of its own. Each pings every second, and is expected every %d seconds: %s.",
		len(d.jobs), demoInterval, strings.Join(names, ", "))
	pause := 3 * time.Second
	for turn := 0; ; turn++ {
		if err := d.pause(pause); err != nil {
			return err
		}
		err := d.story(turn)
		if missing := (*apiError)(nil); errors.As(err, &missing) && missing.status == http.StatusNotFound {
			d.say("Somebody deleted what this was about. On to the next.")
			err = nil
		}
		if err != nil {
			return err
		}
		pause = 10 * time.Second
	}
}

// story tells one story: that of a job which has ended by itself, or else, in
// turns, that of one that is killed, that of a human with an incident, and that
// of planned maintenance.
func (d *demo) story(turn int) error {
	if j := d.dead(); j != nil {
		d.say("The process of the %s (%d) has ended. Was that you?", j.name, j.pid())
		return d.outage(j)
	}
	j := d.jobs[turn/3%len(d.jobs)]
	switch turn % 3 {
	case 1:
		return d.slowWebsite()
	case 2:
		return d.maintenance(j)
	}
	j.kill()
	d.say("The process of the %s (%d) is killed: its pings stop. Watch %s on the page.", j.name, j.pid(), j.component)
	return d.outage(j)
}

func samePort(a, b string) bool {
	_, x, _ := net.SplitHostPort(a)
	_, y, _ := net.SplitHostPort(b)
	return x == y || x == "0"
}

func (d *demo) pageURL() string { return d.api.base + "/status/" + demoPage }

// prepare waits until the service is ready and makes what is to come with the
// calls that anybody would make.
func (d *demo) prepare() error {
	d.api = newClient(d.service.publicURL(), d.secret)
	if err := d.until("the service is ready", func() (bool, error) { return d.service.notReady() == "", nil }); err != nil {
		return err
	}
	for _, j := range demoJobs {
		component, err := d.component(j.component)
		if err != nil {
			return err
		}
		id, err := d.make(pathOf("monitors"), body{"name": j.name, "page": demoPage, "interval": demoInterval, "component_id": component})
		if err != nil {
			return err
		}
		m, err := read[apiMonitor](d.ctx, d.api, pathOf("monitors", id))
		if err != nil {
			return err
		}
		d.jobs = append(d.jobs, &job{name: j.name, component: j.component, monitor: m})
	}
	if _, err := d.make(pathOf("pages", demoPage, "subscribers"), body{"channel": "email", "target": demoReader, "confirmed": true}); err != nil {
		return err
	}
	// The page is shown once before anybody is told its address.
	return d.until("the page answers", func() (bool, error) {
		r, err := http.NewRequestWithContext(d.ctx, http.MethodGet, d.pageURL(), nil)
		if err != nil {
			return false, err
		}
		response, err := d.api.http.Do(r)
		if err != nil {
			return false, d.ctx.Err()
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

// make creates something and returns its id.
func (d *demo) make(path string, fields body) (id string, err error) {
	raw, err := d.api.call(d.ctx, http.MethodPost, path, fields)
	if err != nil {
		return "", err
	}
	made, err := decode[struct{ ID string }](raw)
	return made.ID, err
}

// outage is the story of a job whose process has ended: Allswell notices, a
// human says something, the process is started again, and all is reversed.
func (d *demo) outage(j *job) error {
	if err := d.await(j, allswell.Down); err != nil {
		return err
	}
	incident, err := d.openIncident(j)
	if err != nil {
		return err
	}
	d.say("Allswell noticed: %s shows a major outage, and an incident is open: %s/incidents/%s", j.component, d.pageURL(), incident)
	if err := d.sleep(3 * time.Second); err != nil {
		return err
	}
	if err := d.update(incident, "identified", "The process was killed. We are about to start it again."); err != nil {
		return err
	}
	if err := d.sleep(4 * time.Second); err != nil {
		return err
	}
	if err := j.start(); err != nil {
		return err
	}
	d.say("The %s runs again, as process %d, and pings.", j.name, j.pid())
	if err := d.await(j, allswell.Up); err != nil {
		return err
	}
	d.say("Its first ping reversed all of it: %s is operational, and the incident is resolved.", j.component)
	return nil
}

// openIncident returns the id of the incident that the job's outage opened; ""
// if somebody closed it in the meantime.
func (d *demo) openIncident(j *job) (string, error) {
	found, _, err := d.api.list(d.ctx, pathOf("pages", demoPage, "incidents")+"?resolved=false", 100)
	if err != nil {
		return "", err
	}
	for _, raw := range found {
		i, err := decode[apiIncident](raw)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(i.Title, j.name+" ") {
			return i.ID, nil
		}
	}
	return "", nil
}

// update is a human who changes an incident's state and says why.
func (d *demo) update(incident, state, message string) error {
	if incident == "" {
		return nil
	}
	if _, err := d.api.call(d.ctx, http.MethodPatch, pathOf("incidents", incident), body{"state": state}); err != nil {
		return err
	}
	if _, err := d.api.call(d.ctx, http.MethodPost, pathOf("incidents", incident, "updates"), body{"message": message}); err != nil {
		return err
	}
	d.say("A human sets the incident to %s and writes: %s", state, message)
	return nil
}

// slowWebsite is the story of an incident that humans open and resolve.
func (d *demo) slowWebsite() error {
	website, err := d.component("Website")
	if err != nil {
		return err
	}
	if err := d.set(website, allswell.Degraded); err != nil {
		return err
	}
	incident, err := d.make(pathOf("pages", demoPage, "incidents"), body{
		"title": "Pages load slowly", "impact": "minor", "message": "Some pages take several seconds. We are looking into it.",
	})
	if err != nil {
		return err
	}
	d.say("A human sets Website to degraded and opens an incident: %s/incidents/%s", d.pageURL(), incident)
	for _, step := range []struct{ state, message string }{
		{"identified", "A cache was switched off by mistake."},
		{"monitoring", "The cache is back, and pages load quickly again."},
	} {
		if err := d.sleep(5 * time.Second); err != nil {
			return err
		}
		if err := d.update(incident, step.state, step.message); err != nil {
			return err
		}
	}
	if err := d.sleep(5 * time.Second); err != nil {
		return err
	}
	if _, err := d.api.call(d.ctx, http.MethodPatch, pathOf("incidents", incident), body{"state": "resolved", "resolved": true}); err != nil {
		return err
	}
	d.say("The human resolves the incident and sets Website to operational.")
	return d.set(website, allswell.Operational)
}

// maintenance is the story of a job that is stopped for planned maintenance:
// nobody is alarmed.
func (d *demo) maintenance(j *job) error {
	component, err := d.component(j.component)
	if err != nil {
		return err
	}
	begins := time.Now().Add(5 * time.Second)
	id, err := d.make(pathOf("pages", demoPage, "maintenances"), body{
		"title": "New version of the " + j.name, "message": "It pauses for a moment.", "components": []string{component},
		"scheduled_for": allswell.FormatTime(begins), "scheduled_until": allswell.FormatTime(begins.Add(10 * time.Minute)),
	})
	if err != nil {
		return err
	}
	d.say("A human plans maintenance of %s, to begin in 5 seconds: %s/maintenances/%s", j.component, d.pageURL(), id)
	if err := d.until("the maintenance has begun", func() (bool, error) {
		m, err := read[struct{ State allswell.MaintenanceState }](d.ctx, d.api, pathOf("maintenances", id))
		return m.State == allswell.MaintenanceInProgress, err
	}); err != nil {
		return err
	}
	j.kill()
	d.say("It has begun by the clock, and %s is under maintenance. The %s is stopped for it: its silence is planned, and nobody is alarmed.", j.component, j.name)
	if err := d.sleep(10 * time.Second); err != nil {
		return err
	}
	if err := j.start(); err != nil {
		return err
	}
	if _, err := d.api.call(d.ctx, http.MethodPatch, pathOf("maintenances", id), body{"state": allswell.MaintenanceCompleted}); err != nil {
		return err
	}
	d.say("The %s runs again, as process %d. The human ends the maintenance early, and %s is operational.", j.name, j.pid(), j.component)
	return nil
}

// component returns the id of a component of the example.
func (d *demo) component(name string) (string, error) {
	found, _, err := d.api.list(d.ctx, pathOf("pages", demoPage, "components"), 100)
	if err != nil {
		return "", err
	}
	for _, raw := range found {
		c, err := decode[apiComponent](raw)
		if err != nil {
			return "", err
		}
		if c.Name == name {
			return c.ID, nil
		}
	}
	return "", fmt.Errorf("the demo's component %s is gone", name)
}

func (d *demo) set(component string, status allswell.Status) error {
	_, err := d.api.call(d.ctx, http.MethodPatch, pathOf("pages", demoPage, "components", component), body{"status": status})
	return err
}

// await waits until the job's monitor is in a state.
func (d *demo) await(j *job, state allswell.MonitorState) error {
	return d.until(fmt.Sprintf("the monitor of the %s is %s", j.name, state), func() (bool, error) {
		m, err := read[apiMonitor](d.ctx, d.api, pathOf("monitors", j.monitor.ID))
		return m.State == string(state), err
	})
}

// until asks again and again until something is the case, at most for
// demoPatience.
func (d *demo) until(what string, is func() (bool, error)) error {
	deadline := time.Now().Add(demoPatience)
	for {
		if done, err := is(); done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the demo waited for %s in vain that %s", demoPatience, what)
		}
		if err := d.sleep(100 * time.Millisecond); err != nil {
			return err
		}
	}
}

// sleep waits, and returns an error if the demo ends before.
func (d *demo) sleep(how time.Duration) error {
	t := time.NewTimer(how)
	defer t.Stop()
	select {
	case <-d.ctx.Done():
		return d.ctx.Err()
	case <-t.C:
		return nil
	}
}

// pause waits, but not longer than until a job's process ends by itself.
func (d *demo) pause(how time.Duration) error {
	for end := time.Now().Add(how); time.Now().Before(end) && d.dead() == nil; {
		if err := d.sleep(200 * time.Millisecond); err != nil {
			return err
		}
	}
	return d.ctx.Err()
}

// dead returns the first job whose process has ended; nil: all run.
func (d *demo) dead() *job {
	for _, j := range d.jobs {
		if !j.running() {
			return j
		}
	}
	return nil
}
