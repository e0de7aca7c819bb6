// Package run runs a command and reports its start, its end and its output to a monitor. Reporting never delays the
// command or makes it fail: reports are sent in the background and repeated until they succeed, while the command runs
// and for up to a minute after its end. process.go runs the command, report.go sends the reports, and spool.go keeps
// what could not be sent for the next run.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/spelling"
	"github.com/allswell/allswell/internal/shared/timeinput"
	"github.com/google/uuid"
)

// Command is the command run.
type Command struct {
	Monitor string             `env:"ALLSWELL_MONITOR" placeholder:"SLUG|URL" help:"Slug or id of the monitor, or its ping URL, which needs no token."`
	URL     string             `name:"server" aliases:"url" env:"ALLSWELL_URL" default:"http://localhost:8080" placeholder:"URL" help:"URL of the Allswell server, for a monitor given by its slug."`
	Token   string             `env:"ALLSWELL_TOKEN" placeholder:"SECRET" help:"API token with the scope write, for a monitor given by its slug."`
	Tail    size               `default:"10kB" placeholder:"SIZE" help:"How much of the end of the output is sent, up to 100kB. 0: nothing."`
	Timeout timeinput.Duration `placeholder:"DURATION" help:"End the command after this time, and report a failure. Default: no limit."`
	Spool   string             `env:"ALLSWELL_SPOOL" type:"path" placeholder:"FILE" help:"Spool file for results that could not be sent. The next run sends them."`
	Shell   string             `name:"command" short:"c" placeholder:"COMMAND" help:"Run this with /bin/sh, even without a monitor, so that this program works as SHELL in a crontab."`
	Args    []string           `arg:"" optional:"" passthrough:"" name:"command" help:"The command and its arguments, after --."`
}

// Exit statuses for commands that timed out, could not be run, or were ended by a signal, as in shells and timeout(1).
const (
	exitTimeout     = 124
	exitNotRunnable = 126
	exitNotFound    = 127
	exitSignal      = 128 // plus the number of the signal
)

// Run runs the command and returns its exit status as a console.ExitStatus.
func (cmd *Command) Run(c *console.Console) error {
	args := cmd.Args
	switch {
	case len(args) > 0 && args[0] == "--":
		args = args[1:]
	case len(args) > 0 && strings.HasPrefix(args[0], "-"):
		return unknownFlag(args[0])
	}
	switch {
	case cmd.Shell != "" && len(args) > 0:
		return console.UsageErrorf("give the command by -c or after --, not both")
	case cmd.Shell != "":
		args = []string{"/bin/sh", "-c", cmd.Shell}
	case len(args) == 0:
		return console.UsageErrorf("give the command after --: allswell run --monitor SLUG -- command")
	}
	to, err := cmd.target()
	if err != nil && cmd.Shell == "" {
		return &console.UsageError{Err: err}
	}
	if err != nil { // a job is not lost because its report is
		fmt.Fprintf(c.Err, "allswell: warning: the command is not reported: %v\n", err)
	}
	if cmd.Timeout < 0 {
		return console.UsageErrorf("--timeout must be positive")
	}
	return console.ExitStatus(cmd.run(c, args, to))
}

// unknownFlag returns the error for a word before -- that looks like a flag. It is not taken for the command: that
// would report an outage because of a typo.
func unknownFlag(word string) error {
	name, _, _ := strings.Cut(word, "=")
	var known []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Command]()) {
		if _, isArgument := field.Tag.Lookup("arg"); !isArgument {
			known = append(known, "--"+cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name)))
		}
	}
	if meant := spelling.Closest(name, known); meant != "" {
		return console.UsageErrorf("unknown flag %s, did you mean %q?", name, meant)
	}
	return console.UsageErrorf("unknown flag %s; give the command after --", name)
}

// target returns where the reports go.
func (cmd *Command) target() (*target, error) {
	if cmd.Monitor == "" {
		return nil, errors.New("give the monitor by --monitor or ALLSWELL_MONITOR")
	}
	if !strings.Contains(cmd.Monitor, "://") {
		if cmd.Token == "" {
			return nil,
				errors.New("the slug of a monitor needs an API token in ALLSWELL_TOKEN; its ping URL needs none")
		}
		return newTarget(cmd.URL, cmd.Token, cmd.Monitor, "")
	}
	u, err := url.Parse(cmd.Monitor)
	token := ""
	if err == nil {
		token = strings.TrimPrefix(u.Path, "/api/v1/heartbeat/")
	}
	if err != nil || !monitor.IsPingAddress(token) || u.RawQuery != "" {
		return nil,
			errors.New("the monitor must be a slug, or a ping URL such as " +
				"https://status.example.com/api/v1/heartbeat/…")
	}
	return newTarget(u.Scheme+"://"+u.Host, "", "", token)
}

// run runs the command and reports it. It returns the exit status.
func (cmd *Command) run(c *console.Console, args []string, to *target) int {
	signals := make(chan os.Signal, 16)
	// A closed pipe must not end this process: the command decides what to do. The signals are never released, because
	// one that arrives between the report and the exit would change the exit status.
	signal.Notify(signals, append(forwarded, syscall.SIGPIPE)...)

	id := uuid.NewString()
	reports := newReporter(to, cmd.Spool)
	reports.begin(id)
	out := &tail{limit: int(cmd.Tail)}
	p := process{
		args: args, in: c.In, out: io.MultiWriter(out, lenient{c.Out}), err: io.MultiWriter(out, lenient{c.Err}),
		timeout: time.Duration(cmd.Timeout),
	}
	result := p.run(signals)
	if result.message != "" {
		fmt.Fprintf(c.Err, "allswell: %s\n", result.message)
		out.note(result.message)
	}
	e := entry{RunID: id, Kind: client.SignalFail, EndedAt: time.Now(), Output: out.bytes()}
	if !result.timedOut {
		e.ExitCode = &result.status
	}
	// Another signal ends the wait for the report.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for s := range signals {
			if s != syscall.SIGPIPE {
				cancel()
			}
		}
	}()
	err := reports.end(ctx, e)
	if warning := reports.warning(); warning != "" {
		fmt.Fprintf(c.Err, "allswell: warning: %s\n", warning)
	}
	if err != nil {
		fmt.Fprintf(c.Err, "allswell: warning: the end of the command is not reported: %v\n", err)
	}
	return result.status
}

// size is a number of bytes on the command line.
type size int

// UnmarshalText parses "10kB", "500B" or "0".
func (s *size) UnmarshalText(text []byte) error {
	value, factor := string(text), 1
	for _, unit := range []struct {
		name string
		size int
	}{{"kB", 1000}, {"KB", 1000}, {"k", 1000}, {"B", 1}} {
		if number, ok := strings.CutSuffix(value, unit.name); ok {
			value, factor = number, unit.size
			break
		}
	}
	n, err := strconv.Atoi(cmp.Or(value, "x"))
	if err != nil || n < 0 || n > monitor.MaxOutput/factor {
		return errors.New("must be a size from 0 to 100kB, such as 10kB")
	}
	*s = size(n * factor)
	return nil
}
