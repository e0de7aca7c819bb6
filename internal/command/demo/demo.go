// Package demo runs the service with an example: a status page with three months of history, jobs that ping, and a
// mailbox that shows the mail to subscribers.
package demo

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

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/server"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
)

// Command is the demo command.
type Command struct {
	Listen string `env:"ALLSWELL_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to serve HTTP on. If the port is in use, the next free one is used."`
	For    string `placeholder:"DURATION" help:"Duration of the demo, such as 30s or 5m. By default it runs until interrupted."`
}

// The demo checks monitors every second: a job that pings every second is down five seconds after its last ping.
const (
	demoCheck     = time.Second
	demoInterval  = 2 // seconds
	demoThreshold = 3
	demoTimeout   = time.Minute // for changes that the service has to make
	demoPorts     = 100         // tried one after the other
)

// demo runs the real service with an example and prints what happens.
type demo struct {
	*console.Console
	service *server.Server
	api     *client.Client
	access
	mailbox *mailbox
	pager   *pager
	jobs    []*job
	keyURL  string // to which the slug of a monitor is appended
	shop    *shop
}

const demoPage = "demo"

// The example. Every job pings for one component.
var (
	demoGroups = []struct {
		name       string
		components []string
	}{
		{"Shop", []string{"Website", "Checkout", "Search"}},
		{"Behind the scenes", []string{"Email", "Backups"}},
	}
	demoJobs = []struct {
		name, component string
		schedule        *client.Schedule // nil: within demoInterval
	}{
		{name: "mail sender", component: "Email"},
		{name: "order worker", component: "Checkout"},
		{
			name: "backup copier", component: "Backups",
			schedule: &client.Schedule{Kind: client.ScheduleCalendar, Expression: "*:*:0/2"},
		},
		{name: "search indexer", component: "Search"},
	}
)

// Run runs the demo until it is interrupted.
func (cmd *Command) Run(c *console.Console) (err error) {
	p := settings.NewParser(cmd)
	address := settings.Parse(p, &cmd.Listen, settings.ListenAddress)
	if err := p.Err(); err != nil {
		return err
	}
	lasts, err := time.ParseDuration(cmd.For)
	if cmd.For != "" && (err != nil || lasts <= 0) {
		return console.UsageErrorf("--for must be a positive duration, such as 30s or 5m")
	}
	folder, err := os.MkdirTemp("", "allswell-demo-")
	if err != nil {
		return fmt.Errorf("the demo needs a temporary folder: %w", err)
	}
	defer func() {
		if removeErr := os.RemoveAll(folder); removeErr != nil {
			err = errors.Join(err, fmt.Errorf("the temporary folder %s is left behind: %w", folder, removeErr))
		}
	}()
	d := &demo{Console: &console.Console{Ctx: c.Ctx, In: c.In, Out: c.Out, Err: c.Err}}
	if d.mailbox, err = openMailbox(d.received); err != nil {
		return fmt.Errorf("the demo's mail server: %w", err)
	}
	defer d.mailbox.close()
	if d.pager, err = openPager(d.paged, d.texted); err != nil {
		return fmt.Errorf("the demo's pager: %w", err)
	}
	defer d.pager.close()
	if d.shop, err = openShop(); err != nil {
		return fmt.Errorf("the demo's web shop: %w", err)
	}
	defer d.shop.close()
	if err := d.open(address, folder); err != nil {
		return err
	}
	defer d.service.Close()
	if lasts > 0 {
		ctx, cancel := context.WithTimeout(c.Ctx, lasts)
		defer cancel()
		d.Ctx = ctx
	}
	return d.run(address)
}

// open creates the service, on the next free port if the wanted one is in use.
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
		WebhookAllowPrivate: true, // the pager is on this machine
		SMS:                 store.SMSOptions{Channel: smsChannel},
		SMTPURL:             d.mailbox.url,
		MailFrom:            &mail.Address{Name: "Example Shop", Address: "status@example.com"},
	}
	if d.access, err = makeHistory(d.Ctx, cfg.Database, time.Now()); err != nil {
		return err
	}
	for n := first; n < first+demoPorts && n < 1<<16; n++ {
		cfg.Listen = net.JoinHostPort(host, strconv.Itoa(n))
		d.service, err = server.New(d.Ctx, cfg, cfg.Logger(d.Err))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
	return err
}

