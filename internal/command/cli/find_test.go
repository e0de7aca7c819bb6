package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/console"
)

// Ids of resources in these tests.
const (
	oldIncident   = "01990000-0000-7000-8000-00000000000a"
	otherIncident = "01990001-0000-7000-8000-00000000000b"
	newIncident   = "0199ffff-0000-7000-8000-00000000000c"
	mainComponent = "comp_0123456789abcdefghij"
	nearComponent = "comp_01234567xxxxxxxxxxxx"
	draftIncident = "019a0000-0000-7000-8000-00000000000d"
	maintenance   = "mnt_0123456789abcdefghij"
	announcement  = "ann_0123456789abcdefghij"
	delivery      = "dlv_0123456789abcdefghij"
)

// workspace answers requests of lists, by their paths, and records other requests.
type workspace struct {
	lists map[string][]string
	last  string
	gets  int
}

func newWorkspace(slugs ...string) *workspace {
	w := &workspace{lists: map[string][]string{
		"/api/v1/pages/acme/incidents": {
			`{"id":"` + newIncident + `","title":"API down","state":"identified"}`,
			`{"id":"` + otherIncident + `","title":"Shop <down>","resolved":true}`,
			`{"id":"` + oldIncident + `","title":"API down","resolved":true}`,
		},
		"/api/v1/pages/acme/components": {
			`{"id":"` + mainComponent + `","name":"API","status":"operational"}`,
			`{"id":"` + nearComponent + `","name":"Shop","status":"operational"}`,
		},
		"/api/v1/pages/acme/maintenances":  {`{"id":"` + maintenance + `","title":"Disks","state":"scheduled"}`},
		"/api/v1/pages/acme/announcements": {`{"id":"` + announcement + `","title":"We move","shown_until":null}`},
		"/api/v1/pages/acme/deliveries":    {`{"id":"` + delivery + `","state":"dead"}`},
	}}
	w.lists["/api/v1/pages"] = nil
	for _, slug := range slugs {
		w.lists["/api/v1/pages"] = append(w.lists["/api/v1/pages"], `{"slug":"`+slug+`"}`)
	}
	return w
}

func (ws *workspace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if r.FormValue("draft") == "true" {
		path += "?draft=true"
	}
	list, isList := ws.lists[path]
	isList = isList || path != r.URL.Path
	isList = isList && r.Method == http.MethodGet
	if !isList && !strings.HasSuffix(r.URL.Path, "/uptime") {
		body, _ := io.ReadAll(r.Body)
		ws.last = strings.TrimSpace(r.Method + " " + r.URL.Path + " " + canonical(body))
	}
	switch {
	case isList:
		ws.gets++
		page, _ := strconv.Atoi(r.FormValue("page"))
		perPage, _ := strconv.Atoi(r.FormValue("per_page"))
		var some []string
		for i, v := range list {
			name, slug := r.FormValue("name"), r.FormValue("slug")
			if i/perPage+1 == page && (name == "" || strings.Contains(v, `"name":"`+name+`"`)) &&
				(slug == "" || strings.Contains(v, `"slug":"`+slug+`"`)) {
				some = append(some, v)
			}
		}
		total := len(list)
		if r.FormValue("name")+r.FormValue("slug") != "" {
			total = len(some)
		}
		fmt.Fprintf(w, `{"data":[%s],"meta":{"total":%d}}`, strings.Join(some, ","), total)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && ws.object(r.URL.Path) != "":
		fmt.Fprintf(w, `{"data":%s}`, ws.object(r.URL.Path))
	case strings.HasSuffix(r.URL.Path, "/pages/acme"):
		io.WriteString(w, `{"data":{"slug":"acme","time_zone":"Europe/Berlin"}}`)
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/components"):
		io.WriteString(w, `{"data":[]}`)
	default:
		io.WriteString(w, `{"data":{}}`)
	}
}

// object returns the resource with the id at the end of a path; "" if there is none.
func (ws *workspace) object(path string) string {
	for _, list := range ws.lists {
		for _, v := range list {
			if strings.Contains(v, `"id":"`+path[strings.LastIndexByte(path, '/')+1:]+`"`) {
				return v
			}
		}
	}
	return ""
}

