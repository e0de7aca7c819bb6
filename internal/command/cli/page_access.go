package cli

import (
	"io"
	"os"
	"strings"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
)

type pageAccess struct {
	optionalPage
	Members      *bool    `negatable:"" help:"Whether members of the workspace see the page while they are signed in to the dashboard."`
	Networks     []string `name:"network" sep:"none" xor:"networks" placeholder:"CIDR" help:"Address or network whose clients see the page, such as 10.0.0.0/8; repeatable. Replaces those that are set."`
	NoNetworks   bool     `xor:"networks" help:"Remove all networks."`
	PasswordFile string   `xor:"password" placeholder:"FILE" help:"File with the password, /dev/stdin to type it. A new password ends the access of everyone who has entered the old one."`
	NoPassword   bool     `xor:"password" help:"Remove the password."`
	NewLink      bool     `xor:"link" help:"Make and print a secret link. The previous one stops working."`
	NoLink       bool     `xor:"link" help:"Remove the secret link."`
}

func (cmd *pageAccess) change() (client.PageAccessChange, error) {
	change := client.PageAccessChange{Members: cmd.Members}
	switch {
	case cmd.NoNetworks:
		change.Networks = client.Null[[]string]()
	case len(cmd.Networks) > 0:
		change.Networks = client.Set(cmd.Networks)
	}
	switch {
	case cmd.NoPassword:
		change.Password = client.Null[string]()
	case cmd.PasswordFile != "":
		password, err := cmd.password()
		if err != nil {
			return change, err
		}
		change.Password = client.Set(password)
	}
	switch {
	case cmd.NoLink:
		change.Link = client.Null[string]()
	case cmd.NewLink:
		change.Link = client.Set(client.NewPageLink)
	}
	return change, nil
}

// maxPasswordFile is the maximum size of a file with a password, in bytes. It is far above the maximum length of a
// password.
const maxPasswordFile = 4096

// password reads the password.
func (cmd *pageAccess) password() (string, error) {
	f, err := os.Open(cmd.PasswordFile)
	if err != nil {
		return "", &console.UsageError{Err: err}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPasswordFile+1))
	switch {
	case err != nil:
		return "", &console.UsageError{Err: err}
	case len(text) > maxPasswordFile:
		return "", console.UsageErrorf("--password-file: %s has more than %d bytes", cmd.PasswordFile, maxPasswordFile)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// Run shows who can see a page while it is private. If flags are given, it changes that first.
func (cmd *pageAccess) Run(c *commandContext) error {
	change, err := cmd.change()
	if err != nil {
		return err
	}
	if err := cmd.choose(c); err != nil {
		return err
	}
	var access *client.PageAccess
	if checkNotEmpty(change) != nil {
		access, err = c.api.GetPageAccess(c.Ctx, cmd.Page)
	} else {
		access, err = c.api.ChangePageAccess(c.Ctx, cmd.Page, change)
	}
	return object(c, access, err, func(a *client.PageAccess) {
		members := "no"
		if a.Members {
			members = "yes"
		}
		networks := strings.Join(a.Networks, ", ")
		if networks == "" {
			networks = "none"
		}
		c.Properties([2]string{"Page", cmd.Page}, [2]string{"Password", timeOr(a.PasswordSetAt, "none")},
			[2]string{"Members", members}, [2]string{"Networks", networks},
			[2]string{"Link", timeOr(a.LinkCreatedAt, "none")})
		if a.Link != "" {
			c.Printf("\nEverybody with this link sees the page. It is shown only this once:\n\n  %s\n",
				console.Visible(a.Link))
		}
		c.printAccessWithoutEffect(cmd.Page)
	})
}

// printAccessWithoutEffect prints a note if the access settings have no effect, because the page is not private.
func (c *commandContext) printAccessWithoutEffect(slug string) {
	page, err := c.api.GetPage(c.Ctx, slug)
	if err != nil || page.Visibility == "" || page.Visibility == client.VisibilityPrivate {
		return
	}
	c.Printf("\nThis page is %s. What is set here has an effect while it is private: allswell page edit %s "+
		"--visibility private\n",
		page.Visibility, console.Visible(slug))
}
