package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

const channelsPath = Path + "/channels"

// channelsScreen is the data of the template channels.
type channelsScreen struct {
	Channels []shownChannel
	Pager    pager
	CanEdit  bool
}

// shownChannel is a channel with words for people.
type shownChannel struct{ alert.Channel }

// FallbackOf returns the uses of the channel as a fallback, which end when it is deleted.
func (c shownChannel) FallbackOf() []alert.ChannelUse { return c.usedAs(true) }

// NeededBy returns what uses the channel other than as a fallback. Until that has changed, it cannot be deleted.
func (c shownChannel) NeededBy() []alert.ChannelUse { return c.usedAs(false) }

func (c shownChannel) usedAs(fallback bool) (uses []alert.ChannelUse) {
	for _, u := range c.UsedBy {
		if (u.Kind == alert.UseFallback) == fallback {
			uses = append(uses, u)
		}
	}
	return uses
}

// TypeName returns the name of the channel's type for people.
func (c shownChannel) TypeName() string { return typeName(c.Type) }

// typeName returns the name of a type of channels for people.
func typeName(name string) string {
	if t, ok := alertchannel.TypeOf(name); ok {
		return t.Label
	}
	return name
}

// Failing reports whether the last attempt to use the channel failed.
func (c shownChannel) Failing() bool { return !c.Health.FailingSince.IsZero() }

// State says in few words whether the channel works.
func (c shownChannel) State() string {
	switch {
	case !c.Enabled:
		return "Disabled"
	case c.UnconfirmedAddress() != "":
		return "Waits for confirmation of " + c.UnconfirmedAddress()
	case c.Health.SecretsUnreadable:
		return "Secrets cannot be decrypted"
	case c.Health.CommandMissing:
		return "No program"
	case c.Failing():
		return "Failing"
	case c.Health.TestFailed():
		return "Test failed"
	case !c.Health.AcceptedAt.IsZero():
		return "Works"
	}
	return "Not used yet"
}

// Tone returns the name of the tone of the state.
func (c shownChannel) Tone() string {
	switch {
	case !c.Enabled:
		return kernel.NeutralTone.Name
	case c.Failing(), c.Health.SecretsUnreadable, c.Health.CommandMissing:
		return kernel.StatusMajorOutage.Tone().Name
	case c.Health.TestFailed(), c.UnconfirmedAddress() != "":
		return kernel.StatusDegraded.Tone().Name
	case c.Health.AttemptedAt.IsZero():
		return kernel.NeutralTone.Name
	}
	return kernel.StatusOperational.Tone().Name
}

// showChannels lists the channels.
func (v *visit) showChannels() error {
	r := pagination(v.r.URL.Query())
	channels, total, err := v.store.AlertChannels().List(v.r.Context(), v.actor(), "", store.Filter{}, r)
	if err != nil {
		return err
	}
	s := channelsScreen{
		Pager: newPager(channelsPath, url.Values{}, r, len(channels), total), CanEdit: v.may(rights.ChannelChange),
	}
	for _, c := range channels {
		s.Channels = append(s.Channels, shownChannel{c})
	}
	return v.showLive("channels", "Channels", s)
}

// channels returns all channels of the workspace.
func (v *visit) channels() ([]alert.Channel, error) {
	all, _, err := v.store.AlertChannels().List(v.r.Context(), v.actor(), "", store.Filter{}, store.Pagination{
		Page: 1, PerPage: alert.MaxChannels,
	})
	return all, err
}

// maxChannelMessages is how many of the last messages of a channel are shown.
const maxChannelMessages = 20

// channelScreen is the data of the template channel.
type channelScreen struct {
	*channelForm
	shownChannel
	Messages []channelMessage
	Fallback string // name
	Facts    []fact
	CanEdit  bool
	NoRules  bool           // the workspace has no rule
	Tested   *channelResult // of the test that was asked for; nil: none was
}

// WorkspaceID returns the workspace in which the form acts. The channel has a field of this name, too.
func (s channelScreen) WorkspaceID() string { return s.channelForm.WorkspaceID }

// UsePath returns the path of what uses the channel; "": there is no screen of it that the visitor may open.
func (s channelScreen) UsePath(u alert.ChannelUse) string {
	switch u.Kind {
	case alert.UseRule:
		if s.CanEdit {
			return alertRulesPath + "/" + u.ID
		}
	case alert.UseOnCall:
		return onCallPath + "/" + u.ID
	case alert.UseFallback:
		return channelsPath + "/" + u.ID
	}
	return ""
}

// Retried reports whether a message that was not accepted is sent again.
func (s channelScreen) Retried() bool { return s.Enabled && s.Failing() && !s.Health.NextAt.IsZero() }

// channelResult is the result of a test message.
type channelResult struct{ audience.SendOutcome }

