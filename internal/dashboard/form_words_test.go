package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/htmltest"
)

// TestErrorsOfFormsHaveWords has the errors of the API said in forms.
func TestErrorsOfFormsHaveWords(t *testing.T) {
	for _, c := range []struct{ name, label, said, want string }{
		{"max_per_minute", "Messages in a minute, at most", "The max_per_minute must be from 1 to 60.", "The number of messages in a minute must be from 1 to 60."},
		{"down_days", "Down at", "The down_days may not be more than the warn_days.", "The number of days at which it fails may not be more than the number of days from which it warns."},
		{"channel_ids", "Notify", "A rule must have channel_ids or on_call_ids.", "Choose who is notified."},
		{"repeat", "Notify everybody again every", "The repeat must be a duration.", "This must be a duration."},
		{"name", "Name of the page", "The name field is required.", "The name field is required."},
		{"to", "To", "The to must be an e-mail address.", "This must be an e-mail address."},
		{"scheduled_until", "End", "The scheduled_until must be at least a minute after scheduled_for.", "The end must be at least a minute after the start."},
		{"body", "Body", "The body or the url must have {text}.", "The body or the URL must have {text}."},
		{"json_value", "JSON value", "The json_value needs a json_path.", "“JSON value” needs “JSON path”."},
		{"json_path", "JSON path", "The json_path field is required.", "The “JSON path” field is required."},
		{"body_matches", "Body matches", "The body_matches must be a regular expression.", "“Body matches” must be a regular expression."},
		{"auto_incidents", "An outage opens an incident that", "The auto_incidents must be one of: publish, draft, off.", "The incident mode must be one of: publish, draft, off."},
		{"id", "", `The rule "url" uses it.`, `The rule "url" uses it.`},
		{"id", "", `The rule "say \"the url\"" uses the url.`, `The rule "say \"the url\"" uses the URL.`},
		{"overrides", "", `"The username" has an override until 2026-11-21 10:00 +01:00; delete it first.`, `"The username" has an override until 2026-11-21 10:00 +01:00; delete it first.`},
		{"name", "", "The name must not be url, because URLs reserve this word.", "The name must not be url, because URLs reserve this word."},
		{"text_template", "Text", `The text_template is not valid: line 1: function "url" not defined.`, `The text is not valid: line 1: function "url" not defined.`},
		{"quiet_hours", "", "The quiet_hours must have two different times of day.", "The quiet hours must have two different times of day."},
	} {
		if got := formMessages(c.name, c.label, []string{c.said})[0]; got != c.want {
			t.Errorf("%s: %q, want %q", c.said, got, c.want)
		}
	}
}

// keyOfAPI is a word that is a name in the API, and not one of people's.
var keyOfAPI = regexp.MustCompile(`\b[a-z0-9]+(_[a-z0-9]+)+\b`)

// TestFormsHaveWords sends every form with texts that are refused: no label, hint, choice or error has a name of the API.
func TestFormsHaveWords(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		sent := make(map[string]bool)
		for _, path := range v.formPaths() {
			page := v.get(path)
			if page.StatusCode != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") || !strings.Contains(page.body, "<main") {
				if !strings.Contains(path, "/export") && !slices.Contains(notForms, path) {
					v.Errorf("%s: %d", path, page.StatusCode)
				}
				continue
			}
			if path != "/admin/audit" { // has values as they are in the API
				v.checkWords(path, page)
			}
			for _, form := range htmltest.Parse(t, page.body).All("main form") {
				to := form.Attr("action")
				if to == "" {
					to = path
				}
				if form.Attr("method") != "post" || sent[to] || len(texts(form)) == 0 || len(form.All("[type=password]"))+len(form.All("[type=file]")) > 0 {
					continue
				}
				sent[to] = true
				for _, junk := range []string{"", "-1", "99999999999", strings.Repeat("x", 3000), "http://[", "a\x01b"} {
					if a := v.post(to, filled(form, junk)...); a.StatusCode == http.StatusUnprocessableEntity {
						v.checkWords(to, a)
					}
				}
			}
		}
		if want := 20 + len(check.Types) + len(alertchannel.Types); len(sent) < want {
			t.Errorf("only %d forms were sent, want %d", len(sent), want)
		}
	})
}

