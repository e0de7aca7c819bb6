package cli

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/optional"
)

// SubscriberCommands are the commands of subscribers. NewSubscriberCommands returns them.
type SubscriberCommands struct {
	ClientSettings `embed:""`

	List   subscriberList   `cmd:"" help:"List a page's subscribers, newest first."`
	Show   subscriberShow   `cmd:"" help:"Show a subscriber."`
	Create subscriberCreate `cmd:"" aliases:"add" help:"Add a subscriber to a page."`
	Edit   subscriberEdit   `cmd:"" help:"Change the components of a subscriber, or whether a webhook is notified of the warnings of monitors."`
	Import subscriberImport `cmd:"" help:"Subscribe the email addresses, phones and chats of a list."`
	Export subscriberExport `cmd:"" help:"Print all subscribers of a page as CSV."`
	Resume subscriberResume `cmd:"" help:"End the suspension of a subscriber whose receiver rejected too many messages."`
	Test   subscriberTest   `cmd:"" help:"Send a test message to a subscriber: at most one a minute."`
	Rotate subscriberRotate `cmd:"" help:"Give a subscriber, such as a webhook, a new secret. Messages are also signed with the old one for another 24 hours."`
	Delete subscriberDelete `cmd:"" aliases:"remove" help:"Delete a subscriber. The server forgets its address."`
}

// NewSubscriberCommands returns the commands with the flags of all channels.
func NewSubscriberCommands() SubscriberCommands {
	return SubscriberCommands{Create: subscriberCreate{channelFlags: newChannelFlags()}}
}

type subscriberCreate struct {
	pageFlag
	Components []string `name:"component" sep:"none" placeholder:"COMPONENT" help:"Id, name or slug of a component; repeatable. Default: all components."`
	Confirmed  *bool    `help:"Request no confirmation, because the subscriber has agreed."`
	Warnings   *bool    `help:"Also notify the webhook of the warnings of monitors, which the page does not show."`
	channelFlags
}

func (cmd *subscriberCreate) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	subscriber := client.NewSubscriber{Confirmed: cmd.Confirmed, Warnings: cmd.Warnings}
	subscriber.Channel, subscriber.Target = cmd.target()
	var err error
	if subscriber.Components, err = c.components(cmd.Components, &cmd.pageFlag); err != nil {
		return err
	}
	added, err := c.api.CreateSubscriber(c.Ctx, cmd.Page, subscriber)
	return object(c, added, err, func(s *client.Subscriber) {
		switch {
		case s.Secret != "":
			c.Printf("Added the subscriber %s: %s is called from now on.\n", console.Visible(s.ID),
				console.Visible(s.Target))
			c.printSecret(s)
		case s.Confirmed && s.Channel == client.ChannelEmail:
			c.Printf("Added the subscriber %s: %s is notified from now on, if the server sends mail.\n",
				console.Visible(s.ID), console.Visible(s.Target))
		case s.Confirmed:
			c.Printf("Added the subscriber %s: %s is notified from now on.\n", console.Visible(s.ID),
				console.Visible(s.Target))
		case audience.Channel(s.Channel).Coded():
			c.Printf("Added the subscriber %s: %s is sent a code, which has to be entered on the page. To see the "+
				"delivery: allswell delivery list --page %s\n",
				console.Visible(s.ID), console.Visible(s.Target), console.Visible(cmd.Page))
		default:
			c.Printf("Added the subscriber %s: %s is asked to confirm first, if the server sends mail. To see the "+
				"delivery: allswell delivery list --page %s\n",
				console.Visible(s.ID), console.Visible(s.Target), console.Visible(cmd.Page))
		}
	})
}

type subscriberEdit struct {
	subscriberArgument
	Components []string `name:"component" sep:"none" xor:"components" placeholder:"COMPONENT" help:"Id, name or slug of a component; repeatable. Replaces all others."`
	WholePage  bool     `xor:"components" help:"Notify the subscriber about all components."`
	Warnings   *bool    `negatable:"" help:"Notify the webhook of the warnings of monitors, which the page does not show."`
}

func (cmd *subscriberEdit) Run(c *commandContext) error {
	change := client.SubscriberChange{Warnings: cmd.Warnings}
	if len(cmd.Components) > 0 || cmd.WholePage {
		ids, err := c.components(cmd.Components, &cmd.pageFlag)
		if err != nil {
			return err
		}
		change.Components = &ids
	}
	if err := checkNotEmpty(change); err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	subscriber, err := c.api.ChangeSubscriber(c.Ctx, cmd.Page, id, change)
	if err != nil {
		return err
	}
	return object(c, subscriber, nil, func(s *client.Subscriber) {
		if change.Components != nil {
			about, err := c.aboutText(cmd.Page, s)
			if err != nil { // the subscriber is changed all the same
				about = strings.Join(s.Components, ", ")
			}
			c.Printf("The subscriber %s is notified of: %s.\n", console.Visible(s.Target), console.Visible(about))
		}
		if change.Warnings != nil {
			c.Printf("The subscriber %s is %s of warnings.\n", console.Visible(s.Target),
				map[bool]string{true: "notified", false: "not notified"}[s.Warnings])
		}
	})
}

