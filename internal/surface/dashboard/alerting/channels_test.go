package alerting_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/web"
)

// sendsTests lets the dashboard send test messages, which are accepted unless refused returns a reason.
func sendsTests(s *dashboardtest.Site, refused func(alert.Channel) string) {
	s.Dashboard.Alerting.ChannelTests = web.NewChannelTester(func(
		_ context.Context, c alert.Channel, _ string,
	) audience.SendOutcome {
		if why := refused(c); why != "" {
			return audience.SendOutcome{Result: audience.SendRejected, Reason: why}
		}
		return audience.SendOutcome{Result: audience.SendAccepted}
	}, nil)
}

// channel creates a channel of the type ntfy, and returns the path of its screen.
func channel(v *dashboardtest.Visitor, name string) string {
	v.Helper()
	a := v.Wants(v.Post("/admin/channels/new", "type", "ntfy", "name", name, "topic", "acme"), http.StatusSeeOther,
		"/admin/channels/chn_")
	return a.Header.Get("Location")
}

// TestFormsOfAllChannels checks that the form of each type has all of its fields, and that what it requires makes a
// channel.
func TestFormsOfAllChannels(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		chooser := v.Wants(v.Get("/admin/channels/new"), http.StatusOK, "Mail and phone", "Chat", "Incident services",
			"Programs")
		for _, kind := range alertchannel.Types {
			path := "/admin/channels/new?type=" + kind.Name
			v.Wants(chooser, http.StatusOK, `href="`+path+`"`)
			form := v.Wants(v.Get(path), http.StatusOK, kind.Label, "Send test message")
			fields := []string{"type", kind.Name, "name", kind.Label}
			for _, f := range kind.Fields {
				if !strings.Contains(form.Text, `name="`+f.Name+`"`) {
					s.Errorf("the form of %s lacks %s", kind.Name, f.Name)
				}
				switch {
				case f.Name == "routing_key":
					fields = append(fields, f.Name, strings.Repeat("k", 32))
				case f.Required && f.Example == "", f.Name == "webhook_id":
					fields = append(fields, f.Name, "secret")
				case f.Required:
					fields = append(fields, f.Name, f.Example)
				case f.Kind == configfield.KindFlag || f.Choices != nil:
					fields = append(fields, f.Name, f.Default)
				}
			}
			made := v.Wants(v.Post("/admin/channels/new", fields...), http.StatusSeeOther, "/admin/channels/chn_")
			state := "Not used yet"
			if kind.Name == alert.EmailType {
				state = "No alerts are sent to <bdi>oncall@example.com</bdi>"
			}
			v.Wants(v.Get(made.Header.Get("Location")), http.StatusOK, kind.Label, state, "Not used yet. Rules",
				"Alert on every outage")
		}
		v.Wants(v.Get("/admin/channels/new?type=nonsense"), http.StatusNotFound)
		v.Wants(v.Post("/admin/channels/new", "type", "nonsense"), http.StatusNotFound)
		v.Wants(v.Get("/admin/channels"), http.StatusOK, "PagerDuty", "Not used yet")
	})
}

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hookFields are the fields of a form of a webhook, without its name and secret.
var hookFields = []string{
	"type", "webhook", "url", "https://ops.example.com/x", "max_per_minute", "", "test_weekly", "true",
}

// acceptsSigned lets a service accept tests of channels with a secret.
func acceptsSigned(s *dashboardtest.Site) {
	sendsTests(s, func(c alert.Channel) string {
		if string(c.Secrets["secret"]) == "" {
			return "The service says <no>."
		}
		return ""
	})
}

// hook creates the webhook Ops, and returns the path of its screen.
func hook(v *dashboardtest.Visitor) string {
	v.Helper()
	fields := append(slices.Clone(hookFields), "name", "Ops", "secret", hookSecret)
	return v.Wants(v.Post("/admin/channels/new", fields...), http.StatusSeeOther, "/admin/channels/chn_").
		Header.Get("Location")
}

// TestChannelInTheForm tests, creates, edits, disables and deletes a channel.
func TestChannelInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		acceptsSigned(s)
		const create, secret = "/admin/channels/new", hookSecret
		v.Wants(v.Get("/admin/channels"), http.StatusOK, "Create channel")
		fields := slices.Clone(hookFields)
		v.Wants(v.Post(create, append(fields, "preview", "test")...), http.StatusOK, "Test failed",
			"The service says &lt;no&gt;.")
		v.Wants(v.Post(create, append(fields, "preview", "test", "secret", secret)...), http.StatusOK,
			"Check that it arrived", `value="`+secret+`"`)
		v.Wants(v.Post(create, fields...), http.StatusUnprocessableEntity, "This field is required.")
		v.Wants(v.Post(create, "type", "webhook", "name", "test", "url", "ftp://x", "max_per_minute", "x"),
			http.StatusUnprocessableEntity, "This must not be test", "This must be an http(s) URL", "This must")
		screen := v.Wants(v.Post(create, append(fields, "name", "Ops", "secret", secret)...), http.StatusSeeOther,
			"/admin/channels/chn_").Header.Get("Location")
		shown := v.Wants(v.Get(screen), http.StatusOK, "Ops", "A value is saved", "No weekly test sent yet",
			"Saved secret")
		v.Lacks(shown, secret)
		v.Wants(v.Post(screen+"/test"), http.StatusOK, "Check that it arrived", "Working")
		v.Wants(v.Get("/admin/channels"), http.StatusOK, "Working", "Not used")
	})
}

func TestChannelIsEditedInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		acceptsSigned(s)
		screen, fields := hook(v), slices.Clone(hookFields)
		tag := func() string {
			_, rest, _ := strings.Cut(v.Get(screen).Text, `name="tag" value="&#34;`)
			return `"` + rest[:16] + `"`
		}
		old := tag()
		v.Wants(v.Post(screen, append(fields, "name", "Operations", "tag", old)...), http.StatusSeeOther, screen)
		v.Wants(v.Post(screen, append(fields, "name", "Ops", "tag", old)...), http.StatusConflict, "Nothing was saved",
			"“Operations”")
		// The form has no version.
		v.Wants(v.Post(screen, append(fields, "name", "Ops")...), http.StatusConflict, "Nothing was saved")
		moved := append(fields, "name", "Ops", "tag", tag())
		moved[3] = "https://elsewhere.example.com"
		v.Wants(v.Post(screen, moved...), http.StatusUnprocessableEntity, "This must be given again")
		v.Wants(v.Post(screen, append(moved, "preview", "test")...), http.StatusUnprocessableEntity,
			"This must be given again")
		// The test uses the saved secret.
		v.Wants(v.Post(screen, append(fields, "preview", "test", "name", "Ops")...), http.StatusOK,
			"Check that it arrived")
		v.Wants(v.Post(screen, append(fields, "name", "Ops", "title_template", "{{.Nonsense}}", "tag", tag())...),
			http.StatusUnprocessableEntity, "This is not valid: line 1", `data-key="words" open`, `aria-invalid="true"`)
		v.Wants(v.Post(screen,
			append(fields, "name", "Ops", "title_template", "[{{.Severity}}] {{.Title}}", "text_template", " ", "tag",
				tag())...), http.StatusSeeOther)
		v.Wants(v.Get(screen), http.StatusOK, `value="[{{.Severity}}] {{.Title}}"`)
		v.Wants(v.Post(screen+"/enable", "enabled", "false"), http.StatusSeeOther, screen)
		v.Wants(v.Get(screen), http.StatusOK, ">Disabled</h2>", "{{.Severity}}")
		v.Wants(v.Get("/admin/channels"), http.StatusOK, "Disabled")
		v.Wants(v.Post(screen+"/enable", "enabled", "true"), http.StatusSeeOther, screen)
	})
}

func TestChannelInUseInTheForm(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		screen := hook(v)
		v.Wants(v.Post("/admin/alert-rules/new", "name", "Down", "events", "monitor.down", "targets",
			strings.TrimPrefix(screen, "/admin/channels/")), http.StatusSeeOther, "/admin/alert-rules")
		v.Lacks(v.Wants(v.Get(screen), http.StatusOK, "rule Down"), "Alert on every outage")
		v.Wants(v.Post(screen+"/delete"), http.StatusUnprocessableEntity, "The rule &#34;Down&#34; uses it")

		viewer := s.Member(v, kernel.RoleViewer)
		a := viewer.Wants(viewer.Get(screen), http.StatusOK, "of ops.example.com, not shown", "set, not shown",
			"rule Down")
		viewer.Lacks(a, hookSecret, "<form method=\"post\" action=\"/admin/channels", "Save</button>")
	})
}

// TestMessagesOfAChannel shows why a channel fails, and what uses it.
func TestMessagesOfAChannel(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		screen := channel(v, "Phone")
		id := strings.TrimPrefix(screen, "/admin/channels/")
		second := channel(v, "Boss")
		v.Wants(v.Post(second, "name", "Boss", "topic", "acme", "fallback_id", id, "tag", tagOf(s, v, "Boss")),
			http.StatusSeeOther)
		v.Wants(v.Get(screen), http.StatusOK, "fallback of Boss",
			"It will no longer be the <bdi>fallback of Boss</bdi>: their failed messages reach no one.")
		v.Wants(v.Get(second), http.StatusOK, "If this channel fails, messages go to")
		err := s.Store.RecordRequestedTest(s.Context(), id,
			audience.SendOutcome{Result: audience.SendFailed, Reason: "no route to <ntfy>"})
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Get(screen), http.StatusOK, "Last test failed", "no route to &lt;ntfy&gt;")
		v.Wants(v.Get("/admin/channels"), http.StatusOK, "Test failed", "Last test failed <time",
			"no route to &lt;ntfy&gt;")
		err = s.Store.RecordWeeklyTest(s.Context(), id,
			audience.SendOutcome{Result: audience.SendFailed, Reason: "connection refused by <ntfy>"})
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Get(screen), http.StatusOK, ">Failing</h2>", "connection refused by &lt;ntfy&gt;")
		v.Wants(v.Get("/admin/channels"), http.StatusOK, "Failing", "connection refused by &lt;ntfy&gt;")
		v.Wants(v.Post(screen+"/delete"), http.StatusSeeOther, "/admin/channels")
		v.Wants(v.Get(screen), http.StatusNotFound)
	})
}

