package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/shared/optional"
)

type subscriberImport struct {
	pageFlag
	File      string `arg:"" help:"Addresses, one per line, or CSV as subscriber export prints it. -: standard input."`
	Consent   string `required:"" placeholder:"TEXT" help:"Where the consent of the owners comes from. It is stored with each subscriber."`
	Confirmed *bool  `help:"Request no confirmations, because the owners have agreed to these messages."`
	DryRun    *bool  `help:"Show what would happen, and change nothing."`
}

func (cmd *subscriberImport) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	list, err := c.importFile(cmd.File)
	if err != nil {
		return err
	}
	r, err := c.api.ImportSubscribers(c.Ctx, cmd.Page, client.SubscriberImport{
		CSV: list, Consent: cmd.Consent, Confirmed: cmd.Confirmed, DryRun: cmd.DryRun,
	})
	return object(c, r, err, func(r *client.SubscriberImportReport) {
		for _, l := range r.Lines {
			if l.Result != client.ImportAdded {
				c.Printf("Line %d: %s: %s\n", l.Line, console.Visible(l.Target), optional.Value(l.Reason))
			}
		}
		verb := "Added"
		if r.DryRun {
			verb = "Would add"
		}
		c.Printf("%s: %d. Subscribed already: %d. Unsubscribed: %d. Invalid: %d.\n", verb, r.Added, r.Subscribed,
			r.Unsubscribed, r.Invalid)
	})
}

// importFile returns the contents of a file, or of standard input if its name is "-".
func (c *commandContext) importFile(name string) (string, error) {
	in := c.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", &console.UsageError{Err: err}
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, audience.MaxImportBytes+1))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return string(text), nil
}