// aboutText returns what a subscriber of a page is notified about: the whole page, or the names of components.
func (c *commandContext) aboutText(page string, s *client.Subscriber) (string, error) {
	switch {
	case s.WholePage:
		return "all components", nil
	case len(s.Components) == 0:
		return "components that are deleted", nil
	}
	all := make(names)
	err := addNames(c, all, s.Components, c.api.ListComponents(page), func(v *client.Component) (id, name string) {
		return v.ID, v.Name
	})
	return strings.Join(all.of(s.Components), ", "), err
}

// channelFlags are the flags of subscriber create that give the target: --email, --webhook, one for each channel.
// Because the channels are a table, the struct that the parser fills in is made at run time.
type channelFlags struct{ kong.Plugins }

// newChannelFlags returns the flags of all channels.
func newChannelFlags() channelFlags {
	var fields []reflect.StructField
	for i, channel := range audience.OperatorChannels {
		label := channel.TargetLabel()
		help := strings.ToUpper(label[:1]) + label[1:] + " to notify."
		if channel.Chat() {
			help += " It is shown in part only."
		}
		if channel.Confirmed() {
			help += " A confirmation is requested first."
		}
		if channel.Signed() {
			help += " Its secret is printed only once."
		}
		placeholder := strings.ToUpper(label[strings.LastIndexByte(label, ' ')+1:])
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Channel%d", i), Type: reflect.TypeFor[*string](),
			Tag: reflect.StructTag(fmt.Sprintf(`name:%q required:"" xor:"target" placeholder:%q help:%q`,
				flagOfChannel(client.SubscriberChannel(channel))[2:], placeholder, help)),
		})
	}
	return channelFlags{kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}}
}

// target returns the flag that is given and its channel.
func (f channelFlags) target() (channel client.SubscriberChannel, target string) {
	values := reflect.ValueOf(f.Plugins[0]).Elem()
	for i, channel := range audience.OperatorChannels {
		if value := values.Field(i).Interface().(*string); value != nil {
			return client.SubscriberChannel(channel), *value
		}
	}
	return "", ""
}

// flagOfChannel returns the name of the flag for the targets of a channel.
func flagOfChannel(channel client.SubscriberChannel) string {
	return "--" + strings.ReplaceAll(string(channel), "_", "-")
}

// printSecret prints the new secret of a subscriber.
func (c *commandContext) printSecret(s *client.Subscriber) {
	c.Printf("Messages are signed with this secret, which is shown only this once:\n\n  %s\n",
		console.Visible(s.Secret))
}

type subscriberList struct {
	pageFlag
	Search  string                   `placeholder:"TEXT" help:"Only subscribers whose address contains this."`
	Channel client.SubscriberChannel `placeholder:"CHANNEL" help:"Only subscribers of this channel: email, webhook, slack, discord, teams, google_chat, mattermost, sms or push."`
	State   client.SubscriberState   `placeholder:"STATE" help:"Only subscribers in this state: active, unconfirmed or suspended."`
	listing
}

func (cmd *subscriberList) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	subscribers, total, err := c.api.ListSubscribers(cmd.Page, client.SubscriberFilter{
		Contains: cmd.Search, Channel: cmd.Channel, State: cmd.State,
	}).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	header := []string{"SUBSCRIBER", "CHANNEL", "STATE", "ADDED BY", "ABOUT", "TARGET"}
	return table(c, subscribers, total, "No subscribers yet.", header, func(s *client.Subscriber) []string {
		about := "all components"
		switch {
		case s.WholePage:
		case len(s.Components) == 0:
			about = "components that are deleted"
		case len(s.Components) == 1:
			about = "1 component"
		default:
			about = strconv.Itoa(len(s.Components)) + " components"
		}
		return []string{s.ID, channelName(s.Channel), subscriberState(s), s.AddedBy, about, s.Target}
	})
}

// channelName returns the name of a channel for people. Channels of newer servers keep the name of the API.
func channelName(channel client.SubscriberChannel) string {
	return cmp.Or(audience.Channel(channel).Name(), string(channel))
}

// subscriberState returns the state of a subscriber, for people.
func subscriberState(s *client.Subscriber) string {
	switch {
	case !s.Confirmed:
		return "unconfirmed"
	case s.SuspendedAt != nil:
		return "suspended"
	}
	return "active"
}

// subscriberArgument is embedded by the commands of one subscriber of a page.
type subscriberArgument struct {
	pageFlag
	Subscriber string `arg:"" help:"Id or address of the subscriber. For a chat: its URL, whole or shortened as in the list."`
}

