package demo

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
)

// pingVariable is the environment variable with a job's ping URL. Other users of the machine could see an argument.
const pingVariable = "ALLSWELL_DEMO_PING"

// jobPeriod is the time between two pings of a job.
const jobPeriod = time.Second

// JobCommand is a job of the demo, which runs in a process of its own.
type JobCommand struct {
	Ping string `env:"ALLSWELL_DEMO_PING" placeholder:"URL" help:"URL to ping."`
}

// Run pings until standard input ends.
func (cmd *JobCommand) Run(c *console.Console) error {
	u, err := url.Parse(cmd.Ping)
	if err != nil || u.Host == "" {
		return console.UsageErrorf("%s must be a ping URL", pingVariable)
	}
	pinger, err := client.New(u.Scheme+"://"+u.Host, "", client.Options{Timeout: 10 * time.Second, Retries: -1})
	if err != nil {
		return &console.UsageError{Err: err}
	}
	// Ctrl-C in the terminal ends the demo, which then ends its jobs.
	signal.Ignore(os.Interrupt)
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	go func() {
		io.Copy(io.Discard, c.In) // ends with the demo, however that ends
		cancel()
	}()
	tick := time.NewTicker(jobPeriod)
	defer tick.Stop()
	for {
		pinger.Ping(ctx, path.Base(u.Path)) // a failure does not matter: the next ping follows
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// job is one job of the demo: a monitor and the process that pings for it.
type job struct {
	name      string // of the monitor
	component string
	monitor   *client.Monitor

	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
}

// start starts the job's process, which runs this program.
func (j *job) start() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the demo cannot find its own program: %w", err)
	}
	cmd := exec.Command(self, "job")
	cmd.Env = append(os.Environ(), pingVariable+"="+j.monitor.PingURL)
	// Nothing is written to it. It closes when the demo ends.
	if _, err := cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the process of the %s could not be started: %w", j.name, err)
	}
	gone := make(chan struct{})
	j.cmd, j.gone = cmd, gone
	go func() {
		cmd.Wait() // how it ended does not matter
		close(gone)
	}()
	return nil
}

// programName returns what to type to run this program: its name if the shell finds it, or else its path.
func programName() string {
	self, err := os.Executable()
	if err != nil {
		return "allswell"
	}
	if found, err := exec.LookPath("allswell"); err == nil {
		a, errFound := os.Stat(found)
		b, errSelf := os.Stat(self)
		if errFound == nil && errSelf == nil && os.SameFile(a, b) {
			return "allswell"
		}
	}
	if strings.ContainsAny(self, " '\"$&();") {
		return "'" + strings.ReplaceAll(self, "'", `'\''`) + "'"
	}
	return self
}

// pid returns the id of the job's current or last process.
func (j *job) pid() int { return j.cmd.Process.Pid }

// running reports whether the job's process is running.
func (j *job) running() bool {
	if j.cmd == nil {
		return false
	}
	select {
	case <-j.gone:
		return false
	default:
		return true
	}
}

// kill kills the job's process and waits until it has ended.
func (j *job) kill() {
	if j.cmd == nil {
		return
	}
	j.cmd.Process.Kill() // it fails only if the process has ended
	<-j.gone
}
