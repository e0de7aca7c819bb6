package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// testCommands are the commands of this package.
type testCommands struct {
	Page         PageCommands         `cmd:""`
	Group        GroupCommands        `cmd:""`
	Component    ComponentCommands    `cmd:""`
	Monitor      MonitorCommands      `cmd:""`
	Incident     IncidentCommands     `cmd:""`
	Template     TemplateCommands     `cmd:""`
	Maintenance  MaintenanceCommands  `cmd:""`
	Announcement AnnouncementCommands `cmd:""`
	Subscriber   SubscriberCommands   `cmd:""`
	Delivery     DeliveryCommands     `cmd:""`
	Member       MemberCommands       `cmd:""`
	Invitation   InvitationCommands   `cmd:""`
	Session      SessionCommands      `cmd:""`
	Channel      ChannelCommands      `cmd:""`
	Alert        AlertCommands        `cmd:""`
	Silence      SilenceCommands      `cmd:""`
	OnCall       OnCallCommands       `cmd:"" name:"oncall"`
}

func TestMain(m *testing.M) {
	retries = -1
	time.Local = time.UTC
	os.Exit(m.Run())
}

// testProgram returns the program of testCommands.
func testProgram() console.Program {
	return console.Program{Commands: &testCommands{
		Subscriber: NewSubscriberCommands(), Monitor: NewMonitorCommands(), Channel: NewChannelCommands(),
		Announcement: NewAnnouncementCommands(),
		Page:         NewPageCommands(), Component: NewComponentCommands(), Group: NewGroupCommands(),
		Template: NewTemplateCommands(), Maintenance: NewMaintenanceCommands(),
		Alert: NewAlertCommands(), OnCall: NewOnCallCommands(), Silence: NewSilenceCommands(),
	}, Name: "allswell", Variables: HelpVariables(), Message: Message, BeforeHelp: NarrowHelp}
}

// against runs a command against a server, and returns the exit status and the output. The server's URL is replaced by
// "URL" in the output.
func against(t *testing.T, server http.HandlerFunc, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	s := httptest.NewServer(server)
	defer s.Close()
	var out, errs bytes.Buffer
	args = append(args, "--server="+s.URL, "--token=hunter2")
	c := &console.Console{Ctx: t.Context(), In: strings.NewReader("from standard input\n"), Out: &out, Err: &errs}
	status = testProgram().Run(c, args, nil)
	stdout, stderr = strings.ReplaceAll(out.String(), s.URL, "URL"), strings.ReplaceAll(errs.String(), s.URL, "URL")
	if strings.Contains(stdout+stderr, "hunter2") {
		t.Errorf("the token is printed: %s%s", stdout, stderr)
	}
	return status, stdout, stderr
}