// run serves and plays the stories until the demo ends, and then stops all jobs and servers.
func (d *demo) run(wanted string) error {
	serving, stop := context.WithCancel(context.WithoutCancel(d.Ctx))
	defer stop()
	served := make(chan error, 1)
	playing, cancel := context.WithCancel(d.Ctx)
	defer cancel()
	go func() {
		served <- d.service.Run(serving)
		cancel()
	}()
	d.Ctx = playing
	err := d.play(wanted)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || playing.Err() != nil {
		err = nil
	}
	if err == nil {
		d.say("The demo ends and removes its processes, its service and its database.")
	}
	for _, j := range d.jobs {
		j.kill()
	}
	stop()
	return errors.Join(err, <-served)
}

// say prints a line of the story.
func (d *demo) say(format string, args ...any) {
	d.Printf("%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

// play creates the example and then plays the stories in turn.
func (d *demo) play(wanted string) error {
	if err := d.prepare(); err != nil {
		return err
	}
	d.Printf("The demo's status page: %s\n", d.pageURL())
	d.Printf("Its dashboard: %s (the link signs you in, once)\n", account.CodeEnter.URL(d.api.BaseURL(), d.code))
	if got := d.service.Addr().String(); !samePort(wanted, got) {
		_, port, _ := net.SplitHostPort(wanted)
		d.Printf("(Port %s is in use, so this is the next free one.)\n", port)
	}
	d.Printf(`
Open it in a browser, and watch it as you read on. The real service serves it,
with a temporary database, and checks its monitors every second. Ctrl-C ends the
demo and leaves nothing behind. Mail and SMS to subscribers, and alerts to the
person on call, are not sent but printed here; the dashboard shows them below
Alerts and Deliveries.
To take part, from another terminal:

  export ALLSWELL_URL=%[1]s ALLSWELL_TOKEN=%[2]s
  %[3]s incident create --title "Something is wrong" --impact minor --message "We are looking into it."

Visitors do not see everything: one component is hidden, the last run of a job
was too short, and one incident is a draft. To list the components and the
warnings of the job, and to publish the draft:

  %[3]s component list
  %[3]s monitor warnings "payroll archive"
  %[3]s incident publish latest

Jobs can ping by the page's key and a name of their own. The first ping of this one
creates its monitor:

  curl "%[4]s/a-job-of-mine?create=1&interval=1m"

`, d.api.BaseURL(), d.secret, programName(), strings.TrimSuffix(d.keyURL, "/"))
	var names []string
	for _, j := range d.jobs {
		if err := j.start(); err != nil {
			return err
		}
		names = append(names, fmt.Sprintf("%s (%d)", j.name, j.pid()))
	}
	d.say("Allswell checks a web server of the demo, %s, every %d seconds.", d.shop.url, shopInterval)
	d.say("%d jobs run, each as a process. Each pings every second, and is expected every %d seconds: %s.",
		len(d.jobs), demoInterval, strings.Join(names, ", "))
	pause := 3 * time.Second
	for turn := 0; ; turn++ {
		if err := d.pause(pause); err != nil {
			return err
		}
		err := d.story(turn)
		if errors.Is(err, client.ErrNotFound) {
			d.say("Something of this story was deleted. On to the next one.")
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

func (d *demo) pageURL() string { return d.api.BaseURL() + "/status/" + demoPage }

// prepare waits until the service is ready, and creates the monitors and the subscriber through the API.
func (d *demo) prepare() (err error) {
	if d.api, err = client.New(d.service.URL(), d.secret, client.Options{}); err != nil {
		return err
	}
	if err := d.until("the service is ready", func() (bool, error) { return d.service.Ready(), nil }); err != nil {
		return err
	}
	if err := d.preparePhones(); err != nil {
		return err
	}
	for _, j := range demoJobs {
		component, err := d.component(j.component)
		if err != nil {
			return err
		}
		n := client.NewMonitor{
			Name: j.name, Page: demoPage, Interval: demoInterval, ComponentID: component, Tags: []string{"demo"},
		}
		if j.schedule != nil {
			n.Interval, n.Schedule, n.Grace = 0, j.schedule, new(client.Seconds(1))
		}
		m, err := d.api.CreateMonitor(d.Ctx, n)
		if err != nil {
			return err
		}
		d.jobs = append(d.jobs, &job{name: j.name, component: j.component, monitor: m})
	}
	if err := d.prepareShop(); err != nil {
		return err
	}
	subscriber := client.NewSubscriber{Channel: client.ChannelEmail, Target: demoReader, Confirmed: new(true)}
	if _, err := d.api.CreateSubscriber(d.Ctx, demoPage, subscriber); err != nil {
		return err
	}
	if err := d.prepareUnseen(); err != nil {
		return err
	}
	if err := d.prepareAlerts(); err != nil {
		return err
	}
	key, err := d.api.ChangePingKey(d.Ctx, demoPage, client.PingKeyChange{Access: new(client.PingAccessReadWrite)})
	if err != nil {
		return err
	}
	d.keyURL = key.PingURL
	if _, err := d.get(d.keyURL + "invoice-export?create=1&interval=25h"); err != nil {
		return err
	}
	// The page must have been rendered once before its URL is printed.
	return d.until("the page answers", func() (bool, error) {
		status, err := d.get(d.pageURL())
		return status == http.StatusOK, err
	})
}

// get requests a URL and returns the status of the response; 0: there was none. It returns an error only if the demo
// has ended.
func (d *demo) get(url string) (status int, err error) {
	r, err := http.NewRequestWithContext(d.Ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, d.Ctx.Err()
	}
	response.Body.Close()
	return response.StatusCode, nil
}

// prepareUnseen creates what visitors do not see: a hidden component with a cron job that has not run yet and a job
// whose last run was too short, which is a warning, and an incident that waits to be published.
func (d *demo) prepareUnseen() error {
	payroll, err := d.api.CreateComponent(d.Ctx, demoPage, client.NewComponent{Name: "Payroll", Hidden: new(true)})
	if err != nil {
		return err
	}
	payslips := client.NewMonitor{
		Name: "payslips", Page: demoPage, ComponentID: payroll.ID, Tags: []string{"demo"},
		Grace:    new(client.Seconds(3600)),
		Schedule: &client.Schedule{Kind: client.ScheduleCron, Expression: "0 6 1 * *", TimeZone: "Europe/Berlin"},
	}
	if _, err := d.api.CreateMonitor(d.Ctx, payslips); err != nil {
		return err
	}
	archive, err := d.api.CreateMonitor(d.Ctx, client.NewMonitor{
		Name: "payroll archive", Page: demoPage, ComponentID: payroll.ID, Tags: []string{"demo"}, Interval: 25 * 3600,
		MaxRuntime: 7200, MinRuntime: 60,
	})
	if err != nil {
		return err
	}
	for _, kind := range []client.SignalKind{client.SignalStart, client.SignalSuccess} {
		if err := d.api.Signal(d.Ctx, archive.Token, client.SignalReport{Kind: kind}); err != nil {
			return err
		}
	}
	_, err = d.api.CreateIncident(d.Ctx, demoPage, client.NewIncident{
		Title: "Checkout is slow for some customers", Impact: new(client.ImpactMinor), Draft: true,
		Message: new("Some customers wait a few seconds longer at the checkout."),
	})
	return err
}

// await waits until the job's monitor is in a state.
func (d *demo) await(j *job, state client.MonitorState) error {
	return d.until(fmt.Sprintf("the monitor of the %s is %s", j.name, state), func() (bool, error) {
		m, err := d.api.GetMonitor(d.Ctx, j.monitor.ID)
		return err == nil && m.State == state, err
	})
}

// until calls done every 100 ms until it returns true, for at most demoTimeout. The error names what it waited for.
func (d *demo) until(what string, done func() (bool, error)) error {
	deadline := time.Now().Add(demoTimeout)
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the demo waited %s in vain: %s", demoTimeout, what)
		}
		if err := d.sleep(100 * time.Millisecond); err != nil {
			return err
		}
	}
}

// sleep waits. It returns an error if the demo ends earlier.
func (d *demo) sleep(how time.Duration) error {
	t := time.NewTimer(how)
	defer t.Stop()
	select {
	case <-d.Ctx.Done():
		return d.Ctx.Err()
	case <-t.C:
		return nil
	}
}

// pause waits. It returns early if the process of a job ends.
func (d *demo) pause(how time.Duration) error {
	for end := time.Now().Add(how); time.Now().Before(end) && d.dead() == nil; {
		if err := d.sleep(200 * time.Millisecond); err != nil {
			return err
		}
	}
	return d.Ctx.Err()
}

// dead returns the first job whose process has ended, or nil.
func (d *demo) dead() *job {
	for _, j := range d.jobs {
		if !j.running() {
			return j
		}
	}
	return nil
}
