package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// runIn runs one command line with an environment, and returns what it wrote.
func runIn(t *testing.T, environ map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var list []string
	for name, value := range environ {
		t.Setenv(name, value) // the parser reads the process's environment
		list = append(list, name+"="+value)
	}
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a start that should have been refused ends
	defer cancel()
	status = run(&console{ctx, strings.NewReader(""), &out, &errs}, args, list)
	return status, out.String(), errs.String()
}

// TestWrongSettings starts with every kind of wrong value: the start is refused
// with one sentence that names the setting, and without the value of a secret.
func TestWrongSettings(t *testing.T) {
	database := "sqlite:" + filepath.Join(t.TempDir(), "allswell.db")
	for _, c := range []struct {
		env, value, takes string
	}{
		{"ALLSWELL_LISTEN", "8080", "must be HOST:PORT or :PORT"},
		{"ALLSWELL_LISTEN", ":http", "port from 0 to 65535"},
		{"ALLSWELL_LISTEN", ":65536", "port from 0 to 65535"},
		{"ALLSWELL_LISTEN", "http://localhost:80", "must be HOST:PORT"},
		{"ALLSWELL_DATABASE", "allswell.db", "must be sqlite:PATH or postgres://"},
		{"ALLSWELL_DATABASE", "sqlite:", "must be sqlite:PATH"},
		{"ALLSWELL_DATABASE", "mysql://root:hunter2@localhost/x", "must be sqlite:PATH"},
		{"ALLSWELL_DATABASE", "postgres://allswell:hunter2%@localhost/x", "must be sqlite:PATH"},
		{"ALLSWELL_BASE_URL", "status.example.com", "must be an http:// or https:// address"},
		{"ALLSWELL_BASE_URL", "https://status.example.com/path", "without a path"},
		{"ALLSWELL_BASE_URL", "ftp://status.example.com", "must be an http:// or https:// address"},
		{"ALLSWELL_BASE_URL", "https://", "must be an http:// or https:// address"},
		{"ALLSWELL_OWN_HOSTS", "https://status.example.net/", "must be host names separated by commas"},
		{"ALLSWELL_OWN_HOSTS", "status.example.net, a_b.example", "must be host names separated by commas"},
		{"ALLSWELL_DNS_SERVER", "192.0.2.53", "must be HOST:PORT"},
		{"ALLSWELL_DNS_SERVER", ":53", "must be HOST:PORT"},
		{"ALLSWELL_BOOTSTRAP_TOKEN", "hunter2", "at least 32 printable ASCII characters"},
		{"ALLSWELL_BOOTSTRAP_TOKEN", "hunter2 " + strings.Repeat("x", 40), "without spaces"},
		{"ALLSWELL_CHECK_INTERVAL", "60", "must be a duration in whole seconds from 1s to 1h"},
		{"ALLSWELL_CHECK_INTERVAL", "0s", "from 1s to 1h"},
		{"ALLSWELL_CHECK_INTERVAL", "1500ms", "whole seconds"},
		{"ALLSWELL_CHECK_INTERVAL", "2h", "from 1s to 1h"},
		{"ALLSWELL_FAILURE_THRESHOLD", "0", "must be a whole number from 1 to 1000"},
		{"ALLSWELL_FAILURE_THRESHOLD", "three", "must be a whole number from 1 to 1000"},
		{"ALLSWELL_PING_RATE_LIMIT", "-1", "must be a whole number from 0 to 1000000"},
		{"ALLSWELL_SIGNUP_LIMIT", "-1", "must be a whole number from 0 to 1000000"},
		{"ALLSWELL_API_RATE_LIMIT", "1e3", "must be a whole number from 0 to 1000000"},
		{"ALLSWELL_TRUSTED_PROXIES", "10.0.0.0/8, proxy", "must be addresses or networks separated by commas"},
		{"ALLSWELL_CLIENT_IP_HEADER", "X-Forwarded-Host", "must be X-Forwarded-For, Forwarded, X-Real-IP, CF-Connecting-IP, True-Client-IP, Fastly-Client-IP or Fly-Client-IP, not "},
		{"ALLSWELL_PING_EXEMPT", "10.0.0.0/33", "must be addresses or networks separated by commas"},
		{"ALLSWELL_METRICS_LISTEN", "9090", "must be HOST:PORT"},
		{"ALLSWELL_SMTP_URL", "mail.example.com:587", "must be smtp://"},
		{"ALLSWELL_SMTP_URL", "https://me:hunter2@mail.example.com", "must be smtp://"},
		{"ALLSWELL_SMTP_URL", "smtp://me:hunter2%@mail.example.com", "must be smtp://"},
		{"ALLSWELL_MAIL_FROM", "status", "must be a mail address"},
		{"ALLSWELL_WEBHOOK_ALLOW_PRIVATE", "maybe", "must be on or off"},
		{"ALLSWELL_WEBHOOK_DENY", "hooks.example.com", "must be addresses or networks separated by commas"},
		{"ALLSWELL_LOG_FORMAT", "xml", "must be text or json"},
		{"ALLSWELL_LOG_LEVEL", "verbose", "must be debug, info, warn or error"},
	} {
		t.Run(c.env+"="+c.value, func(t *testing.T) {
			environ := map[string]string{"ALLSWELL_DATABASE": database, c.env: c.value}
			status, stdout, stderr := runIn(t, environ, "serve")
			if status != exitUsage || stdout != "" {
				t.Errorf("exit status %d, output %q; want %d and none", status, stdout, exitUsage)
			}
			flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(c.env, "ALLSWELL_")), "_", "-")
			for _, part := range []string{"allswell: " + c.env + " (--" + flag + ") ", c.takes} {
				if !strings.Contains(stderr, part) {
					t.Errorf("%q does not say %q", stderr, part)
				}
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, ".\n") {
				t.Errorf("%q is not one sentence", stderr)
			}
			if strings.Contains(stderr, "hunter2") {
				t.Errorf("%q repeats a secret", stderr)
			}

			// By flag it is the same sentence, and a flag wins over a variable.
			t.Setenv(c.env, "")
			if _, _, byFlag := runIn(t, nil, "serve", "--"+flag+"="+c.value); byFlag != stderr {
				t.Errorf("by flag: %q, by variable: %q", byFlag, stderr)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	got, err := Settings{
		Listen: "[::1]:080", BaseURL: "https://Status.example.com:8443/",
		OwnHosts: " Alias.Example.:80, bücher.example,192.0.2.1,[::1], localhost,", DNSServer: "[::1]:053", CheckInterval: " 90s ", FailureThreshold: "5",
		PingRateLimit: "0", APIRateLimit: "7", SignUpLimit: "50", TrustedProxies: "10.0.0.0/8, 192.0.2.1,::1", PingExempt: "2001:db8::/32", ClientIPHeader: "x-real-ip",
		MetricsListen: "127.0.0.1:0", WebhookAllowPrivate: "ON", WebhookDeny: "192.0.2.7", LogFormat: "json", LogLevel: "WARN",
		DatabaseSetting: DatabaseSetting{"postgresql:///allswell?host=/run/postgresql"}, BootstrapToken: strings.Repeat("b", 32),
	}.parse()
	if err != nil {
		t.Fatal(err)
	}
	prefixes := func(list ...string) (out []netip.Prefix) {
		for _, p := range list {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	want := config{
		listen: "[::1]:80", database: "postgresql:///allswell?host=/run/postgresql", baseURL: "https://Status.example.com:8443",
		hosts: allswell.NewHosts("status.example.com", "alias.example", "xn--bcher-kva.example", "192.0.2.1", "[::1]", "localhost"), dnsServer: "[::1]:53",
		bootstrapToken: strings.Repeat("b", 32), checkInterval: 90 * time.Second, failureThreshold: 5, apiRateLimit: 7, signUpLimit: 50,
		trustedProxies: prefixes("10.0.0.0/8", "192.0.2.1/32", "::1/128"), pingExempt: prefixes("2001:db8::/32"), clientIPHeader: "X-Real-IP",
		metricsListen: "127.0.0.1:0", webhookAllowPrivate: true, webhookDeny: prefixes("192.0.2.7/32"), logJSON: true, logLevel: slog.LevelWarn,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestDefaults reads nothing at all, and empty variables, which is the same.
func TestDefaults(t *testing.T) {
	want := config{
		listen: ":8080", database: "sqlite:allswell.db", checkInterval: time.Minute, failureThreshold: 3,
		pingRateLimit: 60, apiRateLimit: 600, signUpLimit: 1000, clientIPHeader: "X-Forwarded-For",
	}
	got, err := Settings{}.parse()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	parser, err := newParser(&console{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range listSettings(reflect.ValueOf(Settings{})) {
		t.Setenv(g.env, "")
	}
	if _, err := parser.Parse([]string{"serve"}); err != nil {
		t.Fatal(err)
	}
	cli := parser.Model.Target.Interface().(commands)
	if got, err := cli.Serve.parse(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("from empty variables: got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestMailSettings(t *testing.T) {
	got, err := Settings{SMTPURL: "smtps://me:hunter2@mail.example.com:465", MailFrom: "Example Status <status@example.com>"}.parse()
	if err != nil {
		t.Fatal(err)
	}
	if got.smtpURL.Hostname() != "mail.example.com" || got.mailFrom.Address != "status@example.com" {
		t.Errorf("got %v, %v", got.smtpURL.Redacted(), got.mailFrom)
	}
	if _, err := (Settings{SMTPURL: "smtps://mail.example.com"}).parse(); err == nil || !strings.Contains(err.Error(), "ALLSWELL_MAIL_FROM (--mail-from) must be set") {
		t.Errorf("without a sender: %v", err)
	}
}

func TestUnknownSettingsAreNamed(t *testing.T) {
	status, _, stderr := runIn(t, map[string]string{
		"ALLSWELL_LISTN": ":80", "ALLSWELL_CHECKINTERVAL": "hunter2", "ALLSWELL_LISTEN": ":80",
		"ALLSWELL_URL": "http://x", "ALLSWELL_TOKEN": "hunter2", "OTHER": "1",
	}, "version")
	want := "allswell: warning: ignored, because there are no such settings: ALLSWELL_CHECKINTERVAL, ALLSWELL_LISTN\n"
	if status != exitDone || stderr != want {
		t.Errorf("status %d, %q, want %q", status, stderr, want)
	}
}

// TestDatabaseName holds that no part of a database's address that can be
// secret is in its name.
func TestDatabaseName(t *testing.T) {
	for address, want := range map[string]string{
		"sqlite:/var/lib/allswell.db":                              "sqlite:/var/lib/allswell.db",
		"postgres://me:hunter2@db.example.com:5432/allswell":       "postgres://db.example.com:5432/allswell",
		"postgres://db/allswell?password=hunter2&user=me":          "postgres://db/allswell",
		"postgresql:///allswell?host=/run/postgresql&password=pwd": "postgres:///allswell",
		"postgres://me:hunter2%@db/allswell":                       "postgres",
	} {
		if got := databaseName(address); got != want {
			t.Errorf("%s is named %s, want %s", address, got, want)
		}
	}
}

// TestUsage holds the statuses that programs rely on.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"", exitDone, "Usage: allswell <command>"},
		{"--help", exitDone, "Over the API of a running Allswell:"},
		{"serve --help", exitDone, "($ALLSWELL_CHECK_INTERVAL, default 1m)"},
		{"version", exitDone, "allswell "},
		{"nonsense", exitUsage, "unexpected argument nonsense"},
		{"serve --nonsense", exitUsage, "unknown flag --nonsense"},
		{"page create", exitUsage, "missing flags: --name=NAME"},
		{"page create Foo", exitUsage, "unexpected argument Foo: a name is given with --name"},
		{"incident open --page acme Down", exitUsage, "unexpected argument Down: a title is given with --title"},
		{"page list Foo", exitUsage, "allswell: unexpected argument Foo\n"},
		{"page create --token x --name=", exitUsage, "--name: a page needs a name"},
		{"page list", exitUsage, "ALLSWELL_TOKEN (--token) must be an API token"},
		{"page list --token x --url nonsense", exitUsage, "ALLSWELL_URL (--url) must be the http:// or https:// address"},
		{"page list --token x --url http://me:hunter2@localhost", exitUsage, "ALLSWELL_URL (--url)"},
		{"page list --limit 0", exitUsage, "--limit: must be a whole number from 1 to 100000"},
		{"monitor create --token x --name x --page x --interval 1.5s", exitUsage, "--interval: must be in whole seconds"},
		{"page set x --token x", exitUsage, "nothing to set"},
		{"demo --for banana", exitUsage, "allswell: --for must be a positive duration, such as 30s or 5m"},
		{"page create --name 日本 --token x", exitUsage, `no slug can be made from the name "日本": give one with --slug`},
		{"monitor create --token x --name x --page x --interval 1y", exitUsage, "--interval: must be in whole seconds: with the units w, d, h, m and s, such as 30s, 5m, 25h, 2d or 1d12h, or a bare number such as 300"},
		{"--version", exitDone, "allswell "},
		{"migrate --database /path/x.db", exitUsage, "with %-escapes for special characters; for this file it is sqlite:/path/x.db."},
		{"demo --for=-1s", exitUsage, "--for must be a positive duration"},
		{"demo --listen 8080", exitUsage, "ALLSWELL_LISTEN (--listen) must be HOST:PORT"},
		{"token create --name x --database nonsense", exitUsage, "ALLSWELL_DATABASE (--database) must be sqlite:PATH"},
		{"job", exitUsage, "ALLSWELL_DEMO_PING must be a ping address"},
	} {
		status, stdout, stderr := runIn(t, nil, strings.Fields(c.args)...)
		stdout = strings.Join(strings.Fields(stdout), " ") // help texts are wrapped
		if status != c.status || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("allswell %s: status %d, want %d\n%s%s\ndoes not say %q", c.args, status, c.status, stdout, stderr, c.says)
		}
		if status == exitUsage && stdout != "" {
			t.Errorf("allswell %s writes an error to standard output: %q", c.args, stdout)
		}
	}
}

// TestGroupsNameTheirCommands: the line of help of each group of commands names
// all of them.
func TestGroupsNameTheirCommands(t *testing.T) {
	parser, err := newParser(&console{t.Context(), nil, io.Discard, io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range parser.Model.Children {
		for _, command := range group.Children {
			if !strings.Contains(strings.ToLower(group.Help), command.Name) {
				t.Errorf("%q does not name %s", group.Help, command.Name)
			}
		}
	}
}

// TestSecretsOfAnUnreachableDatabase starts on a server that nobody runs. serve
// waits for it until it is stopped, the other commands fail.
func TestSecretsOfAnUnreachableDatabase(t *testing.T) {
	t.Setenv("ALLSWELL_DATABASE", "postgres://me:hunter2@127.0.0.1:1/allswell")
	for _, c := range []struct {
		args   []string
		status int
	}{
		{[]string{"serve", "--listen=127.0.0.1:0"}, 0}, {[]string{"migrate"}, exitFailed}, {[]string{"token", "list"}, exitFailed},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var out bytes.Buffer
		errs := &watched{until: "refused", then: cancel}
		if status := run(&console{ctx, strings.NewReader(""), &out, errs}, c.args, nil); status != c.status {
			t.Errorf("%v: exit status %d, want %d", c.args, status, c.status)
		}
		cancel()
		if said := out.String() + errs.String(); strings.Contains(said, "hunter2") || !strings.Contains(said, "refused") {
			t.Errorf("%v: either a secret or no reason: %s", c.args, said)
		}
	}
}

// watched keeps what is written, and calls then when it contains until.
type watched struct {
	mu    sync.Mutex
	text  strings.Builder
	until string
	then  func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if strings.Contains(w.text.String(), w.until) {
		w.then()
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestWrongSettingIsAUsageError(t *testing.T) {
	_, err := Settings{LogLevel: "x"}.parse()
	var wrong *wrongSetting
	var usage *usageError
	if !errors.As(err, &wrong) || !errors.As(err, &usage) {
		t.Errorf("%T %v", err, err)
	}
}
