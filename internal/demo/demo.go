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
	"github.com/allswell/allswell/internal/server"
	"github.com/allswell/allswell/internal/settings"
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
	service *server.Server
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
	p := settings.NewParser(cmd)
	address := settings.Parse(p, &cmd.Listen, settings.ListenAddress)
	if err := p.Err(); err != nil {
		return err
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
	defer d.service.Close()
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
	cfg := server.Config{
		Database:      "sqlite:" + filepath.Join(folder, "demo.db"),
		CheckInterval: demoCheck, FailureThreshold: demoThreshold, LogLevel: slog.LevelError,
		SMTPURL: d.mailbox.url, MailFrom: &mail.Address{Name: "Example Shop", Address: "status@example.com"},
	}
	if d.secret, err = makePast(d.ctx, cfg.Database, time.Now()); err != nil {
		return err
	}
	for n := first; n < first+demoPorts && n < 1<<16; n++ {
		cfg.Listen = net.JoinHostPort(host, strconv.Itoa(n))
		d.service, err = server.New(d.ctx, cfg, cfg.Logger(d.err))
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
		served <- d.service.Run(serving)
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
	if got := d.service.Addr().String(); !samePort(wanted, got) {
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

func samePort(a, b string) bool {
	_, x, _ := net.SplitHostPort(a)
	_, y, _ := net.SplitHostPort(b)
	return x == y || x == "0"
}

func (d *demo) pageURL() string { return d.api.base + "/status/" + demoPage }

// prepare waits until the service is ready and makes what is to come with the
// calls that anybody would make.
func (d *demo) prepare() error {
	d.api = newClient(d.service.URL(), d.secret)
	if err := d.until("the service is ready", func() (bool, error) { return d.service.Ready(), nil }); err != nil {
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
