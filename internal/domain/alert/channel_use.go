package alert

// ChannelUse is something that uses a channel.
type ChannelUse struct {
	Kind     ChannelUseKind
	ID, Name string // of what uses it; "" for subscribers' SMS
}

// ChannelUseKind says how a channel is used.
type ChannelUseKind string

// The ways to use a channel. A channel with a use other than UseFallback cannot be deleted.
const (
	UseRule     ChannelUseKind = "rule"           // a rule notifies it
	UseOnCall   ChannelUseKind = "on_call"        // an on-call schedule has a participant with it
	UseFallback ChannelUseKind = "fallback_of"    // another channel has it as its fallback
	UseSMS      ChannelUseKind = "subscriber_sms" // see Channel.SubscriberSMS
)

// String describes the use, such as "the rule Night".
func (u ChannelUse) String() string {
	switch u.Kind {
	case UseRule:
		return "the rule " + u.Name
	case UseOnCall:
		return "on call for " + u.Name
	case UseFallback:
		return "fallback of " + u.Name
	}
	return "subscribers' SMS"
}
