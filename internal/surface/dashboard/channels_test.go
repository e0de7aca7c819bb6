package dashboard

import (
	"context"
	"net/http"
	"os"
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
	"github.com/allswell/allswell/internal/surface/web"
)

// sendsTests lets the dashboard send test messages, which are accepted unless refused returns a reason.
func (s *site) sendsTests(refused func(alert.Channel) string) {
	s.dashboard.channelTests = web.NewChannelTester(func(
		_ context.Context, c alert.Channel, _ string,
	) audience.SendOutcome {
		if why := refused(c); why != "" {
			return audience.SendOutcome{Result: audience.SendRejected, Reason: why}
		}
		return audience.SendOutcome{Result: audience.SendAccepted}
	}, nil)
}

// channel creates a channel of the type ntfy, and returns the path of its screen.
func (v *visitor) channel(name string) string {
	v.Helper()
	a := v.wants(v.post("/admin/channels/new", "type", "ntfy", "name", name, "topic", "acme"), http.StatusSeeOther,
		"/admin/channels/chn_")
	return a.Header.Get("Location")
}

// TestFormsOfAllChannels checks that the form of each type has all of its fields, and that what it requires makes a
// channel.
func TestFormsOfAllChannels(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		chooser := v.wants(v.get("/admin/channels/new"), http.StatusOK, "Mail and phone", "Chat", "Incident services",
			"Programs")
		for _, kind := range alertchannel.Types {
			path := "/admin/channels/new?type=" + kind.Name
			v.wants(chooser, http.StatusOK, `href="`+path+`"`)
			form := v.wants(v.get(path), http.StatusOK, kind.Label, "Send a test message")
			fields := []string{"type", kind.Name, "name", kind.Label}
			for _, f := range kind.Fields {
				if !strings.Contains(form.body, `name="`+f.Name+`"`) {
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
			made := v.wants(v.post("/admin/channels/new", fields...), http.StatusSeeOther, "/admin/channels/chn_")
			state := "It was not used yet"
			if kind.Name == alert.EmailType {
				state = "Waits for confirmation of <bdi>oncall@example.com</bdi>"
			}
			v.wants(v.get(made.Header.Get("Location")), http.StatusOK, kind.Label, state, "Nothing uses it yet",
				"Send everything that is down")
		}
		v.wants(v.get("/admin/channels/new?type=nonsense"), http.StatusNotFound)
		v.wants(v.post("/admin/channels/new", "type", "nonsense"), http.StatusNotFound)
		v.wants(v.get("/admin/channels"), http.StatusOK, "PagerDuty", "Not used yet")
	})
}