// TestThePageIsChosen checks that --page is not needed if there is one page, and what is said if there are others.
func TestThePageIsChosen(t *testing.T) {
	for _, args := range []string{
		"component status|API|degraded", "component set|API|degraded", "component status|--page=acme|API|degraded",
	} {
		ws := newWorkspace("acme")
		status, _, stderr := against(t, ws.ServeHTTP, expand(args)...)
		want := "PATCH /api/v1/pages/acme/components/" + mainComponent + ` {"status":"degraded"}`
		if status != console.ExitDone || ws.last != want {
			t.Errorf("%s: status %d %s, %s", args, status, stderr, ws.last)
		}
	}
	for slugs, want := range map[string]string{
		"":          "there are no pages yet: `allswell page create --name NAME` creates one",
		"acme beta": "there are 2 pages: choose one with --page=SLUG or ALLSWELL_PAGE (acme, beta)",
		"a b c d e f g": "there are 7 pages: choose one with --page=SLUG or ALLSWELL_PAGE (a, b, c, d, e and 2 " +
			"more)",
		"acme beta with-page": "there are 3 pages: choose one with --page=SLUG or ALLSWELL_PAGE (acme, beta, " +
			"with-page)",
	} {
		for _, args := range []string{
			"incident create|--title=x", "component status|API|degraded", "subscriber list", "delivery list",
			"page uptime", "incident update|latest|x", "group edit|Core|--name=x",
		} {
			ws := newWorkspace(strings.Fields(slugs)...)
			status, _, stderr := against(t, ws.ServeHTTP, expand(args)...)
			if status == console.ExitDone || stderr != "allswell: "+want+"\n" || ws.last != "" {
				t.Errorf("%q, %s: status %d %s, %s", slugs, args, status, stderr, ws.last)
			}
		}
	}
	t.Setenv("ALLSWELL_PAGE", "acme")
	for args, want := range map[string]string{
		"incident create|--title=x":             `POST /api/v1/pages/acme/incidents {"title":"x"}`,
		"incident create|--title=x|--page=beta": `POST /api/v1/pages/beta/incidents {"title":"x"}`,
		"page show":                             "GET /api/v1/pages/acme",
		"page edit|--name=x":                    `PATCH /api/v1/pages/acme {"name":"x"}`,
		"page uptime|beta":                      "GET /api/v1/pages/beta/uptime",
		"monitor edit|mon_1|--name=x|--slug=y":  `PATCH /api/v1/monitors/mon_1 {"name":"x","slug":"y"}`,
	} {
		ws := newWorkspace("acme", "beta")
		status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			ws.ServeHTTP(w, r)
			if strings.HasSuffix(r.URL.Path, "/uptime") {
				ws.last = r.Method + " " + r.URL.Path
			}
		}, expand(args+"|--json")...)
		if status != console.ExitDone || ws.last != want {
			t.Errorf("%s: status %d %s, %s, want %s", args, status, stderr, ws.last, want)
		}
	}
}