// canonical returns a JSON body with sorted keys and times in UTC, and any other body unchanged.
func canonical(body []byte) string {
	var v map[string]any
	if json.Unmarshal(body, &v) != nil {
		return string(body)
	}
	for key, value := range v {
		text, _ := value.(string)
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			v[key] = kernel.FormatTime(t)
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

func answer(status int, header, value, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// answerMonitors answers with the monitors in a JSON array that match the query.
func answerMonitors(w http.ResponseWriter, r *http.Request, monitors string) {
	var all, some []map[string]any
	if err := json.Unmarshal([]byte(monitors), &all); err != nil {
		panic(err)
	}
	for _, m := range all {
		matches := true
		for parameter, field := range map[string]string{
			"page_slug": "page", "component_id": "component_id", "incident_id": "incident_id", "state": "state",
		} {
			value, _ := m[field].(string)
			wanted := r.URL.Query().Get(parameter)
			matches = matches && (wanted == "" || slices.Contains(strings.Split(wanted, ","), value))
		}
		if matches {
			some = append(some, m)
		}
	}
	json.NewEncoder(w).Encode(map[string]any{
		"data": append([]map[string]any{}, some...), "meta": map[string]int{"total": len(some)},
	})
}

// TestErrors compares the message and the exit status of each kind of failure.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		server http.HandlerFunc
		want   string
	}{
		{"a web site", answer(200, "Content-Type", "text/html", "<html>"), "URL is not an Allswell server (200 OK)"},
		{"another API", answer(200, "", "", `{"result": []}`), "URL is not an Allswell server (200 OK)"},
		{"an object for a list", answer(200, "", "", `{"data": {}}`),
			"URL is not an Allswell server: a list was expected"},
		{"a broken proxy", answer(502, "", "", "Bad Gateway"), "URL is not an Allswell server (502 Bad Gateway)"},
		{"a redirect", answer(301, "Location", "https://other.example/", `{"data": []}`),
			"URL redirects to https://other.example/: use that address"},
		{"a huge answer", answer(200, "", "", `{"data": ["`+strings.Repeat("x", 16<<20)+`"]}`),
			"URL answered with more than 16777216 bytes"},
		{"401", answer(401, "", "", `{"message": "Unauthenticated."}`),
			"the token was refused: it is wrong, revoked, or of another Allswell server (ALLSWELL_TOKEN or --token)"},
		{"403", answer(403, "", "", `{"message": "This token has the scope read; this call needs write."}`),
			"the server answered 403: This token has the scope read; this call needs write."},
		{"404", answer(404, "", "", `{"message": "Not found."}`),
			"there is no such resource in the workspace of this token"},
		{"422",
			answer(422, "", "", `{"message": "x", "errors": {"slug": ["One.", "Two."], "name": ["Three.\u001b[31m"]}}`),
			"the request was refused:\n  name: Three.\ufffd[31m\n  slug: One.\n  slug: Two."},
		{"422 without fields", answer(422, "", "", `{"message": "No."}`), "the request was refused: No."},
		{"429", answer(429, "Retry-After", "17", `{"message": "Too many requests."}`),
			"too many requests: try again in 17 s"},
		{"500", answer(500, "", "", `{"message": "Something went wrong.", "id": "err_7"}`),
			"the server answered 500: Something went wrong. In the server's log it is err_7."},
		{"503", answer(503, "", "", `{"message": "Please try again."}`), "the server answered 503: Please try again."},
	} {
		status, stdout, stderr := against(t, c.server, "page", "list")
		if status != console.ExitFailed || stdout != "" || stderr != "allswell: "+c.want+"\n" {
			t.Errorf("%s: status %d, %q, %q\nwant %q", c.name, status, stdout, stderr, c.want)
		}
	}
}

// fieldErrors are problems with fields, and what commands print about them.
var fieldErrors = []struct {
	args, field, code string
	codeArgs          []any
	want              string
}{
	{"maintenance create|--page=p|--title=x|--in=1h|--until=2030-01-01T10:00:00Z", "scheduled_until",
		"must be at least a minute after %s", []any{kernel.Name("scheduled_for")},
		"--until: must be at least a minute after --in."},
	{"maintenance create|--page=p|--title=x|--in=1h|--for=1h", "scheduled_for", kernel.Required, nil,
		"--in: is required."},
	{"maintenance create|--page=p|--title=x|--in=1h|--for=1h", "remind_before", "must be a whole number", nil,
		"--remind: must be a whole number."},
	{"incident create|--page=p|--title=x", "components.1.status", "must be one of: %s", []any{"degraded"},
		"--component 2, status: must be one of: degraded."},
	{"incident create|--page=p|--title=x", "components.0", "There is none.", nil, "--component 1: There is none."},
	{"page create|--name=x", "components.0.status", "No.", nil, "component 1, status: No."},
	{"page create|--name=x", "footer_links.3.url", "No.", nil, "--footer 4, url: No."},
	{"page create|--name=x", "name", "may not be longer than %d characters", []any{255},
		"--name: may not be longer than 255 characters."},
	{"page create|--name=x", "languages", "must be among: %s", []any{"en"}, "--offer-language: must be among: en."},
	{"silence create|--tag=x|--for=1h", "ends_at", "must be after the %s", []any{kernel.Name("starts_at")},
		"--for: must be after the starts_at."},
	{"page create|--name=x", "scheduled_for", "No.", nil, "scheduled_for: No."},
	{"alert rule create|--name=x", "channel_ids", "A rule must have %s or %s.",
		[]any{kernel.Name("channel_ids"), kernel.Name("on_call_ids")},
		"--channel: A rule must have --channel or --on-call."},
	{"alert rule put|x|--json|--name=x", "slug", "may only have lower-case letters", nil,
		"rule: may only have lower-case letters."},
	{"alert rule create|--name=x|--quiet-hours=1:00-2:00", "quiet_hours",
		"must have two different times of day, such as 22:00 and 07:00", nil,
		"--quiet-hours: must have two different times of day, such as 22:00 and 07:00."},
	{"alert rule create|--name=x", "escalation", "may have at most %d items", []any{9},
		"--escalate: may have at most 9 items."},
	{"alert rule create|--name=x", "events", kernel.Required, nil, "--event: is required."},
	{"alert rule create|--name=x", "tags", "Each of the %s must be one of: %s.", []any{kernel.Name("tags"), "a"},
		"--tag: Each of --tag must be one of: a."},
	{"oncall create|--name=x", "participants.0.name", kernel.Required, nil, "--participant 1, name: is required."},
	{"oncall create|--name=x|--hand-over-day=x", "hand_over_day", "must be one of: %s", []any{"mon"},
		"--hand-over-day: must be one of: mon."},
	{"channel create|--type=ntfy|--name=x", "topic", kernel.Required, nil, "--topic: is required."},
	{"channel create|--type=ntfy|--name=x", "server_url", "is wrong", nil, "--server-url: is wrong."},
	{"channel create|--type=ntfy|--name=x", "max_per_minute", "must be from %d to %d", []any{1, 60},
		"--max-per-minute: must be from 1 to 60."},
	{"channel create|--type=ntfy|--name=x", "title_template", "is wrong", nil, "--title-template: is wrong."},
	{"channel create|--type=ntfy|--name=x", "fallback_id", "No.", nil, "--fallback: No."},
	{"monitor create|--no-page|--name=x|--type=http|--cron=@daily", "schedule",
		"A monitor of the type %s has no %s.", []any{"http", kernel.Name("schedule")},
		"--cron: A monitor of the type http has no --cron."},
	{"monitor create|--no-page|--name=x|--calendar=daily", "schedule.expression", "is wrong", nil,
		"--calendar: is wrong."},
	{"monitor create|--no-page|--name=x|--cron=@daily", "schedule.kubernetes",
		"field needs a schedule of the kind cron", nil, "--kubernetes: needs a schedule of the kind cron."},
	{"monitor create|--no-page|--name=x|--cron=@daily", "page", "field is required with a %s",
		[]any{kernel.Name("component_id")}, "--no-page: is required with --component."},
	{"monitor create|--no-page|--name=x|--cron=@daily", "token", "is wrong", nil, "--ping-token: is wrong."},
	{"monitor create|--no-page|--name=x|--cron=@daily", "json_value", "needs a %s", []any{kernel.Name("json_path")},
		"--json-value: needs --json-path."},
	{"monitor create|--no-page|--name=x|--cron=@daily", "expected_statuses", "is wrong", nil,
		"--expected-status: is wrong."},
	{"monitor create|--no-page|--name=x|--cron=@daily", "slow_after", "must be shorter than the %s",
		[]any{kernel.Name("timeout")}, "--slow-after: must be shorter than --timeout."},
	{"subscriber create|--page=p|--sms=+4915112345678", "target", "is wrong", nil, "--sms: is wrong."},
	{"group delete|%s", "id", "The %s %q uses it.", []any{"rule", "the scheduled_for"},
		`The rule "the scheduled_for" uses it.`},
}

// TestFieldErrors checks that errors name the flags and arguments of their command instead of fields.
func TestFieldErrors(t *testing.T) {
	for _, c := range fieldErrors {
		server := refusal(t, kernel.Problem{Field: c.field, Code: c.code, Args: c.codeArgs})
		args := expand(strings.ReplaceAll(c.args, "%s", kernel.NewID(kernel.PrefixGroup, time.Now())))
		_, _, stderr := against(t, server, args...)
		if stderr != "allswell: the request was refused, nothing was changed:\n  "+c.want+"\n" {
			t.Errorf("the error of %s, %s %q: %s", c.args, c.field, c.code, stderr)
		}
	}
}

// TestFieldErrorsOfOldServers has sentences instead of problems.
func TestFieldErrorsOfOldServers(t *testing.T) {
	old := answer(422, "", "", `{"message": "x", "errors": {"name": ["The name is 100% wrong."]}}`)
	_, _, stderr := against(t, old, "page", "create", "--name=x")
	if stderr != "allswell: the request was refused, nothing was changed:\n  --name: The name is 100% wrong.\n" {
		t.Errorf("an old server: %s", stderr)
	}
}

// TestDurationRange checks that a command names no flag that it lacks, and that the events of a rule cannot be removed.
func TestDurationRange(t *testing.T) {
	for args, want := range map[string]string{
		"alert rule create|--name=x|--delay=2d": "--delay must be from 1s to 1 day",
		"alert rule edit|x|--delay=2d":          "--delay must be from 1s to 1 day, or give --no-delay",
		"alert rule edit|x|--no-events":         "unknown flag --no-events",
	} {
		status, _, stderr := against(t, answer(500, "", "", "{}"), expand(args)...)
		line, _, _ := strings.Cut(stderr, "\n")
		if status != console.ExitUsage ||
			!strings.HasPrefix(line, "allswell: "+want) ||
			strings.Contains(line, "no-delay") != strings.Contains(want, "no-delay") {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
	}
}

// refusal is a server that refuses requests because of a problem, as data if that is preferred.
func refusal(t *testing.T, p kernel.Problem) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := map[string]any{"message": "x", "code": "invalid", "errors": map[string][]string{p.Field: {p.Message()}}}
		if r.Header.Get("Prefer") == "problems" {
			body["problems"] = []kernel.Problem{p}
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Error(err)
		}
		answer(422, "", "", string(text))(w, r)
	}
}

