package page

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi/statuspagetest"
	"github.com/allswell/allswell/test/nodeclient"
)

// statuspageClient makes every call of the client, and writes the result of each:
// the data, or the HTTP status of the error.
const statuspageClient = nodeclient.ReadStdin + `
const { Statuspage } = require("statuspage.io");
async function main({ address, host }) {
  const client = new Statuspage("page");
  client.setApiUrl(address);
  if (host) client.apiClient.defaults.headers.common.Host = host;
  const { api } = client;
  const calls = {
    components: () => api.getComponents(),
    status: () => api.getStatus(),
    summary: () => api.getSummary(),
    incidents: () => api.incidents.getAll(),
    unresolved: () => api.incidents.getUnresolved(),
    planned: () => api.scheduledMaintenances.getAll(),
    upcoming: () => api.scheduledMaintenances.getUpcoming(),
    active: () => api.scheduledMaintenances.getActive(),
    subscribePage: () => api.subscribers.createPageSubscription({ email: "a@example.com" }),
    subscribeComponent: () => api.subscribers.createComponentSubscription({ email: "a@example.com", component_id: "x" }),
    subscribeIncident: () => api.subscribers.createIncidentSubscription({ email: "a@example.com", incident_id: "x" }),
    subscription: () => api.subscribers.getSubscription("x"),
    unsubscribe: () => api.subscribers.removeSubscription("x"),
  };
  const results = {};
  for (const [name, call] of Object.entries(calls)) {
    try {
      results[name] = await call();
    } catch (e) {
      results[name] = e.response ? { error: e.response.status, message: e.response.data.message } : { failed: String(e) };
    }
  }
  console.log(JSON.stringify(results));
}
`

// TestStatuspageInJavaScript reads a page with a third-party client for Statuspage,
// statuspage.io from npm; see nodeClient.
func TestStatuspageInJavaScript(t *testing.T) {
	run(t, func(w *fixture) {
		statuspageFixture(w)
		server := httptest.NewUnstartedServer(nil)
		base := "http://" + server.Listener.Addr().String()
		w.site = New(Config{Store: w.store, Now: w.clock.now, BaseURL: base})
		server.Config.Handler = w.site.Handler()
		server.Start()
		defer server.Close()
		askStatuspage(w, base+"/status/acme", "")
		domain := "status.acme.example"
		p, err := w.store.ChangePage(w.t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.Domain = domain
			return nil
		})
		must(w, p, err)
		askStatuspage(w, base, domain)
	})
}

// askStatuspage reads the page with the client, at an address and optionally with a
// host name, and compares the result with the page.
func askStatuspage(w *fixture, address, host string) {
	t := w.t
	t.Helper()
	var results map[string]json.RawMessage
	nodeclient.Run(t, "statuspage.io", statuspageClient, map[string]string{"address": address, "host": host}, &results)
	home := address
	if host != "" {
		home = "https://" + host
	}
	// What the client's getAll and getActive ask for is upcoming.json as well.
	for call, path := range map[string]string{
		"components": "components.json", "status": "status.json", "summary": "summary.json",
		"incidents":  "incidents.json",
		"unresolved": "incidents/unresolved.json", "planned": "scheduled-maintenances/upcoming.json",
		"upcoming": "scheduled-maintenances/upcoming.json", "active": "scheduled-maintenances/upcoming.json",
	} {
		for _, fault := range statuspagetest.Faults(path, results[call]) {
			t.Error(fault)
		}
		var page struct {
			Page struct {
				Name, URL string
				TimeZone  string `json:"time_zone"`
			}
		}
		if err := json.Unmarshal(results[call], &page); err != nil {
			t.Fatal(err)
		}
		if page.Page.Name != "Acme" || page.Page.URL != home || page.Page.TimeZone != "UTC" {
			t.Errorf("%s: %+v, want it at %s", call, page, home)
		}
		if sent := askPlain(t, address+"/api/v2/"+path, host); !sameJSON(t, sent, results[call]) {
			t.Errorf("%s: the client has %s, sent was %s", call, results[call], sent)
		}
	}
	checkStatuspageFixture(t, results["summary"])
	for call, status := range map[string]int{
		"subscribePage": 404, "subscribeComponent": 404, "subscribeIncident": 404, "subscription": 404,
		"unsubscribe": 405,
	} {
		var got struct {
			Error   int
			Message string
		}
		if err := json.Unmarshal(results[call], &got); err != nil || got.Error != status || got.Message == "" {
			t.Errorf("%s: %s, want %d", call, results[call], status)
		}
	}
}

// checkStatuspageFixture compares a summary with what statuspageFixture created.
func checkStatuspageFixture(t *testing.T, summary []byte) {
	t.Helper()
	type named struct{ Name, Status, Description string }
	type affected struct {
		Name string
		Old  string `json:"old_status"`
		New  string `json:"new_status"`
	}
	type item struct {
		Name, Status, Impact string
		Components           []named
		Updates              []struct {
			Body, Status string
			Affected     []affected `json:"affected_components"`
		} `json:"incident_updates"`
	}
	var got struct {
		Status       struct{ Indicator, Description string }
		Components   []named
		Incidents    []item
		Maintenances []item `json:"scheduled_maintenances"`
	}
	if err := json.Unmarshal(summary, &got); err != nil {
		t.Fatal(err)
	}
	want := got
	want.Status.Indicator, want.Status.Description = "major", "Partial system outage"
	north, south := named{"North", "partial_outage", "Up there"}, named{"South", "under_maintenance", ""}
	want.Components = []named{{"Regions", "partial_outage", ""}, north, south}
	slow := item{Name: "Slow <b>", Status: "monitoring", Impact: "minor", Components: []named{north}}
	slow.Updates = append(slow.Updates, struct {
		Body, Status string
		Affected     []affected `json:"affected_components"`
	}{"It is *slow*.\nStill.", "monitoring", []affected{{"North", "operational", "partial_outage"}}})
	want.Incidents = []item{slow}
	if len(got.Maintenances) != 2 {
		t.Fatalf("the maintenances: %s", summary)
	}
	for i, m := range []struct{ name, status string }{{"Now", "in_progress"}, {"Later", "scheduled"}} {
		g := got.Maintenances[i]
		if g.Name != m.name || g.Status != m.status || g.Impact != "maintenance" ||
			len(g.Components) != 1 || g.Components[0] != south {
			t.Errorf("the maintenance: %+v, want %s", g, m.name)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func askPlain(t *testing.T, address, host string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}
