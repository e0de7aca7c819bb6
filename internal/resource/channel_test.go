package resource_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
)

// TestRefusedChannels checks the fields that channels of all types have.
func TestRefusedChannels(t *testing.T) {
	for _, c := range []struct {
		field, want string
		change      func(*alert.Channel)
	}{
		{"type", "The type field is required.", func(c *alert.Channel) { c.Type = "" }},
		{"type", "The type must be one of: email", func(c *alert.Channel) { c.Type = "pigeon" }},
		{"name", "The name must not be test, because", func(c *alert.Channel) { c.Name = "test" }},
		{"name", "The name must not begin with chn_", func(c *alert.Channel) { c.Name = "chn_a" }},
		{"max_per_minute", "must be from 1 to 300", func(c *alert.Channel) { c.MaxPerMinute = 0 }},
		{"max_per_minute", "", func(c *alert.Channel) { c.MaxPerMinute = alert.HighestMaxPerMinute }},
		{"max_per_minute", "must be from 1 to 300", func(c *alert.Channel) {
			c.MaxPerMinute = alert.HighestMaxPerMinute + 1
		}},
		{"fallback_id", "its own fallback", func(c *alert.Channel) { c.FallbackID = c.ID }},
		{"fallback_id", "", func(c *alert.Channel) { c.FallbackID = "chn_2" }},
		{"title_template", "", func(c *alert.Channel) {
			c.TitleTemplate = strings.Repeat("a", alert.MaxTitleTemplate)
		}},
		{"title_template", "may not be longer", func(c *alert.Channel) {
			c.TitleTemplate = "{{" + strings.Repeat("a", alert.MaxTitleTemplate)
		}},
		{"text_template", "may not be longer", func(c *alert.Channel) {
			c.TextTemplate = strings.Repeat("a", alert.MaxTextTemplate+1)
		}},
		{"text_template", "", func(c *alert.Channel) { c.TextTemplate = strings.Repeat("a", alert.MaxTextTemplate) }},
	} {
		var channel alert.Channel
		resource.Channel.Begin(&channel, "chn_1", epoch)
		err := resource.Channel.Create(&channel, func(channel *alert.Channel) error {
			channel.Type, channel.Name = "ntfy", "Ops"
			c.change(channel)
			return nil
		}, epoch)
		if (err == nil) != (c.want == "") {
			t.Errorf("creating a channel with another %s: error %v, want %q", c.field, err, c.want)
		}
		if err != nil {
			checkFields(t, err, c.field)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("creating a channel with another %s: error %v, want %q", c.field, err, c.want)
			}
		}
	}
}

// TestChannelsAsTheAuditLogHasThem checks that the log has the fields of the type beside the others, the names of
// secrets and their versions, and of what only the service sets what there is.
func TestChannelsAsTheAuditLogHasThem(t *testing.T) {
	mail := alert.Channel{
		ID: "chn_1", Type: alert.EmailType, Name: "Mail", Config: json.RawMessage(`{"to":"ann@example.com"}`),
	}
	object := resource.Channel.Audited(mail).AuditObject()
	if object.Fields["to"] != "ann@example.com" || object.Fields["unconfirmed_address"] != "ann@example.com" ||
		object.Name != "Mail" {
		t.Errorf("an address that is not confirmed: %+v", object)
	}
	hook := alert.Channel{
		Type: "webhook", SecretFields: []string{"url"}, URLHost: "ops.example.com",
		SecretVersions: kernel.SecretVersions{"url": 2},
	}
	object = resource.Channel.Audited(hook).AuditObject()
	_, address := object.Fields["unconfirmed_address"]
	_, config := object.Fields["config"]
	if object.Fields["url_host"] != "ops.example.com" || object.Secrets["url"] != 2 || address || config {
		t.Errorf("a channel with a secret: %+v", object)
	}
	object = resource.Channel.Audited(alert.Channel{Type: "webhook"}).AuditObject()
	for _, name := range []string{"secrets", "url_host"} {
		if value, given := object.Fields[name]; given {
			t.Errorf("%s is %v, which is not set", name, value)
		}
	}
}