// TestNotFoundErrors checks that errors name the arguments of the command line.
func TestNotFoundErrors(t *testing.T) {
	for args, want := range map[string]string{
		"page show|acmee":             `page with the slug "acmee"`,
		"page set|a b|--name=x":       `page with the slug "a b"`,
		"component list|--page=acmee": `page with the slug "acmee"`,
		"component delete|--page=acme|comp_9|--yes": `component "comp_9" on a page with ` +
			`the slug "acme"`,
		"component edit|comp_9|--page=acme|--name=x":               `component "comp_9"`,
		"group delete|grp_9":                                       `group "grp_9"`,
		"incident show|01990000-0000-7000-8000-000000000001":       `incident "01990000-0000-7000-8000-000000000001"`,
		"incident update|01990000-0000-7000-8000-000000000001|x":   `incident "01990000-0000-7000-8000-000000000001"`,
		"incident components|01990000-0000-7000-8000-000000000001": `incident "01990000-0000-7000-8000-000000000001"`,
		"incident list|--page=acmee|--open":                        `page with the slug "acmee"`,
		"maintenance end|mnt_9":                                    `maintenance "mnt_9"`,
		"announcement delete|ann_9":                                `announcement "ann_9"`,
		"monitor show|mon_9":                                       `monitor "mon_9"`,
		"monitor output|mon_9|sig_9": `ping or signal "sig_9" of the ` +
			`monitor "mon_9"`,
		"monitor pings|mon_9":                            `monitor "mon_9"`,
		"monitor rotate|mon_9":                           `monitor "mon_9"`,
		"subscriber rotate|--page=acme|sub_9":            `subscriber "sub_9" on a page with the slug "acme"`,
		"subscriber remove|--page=acmee|ada@example.com": `page with the slug "acmee"`,
		"delivery retry|dlv_9":                           `delivery "dlv_9"`,
		"template show|tpl_9":                            `template "tpl_9"`,
		"member edit|usr_9|--role=viewer":                `member "usr_9"`,
		"invitation delete|inv_9":                        `invitation "inv_9"`,
		"session delete|ses_9":                           `session "ses_9"`,
		"incident edit-update|01990000-0000-7000-8000-000000000001|upd_9|x": `update "upd_9" of the incident ` +
			`"01990000-0000-7000-8000-000000000001"`,
		"incident postmortem|01990000-0000-7000-8000-000000000001|--publish": `post-mortem of the incident ` +
			`"01990000-0000-7000-8000-000000000001"`,
		"incident delete-postmortem|01990000-0000-7000-8000-000000000001|--yes": `post-mortem of the incident ` +
			`"01990000-0000-7000-8000-000000000001"`,
	} {
		status, _, stderr := against(t, answer(404, "", "", `{"message": "Not found."}`), expand(args)...)
		if status != console.ExitFailed || stderr != "allswell: there is no "+want+" in the workspace of this token\n" {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
	}
}

// TestPartlyDone checks that, if the second of two calls fails, the message says what the first one has changed.
func TestPartlyDone(t *testing.T) {
	icon := filepath.Join(t.TempDir(), "icon.svg")
	if err := os.WriteFile(icon, []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"page set|p|--name=x|--icon=" + icon: "the page is changed, but the icon was not set: the request was " +
			"refused: No.",
		"page set|p|--no-logo|--icon=" + icon: "the logo is changed, but the icon was not set: the request was " +
			"refused: No.",
		"page set|p|--icon=" + icon: "the icon was not set: the request was refused, nothing was changed: No.",
	} {
		_, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodPatch:
				io.WriteString(w, `{"data": {}}`)
			case http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			default:
				answer(422, "", "", `{"message": "No."}`)(w, r)
			}
		}, expand(args)...)
		if stderr != "allswell: "+want+"\n" {
			t.Errorf("%s: %s", args, stderr)
		}
	}
}

