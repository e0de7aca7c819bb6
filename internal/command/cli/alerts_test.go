package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/console"
)

// TestSilenceOfEverythingAsks checks that a silence that nothing limits is created only if that is confirmed.
func TestSilenceOfEverythingAsks(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "n\n": false} {
		created := false
		status, _, stderr := onTerminal(t, func(w http.ResponseWriter, r *http.Request) {
			created = r.Method == "POST" && r.URL.Path == "/api/v1/silences"
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"data":{"id":"sil_1","about":"everything","ends_at":"2026-11-21T06:00:00Z",` +
				`"starts_at":"2026-11-21T05:00:00Z"}}`))
		}, 80, answer, "silence", "create", "--for=1h")
		if created != want || (status == console.ExitDone) != want ||
			!strings.HasPrefix(
				stderr, "Silence everything? No one gets any alert until the silence ends. [y/N] ",
			) {
			t.Errorf("%q: created %t, status %d, %s", answer, created, status, stderr)
		}
	}
}

// TestLimitedSilenceDoesNotAsk checks that each flag limits a silence, so that nobody is asked and --all is refused.
func TestLimitedSilenceDoesNotAsk(t *testing.T) {
	for _, flag := range []string{
		"--event=monitor.down", "--page=acme", "--monitor=mon_1", "--tag=prod", "--severity=critical",
	} {
		for _, all := range []bool{false, true} {
			args, created := []string{"silence", "create", "--for=1h", flag}, false
			if all {
				args = append(args, "--all")
			}
			status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
				created = r.Method == "POST" && r.URL.Path == "/api/v1/silences"
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write([]byte(`{"data":{"id":"sil_1","about":"something","ends_at":"2026-11-21T06:00:00Z",` +
					`"starts_at":"2026-11-21T05:00:00Z"}}`))
			}, args...)
			if created == all || (status == console.ExitDone) == all {
				t.Errorf("%q: created %t, status %d, %s", args, created, status, stderr)
			}
		}
	}
}

// TestLastLimitOfASilence checks that a change which removes the last limit of a silence is made only if that is
// confirmed, whichever limit it is, and that one which leaves another limit asks nothing.
func TestLastLimitOfASilence(t *testing.T) {
	lists := map[string]string{
		"events": `["monitor.down"]`, "pages": `["page_1"]`, "monitors": `["mon_1"]`, "tags": `["prod"]`,
		"severities": `["major"]`,
	}
	for list, values := range lists {
		for _, other := range []bool{false, true} {
			limits, changed := `"`+list+`":`+values, false
			if other {
				limits += `,"` + map[bool]string{true: "pages", false: "tags"}[list == "tags"] + `":["x"]`
			}
			_, _, stderr := onTerminal(t, func(w http.ResponseWriter, r *http.Request) {
				changed = changed || r.Method != http.MethodGet
				answer(200, "", "",
					`{"data":{"id":"sil_068vq2r4b1ccu5a0d3e1",`+limits+
						`,"starts_at":"2026-11-24T00:00:00Z","ends_at":"2026-11-24T21:00:00Z"}}`)(w, r)
			}, 80, "n\n", "silence", "edit", "sil_068vq2r4b1ccu5a0d3e1", "--no-"+list)
			if asked := strings.HasPrefix(stderr, "Silence everything?"); asked == other || changed != other {
				t.Errorf("%s, another limit %t: asked %t, changed %t, %s", list, other, asked, changed, stderr)
			}
		}
	}
}

// TestEndOfSilenceInTheZoneOfThePage checks that a time without an offset is in the zone of the page that a silence is
// about, or else of the page of ALLSWELL_PAGE, to which it is not limited, although there are several pages.
func TestEndOfSilenceInTheZoneOfThePage(t *testing.T) {
	t.Setenv("ALLSWELL_PAGE", "acme")
	for _, command := range []string{"create", "edit|sil_068vq2r4b1ccu5a0d3e1"} {
		for args, want := range map[string]string{
			"--page=acme|--until=2026-11-24 22:00":       "2026-11-24T21:00:00.000Z",
			"--page=acme|--until=2026-11-24 22:00+05:00": "2026-11-24T17:00:00.000Z",
			"--tag=a|--until=2026-11-24 22:00":           "2026-11-24T21:00:00.000Z",
			"--page=a|--page=b|--until=2026-11-24 22:00": "2026-11-24T21:00:00.000Z",
		} {
			ws, sent := newWorkspace("acme", "docs"), ""
			status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case !strings.HasPrefix(r.URL.Path, "/api/v1/silences"):
					ws.ServeHTTP(w, r)
					return
				case r.Method != http.MethodGet:
					body, _ := io.ReadAll(r.Body)
					sent = canonical(body)
				}
				answer(200, "", "",
					`{"data":{"id":"sil_1","about":"x","tags":["prod"],"starts_at":"2026-11-24T00:00:00Z",`+
						`"ends_at":"2026-11-24T21:00:00Z"}}`)(w, r)
			}, expand("silence|"+command+"|"+args)...)
			limited := strings.Contains(sent, `"pages"`)
			if status != console.ExitDone || !strings.Contains(sent, `"ends_at":"`+want+`"`) ||
				limited != strings.Contains(args, "--page=") {
				t.Errorf("%s %s: status %d, %s, %s", command, args, status, sent, stderr)
			}
		}
	}
}

// TestAlertsByTitle checks that alerts which have not ended are found by their titles, and that the open one is meant
// if two have the same title.
func TestAlertsByTitle(t *testing.T) {
	listed := map[string]string{
		"open": `{"id":"alt_1","state":"open","title":"Shop is down"}`,
		"acknowledged": `{"id":"alt_2","state":"acknowledged","title":"Shop is down"},{"id":"alt_3",` +
			`"state":"acknowledged","title":"Backup is down"}`,
		"resolved": `{"id":"alt_4","state":"resolved","title":"Mail is down"}`,
	}
	for title, want := range map[string]string{"Shop is down": "alt_1", "Backup is down": "alt_3", "Mail is down": ""} {
		shown := ""
		status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/alerts" {
				answer(200, "", "", `{"data":[`+listed[r.URL.Query().Get("state")]+`]}`)(w, r)
				return
			}
			shown = strings.TrimPrefix(r.URL.Path, "/api/v1/alerts/")
			answer(200, "", "",
				`{"data":{"id":"alt_1","title":"x","event":"monitor.down","state":"open","severity":"major",`+
					`"opened_at":"2026-11-26T00:00:00.000Z","notices":[],"holds":[],"plans":[]}}`)(w, r)
		}, "alert", "show", title)
		if shown != want || (status == console.ExitDone) != (want != "") {
			t.Errorf("%s: %q was shown, status %d, %s", title, shown, status, stderr)
		}
	}
}
