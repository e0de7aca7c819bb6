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

	"github.com/allswell/allswell"
)

// AccountMail is a mail to a person about an account of the dashboard.
type AccountMail struct {
	To      string // e-mail address
	Subject string // one line
	Text    string // plain text; lines end with \n
}

// SendAccountMail sends a mail at once, in one attempt. It is not stored, because it contains a one-time code of which
// only the hash is. The error says in English what is wrong.
func (n *Notifier) SendAccountMail(ctx context.Context, m AccountMail) error {
	if n.SMTP == nil {
		return errors.New("ALLSWELL_SMTP_URL is not set")
	}
	content, err := n.composeAccountMail(m)
	if err != nil {
		return err
	}
	mailer := newMailer(n.SMTP, n.BaseURL, n.From)
	defer mailer.close()
	if o := mailer.deliver(ctx, envelope{from: n.From.Address, to: m.To, content: content}); o.Result != allswell.SendAccepted {
		return errors.New(mailer.withoutNames(mailer.reason(o.Reason, m.To)))
	}
	return nil
}

// composeAccountMail returns the header and the body, with CRLF line endings.
func (n *Notifier) composeAccountMail(m AccountMail) ([]byte, error) {
	from := n.From
	if from.Name == "" {
		from.Name = "Allswell"
	}
	var w bytes.Buffer
	for _, field := range [][2]string{
		{"Date", time.Now().UTC().Format(time.RFC1123Z)},
		{"From", from.String()},
		{"To", angle(m.To)},
		{"Subject", mime.QEncoding.Encode("utf-8", oneLine(m.Subject, mailTitle))},
		{"Message-ID", "<" + strings.ToLower(rand.Text()) + "@" + domainOf(from.Address) + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		w.WriteString(field[0] + ": " + strings.ReplaceAll(field[1], "?= =?", "?=\r\n =?") + "\r\n")
	}
	w.WriteString("\r\n")
	quoted := quotedprintable.NewWriter(&w)
	if _, err := quoted.Write([]byte(strings.ReplaceAll(m.Text, "\n", "\r\n"))); err != nil {
		return nil, err
	}
	return w.Bytes(), quoted.Close()
}