// outputAnswers are what the server of TestOutput answers, by path.
var outputAnswers = map[string]string{
	"/api/v1/pages/acme": `{"data": {"name": "Acme", "slug": "acme", "status": "operational", "url": "https://status.example.com", "time_zone": "UTC", "domain": "status.example.com",
				"logo": "https://x/logo.png", "footer_links": [{"label": "Imprint", "url": "https://example.com/"}]}}`,
	"/api/v1/pages/acme/components": `{"data": [{"id": "comp_1", "name": ` +
		`"API", "status": "degraded", "order": -1}, {"id": "comp_2", "name": "Shop", "status": "operational",` +
		` "order": 3}], "meta": {"total": 2}}`,
	"/api/v1/pages": `{"data": [{"slug": "acme"}], ` +
		`"meta": {"total": 1}}`,
	"/api/v1/pages/acme/incidents": `{"data": [{"id": ` +
		`"01990000-0000-7000-8000-000000000001"}], "meta": {"total": 1}}`,
	"/api/v1/monitors/mon_1": `{"data": {"id": "mon_1", "name": ` +
		`"Backup", "enabled": true, "state": "down", "interval": 60}}`,
	"/api/v1/monitors": `{"data": [{"id": "mon_1", "name": ` +
		`"Backup", "enabled": true, "state": "down", "last_ping_at": null, "schedule": {"kind": "interval", ` +
		`"interval": 60}}, {"id": "mon_2", "name": "Mail", "enabled": true, "state": "up", "last_ping_at": ` +
		`null, "schedule": {"kind": "interval", "interval": 60}}], "meta": {"total": 2}}`,
	"/api/v1/monitors/mon_1/pings": `{"data": [{"id": "sig_3", "kind": ` +
		`"start"}, {"id": "sig_2", "kind": "fail", "body_size": 4}, {"id": "sig_1", "kind": "fail", ` +
		`"body_size": 5}]}`,
	"/api/v1/monitors/mon_2/pings": `{"data": [{"id": "sig_4", "kind": ` +
		`"start"}]}`,
	"/api/v1/monitors/mon_1/pings/sig_2/body": `{"data": {"body": "boom", ` +
		`"encoding": "utf-8"}}`,
	"/api/v1/pages/acme/groups": `{"data": [{"id": "grp_1", "name": ` +
		`"Core", "order": 2}], "meta": {"total": 1}}`,
	"/api/v1/pages/acme/uptime": `{"data": {"components": [{"id": ` +
		`"comp_1", "slug": "api"}, {"id": "comp_2", "slug": "shop", "group": "grp_1"}], "groups": []}}`,
	"/api/v1/incidents/01990000-0000-7000-8000-000000000001": `{"data": {"id": "i", "title": ` +
		`"Slow", "state": "identified", "updates": [{"id": "upd_1", "message": "x", "created_at": ` +
		`"2026-11-21T04:00:00.000Z"}]}}`,
	"/api/v1/incidents/01990000-0000-7000-8000-000000000001/components": `{"data": [{"id": "comp_1", "name": ` +
		`"API", "status": "degraded"}]}`,
}

// TestOutput compares output that is collected from several answers.
func TestOutput(t *testing.T) {
	server := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("hidden") == "true" && strings.HasSuffix(r.URL.Path, "/components") {
			io.WriteString(w, `{"data": [{"id": "comp_2"}], "meta": {"total": 1}}`)
			return
		}
		io.WriteString(w, outputAnswers[r.URL.Path])
	}
	for args, want := range map[string]string{
		"page set|acme|--accent=#123456": "Page:               Acme\nSlug:               acme\nStatus:             " +
			"Operational\nAddress:            https://status.example.com\n" +
			"Own domain:         https://status.example.com\nTime zone:          UTC\nLanguage:           en, the " +
			"default\nOffered languages:  all\nStyle sheet:        none\nAccent:             none\n" +
			"Logo:               https://x/logo.png\nDark logo:          none\nIcon:               none\nWebhooks:   " +
			"        operators only\nResponse times:     not shown\nFooter:           " +
			"  Imprint: https://example.com/\n",
		"component list|--page=acme": "COMPONENT  STATUS       GROUP  ORDER  SLUG  NAME\ncomp_1     Degraded     -   " +
			"   -1     api   API\ncomp_2     Operational  Core   3      shop  Shop (hidden)\n",
		// A monitor whose first signal was a failure is down, not waiting.
		"monitor list": "MONITOR  STATE    SCHEDULE  LAST PING  PAGE  NAME\nmon_1    down     1m        " +
			"never      -     Backup\nmon_2    waiting  1m        never      -     Mail\n",
		"monitor output|mon_1":   "boom",
		"group list|--page=acme": "ID     ORDER  NAME\ngrp_1  2      Core\n",
		"incident show|01990000-0000-7000-8000-000000000001": "Incident:   Slow\nId:         i\nPublished:  no, it " +
			"is a draft (allswell incident publish)\nState:      identified\nResolved:   no\n\nCOMPONENT  STATUS    " +
			"NAME\ncomp_1     Degraded  API\n\n2026-11-21 04:00:00 +00:00  upd_1\n  x\n",
	} {
		_, stdout, stderr := against(t, server, expand(args)...)
		if stdout != want || stderr != "" {
			t.Errorf("%s: %s\ngot\n%swant\n%s", args, stderr, stdout, want)
		}
	}
}

