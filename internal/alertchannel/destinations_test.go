package alertchannel

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestNotifyActions checks which names of actions of Home Assistant are accepted, and that one needs a token.
func TestNotifyActions(t *testing.T) {
	for _, c := range []struct{ webhook, action, token, field, wrong string }{
		{"", "mobile_app_phone", "x", "", ""}, {"", strings.Repeat("a", 100), "x", "", ""}, {"x", "", "", "", ""},
		{"", strings.Repeat("a", 101), "x", "notify_action", "after \"notify.\""},
		{"", "notify.phone", "x", "notify_action", "after \"notify.\""},
		{"", "Phone", "x", "notify_action", "after \"notify.\""},
		{"", "../phone", "x", "notify_action", "after \"notify.\""},
		{"", "phone", "", "access_token", "is needed for a notify_action"},
		{"", "", "x", "webhook_id", "Either the webhook_id or the notify_action"},
		{"x", "phone", "x", "webhook_id", "Either the webhook_id or the notify_action"},
	} {
		var bad kernel.ValidationError
		(&homeAssistant{
			Server: "https://a.example", WebhookID: c.webhook, NotifyAction: c.action, AccessToken: c.token,
		}).Validate(&bad)
		if len(bad.Messages()) != min(1, len(c.field)) ||
			c.field != "" && !strings.Contains(strings.Join(bad.Messages()[c.field], " "), c.wrong) {
			t.Errorf("problems of %+v: %v", c, bad.Messages())
		}
	}
}

// TestTopicsOfTelegram checks that a message names a topic if the channel has one.
func TestTopicsOfTelegram(t *testing.T) {
	for topic, want := range map[int]any{0: nil, 1: 1, 77: 77} {
		body := (&telegram{ChatID: "-100", TopicID: topic}).body()
		if body["chat_id"] != "-100" || body["message_thread_id"] != want {
			t.Errorf("topic %d: %v", topic, body)
		}
		if _, given := body["message_thread_id"]; given != (topic > 0) {
			t.Errorf("topic %d: given is %t", topic, given)
		}
	}
}
