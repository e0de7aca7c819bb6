package audience

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestRowsOfChannels holds every property of every channel of subscribers, and the host of a target of each.
func TestRowsOfChannels(t *testing.T) {
	want := map[Channel]string{
		ChannelEmail:   "confirmed gateway merged; mail",
		ChannelWebhook: "componentChanges signed warnings; example.com:8443",
		ChannelSlack:   "chat coded confirmed merged secret [hooks.slack.com hooks.slack-gov.com]; example.com:8443",
		ChannelDiscord: "chat coded confirmed merged secret [discord.com ptb.discord.com canary.discord.com " +
			"discordapp.com]; example.com:8443",
		ChannelTeams: "chat coded confirmed merged secret [.logic.azure.com .environment.api.powerplatform.com " +
			".webhook.office.com]; example.com:8443",
		ChannelGoogleChat: "chat coded confirmed merged secret [chat.googleapis.com]; example.com:8443",
		ChannelMattermost: "chat coded confirmed merged secret; example.com:8443",
		ChannelSMS:        "coded confirmed gateway merged; sms",
		ChannelPush:       "",
	}
	if len(channelTable) != len(want) || len(Channels) != len(want) {
		t.Fatalf("the table has %d channels", len(channelTable))
	}
	for _, r := range channelTable {
		var set []string
		v := reflect.ValueOf(r)
		for _, name := range strings.Fields(
			"chat coded componentChanges confirmed gateway merged own secret signed warnings",
		) {
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
			want[ChannelPush] = fmt.Sprintf("merged own secret %v; %s", pushHosts,
				r.host("https://example.com:8443/hook"))
		}
		if got != want[r.channel] {
			t.Errorf("properties of %s: %q, want %q", r.channel, got, want[r.channel])
		}
	}
}

// targetCase is a target of a channel, and what becomes of it.
type targetCase struct {
	check       func(*kernel.ValidationError, string, string) string
	target      string
	want, wrong string // want "": refused with a message that contains wrong
}

var (
	longLabel = strings.Repeat("a", 63)
	// longHost has 253 characters, the most that are allowed.
	longHost = strings.Join([]string{longLabel, longLabel, longLabel, strings.Repeat("b", 61)}, ".")
)

// urlOf returns a URL of this length.
func urlOf(length int) string {
	return "https://a.example/" + strings.Repeat("p", length-len("https://a.example/"))
}

// emailOf returns an address of this length.
func emailOf(length int) string {
	const local, end = "l23456789012345678901234567890@", ".example"
	name := strings.Repeat("abcdefgh.", 30)
	return local + strings.TrimSuffix(name[:length-len(local)-len(end)-1], ".") + "z" + end
}

var urlTargets = []targetCase{
	{kernel.CheckURL, "", "", "is required"}, {kernel.CheckURL, " ", "", "is required"},
	{kernel.CheckURL, "a.example", "", "must begin with"},
	{kernel.CheckURL, urlOf(kernel.MaxURLLength), urlOf(kernel.MaxURLLength), ""},
	{kernel.CheckURL, urlOf(kernel.MaxURLLength + 1), "", "without spaces"},
	{kernel.CheckURL, "https:///path", "", "without spaces"},
	{kernel.CheckURL, "https://a.example/a b", "", "without spaces"},
	{kernel.CheckURL, "https://a.example/\x7f", "", "without spaces"},
	{kernel.CheckURL, "https://a.example/~", "https://a.example/~", ""},
	{kernel.CheckURL, "mailto:a://b", "", "without spaces"},
	{kernel.CheckURL, "ftp://a.example", "", "without user name"},
	{kernel.CheckURL, "https://u@a.example", "", "without user name"},
	{kernel.CheckURL, "https://a.example:", "", "without user name"},
	{kernel.CheckURL, "https://a.example:0", "", "ports are from 1 to 65535"},
	{kernel.CheckURL, "https://a.example:65536", "", "ports are from 1 to 65535"},
	{kernel.CheckURL, "https://a.example:65535/", "https://a.example:65535/", ""},
	{kernel.CheckURL, "https://a.example:1/", "https://a.example:1/", ""},
	{kernel.CheckURL, " HTTPS://A.Example#f ", "https://a.example/", ""},
	{kernel.CheckURL, "http://a.example:80", "http://a.example/", ""},
	{kernel.CheckURL, "https://a.example:443", "https://a.example/", ""},
	{kernel.CheckURL, "http://a.example:443/", "http://a.example:443/", ""},
	{kernel.CheckURL, "https://a.example:80/", "https://a.example:80/", ""},
	{kernel.CheckURL, "https://[::1]:8080/", "https://[::1]:8080/", ""},
	{kernel.CheckURL, "https://" + longHost + "/", "https://" + longHost + "/", ""},
	{kernel.CheckURL, "https://" + longHost + "b/", "", "without user name"},
	{kernel.CheckURL, "https://" + longLabel + "/", "https://" + longLabel + "/", ""},
	{kernel.CheckURL, "https://" + longLabel + "a/", "", "without user name"},
	{kernel.CheckURL, "https://-a.example/", "", "without user name"},
	{kernel.CheckURL, "https://a-.example/", "", "without user name"},
	{kernel.CheckURL, "https://a..example/", "", "without user name"},
	{kernel.CheckURL, "https://a_b.example/", "https://a_b.example/", ""},
	{kernel.CheckURL, "https://a!b.example/", "", "without user name"},
	{kernel.CheckURL, "https://az09.example/", "https://az09.example/", ""},
	{kernel.CheckURL, "https://a{.example/", "", ""}, {kernel.CheckURL, "https://a~.example/", "", ""},
	{kernel.CheckURL, "https://a$.example/", "", "without user name"},
}