// TestShortIDs checks that resources are found by an unambiguous part of their ids or by their titles.
func TestShortIDs(t *testing.T) {
	for args, want := range map[string]string{
		"incident delete|--yes|latest":         "DELETE /api/v1/incidents/" + newIncident,
		"incident delete|--yes|0199ff":         "DELETE /api/v1/incidents/" + newIncident,
		"incident delete|--yes|" + oldIncident: "DELETE /api/v1/incidents/" + oldIncident,
		"incident delete|--yes|019900": "the ids of several incidents begin with \"019900\": give " +
			"the id of one (" + otherIncident + ", " + oldIncident + ")",
		"incident delete|--yes|API down":    "DELETE /api/v1/incidents/" + newIncident,
		"incident delete|--yes|shop <DOWN>": "DELETE /api/v1/incidents/" + otherIncident,
		"incident delete|--yes|Nothing": `there is no incident with the title "Nothing", or with an ` +
			`id that begins so`,
		"incident delete|--yes|": `there is no incident with the title "", or with an id that ` +
			`begins so`,
		"maintenance cancel|Disks":    "DELETE /api/v1/maintenances/" + maintenance,
		"announcement delete|We move": "DELETE /api/v1/announcements/" + announcement,
		"announcement edit|ann_012345|--no-until": "PATCH /api/v1/announcements/" + announcement +
			` {"shown_until":null}`,
		"maintenance cancel|mnt_012345": "DELETE /api/v1/maintenances/" + maintenance,
		"component delete|--yes|comp_01234567": "the ids of several components begin with " +
			"\"comp_01234567\": give the id of one (" + mainComponent + ", " + nearComponent + ")",
		"component delete|--yes|comp_012345678":         "DELETE /api/v1/pages/acme/components/" + mainComponent,
		"component delete|--yes|comp_012345670":         "DELETE /api/v1/pages/acme/components/comp_012345670",
		"component edit|comp_012345678|--name=x":        "PATCH /api/v1/components/" + mainComponent + ` {"name":"x"}`,
		"component edit|" + mainComponent + "|--name=x": "PATCH /api/v1/components/" + mainComponent + ` {"name":"x"}`,
		"delivery retry|dlv_0123456":                    "POST /api/v1/deliveries/" + delivery + "/retry",
		"delivery retry|" + delivery:                    "POST /api/v1/deliveries/" + delivery + "/retry",
	} {
		ws := newWorkspace("acme")
		status, _, stderr := against(t, ws.ServeHTTP, expand(args)...)
		got := ws.last + strings.TrimSuffix(strings.TrimPrefix(stderr, "allswell: "), "\n")
		if got != want || (status == console.ExitDone) != (stderr == "") {
			t.Errorf("%s: status %d, %s, want %s", args, status, got, want)
		}
	}
	// A whole id is not looked up.
	ws := newWorkspace("acme", "beta")
	status, _, stderr := against(t, ws.ServeHTTP, "incident", "delete", "--yes", oldIncident)
	if status != console.ExitDone || ws.gets != 0 {
		t.Errorf("status %d %s, %d lists were read", status, stderr, ws.gets)
	}
}

// TestDrafts checks that commands find drafts by title, by a part of the id and as the latest incident, and that
// publish finds nothing else.
func TestDrafts(t *testing.T) {
	const draft = "/api/v1/incidents/" + draftIncident
	const published = "/api/v1/incidents/" + newIncident
	for args, want := range map[string]string{
		"incident show|Queue down":          "GET " + draft + "/components",
		"incident show|latest":              "GET " + draft + "/components",
		"incident update|019a00|x":          "POST " + draft + `/updates {"message":"x"}`,
		"incident edit|latest|--title=x":    "PATCH " + draft + ` {"title":"x"}`,
		"incident resolve|Queue down":       "PATCH " + draft + ` {"resolved":true,"state":"resolved"}`,
		"incident delete|--yes|Queue down":  "DELETE " + draft,
		"incident edit|API down|--title=x":  "PATCH " + published + ` {"title":"x"}`,
		"incident publish|latest":           "POST " + draft + "/publishPublished the incident Queue down.",
		"incident publish|Queue down":       "POST " + draft + "/publishPublished the incident Queue down.",
		"incident publish|" + draftIncident: "POST " + draft + "/publishPublished the incident Queue down.",
		"incident publish|" + newIncident: "POST " + published +
			"/publishThe incident API down was published already: nothing changed.",
		"incident publish|API down": `there is no draft with the title "API down", or with an id that ` +
			`begins so`,
		"incident publish|latest|--page=beta": "the page beta has no drafts",
		"incident show|latest|--page=beta":    "the page beta has no incidents",
	} {
		ws := newWorkspace("beta", "acme")
		ws.lists["/api/v1/pages/beta/incidents"] = nil
		ws.lists["/api/v1/pages/acme/incidents"][0] = `{"id":"` + newIncident +
			`","title":"API down","created_at":"2026-11-01T00:00:00Z"}`
		ws.lists["/api/v1/pages/acme/incidents?draft=true"] = []string{
			`{"id":"` + draftIncident + `","title":"Queue down","created_at":"2026-11-02T00:00:00Z"}`,
		}
		line := expand(args)
		if !strings.Contains(args, "--page") {
			line = append(line, "--page=acme")
		}
		status, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			if id, publish := strings.CutSuffix(r.URL.Path, "/publish"); publish {
				ws.last = r.Method + " " + r.URL.Path
				fmt.Fprintf(w, `{"data":%s}`, ws.object(id))
				return
			}
			ws.ServeHTTP(w, r)
		}, line...)
		got := ws.last
		if strings.HasPrefix(args, "incident publish") {
			got += strings.TrimSpace(stdout)
		}
		got += strings.TrimSuffix(strings.TrimPrefix(stderr, "allswell: "), "\n")
		if got != want || (status == console.ExitDone) != (stderr == "") {
			t.Errorf("%s: status %d\ngot  %s\nwant %s", args, status, got, want)
		}
	}
}

