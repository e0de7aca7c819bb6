package allswell

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestRowsOfChannels holds every property of every channel of subscribers, and the host of a target of each.
func TestRowsOfChannels(t *testing.T) {
	want := map[Channel]string{
		ChannelEmail:      "confirmed gateway merged; mail",
		ChannelWebhook:    "componentChanges signed warnings; example.com:8443",
		ChannelSlack:      "chat coded confirmed merged secret [hooks.slack.com hooks.slack-gov.com]; example.com:8443",
		ChannelDiscord:    "chat coded confirmed merged secret [discord.com ptb.discord.com canary.discord.com discordapp.com]; example.com:8443",
		ChannelTeams:      "chat coded confirmed merged secret [.logic.azure.com .environment.api.powerplatform.com .webhook.office.com]; example.com:8443",
		ChannelGoogleChat: "chat coded confirmed merged secret [chat.googleapis.com]; example.com:8443",
		ChannelMattermost: "chat coded confirmed merged secret; example.com:8443",
		ChannelSMS:        "coded confirmed gateway merged; sms",
		ChannelPush:       "",
	}
	if len(channelTable) != len(want) || len(Channels) != len(want) {
		t.Fatalf("%d channels", len(channelTable))
	}
	for _, r := range channelTable {
		var set []string
		v := reflect.ValueOf(r)
		for _, name := range strings.Fields("chat coded componentChanges confirmed gateway merged own secret signed warnings") {
			if v.FieldByName(name).Bool() {
				set = append(set, name)
			}
		}
		got := strings.Join(set, " ")
		if r.hosts != nil {
			got += fmt.Sprintf(" %v", r.hosts)
		}
		got += "; " + r.host("https://example.com:8443/hook")
		if r.channel == ChannelPush {
			want[ChannelPush] = fmt.Sprintf("merged own secret %v; %s", pushHosts, r.host("https://example.com:8443/hook"))
		}
		if got != want[r.channel] {
			t.Errorf("%s: %q, want %q", r.channel, got, want[r.channel])
		}
	}
}
