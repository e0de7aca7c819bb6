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
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/fair"
)

const peerAddress, peerRefused = "192.0.2.1:80", "checks may not connect to 192.0.2.1"

// errorReason is an error, and what a check says of it.
type errorReason struct {
	err    error
	family string
	want   string
	own    bool
}

func connectError(number syscall.Errno) error {
	return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", number)}
}

var reasonsOfConnections = []errorReason{
	{errRefused, "", peerRefused, true},
	{context.Canceled, "", "the check was interrupted", true},
	{errTooLong, "", peerAddress + " sent more than a check reads", false},
	{&net.DNSError{IsNotFound: true}, "tcp", "the name NAME has no address", false},
	{&net.DNSError{IsNotFound: true}, "tcp4", "the name NAME has no IPv4 address", false},
	{&net.AddrError{}, "tcp6", "NAME has no IPv6 address", false},
	{&net.DNSError{}, "tcp", "the name NAME could not be resolved", false},

	{connectError(syscall.ECONNREFUSED), "", "connection refused by " + peerAddress, false},
	{connectError(syscall.ECONNRESET), "", "connection reset by " + peerAddress, false},
	{connectError(syscall.EPIPE), "", "connection closed by " + peerAddress, false},
	{connectError(syscall.ECONNABORTED), "", "connection aborted by " + peerAddress, false},
	{connectError(syscall.EHOSTUNREACH), "", "no route to " + peerAddress, false},
	{connectError(syscall.EHOSTDOWN), "", "no route to " + peerAddress, false},
	{connectError(syscall.ENETUNREACH), "", "no network route to " + peerAddress, false},
	{connectError(syscall.EADDRNOTAVAIL), "", "this machine has no address from which to reach " + peerAddress,
		true},
	{connectError(syscall.EACCES), "", "this machine does not permit connections to " + peerAddress, true},
	{connectError(syscall.EPERM), "", "this machine does not permit connections to " + peerAddress, true},
	{connectError(syscall.EMFILE), "", "this machine has too many open files to reach " + peerAddress, true},
	{connectError(syscall.ENFILE), "", "this machine has too many open files to reach " + peerAddress, true},
	{connectError(syscall.ENOBUFS), "", "no connection to " + peerAddress, true},
	{connectError(syscall.ENOMEM), "", "no connection to " + peerAddress, true},
}

func reasonsOfTLS() []errorReason {
	past, future := time.Now().Add(-48*time.Hour), time.Now().Add(48*time.Hour)
	named := &x509.Certificate{DNSNames: []string{"a.example", "b.example", "c.example", "d.example", "e.example"}}
	invalid := func(c *x509.Certificate, why x509.InvalidReason) error {
		return x509.CertificateInvalidError{Cert: c, Reason: why}
	}
	record := func(header, message string) error {
		e := tls.RecordHeaderError{Msg: message}
		copy(e.RecordHeader[:], header)
		return e
	}
	const noHandshake = "first record does not look like a TLS handshake"
	return []errorReason{
		{errNegativeSerial, "",
			"the certificate has a negative serial number, which the standard forbids; a check with insecure accepts " +
				"it",
			false},
		{http.ErrSchemeMismatch, "", peerAddress + " does not speak TLS, but HTTP: the URL is one of https", false},
		{x509.HostnameError{Host: "x.example"}, "", "the certificate is not valid for x.example", false},
		{x509.HostnameError{Host: "x.example", Certificate: &x509.Certificate{}}, "",
			"the certificate is not valid for x.example", false},
		{x509.HostnameError{Host: "x.example", Certificate: named}, "",
			"the certificate is not valid for x.example, but for a.example, b.example, c.example and 2 more", false},
		{x509.UnknownAuthorityError{}, "", "the certificate is not signed by a trusted authority", false},
		{x509.SystemRootsError{}, "", "this machine has no list of trusted certificate authorities", true},
		{invalid(nil, x509.Expired), "", "the certificate is not valid", false},
		{invalid(&x509.Certificate{NotBefore: past, NotAfter: past}, x509.Expired), "",
			"a certificate expired on " + day(past), false},
		{invalid(&x509.Certificate{NotBefore: future, NotAfter: future}, x509.Expired), "",
			"a certificate is not valid before " + day(future), false},
		{invalid(named, x509.NotAuthorizedToSign), "", "the chain of certificates is not valid", false},
		{invalid(named, x509.IncompatibleUsage), "", "the certificate is not for servers", false},
		{invalid(named, x509.NoValidChains), "", "the certificate is not valid", false},
		{&tls.CertificateVerificationError{Err: errors.New("?")}, "", "the certificate is not valid", false},
		{record("220 m", noHandshake), "", peerAddress + ` does not speak TLS: its answer begins with "220 m"`, false},
		{record("OK\r\n\r", noHandshake), "", peerAddress + ` does not speak TLS: its answer begins with "OK"`, false},
		{record("a\x1fbcd", noHandshake), "", peerAddress + " does not speak TLS", false},
		{record("a~ bc", noHandshake), "", peerAddress + ` does not speak TLS: its answer begins with "a~ bc"`, false},
		{record("a\x7fbcd", noHandshake), "", peerAddress + " does not speak TLS", false},
		{record("\r\n\r\n\r", noHandshake), "", peerAddress + " does not speak TLS", false},
		{record("220 m", "another"), "", peerAddress + " sent a record of TLS that is not valid", false},
		{errors.New("tls: server selected unsupported protocol version 301"), "",
			peerAddress + " speaks only an old version of TLS, which a check with insecure accepts", false},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(80)}, "",
			peerAddress + " refused the TLS handshake: internal error", false},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(99)}, "",
			peerAddress + " refused the TLS handshake: alert 99", false},
		{&net.OpError{Op: "local error", Err: tls.AlertError(80)}, "", "no connection to " + peerAddress, false},
		{&net.OpError{Op: "remote error", Err: io.EOF}, "", "no connection to " + peerAddress, false},
		{errors.New("?"), "", "no connection to " + peerAddress, false},
	}
}

