package server

import (
	"log/slog"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
)

func TestSettings(t *testing.T) {
	got, err := Settings{
		Listen: "[::1]:080", BaseURL: "https://Status.example.com:8443/",
		OwnHosts: " Alias.Example.:80, bücher.example,192.0.2.1,[::1], localhost,", DNSServer: "[::1]:053",
		CheckInterval: " 90s ", FailureThreshold: "5", MaxMonitors: "1000000", MaxChannels: "7",
		PingRateLimit: "0", APIRateLimit: "7", SignUpLimit: "50", TrustedProxies: "10.0.0.0/8, 192.0.2.1,::1",
		PingExempt: "2001:db8::/32", ClientIPHeader: "x-real-ip",
		MetricsListen: "127.0.0.1:0", WebhookAllowPrivate: "ON", WebhookDeny: "192.0.2.7", LogFormat: "json",
		LogLevel:        "WARN",
		SMSSettings:     SMSSettings{SMSChannel: " phones ", SMSCountries: "+49, 1876,", SMSDailyLimit: "5"},
		DatabaseSetting: settings.DatabaseSetting{Database: "postgresql:///allswell?host=/run/postgresql"},
		BootstrapToken:  strings.Repeat("b", 32),
	}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	prefixes := func(list ...string) (out []netip.Prefix) {
		for _, p := range list {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	want := Config{
		Listen: "[::1]:80", Database: "postgresql:///allswell?host=/run/postgresql",
		BaseURL: "https://Status.example.com:8443", MailHello: "status.example.com",
		Hosts: statuspage.NewHosts("status.example.com", "alias.example", "xn--bcher-kva.example", "192.0.2.1", "[::1]",
			"localhost"), DNSServer: "[::1]:53",
		BootstrapToken: strings.Repeat("b", 32), CheckInterval: 90 * time.Second, FailureThreshold: 5,
		MaxMonitors: 1_000_000, MaxChannels: 7, APIRateLimit: 7, SignUpLimit: 50, AuditRetention: 400 * 24 * time.Hour,
		PingRetention:  90 * 24 * time.Hour,
		TrustedProxies: prefixes("10.0.0.0/8", "192.0.2.1/32", "::1/128"), PingExempt: prefixes("2001:db8::/32"),
		ClientIPHeader: "X-Real-IP",
		Checks:         checkDefaults, SignIn: signInDefaults,
		SMS: store.SMSOptions{
			Channel: "phones", DailyLimit: 5, SignUpLimit: 200, Countries: []string{"49", "1876"},
		},
		MetricsListen: "127.0.0.1:0", WebhookAllowPrivate: true, WebhookDeny: prefixes("192.0.2.7/32"), LogJSON: true,
		LogLevel: slog.LevelWarn,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDefaults(t *testing.T) {
	want := Config{
		Listen: "127.0.0.1:8080", Database: "sqlite:allswell.db", CheckInterval: time.Minute, FailureThreshold: 3,
		MaxMonitors: 10_000, MaxChannels: 200,
		PingRateLimit: 60, APIRateLimit: 600, SignUpLimit: 1000, AuditRetention: 400 * 24 * time.Hour,
		PingRetention: 90 * 24 * time.Hour, ClientIPHeader: "X-Forwarded-For",
		SignIn: signInDefaults, Checks: checkDefaults, SMS: store.SMSOptions{DailyLimit: 1000, SignUpLimit: 200},
	}
	got, err := Settings{}.Parse()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

// TestNamesInOtherScripts checks that hosts in settings are in ASCII, and which name mail servers are greeted with.
func TestNamesInOtherScripts(t *testing.T) {
	s := Settings{
		BaseURL: "https://bücher.example", SMTPURL: "smtp://j%C3%B6rg:geheim@bücher.example:587",
		MailFrom: "a@example.com", DNSServer: "bücher.example:53",
		CheckSettings: CheckSettings{CheckCanaries: "bücher.example:443"},
	}
	got, err := s.Parse()
	if err != nil {
		t.Fatal(err)
	}
	const name = "xn--bcher-kva.example"
	if got.BaseURL != "https://"+name || got.SMTPURL.Host != name+":587" || got.SMTPURL.User.Username() != "jörg" ||
		got.DNSServer != name+":53" ||
		got.Checks.Canaries[0].Host != name || got.MailHello != name || !got.Hosts.Contains(name) {
		t.Errorf("the settings with names in other scripts: %+v", got)
	}
	s.MailHello = "Mail.bücher.example."
	if got, err = s.Parse(); err != nil || got.MailHello != "mail."+name {
		t.Errorf("the name for EHLO: %q, %v", got.MailHello, err)
	}
	for _, c := range []struct {
		setting string
		s       Settings
	}{
		{"ALLSWELL_BASE_URL", Settings{BaseURL: "https://ü\u202e.example"}},
		{"ALLSWELL_SMTP_URL", Settings{SMTPURL: "smtp://ü\u202e.example", MailFrom: "a@example.com"}},
		{"ALLSWELL_DNS_SERVER", Settings{DNSServer: "ü\u202e.example:53"}},
		{"ALLSWELL_CHECK_CANARIES", Settings{CheckSettings: CheckSettings{CheckCanaries: "ü\u202e.example:53"}}},
		{"ALLSWELL_MAIL_HELO", Settings{MailHello: "localhost"}},
		{"ALLSWELL_MAIL_HELO", Settings{MailHello: "192.0.2.1"}},
		{"ALLSWELL_MAIL_HELO", Settings{MailHello: "a b.example"}},
		{"ALLSWELL_MAIL_HELO", Settings{MailHello: "a.example\r\nMAIL FROM:<x>"}},
	} {
		if _, err := c.s.Parse(); err == nil || !strings.Contains(err.Error(), c.setting) {
			t.Errorf("the error for %+v: %v", c, err)
		}
	}
}

func TestTLSSettings(t *testing.T) {
	got, err := Settings{
		TLS: "Auto", BaseURL: "https://status.example.com", TLSEmail: "Ops <ops@example.com>", RedirectListen: "off",
		ACMEDirectory: "https://ca.example.com/dir", ACMECA: "ca.pem",
	}.Parse()
	want := TLSConfig{
		Auto: true, Email: "ops@example.com", ACMEDirectory: "https://ca.example.com/dir", ACMECA: "ca.pem",
	}
	if err != nil || got.TLS != want || got.Listen != ":443" {
		t.Errorf("%+v, listening on %s, %v", got.TLS, got.Listen, err)
	}
	got, err = Settings{
		TLSCert: "cert.pem", TLSKey: "key.pem", BaseURL: "https://localhost:8443", Listen: ":8443",
	}.Parse()
	want = TLSConfig{CertFile: "cert.pem", KeyFile: "key.pem", RedirectListen: ":80"}
	if err != nil || got.TLS != want || got.Listen != ":8443" {
		t.Errorf("%+v, listening on %s, %v", got.TLS, got.Listen, err)
	}
	for want, s := range map[string]Settings{
		"ALLSWELL_TLS (--tls) must be off or auto": {TLS: "on"},
		"ALLSWELL_TLS (--tls) must be off when": {
			TLS: "auto", TLSCert: "x", TLSKey: "y", BaseURL: "https://status.example.com",
		},
		"ALLSWELL_TLS_KEY (--tls-key) must be set together":     {TLSCert: "x", BaseURL: "https://status.example.com"},
		"ALLSWELL_BASE_URL (--base-url) must be the https://":   {TLS: "auto"},
		"with a public host name":                               {TLS: "auto", BaseURL: "https://192.0.2.1"},
		"ALLSWELL_REDIRECT_LISTEN (--redirect-listen) must be":  {RedirectListen: "80"},
		"ALLSWELL_ACME_DIRECTORY (--acme-directory) must be an": {ACMEDirectory: "ca.example.com"},
		"such as https://status.example.com":                    {TLS: "auto", BaseURL: "http://status.example.com"},
		"ALLSWELL_TLS_EMAIL (--tls-email) must be":              {TLSEmail: "ops"},
	} {
		if _, err := s.Parse(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error for %+v: %v, want %s", s, err, want)
		}
	}
}

func TestMailSettings(t *testing.T) {
	got, err := Settings{
		SMTPURL: "smtps://me:hunter2@mail.example.com:465", MailFrom: "Example Status <status@example.com>",
	}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	if got.SMTPURL.Hostname() != "mail.example.com" || got.MailFrom.Address != "status@example.com" {
		t.Errorf("the settings of mail: %v, %v", got.SMTPURL.Redacted(), got.MailFrom)
	}
	_, err = (Settings{SMTPURL: "smtps://mail.example.com"}).Parse()
	if err == nil || !strings.Contains(err.Error(), "ALLSWELL_MAIL_FROM (--mail-from) must be set") {
		t.Errorf("without a sender: %v", err)
	}
}
