package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
)

// AccountMail is a mail to a person about an account of the dashboard.
type AccountMail struct {
	To      string // email address
	Subject string // one line
	Text    string // plain text; lines end with \n
}

// SendAccountMail sends a mail immediately, in one attempt. The mail is not stored, because it contains a one-time
// code; only the hash of the code is stored. The error says in English what is wrong.
func (n *Notifier) SendAccountMail(ctx context.Context, m AccountMail) error {
	if n.SMTP == nil {
		return errors.New("ALLSWELL_SMTP_URL is not set")
	}
	content, err := n.composeAccountMail(m)
	if err != nil {
		return err
	}
	if o := n.sendAtOnce(ctx, m.To, content); o.Result != audience.SendAccepted {
		return errors.New(o.Reason)
	}
	return nil
}

// AlertMail is a mail about alerts.
type AlertMail struct {
	AccountMail
	ID       string // from which the Message-ID is made: the same for all attempts
	ThreadID string // mails with the same one are shown together; "": none
}

// SendAlertMail sends a mail immediately, in one attempt. The outcome's reason is for the workspace.
func (n *Notifier) SendAlertMail(ctx context.Context, m AlertMail) audience.SendOutcome {
	if n.SMTP == nil {
		return audience.SendOutcome{Result: audience.SendFailed, Reason: "ALLSWELL_SMTP_URL is not set."}
	}
	domain := "@" + domainOf(n.From.Address) + ">"
	fields := [][2]string{{"Message-ID", "<" + m.ID + domain}}
	if m.ThreadID != "" {
		root := "<" + m.ThreadID + domain
		fields = append(fields, [2]string{"In-Reply-To", root}, [2]string{"References", root})
	}
	content, err := n.composeMail(m.AccountMail, fields)
	if err != nil {
		return audience.SendOutcome{Result: audience.SendUndeliverable, Reason: "The mail cannot be composed."}
	}
	return n.sendAtOnce(ctx, m.To, content)
}

// sendAtOnce makes one attempt to send a mail over a connection of its own.
func (n *Notifier) sendAtOnce(ctx context.Context, to string, content []byte) audience.SendOutcome {
	mailer := newMailer(n.SMTP, n.BaseURL, n.Hello, n.From)
	defer mailer.close()
	o := mailer.deliver(ctx, envelope{from: n.From.Address, to: to, content: content})
	o.Detail, o.Reason = mailer.reason(o.Detail, to), mailer.withoutNames(mailer.reason(o.Reason, to))
	return o
}

// composeAccountMail returns the header and the body, with CRLF line endings.
func (n *Notifier) composeAccountMail(m AccountMail) ([]byte, error) {
	return n.composeMail(m, [][2]string{
		{"Message-ID", "<" + strings.ToLower(rand.Text()) + "@" + domainOf(n.From.Address) + ">"},
	})
}

// composeMail returns the header with more fields, and the body.
func (n *Notifier) composeMail(m AccountMail, more [][2]string) ([]byte, error) {
	from := n.From
	if from.Name == "" {
		from.Name = "Allswell"
	}
	var w bytes.Buffer
	for _, field := range append([][2]string{
		{"Date", time.Now().UTC().Format(time.RFC1123Z)},
		{"From", addressField(from)},
		{"To", angle(m.To)},
		{"Subject", mime.QEncoding.Encode("utf-8", oneLine(m.Subject, mailTitle))},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	}, more...) {
		w.WriteString(field[0] + ": " + strings.ReplaceAll(field[1], "?= =?", "?=\r\n =?") + "\r\n")
	}
	w.WriteString("\r\n")
	quoted := quotedprintable.NewWriter(&w)
	if _, err := quoted.Write([]byte(strings.ReplaceAll(m.Text, "\n", "\r\n"))); err != nil {
		return nil, err
	}
	return w.Bytes(), quoted.Close()
}
