// Command allswell is a status page and heartbeat monitor in one binary:
// serve and demo run it; page, group, component, monitor, incident, maintenance,
// subscriber and delivery drive any running one over its API; token, migrate, backup and
// restore work on its database.
//
// It exits with 0 when what was asked for was done, with 1 when it was refused
// or failed, and with 2 when the command line or a setting was wrong, in which
// case nothing was done.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // zones have to be known on hosts without a zone database

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/server"
	"github.com/allswell/allswell/internal/settings"
)

// The statuses that the program exits with.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// commands is the whole command line.
type commands struct {
	Serve serveCommand `cmd:"" help:"Run the service."`
	Demo  demoCommand  `cmd:"" help:"Run the service with a lively example, on a database that is gone afterwards."`

	Page        pageCommands        `cmd:"" group:"Over the API of a running Allswell:" help:"Create, list, show, set and delete status pages, and show their domain and uptime."`
	Group       groupCommands       `cmd:"" group:"Over the API of a running Allswell:" help:"Create, list, set and delete groups of a page's components."`
	Component   componentCommands   `cmd:"" group:"Over the API of a running Allswell:" help:"Create, list, show, set, edit and delete a page's components."`
	Monitor     monitorCommands     `cmd:"" group:"Over the API of a running Allswell:" help:"Create, list, show, set, rotate and delete heartbeat monitors."`
	Incident    incidentCommands    `cmd:"" group:"Over the API of a running Allswell:" help:"Open, list, show, update, set, resolve and delete incidents, and set their components."`
	Maintenance maintenanceCommands `cmd:"" group:"Over the API of a running Allswell:" help:"Plan, list, show, update, set, move, begin, end, cancel and delete maintenance."`
	Subscriber  subscriberCommands  `cmd:"" group:"Over the API of a running Allswell:" help:"Add, list, show, rotate and remove a page's subscribers."`
	Delivery    deliveryCommands    `cmd:"" group:"Over the API of a running Allswell:" help:"List what subscribers were sent, and retry it."`

	Token   tokenCommands  `cmd:"" group:"On the database itself:" help:"Create, list and revoke API tokens."`
	Migrate migrateCommand `cmd:"" group:"On the database itself:" help:"Make the database, or bring it up to date. serve does that too when it starts."`
	Backup  backupCommand  `cmd:"" group:"On the database itself:" help:"Write a consistent copy of a SQLite database, also while it is served."`
	Restore restoreCommand `cmd:"" group:"On the database itself:" help:"Replace a SQLite database by a backup. The replaced one is kept beside it."`

	Version versionCommand `cmd:"" help:"Say which version this is."`

	Job jobCommand `cmd:"" hidden:"" help:"A job of the demo: pings the address in ALLSWELL_DEMO_PING until its standard input ends."`
}

// console is what a command talks to.
type console struct {
	ctx      context.Context // ends when the process is asked to stop
	in       io.Reader
	out, err io.Writer
}

func (c *console) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(&console{ctx, os.Stdin, os.Stdout, os.Stderr}, os.Args[1:], os.Environ()))
}

// exiting carries the status with which the parser wants the program to end,
// after it has printed a help text.
type exiting int

// run runs one command line and returns the status to exit with.
func run(c *console, args, environ []string) (status int) {
	defer func() {
		if p := recover(); p != nil {
			code, ok := p.(exiting)
			if !ok {
				panic(p)
			}
			status = int(code)
		}
	}()
	parser, err := newParser(c)
	if err != nil {
		return c.fail(err)
	}
	c.warnOfUnknown(environ)
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "--version": // as everybody tries it
		args = append([]string{"version"}, args[1:]...)
	}
	parsed, err := parser.Parse(joinNegative(args))
	if err != nil {
		return c.fail(&usageError{hinted(err)})
	}
	return c.fail(parsed.Run(c))
}

func newParser(c *console) (*kong.Kong, error) {
	return kong.New(&commands{},
		kong.Name("allswell"),
		kong.Description("A status page and heartbeat monitor.\n\n"+
			"It exits with 0 when done, with 1 when refused or failed, and with 2 when the command line or a setting is wrong."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.ValueFormatter(explain),
		kong.Vars{
			"statuses":          enumerate(allswell.Statuses),
			"affected_statuses": enumerate(allswell.AffectedStatuses),
			"down_statuses":     enumerate(allswell.DownStatuses),
		},
		kong.Writers(c.out, c.err),
		kong.Exit(func(code int) { panic(exiting(code)) }),
	)
}

// negative is a number that the parser would take for a flag.
var negative = regexp.MustCompile(`^-[0-9]+$`)

// joinNegative writes --order -1 as --order=-1, by which the parser knows that
// the number belongs to the flag. There are no flags that are numbers.
func joinNegative(args []string) []string {
	var out []string
	for i, arg := range args {
		last := len(out) - 1
		switch {
		case arg == "--":
			return append(out, args[i:]...)
		case last >= 0 && negative.MatchString(arg) && strings.HasPrefix(out[last], "--") && !strings.Contains(out[last], "="):
			out[last] += "=" + arg
		default:
			out = append(out, arg)
		}
	}
	return out
}

// hinted adds to an argument that a command does not take where it may belong.
func hinted(err error) error {
	wrong := (*kong.ParseError)(nil)
	if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "unexpected argument ") {
		return err
	}
	node := wrong.Context.Selected()
	if node == nil {
		return err
	}
	for _, flag := range node.Flags {
		if flag.Required && (flag.Name == "name" || flag.Name == "title") {
			return fmt.Errorf("%w: a %s is given with --%s", err, flag.Name, flag.Name)
		}
	}
	return err
}

// explain is the help of one flag or argument: its text, its environment
// variable and its default.
func explain(v *kong.Value) string {
	var notes []string
	for _, env := range v.Tag.Envs {
		notes = append(notes, "$"+env)
	}
	if v.HasDefault && v.Default != "" {
		notes = append(notes, "default "+v.Default)
	}
	if len(notes) == 0 {
		return v.Help
	}
	return v.Help + " (" + strings.Join(notes, ", ") + ")"
}

// usageError is a wrong command line or setting: nothing was done.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// fail prints an error for people and returns the status to exit with.
func (c *console) fail(err error) int {
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(c.err, "allswell: %s\n", err)
	if errors.As(err, new(*usageError)) || errors.As(err, new(*settings.Error)) {
		return exitUsage
	}
	return exitFailed
}

// warnOfUnknown prints a line that names the environment variables that look like settings but are not.
func (c *console) warnOfUnknown(environ []string) {
	known := map[string]bool{demoPingVariable: true}
	for _, s := range slices.Concat(settings.List(server.Settings{}), settings.List(clientSettings{})) {
		known[s.Env] = true
	}
	var unknown []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && strings.HasPrefix(name, "ALLSWELL_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		fmt.Fprintf(c.err, "allswell: warning: ignored, because there are no such settings: %s\n", strings.Join(unknown, ", "))
	}
}

// enumerate returns statuses for the help text of a flag, without aliases: "a, b or
// c".
func enumerate(statuses []allswell.Status) string {
	var names []string
	for _, s := range statuses {
		if s.Canonical() == s {
			names = append(names, string(s))
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