// TestChannelOfSubscribersSMS shows that the channel of the setting ALLSWELL_SMS_CHANNEL is used, and is not deleted.
func TestChannelOfSubscribersSMS(t *testing.T) {
	t.Parallel()
	dashboardtest.EachSite(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		screen := channel(v, "Phones")
		channel(v, "Unused")
		v.Wants(v.Get(screen), http.StatusOK, "Used by: subscribers&#39; SMS",
			"First set <code>ALLSWELL_SMS_CHANNEL</code>")
		v.Wants(v.Get("/admin/channels"), http.StatusOK, "subscribers&#39; SMS", "Not used: no rule")
		v.Wants(v.Post(screen+"/delete"), http.StatusUnprocessableEntity, "ALLSWELL_SMS_CHANNEL names it.")
		v.Wants(v.Get(screen), http.StatusOK)
	}, func(*dashboardtest.Site) store.Options {
		return store.Options{SMS: store.SMSOptions{Channel: "Phones"}}
	})
}

// TestLastMessagesOfAChannel checks that the screen of a channel shows its last messages with their outcomes.
func TestLastMessagesOfAChannel(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		failingJob(v)
		channels, _, err := s.Store.AlertChannels().List(s.Context(), v.Actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil || len(channels) != 1 {
			s.Fatal(channels, err)
		}
		screen := "/admin/channels/" + channels[0].ID
		v.Lacks(v.Get(screen), "Last messages")
		sentWith(v, audience.SendOutcome{Result: audience.SendFailed, Reason: "It answered <500>."})
		v.Wants(v.Get(screen), http.StatusOK, "Last messages", "is down", "pending since",
			"It answered &lt;500&gt;.", "The next attempt is", alertPath(v))
		sentWith(v, audience.SendOutcome{Result: audience.SendRejected, Reason: "It answered 400."})
		v.Wants(v.Get(screen), http.StatusOK, "failed <time", "2 attempts", "It answered 400.")

		v.Wants(v.Post(screen+"/delete"), http.StatusUnprocessableEntity,
			"First remove the channel from: <bdi>the rule Everything</bdi>.")
		err = s.Store.AlertRules().Delete(s.Context(), v.Actor(), "", "Everything", kernel.Precondition{})
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Post(screen+"/delete"), http.StatusSeeOther, "/admin/channels")
		v.Wants(v.Get(alertPath(v)), http.StatusOK, "(deleted, ", "Could not notify")
	})
}

// TagOf returns the entity tag of a channel.
func tagOf(s *dashboardtest.Site, v *dashboardtest.Visitor, name string) string {
	c, err := s.Store.AlertChannels().Get(s.Context(), v.Actor(), "", name)
	if err != nil {
		s.Fatal(err)
	}
	return kernel.EntityTag(resource.Channel.Audited(c))
}

// TestTestsWithoutTheKey checks that no test is sent to a channel, and no target is checked, without the secrets that
// cannot be decrypted.
func TestTestsWithoutTheKey(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		found, err := s.Store.CheckSecrets(s.Context())
		if err != nil || s.Store.Shared() { // there the key is a setting
			return
		}
		sent := 0
		sendsTests(s, func(alert.Channel) string { sent++; return "" })
		v := s.Owner()
		channel := channel(v, "Phone")
		made := v.Wants(v.Post("/admin/monitors/new", "type", "http", "name", "Shop", "component_id", "/", "interval",
			"30s", "url", s.Base, "method", "GET",
			"username", "me", "password", "hunter2", "timeout", "5s", "confirm_from", "1", "failure_threshold", "2",
			"recovery_threshold", "1", "statuses", "200-399"), http.StatusSeeOther, "/admin/monitors/mon_")
		monitor := made.Header.Get("Location")
		if err := os.WriteFile(found.KeyFile, []byte(strings.Repeat("another key", 8)), 0o600); err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Post(channel+"/test"), http.StatusUnprocessableEntity, "cannot be decrypted")
		v.Wants(v.Post(monitor+"/test"), http.StatusUnprocessableEntity, "Not tested",
			"cannot be opened: give “Password” again")
		if sent > 0 {
			s.Errorf("%d tests were sent", sent)
		}
	})
}

// TestTooManyTestsOfAMonitor checks that the screen says why nothing is tested.
func TestTooManyTestsOfAMonitor(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		m, err := s.Store.CreateMonitor(s.Context(), v.Actor(), monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Shop", Type: "tcp", Check: monitor.CheckSpec{Config: []byte(`{"host":"localhost","port":1}`)},
		}))
		if err != nil {
			s.Fatal(err)
		}
		tests := 0
		a := v.Post("/admin/monitors/" + m.ID + "/test")
		for ; a.StatusCode == http.StatusOK && tests < 100; tests++ {
			a = v.Post("/admin/monitors/" + m.ID + "/test")
		}
		v.Wants(a, http.StatusUnprocessableEntity, "Not tested", "too many tests")
	})
}