// TestReasonsOfErrors checks what each error means to people, and which of them are this machine's own.
func TestReasonsOfErrors(t *testing.T) {
	for _, c := range slices.Concat(reasonsOfConnections, reasonsOfTLS()) {
		for _, wrapped := range []error{c.err, fmt.Errorf("connecting: %w", c.err)} {
			r := &run{
				timeout: time.Second, stage: stageConnecting, name: "NAME", family: c.family, address: peerAddress,
				refused: peerRefused,
			}
			if o := r.fail(wrapped); o.Failure != c.want || o.Unknown != c.own {
				t.Errorf("%#v: %q, of this machine %t, want %q", wrapped, o.Failure, o.Unknown, c.want)
			}
		}
	}
}

var errOther = errors.New("?")

// reasonsOfStages are the reasons of errors that say nothing but when they happened.
var reasonsOfStages = []struct {
	stage    stage
	received int64
	err      error
	want     string
}{
	{stageStart, 0, context.DeadlineExceeded, "the name NAME could not be resolved within 1.5 s"},
	{stageResolving, 0, context.DeadlineExceeded, "the name NAME could not be resolved within 1.5 s"},
	{stageConnecting, 0, os.ErrDeadlineExceeded, "no connection to ADDRESS within 1.5 s"},
	{stageTLS, 0, context.DeadlineExceeded, "no TLS handshake with ADDRESS within 1.5 s"},
	{stageWaiting, 0, &net.DNSError{IsTimeout: true}, "no response from ADDRESS within 1.5 s"},
	{stageReading, 1, context.DeadlineExceeded, "the response from ADDRESS did not end within 1.5 s"},
	{stageStart, 0, errOther, "the name NAME could not be resolved"},
	{stageResolving, 0, io.EOF, "the name NAME could not be resolved"},
	{stageConnecting, 0, errOther, "no connection to ADDRESS"},
	{stageConnecting, 0, io.EOF, "no connection to ADDRESS"},
	{stageTLS, 0, errOther, "the TLS handshake with ADDRESS failed"},
	{stageTLS, 0, io.EOF, "ADDRESS closed the connection during the TLS handshake"},
	{stageTLS, 0, io.ErrUnexpectedEOF, "ADDRESS closed the connection during the TLS handshake"},
	{stageTLS, 0, net.ErrClosed, "ADDRESS closed the connection during the TLS handshake"},
	{stageWaiting, 0, io.EOF, "ADDRESS closed the connection without a response"},
	{stageWaiting, 1, io.EOF, "ADDRESS closed the connection before the end of the response"},
	{stageWaiting, 0, errOther, "the response from ADDRESS is not valid"},
	{stageReading, 0, io.EOF, "ADDRESS closed the connection before the end of the response"},
	{stageReading, 1, errOther, "the response from ADDRESS is not valid"},
}

