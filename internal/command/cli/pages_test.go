package cli

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestPageDeleteNeedsYes checks that without --yes, the command counts what would be deleted.
func TestPageDeleteNeedsYes(t *testing.T) {
	const kept = "allswell: not deleted: --yes is needed to delete the page acme with "
	const yes = "; this cannot be undone\n"
	for _, c := range []struct {
		totals map[string]string
		want   string
	}{
		{map[string]string{
			"components": "3", "groups": "0", "incidents": "1", "drafts": "1", "maintenances": "2",
			"subscribers": "120",
		},
			kept + "3 components, 1 incident, 1 draft, 2 maintenances, 120 subscribers and 2 monitors" + yes},
		{map[string]string{"components": "1"}, kept + "1 component and 2 monitors" + yes},
		{nil, kept + "2 monitors" + yes},
	} {
		status, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				t.Errorf("page delete without a confirmation sent: %s %s", r.Method, r.URL)
			}
			kind := strings.TrimPrefix(r.URL.Path, "/api/v1/pages/acme/")
			if r.URL.Query().Get("draft") == "true" {
				kind = "drafts"
			}
			switch {
			case r.URL.Path == "/api/v1/pages/acme":
				io.WriteString(w, `{"data": {"name": "Acme"}}`)
			case r.URL.Path == "/api/v1/monitors":
				answerMonitors(w, r, `[{"page": "acme"}, {"page": "other"}, {"page": "acme"}]`)
			case c.totals[kind] != "":
				io.WriteString(w, `{"data": [{}], "meta": {"total": `+c.totals[kind]+`}}`)
			default:
				io.WriteString(w, `{"data": [], "meta": {"total": 0}}`)
			}
		}, "page", "delete", "acme")
		if status != console.ExitUsage || stdout != "" || stderr != c.want {
			t.Errorf("status %d, %q\ngot  %swant %s", status, stdout, stderr, c.want)
		}
	}
}

// TestMonitorsOfAPage checks monitor list with --page and --state.
func TestMonitorsOfAPage(t *testing.T) {
	server := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/monitors":
			answerMonitors(w, r,
				`[{"id": "mon_1", "page": "acme", "name": "a", "state": "up"}, {"id": "mon_2", "page": "other", "name": "b", "state": "down"},
				{"id": "mon_3", "page": "acme", "name": "c", "state": "down"}]`)
		case "/api/v1/pages/empty":
			io.WriteString(w, `{"data": {}}`)
		default:
			answer(404, "", "", `{"message": "Not found."}`)(w, r)
		}
	}
	const header = "MONITOR  STATE   SCHEDULE  LAST PING  PAGE  NAME\n"
	for args, want := range map[string]string{
		"--page=acme": header +
			"mon_1    paused  0s        never      acme  a\nmon_3    paused  0s        never      acme  c\n",
		"--page=acme|--limit=1": header +
			"mon_1    paused  0s        never      acme  a\n… and 1 more (--limit).\n",
		"--page=acme|--state=down": header + "mon_3    paused  0s        never      acme  c\n",
		"--page=empty":             "No monitors yet.\n",
		"--page=empty|--state=up":  "No such monitors.\n",
		"--page=nowhere": "allswell: there is no page with the slug \"nowhere\" in the workspace of this " +
			"token\n",
	} {
		_, stdout, stderr := against(t, server, expand("monitor list|"+args)...)
		if stdout+stderr != want {
			t.Errorf("%s: got\n%s%swant\n%s", args, stdout, stderr, want)
		}
	}
}

// TestGroupsAreFoundByName checks that names are looked up on the page.
func TestGroupsAreFoundByName(t *testing.T) {
	var last string
	server := func(w http.ResponseWriter, r *http.Request) {
		last = r.Method + " " + r.URL.Path
		switch r.Method {
		case http.MethodGet:
			io.WriteString(w,
				`{"data": [{"id": "grp_1", "name": "Core"}, {"id": "grp_2", "name": "Edge"}], "meta": {"total": 2}}`)
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			io.WriteString(w, `{"data": {}}`)
		}
	}
	for args, want := range map[string]string{
		"group set|Edge|--page=acme|--name=x": "PATCH /api/v1/groups/grp_2",
		"group delete|--page=acme|Core":       "DELETE /api/v1/groups/grp_1",
	} {
		if status, _, stderr := against(t, server, expand(args)...); status != console.ExitDone || last != want {
			t.Errorf("%s: status %d %s, %s", args, status, stderr, last)
		}
	}
}

