package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"golang.org/x/net/html"
)

// TestErrorsOfFormsHaveWords says problems of fields of the API as forms do: beside a field with a label, and alone.
func TestErrorsOfFormsHaveWords(t *testing.T) {
	t.Parallel()
	name := func(key string) kernel.Name { return kernel.Name(key) }
	for _, c := range []struct {
		field, label, code string
		args               []any
		beside, alone      string
	}{
		{"name", "Name of the page", kernel.Required, nil, "This field is required.",
			"The “Name of the page” field is required."},
		{"max_per_minute", "Messages in a minute, at most", "must be from 1 to %d", []any{60},
			"This must be from 1 to 60.", "“Messages in a minute, at most” must be from 1 to 60."},
		{"shown_until", "Shown until", "must be after the %s", []any{name("shown_from")},
			"This must be after “Shown from”.", "“Shown until” must be after “Shown from”."},
		{"down_days", "Fails at", "may not be more than the %s", []any{name("warn_days")},
			"This may not be more than “Warn before expiry”.", "“Fails at” may not be more than “Warn before expiry”."},
		{"json_value", "", "needs a %s", []any{name("json_path")}, "This needs “JSON path”.",
			"“JSON value” needs “JSON path”."},
		{"slow_after", "Slow after", "must be shorter than the %s", []any{name("timeout")},
			"This must be shorter than the timeout.", "“Slow after” must be shorter than the timeout."},
		{"schedule.time_zone", "", "must be the name of a zone", nil, "This must be the name of a zone.",
			"The time zone must be the name of a zone."},
		{"page", "Page", "field is required with a %s", []any{name("component_id")},
			"This field is required with a component.", "The “Page” field is required with a component."},
		{"body", "", "The %s or the %s must contain {text}.", []any{name("body"), name("url")},
			"“Body” or “URL” must contain {text}.", "“Body” or “URL” must contain {text}."},
		{"channel_ids", "Notify", "A rule must have %s or %s.", []any{name("channel_ids"), name("on_call_ids")},
			"Choose who is notified.", "Choose who is notified."},
		{"id", "", "The %s %q uses it.", []any{"rule", `say "the url"`}, `The rule "say \"the url\"" uses it.`,
			`The rule "say \"the url\"" uses it.`},
	} {
		f := newForm(nil)
		f.labels["shown_from"], f.labels[c.field] = "Shown from", c.label
		p := kernel.Problem{Field: c.field, Code: c.code, Args: c.args}
		if got := f.say(p, true); got != c.beside {
			t.Errorf("%s %q: %q, want %q", c.field, c.code, got, c.beside)
		}
		if got := f.say(p, false); got != c.alone {
			t.Errorf("%s %q alone: %q, want %q", c.field, c.code, got, c.alone)
		}
	}
}

// keyOfAPI is a word that is a name in the API, and not one of people's.
var keyOfAPI = regexp.MustCompile(`\b[a-z0-9]+(_[a-z0-9]+)+\b`)