// TestReasonsOfStages checks what is said of a timeout, of a closed connection and of any other error in each stage.
func TestReasonsOfStages(t *testing.T) {
	const address = peerAddress
	for _, c := range reasonsOfStages {
		// Nothing was received through the proxy yet, or all of it comes from the target.
		for _, proxy := range []struct {
			scheme string
			past   bool
		}{{"", false}, {"http", false}, {"http", true}} {
			r := &run{
				timeout: 1500 * time.Millisecond, stage: c.stage, name: "NAME", address: address, received: c.received,
				proxy: proxy.scheme, past: proxy.past,
			}
			shown, name := address, "NAME"
			if proxy.scheme != "" && !proxy.past {
				shown, name = address+" (the proxy)", "NAME (the proxy)"
			}
			want := strings.NewReplacer("ADDRESS", shown, "NAME", name).Replace(c.want)
			if o := r.fail(c.err); o.Failure != want || o.Unknown {
				t.Errorf("stage %d, %v, proxy %+v: %q, unknown %t, want %q", c.stage, c.err, proxy, o.Failure,
					o.Unknown, want)
			}
		}
	}
}

func TestReasonsOfSOCKS(t *testing.T) {
	const address = peerAddress
	socks := &run{stage: stageWaiting, address: address, received: 1, proxy: "socks5"}
	for err, want := range map[error]string{
		errOther:                     address + " (the proxy) did not connect to the target",
		io.EOF:                       address + " (the proxy) closed the connection before the end of the response",
		x509.UnknownAuthorityError{}: "the proxy: the certificate is not signed by a trusted authority",
	} {
		if got := socks.fail(err).Failure; got != want {
			t.Errorf("failure of the proxy by %#v: %q, want %q", err, got, want)
		}
	}
	if got := socks.fail(context.Canceled).Failure; got != "the check was interrupted" || socks.address != address {
		t.Errorf("%q at %s", got, socks.address)
	}
}

