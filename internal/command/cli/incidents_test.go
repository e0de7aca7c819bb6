package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestDerivedImpact checks that a derived impact is printed, and a given one is not.
func TestDerivedImpact(t *testing.T) {
	const opened = "The incident is i\n"
	const shown = "It is shown at URL/status/p/incidents/i\n"
	for args, want := range map[string]string{
		"--component=comp_1=degraded": opened +
			"Its impact is minor, by the worst status given (--impact chooses another).\n" + shown,
		"--component=comp_1=degraded|--impact=major": opened + shown,
		"--message=x": opened + shown,
		"--component=comp_1|--impact=major": opened +
			"The component comp_1 is partial_outage while it lasts (--component NAME=STATUS chooses another " +
			"status).\n" +
			shown,
		"--component=comp_1": opened + "Its impact is minor, by the worst status given (--impact chooses another).\n" +
			"The component comp_1 is degraded while it lasts (--component NAME=STATUS chooses another status).\n" +
			shown,
	} {
		_, stdout, stderr := against(t, answer(201, "", "", `{"data": {"id": "i", "impact": "minor"}}`),
			expand("incident open|--page=p|--title=x|"+args)...)
		if stdout != want || stderr != "" {
			t.Errorf("%s: %s\ngot\n%swant\n%s", args, stderr, stdout, want)
		}
	}
}

// TestOpenWithoutComponents checks that the command names the components that could be meant.
func TestOpenWithoutComponents(t *testing.T) {
	const before = "The incident is i\nIt is shown at URL/status/p/incidents/i\n" +
		"It affects no component, so their statuses stay as they are. To name those that it affects:\n" +
		"  allswell incident components i --page p --component NAME=STATUS\nNAME may be "
	for args, want := range map[string]string{
		"--title=The checkout fails":            before + "Checkout.\n",
		"--title=Slow|--message=Checkout, api.": before + "Checkout, API v2.\n",
		"--title=Trouble":                       before + "Checkout, API v2, Website.\n",
		"--title=Trouble|--json":                "{\"id\": \"i\"}\n",
	} {
		_, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/components") {
				io.WriteString(w,
					`{"data": [{"name": "Checkout"}, {"name": "API v2"}, {"name": "Website"}], "meta": {"total": 3}}`)
				return
			}
			io.WriteString(w, `{"data": {"id": "i"}}`)
		}, expand("incident open|--page=p|"+args)...)
		if stdout != want || stderr != "" {
			t.Errorf("%s: %s\ngot\n%swant\n%s", args, stderr, stdout, want)
		}
	}
}

// TestPublishFindsDrafts checks that incident publish looks for the incident among the drafts.
func TestPublishFindsDrafts(t *testing.T) {
	const draft = "01990000-0000-7000-8000-00000000000d"
	for args, want := range map[string]string{
		"incident publish|latest":    "POST /api/v1/incidents/" + draft + "/publish",
		"incident publish|Disk full": "POST /api/v1/incidents/" + draft + "/publish",
		"incident publish|01990000":  "POST /api/v1/incidents/" + draft + "/publish",
	} {
		sent := ""
		_, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method != http.MethodGet:
				sent = r.Method + " " + r.URL.Path
				io.WriteString(w, `{"data": {"id": "i"}}`)
			case r.FormValue("draft") == "true":
				io.WriteString(w, `{"data": [{"id": "`+draft+`", "title": "Disk full"}], "meta": {"total": 1}}`)
			default:
				io.WriteString(w, `{"data": [{"id": "`+newIncident+`", "title": "Slow"}], "meta": {"total": 1}}`)
			}
		}, expand(strings.Replace(args, "|", "|--page=acme|", 1))...)
		if sent != want {
			t.Errorf("%s: %q, want %q; %s", args, sent, want, stderr)
		}
	}
}

// TestMonitorStillDown checks the warning that resolving an incident does not end the outage of its monitor.
func TestMonitorStillDown(t *testing.T) {
	const resolved = "The incident \"db is down\" is resolved.\n"
	for _, c := range []struct{ args, components, monitors, want string }{
		{"incident resolve|01990000-0000-7000-8000-000000000001", `{"id": "comp_1", "name": "API"}`,
			`{"id": "mon_1", "name": "job", "state": "down", "enabled": true, "component_id": "comp_1"}, {"id": ` +
				`"mon_2", "name": "other", "state": "down", "enabled": true, "component_id": "comp_2"}`,
			resolved + "The monitor job is still down: the component API keeps its status until a ping arrives.\n"},
		{"incident resolve|01990000-0000-7000-8000-000000000001", `{"id": "comp_1", "name": "API"}`,
			`{"id": "mon_1", "name": "job", "state": "down", "enabled": true, "component_id": "comp_1", ` +
				`"incident_id": "01990000-0000-7000-8000-000000000001"}`,
			resolved + "The monitor job is still down: the component API keeps its status until a ping arrives.\n"},
		{"incident set|01990000-0000-7000-8000-000000000001|--state=resolved", ``,
			`{"id": "mon_1", "name": "db", "state": "down", "enabled": true, "incident_id": ` +
				`"01990000-0000-7000-8000-000000000001"}, {"name": "db", "state": "down", "enabled": true}`,
			resolved + "The monitor db is still down, until a ping arrives.\n"},
		{"incident resolve|01990000-0000-7000-8000-000000000001", `{"id": "comp_1", "name": "API"}`,
			`{"name": "db", "state": "up", "enabled": true, "component_id": "comp_1"}`, resolved},
		{"incident set|01990000-0000-7000-8000-000000000001|--title=x", `{"id": "comp_1", "name": "API"}`,
			`{"name": "db", "state": "down", "enabled": true, "component_id": "comp_1"}`, resolved},
	} {
		_, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.Method + " " + r.URL.Path {
			case "GET /api/v1/incidents/01990000-0000-7000-8000-000000000001/components":
				io.WriteString(w, `{"data": [`+c.components+`]}`)
			case "GET /api/v1/monitors":
				answerMonitors(w, r, `[`+c.monitors+`]`)
			default:
				io.WriteString(w, `{"data": {"id": "i", "title": "db is down", "state": "resolved", "resolved": true}}`)
			}
		}, expand(c.args)...)
		if stdout != c.want || stderr != "" {
			t.Errorf("%s: %s\ngot\n%swant\n%s", c.args, stderr, stdout, c.want)
		}
	}
}
