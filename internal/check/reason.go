package check

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/allswell/allswell/internal/shared/redact"
)

// fail returns the outcome of a run that ended with an error: its reason in plain English, never the error's text,
// which is written for programmers and depends on the version of Go.
func (r *run) fail(err error) Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := Outcome{Failure: r.reasonAt(err), Unknown: isOwnFault(err)}
	var bad *tls.CertificateVerificationError
	if errors.As(err, &bad) && len(bad.UnverifiedCertificates) > 0 && !r.isProxy() {
		o.CertificateExpiresAt = bad.UnverifiedCertificates[0].NotAfter
	}
	return o
}

// reasonAt returns why a run failed, and says so if it was the proxy. The caller holds r.mu.
func (r *run) reasonAt(err error) string {
	if !r.isProxy() || isOwnFault(err) {
		return r.reason(err)
	}
	const proxy = " (the proxy)"
	name, address := r.name, r.address
	r.name, r.address = name+proxy, address+proxy
	why := r.reason(err)
	r.name, r.address = name, address
	if !strings.Contains(why, proxy) {
		return "the proxy: " + why
	}
	return why
}

// reason returns why a run failed. The caller holds r.mu.
func (r *run) reason(err error) string {
	var lookup *net.DNSError
	var family *net.AddrError
	switch {
	case errors.Is(err, errRefused):
		return r.refused
	case isTimeout(err):
		return r.timedOut()
	case errors.Is(err, context.Canceled):
		return "the check was interrupted"
	case errors.Is(err, errTooLong):
		return r.address + " sent more than a check reads"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "the name " + r.name + " has no " + r.addresses()
	case errors.As(err, &family):
		return r.name + " has no " + r.addresses()
	case errors.As(err, &lookup):
		return "the name " + r.name + " could not be resolved"
	}
	if why := systemReason(err, r.address); why != "" {
		return why
	}
	if why := tlsReason(err, r.address); why != "" {
		return why
	}
	if why := httpReason(err, r.address); why != "" {
		return why
	}
	return r.unexpected(err)
}

// errInvalidResponse means that a response breaks the rules of its protocol.
var errInvalidResponse = errors.New("invalid response")

// isOwnFault reports whether this machine caused an error, so that it says nothing about the target.
func isOwnFault(err error) bool {
	for _, own := range []error{
		errRefused, context.Canceled, syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS,
		syscall.ENOMEM, syscall.EACCES, syscall.EPERM,
	} {
		if errors.Is(err, own) {
			return true
		}
	}
	var roots x509.SystemRootsError
	return errors.As(err, &roots)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// shorten returns the beginning of a text that a target wrote, on one line.
func shorten(text string) string {
	const limit = 200
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.Join(strings.Fields(text), " ")
	if characters := []rune(text); len(characters) > limit {
		return string(characters[:limit]) + redact.CutMark
	}
	return text
}

// addresses names the addresses that the run can connect to.
func (r *run) addresses() string {
	switch {
	case strings.HasSuffix(r.family, "4"):
		return "IPv4 address"
	case strings.HasSuffix(r.family, "6"):
		return "IPv6 address"
	}
	return "address"
}

// timedOut says what the target did not do in time.
func (r *run) timedOut() string {
	within := "within " + seconds(r.timeout)
	switch r.stage {
	case stageStart, stageResolving:
		return "the name " + r.name + " could not be resolved " + within
	case stageConnecting:
		return "no connection to " + r.address + " " + within
	case stageTLS:
		return "no TLS handshake with " + r.address + " " + within
	case stageWaiting:
		return "no response from " + r.address + " " + within
	}
	return "the response from " + r.address + " did not end " + within
}

// unexpected says what failed if the error itself says nothing to people.
func (r *run) unexpected(err error) string {
	closed := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
	switch {
	case r.stage <= stageResolving:
		return "the name " + r.name + " could not be resolved"
	case r.stage == stageConnecting:
		return "no connection to " + r.address
	case r.stage == stageTLS && closed:
		return r.address + " closed the connection during the TLS handshake"
	case r.stage == stageTLS:
		return "the TLS handshake with " + r.address + " failed"
	case r.stage == stageWaiting && closed && r.received == 0:
		return r.address + " closed the connection without a response"
	case r.isProxy() && strings.HasPrefix(r.proxy, "socks") && !closed:
		return r.address + " did not connect to the target"
	case closed:
		return r.address + " closed the connection before the end of the response"
	}
	return "the response from " + r.address + " is not valid"
}

// systemReason returns what an error of the operating system means, or "".
func systemReason(err error, address string) string {
	for _, known := range []struct {
		number syscall.Errno
		text   string
	}{
		{syscall.ECONNREFUSED, "connection refused by "},
		{syscall.ECONNRESET, "connection reset by "},
		{syscall.EPIPE, "connection closed by "},
		{syscall.ECONNABORTED, "connection aborted by "},
		{syscall.EHOSTUNREACH, "no route to "},
		{syscall.EHOSTDOWN, "no route to "},
		{syscall.ENETUNREACH, "no network route to "},
		{syscall.EADDRNOTAVAIL, "this machine has no address from which to reach "},
		{syscall.EACCES, "this machine does not permit connections to "},
		{syscall.EPERM, "this machine does not permit connections to "},
		{syscall.EMFILE, "this machine has too many open files to reach "},
		{syscall.ENFILE, "this machine has too many open files to reach "},
		{syscall.ETIMEDOUT, "no answer from "},
	} {
		if errors.Is(err, known.number) {
			return known.text + address
		}
	}
	return ""
}

// tlsReason returns what an error of TLS or of certificates means, or "".
func tlsReason(err error, address string) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var roots x509.SystemRootsError
	var header tls.RecordHeaderError
	switch {
	case errors.Is(err, errNegativeSerial):
		return "the certificate has a negative serial number, which the standard forbids; a check with insecure " +
			"accepts it"
	case errors.Is(err, http.ErrSchemeMismatch):
		return address + " does not speak TLS, but HTTP: the URL is one of https"
	case errors.As(err, &name):
		return "the certificate is not valid for " + name.Host + certificateNames(name.Certificate)
	case errors.As(err, &invalid):
		return invalidCertificate(invalid)
	case errors.As(err, &unknown):
		return "the certificate is not signed by a trusted authority"
	case errors.As(err, &roots):
		return "this machine has no list of trusted certificate authorities"
	case errors.As(err, &header) && header.Msg != "first record does not look like a TLS handshake":
		return address + " sent a record of TLS that is not valid"
	case errors.As(err, &header):
		return address + " does not speak TLS" + firstBytes(header.RecordHeader)
	}
	if strings.Contains(err.Error(), "server selected unsupported protocol version") { // crypto/tls has no type for it
		return address + " speaks only an old version of TLS, which a check with insecure accepts"
	}
	if alert, ok := receivedAlert(err); ok {
		return address + " refused the TLS handshake: " + alertText(alert)
	}
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) {
		return "the certificate is not valid"
	}
	return ""
}