var emailTargets = []targetCase{
	{kernel.CheckEmail, "", "", "is required"},
	{kernel.CheckEmail, emailOf(kernel.MaxEmailLength), emailOf(kernel.MaxEmailLength), ""},
	{kernel.CheckEmail, emailOf(kernel.MaxEmailLength + 1), "", "an email address"},
	{kernel.CheckEmail, strings.Repeat("l", 64) + "@a.example", strings.Repeat("l", 64) + "@a.example", ""},
	{kernel.CheckEmail, strings.Repeat("l", 65) + "@a.example", "", "an email address"},
	{kernel.CheckEmail, " Ann@A.Example ", "ann@a.example", ""},
	{kernel.CheckEmail, "ann@example", "", "an email address"},
	{kernel.CheckEmail, "ann@127.1", "", "an email address"},
	{kernel.CheckEmail, "ann@a.0xff", "", "an email address"}, {kernel.CheckEmail, "ann@a.0xfg", "ann@a.0xfg", ""},
	{kernel.CheckEmail, "Ann <ann@a.example>", "", "an email address"},
	{kernel.CheckEmail, "<ann@a.example>", "", "an email address"},
	{kernel.CheckEmail, `"a b"@a.example`, "", "an email address"},
	{kernel.CheckEmail, `"ann"@a.example`, "", "an email address"},
	{kernel.CheckEmail, "ann@a.example, bob@a.example", "", "an email address"},
	{kernel.CheckEmail, "ann@a.example\r\nBcc: b@a.example", "", "an email address"},
	{kernel.CheckEmail, "ann@[1.2.3.4]", "", "an email address"},
	{kernel.CheckEmail, "a\x7fn@a.example", "", "an email address"},
	{kernel.CheckEmail, "a~n@a.example", "a~n@a.example", ""},
}

var phoneTargets = []targetCase{
	{checkPhone, "\t", "", "is required"}, {checkPhone, "+1234567", "+1234567", ""},
	{checkPhone, "+123456", "", "country code"}, {checkPhone, "+123456789012345", "+123456789012345", ""},
	{checkPhone, "+1234567890123456", "", "country code"}, {checkPhone, "+0234567", "", "country code"},
	{checkPhone, "0049 (0)151/123.456-78", "+4915112345678", ""},
	{checkPhone, "\u200b\u200f\u202a\u202e\u2066\u2069+1234567", "+1234567", ""},
	{checkPhone, "+123456\u200a7", "", "country code"}, {checkPhone, "+1234567\u2010\u2013", "+1234567", ""},
	{checkPhone, "+1234567\u2014", "", "country code"}, {checkPhone, "+١٢٣٠٩٩٩", "+1230999", ""},
	{checkPhone, "+۱۲۳۰۹۹۹", "+1230999", ""}, {checkPhone, "+123456७", "", "country code"},
}

