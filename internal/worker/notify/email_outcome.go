package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"regexp"
	"strings"

	"github.com/allswell/allswell/internal/domain/audience"
)

// failure is an error in a step of the SMTP session.
type failure struct {
	step string
	err  error
}

func (f *failure) Error() string { return f.step + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// late reports whether the server had the recipient when the step failed. Earlier steps are the same for all mails.
func (f *failure) late() bool {
	return f.step == "RCPT TO" || f.step == "DATA" || f.step == "the message"
}

// result returns the result of a temporary failure.
func (f *failure) result() audience.SendResult {
	if f.late() {
		return audience.SendFailed
	}
	return audience.SendServerUnavailable
}

// reason returns the reason that the workspace sees. It hides the details of steps
// before the mail itself, which concern the operator's server.
func (f *failure) reason(detail string) string {
	if f.late() || f.step == "MAIL FROM" {
		return detail
	}
	return "The mail server cannot be used at the moment. The log of the service has the cause."
}

var (
	errNoTLS   = errors.New("TLS is not offered")
	errNoAuth  = errors.New("no supported authentication mechanism is offered")
	errTooLong = errors.New("the response is too long")
)

// isStale reports whether a reused connection ended before the server had the content of
// the mail, so that the mail can be sent over a new one immediately.
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

// outcome returns what the end of an SMTP session means for the delivery to an address.
func (m *mailer) outcome(ctx context.Context, to string, err error) audience.SendOutcome {
	var f *failure
	if !errors.As(err, &f) {
		return audience.SendOutcome{Result: audience.SendAccepted}
	}
	var answer *textproto.Error
	if errors.As(err, &answer) {
		detail := fmt.Sprintf("The mail server answered %d at %s: %s", answer.Code, f.step, answer.Msg)
		if f.step == "AUTH" {
			detail += " (Check user and password in ALLSWELL_SMTP_URL, and their percent-encoding.)"
		}
		o := audience.SendOutcome{
			Result: f.result(), Reason: f.reason(detail), Detail: detail, Unreachable: answer.Code == 421 || !f.late(),
		}
		ours := f.step == "RCPT TO" && isOurs(answer.Code, without(to, answer.Msg))
		if ours {
			o.Detail += " (The mail server has to accept mail of this host, or needs user and password in " +
				"ALLSWELL_SMTP_URL.)"
		}
		switch {
		case answer.Code/100 != 5 || !f.late() || ours:
		case f.step != "RCPT TO" && isPolicy(answer.Msg):
			o.Result = audience.SendUndeliverable // it concerns such mails, not the recipient
		default:
			o.Result = audience.SendRejected
		}
		return o
	}
	detail := m.describe(ctx, f)
	// A server that is silent after the message may be examining this message, or have accepted it.
	return audience.SendOutcome{
		Result: f.result(), Reason: f.reason(detail), Detail: detail, Unreachable: f.step != "the message",
	}
}

// isOurs reports whether a permanent rejection at RCPT TO concerns this installation and
// not the recipient: the server does not relay our mail, or rejects the sender or the
// client. Some servers check these only at RCPT TO. The operator can fix it.
//
// 530 asks for authentication. Otherwise, if the reply has an enhanced status code, that
// decides: X.7.* is a policy, X.1.7 and X.1.8 are bad senders. Without one, only the text
// can tell: 550 is an unknown mailbox, a policy, or a refusal to relay (RFC 5321, 4.2.2).
func isOurs(code int, text string) bool {
	if code == 530 {
		return true
	}
	if enhanced := enhancedCode.FindStringSubmatch(text); enhanced != nil {
		return enhanced[1] == "7" || enhanced[1] == "1" && (enhanced[2] == "7" || enhanced[2] == "8")
	}
	text = strings.ToLower(text)
	return strings.Contains(text, "relay") ||
		(code == 550 || code == 553 || code == 554) && blamesSender.MatchString(text)
}

// blamesSender matches how servers without enhanced status codes reject a sender.
var blamesSender = regexp.MustCompile(`sender|blocked|blacklist|blocklist|spamhaus|client host`)

// enhancedCode matches a permanent enhanced status code (RFC 3463) at the beginning of a
// reply, and captures its subject and detail.
var enhancedCode = regexp.MustCompile(`^#?5\.(\d{1,3})\.(\d{1,3})(?:[^.\d]|$)`)

// isPolicy reports whether a reply has an enhanced status code of a security or policy reason.
func isPolicy(text string) bool {
	enhanced := enhancedCode.FindStringSubmatch(text)
	return enhanced != nil && enhanced[1] == "7"
}

// timeoutHints name the usual causes of timeouts, by step.
var timeoutHints = map[string]string{
	"connecting":   " A firewall may block the port; many networks block port 25.",
	"the greeting": " Port 465 needs smtps:// in ALLSWELL_SMTP_URL.",
}

// describe describes a failure that is not a reply of the server.
func (m *mailer) describe(ctx context.Context, f *failure) string {
	var name *net.DNSError
	var operation *net.OpError
	var timeout net.Error
	var protocolErr textproto.ProtocolError
	var noTLS tls.RecordHeaderError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Sprintf("The attempt was cancelled at %s.", f.step)
	case ctx.Err() != nil, errors.As(f.err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("The mail server was too slow: timeout at %s.", f.step) + timeoutHints[f.step]
	case errors.As(f.err, &noTLS):
		return fmt.Sprintf("The SMTP session failed at %s: %v. Ports 25 and 587 need smtp:// in ALLSWELL_SMTP_URL.",
			f.step, f.err)
	case errors.Is(f.err, errNoTLS):
		return "The mail server does not offer TLS, and the password is not sent without it."
	case errors.Is(f.err, errNoAuth):
		return "The mail server offers no supported authentication mechanism (PLAIN, LOGIN)."
	case errors.Is(f.err, errTooLong):
		return fmt.Sprintf("The mail server's response at %s is too long.", f.step)
	case errors.As(f.err, &name):
		return fmt.Sprintf("The mail server's name %s could not be looked up.", m.host)
	case errors.As(f.err, &operation) && operation.Op == "dial":
		return fmt.Sprintf("The mail server could not be reached: %v.", f.err)
	case errors.As(f.err, &protocolErr):
		return fmt.Sprintf("The mail server's response at %s is not SMTP.", f.step)
	case errors.Is(f.err, io.EOF), errors.Is(f.err, io.ErrUnexpectedEOF),
		errors.As(f.err, &operation) && (operation.Op == "read" || operation.Op == "write"):
		return fmt.Sprintf("The mail server dropped the connection at %s.", f.step)
	default:
		return fmt.Sprintf("The SMTP session failed at %s: %v.", f.step, f.err)
	}
}

// reason returns text as one line of at most smtpReasonMax characters, without credentials and without the recipient:
// servers quote it, and the log keeps reasons longer than addresses.
func (m *mailer) reason(text, to string) string {
	return oneLine(without(to, m.secrets.Replace(text)), smtpReasonMax)
}

// withoutNames removes what reveals the operator's network: IP addresses, and names in
// the domain of the operator's server.
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

// without removes an address from a text, ignoring case.
func without(address, text string) string {
	if address == "" {
		return text
	}
	same := regexp.MustCompile("(?i)" + regexp.QuoteMeta(strings.ToValidUTF8(address, "")))
	return same.ReplaceAllLiteralString(text, "…")
}
