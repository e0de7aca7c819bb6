// Command allswell is a status page and heartbeat monitor in one binary.
//
// The commands serve and demo run the service. The commands page, group, component, monitor, incident, template,
// maintenance, announcement, subscriber, delivery, channel, alert, silence, oncall, member, invitation, session, run
// and audit use the API of a running one. The commands token, secret, setup-link, user, migrate, backup and restore
// work on its database.
//
// The exit status is 0 on success, 1 if the command failed or was rejected, and 2 if the command line or a setting is
// invalid, in which case nothing was changed. The command run returns the exit status of the command that it runs.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/command/admin"
	"github.com/allswell/allswell/internal/command/cli"
	"github.com/allswell/allswell/internal/command/completion"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/command/demo"
	"github.com/allswell/allswell/internal/command/run"
	"github.com/allswell/allswell/internal/server"
	"github.com/allswell/allswell/internal/shared/buildinfo"

	_ "time/tzdata" // time zones must be known on hosts without a zone database
)

// commands is the command tree.
type commands struct {
	Serve serveCommand `cmd:"" help:"Run the service."`
	Demo  demo.Command `cmd:"" help:"Run the service with an example, on a temporary database."`

	Page        cli.PageCommands        `cmd:"" group:"Using the API of a running server:" help:"List, show, create, put, edit and delete status pages, and show their access, ping-key, domain and uptime."`
	Group       cli.GroupCommands       `cmd:"" group:"Using the API of a running server:" help:"List, show, create, put, edit and delete groups of a page's components."`
	Component   cli.ComponentCommands   `cmd:"" group:"Using the API of a running server:" help:"List, show, create, put, edit and delete a page's components, and set their status."`
	Monitor     cli.MonitorCommands     `cmd:"" group:"Using the API of a running server:" help:"List, show, explain, create, put, edit, test, pause, resume, rotate and delete monitors, and list their schedule, their outages, the metrics of their checks, their warnings, the results of their checks, their pings and the output of these."`
	Incident    cli.IncidentCommands    `cmd:"" group:"Using the API of a running server:" help:"List, show, create, update, edit, resolve, publish and delete incidents, edit-update and delete-update their updates, set their components, show notes, take-over, give-back and merge them, and write (postmortem) and remove (delete-postmortem) post-mortems."`
	Template    cli.TemplateCommands    `cmd:"" group:"Using the API of a running server:" help:"List, show, create, put, edit and delete templates of incidents."`
	Maintenance cli.MaintenanceCommands `cmd:"" group:"Using the API of a running server:" help:"List, show, create, update, edit, move, begin, end, cancel and delete scheduled maintenance."`
	Subscriber  cli.SubscriberCommands  `cmd:"" group:"Using the API of a running server:" help:"List, show, create, edit, import, export, test, resume, rotate and delete a page's subscribers."`
	Delivery    cli.DeliveryCommands    `cmd:"" group:"Using the API of a running server:" help:"List the messages to subscribers, and retry them."`
	Channel     cli.ChannelCommands     `cmd:"" group:"Using the API of a running server:" help:"List, show, create, put, edit, test and delete the channels on which people are notified of alerts."`
	Alert       cli.AlertCommands       `cmd:"" group:"Using the API of a running server:" help:"List, show and acknowledge alerts, and list, show, create, put, edit, test and delete their rules."`
	Silence     cli.SilenceCommands     `cmd:"" group:"Using the API of a running server:" help:"List, show, create, edit and end silences, which hold alerts back."`
	OnCall      cli.OnCallCommands      `cmd:"" name:"oncall" group:"Using the API of a running server:" help:"List, show, create, put, edit, override and delete on-call schedules, and show who is on call."`
	Member      cli.MemberCommands      `cmd:"" group:"Using the API of a running server:" help:"List, edit and delete the members of the workspace."`
	Invitation  cli.InvitationCommands  `cmd:"" group:"Using the API of a running server:" help:"List, create and delete invitations to the workspace."`
	Session     cli.SessionCommands     `cmd:"" group:"Using the API of a running server:" help:"List and delete the sessions of members."`
	Run         run.Command             `cmd:"" group:"Using the API of a running server:" help:"Run a command, and report its start, its end and its output to a monitor."`
	Audit       cli.AuditCommands       `cmd:"" group:"Using the API of a running server:" help:"List changes and their authors."`

	Announcement cli.AnnouncementCommands `cmd:"" group:"Using the API of a running server:" help:"List, show, create, edit and delete announcements, the notices at the top of a page."`

	Token admin.TokenCommands `cmd:"" group:"Using the database:" help:"Create, list and revoke API tokens."`

	Secret    admin.SecretCommands   `cmd:"" group:"Using the database:" help:"Replace the key that encrypts secrets (rotate)."`
	SetupLink admin.SetupLinkCommand `cmd:"" group:"Using the database:" help:"Print a link that creates the first account of the dashboard."`
	User      admin.UserCommands     `cmd:"" group:"Using the database:" help:"List the accounts of the dashboard, and reset passwords."`
	Migrate   admin.MigrateCommand   `cmd:"" group:"Using the database:" help:"Create or upgrade the database. serve does this too when it starts."`
	Backup    admin.BackupCommand    `cmd:"" group:"Using the database:" help:"Write a consistent copy of a SQLite database, even while it is served."`
	Restore   admin.RestoreCommand   `cmd:"" group:"Using the database:" help:"Replace a SQLite database with a backup. The replaced one is kept beside it."`

	Completion completion.ScriptCommand     `cmd:"" help:"Print the completion script of a shell."`
	Complete   completion.CandidatesCommand `cmd:"" hidden:"" help:"Print the candidates of a completion."`

	Version versionCommand `cmd:"" help:"Print the version."`

	Job demo.JobCommand `cmd:"" hidden:"" help:"Run a job of the demo: ping until standard input ends."`
}

