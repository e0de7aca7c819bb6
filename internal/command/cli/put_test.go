package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/console"
)

// TestPutOutput compares what put prints about the answers to its GET and its PUT.
func TestPutOutput(t *testing.T) {
	const page, failed = `{"data": {"slug": "acme", "name": "x"}}`, `{"message": "x", "code": "precondition_failed"}`
	missing := answer(404, "", "", `{"message": "Not found."}`)
	old, changed := answer(200, "ETag", `"1"`, page), answer(200, "ETag", `"2"`, page)
	created, refused := answer(201, "ETag", `"2"`, page), answer(412, "", "", failed)
	for _, c := range []struct {
		args     string
		get, put http.HandlerFunc
		sent     string // If-Match and If-None-Match
		status   int
		want     string
	}{
		{"", missing, created, " ", console.ExitDone, "Created the page acme.\n"},
		{"", old, old, " ", console.ExitDone, "The page acme is unchanged.\n"},
		{"", old, changed, " ", console.ExitDone, "Changed the page acme.\n"},
		{`|--if-match="1"`, old, changed, `"1" `, console.ExitDone, "Changed the page acme.\n"},
		{`|--if-match="0"`, old, refused, `"0" `, console.ExitFailed,
			"allswell: nothing was changed: the page acme does not exist or does not have the entity tag " +
				"(--if-match)\n"},
		{"|--create-only", missing, created, " *", console.ExitDone, "Created the page acme.\n"},
		{"|--create-only", old, refused, " *", console.ExitFailed,
			"allswell: nothing was changed: the page acme exists (--create-only)\n"},
	} {
		sent := ""
		status, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				c.get(w, r)
				return
			}
			sent = r.Header.Get("If-Match") + " " + r.Header.Get("If-None-Match")
			c.put(w, r)
		}, expand("page put|acme|--name=x"+c.args)...)
		if status != c.status || stdout+stderr != c.want || sent != c.sent {
			t.Errorf("%q: status %d, conditions %q, %q; want %d, %q, %q", c.args, status, sent, stdout+stderr, c.status,
				c.sent, c.want)
		}
	}
}

// TestPutsOfEveryResource compares what each put requests with its flags: the object by its slug, and then all of it.
func TestPutsOfEveryResource(t *testing.T) {
	for args, want := range map[string]string{
		"group put|core|--page=acme|--name=Core": `GET /api/v1/groups/core?page_slug=acme, PUT ` +
			`/api/v1/pages/acme/groups/core {"name":"Core"}`,
		"template put|outage|--name=N|--title=T": `GET /api/v1/incident-templates/outage, PUT ` +
			`/api/v1/incident-templates/outage {"name":"N","title":"T"}`,
		"alert rule put|night|--name=N|--quiet-hours=22:00-07:00": `GET /api/v1/alert-rules/night, ` +
			`PUT /api/v1/alert-rules/night {"name":"N","quiet_hours":{"from":"22:00","until":"07:00","zone":"UTC"}}`,
		"channel put|phone|--type=ntfy|--name=N|--topic=t": `GET /api/v1/channels/phone, PUT /api/v1/channels/phone ` +
			`{"name":"N","topic":"t","type":"ntfy"}`,
		"oncall put|ops|--name=N|--zone=UTC": `GET /api/v1/on-call/ops, PUT /api/v1/on-call/ops {"name":"N",` +
			`"zone":"UTC"}`,
	} {
		var asked []string
		status, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked = append(asked, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+canonical(body)))
			if r.Method == http.MethodGet {
				answer(404, "", "", `{"message": "Not found."}`)(w, r)
				return
			}
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"data": {"name": "N"}}`)
		}, expand(args)...)
		got := strings.Join(asked, ", ")
		if status != console.ExitDone || got != want || !strings.HasPrefix(stdout, "Created the ") {
			t.Errorf("%s: status %d, requested %s, printed %q; want %s", args, status, got, stdout+stderr, want)
		}
	}
}

// TestPutUsage checks that invalid command lines send nothing.
func TestPutUsage(t *testing.T) {
	for _, args := range []string{
		"component put|--page=acme|API|--name=x", "component put|--page=acme|mon_1|--name=x",
		"monitor put|Nightly|--page=acme|--name=x|--interval=1h",
		"monitor put|comp_1|--page=acme|--name=x|--interval=1h",
		"component put|--page=acme|api|--name=x|--if-match=*|--create-only",
		"group put|Core|--page=acme|--name=x", "template put|Outage|--name=x|--title=x",
		"alert rule put|Night|--name=x", "channel put|Phone|--type=ntfy|--name=x|--topic=t",
		"oncall put|Ops|--name=x",
	} {
		status, stdout, stderr := against(t, func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%s: %s %s", args, r.Method, r.URL)
		}, expand(args)...)
		if status != console.ExitUsage || stdout != "" || stderr == "" {
			t.Errorf("%s: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}
