package alertchannel

import (
	"context"
	"net/mail"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/hostname"
)

// emailType sends mail through the operator's mail server. Mails of a thread refer to the same message: RFC 5322,
// section 3.6.4.
var emailType = Type{
	Name: "email", Label: "Email", Help: "Email, via the mail server of this installation.",
	Fields: []configfield.Field{
		{
			Name: "to", Label: "Address", Help: "One email address. It can belong to a group.",
			Kind: configfield.KindText, Required: true, Max: 254, Example: "oncall@example.com",
		},
	},
	New: func() Channel { return new(email) },
}

// Limits of a mail, in characters.
const (
	emailSubject = 150
	emailText    = 20_000
)

// testSubject is the subject of mails that test a channel.
const testSubject = "Test message from Allswell"

type email struct {
	To string `json:"to"`
}

// Destination returns nothing, because there are no secrets.
func (c *email) Destination() configfield.Destination { return nil }

func (c *email) Validate(bad *kernel.ValidationError) {
	to, ok := hostname.InAddress(strings.TrimSpace(c.To))
	c.To = to
	a, err := mail.ParseAddress(c.To)
	if !ok || err != nil || a.Address != c.To {
		bad.Add("to", "must be an email address such as oncall@example.com")
	}
}

func (c *email) host() string { return "mail server" }

func (c *email) send(ctx context.Context, s *Sender, m alert.Message) Result {
	if s.Mail == nil {
		return failed(audience.SendFailed, "This service has no mail server (ALLSWELL_SMTP_URL).")
	}
	out := Mail{ID: m.ID, To: c.To, Subject: alert.Shorten(m.Headline(), emailSubject), Text: m.Text(emailText) + "\n"}
	if m.TestLine != "" { // without text of the person who tests
		out.Subject, out.Text = testSubject, m.TestLine+"\n\nNothing has happened. Alerts of the channel arrive here.\n"
	}
	if m.Thread != nil {
		out.ThreadID = m.Thread.ID
	}
	o := s.Mail(ctx, out)
	if o.Result == audience.SendServerUnavailable {
		o.Result = audience.SendFailed
	}
	return Result{SendOutcome: o}
}
