package dashboard_test

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
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"golang.org/x/net/html"
)

// keyOfAPI is a word that is a name in the API, and not one of people's.
var keyOfAPI = regexp.MustCompile(`\b[a-z0-9]+(_[a-z0-9]+)+\b`)

// TestFormsHaveWords sends every form with texts that are refused: no label, hint, choice or error has a name of the
// API.
func TestFormsHaveWords(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		sent := make(map[string]bool)
		for _, path := range formPaths(v) {
			page := v.Get(path)
			if page.StatusCode != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") ||
				!strings.Contains(page.Text, "<main") {
				if !strings.Contains(path, "/export") && !slices.Contains(notForms, path) {
					v.Errorf("%s: %d", path, page.StatusCode)
				}
				continue
			}
			if path != "/admin/audit" { // has values as they are in the API
				checkWords(v, path, page)
			}
			for _, form := range htmltest.Parse(t, page.Text).All("main form") {
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
					if a := v.Post(to, filled(form, junk)...); a.StatusCode == http.StatusUnprocessableEntity {
						checkWords(v, to, a)
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
func formPaths(v *dashboardtest.Visitor) (all []string) {
	v.Helper()
	ids := formObjects(v)
	for _, r := range v.Dashboard.Routes() {
		path, ok := strings.CutPrefix(r.Pattern, "GET ")
		for name, id := range ids {
			path = strings.ReplaceAll(path, "{"+name+"}", id)
		}
		if ok && r.Needs != rights.Anyone && r.Needs != rights.Signed && !strings.Contains(path, "{") &&
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
		"/admin/maintenances/new?page=acme", "/admin/monitors/pause?monitor="+ids["monitor"])
}

// formObjects creates an object of each kind that a form edits, and returns their ids by the parameters of routes.
func formObjects(v *dashboardtest.Visitor) map[string]string {
	v.Helper()
	ok := func(err error) {
		if v.Helper(); err != nil {
			v.Fatal(err)
		}
	}
	ctx, actor := v.Context(), v.Actor()
	_, err := v.Store.CreatePage(ctx, actor, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
	ok(err)
	component, err := v.Store.Components().Create(ctx, actor, "acme",
		resource.Component.From(statuspage.Component{Name: "API"}))
	ok(err)
	group, err := v.Store.Groups().Create(ctx, actor, "acme", resource.Group.From(statuspage.Group{Name: "Shop"}))
	ok(err)
	monitor, err := v.Store.CreateMonitor(ctx, actor, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Backup", Interval: time.Hour,
	}))
	ok(err)
	subscriber, err := v.Store.CreateSubscriber(ctx, actor, "acme",
		audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://hooks.example.com/status"}, nil)
	ok(err)
	channel := v.Phone("Phone", true)
	rule, err := v.Store.AlertRules().Create(ctx, actor, "", resource.AlertRule.From(alert.Rule{
		Name: "All", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents},
		Target: alert.Target{ChannelIDs: []string{channel}},
	}))
	ok(err)
	schedule, err := v.Store.OnCallSchedules().Create(ctx, actor, "", resource.OnCall.From(alert.OnCall{
		Name: "Ops", Zone: "UTC", HandOverDay: "mon",
		Participants: []alert.Participant{{Name: "Ann", ChannelIDs: []string{channel}}},
	}))
	ok(err)
	incident, err := v.Store.CreateIncident(ctx, actor, "acme",
		statuspage.Incident{Title: "Cards", State: statuspage.IncidentInvestigating, Impact: kernel.ImpactMinor},
		statuspage.IncidentUpdate{Message: "We are looking."}, nil)
	ok(err)
	now := time.Now()
	maintenance, err := v.Store.CreateMaintenance(ctx, actor, "acme", resource.Maintenance.From(statuspage.Maintenance{
		Title: "Disks", ScheduledFor: now.Add(time.Hour), ScheduledUntil: now.Add(2 * time.Hour),
	}))
	ok(err)
	return map[string]string{
		"page": "acme", "component": component.ID, "group": group.ID, "monitor": monitor.ID,
		"subscriber": subscriber.ID, "channel": channel, "rule": rule.ID, "schedule": schedule.ID,
		"incident": incident.ID, "maintenance": maintenance.ID,
	}
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
func checkWords(v *dashboardtest.Visitor, path string, a dashboardtest.Answer) {
	v.Helper()
	page := htmltest.Parse(v, a.Text)
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
				key := x.Attr("name")
				if strings.HasPrefix(wrong, "The "+key+" ") && !strings.Contains(strings.ToLower(label), key) {
					v.Errorf("%s says of %q: %s", path, label, wrong)
				}
			}
		}
	}
}