// certificateNames returns the first names of a certificate, to follow a sentence, or "".
func certificateNames(c *x509.Certificate) string {
	if c == nil || len(c.DNSNames) == 0 {
		return ""
	}
	return ", but for " + shortList(c.DNSNames)
}

func invalidCertificate(e x509.CertificateInvalidError) string {
	if e.Cert == nil {
		return "the certificate is not valid"
	}
	switch e.Reason {
	case x509.Expired:
		if now := time.Now(); now.Before(e.Cert.NotBefore) {
			return "a certificate is not valid before " + day(e.Cert.NotBefore)
		}
		return "a certificate expired on " + day(e.Cert.NotAfter)
	case x509.NotAuthorizedToSign, x509.TooManyIntermediates, x509.CANotAuthorizedForThisName,
		x509.NameMismatch, x509.NameConstraintsWithoutSANs, x509.UnconstrainedName, x509.TooManyConstraints,
		x509.CANotAuthorizedForExtKeyUsage:
		return "the chain of certificates is not valid"
	case x509.IncompatibleUsage:
		return "the certificate is not for servers"
	}
	return "the certificate is not valid"
}

// receivedAlert returns the number of the alert of TLS with which a server ended a handshake. Its type is not exported.
func receivedAlert(err error) (alert uint8, ok bool) {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return 0, false
	}
	number := reflect.ValueOf(op.Err)
	if number.Kind() != reflect.Uint8 {
		return 0, false
	}
	return uint8(number.Uint()), true
}

// alertText returns what an alert of TLS means (RFC 8446, section 6).
func alertText(alert uint8) string {
	if text, ok := alertTexts[alert]; ok {
		return text
	}
	return fmt.Sprintf("alert %d", alert)
}

// alertTexts are what the alerts of a server mean. TLS numbers them.
var alertTexts = map[uint8]string{
	10: "it did not expect a message that it got",
	20: "a record is not valid (bad_record_mac)",
	21: "it could not decrypt a record (decryption_failed)",
	22: "a record is too long (record_overflow)",
	30: "it could not decompress a record (decompression_failure)",
	40: "no cipher suite or version in common (it may know only old ones, such as RSA key exchange, which a check " +
		"with insecure accepts), or a client certificate is missing",
	41:  "there is no certificate (no_certificate)",
	42:  "the client certificate is not accepted",
	43:  "the client certificate is not accepted",
	44:  "the client certificate is revoked",
	45:  "the client certificate has expired",
	46:  "the client certificate is not accepted",
	47:  "a parameter of the handshake is not valid (illegal_parameter)",
	48:  "the client certificate is not signed by an authority that it trusts",
	49:  "access denied",
	50:  "it could not read a message (decode_error)",
	51:  "a signature or a key is not valid (decrypt_error)",
	60:  "an export restriction",
	70:  "no common version of TLS",
	71:  "insufficient security",
	80:  "internal error",
	86:  "the version of TLS is a fallback that it refuses (inappropriate_fallback)",
	90:  "it canceled the handshake (user_canceled)",
	100: "it refuses to negotiate again (no_renegotiation)",
	109: "an extension is missing (missing_extension)",
	110: "it does not support an extension (unsupported_extension)",
	111: "it could not obtain the client certificate (certificate_unobtainable)",
	112: "it does not know the name",
	113: "the status of a certificate is not valid (bad_certificate_status_response)",
	114: "the hash of a certificate is not valid (bad_certificate_hash_value)",
	115: "it does not know the key (unknown_psk_identity)",
	116: "it requires a client certificate",
	120: "no common application protocol",
	121: "it requires an encrypted hello (ech_required)",
}

// firstBytes returns what a server sent instead of a record of TLS, to follow the reason, or "" if it is no text.
func firstBytes(header [5]byte) string {
	text := strings.TrimRight(string(header[:]), "\r\n")
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return `: its answer begins with "` + text + `"`
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }

// seconds writes a timeout, such as "10 s" or "1.5 s".
func seconds(d time.Duration) string {
	return fmt.Sprintf("%g s", d.Round(time.Millisecond).Seconds())
}

// shortList lists the first of several texts that a target wrote.
func shortList(values []string) string {
	more := ""
	if len(values) > 3 {
		values, more = values[:3], fmt.Sprintf(" and %d more", len(values)-3)
	}
	return shorten(strings.Join(values, ", ")) + more
}
