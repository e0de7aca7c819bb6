package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/server"
	"github.com/allswell/allswell/internal/shared/settings"
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // so that a start that should fail ends
	defer cancel()
	status = program().Run(&console.Console{Ctx: ctx, In: strings.NewReader(""), Out: &out, Err: &errs}, args, list)
	return status, out.String(), errs.String()
}

// wrongSettings are values of settings, and what is said about them.
var wrongSettings = []struct {
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
	{"ALLSWELL_CLIENT_IP_HEADER", "X-Forwarded-Host",
		"must be X-Forwarded-For, Forwarded, X-Real-IP, CF-Connecting-IP, True-Client-IP, Fastly-Client-IP or " +
			"Fly-Client-IP, not "},
	{"ALLSWELL_PING_EXEMPT", "10.0.0.0/33", "must be addresses or networks separated by commas"},
	{"ALLSWELL_METRICS_LISTEN", "9090", "must be HOST:PORT"},
	{"ALLSWELL_SMTP_URL", "mail.example.com:587", "must be smtp://"},
	{"ALLSWELL_SMTP_URL", "https://me:hunter2@mail.example.com", "must be smtp://"},
	{"ALLSWELL_SMTP_URL", "smtp://me:hunter2%@mail.example.com", "must be smtp://"},
	{"ALLSWELL_MAIL_FROM", "status", "must be a mail address"},
	{"ALLSWELL_WEBHOOK_ALLOW_PRIVATE", "maybe", "must be on or off"},
	{"ALLSWELL_WEBHOOK_DENY", "hooks.example.com", "must be addresses or networks separated by commas"},
	{"ALLSWELL_ALERT_COMMAND", "alert", "must be an absolute path"},
	{"ALLSWELL_LOG_FORMAT", "xml", "must be text or json"},
	{"ALLSWELL_LOG_LEVEL", "verbose", "must be debug, info, warn or error"},
}

