package audience_test

import (
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// normalisedTargets are targets of channels, and what becomes of them.
var normalisedTargets = []struct {
	channel   audience.Channel
	from, to  string // to "": rejected
	otherwise string // the message of the rejection
}{
	{audience.ChannelEmail, " Ann.B+C@Example.COM\t", "ann.b+c@example.com", ""},
	{audience.ChannelEmail, "a@b.c", "a@b.c", ""},
	{audience.ChannelEmail, "o'hara@example.com", "o'hara@example.com", ""},
	{audience.ChannelEmail, strings.Repeat("a", 64) + "@example.com", strings.Repeat("a", 64) + "@example.com", ""},
	{audience.ChannelEmail, strings.Repeat("a", 65) + "@example.com", "", "must be an email address"},
	{audience.ChannelEmail, "a@" + strings.Repeat(strings.Repeat("b", 60)+".", 4) + "example.com", "",
		"must be an email address"},
	{audience.ChannelEmail, "", "", "is required"},
	{audience.ChannelEmail, " \n", "", "is required"},
	{audience.ChannelEmail, "ann", "", "must be an email address"},
	{audience.ChannelEmail, "ann@localhost", "", "must be an email address"},
	{audience.ChannelEmail, "@example.com", "", "must be an email address"},
	{audience.ChannelEmail, "ann@example.com.", "", "must be an email address"},
	{audience.ChannelEmail, "ann@-example.com", "", "must be an email address"},
	{audience.ChannelEmail, "ann@[192.0.2.1]", "", "must be an email address"},
	{audience.ChannelEmail, "ann@[IPv6:2001:db8::1]", "", "must be an email address"},
	{audience.ChannelEmail, "ann@127.0.0.1", "", "must be an email address"},
	{audience.ChannelEmail, "ann@127.1", "", "must be an email address"},
	{audience.ChannelEmail, "ann@127.0.0.0x1", "", "must be an email address"},
	{audience.ChannelEmail, "ann@mail.0X7F", "", "must be an email address"},
	{audience.ChannelEmail, "ann@1.2.3.example4", "ann@1.2.3.example4", ""},
	{audience.ChannelEmail, "ann@127.0.0.0xyz", "ann@127.0.0.0xyz", ""},
	{audience.ChannelEmail, "Ann@Bücher.example", "ann@xn--bcher-kva.example", ""},
	{audience.ChannelEmail, "jörg@bücher.example", "", "must be an email address"},
	{audience.ChannelEmail, "ann@ü\u202e.example", "", "must be an email address"},
	{audience.ChannelEmail, "ann@b@example.com", "", "must be an email address"},
	{audience.ChannelEmail, "ann@example.com, bob@example.com", "", "must be an email address"},
	{audience.ChannelEmail, "Ann <ann@example.com>", "", "must be an email address"},
	{audience.ChannelEmail, "<ann@example.com>", "", "must be an email address"},
	{audience.ChannelEmail, `"a b"@example.com`, "", "must be an email address"},
	{audience.ChannelEmail, "ann@example.com\r\nBcc: bob@example.com", "", "must be an email address"},
	{audience.ChannelEmail, "ann@example.com\x00", "", "must be an email address"},

	{audience.ChannelWebhook, " HTTPS://Example.COM/Hook?Key=Value ", "https://example.com/Hook?Key=Value", ""},
	{audience.ChannelWebhook, "https://example.com", "https://example.com/", ""},
	{audience.ChannelWebhook, "https://example.com:443/x", "https://example.com/x", ""},
	{audience.ChannelWebhook, "http://example.com:80/x", "http://example.com/x", ""},
	{audience.ChannelWebhook, "http://example.com:443/x", "http://example.com:443/x", ""},
	{audience.ChannelWebhook, "https://example.com/x#part", "https://example.com/x", ""},
	{audience.ChannelWebhook, "http://192.0.2.1:9000/x", "http://192.0.2.1:9000/x", ""},
	{audience.ChannelWebhook, "http://[2001:DB8::1]:80/x", "http://[2001:db8::1]/x", ""},
	{audience.ChannelWebhook, "http://localhost/", "http://localhost/", ""},
	{audience.ChannelWebhook, "", "", "is required"},
	{audience.ChannelWebhook, "example.com/x", "", "must begin with https://"},
	{audience.ChannelWebhook, "ftp://example.com/x", "", "must be an http(s) URL"},
	{audience.ChannelWebhook, "https://example.com:99999/x", "", "ports are from 1 to 65535"},
	{audience.ChannelWebhook, "mailto:ann@example.com", "", "must begin with https://"},
	{audience.ChannelWebhook, "https:///x", "", "must be an http(s) URL"},
	{audience.ChannelWebhook, "https://:443/", "", "must be an http(s) URL"},
	{audience.ChannelWebhook, "https://example.com:/x", "", "must be an http(s) URL"},
	{audience.ChannelWebhook, "https://example.com:http/x", "", "must be an http(s) URL"},
	{audience.ChannelWebhook, "https://ann:secret@example.com/x", "", "without user name"},
	{audience.ChannelWebhook, "https://exam ple.com/x", "", "must be an http(s) URL"},
	{audience.ChannelWebhook, "https://example.com/a b", "", "must be an http(s) URL"},
	{audience.ChannelWebhook, "https://example.com/x\r\nHost: other", "", "must be an http(s) URL"},
	{audience.ChannelWebhook, "https://bücher.example:443/x", "https://xn--bcher-kva.example/x", ""},
	{
		audience.ChannelWebhook, "https://example.com/" + strings.Repeat("x", kernel.MaxURLLength), "",
		"must be an http(s) URL",
	},

	{"pigeon", "ann@example.com", "", "must be one of: email, webhook, slack"},
}

func TestTargetsAreNormalised(t *testing.T) {
	for _, c := range normalisedTargets {
		got, err := audience.NewSubscriber{Channel: c.channel, Target: c.from}.Check()
		if c.to != "" {
			if err != nil || got.Target != c.to {
				t.Errorf("Check of the target %.80q = %q, %v; want %q", c.from, got.Target, err, c.to)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.otherwise) {
			t.Errorf("%.80q is accepted as %q, %v; want it rejected: %s", c.from, got.Target, err, c.otherwise)
		}
	}
}

func TestChosenComponents(t *testing.T) {
	n := audience.NewSubscriber{
		Channel: audience.ChannelEmail, Target: "a@example.com", Components: []string{"c", "a", "c", "b", "a"},
	}
	got, err := n.Check()
	if err != nil || !slices.Equal(got.Components, []string{"a", "b", "c"}) || n.Components[0] != "c" {
		t.Errorf("chosen components %v, %v; given %v", got.Components, err, n.Components)
	}
	n.Components = nil
	for i := range audience.MaxChosenComponents {
		n.Components = append(n.Components, fmt.Sprint(i), fmt.Sprint(i))
	}
	if _, err := n.Check(); err != nil {
		t.Errorf("%d components, each twice: %v", audience.MaxChosenComponents, err)
	}
	n.Components, n.Target = append(n.Components, "one more"), "nobody"
	_, err = n.Check()
	if err == nil || !strings.Contains(err.Error(), "email address") || !strings.Contains(err.Error(), "At most 200") {
		t.Errorf("too many for a bad address: %v, want both rejected", err)
	}
}

// FuzzTarget checks that an accepted target is one address or one URL of http or https, and does not
// change when it is checked again.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"ann@example.com", "Ann <ann@example.com>", "a@b.c, d@e.f", "a@b.c\r\nBcc: d@e.f", `"a b"@c.d`, "a@[::1]",
		"ſ@example.com", "\u212a@example.com",
		"https://example.com", "HTTP://[2001:DB8::1%25eth0]:80/a?b#c", "http://a:80:80/", "//a/b", "https:a",
		"http://a/%zz", "http://a/\x7f", "https://a%2fb/",
		"http://a?b", "http://a/b%", "http://a:080/", "http://%61/", "http://a/?%zz", "https://a//b/../c",
		"http://example.com:443:443/",
		"+49 151 12345678", "+666-6666",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		for _, channel := range audience.Channels {
			n, err := audience.NewSubscriber{Channel: channel, Target: target}.Check()
			if err != nil {
				continue
			}
			if again, err := n.Check(); err != nil || again.Target != n.Target {
				t.Errorf("%q became %q, and that %q, %v", target, n.Target, again.Target, err)
			}
			if strings.ContainsFunc(n.Target, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
				t.Errorf("%q contains characters that are not printable ASCII", n.Target)
			}
			if channel == audience.ChannelEmail {
				parsed, err := mail.ParseAddressList(n.Target)
				if err != nil || len(parsed) != 1 || parsed[0].Address != n.Target ||
					len(n.Target) > kernel.MaxEmailLength {
					t.Errorf("%q is not one address: %v, %v", n.Target, parsed, err)
				}
				continue
			}
			if channel == audience.ChannelSMS {
				if !regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`).MatchString(n.Target) {
					t.Errorf("%q is not a phone number", n.Target)
				}
				continue
			}
			u, err := url.Parse(n.Target)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
				u.Fragment != "" || u.Path == "" {
				t.Errorf("%q is not an http URL: %v", n.Target, err)
			}
		}
	})
}

func TestWants(t *testing.T) {
	for _, c := range []struct {
		name         string
		chosen       []string
		kind         statuspage.EventKind
		about        []string
		mailbox, web bool
	}{
		{"whole page, one component", nil, statuspage.EventIncidentCreated, []string{"a"}, true, true},
		{"whole page, all components", nil, statuspage.EventIncidentResolved, nil, true, true},
		{"components, all components", []string{"a"}, statuspage.EventIncidentUpdated, nil, true, true},
		{"components, one of them", []string{"a", "c"}, statuspage.EventIncidentCreated, []string{"b", "c"}, true,
			true},
		{"components, none of them", []string{"a"}, statuspage.EventIncidentCreated, []string{"b"}, false, false},
		{"a status", nil, statuspage.EventComponentStatusChanged, []string{"a"}, false, true},
		{"status of a chosen component", []string{"a"}, statuspage.EventComponentStatusChanged, []string{"a"}, false,
			true},
		{"status of another component", []string{"a"}, statuspage.EventComponentStatusChanged, []string{"b"}, false,
			false},
	} {
		s := audience.Subscriber{Channel: audience.ChannelEmail, Components: c.chosen, WholePage: len(c.chosen) == 0}
		if got := s.Wants(c.kind, c.about); got != c.mailbox {
			t.Errorf("%s: an email subscriber wants it: %v", c.name, got)
		}
		s.Channel = audience.ChannelWebhook
		if got := s.Wants(c.kind, c.about); got != c.web {
			t.Errorf("%s: a webhook wants it: %v", c.name, got)
		}
	}
	for _, c := range []struct {
		name            string
		chosen, about   []string
		asks, byVisitor bool
		want            bool
	}{
		{"does not ask", nil, []string{"a"}, false, false, false},
		{"asks, the whole page", nil, []string{"a"}, true, false, true},
		{"asks, a chosen component", []string{"a"}, []string{"a"}, true, false, true},
		{"asks, another component", []string{"a"}, []string{"b"}, true, false, false},
		{"asks, a monitor without a component", []string{"a"}, nil, true, false, false},
		{"asks, the whole page, a monitor without a component", nil, nil, true, false, true},
		{"a visitor's", nil, []string{"a"}, true, true, false},
	} {
		s := audience.Subscriber{
			Channel: audience.ChannelWebhook, Components: c.chosen, WholePage: len(c.chosen) == 0, Warnings: c.asks,
			AddedByOperator: !c.byVisitor,
		}
		for _, kind := range []statuspage.EventKind{
			statuspage.EventMonitorWarning, statuspage.EventMonitorWarningEnded,
		} {
			if got := s.Wants(kind, c.about); got != c.want {
				t.Errorf("%s: Wants(%s) = %v", c.name, kind, got)
			}
		}
	}
	left := audience.Subscriber{Channel: audience.ChannelEmail} // its components were deleted
	if left.Wants(statuspage.EventIncidentCreated, []string{"a"}) || !left.Wants(statuspage.EventIncidentCreated, nil) {
		t.Error("a subscriber whose components were deleted should be notified only of the whole page")
	}
}

func TestConsecutiveRejectionsSuspend(t *testing.T) {
	s := audience.Subscriber{ConfirmedAt: domaintest.Epoch}
	for n := range audience.MaxRejections {
		if !s.Active() {
			t.Fatalf("suspended after %d rejections", n)
		}
		s.RecordRejection(fmt.Sprint("reason ", n), domaintest.At(time.Duration(n)))
	}
	last := audience.MaxRejections - 1
	if s.Active() || !s.SuspendedAt.Equal(domaintest.At(time.Duration(last))) ||
		s.SuspendedFor != fmt.Sprint("reason ", last) {
		t.Errorf("after %d rejections: %+v", audience.MaxRejections, s)
	}
	s.RecordRejection("later", domaintest.At(time.Hour))
	if s.SuspendedFor == "later" {
		t.Error("the reason of a suspension changed")
	}
	if (audience.Subscriber{}).Active() {
		t.Error("an unconfirmed subscriber is active")
	}
}

func TestSecretsOverlap(t *testing.T) {
	s := audience.Subscriber{Secret: "new", OldSecret: "old", OldSecretUntil: domaintest.At(time.Hour)}
	if got := s.Secrets(domaintest.At(time.Hour - 1)); !slices.Equal(got, []string{"new", "old"}) {
		t.Errorf("before the end of the old one: %q", got)
	}
	if got := s.Secrets(domaintest.At(time.Hour)); !slices.Equal(got, []string{"new"}) {
		t.Errorf("at the end of the old one: %q", got)
	}
	a, b := audience.NewWebhookSecret(), audience.NewWebhookSecret()
	if a == b || !strings.HasPrefix(a, "whsec_") || len(a) != len("whsec_")+32 {
		t.Errorf("secrets %q, %q", a, b)
	}
	key := audience.NewSubscriberKey()
	if !audience.ValidSubscriberKey(key) || audience.ValidSubscriberKey(key[1:]) || key == audience.NewSubscriberKey() {
		t.Errorf("key %q", key)
	}
}

// TestMailboxKey checks which addresses share a mailbox.
func TestMailboxKey(t *testing.T) {
	for address, want := range map[string]string{
		"ann@example.com":             "ann@example.com",
		"ann+news@example.com":        "ann@example.com",
		"ann+a+b@example.com":         "ann@example.com",
		"+ann@example.com":            "+ann@example.com",
		"a.nn-x@example.com":          "a.nn-x@example.com",
		"a.n.n+x@gmail.com":           "ann@gmail.com",
		"a.n.n@googlemail.com":        "ann@gmail.com",
		"ann-shop@yahoo.com":          "ann@yahoo.com",
		"ann-shop@yahoo.co.uk":        "ann@yahoo.co.uk",
		"an.n-shop@ymail.com":         "an.n@ymail.com",
		"a.n_n-e+x@proton.me":         "anne@proton.me",
		"anne@pm.me":                  "anne@proton.me",
		"anne@protonmail.com":         "anne@proton.me",
		"ann@mail.gmail.com":          "ann@mail.gmail.com",
		"...@gmail.com":               "...@gmail.com",
		"Ann+News@Example.COM":        "ann@example.com",
		"ann@yahoo.attacker.example":  "ann@yahoo.attacker.example",
		"an-n@yahoo.attacker.example": "an-n@yahoo.attacker.example",
		"no address":                  "no address",
	} {
		if got := kernel.MailboxKey(address); got != want {
			t.Errorf("MailboxKey(%s) = %s, want %s", address, got, want)
		}
	}
	for _, host := range []string{"example.com", "gmail.com", "yahoo.com", "proton.me"} {
		once := kernel.MailboxKey("a.n_n-x+y@" + host)
		if twice := kernel.MailboxKey(once); twice != once {
			t.Errorf("%s becomes %s", once, twice)
		}
	}
}

// TestVisitorsWebhooks checks which URLs visitors may subscribe.
func TestVisitorsWebhooks(t *testing.T) {
	for target, want := range map[string]string{
		"https://hooks.example.com/a?b=c":    "https://hooks.example.com/a?b=c",
		" HTTPS://Hooks.Example.com:443#a":   "https://hooks.example.com/",
		"https://xn--bcher-kva.example/hook": "https://xn--bcher-kva.example/hook",
		"https://Bücher.example/hook":        "https://xn--bcher-kva.example/hook",

		"https://１２７.0.0.1/": "", "https://ｌocalhost/": "", "https://ü\u202e.example/": "",
		"https://bücher.example:22/": "", "https://bücher.example/ü": "",

		"http://hooks.example.com/": "", "https://hooks.example.com:8443/": "", "https://hooks.example.com:22/": "",
		"https://hooks.example.com:/":     "",
		"https://user@hooks.example.com/": "", "https://user:pass@hooks.example.com/": "",
		"https://hooks.example.com@10.0.0.1/": "",
		"https://10.0.0.1/":                   "", "https://1.1.1.1/": "", "https://[::1]/": "",
		"https://[::ffff:10.0.0.1]/": "", "https://[fe80::1%25eth0]/": "",
		"https://127.1/": "", "https://2130706433/": "", "https://0x7f.1/": "", "https://0x7f000001/": "",
		"https://127.0.0.0x1/": "", "https://0177.0.0.1/": "",
		"https://localhost/": "", "https://a.localhost/": "", "https://intranet/": "",
		"https://hooks.example.com./": "", "https:///": "", "https://": "",
		"https:hooks.example.com/": "", "file:///etc/passwd": "", "gopher://hooks.example.com/": "", "": "",
		"hooks.example.com": "",
	} {
		n, err := audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: target}.CheckSignUp()
		if want == "" && err == nil || want != "" && (err != nil || n.Target != want) {
			t.Errorf("CheckSignUp of the webhook %q = %q, %v", target, n.Target, err)
		}
	}
	visitors, operators := audience.Subscriber{Channel: audience.ChannelWebhook, Target: "https://example.com/"},
		audience.Subscriber{Channel: audience.ChannelWebhook, Target: "https://example.com/", AddedByOperator: true}
	if visitors.Destination() == operators.Destination() {
		t.Error("webhooks of visitors delay those of operators")
	}
}
