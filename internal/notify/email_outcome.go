package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"regexp"
	"strings"

	"github.com/allswell/allswell"
)

// failure is what went wrong, and in which step of the conversation.
type failure struct {
	step string
	err  error
}

func (f *failure) Error() string { return f.step + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// late reports whether the server knew the recipient when it failed.
func (f *failure) late() bool {
	return f.step == "RCPT TO" || f.step == "DATA" || f.step == "the message"
}

// reason is what the workspace is shown of a failure: nothing of what came before
// the mail itself, which is about the operator's server.
func (f *failure) reason(detail string) string {
	if f.late() || f.step == "MAIL FROM" {
		return detail
	}
	return "The mail server cannot be used at the moment. The operator finds the cause in the log of the service."
}

var (
	errNoTLS   = errors.New("TLS is not offered")
	errNoAuth  = errors.New("no known way to sign in is offered")
	errTooMuch = errors.New("the answer is too long")
)

// isStale reports whether a kept connection had ended before the server saw the
// mail's content, so that another one may be tried at once.
func isStale(err error) bool {
	var f *failure
	var answer *textproto.Error
	var timeout net.Error
	switch {
	case !errors.As(err, &f) || f.step == "the message":
		return false
	case f.step == "RSET":
		return true
	case errors.As(err, &answer):
		return answer.Code == 421
	case errors.As(err, &timeout):
		return !timeout.Timeout()
	}
	return true
}

// outcome is what the end of a conversation about a mail to an address means.
func (m *mailer) outcome(ctx context.Context, to string, err error) allswell.SendOutcome {
	var f *failure
	if !errors.As(err, &f) {
		return allswell.SendOutcome{Result: allswell.SendAccepted}
	}
	var answer *textproto.Error
	if errors.As(err, &answer) {
		detail := fmt.Sprintf("The mail server answered %d at %s: %s", answer.Code, f.step, answer.Msg)
		o := allswell.SendOutcome{
			Reason: f.reason(detail), Detail: detail,
			// An answer to MAIL FROM shows that the server works.
			Unreachable: answer.Code == 421 || !f.late() && f.step != "MAIL FROM",
		}
		ours := f.step == "RCPT TO" && isOurs(answer.Code, without(to, answer.Msg))
		switch {
		case answer.Code/100 != 5 || !f.late() || ours:
		case f.step != "RCPT TO" && strings.HasPrefix(answer.Msg, "5.7."):
			o.Result = allswell.SendUndeliverable // a policy about such mails (RFC 3463), not about the recipient
		default:
			o.Result = allswell.SendRejected
		}
		return o
	}
	detail := m.trouble(ctx, f)
	return allswell.SendOutcome{Reason: f.reason(detail), Detail: detail, Unreachable: !f.late()}
}

// blamesSender matches what servers without enhanced codes say of who sends.
var blamesSender = regexp.MustCompile(`sender|blocked|blacklist|blocklist|spamhaus|client host`)

// isAllswellDatabase reports whether a refusal at RCPT TO is no word about the recipient:
// the server does not pass on our mails, or does not like who sends them. The
// operator can mend that. Some servers refuse a sender or a client only there.
func isOurs(code int, text string) bool {
	text = strings.ToLower(text)
	if code == 530 || strings.Contains(text, "relay") {
		return true
	}
	if enhanced := enhancedCode.FindStringSubmatch(text); enhanced != nil {
		return enhanced[1] == "7" || enhanced[1] == "1" && (enhanced[2] == "7" || enhanced[2] == "8")
	}
	return (code == 550 || code == 553 || code == 554) && blamesSender.MatchString(text)
}

// enhancedCode matches one for good at the beginning (RFC 3463), in its parts.
var enhancedCode = regexp.MustCompile(`^#?5\.(\d{1,3})\.(\d{1,3})(?:[^.\d]|$)`)

// trouble says in words why there was no answer.
func (m *mailer) trouble(ctx context.Context, f *failure) string {
	var name *net.DNSError
	var operation *net.OpError
	var timeout net.Error
	var odd textproto.ProtocolError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Sprintf("The attempt was broken off at %s.", f.step)
	case ctx.Err() != nil, errors.As(f.err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("The mail server was too slow; time was up at %s.", f.step)
	case errors.Is(f.err, errNoTLS):
		return "The mail server does not offer TLS, and the password is not sent without it."
	case errors.Is(f.err, errNoAuth):
		return "The mail server offers no way to sign in that is known here (PLAIN, LOGIN)."
	case errors.Is(f.err, errTooMuch):
		return fmt.Sprintf("The mail server's answer at %s is too long.", f.step)
	case errors.As(f.err, &name):
		return fmt.Sprintf("The mail server's name %s could not be looked up.", m.host)
	case errors.As(f.err, &operation) && operation.Op == "dial":
		return fmt.Sprintf("The mail server could not be reached: %v.", f.err)
	case errors.As(f.err, &odd):
		return fmt.Sprintf("The mail server's answer at %s is not SMTP.", f.step)
	case errors.Is(f.err, io.EOF), errors.Is(f.err, io.ErrUnexpectedEOF),
		errors.As(f.err, &operation) && (operation.Op == "read" || operation.Op == "write"):
		return fmt.Sprintf("The mail server dropped the connection at %s.", f.step)
	default:
		return fmt.Sprintf("The conversation with the mail server failed at %s: %v.", f.step, f.err)
	}
}

// reason is a line of at most smtpReasonMax characters, without credentials, and
// without the recipient: servers quote it, and the log keeps reasons longer than
// addresses.
func (m *mailer) reason(text, to string) string {
	return oneLine(without(to, m.secrets.Replace(text)), smtpReasonMax)
}

// withoutNames takes out of a text what mail servers say about the network that
// they are in: IP addresses, and names in the domain of the operator's server.
func (m *mailer) withoutNames(text string) string {
	text = ipv6Like.ReplaceAllStringFunc(text, func(s string) string {
		if net.ParseIP(strings.TrimSuffix(s, ":")) == nil {
			return s // a time
		}
		return "…"
	})
	text = ipv4Like.ReplaceAllLiteralString(text, "…")
	_, domain, ok := strings.Cut(m.host, ".")
	if !ok || net.ParseIP(m.host) != nil {
		return text
	}
	if !strings.Contains(domain, ".") {
		domain = m.host
	}
	names := regexp.MustCompile(`(?i)\b([a-z0-9_-]+\.)*` + regexp.QuoteMeta(domain) + `\b`)
	return names.ReplaceAllLiteralString(text, "…")
}

var (
	ipv4Like = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b`)
	ipv6Like = regexp.MustCompile(`[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,8}(\.\d{1,3}){0,3}`)
)

// without takes an address out of a text, in whatever case it is written.
func without(address, text string) string {
	if address == "" {
		return text
	}
	same := regexp.MustCompile("(?i)" + regexp.QuoteMeta(strings.ToValidUTF8(address, "")))
	return same.ReplaceAllLiteralString(text, "…")
}