// TestRedirectsAreNotFollowed checks that the token is not sent to another server.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("followed with the headers %v", r.Header)
	}))
	defer other.Close()
	against(t, http.RedirectHandler(other.URL, http.StatusTemporaryRedirect).ServeHTTP, "page", "create", "--name=x")
}

// TestLongLists lists 250 resources, all and the first 2.
func TestLongLists(t *testing.T) {
	var asked []string
	server := func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		page, err := strconv.Atoi(r.FormValue("page"))
		perPage, err2 := strconv.Atoi(r.FormValue("per_page"))
		if err != nil || err2 != nil || perPage > 100 {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		var objects []string
		for i := (page - 1) * perPage; i < min(page*perPage, 250); i++ {
			objects = append(objects,
				fmt.Sprintf(`{"slug": "page-%d", "name": "Page", "status": "operational", "visibility": "unlisted"}`,
					i))
		}
		fmt.Fprintf(w, `{"data": [%s], "meta": {"page": %d, "per_page": %d, "total": 250}}`, strings.Join(objects, ","),
			page, perPage)
	}
	_, stdout, _ := against(t, server, "page", "list")
	if lines := strings.Count(stdout, "\n"); lines != 251 || !strings.Contains(stdout, "page-249 ") || len(asked) != 3 {
		t.Errorf("%d lines after asking for %v", lines, asked)
	}
	_, stdout, _ = against(t, server, "page", "list", "--limit=2")
	want := "SLUG    STATUS       VISIBILITY  NAME\npage-0  Operational  unlisted    Page\npage-1  Operational  " +
		"unlisted    Page\n… and 248 more (--limit).\n"
	if stdout != want {
		t.Errorf("got\n%swant\n%s", stdout, want)
	}
}

// TestAmbiguousNames checks that an ambiguous name changes nothing.
func TestAmbiguousNames(t *testing.T) {
	server := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("a command with an ambiguous name sent: %s %s", r.Method, r.URL)
		}
		io.WriteString(w,
			`{"data": [{"id": "mon_1", "name": "same"}, {"id": "mon_2", "name": "same"}], "meta": {"total": 2}}`)
	}
	for name, want := range map[string]string{
		"same":  `several monitors are named "same": give the id of one (mon_1, mon_2)`,
		"other": `there is no monitor with the name or slug "other" (an id would begin with mon_)`,
	} {
		status, _, stderr := against(t, server, "monitor", "delete", name)
		if status != console.ExitFailed || stderr != "allswell: "+want+"\n" {
			t.Errorf("status %d, %s", status, stderr)
		}
	}
}

// askForPage is the request for the URL of the page.
const askForPage = "GET /api/v1/pages/acme "

