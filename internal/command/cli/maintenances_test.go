package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// maintenanceRequests are the requests of these commands. LOGO is the path of a file, and SVG its contents.
var maintenanceRequests = []struct {
	args, want string
}{
	{"maintenance " +
		"plan|--page=acme|--title=x|--at=2026-11-21T22:00:00+01:00|--for=90m|--component=API|--component=comp_2",
		`POST /api/v1/pages/acme/maintenances {"components":["comp_1","comp_2"],` +
			`"scheduled_for":"2026-11-21T21:00:00.000Z","scheduled_until":"2026-11-21T22:30:00.000Z","title":"x"}`},
	{"maintenance " +
		"plan|--page=acme|--title=x|--at=2026-11-21T22:00:00Z|--until=2026-11-21T23:00:00.5Z|--no-reminder|--message=-",
		`POST /api/v1/pages/acme/maintenances {"message":"from standard input\n","remind_before":0,` +
			`"scheduled_for":"2026-11-21T22:00:00.000Z","scheduled_until":"2026-11-21T23:00:00.500Z","title":"x"}`},
	{"maintenance list|--page=acme|--state=completed",
		`GET /api/v1/pages/acme/maintenances?page=1&per_page=100&state=completed `},
	{"maintenance show|mnt_1", `GET /api/v1/maintenances/mnt_1 `},
	{"maintenance update|mnt_1|text", `POST /api/v1/maintenances/mnt_1/updates {"message":"text"}`},
	{"maintenance update|mnt_1|text|--state=verifying",
		`POST /api/v1/maintenances/mnt_1/updates {"message":"text","state":"verifying"}`},
	{"maintenance set|mnt_1|--title=y|--remind=2h|--component=API|--page=acme",
		`PATCH /api/v1/maintenances/mnt_1 {"components":["comp_1"],"remind_before":7200,"title":"y"}`},
	{"maintenance set|mnt_1|--no-components|--no-reminder",
		`PATCH /api/v1/maintenances/mnt_1 {"components":[],"remind_before":0}`},
	{"maintenance move|mnt_1|--at=2026-12-01T00:00:00Z",
		`GET /api/v1/maintenances/mnt_1 ; PATCH /api/v1/maintenances/mnt_1 ` +
			`{"scheduled_for":"2026-12-01T00:00:00.000Z","scheduled_until":"2026-12-01T00:45:00.000Z"}`},
	{"maintenance move|mnt_1|--for=2h",
		`GET /api/v1/maintenances/mnt_1 ; PATCH /api/v1/maintenances/mnt_1 ` +
			`{"scheduled_until":"2026-11-21T06:00:00.000Z"}`},
	{"maintenance move|mnt_1|--at=2026-12-01T00:00:00Z|--until=2026-12-01T09:00:00Z",
		`GET /api/v1/maintenances/mnt_1 ; PATCH /api/v1/maintenances/mnt_1 ` +
			`{"scheduled_for":"2026-12-01T00:00:00.000Z","scheduled_until":"2026-12-01T09:00:00.000Z"}`},
	{"maintenance begin|mnt_1", `PATCH /api/v1/maintenances/mnt_1 {"state":"in_progress"}`},
	{"maintenance end|mnt_1|--message=Done.",
		`POST /api/v1/maintenances/mnt_1/updates {"message":"Done.","state":"completed"}; GET ` +
			`/api/v1/maintenances/mnt_1 `},
	{"maintenance cancel|mnt_1", `GET /api/v1/maintenances/mnt_1 ; DELETE /api/v1/maintenances/mnt_1 `},
	{"maintenance delete|mnt_1|--yes", `DELETE /api/v1/maintenances/mnt_1 `},

	{"incident open|--page=acme|--title=x|--component=API=major_outage|--component=comp_2=degraded",
		`POST /api/v1/pages/acme/incidents {"components":[{"id":"comp_1","status":"major_outage"},{"id":"comp_2",` +
			`"status":"degraded"}],"title":"x"}`},
	{"incident open|--page=acme|--title=x|--component=API=degraded|--impact=none",
		`POST /api/v1/pages/acme/incidents {"components":[{"id":"comp_1","status":"degraded"}],"impact":"none",` +
			`"title":"x"}`},
	{"incident components|01990000-0000-7000-8000-000000000001|--set=a=b=degraded|--page=acme",
		`PUT /api/v1/incidents/01990000-0000-7000-8000-000000000001/components {"components":[{"id":"comp_3",` +
			`"status":"degraded"}]}`},
	{"incident components|01990000-0000-7000-8000-000000000001|--component=comp_1=degraded|--component=comp_2=operational",
		`PUT /api/v1/incidents/01990000-0000-7000-8000-000000000001/components {"components":[{"id":"comp_1",` +
			`"status":"degraded"},{"id":"comp_2","status":"operational"}]}`},
	{"incident components|01990000-0000-7000-8000-000000000001|--none",
		`PUT /api/v1/incidents/01990000-0000-7000-8000-000000000001/components {"components":[]}`},

	{"page create|--name=Acme|--time-zone=Asia/Tokyo|--footer=Imprint=https://example.com/?a=b|--footer=x=y",
		`POST /api/v1/pages {"footer_links":[{"label":"Imprint","url":"https://example.com/?a=b"},{"label":"x",` +
			`"url":"y"}],"name":"Acme","slug":"acme","time_zone":"Asia/Tokyo"}`},
	{"page set|acme|--domain=status.example.com|--accent=#123456|--language=de",
		`PATCH /api/v1/pages/acme {"accent":"#123456","domain":"status.example.com","language":"de"}`},
	{"page set|acme|--no-domain|--no-accent|--no-language|--no-footer",
		`PATCH /api/v1/pages/acme {"accent":null,"domain":null,"footer_links":[],"language":null}`},
	{"page set|acme|--slug=other|--no-icon|--logo=LOGO",
		`PATCH /api/v1/pages/acme {"slug":"other"}; PUT /api/v1/pages/other/logo SVG` +
			`; DELETE /api/v1/pages/other/icon ; GET /api/v1/pages/other `},
	{"page set|acme|--icon=LOGO", `PUT /api/v1/pages/acme/icon SVG` + `; GET /api/v1/pages/acme `},
	{"page uptime|acme|--days=7", `GET /api/v1/pages/acme/uptime?days=7 `},
}