// TestComponentsAreFoundBySlug checks that a slug is looked up if no component has it as its name.
func TestComponentsAreFoundBySlug(t *testing.T) {
	var last string
	server := func(w http.ResponseWriter, r *http.Request) {
		last = r.Method + " " + r.URL.Path
		switch {
		case r.Method != http.MethodGet:
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Query().Get("slug") == "api":
			io.WriteString(w, `{"data": [{"id": "comp_1", "name": "Public API"}], "meta": {"total": 1}}`)
		default:
			io.WriteString(w, `{"data": [], "meta": {"total": 0}}`)
		}
	}
	status, _, stderr := against(t, server, "component", "delete", "--yes", "--page=acme", "api")
	if status != console.ExitDone || last != "DELETE /api/v1/pages/acme/components/comp_1" {
		t.Errorf("status %d %s, %s", status, stderr, last)
	}
	status, _, stderr = against(t, server, "component", "delete", "--page=acme", "web")
	if status != console.ExitFailed {
		t.Errorf("status %d %s, %s", status, stderr, last)
	}
}

// TestHelpNamesTheLanguages compares the help with the languages of pages.
func TestHelpNamesTheLanguages(t *testing.T) {
	files, err := os.ReadDir("../../../internal/shared/i18n/languages")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, command := range []string{"create", "set"} {
		_, stdout, _ := against(t, nil, "page", command, "--help")
		_, help, _ := strings.Cut(stdout, "--language=en|de|ar")
		help, _, _ = strings.Cut(help, "--domain")
		for _, f := range files {
			if tag := strings.TrimSuffix(f.Name(), ".json"); !strings.Contains(help, " "+tag) {
				t.Errorf("page %s --help does not name %s: %s", command, tag, help)
			}
		}
	}
}

// TestMissingCommand checks that a noun without a verb lists all its verbs.
func TestMissingCommand(t *testing.T) {
	status, stdout, stderr := against(t, nil, "page")
	want := "allswell: a command is missing: allswell page list, show, create, put, edit, access, ping-key, domain, " +
		"uptime or delete\n"
	if status != console.ExitUsage || stdout != "" || stderr != want {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

// TestLargeStyleSheet checks that a file that is too large, even one without an end, is not read as a whole.
func TestLargeStyleSheet(t *testing.T) {
	if _, err := readCSS("/dev/zero"); err == nil || !strings.Contains(err.Error(), "more than 20000 bytes") {
		t.Error(err)
	}
}

// TestPageThatExists checks that a slug which was made from the name is explained if another page has it.
func TestPageThatExists(t *testing.T) {
	taken := refusal(t, kernel.Problem{Field: "slug", Code: "has already been taken"})
	for says, args := range map[string][]string{
		"the page acme exists already":  {"page", "create", "--name=Acme"},
		"slug: has already been taken.": {"page", "create", "--name=Acme", "--slug=acme"},
	} {
		status, _, stderr := against(t, taken, args...)
		if status == console.ExitDone || !strings.Contains(stderr, says) {
			t.Errorf("%v: status %d, %q, want %q", args, status, stderr, says)
		}
	}
}

// TestAccessOfPublicPage checks that a password for a page that is not private is said to have no effect.
func TestAccessOfPublicPage(t *testing.T) {
	for visibility, warns := range map[string]bool{"public": true, "unlisted": true, "private": false} {
		_, stdout, stderr := against(t,
			answer(200, "", "", `{"data": {"slug": "acme", "visibility": "`+visibility+`"}}`), "page", "access", "acme",
			"--members")
		const effect = ". What is set here has an effect while it is private: allswell page edit acme --visibility " +
			"private"
		if strings.Contains(stdout, "This page is "+visibility+effect) != warns {
			t.Errorf("%s: %q %q", visibility, stdout, stderr)
		}
	}
}