// requests are the requests of commands, without the requests that ask for the only page.
var requests = []struct {
	args, want string
}{
	{"page create|--name=Acme Inc.|--description=",
		`POST /api/v1/pages {"description":"","name":"Acme Inc.","slug":"acme-inc"}`},
	{"page set|a/b|--no-description", `PATCH /api/v1/pages/a%2Fb {"description":null}`},
	{"component set|--page=acme|comp_1|degraded",
		`PATCH /api/v1/pages/acme/components/comp_1 {"status":"degraded"}`},
	{"component edit|comp_1|--order|-1|--group=grp_1",
		`PATCH /api/v1/components/comp_1 {"group":"grp_1","order":-1}`},
	{"group create|--page=acme|--name=-7|--order|-20",
		`POST /api/v1/pages/acme/groups {"name":"-7","order":-20,"unique_name":true}`},
	{"group set|grp_1|--order=3", `PATCH /api/v1/groups/grp_1 {"order":3}`},
	{"group delete|grp_1", `DELETE /api/v1/groups/grp_1 `},
	{"group delete|grp_1|--yes", `DELETE /api/v1/groups/grp_1 `},
	{"page delete|acme|--yes", `DELETE /api/v1/pages/acme `},
	{"component edit|--page=acme|comp_1|--order=-3|--no-group",
		`PATCH /api/v1/components/comp_1 {"group":null,"order":-3}`},
	{"monitor create|--name=x|--page=acme|--interval=90s|--disabled",
		`POST /api/v1/monitors {"enabled":false,"interval":90,"name":"x","page":"acme","unique_name":true}`},
	{"monitor set|mon_1|--interval=2h|--enabled|--failure-threshold=0|--no-component",
		`PATCH /api/v1/monitors/mon_1 {"component_id":"","enabled":true,"failure_threshold":0,"interval":7200}`},
	{"monitor set|mon_1|--disabled", `PATCH /api/v1/monitors/mon_1 {"enabled":false}`},
	{"group create|--page=acme|--name=x|--slug=eu",
		`POST /api/v1/pages/acme/groups {"name":"x","slug":"eu","unique_name":true}`},
	{"component create|--page=acme|--name=x|--slug=api",
		`POST /api/v1/pages/acme/components {"name":"x","slug":"api","unique_name":true}`},
	{"monitor create|--name=x|--page=acme|--interval=90s|--slug=job",
		`POST /api/v1/monitors {"interval":90,"name":"x","page":"acme","slug":"job","unique_name":true}`},
	{"component put|--page=acme|comp_1|--name=x|--group=grp_1|--json",
		`PUT /api/v1/pages/acme/components/comp_1 {"group":"grp_1","name":"x"}`},
	{"monitor create|--name=x|--no-page|--cron=30 2 * * *|--time-zone=Europe/Berlin|--kubernetes",
		`POST /api/v1/monitors {"name":"x","schedule":{"expression":"30 2 * * *","kind":"cron","kubernetes":true,` +
			`"time_zone":"Europe/Berlin"},"unique_name":true}`},
	{"monitor create|--name=x|--no-page|--cron=0 6 * * 1,2|--cron=@weekly",
		`POST /api/v1/monitors {"name":"x","schedule":{"expression":"0 6 * * 1,2\n@weekly","kind":"cron"},` +
			`"unique_name":true}`},
	{"monitor pause|mon_1", `PATCH /api/v1/monitors/mon_1 {"enabled":false,"paused_until":null}`},
	{"monitor pause|mon_1|--until=2099-01-01T00:00:00Z",
		`PATCH /api/v1/monitors/mon_1 {"enabled":false,"paused_until":"2099-01-01T00:00:00.000Z"}`},
	{"monitor resume|mon_1", `PATCH /api/v1/monitors/mon_1 {"enabled":true}`},
	{"monitor rotate|mon_1", `POST /api/v1/monitors/mon_1/rotate `},
	{"monitor delete|mon_1|--yes", `DELETE /api/v1/monitors/mon_1 `},
	{"monitor create|--name=Shop|--page=acme|--type=http|--url=https://shop.example.com/|--expected-status=200-299|--expected-status=401|--header=X-A: b=c|--no-follow-redirects|--password=@-|--slow-after=800ms|--timeout=5s|--confirm-from=2|--interval=30s",
		`POST /api/v1/monitors {"confirm_from":2,"expected_statuses":["200-299","401"],"follow_redirects":false,` +
			`"headers":{"X-A":"b=c"},"interval":30,"name":"Shop","page":"acme","password":"from standard input",` +
			`"slow_after":0.8,"timeout":5,"type":"http","unique_name":true,"url":"https://shop.example.com/"}`},
	{"channel create|--type=sms|--name=Ops|--to=+49151123|--url=https://sms.example.com/|--header=Authorization: " +
		"@-|--header=X-A=b",
		`POST /api/v1/channels {"headers":{"Authorization":"from standard input","X-A":"b"},"name":"Ops",` +
			`"to":"+49151123","type":"sms","url":"https://sms.example.com/"}`},
	{"channel create|--type=ntfy|--name=Ops|--topic=@-",
		`POST /api/v1/channels {"name":"Ops","topic":"from standard input","type":"ntfy"}`},
	// no secret
	{"channel create|--type=zulip|--name=Ops|--topic=@x",
		`POST /api/v1/channels {"name":"Ops","topic":"@x","type":"zulip"}`},
	{"monitor create|--name=x|--page=acme|--type=http|--url=https://b/|--header=X-A: " +
		"@b|--secret-header=X-B=@-|--json",
		`POST /api/v1/monitors {"headers":{"X-A":"@b"},"name":"x","page":"acme","secret_headers":{"X-B":"from ` +
			`standard input"},"type":"http","unique_name":true,"url":"https://b/"}`},
	{"monitor edit|mon_1|--url=https://b/|--reset=password|--reset=expected-statuses|--slow-after=0s|--no-parent",
		`PATCH /api/v1/monitors/mon_1 {"expected_statuses":null,"parent_id":null,"password":null,` +
			`"slow_after":null,"url":"https://b/"}`},
	{"monitor put|db|--name=DB|--no-page|--type=tcp|--host=db|--port=5432|--json",
		`PUT /api/v1/monitors/db {"host":"db","name":"DB","port":5432,"type":"tcp"}`},
	{"monitor test|--type=tcp|--host=db|--port=5432|--timeout=2s",
		`POST /api/v1/monitors/test {"host":"db","port":5432,"timeout":2,"type":"tcp"}`},
	{"monitor test|mon_1", `POST /api/v1/monitors/mon_1/test `},
	{"monitor results|mon_1|--json", `GET /api/v1/monitors/mon_1/results?page=1&per_page=100 `},
	{"monitor list|--type=http|--json", `GET /api/v1/monitors?page=1&per_page=100&type=http `},
	{"incident open|--page=acme|--title=x|--message=-|--component=comp_1|--json",
		`POST /api/v1/pages/acme/incidents {"components":[{"id":"comp_1","status":"degraded"}],"message":"from ` +
			`standard input\n","title":"x"}`},
	{"incident open|--page=acme|--title=x|--json", `POST /api/v1/pages/acme/incidents {"title":"x"}`},
	{"incident create|--page=acme|--title=x|--draft|--json",
		`POST /api/v1/pages/acme/incidents {"draft":true,"title":"x"}`},
	{"--json|incident|list|--page=acme", `GET /api/v1/pages/acme/incidents?page=1&per_page=100 `},
	{"--page|acme|--token=hunter2|incident|list|--json", `GET /api/v1/pages/acme/incidents?page=1&per_page=100 `},
	{"incident update|01990000-0000-7000-8000-000000000001|text",
		`POST /api/v1/incidents/01990000-0000-7000-8000-000000000001/updates {"message":"text"}`},
	{"incident set|01990000-0000-7000-8000-000000000001|--resolved",
		`PATCH /api/v1/incidents/01990000-0000-7000-8000-000000000001 {"resolved":true}`},
	{"incident resolve|01990000-0000-7000-8000-000000000001",
		`PATCH /api/v1/incidents/01990000-0000-7000-8000-000000000001 {"resolved":true,"state":"resolved"}`},
	{"incident list|--page=acme|--open|--json",
		`GET /api/v1/pages/acme/incidents?page=1&per_page=100&resolved=false `},
}

