package alerting

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
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// channelForm is the form of a channel.
type channelForm struct {
	*frame.Form
	Type     alertchannel.Type
	Groups   []frame.FieldGroup
	Tag      string // entity tag of the channel that the form edits; "": a new one
	Conflict bool
	Result   *channelResult // of a test with the input; nil: none was requested

	channel alert.Channel // zero: a new one
}

// newChannelForm returns the form of a channel.
func newChannelForm(values url.Values, c alert.Channel) *channelForm {
	f := &channelForm{Form: frame.NewForm(values), channel: c}
	f.Type, _ = alertchannel.TypeOf(c.Type)
	if c.ID != "" {
		f.Tag = f.Version("tag", kernel.EntityTag(resource.Channel.Audited(c)), false)
	}
	return f
}

// channelValues returns the values of the fields of a channel.
func channelValues(c alert.Channel) url.Values {
	values := resource.Channel.FormValues(c, time.UTC)
	t, _ := alertchannel.TypeOf(c.Type)
	frame.SetTypeDefaults(values, t.Fields)
	frame.SetTypeValues(values, t.Fields, c.Config)
	return values
}

// draw makes the fields. others are the channels that may be its fallback.
func (f *channelForm) draw(others []alert.Channel) {
	described := func(name string) frame.Field { return frame.FieldOf(resource.Channel.Info(name)) }
	name, text, fallback := described("name"), described("text_template"), described("fallback_id")
	name.Wide, text.Type, text.Rows, text.Wide = true, "textarea", 4, true
	title := described("title_template")
	title.Type, title.Wide = "text", true
	for _, c := range others {
		if c.ID != f.channel.ID {
			fallback.Options = append(fallback.Options, frame.Option{Value: c.ID, Label: c.Name})
		}
	}
	weekly, limit := described("test_weekly"), described("max_per_minute")
	weekly.Type, weekly.Options = "select",
		[]frame.Option{{Value: "false", Label: "No"}, {Value: "true", Label: "Weekly"}}
	limit.InputMode = "numeric"

	first := append([]frame.Field{name}, frame.TypeFields(f.Type.Fields, false, f.channel.SecretFields)...)
	for i := range first {
		if first[i].Name == "url" && f.channel.URLHost != "" {
			first[i].Hint += " Its host is " + f.channel.URLHost + "."
		}
	}
	groups := []frame.FieldGroup{{Fields: first}}
	if more := frame.TypeFields(f.Type.Fields, true, f.channel.SecretFields); len(more) > 0 {
		groups = append(groups, frame.FieldGroup{
			Key: "type", Title: "Advanced " + f.Type.Label + " options", Fields: more,
		})
	}
	groups = append(groups,
		frame.FieldGroup{Key: "words", Title: "Message template", Fields: []frame.Field{title, text}},
		frame.FieldGroup{
			Key: "when", Title: "Fallback, weekly test, rate limit and slug",
			Fields: []frame.Field{fallback, weekly, limit, described("slug")},
		})
	f.Groups = f.DrawGroups(groups, func(x frame.Field) bool {
		own, _ := f.Type.Field(x.Name)
		return x.Value == own.Default || x.Name == "test_weekly" && x.Value == "false" ||
			x.Name == "max_per_minute" && x.Value == strconv.Itoa(alert.DefaultMaxPerMinute)
	})
	if !f.Focused && f.channel.ID == "" { // the screen of a channel begins with its health
		frame.FocusFirst(f.Groups[0].Fields)
	}
}

// change returns the change that the form describes. Fields of the type that are absent get their defaults. Secrets
// that are not typed are kept.
func (f *channelForm) change(now time.Time) fields.Change[alert.Channel] {
	form := resource.Channel.ReadForm(f.channel, f.Values, time.UTC, now)
	given, secrets, err := frame.ReadTypeFields(f.Values, f.Type.Fields, nil)
	maps.Copy(given, secrets)
	return func(c *alert.Channel) error {
		c.Type = f.Type.Name
		return kernel.JoinInvalid(err, form(c),
			resource.ConfigureChannel(frame.KeepShown(given, f.Values, f.Type.Fields, c.Config), true)(c))
	}
}

