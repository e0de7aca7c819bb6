package dashboardtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"golang.org/x/net/html"
)

// Hostile is a name that would break out of HTML if it were not escaped, with text in both directions.
const Hostile = `"><script>alert(1)</script>{{.}} مرحبا 🦊 '`

// Page creates a page as the visitor.
func (v *Visitor) Page(name, slug string) statuspage.Page {
	v.Helper()
	p, err := v.Store.CreatePage(v.Context(), v.Actor(), resource.Page.From(statuspage.Page{Name: name, Slug: slug}))
	if err != nil {
		v.Fatal(err)
	}
	return p
}

// Subscribe adds a mail subscriber to a page, which queues the mail that asks for a confirmation.
func (v *Visitor) Subscribe(slug, address string) {
	v.Helper()
	_, err := v.Store.CreateSubscriber(v.Context(), v.Actor(), slug,
		audience.NewSubscriber{Channel: audience.ChannelEmail, Target: address}, nil)
	if err != nil {
		v.Fatal(err)
	}
}

// Reject claims the due deliveries by mail, and records that they were rejected.
func (s *Site) Reject(reason string) {
	s.Helper()
	claimed, _, _, err := s.Store.ClaimDeliveries(s.Context(), store.ClaimOptions{
		Channel: audience.ChannelEmail, Limit: 100,
	})
	if err != nil || len(claimed) == 0 {
		s.Fatalf("claimed %v, %v", claimed, err)
	}
	var results []store.DeliveryResult
	for _, c := range claimed {
		results = append(results, store.DeliveryResult{
			ClaimedDelivery: c, Outcome: audience.SendOutcome{Result: audience.SendRejected, Reason: reason},
		})
	}
	if err := s.Store.SaveDeliveryResults(s.Context(), results); err != nil {
		s.Fatal(err)
	}
}

// EditForm returns the values that the form for an object sends if nobody changes a field.
func (v *Visitor) EditForm(path string) url.Values {
	v.Helper()
	for _, form := range htmltest.Parse(v, v.Wants(v.Get(path), http.StatusOK).Text).All("main form") {
		action := form.Attr("action")
		if form.Attr("method") == "post" && (action == "" || action == path) && len(form.All("[name=tag]")) > 0 {
			return Sent(form)
		}
	}
	v.Fatalf("%s has no form that edits", path)
	return nil
}

// Pairs returns values as Post takes them.
func Pairs(values url.Values) (all []string) {
	for name, list := range values {
		for _, value := range list {
			all = append(all, name, value)
		}
	}
	return all
}

// WithPage is an owner whose workspace has a page with two components.
func (s *Site) WithPage() (v *Visitor, website, api statuspage.Component) {
	s.Helper()
	v = s.Owner()
	_, err := s.Store.CreatePage(s.Context(), v.Actor(),
		resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
	if err != nil {
		s.Fatal(err)
	}
	return v, v.component("Website"), v.component("API")
}

// Hidden returns the value of a hidden field.
func (a Answer) Hidden(name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.Text)
	if found == nil {
		return ""
	}
	return found[1]
}

// Monitors creates monitors with the names.
func (v *Visitor) Monitors(names ...string) (all []monitor.Monitor) {
	v.Helper()
	for _, name := range names {
		m, err := v.Store.CreateMonitor(v.Context(), v.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
			Name: name, Interval: time.Hour,
		}))
		if err != nil {
			v.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// Lacks checks that a body contains none of the texts.
func (v *Visitor) Lacks(a Answer, texts ...string) {
	v.Helper()
	for _, text := range texts {
		if strings.Contains(a.Text, text) {
			v.Errorf("%s has %q", a.Request.URL, text)
		}
	}
}

// Phone creates a webhook channel, and returns its id.
func (v *Visitor) Phone(name string, enabled bool) string {
	v.Helper()
	c, err := v.Store.AlertChannels().Create(v.Context(), v.Actor(), "", func(c *alert.Channel) error {
		c.Type, c.Name, c.Enabled, c.Config = "webhook", name, enabled, json.RawMessage(`{}`)
		return nil
	})
	if err != nil {
		v.Fatal(err)
	}
	return c.ID
}

var hiddenTag = regexp.MustCompile(`name="tag" value="([^"]*)"`)

// TagIn returns the value of the hidden field tag in a screen.
func TagIn(t *testing.T, a Answer) string {
	t.Helper()
	found := hiddenTag.FindStringSubmatch(a.Text)
	if found == nil {
		t.Fatalf("no tag in %s", a.Text)
	}
	return strings.ReplaceAll(found[1], "&#34;", `"`)
}

// Sent returns the values that a browser sends if nobody changes the form.
func Sent(form htmltest.Tree) url.Values {
	values := url.Values{}
	for n := range form.Descendants() {
		x := htmltest.Tree{Node: n}
		name := x.Attr("name")
		switch {
		case n.Type != html.ElementNode || name == "":
		case n.Data == "textarea":
			values.Add(name, strings.ReplaceAll(x.RawText(), "\n", "\r\n"))
		case n.Data == "select":
			options := x.All("option")
			chosen := slices.IndexFunc(options, func(o htmltest.Tree) bool { return hasAttr(o, "selected") })
			values.Add(name, options[max(chosen, 0)].Attr("value"))
		case n.Data != "input", x.Attr("type") == "submit":
		case x.Attr("type") != "checkbox" && x.Attr("type") != "radio" || hasAttr(x, "checked"):
			values.Add(name, strings.NewReplacer("\r", "", "\n", "").Replace(x.Attr("value"))) // it has one line
		}
	}
	return values
}

func hasAttr(x htmltest.Tree, name string) bool {
	return slices.ContainsFunc(x.Node.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// Disabled is a change that also disables the monitor.
func Disabled(change monitor.MonitorChange) monitor.MonitorChange {
	return func(c *monitor.MonitorConfig) error {
		err := change(c)
		c.Enabled = false
		return err
	}
}

func (v *Visitor) component(name string) statuspage.Component {
	v.Helper()
	c, err := v.Store.Components().Create(v.Context(), v.Actor(), "acme",
		resource.Component.From(statuspage.Component{Name: name}))
	if err != nil {
		v.Fatal(err)
	}
	return c
}