// TestWrongSettings checks that every kind of invalid value stops the start with one sentence that names the setting,
// and does not contain the value of a secret.
func TestWrongSettings(t *testing.T) {
	database := "sqlite:" + filepath.Join(t.TempDir(), "allswell.db")
	for _, c := range wrongSettings {
		t.Run(c.env+"="+c.value, func(t *testing.T) {
			environ := map[string]string{"ALLSWELL_DATABASE": database, c.env: c.value}
			status, stdout, stderr := runIn(t, environ, "serve")
			if status != console.ExitUsage || stdout != "" {
				t.Errorf("exit status %d, output %q; want %d and none", status, stdout, console.ExitUsage)
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

			// A flag causes the same sentence, and takes precedence over the variable.
			t.Setenv(c.env, "")
			if _, _, byFlag := runIn(t, nil, "serve", "--"+flag+"="+c.value); byFlag != stderr {
				t.Errorf("by flag: %q, by variable: %q", byFlag, stderr)
			}
		})
	}
}

// TestEmptyVariables checks that empty environment variables are ignored.
func TestEmptyVariables(t *testing.T) {
	want, err := server.Settings{}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	parser, err := program().Parser(&console.Console{Out: io.Discard, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings.List(server.Settings{}) {
		t.Setenv(s.Env, "")
	}
	if _, err := parser.Parse([]string{"serve"}); err != nil {
		t.Fatal(err)
	}
	tree := parser.Model.Target.Interface().(commands)
	if got, err := tree.Serve.Parse(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("settings with empty variables:\ngot  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestUnknownSettingsAreNamed(t *testing.T) {
	status, _, stderr := runIn(t, map[string]string{
		"ALLSWELL_LISTN": ":80", "ALLSWELL_CHECKINTERVAL": "hunter2", "ALLSWELL_LISTEN": ":80",
		"ALLSWELL_URL": "http://x", "ALLSWELL_TOKEN": "hunter2", "OTHER": "1",
	}, "version")
	want := "allswell: warning: ignored, because there are no such settings: ALLSWELL_CHECKINTERVAL, ALLSWELL_LISTN\n"
	if status != console.ExitDone || stderr != want {
		t.Errorf("status %d, %q, want %q", status, stderr, want)
	}
}

// usages are command lines, with their exit status and a part of what they print.
var usages = []struct {
	args   string
	status int
	says   string
}{
	{"", console.ExitDone, "Usage: allswell <command>"},
	{"--help", console.ExitDone, "Using the API of a running server:"},
	{"serve --help", console.ExitDone, "($ALLSWELL_CHECK_INTERVAL, default 1m)"},
	{"version", console.ExitDone, "allswell "},
	{"nonsense", console.ExitUsage, "unexpected argument nonsense"},
	{"serve --nonsense", console.ExitUsage, "unknown flag --nonsense"},
	{"page create", console.ExitUsage, "missing flags: --name=NAME"},
	{"page create Foo", console.ExitUsage, "unexpected argument Foo: a name is given with --name"},
	{"incident open --page acme Down", console.ExitUsage,
		"unexpected argument Down: a title is given with --title"},
	{"page list Foo", console.ExitUsage, "allswell: unexpected argument Foo\n"},
	{"page create --token x --name=", console.ExitUsage, "--name: a page needs a name"},
	{"page list", console.ExitUsage, "ALLSWELL_TOKEN (--token) must be an API token"},
	{"page list --token x --url nonsense", console.ExitUsage,
		"ALLSWELL_URL (--server) must be the http:// or https:// URL"},
	// only other commands have this name of --server
	{"monitor list --token x --url nonsense", console.ExitUsage,
		"ALLSWELL_URL (--server) must be the http:// or https:// URL"},
	{"page list --token x --url http://me:hunter2@localhost", console.ExitUsage, "ALLSWELL_URL (--server)"},
	{"page list --limit 0", console.ExitUsage, "--limit: must be a whole number from 1 to 100000"},
	{"monitor create --token x --name x --page x --interval 1.5s", console.ExitUsage,
		"--interval: must be in whole seconds"},
	{"page set x --token x", console.ExitUsage, "nothing to set"},
	{"demo --for banana", console.ExitUsage, "allswell: --for must be a positive duration, such as 30s or 5m"},
	{"page create --name 日本 --token x", console.ExitUsage,
		`no slug can be made from the name "日本": give one with --slug`},
	{"monitor create --token x --name x --page x --interval 1y", console.ExitUsage,
		"--interval: must be in whole seconds: with the units w, d, h, m and s, such as 30s, 5m, 25h, 2d or 1d12h"},
	{"monitor create --token x --name x --page x --interval 300", console.ExitUsage,
		"--interval: needs a unit, such as 300s, 300m, 300h or 300d"},
	{"maintenance create --token x --title x --page x --in 2d --for 1h --remind 30d", console.ExitUsage,
		"--remind must be from 1s to 14 days, or give --no-reminder"},
	{"--wide page list Foo", console.ExitUsage, "allswell: unexpected argument Foo"},
	{"--nonsense page list", console.ExitUsage, "unknown flag --nonsense"},
	{"--help page", console.ExitDone, "Usage: allswell page <command>"},
	{"--version", console.ExitDone, "allswell "},
	{"migrate --database /path/x.db", console.ExitUsage,
		"with %-escapes for special characters (%23 for #); for this file it is sqlite:/path/x.db."},
	{"demo --for=-1s", console.ExitUsage, "--for must be a positive duration"},
	{"demo --listen 8080", console.ExitUsage, "ALLSWELL_LISTEN (--listen) must be HOST:PORT"},
	{"token create --name x --database nonsense", console.ExitUsage,
		"ALLSWELL_DATABASE (--database) must be sqlite:PATH"},
	{"job", console.ExitUsage, "ALLSWELL_DEMO_PING must be a ping URL"},
}

// TestUsage checks exit statuses.
func TestUsage(t *testing.T) {
	for _, c := range usages {
		status, stdout, stderr := runIn(t, nil, strings.Fields(c.args)...)
		stdout = strings.Join(strings.Fields(stdout), " ") // help texts are wrapped
		if status != c.status || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("allswell %s: status %d, want %d\n%s%s\ndoes not say %q", c.args, status, c.status, stdout, stderr,
				c.says)
		}
		if status == console.ExitUsage && stdout != "" {
			t.Errorf("allswell %s writes an error to standard output: %q", c.args, stdout)
		}
	}
}

// TestGroupsNameTheirCommands checks that the help of each group of commands names all of them.
func TestGroupsNameTheirCommands(t *testing.T) {
	parser, err := program().Parser(&console.Console{Ctx: t.Context(), Out: io.Discard, Err: io.Discard})
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

// TestSecretsOfAnUnreachableDatabase runs commands with a database server that does not exist. serve waits for it until
// it is stopped, the other commands fail.
func TestSecretsOfAnUnreachableDatabase(t *testing.T) {
	t.Setenv("ALLSWELL_DATABASE", "postgres://me:hunter2@127.0.0.1:1/allswell")
	for _, c := range []struct {
		args   []string
		status int
	}{
		{[]string{"serve", "--listen=127.0.0.1:0"}, 0}, {[]string{"migrate"}, console.ExitFailed},
		{[]string{"token", "list"}, console.ExitFailed},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var out bytes.Buffer
		errs := &watched{until: "refused", then: cancel}
		status := program().Run(&console.Console{Ctx: ctx, In: strings.NewReader(""), Out: &out, Err: errs}, c.args,
			nil)
		if status != c.status {
			t.Errorf("%v: exit status %d, want %d", c.args, status, c.status)
		}
		cancel()
		said := out.String() + errs.String()
		if strings.Contains(said, "hunter2") || !strings.Contains(said, "refused") {
			t.Errorf("%v: either a secret or no reason: %s", c.args, said)
		}
	}
}

// watched is a buffer that calls then when its text contains until.
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