// envPrefix begins the names of the environment variables that are settings.
const envPrefix = "ALLSWELL_"

// program returns the command tree, which the parser fills in.
func program() console.Program {
	return console.Program{
		Commands: &commands{
			Subscriber: cli.NewSubscriberCommands(),
			Monitor:    cli.NewMonitorCommands(),
			Channel:    cli.NewChannelCommands(), Announcement: cli.NewAnnouncementCommands(),
			Maintenance: cli.NewMaintenanceCommands(), Page: cli.NewPageCommands(),
			Component: cli.NewComponentCommands(), Group: cli.NewGroupCommands(),
			Template: cli.NewTemplateCommands(),
			Alert:    cli.NewAlertCommands(), OnCall: cli.NewOnCallCommands(), Silence: cli.NewSilenceCommands(),
			Complete: completion.CandidatesCommand{Values: cli.CompletionValues()},
		},
		Name: "allswell",
		Description: "A status page, heartbeat monitor and uptime checker.\n\n" +
			"To try it: allswell demo. To run it: allswell serve.\n\n" +
			"The exit status is 0 on success, 1 if the command failed or was refused, and 2 if the command line or a " +
			"setting is invalid.",
		EnvPrefix: envPrefix,
		Whole:     []string{"completion", "complete"}, // they complete command lines of all commands
		Variables: cli.HelpVariables(), BeforeHelp: cli.NarrowHelp,
		Message: cli.Message,
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process immediately.
	context.AfterFunc(ctx, stop)
	args, environ := os.Args[1:], os.Environ()
	// A link to the program with the name allswell-run is the command run, so that it can be the SHELL of a crontab.
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "allswell-run" {
		args = append([]string{"run"}, args...)
	}
	if len(args) > 0 && args[0] == "run" {
		environ = nil // warnings would be in the output of each job
	}
	os.Exit(program().Run(console.Standard(ctx), args, environ))
}

type serveCommand struct {
	server.Settings `embed:""`
}

// Help is shown by serve --help above the list of settings.
func (cmd *serveCommand) Help() string {
	return "It runs until it gets SIGTERM or SIGINT; then it accepts no more requests, records the pings that it has " +
		"received, " +
		"answers them, and ends within 10 seconds. A second signal ends it at once."
}

// Run serves until the process is asked to stop.
func (cmd *serveCommand) Run(c *console.Console, parsed *kong.Context) error {
	cfg, err := cmd.Parse()
	if err != nil {
		return err
	}
	cfg.Values = console.SettingValues(cmd.Settings, parsed)
	return server.Run(c.Ctx, cfg, c.Out, c.Err)
}

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON, for programs."`
}

// Run prints the version.
func (cmd *versionCommand) Run(c *console.Console) error {
	v := buildinfo.Read()
	if cmd.JSON {
		return console.Printer{Console: c, JSON: true}.Raw(v)
	}
	c.Printf("allswell %s", v.Version)
	if v.Revision != "" {
		c.Printf(" (%s, %s)", v.Revision, v.Time)
	}
	c.Printf(", %s, %s\n", v.Go, v.Platform)
	return nil
}
