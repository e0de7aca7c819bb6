package admin

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
)

// SetupLinkCommand prints the link that creates the first account.
type SetupLinkCommand struct {
	settings.FileSetting     `embed:""`
	settings.DatabaseSetting `embed:""`
	linkSetting              `embed:""`
}

// linkSetting has the settings of the commands that print links.
type linkSetting struct {
	BaseURL string `name:"base-url" env:"ALLSWELL_BASE_URL" placeholder:"URL" help:"Public URL of the service, at the beginning of the link. Empty: the address of --listen on this machine."`
	Listen  string `env:"ALLSWELL_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address that the server listens on."`
}

// base returns the URL with which links begin. The error is a *settings.Error.
func (s linkSetting) base() (string, error) {
	p := settings.NewParser(&s)
	base, listen := settings.Parse(p, &s.BaseURL, settings.BaseURL), settings.Parse(p, &s.Listen,
		settings.ListenAddress)
	return cmp.Or(base, settings.LocalURL(listen)), p.Err()
}

// Run prints the link.
func (cmd *SetupLinkCommand) Run(c *console.Console) error {
	base, err := cmd.base()
	if err != nil {
		return err
	}
	database, err := parseExisting(cmd.DatabaseSetting)
	if err != nil {
		return err
	}
	return (&databaseContext{console.Printer{Console: c}, database}).on(func(s *store.Store) error {
		code, err := s.IssueSetupCode(c.Ctx)
		if errors.Is(err, store.ErrSetUp) {
			return errors.New("there is an owner already: `allswell user list` names the accounts, and `allswell " +
				"user reset EMAIL` prints a link for a new password")
		}
		if err != nil {
			return err
		}
		c.Printf("Open this link in a browser to create the first account. It works once, within 24 hours:\n\n  %s\n\n",
			account.CodeSetup.URL(base, code))
		return nil
	})
}

// UserCommands are the commands of the people who can sign in.
type UserCommands struct {
	settings.FileSetting     `embed:""`
	settings.DatabaseSetting `embed:""`

	List  userList  `cmd:"" help:"List the people who can sign in, with their roles and second factors."`
	Reset userReset `cmd:"" help:"Print a link that sets a new password. With --remove-factors, also remove authenticator app and passkeys."`
}

// ProvideContext is called by the parser before a user command runs.
func (cmd *UserCommands) ProvideContext(c *console.Console) (*databaseContext, error) {
	database, err := parseExisting(cmd.DatabaseSetting)
	return &databaseContext{console.Printer{Console: c}, database}, err
}

type userList struct{}

// Run lists the users.
func (cmd *userList) Run(c *databaseContext) error {
	return c.on(func(s *store.Store) error {
		users, err := s.Users(c.Ctx)
		if err != nil {
			return err
		}
		if len(users) == 0 {
			c.Printf("No accounts yet. `allswell setup-link` prints a link for the first one.\n")
			return nil
		}
		rows := [][]string{{"EMAIL", "ROLE", "FACTORS", "NAME"}}
		for _, u := range users {
			rows = append(rows, []string{u.Email, string(u.Role), u.Factors.String(), u.Name})
		}
		c.Table(rows)
		return nil
	})
}

type userReset struct {
	Email         string `arg:"" help:"The email address of the account."`
	RemoveFactors bool   `help:"Remove the account's authenticator app, recovery codes and passkeys at once. All its sessions end."`

	linkSetting `embed:""`
}

// Run prints a link that sets the password.
func (cmd *userReset) Run(c *databaseContext) error {
	base, err := cmd.base()
	if err != nil {
		return err
	}
	return c.on(func(s *store.Store) error {
		var code string
		var err error
		if cmd.RemoveFactors {
			err = s.RemoveFactors(c.Ctx, "allswell user reset", cmd.Email)
		}
		if err == nil {
			code, err = s.IssueResetCode(c.Ctx, cmd.Email)
		}
		if errors.Is(err, kernel.ErrNotFound) {
			return fmt.Errorf("there is no account %s: see allswell user list", cmd.Email)
		}
		if err != nil {
			return err
		}
		if cmd.RemoveFactors {
			c.Printf("Authenticator app, recovery codes and passkeys of the account have been removed.\n")
		}
		c.Printf("Open this link in a browser to set a new password. It works once, within an hour. This ends all "+
			"sessions of the account:\n\n  %s\n\n",
			account.CodeReset.URL(base, code))
		return nil
	})
}