// TestChannelInTheForm tests, creates, edits, disables and deletes a channel.
func TestChannelInTheForm(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		s.sendsTests(func(c alert.Channel) string {
			if string(c.Secrets["secret"]) == "" {
				return "The service says <no>."
			}
			return ""
		})
		const create, secret = "/admin/channels/new", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		v.wants(v.get("/admin/channels"), http.StatusOK, "Create the first channel")
		fields := []string{
			"type", "webhook", "url", "https://ops.example.com/x", "max_per_minute", "", "test_weekly", "true",
		}
		v.wants(v.post(create, append(fields, "preview", "test")...), http.StatusOK, "Not accepted",
			"The service says &lt;no&gt;.")
		v.wants(v.post(create, append(fields, "preview", "test", "secret", secret)...), http.StatusOK,
			"The service has accepted the test message", `value="`+secret+`"`)
		v.wants(v.post(create, fields...), http.StatusUnprocessableEntity, "This field is required.")
		v.wants(v.post(create, "type", "webhook", "name", "test", "url", "ftp://x", "max_per_minute", "x"),
			http.StatusUnprocessableEntity, "This must not be test", "This must be an http or https URL", "This must")
		screen := v.wants(v.post(create, append(fields, "name", "Ops", "secret", secret)...), http.StatusSeeOther,
			"/admin/channels/chn_").Header.Get("Location")
		shown := v.wants(v.get(screen), http.StatusOK, "Ops", "A value is saved", "The weekly test was not sent yet",
			"Saved secret")
		v.lacks(shown, secret)
		v.wants(v.post(screen+"/test"), http.StatusOK, "has accepted the test message", "It works")
		v.wants(v.get("/admin/channels"), http.StatusOK, "Works", "Nothing uses it")

		tag := func() string {
			_, rest, _ := strings.Cut(v.get(screen).body, `name="tag" value="&#34;`)
			return `"` + rest[:16] + `"`
		}
		old := tag()
		v.wants(v.post(screen, append(fields, "name", "Operations", "tag", old)...), http.StatusSeeOther, screen)
		v.wants(v.post(screen, append(fields, "name", "Ops", "tag", old)...), http.StatusConflict, "Nothing was saved",
			"“Operations”")
		// a form without its version
		v.wants(v.post(screen, append(fields, "name", "Ops")...), http.StatusConflict, "Nothing was saved")
		moved := append(fields, "name", "Ops", "tag", tag())
		moved[3] = "https://elsewhere.example.com"
		v.wants(v.post(screen, moved...), http.StatusUnprocessableEntity, "This must be given again")
		v.wants(v.post(screen, append(moved, "preview", "test")...), http.StatusUnprocessableEntity,
			"This must be given again")
		// with the saved secret
		v.wants(v.post(screen, append(fields, "preview", "test", "name", "Ops")...), http.StatusOK,
			"has accepted the test message")
		v.wants(v.post(screen, append(fields, "name", "Ops", "title_template", "{{.Nonsense}}", "tag", tag())...),
			http.StatusUnprocessableEntity, "This is not valid: line 1", `data-key="words" open`, `aria-invalid="true"`)
		v.wants(v.post(screen,
			append(fields, "name", "Ops", "title_template", "[{{.Severity}}] {{.Title}}", "text_template", " ", "tag",
				tag())...), http.StatusSeeOther)
		v.wants(v.get(screen), http.StatusOK, `value="[{{.Severity}}] {{.Title}}"`)
		v.wants(v.post(screen+"/enable", "enabled", "false"), http.StatusSeeOther, screen)
		v.wants(v.get(screen), http.StatusOK, "It is disabled", "{{.Severity}}")
		v.wants(v.get("/admin/channels"), http.StatusOK, "Disabled")
		v.wants(v.post(screen+"/enable", "enabled", "true"), http.StatusSeeOther, screen)

		rule := v.wants(v.post("/admin/alert-rules/new", "name", "Down", "events", "monitor.down", "targets",
			strings.TrimPrefix(screen, "/admin/channels/")), http.StatusSeeOther, "/admin/alert-rules")
		v.wants(rule, http.StatusSeeOther)
		v.lacks(v.wants(v.get(screen), http.StatusOK, "rule Down"), "Send everything that is down")
		v.wants(v.post(screen+"/delete"), http.StatusUnprocessableEntity, "The rule &#34;Down&#34; uses it")

		viewer := s.member(v, kernel.RoleViewer)
		a := viewer.wants(viewer.get(screen), http.StatusOK, "of ops.example.com, not shown", "set, not shown",
			"rule Down")
		viewer.lacks(a, secret, "<form method=\"post\" action=\"/admin/channels", "Save</button>")
	})
}

// TestMessagesOfAChannel shows why a channel fails, and what uses it.
func TestMessagesOfAChannel(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		screen := v.channel("Phone")
		id := strings.TrimPrefix(screen, "/admin/channels/")
		second := v.channel("Boss")
		v.wants(v.post(second, "name", "Boss", "topic", "acme", "fallback_id", id, "tag", tagOf(s, v, "Boss")),
			http.StatusSeeOther)
		v.wants(v.get(screen), http.StatusOK, "fallback of Boss",
			"It will no longer be the <bdi>fallback of Boss</bdi>: what these do not accept reaches nobody.")
		v.wants(v.get(second), http.StatusOK, "Messages that it does not accept go to")
		if err := s.store.RecordRequestedTest(
			s.Context(), id, audience.SendOutcome{Result: audience.SendFailed, Reason: "no route to <ntfy>"},
		); err != nil {
			s.Fatal(err)
		}
		v.wants(v.get(screen), http.StatusOK, "The last test failed", "no route to &lt;ntfy&gt;")
		v.wants(v.get("/admin/channels"), http.StatusOK, "Test failed", "The last test failed <time",
			"no route to &lt;ntfy&gt;")
		if err := s.store.RecordWeeklyTest(
			s.Context(), id, audience.SendOutcome{Result: audience.SendFailed, Reason: "connection refused by <ntfy>"},
		); err != nil {
			s.Fatal(err)
		}
		v.wants(v.get(screen), http.StatusOK, "It does not accept messages", "connection refused by &lt;ntfy&gt;")
		v.wants(v.get("/admin/channels"), http.StatusOK, "Failing", "connection refused by &lt;ntfy&gt;")
		v.wants(v.post(screen+"/delete"), http.StatusSeeOther, "/admin/channels")
		v.wants(v.get(screen), http.StatusNotFound)
	})
}