// formPaths creates something of each kind, and returns the paths of all screens with forms.
func (v *visitor) formPaths() (all []string) {
	v.Helper()
	ids := map[string]string{"page": "acme"}
	ok := func(err error) {
		if v.Helper(); err != nil {
			v.Fatal(err)
		}
	}
	ctx, actor := v.Context(), v.actor()
	_, err := v.store.CreatePage(ctx, actor, allswell.NewPage{Name: "Acme", Slug: "acme"})
	ok(err)
	component, err := v.store.CreateComponent(ctx, actor, "acme", allswell.NewComponent{Name: "API"})
	ok(err)
	group, err := v.store.CreateGroup(ctx, actor, "acme", allswell.NewGroup{Name: "Shop"})
	ok(err)
	monitor, err := v.store.CreateMonitor(ctx, actor, allswell.NewMonitor{Name: "Backup", Interval: time.Hour})
	ok(err)
	subscriber, err := v.store.CreateSubscriber(ctx, actor, "acme", allswell.NewSubscriber{Channel: allswell.ChannelWebhook, Target: "https://hooks.example.com/status"})
	ok(err)
	channel := v.phone("Phone", true)
	rule, err := v.store.CreateAlertRule(ctx, actor, alert.Rule{Name: "All", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents}, Target: alert.Target{ChannelIDs: []string{channel}}})
	ok(err)
	schedule, err := v.store.CreateOnCall(ctx, actor, alert.OnCall{Name: "Ops", Zone: "UTC", HandOverDay: "mon", Participants: []alert.Participant{{Name: "Ann", ChannelIDs: []string{channel}}}})
	ok(err)
	incident, err := v.store.CreateIncident(ctx, actor, "acme", allswell.NewIncident{Title: "Cards", State: allswell.IncidentInvestigating, Impact: allswell.ImpactMinor, Message: new("We are looking.")})
	ok(err)
	now := time.Now()
	maintenance, err := v.store.CreateMaintenance(ctx, actor, "acme", allswell.NewMaintenance{Title: "Disks", ScheduledFor: now.Add(time.Hour), ScheduledUntil: now.Add(2 * time.Hour)})
	ok(err)
	ids["component"], ids["group"], ids["monitor"], ids["subscriber"], ids["channel"], ids["rule"] = component.ID, group.ID, monitor.ID, subscriber.ID, channel, rule.ID
	ids["schedule"], ids["incident"], ids["maintenance"] = schedule.ID, incident.ID, maintenance.ID
	for _, r := range v.dashboard.routes() {
		path, ok := strings.CutPrefix(r.pattern, "GET ")
		for name, id := range ids {
			path = strings.ReplaceAll(path, "{"+name+"}", id)
		}
		if ok && r.access != accessAnyone && r.access != accessSigned && !strings.Contains(path, "{") && path != "/admin/live" {
			all = append(all, path)
		}
	}
	for _, t := range check.Types {
		all = append(all, fmt.Sprint("/admin/monitors/new?type=", t.Name))
	}
	for _, t := range alertchannel.Types {
		all = append(all, fmt.Sprint("/admin/channels/new?type=", t.Name))
	}
	return append(all, "/admin/setup/acme/monitor?type=http", "/admin/incidents/new?page=acme", "/admin/maintenances/new?page=acme", "/admin/monitors/pause?monitor="+monitor.ID)
}

// notForms are the paths that need a query, or answer with no screen.
var notForms = []string{"/admin/setup/page", "/admin/visit/acme", "/admin/monitors/pause", "/admin/monitors/delete", "/admin/pages/acme/preview"}

// texts returns the fields of a form in which text is typed.
func texts(form htmltest.Tree) (all []htmltest.Tree) {
	all = form.All("textarea")
	for _, x := range form.All("input") {
		if !slices.Contains([]string{"hidden", "checkbox", "radio", "submit"}, x.Attr("type")) {
			all = append(all, x)
		}
	}
	return all
}

// filled returns the fields of a form with a text typed into each.
func filled(form htmltest.Tree, text string) (fields []string) {
	for _, x := range texts(form) {
		fields = append(fields, x.Attr("name"), text)
	}
	for _, x := range form.All("[type=hidden]") {
		fields = append(fields, x.Attr("name"), x.Attr("value"))
	}
	for _, x := range form.All("select") {
		if options := x.All("option"); len(options) > 0 {
			fields = append(fields, x.Attr("name"), options[len(options)-1].Attr("value"))
		}
	}
	return fields
}

// checkWords checks the texts of a screen.
func (v *visitor) checkWords(path string, a answer) {
	v.Helper()
	page := htmltest.Parse(v, a.body)
	for n := range page.All("main")[0].Descendants() {
		if n.Type == html.TextNode && !slices.Contains([]string{"pre", "code", "textarea", "script"}, n.Parent.Data) && keyOfAPI.MatchString(n.Data) {
			v.Errorf("%s says %q", path, n.Data)
		}
	}
	for _, f := range page.All("main .field") {
		for _, x := range append(f.All("input"), f.All("textarea")...) {
			label := strings.Join(f.Texts("label"), " ")
			for _, wrong := range f.Texts(".wrong") {
				if key := x.Attr("name"); strings.HasPrefix(wrong, "The "+key+" ") && !strings.Contains(strings.ToLower(label), key) {
					v.Errorf("%s says of %q: %s", path, label, wrong)
				}
			}
		}
	}
}
