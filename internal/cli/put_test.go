package cli

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/console"
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
			"allswell: nothing was changed: the page acme does not exist or does not have the entity tag (--if-match)\n"},
		{"|--create-only", missing, created, " *", console.ExitDone, "Created the page acme.\n"},
		{"|--create-only", old, refused, " *", console.ExitFailed, "allswell: nothing was changed: the page acme exists (--create-only)\n"},
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
			t.Errorf("%q: status %d, conditions %q, %q; want %d, %q, %q", c.args, status, sent, stdout+stderr, c.status, c.sent, c.want)
		}
	}
}

// TestPutUsage checks that invalid command lines send nothing.
func TestPutUsage(t *testing.T) {
	for _, args := range []string{
		"component put|--page=acme|API|--name=x", "component put|--page=acme|mon_1|--name=x",
		"monitor put|Nightly|--page=acme|--name=x|--interval=1h", "monitor put|comp_1|--page=acme|--name=x|--interval=1h",
		"component put|--page=acme|api|--name=x|--if-match=*|--create-only",
	} {
		status, stdout, stderr := against(t, func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%s: %s %s", args, r.Method, r.URL)
		}, expand(args)...)
		if status != console.ExitUsage || stdout != "" || stderr == "" {
			t.Errorf("%s: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}