// pushTargets are subscriptions of browsers, with a public key.
func pushTargets(key []byte) []targetCase {
	push := func(endpoint, key string, auth int) string {
		return PushTarget{endpoint, key, base64.RawURLEncoding.EncodeToString(make([]byte, auth))}.String()
	}
	const pushURL, browser = "https://fcm.googleapis.com/fcm/send/abc", "subscription of a browser"
	standard := base64.StdEncoding.EncodeToString(key)
	key64 := base64.RawURLEncoding.EncodeToString(key)
	return []targetCase{
		{checkPush, push(pushURL, key64, 16), push(pushURL, key64, 16), ""},
		{checkPush, push(pushURL, standard, 16), push(pushURL, standard, 16), ""},
		{checkPush, push("HTTPS://FCM.googleapis.com:443/a", key64, 16),
			push("https://fcm.googleapis.com/a", key64, 16), ""},
		{checkPush, "", "", browser}, {checkPush, pushURL, "", browser}, {checkPush, push("", key64, 16), "", browser},
		{checkPush, push("ftp://a", key64, 16), "", browser},
		{checkPush, push(pushURL, key64, 15), "", browser}, {checkPush, push(pushURL, key64, 17), "", browser},
		{checkPush, push(pushURL, key64[:40], 16), "", browser},
		{checkPush, push(pushURL, "!"+key64[1:], 16), "", browser},
		{checkPush, push(pushURL, base64.RawURLEncoding.EncodeToString(make([]byte, 65)), 16), "", browser},
		{checkPush, PushTarget{pushURL, key64, "!!"}.String(), "", browser},
	}
}

// TestTargetsOfChannels checks what is refused, with the message, and what is normalised.
func TestTargetsOfChannels(t *testing.T) {
	for _, c := range slices.Concat(urlTargets, emailTargets, phoneTargets, pushTargets(ecdhKey(t))) {
		var bad kernel.ValidationError
		got := c.check(&bad, "target", c.target)
		if got != c.want || (c.want == "") != (bad.Err() != nil) {
			t.Errorf("checkTarget(%q) = %q, want %q; %v", c.target, got, c.want, bad.Err())
		}
		if said := bad.Messages()["target"]; c.want == "" && (len(said) != 1 || !strings.Contains(said[0], c.wrong)) {
			t.Errorf("problem of the target %q: %q, want %q", c.target, said, c.wrong)
		}
	}
}

// ecdhKey returns the public key of a browser.
func ecdhKey(t *testing.T) []byte {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key.PublicKey().Bytes()
}

// TestServicesOfChannels holds at which hosts the targets of a channel with hosts may be, and what is shown of them.
func TestServicesOfChannels(t *testing.T) {
	const teams, hook = "https://prod-1.logic.azure.com", "/workflows/0123456789abcdef"
	for _, c := range []struct {
		channel Channel
		target  string
		want    bool
		shown   string
	}{
		{ChannelSlack, "https://hooks.slack.com/services/T0/B0/secret", true, "https://hooks.slack.com/…cret"},
		{ChannelSlack, "http://hooks.slack.com/services/T0/B0/secret", false, "http://hooks.slack.com/…cret"},
		{ChannelSlack, "https://hooks.slack.com:8443/services/T0/B0/secret", false,
			"https://hooks.slack.com:8443/…cret"},
		{ChannelSlack, "https://x.hooks.slack.com/services/T0/B0/secret", false, "https://x.hooks.slack.com/…cret"},
		{ChannelSlack, "https://hooks.slack.com.a.example/services/T0/B0/secret", false,
			"https://hooks.slack.com.a.example/…cret"},
		{ChannelTeams, teams + hook, true, teams + "/…cdef"},
		{ChannelTeams, "https://logic.azure.com" + hook, false, "https://logic.azure.com/…cdef"},
		{ChannelTeams, "https://xlogic.azure.com" + hook, false, "https://xlogic.azure.com/…cdef"},
		{ChannelMattermost, "http://chat.example:8065/hooks/123456789", true, "http://chat.example:8065/…"},
		{ChannelMattermost, "http://chat.example:8065/hooks/1234567890", true, "http://chat.example:8065/…7890"},
		{ChannelWebhook, "http://a.example/0123456789abcdef", true, "http://a.example/0123456789abcdef"},
		{ChannelPush, PushTarget{"https://fcm.googleapis.com/fcm/send/abcdefg", "k", "a"}.String(), true,
			"https://fcm.googleapis.com/…defg"},
		{ChannelPush, PushTarget{"https://a.example/fcm/send/abcdefg", "k", "a"}.String(), false,
			"https://a.example/…defg"},
		{ChannelPush, "https://fcm.googleapis.com/…cdef", true, "https://fcm.googleapis.com/…"},
	} {
		if got := c.channel.AtService(c.target); got != c.want || c.channel.Shown(c.target) != c.shown {
			t.Errorf("%s %s: at the service %v, shown as %s", c.channel, c.target, got, c.channel.Shown(c.target))
		}
	}
	if got := Channel("fax").Host("https://a.example"); got != "" {
		t.Errorf("the host of an unknown channel is %q", got)
	}
	got := ChannelPush.Host(PushTarget{Endpoint: "https://fcm.googleapis.com/a"}.String())
	if got != "fcm.googleapis.com" {
		t.Errorf("the host of a browser is %q", got)
	}
}
