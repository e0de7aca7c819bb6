package browser

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// furnished is an installation with something on every screen.
type furnished struct {
	base  string            // an address of the host localhost, for which browsers make passkeys
	ids   map[string]string // by the names of the wildcards of the routes
	links []string          // screens for people who are not signed in, with their codes
	owner *browser          // is signed in
}

// pattern is an installation that was furnished and stopped. Furnishing takes two seconds of processor time, a copy a
// tenth.
var pattern struct {
	once   sync.Once
	f      *furnished // nil: furnishing has failed
	data   string     // the folder of its database
	cookie string     // of the owner's session
}

// furnish starts a server on a copy of the pattern, and returns it with a browser that is signed in.
func furnish(t *testing.T) *furnished {
	t.Helper()
	pattern.once.Do(func() { makePattern(t) })
	if pattern.f == nil {
		t.Fatal("there is nothing to copy: furnishing has failed in another test")
	}
	data := storetest.TempDir(t)
	if err := os.CopyFS(data, os.DirFS(pattern.data)); err != nil {
		t.Fatal(err)
	}
	server, base := furnishedServer(t, "sqlite:"+filepath.Join(data, "allswell.db"))
	f := &furnished{base: base, ids: pattern.f.ids, owner: newBrowser(t)}
	for _, link := range pattern.f.links {
		f.links = append(f.links, strings.Replace(link, pattern.f.base, base, 1))
	}
	server.Start()
	name, value, _ := strings.Cut(pattern.cookie, "=")
	_, err := f.owner.call("", "Storage.setCookies", params{"browserContextId": f.owner.context,
		"cookies": []params{{"name": name, "value": value, "url": base, "httpOnly": true}}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// furnishedServer prepares a server with the settings that furnishing needs.
func furnishedServer(t *testing.T, database string) (server *binary.Server, base string) {
	t.Helper()
	server = binary.NewServer(t, program(t), "ALLSWELL_DATABASE="+database,
		"ALLSWELL_BOOTSTRAP_TOKEN="+token, "ALLSWELL_CHECK_INTERVAL=1s", "ALLSWELL_FAILURE_THRESHOLD=1",
		"ALLSWELL_SMTP_URL=smtp://127.0.0.1:1", "ALLSWELL_MAIL_FROM=status@example.com") // nobody is there
	base = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	server.Setenv("ALLSWELL_BASE_URL", base)
	return server, base
}

// makePattern starts a server, signs a browser in, and creates something for each screen, with names that would run as
// scripts if they were not escaped.
func makePattern(t *testing.T) {
	t.Helper()
	database := storetest.SQLite(t)
	server, base := furnishedServer(t, database)
	server.Start()
	f := &furnished{base: base, owner: newBrowser(t)}
	p := f.owner.open(t, phone, linkIn(t, server, "setup-link", "--base-url", base))
	p.fillIn("Your first page", "name", "Ada Lovelace", "email", "ada@example.com", "password", goodPassword)
	p.fillIn("Components", "name", "Acme")
	p.fillIn("Your first monitor", "components", "Website\nAPI\nBackups")
	f.fill(t, binary.NewClient(server.URL, token))
	f.links = append(f.links, linkIn(t, server, "user", "reset", "ada@example.com", "--base-url", base))
	var kept struct {
		Cookies []struct{ Name, Value string }
	}
	p.do("Network.getCookies", nil, &kept)
	for _, c := range kept.Cookies { // another one marks the browser as one that has signed in before
		if c.Name == "allswell" {
			pattern.cookie = c.Name + "=" + c.Value
		}
	}
	if len(kept.Cookies) != 2 || pattern.cookie == "" {
		t.Fatalf("signing in leaves the cookies %+v", kept.Cookies)
	}
	p.load(t, "about:blank") // whose stream would keep the server waiting
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	dir, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	pattern.data = filepath.Join(dir, "furnished")
	if err := os.CopyFS(pattern.data, os.DirFS(filepath.Dir(strings.TrimPrefix(database, "sqlite:")))); err != nil {
		t.Fatal(err)
	}
	pattern.f = f
}

// linkIn returns the link that a command prints.
func linkIn(t *testing.T, server *binary.Server, command ...string) string {
	t.Helper()
	out, err := server.Command(command...)
	for _, word := range strings.Fields(out) {
		if err == nil && strings.HasPrefix(word, "http") {
			return word
		}
	}
	t.Fatalf("%s: %v: %s", command, err, out)
	return ""
}

type created struct {
	ID      string
	PingURL string `json:"ping_url"`
	URL     string // of an invitation
}

// fill creates what the screens show.
func (f *furnished) fill(t *testing.T, c *binary.Client) {
	t.Helper()
	create := func(path string, body params) created {
		var got binary.Data[created]
		c.Must(t, "POST", "/api/v1"+path, body, &got)
		return got.Data
	}
	for _, name := range []string{markup, longWord, "مرحبا 🦊 “quoted” '&amp;"} {
		create("/pages/acme/components", params{"name": name})
		create("/tokens", params{"name": name, "scope": "read", "pages": []string{"acme"}})
		create("/pages/acme/incidents", params{"title": name, "impact": "minor", "message": name, "draft": true})
		create("/monitors", params{
			"name": name, "interval": 60, "page": "acme", "tags": []string{"nightly", "a-tag-with-a-long-name"},
		})
		create("/pages/acme/announcements", params{"title": name, "message": name})
	}
	create("/pages", params{"name": "Nothing yet", "slug": "empty", "visibility": "private"})
	shop := create("/pages/acme/groups", params{"name": "Shop"})
	checkout := create("/pages/acme/components", params{
		"name": "Checkout", "description": "Cards and invoices", "group": shop.ID,
	})
	worker := create("/pages/acme/components", params{"name": "Orders"})
	incident := create("/pages/acme/incidents", params{"title": "Cards are refused", "impact": "critical",
		"message":    "We are looking.\n\n- one\n- two",
		"components": []params{{"id": checkout.ID, "status": "major_outage"}}})
	update := create("/incidents/"+incident.ID+"/updates", params{"message": "We are on it.\n\n" + longWord})
	create("/pages/acme/incidents", params{"title": "Slow search", "state": "resolved", "message": "It was nothing."})
	maintenance := create("/pages/acme/maintenances", params{
		"title": "Database upgrade", "message": "**An hour** without orders.",
		"scheduled_for": fromNow(-time.Minute), "scheduled_until": fromNow(26 * time.Hour),
		"components": []string{checkout.ID},
	})
	create("/pages/acme/maintenances", params{
		"title": "New disks " + longWord, "scheduled_for": fromNow(48 * time.Hour),
		"scheduled_until": fromNow(49 * time.Hour),
	})
	announcement := create("/pages/acme/announcements", params{
		"title": "Shop holiday", "level": "warning", "shown_until": fromNow(time.Hour),
	})
	template := create("/incident-templates", params{
		"name": "Cards", "title": "Cards are refused", "message": "We are looking at {components}.",
	})
	subscriber := create("/pages/acme/subscribers", params{
		"channel": "email", "target": "name@example.com", "confirmed": true,
	})
	create("/pages/acme/subscribers", params{"channel": "email", "target": "waits@example.com", "confirmed": false})
	create("/pages/acme/subscribers/"+subscriber.ID+"/test", nil)
	f.links = append(f.links,
		create("/invitations", params{"email": "grace@example.com", "role": "editor", "pages": []string{"acme"}}).URL)
	schedule, silence := f.fillAlerts(create)
	c.Must(t, "PATCH", "/api/v1/pages/acme/ping-key", params{"access": "read_write"}, nil)
	mobile, rule := withRules(create)
	f.ids = map[string]string{
		"channel": mobile, "rule": rule, "page": "acme", "component": checkout.ID, "group": shop.ID,
		"incident": incident.ID, "update": update.ID,
		"template": template.ID, "maintenance": maintenance.ID, "announcement": announcement.ID,
		"monitor": pinged(t, c, worker.ID), "checked": checked(t, c, checkout.ID), "alert": alerted(t, c),
		"silence": silence.ID, "subscriber": subscriber.ID, "schedule": schedule.ID,
	}
}

// fillAlerts creates channels, rules, schedules and silences.
func (f *furnished) fillAlerts(create func(string, params) created) (schedule, silence created) {
	channel := create("/channels", params{"type": "webhook", "name": "Phone " + longWord, "url": "http://127.0.0.1:1/"})
	create("/alert-rules", params{"name": "Everything " + markup, "channel_ids": []string{channel.ID}, "repeat": 3600})
	create("/alert-rules", params{
		"name": "The boss", "channel_ids": []string{channel.ID}, "delay": 3600,
		"escalation": []params{{"after": 600, "channel_ids": []string{channel.ID}}},
	})
	schedule = create("/on-call", params{
		"name": "Operations " + longWord, "zone": "Europe/Berlin",
		"participants": []params{
			{"name": "Ann", "channel_ids": []string{channel.ID}},
			{"name": markup, "channel_ids": []string{channel.ID}},
		},
		"overrides": []params{
			{"participant": "Ann", "starts_at": fromNow(30 * time.Hour), "ends_at": fromNow(50 * time.Hour)},
		},
	})
	create("/on-call", params{"name": "Nobody"})
	silence = create("/silences", params{
		"tags": []string{"nothing"}, "comment": markup + longWord, "ends_at": fromNow(time.Hour),
	})
	return schedule, silence
}

// alerted returns the ID of an alert that a channel does not accept.
func alerted(t *testing.T, c *binary.Client) string {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(browserTimeout); time.Now().Before(deadline); <-tick.C {
		var alerts binary.Data[[]created]
		for c.Must(t, "GET", "/api/v1/alerts", nil, &alerts); len(alerts.Data) > 0; alerts.Data = alerts.Data[1:] {
			var alert binary.Data[struct {
				Notices []struct{ Reason *string }
			}]
			c.Must(t, "GET", "/api/v1/alerts/"+alerts.Data[0].ID, nil, &alert)
			if len(alert.Data.Notices) > 0 && alert.Data.Notices[0].Reason != nil {
				return alerts.Data[0].ID
			}
		}
	}
	t.Fatal("no one is notified")
	return ""
}

// withRules creates channels and rules, and returns the ids of one of each.
func withRules(create func(path string, body params) created) (channel, rule string) {
	channel = create("/channels", params{
		"type": "ntfy", "name": "Mobile " + longWord, "topic": "acme", "server_url": "http://127.0.0.1:1",
		"access_token": "secret",
	}).ID
	hook := create("/channels", params{
		"type": "webhook", "name": markup, "url": "http://127.0.0.1:1/" + longWord, "fallback_id": channel,
		"test_weekly": true,
	}).ID
	create("/channels", params{"type": "email", "name": "Spare", "to": "ops@example.com", "enabled": false})
	create("/alert-rules", params{"name": markup, "channel_ids": []string{hook, channel}, "repeat": 3600})
	rule = create("/alert-rules", params{
		"name": "Night", "channel_ids": []string{hook}, "tags": []string{"nightly"}, "delay": 60,
		"escalation":  []params{{"after": 300, "channel_ids": []string{channel}}},
		"quiet_hours": params{"zone": "Europe/Berlin", "from": "22:00", "until": "07:00"},
	}).ID
	return channel, rule
}

// checked creates a monitor with a secret, whose check has failed, and returns its ID.
func checked(t *testing.T, c *binary.Client, component string) string {
	t.Helper()
	var made binary.Data[created]
	c.Must(t, "POST", "/api/v1/monitors",
		params{
			"name": "Web shop", "type": "http", "url": "http://127.0.0.1:1/" + longWord, "username": "me",
			"password":     "secret",
			"confirm_from": 2, "interval": 10, "page": "acme", "component_id": component,
		}, &made)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(browserTimeout); time.Now().Before(deadline); <-tick.C {
		var results binary.Data[[]struct{}]
		if c.Must(t, "GET", "/api/v1/monitors/"+made.Data.ID+"/results", nil, &results); len(results.Data) > 0 {
			return made.Data.ID
		}
	}
	t.Fatal("the target is not checked")
	return ""
}

// pinged creates a monitor that has two gaps between its pings, signals and warnings, and is down, and returns its ID.
func pinged(t *testing.T, c *binary.Client, component string) string {
	t.Helper()
	var made binary.Data[created]
	c.Must(t, "POST", "/api/v1/monitors",
		params{
			"name": "Order worker", "interval": 1, "page": "acme", "component_id": component, "min_runtime": 3600,
			"max_per_interval": 1, "no_overlap": true,
		},
		&made)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(browserTimeout); time.Now().Before(deadline); <-tick.C {
		var is binary.Data[struct {
			State string
			Gaps  []struct{} `json:"ping_gaps"`
		}]
		c.Must(t, "GET", "/api/v1/monitors/"+made.Data.ID+"/explain", nil, &is)
		switch {
		case is.Data.State == "down" && len(is.Data.Gaps) == 2:
			report(t, made.Data.PingURL+"/log", markup+"\n"+longWord)
			report(t, made.Data.PingURL+"/start?rid=0198d2a4-8f5e-7cc3-9d2b-1c5f6a7b8c9d", "")
			report(t, made.Data.PingURL+"/start", "")
			report(t, made.Data.PingURL+"/success", "")
			report(t, made.Data.PingURL+"/3?rid=0198d2a4-8f5e-7cc3-9d2b-1c5f6a7b8c9d", "no space left on device")
			return made.Data.ID
		// the first ping, and one that ends an outage, is kept immediately
		case is.Data.State == "down", is.Data.State == "waiting":
			report(t, made.Data.PingURL, "")
		}
	}
	t.Fatal("the monitor does not go down")
	return ""
}

// report sends a ping or a signal.
func report(t *testing.T, url, body string) {
	t.Helper()
	response, err := http.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s is answered %s", url, response.Status)
	}
}

func fromNow(d time.Duration) string { return kernel.FormatTime(time.Now().Add(d)) }
