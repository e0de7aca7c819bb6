package dashboard

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	fields "github.com/allswell/allswell/internal/resource/field"
)

// channelForm is the form of a channel.
type channelForm struct {
	*form
	Type     alertchannel.Type
	Groups   []fieldGroup
	Tag      string // of the channel that the form was made from; "": a new one
	Conflict bool
	Result   *channelResult // of a test of what the form says; nil: none was asked for

	channel alert.Channel // zero: a new one
}

// newChannelForm returns the form of a channel.
func newChannelForm(values url.Values, c alert.Channel) *channelForm {
	f := &channelForm{form: newForm(values), channel: c}
	f.Type, _ = alertchannel.TypeOf(c.Type)
	if c.ID != "" {
		f.Tag = f.version("tag", kernel.EntityTag(resource.Channel.Audited(c)), false)
	}
	return f
}

// channelValues returns the values of the fields of a channel.
func channelValues(c alert.Channel) url.Values {
	values := resource.Channel.FormValues(c, time.UTC)
	t, _ := alertchannel.TypeOf(c.Type)
	setTypeDefaults(values, t.Fields)
	setTypeValues(values, t.Fields, c.Config)
	return values
}

// draw makes the fields. others are the channels that may be its fallback.
func (f *channelForm) draw(others []alert.Channel) {
	described := func(name string) field { return fieldOf(resource.Channel.Info(name)) }
	name, text, fallback := described("name"), described("text_template"), described("fallback_id")
	name.Wide, text.Type, text.Rows, text.Wide = true, "textarea", 4, true
	title := described("title_template")
	title.Type, title.Wide = "text", true
	for _, c := range others {
		if c.ID != f.channel.ID {
			fallback.Options = append(fallback.Options, option{Value: c.ID, Label: c.Name})
		}
	}
	weekly, limit := described("test_weekly"), described("max_per_minute")
	weekly.Type, weekly.Options = "select",
		[]option{{Value: "false", Label: "No"}, {Value: "true", Label: "Send a test message every week"}}
	limit.InputMode = "numeric"

	first := append([]field{name}, typeFields(f.Type.Fields, false, f.channel.SecretFields)...)
	for i := range first {
		if first[i].Name == "url" && f.channel.URLHost != "" {
			first[i].Hint += " Its host is " + f.channel.URLHost + "."
		}
	}
	groups := []fieldGroup{{Fields: first}}
	if more := typeFields(f.Type.Fields, true, f.channel.SecretFields); len(more) > 0 {
		groups = append(groups, fieldGroup{Key: "type", Title: "More of " + f.Type.Label, Fields: more})
	}
	groups = append(groups,
		fieldGroup{Key: "words", Title: "Words of its messages", Fields: []field{title, text}},
		fieldGroup{
			Key: "when", Title: "Fallback, weekly test, limit and slug",
			Fields: []field{fallback, weekly, limit, described("slug")},
		})
	f.Groups = f.drawGroups(groups, func(x field) bool {
		own, _ := f.Type.Field(x.Name)
		return x.Value == own.Default || x.Name == "test_weekly" && x.Value == "false" ||
			x.Name == "max_per_minute" && x.Value == strconv.Itoa(alert.DefaultMaxPerMinute)
	})
	if !f.focused && f.channel.ID == "" { // the screen of a channel begins with its health
		focusFirst(f.Groups[0].Fields)
	}
}

// change returns what the form changes: the fields of the type that it does not have get their defaults, and secrets
// that are not typed are kept.
func (f *channelForm) change(now time.Time) fields.Change[alert.Channel] {
	form := resource.Channel.ReadForm(f.channel, f.values, time.UTC, now)
	given, secrets, err := readTypeFields(f.values, f.Type.Fields, nil)
	maps.Copy(given, secrets)
	return func(c *alert.Channel) error {
		c.Type = f.Type.Name
		return kernel.JoinInvalid(err, form(c),
			resource.ConfigureChannel(keepShown(given, f.values, f.Type.Fields, c.Config), true)(c))
	}
}

// testForm sends a test message to what a form says, which need not have a name.
func (v *visit) testForm(f *channelForm) error {
	c := f.channel
	err := resource.ChannelToTest(&c, f.change(v.now()), v.now())
	if err == nil {
		f.Result, err = v.sendTest(c)
	}
	return err
}

// newChannelScreen is the data of the template channel_new: types to choose from, or the form of one.
type newChannelScreen struct {
	*channelForm
	Kinds []alertchannel.Group
}

// showNewChannel shows the types of channels, or the form of one.
func (v *visit) showNewChannel() error {
	kind := v.r.URL.Query().Get("type")
	f, ok := blankChannelForm(url.Values{}, kind)
	if !ok && kind != "" {
		return errNotFound
	}
	setTypeDefaults(f.values, f.Type.Fields)
	return v.answerNewChannel(http.StatusOK, f)
}

// blankChannelForm returns the form of a new channel. ok is false if there is no such type.
func blankChannelForm(values url.Values, kind string) (f *channelForm, ok bool) {
	t, ok := alertchannel.TypeOf(kind)
	return newChannelForm(values, alert.Channel{Type: t.Name, Enabled: true}), ok
}

func (v *visit) answerNewChannel(status int, f *channelForm) error {
	s := newChannelScreen{channelForm: f, Kinds: alertchannel.Groups}
	if f.Type.Name != "" {
		others, err := v.channels()
		if err != nil {
			return err
		}
		f.draw(others)
	}
	return v.show(status, "channel_new", "New channel", s)
}

// createChannel creates a channel, or sends a test message to what it would be.
func (v *visit) createChannel() error {
	f, ok := blankChannelForm(v.r.PostForm, v.r.PostForm.Get("type"))
	if !ok {
		return errNotFound
	}
	var c alert.Channel
	var err error
	if f.Value("preview") == "test" {
		if err = v.testForm(f); err == nil {
			return v.answerNewChannel(http.StatusOK, f)
		}
	} else {
		c, err = v.store.AlertChannels().Create(v.r.Context(), v.actor(), "", f.change(v.now()))
	}
	if f.refused(err) {
		return v.answerNewChannel(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return v.redirect(channelsPath + "/" + c.ID)
}

// editChannel changes a channel, unless somebody else has changed it since the form was shown, or sends a test message
// to what it would be.
func (v *visit) editChannel() error {
	before, err := v.store.AlertChannels().Get(v.r.Context(), v.actor(), "", v.r.PathValue("channel"))
	if err != nil {
		return err
	}
	f := newChannelForm(v.r.PostForm, before)
	if f.Value("preview") == "test" {
		if err = v.testForm(f); err == nil {
			return v.answerChannel(http.StatusOK, before, f, nil)
		}
	} else {
		_, err = v.store.AlertChannels().Change(v.r.Context(), v.actor(), "", before.ID, f.change(v.now()),
			shownVersion(f.values))
	}
	switch {
	case errors.Is(err, kernel.ErrPreconditionFailed):
		f.Conflict, f.saved, f.Tag = true, channelValues(before),
			f.version("tag", kernel.EntityTag(resource.Channel.Audited(before)), true)
		for _, field := range f.Type.Fields {
			if field.Secret {
				f.saved.Set(field.Name, f.Value(field.Name))
			}
		}
		return v.answerChannel(http.StatusConflict, before, f, nil)
	case f.refused(err):
		return v.answerChannel(http.StatusUnprocessableEntity, before, f, nil)
	case err != nil:
		return err
	}
	return v.redirect(channelsPath + "/" + before.ID)
}
