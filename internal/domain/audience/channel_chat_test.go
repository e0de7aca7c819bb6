package audience_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
)

// TestShownTargets checks that the URL of a chat is shown without what lets somebody post there.
func TestShownTargets(t *testing.T) {
	for _, c := range []struct {
		channel       audience.Channel
		target, shown string
		atService     bool
	}{
		{audience.ChannelSlack, "https://hooks.slack.com/services/T000/B000/abcdefghijklmnop",
			"https://hooks.slack.com/…mnop", true},
		{audience.ChannelSlack, "https://hooks.slack.com.example.net/services/T000/B000/abcdefgh",
			"https://hooks.slack.com.example.net/…efgh", false},
		{audience.ChannelSlack, "http://hooks.slack.com/services/T000/B000/abcdefgh", "http://hooks.slack.com/…efgh",
			false},
		{audience.ChannelSlack, "https://hooks.slack.com:8443/services/T000/B000/abcdefgh",
			"https://hooks.slack.com:8443/…efgh", false},
		{audience.ChannelDiscord, "https://discord.com/api/webhooks/1234567890/abcdefgh?thread_id=42",
			"https://discord.com/…d=42", true},
		{audience.ChannelSlack, "https://hooks.slack.com/services/../triggers/abcdefghijklmnop",
			"https://hooks.slack.com/…mnop", false},
		{audience.ChannelSlack, "https://hooks.slack.com/services/%2e%2e/triggers/abcdefgh",
			"https://hooks.slack.com/…efgh", false},
		{audience.ChannelDiscord, "https://discord.com/api/v10/channels/1/messages", "https://discord.com/…ages",
			false},
		{audience.ChannelDiscord, "https://discord.com/api/webhooks/", "https://discord.com/…", false},
		{audience.ChannelGoogleChat, "https://chat.googleapis.com/v1/media/abcdefghijkl",
			"https://chat.googleapis.com/…ijkl", false},
		{audience.ChannelTeams, "https://example.webhook.office.com/webhookb2/abc@def/IncomingWebhook/ghi",
			"https://example.webhook.office.com/…/ghi", true},
		{audience.ChannelTeams, "https://prod-00.westeurope.logic.azure.com/subscriptions/abcdefgh",
			"https://prod-00.westeurope.logic.azure.com/…efgh", false},
		{audience.ChannelTeams, "https://prod-00.westeurope.logic.azure.com/workflows/abc?sig=defgh",
			"https://prod-00.westeurope.logic.azure.com/…efgh", true},
		{audience.ChannelTeams, "https://default0.00.environment.api.powerplatform.com/powerautomate/abc?sig=defgh",
			"https://default0.00.environment.api.powerplatform.com/…efgh", true},
		{audience.ChannelTeams, "https://logic.azure.com/workflows/abcdefgh", "https://logic.azure.com/…efgh", false},
		{audience.ChannelTeams, "https://evil-logic.azure.com/workflows/abcdefgh", "https://evil-logic.azure.com/…efgh",
			false},
		{audience.ChannelGoogleChat, "https://chat.googleapis.com/v1/spaces/A/messages?key=x&token=secret",
			"https://chat.googleapis.com/…cret", true},
		{audience.ChannelMattermost, "https://chat.example.com/hooks/abcdefghijkl", "https://chat.example.com/…ijkl",
			true},
		{audience.ChannelMattermost, "https://chat.example.com/hooks/ab", "https://chat.example.com/…", true},
		{audience.ChannelWebhook, "https://hooks.example.com/status", "https://hooks.example.com/status", true},
		{audience.ChannelEmail, "ada@example.com", "ada@example.com", true},
	} {
		if got := c.channel.Shown(c.target); got != c.shown {
			t.Errorf("%s %s is shown as %s, want %s", c.channel, c.target, got, c.shown)
		}
		if got := c.channel.AtService(c.target); got != c.atService {
			t.Errorf("AtService of %s %s = %v", c.channel, c.target, got)
		}
		if c.channel.Chat() && c.channel.Host(c.channel.Shown(c.target)) != c.channel.Host(c.target) {
			t.Errorf("%s: another destination for what is shown", c.target)
		}
	}
}

// TestChatSignUps checks that visitors can enter only URLs of the service.
func TestChatSignUps(t *testing.T) {
	for target, good := range map[string]bool{
		"https://hooks.slack.com/services/T000/B000/abcdefgh":     true,
		"https://hooks.slack.com:443/services/T000/B000/abcdefgh": true,
		"https://example.com/services/T000/B000/abcdefgh":         false,
		"https://hooks.slack.com/triggers/T000/B000/abcdefgh":     false,
		"http://hooks.slack.com/services/T000/B000/abcdefgh":      false,
		"https://127.0.0.1/services/T000/B000/abcdefgh":           false,
		"ada@example.com": false, "": false,
	} {
		_, err := (audience.NewSubscriber{
			Channel: audience.ChannelSlack, Target: target,
		}).CheckSignUp()
		if (err == nil) != good {
			t.Errorf("sign-up of %q: error %v", target, err)
		}
	}
	for target, good := range map[string]bool{
		"https://chat.example.com/hooks/a": true, "https://localhost/hooks/a": false,
		"https://10.0.0.1/hooks/a": false,
	} {
		_, err := (audience.NewSubscriber{
			Channel: audience.ChannelMattermost, Target: target,
		}).CheckSignUp()
		if (err == nil) != good {
			t.Errorf("sign-up of %q: error %v", target, err)
		}
	}
}

// TestCodes checks what is accepted as the code of a subscription.
func TestCodes(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var s audience.Subscriber
	if s.TryCode("", now) {
		t.Error("no code is needed before there is one")
	}
	s.RequestCode(now)
	if len(s.Code) != 8 || len(s.ShownCode()) != 9 {
		t.Fatalf("code %q, shown as %q", s.Code, s.ShownCode())
	}
	for _, typed := range []string{
		s.Code, s.ShownCode(), strings.ToLower(s.Code), " " + s.Code[:3] + " - " + s.Code[3:] + "\t",
	} {
		if !s.TryCode(typed, now.Add(audience.CodeLifetime-1)) {
			t.Errorf("%q is refused", typed)
		}
	}
	if s.TryCode(s.Code, now.Add(audience.CodeLifetime)) {
		t.Error("an old code is accepted")
	}
	for range audience.MaxCodeAttempts {
		if s.TryCode("AAAA-AAAA", now) {
			t.Fatal("a wrong code is accepted")
		}
	}
	if s.TryCode(s.Code, now) {
		t.Error("accepted after too many attempts")
	}
	old := s.Code
	added := audience.Subscriber{AddedByOperator: true}
	if added.RequestCode(now); !added.TryCode(added.Code, now.Add(audience.UnconfirmedLifetime-1)) {
		t.Error("the code of a chat that an operator added is valid for less than a week")
	}
	if s.RequestCode(now); s.Code == old || !s.TryCode(s.Code, now) {
		t.Error("the new code is not accepted")
	}
}