// TestFormsHaveWords sends every form with texts that are refused: no label, hint, choice or error has a name of the
// API.
func TestFormsHaveWords(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		sent := make(map[string]bool)
		for _, path := range v.formPaths() {
			page := v.get(path)
			if page.StatusCode != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") ||
				!strings.Contains(page.body, "<main") {
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
				if form.Attr("method") != "post" || sent[to] || len(texts(form)) == 0 ||
					len(form.All("[type=password]"))+len(form.All("[type=file]")) > 0 {
					continue
				}
				sent[to] = true
				for _, junk := range []string{
					"", "-1", "99999999999", strings.Repeat("x", 3000), "http://[", "a\x01b",
				} {
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
	_, err := v.store.CreatePage(ctx, actor, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
	ok(err)
	component, err := v.store.Components().Create(ctx, actor, "acme",
		resource.Component.From(statuspage.Component{Name: "API"}))
	ok(err)
	group, err := v.store.Groups().Create(ctx, actor, "acme", resource.Group.From(statuspage.Group{Name: "Shop"}))
	ok(err)
	monitor, err := v.store.CreateMonitor(ctx, actor, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Backup", Interval: time.Hour,
	}))
	ok(err)
	subscriber, err := v.store.CreateSubscriber(ctx, actor, "acme",
		audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://hooks.example.com/status"}, nil)
	ok(err)
	channel := v.phone("Phone", true)
	rule, err := v.store.AlertRules().Create(ctx, actor, "", resource.AlertRule.From(alert.Rule{
		Name: "All", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents},
		Target: alert.Target{ChannelIDs: []string{channel}},
	}))
	ok(err)
	schedule, err := v.store.OnCallSchedules().Create(ctx, actor, "", resource.OnCall.From(alert.OnCall{
		Name: "Ops", Zone: "UTC", HandOverDay: "mon",
		Participants: []alert.Participant{{Name: "Ann", ChannelIDs: []string{channel}}},
	}))
	ok(err)
	incident, err := v.store.CreateIncident(ctx, actor, "acme",
		statuspage.Incident{Title: "Cards", State: statuspage.IncidentInvestigating, Impact: kernel.ImpactMinor},
		statuspage.IncidentUpdate{Message: "We are looking."}, nil)
	ok(err)
	now := time.Now()
	maintenance, err := v.store.CreateMaintenance(ctx, actor, "acme", resource.Maintenance.From(statuspage.Maintenance{
		Title: "Disks", ScheduledFor: now.Add(time.Hour), ScheduledUntil: now.Add(2 * time.Hour),
	}))
	ok(err)
	ids["component"], ids["group"], ids["monitor"], ids["subscriber"], ids["channel"], ids["rule"] = component.ID,
		group.ID, monitor.ID, subscriber.ID, channel, rule.ID
	ids["schedule"], ids["incident"], ids["maintenance"] = schedule.ID, incident.ID, maintenance.ID
	for _, r := range v.dashboard.routes() {
		path, ok := strings.CutPrefix(r.pattern, "GET ")
		for name, id := range ids {
			path = strings.ReplaceAll(path, "{"+name+"}", id)
		}
		if ok && r.needs != rights.Anyone && r.needs != rights.Signed && !strings.Contains(path, "{") &&
			path != "/admin/live" {
			all = append(all, path)
		}
	}
	for _, t := range check.Types {
		all = append(all, fmt.Sprint("/admin/monitors/new?type=", t.Name))
	}
	for _, t := range alertchannel.Types {
		all = append(all, fmt.Sprint("/admin/channels/new?type=", t.Name))
	}
	return append(all, "/admin/setup/acme/monitor?type=http", "/admin/incidents/new?page=acme",
		"/admin/maintenances/new?page=acme", "/admin/monitors/pause?monitor="+monitor.ID)
}

// notForms are the paths that need a query, or answer with no screen.
var notForms = []string{
	"/admin/setup/page", "/admin/visit/acme", "/admin/monitors/pause", "/admin/monitors/delete",
	"/admin/pages/acme/preview",
}

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
		if n.Type == html.TextNode && !slices.Contains([]string{"pre", "code", "textarea", "script"}, n.Parent.Data) &&
			keyOfAPI.MatchString(n.Data) {
			v.Errorf("%s says %q", path, n.Data)
		}
	}
	for _, f := range page.All("main .field") {
		for _, x := range append(f.All("input"), f.All("textarea")...) {
			label := strings.Join(f.Texts("label"), " ")
			for _, wrong := range f.Texts(".wrong") {
				if key := x.Attr("name"); strings.HasPrefix(wrong, "The "+key+" ") &&
					!strings.Contains(strings.ToLower(label), key) {
					v.Errorf("%s says of %q: %s", path, label, wrong)
				}
			}
		}
	}
}