const svg = `<svg xmlns="http://www.w3.org/2000/svg"/>`

// TestMaintenanceRequests compares the requests of these commands, except the requests that find a component by its
// name.
func TestMaintenanceRequests(t *testing.T) {
	logo := filepath.Join(t.TempDir(), "logo.svg")
	if err := os.WriteFile(logo, []byte(svg), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range maintenanceRequests {
		args, want := strings.ReplaceAll(c.args, "LOGO", logo), strings.ReplaceAll(c.want, "SVG", svg)
		var got []string
		status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			sent, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if list := strings.HasSuffix(r.URL.Path, "/components"); list && r.Method == http.MethodGet {
				io.WriteString(w,
					`{"data": [{"id": "comp_1", "name": "API"}, {"id": "comp_3", "name": "a=b"}], "meta": {"total": `+
						`2}}`)
				return
			}
			got = append(got, r.Method+" "+r.RequestURI+" "+canonical(sent))
			switch {
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/maintenances"),
				r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/components"):
				io.WriteString(w, `{"data": [], "meta": {"total": 0}}`)
			default:
				io.WriteString(w,
					`{"data": {"scheduled_for": "2026-11-21T04:00:00.000Z", "scheduled_until": `+
						`"2026-11-21T04:45:00.000Z"}}`)
			}
		}, expand(args)...)
		got = slices.DeleteFunc(got, func(call string) bool {
			return call == askForPage && !strings.Contains(want, call)
		})
		if last := strings.Join(got, "; "); status != console.ExitDone || last != want {
			t.Errorf("%s: status %d %s\ngot  %s\nwant %s", args, status, stderr, last, want)
		}
	}
}

// TestEndedMaintenanceIsNotCancelled checks that cancel does not delete it.
func TestEndedMaintenanceIsNotCancelled(t *testing.T) {
	status, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("the cancellation of an ended maintenance sent: %s %s", r.Method, r.URL)
		}
		io.WriteString(w, `{"data": {"title": "Disks", "state": "completed"}}`)
	}, "maintenance", "cancel", "mnt_1")
	if status != console.ExitFailed || stdout != "" ||
		!strings.Contains(stderr, `"Disks" has ended, so it cannot be cancelled`) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}

