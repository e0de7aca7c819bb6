package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

// demoPingVariable tells a job of the demo what to ping; an argument could be
// seen by everybody on this machine.
const demoPingVariable = "ALLSWELL_DEMO_PING"

// jobPeriod is how often a job of the demo pings.
const jobPeriod = time.Second

// jobCommand is what the demo's jobs run, each in a process of its own.
type jobCommand struct{}

func (cmd *jobCommand) Run(c *console) error {
	address := os.Getenv(demoPingVariable)
	if address == "" {
		return &usageError{errors.New(demoPingVariable + " must be a ping address")}
	}
	// A Ctrl-C in the terminal is for the demo, which ends its jobs itself.
	signal.Ignore(os.Interrupt)
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	go func() {
		// The other end of this pipe is the demo's, and gone with it however
		// that ends.
		io.Copy(io.Discard, c.in)
		cancel()
	}()
	pinger := &http.Client{Timeout: 10 * time.Second}
	tick := time.NewTicker(jobPeriod)
	defer tick.Stop()
	for {
		sendPing(ctx, pinger, address) // a failure is what the next one makes good
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func sendPing(ctx context.Context, pinger *http.Client, address string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return
	}
	response, err := pinger.Do(r)
	if err != nil {
		return
	}
	io.Copy(io.Discard, io.LimitReader(response.Body, 1<<10)) // so that the connection is used again
	response.Body.Close()
}

// job is one job of the demo: a monitor and the process that pings for it.
type job struct {
	name      string // of the monitor
	component string
	monitor   apiMonitor

	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
}

// start starts the job's process, which is this program once more.
func (j *job) start() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the demo cannot find its own program: %w", err)
	}
	cmd := exec.Command(self, "job")
	cmd.Env = append(os.Environ(), demoPingVariable+"="+j.monitor.PingURL)
	// Never written to: its end tells the process that the demo is gone.
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

// programName is what to type to run this program: its name if the shell finds
// it, or else its path, as after `go run`.
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

// pid returns the process id of the job's present or last process.
func (j *job) pid() int { return j.cmd.Process.Pid }

// running reports whether the job's process is there.
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

// kill ends the job's process, and returns when it is gone.
func (j *job) kill() {
	if j.cmd == nil {
		return
	}
	j.cmd.Process.Kill() // one that is gone already is not an error here
	<-j.gone
}
