package alerting

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
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// channelsScreen is the data of the template channels.
type channelsScreen struct {
	Channels []shownChannel
	Pager    frame.Pager
	CanEdit  bool
}

// shownChannel is a channel with texts for people.
type shownChannel struct{ alert.Channel }

// FallbackOf returns the uses of the channel as a fallback, which end when it is deleted.
func (c shownChannel) FallbackOf() []alert.ChannelUse { return c.usedAs(true) }

// NeededBy returns the other uses of the channel. While there are any, it cannot be deleted.
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

// State describes in few words whether the channel works.
func (c shownChannel) State() string {
	switch {
	case !c.Enabled:
		return "Disabled"
	case c.UnconfirmedAddress() != "":
		return "Waiting for confirmation of " + c.UnconfirmedAddress()
	case c.Health.SecretsUnreadable:
		return "Secrets cannot be decrypted"
	case c.Health.CommandMissing:
		return "No program"
	case c.Failing():
		return "Failing"
	case c.Health.TestFailed():
		return "Test failed"
	case !c.Health.AcceptedAt.IsZero():
		return "Working"
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
func (r *request) showChannels() error {
	rows := frame.Pagination(r.URL.Query())
	channels, total, err := r.Store.AlertChannels().List(r.Context(), r.Actor(), "", store.Filter{}, rows)
	if err != nil {
		return err
	}
	s := channelsScreen{
		Pager:   frame.NewPager(frame.ChannelsPath, url.Values{}, rows, len(channels), total),
		CanEdit: r.May(rights.ChannelChange),
	}
	for _, c := range channels {
		s.Channels = append(s.Channels, shownChannel{c})
	}
	return r.Show(http.StatusOK, "channels", "Channels", s)
}

// channels returns all channels of the workspace.
func (r *request) channels() ([]alert.Channel, error) {
	all, _, err := r.Store.AlertChannels().List(r.Context(), r.Actor(), "", store.Filter{}, store.Pagination{
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
	Settings []frame.ShownSetting
	CanEdit  bool
	NoRules  bool           // the workspace has no rule
	Tested   *channelResult // of the requested test; nil: none was requested
}

// WorkspaceID returns the workspace in which the form acts. The channel has a field of this name, too.
func (s channelScreen) WorkspaceID() string { return s.channelForm.WorkspaceID }

// UsePath returns the path of an object that uses the channel; "": the visitor may not open a screen of it.
func (s channelScreen) UsePath(u alert.ChannelUse) string {
	switch u.Kind {
	case alert.UseRule:
		if s.CanEdit {
			return frame.AlertRulesPath + "/" + u.ID
		}
	case alert.UseOnCall:
		return frame.OnCallPath + "/" + u.ID
	case alert.UseFallback:
		return frame.ChannelsPath + "/" + u.ID
	}
	return ""
}

// Retried reports whether a rejected message will be sent again.
func (s channelScreen) Retried() bool { return s.Enabled && s.Failing() && !s.Health.NextAt.IsZero() }

// channelResult is the result of a test message.
type channelResult struct{ audience.SendOutcome }

// Accepted reports whether the service accepted the message.
func (r channelResult) Accepted() bool { return r.Result == audience.SendAccepted }

// Why returns the reason of a rejection.
func (r channelResult) Why() string { return cmp.Or(r.Reason, "The reason is not known.") }

// showChannel shows a channel.
func (r *request) showChannel() error {
	c, err := r.Store.AlertChannels().Get(r.Context(), r.Actor(), "", r.PathValue("channel"))
	if err != nil {
		return err
	}
	return r.answerChannel(http.StatusOK, c, newChannelForm(channelValues(c), c), nil)
}

// answerChannel shows a channel with the form that edits it.
func (r *request) answerChannel(status int, c alert.Channel, f *channelForm, tested *channelResult) error {
	all, err := r.channels()
	if err != nil {
		return err
	}
	_, rules, err := r.Store.AlertRules().List(r.Context(), r.Actor(), "", store.Filter{},
		store.Pagination{Page: 1, PerPage: 1})
	if err != nil {
		return err
	}
	s := channelScreen{
		channelForm: f, shownChannel: shownChannel{c}, CanEdit: r.May(rights.ChannelChange), NoRules: rules == 0,
		Tested: tested, Settings: frame.ShownSettings(f.Type.Fields, channelValues(c), c.SecretFields),
	}
	for i, x := range s.Settings {
		if x.Secret == "url" && c.URLHost != "" {
			s.Settings[i].Value = "of " + c.URLHost + ", not shown"
		}
	}
	for _, other := range all {
		if other.ID == c.FallbackID {
			s.Fallback = other.Name
		}
	}
	f.draw(all)
	messages, err := r.Store.ChannelMessages(r.Context(), r.Actor(), c.ID, maxChannelMessages)
	if err != nil {
		return err
	}
	for _, m := range messages {
		s.Messages = append(s.Messages, channelMessage{m})
	}
	return r.Show(status, "channel", c.Name, s)
}

// testChannel sends a test message and saves the result in the channel's health. It shows the channel with the result.
func (r *request) testChannel() error {
	c, err := r.Store.AlertChannels().Get(r.Context(), r.Actor(), "", r.PathValue("channel"))
	if err != nil {
		return err
	}
	f := newChannelForm(channelValues(c), c)
	var result *channelResult
	if err = c.HasSecrets(); err == nil {
		result, err = r.sendTest(c)
	}
	if f.Refused(err) {
		return r.answerChannel(http.StatusUnprocessableEntity, c, f, nil)
	}
	if err != nil {
		return err
	}
	if err = r.Store.RecordRequestedTest(r.Context(), c.ID, result.SendOutcome); err == nil {
		c, err = r.Store.AlertChannels().Get(r.Context(), r.Actor(), "", c.ID)
	}
	if err != nil {
		return err
	}
	return r.answerChannel(http.StatusOK, c, f, result)
}

// sendTest sends a test message to a channel with its secrets.
func (r *request) sendTest(c alert.Channel) (*channelResult, error) {
	if r.ChannelTests == nil {
		return nil, frame.ErrNoTests
	}
	c, err := r.Store.PrepareTest(r.Context(), r.Actor(), c)
	if err != nil {
		return nil, err
	}
	outcome, err := r.ChannelTests.Test(r.Context(), r.Actor(), c)
	if err != nil {
		return nil, frame.TooManyTests(err)
	}
	return &channelResult{outcome}, nil
}

// enableChannel enables or disables a channel.
func (r *request) enableChannel() error {
	c, err := r.Store.AlertChannels().Change(r.Context(), r.Actor(), "", r.PathValue("channel"),
		func(c *alert.Channel) error {
			c.Enabled = r.PostForm.Get("enabled") == "true"
			return nil
		}, kernel.Precondition{})
	if err != nil {
		return r.channelRefused(err)
	}
	return r.Redirect(frame.ChannelsPath + "/" + c.ID)
}

// deleteChannel deletes a channel, unless something uses it other than as a fallback.
func (r *request) deleteChannel() error {
	err := r.Store.AlertChannels().Delete(r.Context(), r.Actor(), "", r.PathValue("channel"), kernel.Precondition{})
	if err != nil {
		return r.channelRefused(err)
	}
	return r.Redirect(frame.ChannelsPath)
}

// channelRefused shows the channel again, with the error of an action.
func (r *request) channelRefused(err error) error {
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) {
		return err
	}
	c, err := r.Store.AlertChannels().Get(r.Context(), r.Actor(), "", r.PathValue("channel"))
	if err != nil {
		return err
	}
	f := newChannelForm(channelValues(c), c)
	f.Refused(bad)
	return r.answerChannel(http.StatusUnprocessableEntity, c, f, nil)
}

// channelMessage is a message with texts for people.
type channelMessage struct{ store.ChannelMessage }

// Label returns the kind of the message, for people.
func (m channelMessage) Label() string { return noticeNames[m.Kind] }