// testForm sends a test message to the channel that a form describes, which does not need a name.
func (r *request) testForm(f *channelForm) error {
	c := f.channel
	err := resource.ChannelToTest(&c, f.change(r.Now()), r.Now())
	if err == nil {
		f.Result, err = r.sendTest(c)
	}
	return err
}

// newChannelScreen is the data of the template channel_new, which shows types to choose from, or the form of one type.
type newChannelScreen struct {
	*channelForm
	Kinds []alertchannel.Group
}

// showNewChannel shows the types of channels, or the form of one.
func (r *request) showNewChannel() error {
	kind := r.URL.Query().Get("type")
	f, ok := blankChannelForm(url.Values{}, kind)
	if !ok && kind != "" {
		return kernel.ErrNotFound
	}
	frame.SetTypeDefaults(f.Values, f.Type.Fields)
	return r.answerNewChannel(http.StatusOK, f)
}

// blankChannelForm returns the form of a new channel. ok is false if there is no such type.
func blankChannelForm(values url.Values, kind string) (f *channelForm, ok bool) {
	t, ok := alertchannel.TypeOf(kind)
	return newChannelForm(values, alert.Channel{Type: t.Name, Enabled: true}), ok
}

func (r *request) answerNewChannel(status int, f *channelForm) error {
	s := newChannelScreen{channelForm: f, Kinds: alertchannel.Groups}
	if f.Type.Name != "" {
		others, err := r.channels()
		if err != nil {
			return err
		}
		f.draw(others)
	}
	return r.Show(status, "channel_new", "New channel", s)
}

// createChannel creates a channel, or sends a test message without saving it.
func (r *request) createChannel() error {
	f, ok := blankChannelForm(r.PostForm, r.PostForm.Get("type"))
	if !ok {
		return kernel.ErrNotFound
	}
	var c alert.Channel
	var err error
	if f.Value("preview") == "test" {
		if err = r.testForm(f); err == nil {
			return r.answerNewChannel(http.StatusOK, f)
		}
	} else {
		c, err = r.Store.AlertChannels().Create(r.Context(), r.Actor(), "", f.change(r.Now()))
	}
	if f.Refused(err) {
		return r.answerNewChannel(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.ChannelsPath + "/" + c.ID)
}

// editChannel changes a channel, unless somebody else has changed it since the form was shown, or sends a test message
// with the input without saving it.
func (r *request) editChannel() error {
	before, err := r.Store.AlertChannels().Get(r.Context(), r.Actor(), "", r.PathValue("channel"))
	if err != nil {
		return err
	}
	f := newChannelForm(r.PostForm, before)
	if f.Value("preview") == "test" {
		if err = r.testForm(f); err == nil {
			return r.answerChannel(http.StatusOK, before, f, nil)
		}
	} else {
		_, err = r.Store.AlertChannels().Change(r.Context(), r.Actor(), "", before.ID, f.change(r.Now()),
			frame.UnchangedSince(f.Values))
	}
	switch {
	case errors.Is(err, kernel.ErrPreconditionFailed):
		f.Conflict, f.SavedMeanwhile, f.Tag = true, channelValues(before),
			f.Version("tag", kernel.EntityTag(resource.Channel.Audited(before)), true)
		for _, field := range f.Type.Fields {
			if field.Secret {
				f.SavedMeanwhile.Set(field.Name, f.Value(field.Name))
			}
		}
		return r.answerChannel(http.StatusConflict, before, f, nil)
	case f.Refused(err):
		return r.answerChannel(http.StatusUnprocessableEntity, before, f, nil)
	case err != nil:
		return err
	}
	return r.Redirect(frame.ChannelsPath + "/" + before.ID)
}
