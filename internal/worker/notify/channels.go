package notify

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/shared/fair"
)

// channels is the registry. Each kind of channel is one file of this package (chat.go has all chats), one row of the
// table in internal/domain/audience/channel.go, which has the rules that do not depend on how messages are sent, and
// one column of the table in docs/subscribers.md.
var channels = []channel{
	emailChannel, webhookChannel,
	chatChannel(audience.ChannelSlack), chatChannel(audience.ChannelDiscord), chatChannel(audience.ChannelTeams),
	chatChannel(audience.ChannelGoogleChat), chatChannel(audience.ChannelMattermost), smsChannel, pushChannel,
}

// channel is a way to send messages.
type channel struct {
	name       audience.Channel
	serverName string // what the log calls the server that takes all messages; "": each target has its own

	places       int // maximum number of messages being sent at a time; one workspace has half of them
	perWorkspace int // maximum number of messages of one workspace being sent at a time; 0: half of all
	perHost      int // maximum number of messages of one workspace being sent to one destination: see fair.GateConfig
	ahead        int // maximum number of further messages that are claimed

	minPause time.Duration
	maxPause time.Duration // a failing destination is not sent to for a pause, which doubles from minPause to maxPause

	// open returns the sender of a Notifier with the given settings.
	open func(Config) sender
}

// claims returns the maximum number of messages that are claimed at a time.
func (c channel) claims() int { return c.places + c.ahead }

func (c channel) gate() *fair.Gate {
	return fair.NewGate(fair.GateConfig{
		Places: c.claims(), PerWorkspace: c.perWorkspace, PerHost: c.perHost, MinPause: c.minPause,
		MaxPause: c.maxPause,
	})
}

// sender sends the messages of one channel. It is safe for concurrent use.
type sender interface {
	// send makes one attempt to send a notification, and returns what the attempt means for the delivery. It returns
	// soon after ctx ends, which is after at most audience.SendTimeout.
	send(ctx context.Context, n audience.Notification) audience.SendOutcome

	// refuses returns why no message is sent to a valid target, or nil if that is not known
	// before the attempt. It may wait for the DNS for a short time.
	refuses(ctx context.Context, target string) error

	// server returns the address of the server that takes all messages, or "" if there
	// is none. An outage of it is logged once, and not for each message.
	server() string

	// close releases idle connections. send is not called afterwards.
	close()
}