// TestChannelOfSubscribersSMS shows that the channel of the setting ALLSWELL_SMS_CHANNEL is used, and is not deleted.
func TestChannelOfSubscribersSMS(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		v := s.owner()
		screen := v.channel("Phones")
		v.channel("Unused")
		v.wants(v.get(screen), http.StatusOK, "Used by: subscribers&#39; SMS",
			"First set <code>ALLSWELL_SMS_CHANNEL</code>")
		v.wants(v.get("/admin/channels"), http.StatusOK, "subscribers&#39; SMS", "Nothing uses it")
		v.wants(v.post(screen+"/delete"), http.StatusUnprocessableEntity, "ALLSWELL_SMS_CHANNEL names it.")
		v.wants(v.get(screen), http.StatusOK)
	}, func(*site) store.Options { return store.Options{SMS: store.SMSOptions{Channel: "Phones"}} })
}

// TestLastMessagesOfAChannel checks that the screen of a channel shows its last messages with their outcomes.
func TestLastMessagesOfAChannel(t *testing.T) {
	onEachEngineInTime(t, func(s *site) {
		v := s.owner()
		v.failingJob()
		channels, _, err := s.store.AlertChannels().List(s.Context(), v.actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil || len(channels) != 1 {
			s.Fatal(channels, err)
		}
		screen := "/admin/channels/" + channels[0].ID
		v.lacks(v.get(screen), "Last messages")
		v.sentWith(audience.SendOutcome{Result: audience.SendFailed, Reason: "It answered <500>."})
		v.wants(v.get(screen), http.StatusOK, "Last messages", "is down", "not accepted yet, from",
			"It answered &lt;500&gt;.", "The next attempt is", v.alertPath())
		v.sentWith(audience.SendOutcome{Result: audience.SendRejected, Reason: "It answered 400."})
		v.wants(v.get(screen), http.StatusOK, "given up", "2 attempts", "It answered 400.")

		v.wants(v.post(screen+"/delete"), http.StatusUnprocessableEntity,
			"First remove it from what uses it: <bdi>the rule Everything</bdi>.")
		if err := s.store.AlertRules().Delete(
			s.Context(), v.actor(), "", "Everything", kernel.Precondition{},
		); err != nil {
			s.Fatal(err)
		}
		v.wants(v.post(screen+"/delete"), http.StatusSeeOther, "/admin/channels")
		v.wants(v.get(v.alertPath()), http.StatusOK, "(deleted, ", "could not be notified")
	})
}

// tagOf returns the entity tag of a channel.
func tagOf(s *site, v *visitor, name string) string {
	c, err := s.store.AlertChannels().Get(s.Context(), v.actor(), "", name)
	if err != nil {
		s.Fatal(err)
	}
	return kernel.EntityTag(resource.Channel.Audited(c))
}

// TestTestsWithoutTheKey checks that no test is sent to a channel, and no target is checked, without the secrets that
// cannot be decrypted.
func TestTestsWithoutTheKey(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		found, err := s.store.CheckSecrets(s.Context())
		if err != nil || s.store.Shared() { // there the key is a setting
			return
		}
		sent := 0
		s.sendsTests(func(alert.Channel) string { sent++; return "" })
		v := s.owner()
		channel := v.channel("Phone")
		made := v.wants(v.post("/admin/monitors/new", "type", "http", "name", "Shop", "component_id", "/", "interval",
			"30s", "url", s.base, "method", "GET",
			"username", "me", "password", "hunter2", "timeout", "5s", "confirm_from", "1", "failure_threshold", "2",
			"recovery_threshold", "1", "statuses", "200-399"), http.StatusSeeOther, "/admin/monitors/mon_")
		monitor := made.Header.Get("Location")
		if err := os.WriteFile(found.KeyFile, []byte(strings.Repeat("another key", 8)), 0o600); err != nil {
			s.Fatal(err)
		}
		v.wants(v.post(channel+"/test"), http.StatusUnprocessableEntity, "cannot be decrypted")
		v.wants(v.post(monitor+"/test"), http.StatusUnprocessableEntity, "Nothing was tested",
			"cannot be opened: give “Password” again")
		if sent > 0 {
			s.Errorf("%d tests were sent", sent)
		}
	})
}

// TestTooManyTestsOfAMonitor checks that the screen says why nothing is tested.
func TestTooManyTestsOfAMonitor(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		m, err := s.store.CreateMonitor(s.Context(), v.actor(), monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Shop", Type: "tcp", Check: monitor.CheckSpec{Config: []byte(`{"host":"localhost","port":1}`)},
		}))
		if err != nil {
			s.Fatal(err)
		}
		tests := 0
		a := v.post("/admin/monitors/" + m.ID + "/test")
		for ; a.StatusCode == http.StatusOK && tests < 100; tests++ {
			a = v.post("/admin/monitors/" + m.ID + "/test")
		}
		v.wants(a, http.StatusUnprocessableEntity, "Nothing was tested", "too many tests")
	})
}