// id returns the id of the subscriber, and chooses the page.
func (s *subscriberArgument) id(c *commandContext) (string, error) {
	if err := s.choose(c); err != nil || strings.HasPrefix(s.Subscriber, kernel.PrefixSubscriber) {
		return s.Subscriber, err
	}
	if phone, err := (audience.NewSubscriber{Channel: audience.ChannelSMS, Target: s.Subscriber}).Check(); err == nil {
		s.Subscriber = phone.Target // without spaces, as the server stores it
	}
	list := c.api.ListSubscribers(s.Page, client.SubscriberFilter{Target: s.Subscriber})
	return find(c, list, resourceKind{"subscriber", kernel.PrefixSubscriber}, s.Subscriber,
		func(v *client.Subscriber) (id, name string) {
			if audience.Channel(v.Channel).Secret() {
				return v.ID, s.Subscriber // the server compares the whole URL, which it does not show
			}
			return v.ID, v.Target
		})
}

type subscriberShow struct{ subscriberArgument }

func (cmd *subscriberShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	subscriber, err := c.api.GetSubscriber(c.Ctx, cmd.Page, id)
	if err != nil {
		return err
	}
	about, err := c.aboutText(cmd.Page, subscriber)
	return object(c, subscriber, err, func(s *client.Subscriber) {
		suspended := ""
		if s.SuspendedAt != nil {
			suspended = console.Time(*s.SuspendedAt) + ": " + optional.Value(s.SuspendedFor)
		}
		consent := ""
		if s.Consent != nil {
			consent = s.Consent.Text + " (stated by " + s.Consent.By + ")"
		}
		warnings := ""
		if s.Warnings {
			warnings = "yes"
		}
		c.Properties([2]string{"Target", s.Target}, [2]string{"Id", s.ID}, [2]string{"Channel", channelName(s.Channel)},
			[2]string{"State", subscriberState(s)}, [2]string{"Added by", s.AddedBy}, [2]string{"Subscribed to", about},
			[2]string{"Warnings", warnings}, [2]string{"Suspended", suspended},
			[2]string{"Refusals", strconv.Itoa(s.Refusals)}, [2]string{"Created", console.Time(s.CreatedAt)},
			[2]string{"Confirmed", timeOr(s.ConfirmedAt, "")}, [2]string{"Consent", consent})
	})
}

type subscriberRotate struct{ subscriberArgument }

func (cmd *subscriberRotate) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	subscriber, err := c.api.RotateSubscriber(c.Ctx, cmd.Page, id)
	return object(c, subscriber, err, func(s *client.Subscriber) {
		c.printSecret(s)
		c.Printf("\nMessages are signed with the old secret too for another 24 hours.\n")
	})
}

type subscriberExport struct{ pageFlag }

func (cmd *subscriberExport) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	rows := [][]string{audience.SubscriberCSVHeader}
	for s, err := range c.api.ListSubscribers(cmd.Page, client.SubscriberFilter{}).All(c.Ctx) {
		if err != nil {
			return err
		}
		rows = append(rows, []string{s.Target, string(s.Channel), subscriberState(s), strings.Join(s.Components, " "),
			timeCell(&s.CreatedAt), timeCell(s.ConfirmedAt), timeCell(s.SuspendedAt), optional.Value(s.SuspendedFor),
			consentOf(s).Text, consentOf(s).By, strconv.FormatBool(s.Warnings)})
	}
	var out strings.Builder
	if err := kernel.WriteCSV(&out, rows); err != nil {
		return err
	}
	c.Printf("%s", out.String())
	return nil
}

// consentOf returns the consent of an imported subscriber, or the zero value.
func consentOf(s *client.Subscriber) client.Consent {
	if s.Consent == nil {
		return client.Consent{}
	}
	return *s.Consent
}

// timeCell returns a time for a cell of CSV, or "" if there is none.
func timeCell(t *time.Time) string {
	if t == nil {
		return ""
	}
	return kernel.FormatTime(*t)
}

type subscriberResume struct{ subscriberArgument }

func (cmd *subscriberResume) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	subscriber, err := c.api.ResumeSubscriber(c.Ctx, cmd.Page, id)
	return object(c, subscriber, err, func(s *client.Subscriber) {
		c.Printf("The subscriber %s is %s.\n", console.Visible(s.Target), subscriberState(s))
	})
}

type subscriberTest struct{ subscriberArgument }

func (cmd *subscriberTest) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	delivery, err := c.api.TestSubscriber(c.Ctx, cmd.Page, id)
	return object(c, delivery, err, func(d *client.Delivery) {
		c.Printf("The test message is queued. To see its delivery: allswell delivery list --page %s --subscriber %s\n",
			console.Visible(cmd.Page), console.Visible(d.SubscriberID))
	})
}

type subscriberDelete struct {
	subscriberArgument
	unasked
}

func (cmd *subscriberDelete) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	return c.deleted(c.api.DeleteSubscriber(c.Ctx, cmd.Page, id), "subscriber", cmd.Subscriber)
}