// onTerminal runs a command on a terminal, on which the user types the answer.
func onTerminal(
	t *testing.T, server http.HandlerFunc, width int, answer string, args ...string,
) (status int, stdout, stderr string) {
	t.Helper()
	s := httptest.NewServer(server)
	defer s.Close()
	var out, errs bytes.Buffer
	program := console.Program{
		Commands: &testCommands{
			Subscriber: NewSubscriberCommands(), Monitor: NewMonitorCommands(), Alert: NewAlertCommands(),
			Silence: NewSilenceCommands(),
		},
		Name: "allswell", Variables: HelpVariables(), Message: Message,
	}
	c := &console.Console{
		Ctx: t.Context(), In: strings.NewReader(answer), Out: &out, Err: &errs, Width: width, Interactive: true,
	}
	status = program.Run(c, append(args, "--server="+s.URL, "--token=x"), nil)
	return status, out.String(), errs.String()
}

// TestDeletionsAsk checks that a deletion that loses history asks on a terminal, and needs --yes elsewhere.
func TestDeletionsAsk(t *testing.T) {
	for args, want := range map[string]string{
		"component delete|API":      `the component "API" with its history`,
		"incident delete|latest":    `the incident "API down" (identified) with its updates`,
		"maintenance delete|Disks":  `the maintenance "Disks" (scheduled) with its updates`,
		"monitor delete|mon_1":      `the monitor "" with its history`,
		"page delete|acme":          "the page acme with 2 components, 3 incidents and 1 maintenance",
		"component delete|Shop\x1b": "",
	} {
		for answer, deleted := range map[string]bool{
			"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false, "yesterday\n": false,
		} {
			ws := newWorkspace("acme")
			ws.lists["/api/v1/monitors"], ws.lists["/api/v1/pages/acme/groups"],
				ws.lists["/api/v1/pages/acme/subscribers"] = nil, nil, nil
			status, _, stderr := onTerminal(t, ws.ServeHTTP, 80, answer, expand(args)...)
			if want == "" {
				continue // there is no such component, and nothing to ask
			}
			question := "Delete " + want + "? This cannot be undone. [y/N] "
			if !strings.HasPrefix(stderr, question) || strings.HasPrefix(ws.last, "DELETE ") != deleted ||
				(status == console.ExitDone) != deleted ||
				!deleted && stderr != question+"allswell: not deleted\n" {
				t.Errorf("%s, answer %q: status %d, %s, %s", args, answer, status, stderr, ws.last)
			}
		}
		if want == "" {
			continue
		}
		ws := newWorkspace("acme")
		ws.lists["/api/v1/monitors"], ws.lists["/api/v1/pages/acme/groups"], ws.lists["/api/v1/pages/acme/subscribers"] =
			nil, nil, nil
		status, _, stderr := against(t, ws.ServeHTTP, expand(args)...)
		if status != console.ExitUsage ||
			stderr != "allswell: not deleted: --yes is needed to delete "+want+"; this cannot be undone\n" ||
			strings.HasPrefix(ws.last, "DELETE ") {
			t.Errorf("%s: status %d, %s, %s", args, status, stderr, ws.last)
		}
	}
}

// TestTablesFitTheTerminal checks that tables are cut on a terminal only.
func TestTablesFitTheTerminal(t *testing.T) {
	ws := newWorkspace("acme")
	ws.lists["/api/v1/pages/acme/incidents"][0] = `{"id":"` + newIncident + `","title":"` +
		strings.Repeat("long ", 40) + `","state":"identified","impact":"major","created_at":"2026-11-21T04:00:00Z"}`
	for _, width := range []int{40, 60, 80, 200} {
		_, stdout, stderr := onTerminal(t, ws.ServeHTTP, width, "", "incident", "list")
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		for _, line := range lines {
			if n := len([]rune(line)); n > width {
				t.Errorf("%d columns instead of %d: %s%s", n, width, line, stderr)
			}
		}
		if len(lines) != 4 || !strings.HasPrefix(lines[1], newIncident[:13]+" ") ||
			width > 60 && !strings.Contains(lines[1], " 2026-11-21 04:00 +00:00 ") {
			t.Errorf("%d columns: %s", width, stdout)
		}
	}
	for _, wide := range []bool{false, true} {
		args := []string{"incident", "list"}
		width := 0
		if wide {
			args, width = append(args, "--wide"), 60
		}
		_, stdout, _ := onTerminal(t, ws.ServeHTTP, width, "", args...)
		if !strings.Contains(stdout, newIncident) ||
			!strings.Contains(stdout, strings.TrimSpace(strings.Repeat("long ", 40))) {
			t.Errorf("--wide %t: something is cut:\n%s", wide, stdout)
		}
	}
}