// TestRequests compares the requests of commands.
func TestRequests(t *testing.T) {
	for _, c := range requests {
		var got []string
		status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			sent, err := io.ReadAll(r.Body)
			if err != nil || r.Header.Get("Authorization") != "Bearer hunter2" {
				t.Errorf("%v, headers %v", err, r.Header)
			}
			got = append(got, r.Method+" "+r.RequestURI+" "+canonical(sent))
			switch r.Method {
			case http.MethodGet:
				io.WriteString(w, `{"data": [], "meta": {"total": 0}}`)
			case http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			default:
				io.WriteString(w, `{"data": {}}`)
			}
		}, expand(c.args)...)
		got = slices.DeleteFunc(got, func(call string) bool { return call == askForPage && call != c.want })
		if status != console.ExitDone || len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: status %d %s\ngot  %q\nwant %q", c.args, status, stderr, got, c.want)
		}
	}
}

// TestFlagsOfAnEditedChannel checks that the type of the channel says whether the value of a flag may be a file.
func TestFlagsOfAnEditedChannel(t *testing.T) {
	for kind, want := range map[string]string{"ntfy": "from standard input", "zulip": "@-"} {
		sent := ""
		status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			channel := fmt.Sprintf(`{"id": "chn_1", "name": "Ops", "type": %q}`, kind)
			if r.URL.Path == "/api/v1/channels" {
				fmt.Fprintf(w, `{"data": [%s], "meta": {"total": 1}}`, channel)
				return
			}
			if r.Method == http.MethodPatch {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				sent = canonical(body)
			}
			fmt.Fprintf(w, `{"data": %s}`, channel)
		}, "channel", "edit", "chn_1", "--topic=@-")
		if status != console.ExitDone || sent != fmt.Sprintf(`{"topic":%q}`, want) {
			t.Errorf("%s: status %d, sent %s\n%s", kind, status, sent, stderr)
		}
	}
}

// TestMonitorCreateOutput compares what is printed after a monitor is created.
func TestMonitorCreateOutput(t *testing.T) {
	const line = "\n\n  curl -fsS -m 10 --retry 5 --retry-connrefused URL/p\n"
	const haste = "\nWith so short an interval and a single check, a restart of the server can make the monitor go " +
		"down: use 1m, or a failure threshold of 2.\n"
	const job = "The monitor x is mon_1. Add this to the job (expected at least every "
	const missed = " after a missed ping.\n"
	for fields, want := range map[string]string{
		`"interval": 60, "enabled": true`:   job + "1m):" + line + "\nCounts as down 3m" + missed,
		`"interval": 5400, "enabled": true`: job + "1h30m):" + line + "\nCounts as down 3m" + missed,
		`"interval": 10, "enabled": false`: "The monitor x is mon_1, and paused (resume it with allswell monitor " +
			"resume mon_1). Add this to the job (expected at least every 10s):" + line +
			"\nCounts as down 3m" + missed,
		`"interval": 59, "enabled": true, "failure_threshold": 1`: job + "59s):" + line +
			"\nCounts as down 1m" + missed + haste,
		`"interval": 60, "enabled": true, "failure_threshold": 1`: job + "1m):" + line +
			"\nCounts as down 1m" + missed,
		`"interval": 1, "enabled": true, "failure_threshold": 2`: job + "1s):" + line +
			"\nCounts as down 2m" + missed,
		`"interval": 90000, "enabled": true`: job + "25h):" + line + "\nCounts as down 3m" + missed,
		`"interval": 86400, "enabled": true, "failure_threshold":5`: job + "24h):" + line +
			"\nCounts as down 5m" + missed,
	} {
		_, stdout, stderr := against(t,
			answer(201, "", "", `{"data": {"id": "mon_1", "name": "x", "ping_url": "URL/p", `+fields+`}}`),
			"monitor", "create", "--name=x", "--page=p", "--interval=1s")
		if stdout != want || stderr != "" {
			t.Errorf("%s: got\n%s%s\nwant\n%s", fields, stdout, stderr, want)
		}
	}
}

// TestCrontabLine checks that a monitor with a cron schedule comes with a line for a crontab.
func TestCrontabLine(t *testing.T) {
	const want = "\n  30 2 * * *  COMMAND && curl -fsS -m 10 --retry 5 --retry-connrefused URL/p >/dev/null\n"
	_, stdout, stderr := against(t,
		answer(201, "", "",
			`{"data": {"id": "mon_1", "name": "x", "ping_url": "URL/p", "enabled": true, "schedule": {"kind": "cron",`+
				` "expression": "30 2 * * *", "time_zone": "UTC"}}}`),
		"monitor", "create", "--name=x", "--page=p", "--cron=30 2 * * *")
	if !strings.Contains(stdout, want) {
		t.Errorf("the crontab line: %s%s", stdout, stderr)
	}
	_, stdout, stderr = against(t,
		answer(201, "", "",
			`{"data": {"id": "mon_1", "name": "x", "ping_url": "URL/p", "enabled": true, "schedule": {"kind": "cron",`+
				` "expression": "0 6 * * 1\n@weekly", "time_zone": "UTC"}}}`),
		"monitor", "create", "--name=x", "--page=p", "--cron=0 6 * * 1", "--cron=@weekly")
	if !strings.Contains(stdout, "\n  0 6 * * 1  COMMAND && ") ||
		!strings.Contains(stdout, "\n  @weekly  COMMAND && ") ||
		!strings.Contains(stdout, "expected at 0 6 * * 1 and @weekly, UTC") {
		t.Errorf("the lines for two cron expressions: %s%s", stdout, stderr)
	}
	_, stdout, stderr = against(t,
		answer(201, "", "",
			`{"data": {"id": "mon_1", "name": "x", "ping_url": "URL/p", "enabled": true, "schedule": {"kind": "cron",`+
				` "expression": "30 2 * * *", "time_zone": "UTC", "kubernetes": true}}}`),
		"monitor", "create", "--name=x", "--page=p", "--cron=30 2 * * *", "--kubernetes")
	if strings.Contains(stdout, "crontab") ||
		!strings.Contains(stdout, "expected at 30 2 * * *, UTC, as in Kubernetes") {
		t.Errorf("a schedule as in Kubernetes: %s%s", stdout, stderr)
	}
}

