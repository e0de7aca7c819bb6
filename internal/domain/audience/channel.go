package audience

import (
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Channel is a way to reach a subscriber.
type Channel string

// The channels. internal/worker/notify sends the messages of each.
const (
	ChannelEmail      Channel = "email"
	ChannelWebhook    Channel = "webhook"
	ChannelSlack      Channel = "slack"
	ChannelDiscord    Channel = "discord"
	ChannelTeams      Channel = "teams"
	ChannelGoogleChat Channel = "google_chat"
	ChannelMattermost Channel = "mattermost"
	ChannelSMS        Channel = "sms"
	ChannelPush       Channel = "push"
)

// channelRules is how the subscriptions and deliveries of a channel behave.
type channelRules struct {
	channel Channel

	// name is the display name of the channel, and label the term for a target.
	name, label string

	// confirmed means that the holder of the target has to confirm a subscription that an operator adds before any
	// other message is sent to it. Subscriptions of visitors always have to be confirmed.
	confirmed bool

	// coded means that the subscription is confirmed by a code from a message.
	coded bool

	// gateway means that one server of this installation accepts all messages. Targets are then addresses of people,
	// and not URLs.
	gateway bool

	// chat means that the target is the URL of a chat's incoming webhook.
	chat bool

	// secret means that anyone who has the target can post there. Only the host and the end of its URL are shown.
	secret bool

	// own means that only the receiver can subscribe, and not an operator.
	own bool

	// hosts are the hosts that the service gives such URLs; one that begins with a dot stands for all names below it.
	// nil: everybody can run the service.
	hosts []string

	// signed means that each subscriber has a secret that signs its messages.
	signed bool

	// merged means that a message contains everything that is pending for the subscriber, and that notifications about
	// a flapping monitor are delayed. Otherwise each event is a message of its own, and messages about different
	// incidents do not wait for one another.
	merged bool

	// componentChanges means that each status change of a component is sent.
	componentChanges bool

	// warnings means that subscribers that an operator added can ask for the warnings of monitors.
	warnings bool

	// checkTarget returns the normalised target, or adds an error to bad.
	checkTarget func(bad *kernel.ValidationError, field, target string) string

	// host returns the destination of a valid target. Limits, and pauses after failures, apply to all deliveries of a
	// channel to one destination.
	host func(target string) string
}

// channelTable has one row per channel, in the order in which they are listed.
var channelTable = []channelRules{
	{
		channel: ChannelEmail, name: "Email", label: "email address", gateway: true, confirmed: true, merged: true,
		checkTarget: kernel.CheckEmail, host: fixedHost("mail"),
	},
	{
		channel: ChannelWebhook, name: "Webhook", label: "webhook URL", signed: true, componentChanges: true,
		warnings: true, checkTarget: kernel.CheckURL, host: hostOfURL,
	},
	chatRules(ChannelSlack, "Slack", "hooks.slack.com", "hooks.slack-gov.com"),
	chatRules(ChannelDiscord, "Discord", "discord.com", "ptb.discord.com", "canary.discord.com", "discordapp.com"),
	chatRules(ChannelTeams, "Microsoft Teams", ".logic.azure.com", ".environment.api.powerplatform.com",
		".webhook.office.com"),
	chatRules(ChannelGoogleChat, "Google Chat", "chat.googleapis.com"),
	chatRules(ChannelMattermost, "Mattermost"),
	{
		channel: ChannelSMS, name: "SMS", label: "mobile phone number", gateway: true, confirmed: true, coded: true,
		merged: true, checkTarget: checkPhone, host: fixedHost("sms"),
	},
	{
		channel: ChannelPush, name: "Browser", label: "subscription of a browser", secret: true, own: true,
		hosts: pushHosts, merged: true, checkTarget: checkPush,
		host: func(target string) string { return hostOfURL(pushEndpoint(target)) },
	},
}

// chatRules returns the row of a chat. Chats get the same merged messages as mail, because people read both.
func chatRules(channel Channel, name string, hosts ...string) channelRules {
	return channelRules{
		channel: channel, name: name, label: name + " incoming-webhook URL", confirmed: true, coded: true, chat: true,
		secret: true, hosts: hosts, merged: true, checkTarget: kernel.CheckURL, host: hostOfURL,
	}
}

// Channels are the names of all channels.
var Channels = channelsWhere(func(channelRules) bool { return true })

// The channels with a property, for queries over all subscribers.
var (
	MergedChannels          = channelsWhere(func(r channelRules) bool { return r.merged })
	ComponentChangeChannels = channelsWhere(func(r channelRules) bool { return r.componentChanges })

	// ChatChannels are the channels whose target is the URL of a chat's incoming webhook.
	ChatChannels = channelsWhere(func(r channelRules) bool { return r.chat })

	// OperatorChannels are the channels whose targets an operator can add.
	OperatorChannels = channelsWhere(func(r channelRules) bool { return !r.own })
)

func channelsWhere(holds func(channelRules) bool) (channels []Channel) {
	for _, r := range channelTable {
		if holds(r) {
			channels = append(channels, r.channel)
		}
	}
	return channels
}

// rules returns the row of the channel. ok is false if there is no such channel.
func (c Channel) rules() (r channelRules, ok bool) {
	i := slices.IndexFunc(channelTable, func(r channelRules) bool { return r.channel == c })
	if i < 0 {
		return channelRules{}, false
	}
	return channelTable[i], true
}

// Name returns the display name of the channel, such as "Google Chat".
func (c Channel) Name() string { r, _ := c.rules(); return r.name }

// TargetLabel returns the term for a target of the channel, such as "email address".
func (c Channel) TargetLabel() string { r, _ := c.rules(); return r.label }

// Confirmed reports whether the holder of the target has to confirm a subscription that an operator adds.
func (c Channel) Confirmed() bool { r, _ := c.rules(); return r.confirmed }

// Coded reports whether subscriptions are confirmed by a code from a message.
func (c Channel) Coded() bool { r, _ := c.rules(); return r.coded }

// Gateway reports whether one server of this installation accepts all messages, so that targets are addresses of
// people, and not URLs.
func (c Channel) Gateway() bool { r, _ := c.rules(); return r.gateway }

// Chat reports whether targets are URLs of a chat's incoming webhooks.
func (c Channel) Chat() bool { r, _ := c.rules(); return r.chat }

// Secret reports whether targets are secrets, which are shown in part only.
func (c Channel) Secret() bool { r, _ := c.rules(); return r.secret }

// shownEnd is how many characters of the end of a secret target are shown, and shownMin how many
// it must have after its host for that.
const shownEnd, shownMin = 4, 16

// Shown returns the part of a valid target that is shown: all of it, or only the host and the end of the URL if it is
// secret.
func (c Channel) Shown(target string) string {
	if !c.Secret() {
		return target
	}
	if c == ChannelPush {
		target = pushEndpoint(target)
	}
	scheme, rest, _ := strings.Cut(target, "://")
	host, path, _ := strings.Cut(rest, "/")
	end := ""
	if len(path) >= shownMin {
		end = path[len(path)-shownEnd:]
	}
	return scheme + "://" + host + "/…" + end
}

// AtOneHost reports whether targets are only at the hosts of the channel's service.
func (c Channel) AtOneHost() bool { r, _ := c.rules(); return r.hosts != nil }

// AtService reports whether a valid target is at a host and a path of the channel's service. It is true for channels
// that are not bound to hosts.
func (c Channel) AtService(target string) bool {
	r, _ := c.rules()
	if c == ChannelPush {
		target = pushEndpoint(target)
	}
	u, err := url.Parse(target)
	return r.hosts == nil ||
		err == nil && u.Scheme == "https" && u.Port() == "" && c.atServicePath(u.Path) &&
			slices.ContainsFunc(r.hosts, func(host string) bool {
				return u.Host == host || host[0] == '.' && strings.HasSuffix(u.Host, host)
			})
}

// Signed reports whether each subscriber has a secret that signs its messages.
func (c Channel) Signed() bool { r, _ := c.rules(); return r.signed }

// Merged reports whether one message contains everything that is pending for a subscriber.
func (c Channel) Merged() bool { return slices.Contains(MergedChannels, c) }

// ComponentChanges reports whether status changes of components are sent.
func (c Channel) ComponentChanges() bool { return slices.Contains(ComponentChangeChannels, c) }

// Warnings reports whether subscribers that an operator added can ask for the warnings of monitors.
func (c Channel) Warnings() bool { r, _ := c.rules(); return r.warnings }

// Host returns the destination of a valid target: the host of a webhook, or the same value
// for every email address, because one server accepts all mail, and for every phone number.
func (c Channel) Host(target string) string {
	if r, ok := c.rules(); ok {
		return r.host(target)
	}
	return ""
}

// fixedHost is the host function of a channel with one destination for all targets.
func fixedHost(name string) func(string) string { return func(string) string { return name } }

// hostOfURL returns the host of a URL, with the port if it has one.
func hostOfURL(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Host
}