// TestExpiryOfAnUnverifiedCertificate checks that the target's certificate is known though it was refused, and not a
// proxy's.
func TestExpiryOfAnUnverifiedCertificate(t *testing.T) {
	expires := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	err := &tls.CertificateVerificationError{
		UnverifiedCertificates: []*x509.Certificate{{NotAfter: expires}, {}}, Err: x509.UnknownAuthorityError{},
	}
	if o := (&run{}).fail(err); !o.CertificateExpiresAt.Equal(expires) {
		t.Errorf("of the target: %v", o.CertificateExpiresAt)
	}
	if o := (&run{proxy: "https"}).fail(err); !o.CertificateExpiresAt.IsZero() {
		t.Errorf("of the proxy: %v", o.CertificateExpiresAt)
	}
	o := (&run{}).fail(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
	if !o.CertificateExpiresAt.IsZero() {
		t.Errorf("of none: %v", o.CertificateExpiresAt)
	}
}

// TestJudgingExpiry checks both sides of each limit of days before a certificate expires, and what insecure changes.
func TestJudgingExpiry(t *testing.T) {
	const daily = 24 * time.Hour
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	const expired = "the certificate expired on 2026-03-14"
	for _, c := range []struct {
		left                    time.Duration
		warn, down              int
		failure, warning        string // verified
		insecureFailure, unsure string // and not
	}{
		{22 * daily, 21, 7, "", "", "", ""},
		{21 * daily, 21, 7, "", "", "", ""},
		{21*daily - 1, 21, 7, "", "in 20 days", "", "in 20 days"},
		{7 * daily, 21, 7, "", "in 7 days", "", "in 7 days"},
		{7*daily - 1, 21, 7, "in 6 days", "", "in 6 days", ""},
		{2*daily - 1, 21, 0, "", "in 1 day", "", "in 1 day"},
		{daily - 1, 21, 0, "", "in less than a day", "", "in less than a day"},
		{1, 0, 0, "", "", "", ""},
		{0, 21, 0, expired, "", "", expired},
		{-1, 0, 0, expired, "", "", ""},
		{-1, 21, 1, expired, "", expired, ""},
	} {
		for _, insecure := range []bool{false, true} {
			failure, warning := c.failure, c.warning
			if insecure {
				failure, warning = c.insecureFailure, c.unsure
			}
			o := Outcome{CertificateExpiresAt: now.Add(c.left)}
			(&tlsOptions{expiry: expiry{c.warn, c.down}, Insecure: insecure}).judgeExpiry(&o, now)
			short := strings.NewReplacer("the certificate expires ", "")
			if short.Replace(o.Failure) != failure || short.Replace(o.Warning) != warning {
				t.Errorf("%v left, warn %d, down %d, insecure %t: %q and %q", c.left, c.warn, c.down, insecure,
					o.Failure, o.Warning)
			}
		}
	}
	var o Outcome
	if (&tlsOptions{expiry: expiry{365, 365}}).judgeExpiry(&o, now); o.Failure != "" || o.Warning != "" {
		t.Errorf("without a certificate: %+v", o)
	}
	for days, ok := range map[[2]int]bool{{21, 21}: true, {21, 22}: false, {0, 365}: true, {1, 0}: true} {
		var bad kernel.ValidationError
		if (expiry{days[0], days[1]}).check(&bad); (bad.Err() == nil) != ok {
			t.Errorf("warn_days %d, down_days %d: %v", days[0], days[1], bad.Err())
		}
	}
}

// TestWhyABodyWasNotJudged checks what is said of the body, and whether that was this machine's fault.
func TestWhyABodyWasNotJudged(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, c := range []struct {
		ctx     context.Context
		err     error
		failure string
		unknown bool
	}{
		{late, errBusy, "this server was too busy to judge the response within 1.5 s", true},
		{late, errTooExpensive,
			"judging the body took longer than 5 s; use a simpler expression or a smaller max_body_size", false},
		{late, late.Err(), "the body could not be judged within 1.5 s", false},
		{t.Context(), context.Canceled, "the check was interrupted", true},
	} {
		var o Outcome
		(&run{timeout: 1500 * time.Millisecond}).notJudged(c.ctx, c.err, &o)
		if o.Failure != c.failure || o.Unknown != c.unknown {
			t.Errorf("%v: %q, unknown %t", c.err, o.Failure, o.Unknown)
		}
	}
	for _, c := range []struct {
		waited, held time.Duration
		want         error
	}{{time.Hour, time.Minute, errBusy}, {time.Minute, time.Hour, context.DeadlineExceeded}} {
		if got := (&turn{ctx: late, since: time.Now(), waited: c.waited, held: c.held}).why(); !errors.Is(got, c.want) {
			t.Errorf("waited %v, had %v: %v", c.waited, c.held, got)
		}
	}
	if got := (&turn{ctx: t.Context(), since: time.Now(), held: time.Hour}).why(); !errors.Is(got, errBusy) {
		t.Errorf("a full queue: %v", got)
	}
}

// TestTextsOfTargets checks how long texts of a target are shown.
func TestTextsOfTargets(t *testing.T) {
	full := strings.Repeat("é", 200)
	for text, want := range map[string]string{
		full: full, full + "x": full + "…", " a \n\tb\x00c ": "a b c", "a\xffb": "a?b", "": "", "a\u202eb": "a b",
	} {
		if got := shorten(text); got != want {
			t.Errorf("shorten %.20q: %.20q", text, got)
		}
	}
	for d, want := range map[time.Duration]string{
		10 * time.Second: "10 s", 1500 * time.Millisecond: "1.5 s", 1499600 * time.Microsecond: "1.5 s",
		time.Millisecond: "0.001 s",
	} {
		if got := seconds(d); got != want {
			t.Errorf("seconds of %v: %q", d, got)
		}
	}
	for n, want := range map[int]string{1: "a", 3: "a, a, a", 4: "a, a, a and 1 more"} {
		if got := shortList(strings.Split(strings.Repeat("a", n), "")); got != want {
			t.Errorf("%d texts: %q", n, got)
		}
	}
}

// TestTurnsEnd checks when a turn to judge a body is passed on, and when judging ends.
func TestTurnsEnd(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		ctx        context.Context
		had, since time.Duration // in the turns before, and in this one
		err        error
		passed     bool
	}{
		"it has just begun":      {t.Context(), time.Second, -time.Hour, nil, false},
		"it was long":            {t.Context(), time.Second, time.Second, nil, true},
		"all together are long":  {t.Context(), maxJudging, time.Millisecond, errTooExpensive, false},
		"it alone is too long":   {t.Context(), 0, maxJudging, errTooExpensive, false},
		"the check has ended":    {stopped, time.Hour, 0, context.Canceled, false},
		"it waited for too long": {stopped, 0, 0, errBusy, false},
	} {
		left := 0
		turn := &turn{
			ctx: c.ctx, pool: fair.NewPool(1, 1), since: time.Now().Add(-c.since), held: c.had, waited: time.Minute,
			release: func() { left++ },
		}
		began := turn.since
		ended := turn.stop()
		if ended != (c.err != nil) || !errors.Is(turn.err, c.err) || (left == 1) != c.passed ||
			turn.since.Equal(began) == c.passed {
			t.Errorf("%s: ended %t, %v, passed on %d times", name, ended, turn.err, left)
		}
		if c.passed && (turn.held < c.had+c.since || turn.pool.Free() != 0) {
			t.Errorf("%s: had %v, and %d places are free", name, turn.held, turn.pool.Free())
		}
		if again := turn.stop(); again != ended {
			t.Errorf("%s: asked again, ended %t", name, again)
		}
	}
}