// TestExplainedViews compares what monitor explain prints of locations and of times without a reliable view.
func TestExplainedViews(t *testing.T) {
	_, stdout, stderr := against(t,
		answer(200, "", "", `{"data": {"state": "up", "as_of": "2026-11-24T05:00:00.000Z", "check": {"status": "ok",
		"gaps": [{"from": "2026-11-24T03:00:00.000Z", "to": null}, {"from": "2026-11-24T01:00:00.000Z", "to": "2026-11-24T02:00:00.000Z"}],
		"views": [{"status": "failed", "reason": "HTTP 502", "location": "frankfurt", "started_at": "2026-11-24T04:00:00.000Z"},
			{"status": "ok", "reason": null, "location": "virginia", "started_at": "2026-11-24T04:00:00.000Z"}]}}}`), "monitor", "explain", "mon_1")
	at := func(hour int) string { return console.Time(time.Date(2026, 11, 24, hour, 0, 0, 0, time.UTC)) }
	want := "The last check succeeded.\nSeen from frankfurt at " + at(4) +
		": failed, HTTP 502.\nSeen from virginia at " + at(4) + ": ok.\n" +
		"No data from " + at(1) + " to " + at(2) + ".\n"
	if stdout != want || stderr != "" {
		t.Errorf("got\n%s%s\nwant\n%s", stdout, stderr, want)
	}
}

// expand splits a command line: its first part at spaces, all at bars.
func expand(line string) []string {
	command, rest, more := strings.Cut(line, "|")
	args := strings.Fields(command)
	if more {
		args = append(args, strings.Split(rest, "|")...)
	}
	return args
}

// TestResponsesOfChecks prints the response that a check got: unchanged into a pipe, and harmless on a terminal.
func TestResponsesOfChecks(t *testing.T) {
	body := "<h1>\x1b[31m502</h1>\r\n\tBad\n"
	for width, want := range map[int]string{
		0: "\n<h1>\x1b[31m502</h1>\r\n\tBad\n", 80: "\n<h1>\ufffd[31m502</h1>\ufffd\n\tBad\n",
	} {
		var out bytes.Buffer
		c := &commandContext{Printer: console.Printer{Console: &console.Console{Out: &out, Width: width}}}
		c.printResult(&client.CheckResult{Status: client.CheckFailed, Body: &body})
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("width %d: %q, want %q at the end", width, out.String(), want)
		}
	}
}

// TestUpdatesAreOneRequest checks that an update and a change of the incident are one request, and that a blank message
// is refused before it.
func TestUpdatesAreOneRequest(t *testing.T) {
	const id = "01990000-0000-7000-8000-000000000001"
	var got []string
	server := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+canonical(body)))
		if r.Method == http.MethodGet && r.URL.Path != "/api/v1/incidents/"+id {
			io.WriteString(w, `{"data": []}`)
			return
		}
		io.WriteString(w, `{"data": {"title": "x", "state": "resolved", "resolved": true}}`)
	}
	const down = ", GET /api/v1/incidents/" + id + "/components, GET /api/v1/monitors"
	for args, want := range map[string]string{
		"incident resolve|" + id + "|--message=Done.": `PATCH /api/v1/incidents/` + id +
			` {"message":"Done.","resolved":true,"state":"resolved"}` + down,
		"incident edit|" + id + "|--message=Done.": `PATCH /api/v1/incidents/` + id + ` {"message":"Done."}`,
		"incident update|" + id + "|Done.|--state=resolved": `POST /api/v1/incidents/` + id +
			`/updates {"message":"Done.","state":"resolved"}, GET /api/v1/incidents/` + id + down,
		"incident update|" + id +
			"|Worse.|--impact=major|--component=comp_1=major_outage": `POST /api/v1/incidents/` + id +
			`/updates {"components":[{"id":"comp_1","status":"major_outage"}],"impact":"major","message":"Worse."}`,
	} {
		got = nil
		status, _, stderr := against(t, server, expand(args)...)
		if status != console.ExitDone || strings.Join(got, ", ") != want {
			t.Errorf("%s: status %d, %q, %s", args, status, got, stderr)
		}
	}
	got = nil
	status, _, stderr := against(t, server, "incident", "resolve", id, "--message= ")
	if status != console.ExitUsage || len(got) != 0 {
		t.Errorf("a blank message: status %d, %q, %s", status, got, stderr)
	}
}

func TestSlugOf(t *testing.T) {
	for name, want := range map[string]string{
		"Acme": "acme", "Acme Inc.": "acme-inc", "  a  --  b  ": "a-b", "Größe 7": "grosse-7", "日本": "", "Ünï": "uni",
		"Acme 日本": "", "Łódź’s": "lodzs", "Œuvre": "oeuvre", "Αθήνα": "", "東 7": "",
		strings.Repeat("abc ", 30): strings.Repeat("abc-", 15) + "abc",
	} {
		if got := slugOf(name); got != want || len(got) > 63 {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
}

// TestMonitorTestFails checks the exit status for each result of a check.
func TestMonitorTestFails(t *testing.T) {
	for result, want := range map[client.CheckStatus]int{
		client.CheckOK: 0, client.CheckSlow: 0, client.CheckFailed: console.ExitFailed,
		client.CheckUnknown: console.ExitFailed,
	} {
		server := func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"data":{"status":%q,"phases":{"total":0.1}}}`, result)
		}
		if status, out, errs := against(t, server, "monitor", "test", "mon_1"); status != want {
			t.Errorf("%s: the exit status is %d, not %d: %s%s", result, status, want, out, errs)
		}
	}
}