// Accepted reports whether the service accepted the message.
func (r channelResult) Accepted() bool { return r.Result == audience.SendAccepted }

// Why returns why the service did not accept it.
func (r channelResult) Why() string { return cmp.Or(r.Reason, "The reason is not known.") }

// showChannel shows a channel.
func (v *visit) showChannel() error {
	c, err := v.store.AlertChannels().Get(v.r.Context(), v.actor(), "", v.r.PathValue("channel"))
	if err != nil {
		return err
	}
	return v.answerChannel(http.StatusOK, c, newChannelForm(channelValues(c), c), nil)
}

// answerChannel shows a channel with the form that edits it.
func (v *visit) answerChannel(status int, c alert.Channel, f *channelForm, tested *channelResult) error {
	all, err := v.channels()
	if err != nil {
		return err
	}
	_, rules, err := v.store.AlertRules().List(v.r.Context(), v.actor(), "", store.Filter{},
		store.Pagination{Page: 1, PerPage: 1})
	if err != nil {
		return err
	}
	s := channelScreen{
		channelForm: f, shownChannel: shownChannel{c}, CanEdit: v.may(rights.ChannelChange), NoRules: rules == 0,
		Tested: tested,
		Facts:  typeFacts(f.Type.Fields, channelValues(c), c.SecretFields),
	}
	for i, x := range s.Facts {
		if x.Secret == "url" && c.URLHost != "" {
			s.Facts[i].Value = "of " + c.URLHost + ", not shown"
		}
	}
	for _, other := range all {
		if other.ID == c.FallbackID {
			s.Fallback = other.Name
		}
	}
	f.draw(all)
	messages, err := v.store.ChannelMessages(v.r.Context(), v.actor(), c.ID, maxChannelMessages)
	if err != nil {
		return err
	}
	for _, m := range messages {
		s.Messages = append(s.Messages, channelMessage{m})
	}
	return v.show(status, "channel", c.Name, s)
}

// testChannel sends a test message, and shows the channel with the result, which its health then says, too.
func (v *visit) testChannel() error {
	c, err := v.store.AlertChannels().Get(v.r.Context(), v.actor(), "", v.r.PathValue("channel"))
	if err != nil {
		return err
	}
	f := newChannelForm(channelValues(c), c)
	var result *channelResult
	if err = c.HasSecrets(); err == nil {
		result, err = v.sendTest(c)
	}
	if f.refused(err) {
		return v.answerChannel(http.StatusUnprocessableEntity, c, f, nil)
	}
	if err != nil {
		return err
	}
	if err = v.store.RecordRequestedTest(v.r.Context(), c.ID, result.SendOutcome); err == nil {
		c, err = v.store.AlertChannels().Get(v.r.Context(), v.actor(), "", c.ID)
	}
	if err != nil {
		return err
	}
	return v.answerChannel(http.StatusOK, c, f, result)
}

// sendTest sends a test message to a channel with its secrets.
func (v *visit) sendTest(c alert.Channel) (*channelResult, error) {
	if v.channelTests == nil {
		return nil, errNoTests
	}
	c, err := v.store.PrepareTest(v.r.Context(), v.actor(), c)
	if err != nil {
		return nil, err
	}
	outcome, err := v.channelTests.Test(v.r.Context(), v.actor(), c)
	if err != nil {
		return nil, tooManyTests(err)
	}
	return &channelResult{outcome}, nil
}

// enableChannel enables or disables a channel.
func (v *visit) enableChannel() error {
	c, err := v.store.AlertChannels().Change(v.r.Context(), v.actor(), "", v.r.PathValue("channel"),
		func(c *alert.Channel) error {
			c.Enabled = v.r.PostForm.Get("enabled") == "true"
			return nil
		}, kernel.Precondition{})
	if err != nil {
		return v.channelRefused(err)
	}
	return v.redirect(channelsPath + "/" + c.ID)
}

// deleteChannel deletes a channel that nothing but other channels uses.
func (v *visit) deleteChannel() error {
	if err := v.store.AlertChannels().Delete(
		v.r.Context(), v.actor(), "", v.r.PathValue("channel"), kernel.Precondition{},
	); err != nil {
		return v.channelRefused(err)
	}
	return v.redirect(channelsPath)
}

// channelRefused shows the channel with the error of a button.
func (v *visit) channelRefused(err error) error {
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) {
		return err
	}
	c, err := v.store.AlertChannels().Get(v.r.Context(), v.actor(), "", v.r.PathValue("channel"))
	if err != nil {
		return err
	}
	f := newChannelForm(channelValues(c), c)
	f.refused(bad)
	return v.answerChannel(http.StatusUnprocessableEntity, c, f, nil)
}

// channelMessage is a message as it is shown.
type channelMessage struct{ store.ChannelMessage }

// Label says what the message was about.
func (m channelMessage) Label() string { return noticeNames[m.Kind] }