// TestJSONIsExact checks that --json prints the bytes that the server sends, and a list of several parts as one.
func TestJSONIsExact(t *testing.T) {
	ws := newWorkspace("acme")
	_, stdout, stderr := against(t, ws.ServeHTTP, "incident", "list", "--json")
	if stdout != "["+strings.Join(ws.lists["/api/v1/pages/acme/incidents"], ",")+"]\n" || stderr != "" {
		t.Errorf("the JSON of a list: %s%s", stdout, stderr)
	}
	var many []string
	for i := range 250 {
		many = append(many,
			fmt.Sprintf(`{ "id": "%08x-0000-7000-8000-000000000000","title":"<é\u00e9>" , "n": 1.0 }`, i))
	}
	ws.lists["/api/v1/pages/acme/incidents"] = many
	_, stdout, stderr = against(t, ws.ServeHTTP, "incident", "list", "--json")
	if stdout != "["+strings.Join(many, ",")+"]\n" || stderr != "" {
		t.Errorf("the JSON of a long list: %s%s", stdout, stderr)
	}
	_, stdout, stderr = against(t, ws.ServeHTTP, "incident", "list", "--json", "--limit=2")
	if stdout != "["+strings.Join(many[:2], ",")+"]\n" || stderr != "… and 248 more (--limit).\n" {
		t.Errorf("the JSON of a limited list: %s%s", stdout, stderr)
	}
	const object = `{"id":"x","title":"<é\u00e9>" , "n": 1.0 }`
	_, stdout, _ = against(t, answer(200, "", "", `{"data": `+object+`}`), "incident", "show", oldIncident, "--json")
	if stdout != object+"\n" {
		t.Errorf("the JSON of an incident: %s", stdout)
	}
	const indented = "{\n  \"id\": \"x\",\n  \"title\": \"<é\\u00e9>\",\n  \"n\": 1.0\n}\n"
	_, stdout, _ = onTerminal(t, answer(200, "", "", `{"data": `+object+`}`), 80, "", "incident", "show", oldIncident,
		"--json")
	if stdout != indented {
		t.Errorf("the JSON of an incident on a terminal: %s", stdout)
	}
}

// TestTimesInTheZoneOfThePage checks that times without an offset are in the page's zone, and that the answer says so.
func TestTimesInTheZoneOfThePage(t *testing.T) {
	for args, want := range map[string]string{
		"--at=2026-11-24 22:00|--for=2h": `"scheduled_for":"2026-11-24T21:00:00.000Z",` +
			`"scheduled_until":"2026-11-24T23:00:00.000Z"`,
		"--at=2026-07-24T22:00|--until=2026-07-25 01:30": `"scheduled_for":"2026-07-24T20:00:00.000Z",` +
			`"scheduled_until":"2026-07-24T23:30:00.000Z"`,
	} {
		ws := newWorkspace("acme")
		var sent string
		status, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				sent = canonical(body)
				io.WriteString(w, `{"data":{"id":"mnt_1",`+want+`}}`)
				return
			}
			ws.ServeHTTP(w, r)
		}, expand("maintenance create|--title=x|"+args)...)
		if status != console.ExitDone || !strings.Contains(sent, want) || !strings.Contains(stdout, " 22:00:00 +0") ||
			!strings.Contains(stdout, " (the page's time zone is Europe/Berlin)\n") {
			t.Errorf("%s: status %d, %s, %s%s", args, status, sent, stdout, stderr)
		}
	}
	ws := newWorkspace("acme")
	status, _, stderr := against(t, ws.ServeHTTP, "maintenance", "create", "--title=x", "--for=1h",
		"--at=2026-03-29 02:30")
	if status != console.ExitUsage || !strings.Contains(stderr, "does not exist in the time zone Europe/Berlin") {
		t.Errorf("status %d, %s", status, stderr)
	}
}
