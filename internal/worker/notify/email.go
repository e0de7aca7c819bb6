package notify

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
)

// All mail goes to one server, which may limit the number of connections: one workspace has at most eight, and all
// have at most sixteen. Mails are claimed many at a time.
const (
	mailPlaces = 16
	mailAhead  = 240
)

// emailChannel sends mail through the server of the setting ALLSWELL_SMTP_URL.
var emailChannel = channel{
	name: audience.ChannelEmail, serverName: "mail server",
	places: mailPlaces, ahead: mailAhead,
	minPause: 5 * time.Second, maxPause: 30 * time.Second,
	open: func(c Config) sender {
		if c.SMTP == nil {
			return mailDisabled{}
		}
		return newMailer(c.SMTP, c.BaseURL, c.Hello, c.From)
	},
}

// mailDisabled is the sender without a mail server. Mail stays pending until it expires or a mail server is configured.
type mailDisabled struct{}

func (mailDisabled) send(context.Context, audience.Notification) audience.SendOutcome {
	return audience.SendOutcome{
		Result: audience.SendServerUnavailable, Reason: "Mail is off: ALLSWELL_SMTP_URL is not set.", Unreachable: true,
	}
}

func (mailDisabled) refuses(context.Context, string) error { return nil }

func (mailDisabled) server() string { return "" }

func (mailDisabled) close() {}
