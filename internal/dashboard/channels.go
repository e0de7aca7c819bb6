package dashboard

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/alertchannel"
)

const channelsPath = Path + "/channels"

// channelsScreen is what the template channels shows.
type channelsScreen struct {
	Channels []shownChannel
	Pager    pager
	CanEdit  bool
}

// shownChannel is a channel with words for people.
type shownChannel struct {
	alert.Channel
}

// TypeName returns the name of the channel's type for people.
func (c shownChannel) TypeName() string {
	if t, ok := alertchannel.TypeOf(c.Type); ok {
		return t.Label
	}
	return c.Type
}

// State says in few words whether the channel works.
func (c shownChannel) State() string {
	switch {
	case !c.Enabled:
		return "Disabled"
	case !c.Health.FailingSince.IsZero():
		return "Failing"
	case !c.Health.TakenAt.IsZero():
		return "Works"
	}
	return "Not used yet"
}

// Tone returns the name of the tone of the state.
func (c shownChannel) Tone() string {
	switch {
	case !c.Enabled:
		return allswell.NeutralTone.Name
	case !c.Health.FailingSince.IsZero():
		return allswell.StatusMajorOutage.Tone().Name
	case !c.Health.TakenAt.IsZero():
		return allswell.StatusOperational.Tone().Name
	}
	return allswell.NeutralTone.Name
}

// showChannels lists the channels.
func (v *visit) showChannels() error {
	r := pagination(v.r.URL.Query())
	channels, total, err := v.store.AlertChannels(v.r.Context(), v.actor(), r)
	if err != nil {
		return err
	}
	s := channelsScreen{Pager: newPager(channelsPath, url.Values{}, r, len(channels), total), CanEdit: v.can(allswell.RoleAdmin)}
	for _, c := range channels {
		s.Channels = append(s.Channels, shownChannel{c})
	}
	return v.show(http.StatusOK, "channels", "Channels", s)
}