// TestMaintenanceOutput checks that actual times are printed instead of scheduled ones.
func TestMaintenanceOutput(t *testing.T) {
	const object = `{"id": "mnt_1", "title": "Disks", "state": "completed", "scheduled_for": ` +
		`"2026-11-21T08:00:00.000Z", "scheduled_until": "2026-11-21T09:00:00.000Z", `
	for _, c := range []struct{ args, data, want string }{
		{"maintenance begin|mnt_1", object + `"begun_at": "2026-11-21T07:00:00.000Z", "state": "in_progress"}`,
			"The maintenance \"Disks\" is in progress, from 2026-11-21 07:00:00 +00:00 until 2026-11-21 09:00:00 " +
				"+00:00.\n"},
		{"maintenance end|mnt_1",
			object + `"begun_at": "2026-11-21T07:00:00.000Z", "ended_at": "2026-11-21T10:00:00.000Z"}`,
			"The maintenance \"Disks\" is completed, from 2026-11-21 07:00:00 +00:00 until 2026-11-21 10:00:00 " +
				"+00:00.\n"},
		{"maintenance list|--page=p",
			"[" + object + `"begun_at": "2026-11-21T07:00:00.000Z", "ended_at": "2026-11-21T10:00:00.000Z"}]`,
			"MAINTENANCE  STATE      FROM                        UNTIL                       TITLE\nmnt_1        " +
				"completed  2026-11-21 07:00:00 +00:00  2026-11-21 10:00:00 +00:00  Disks\n"},
		{"maintenance show|mnt_1",
			object + `"begun_at": "2026-11-21T07:00:00.000Z", "ended_at": "2026-11-21T10:00:00.000Z"}`,
			"Maintenance:  Disks\nId:           mnt_1\nState:        completed\nScheduled:    2026-11-21 08:00:00 " +
				"+00:00 until 2026-11-21 09:00:00 +00:00\nBegun:        2026-11-21 07:00:00 +00:00\nEnded:        " +
				"2026-11-21 10:00:00 +00:00\nReminder:     none\n"},
	} {
		status, stdout, stderr := against(t, answer(200, "", "", `{"data": `+c.data+`, "meta": {"total": 1}}`),
			expand(c.args)...)
		if status != console.ExitDone || stdout != c.want {
			t.Errorf("%s: status %d %s\ngot\n%swant\n%s", c.args, status, stderr, stdout, c.want)
		}
	}
}

// TestRelativeTimes plans maintenance with --in and --for.
func TestRelativeTimes(t *testing.T) {
	var sent string
	status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent += string(body)
		io.WriteString(w, `{"data": {}}`)
	}, "maintenance", "plan", "--page=p", "--title=x", "--in=2h", "--for=30m")
	m := regexp.MustCompile(`"scheduled_for":"(.*?)","scheduled_until":"(.*?)"`).FindStringSubmatch(sent)
	if status != console.ExitDone || m == nil {
		t.Fatalf("status %d, %s, %s", status, stderr, sent)
	}
	from, err := time.Parse(time.RFC3339, m[1])
	if err != nil {
		t.Fatal(err)
	}
	until, err := time.Parse(time.RFC3339, m[2])
	if err != nil {
		t.Fatal(err)
	}
	if length := until.Sub(from); length.Minutes() != 30 || from.Nanosecond() != 0 {
		t.Errorf("it is from %s until %s", m[1], m[2])
	}
}

// TestMaintenanceUsage checks that invalid command lines send nothing.
func TestMaintenanceUsage(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.png")
	if err := os.WriteFile(large, make([]byte, statuspage.MaxImageSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "logo.png")
	if err := os.WriteFile(text, []byte("not a picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	ico := filepath.Join(t.TempDir(), "logo.ico")
	if err := os.WriteFile(ico, []byte("\x00\x00\x01\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"page set|p|--name=x|--logo=" + text, "page set|p|--name=x|--icon=" + text, "page set|p|--logo=" + ico,
		"page set|p|--name=x|--logo=" + t.TempDir(),
		"maintenance plan|--page=p|--title=x", "maintenance plan|--page=p|--title=x|--in=2h",
		"maintenance plan|--page=p|--title=x|--for=2h",
		"maintenance plan|--page=p|--title=x|--in=2h|--at=2026-11-21T22:00:00Z|--for=1h",
		"maintenance plan|--page=p|--title=x|--at=tomorrow|--for=1h",
		"maintenance plan|--page=p|--title=x|--in=2h|--for=1h|--remind=1h|--no-reminder",
		"maintenance move|mnt_1", "maintenance set|mnt_1", "maintenance set|mnt_1|--component=comp_1|--no-components",
		"incident open|--page=p|--title=x|--component=API=", "incident open|--page=p|--title=x|--component==degraded",
		"incident components|01990000-0000-7000-8000-000000000001|--set=comp_1",
		"incident components|01990000-0000-7000-8000-000000000001|--set=comp_1=degraded|--none",
		"page set|p|--accent=#123456|--logo=" + large, "page set|p|--logo=" + large + ".not",
		"page set|p|--logo=x|--no-logo", "page set|p|--footer=x",
	} {
		status, _, stderr := against(t, func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%s: %s %s", args, r.Method, r.URL)
		}, expand(args)...)
		if status != console.ExitUsage {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
	}
}
