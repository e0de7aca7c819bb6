package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/configfield"
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
		f.Tag = f.version("tag", allswell.EntityTag(c), false)
	}
	return f
}

// channelValues returns the values of the fields of a channel.
func channelValues(c alert.Channel) url.Values {
	values := url.Values{
		"name": {c.Name}, "max_per_minute": {strconv.Itoa(c.MaxPerMinute)}, "fallback_id": {c.FallbackID}, "test_weekly": {strconv.FormatBool(c.TestWeekly)},
		"title_template": {c.TitleTemplate}, "text_template": {c.TextTemplate},
	}
	t, _ := alertchannel.TypeOf(c.Type)
	setTypeDefaults(values, t.Fields)
	setTypeValues(values, t.Fields, c.Config)
	return values
}

// draw makes the fields. others are the channels that may be its fallback.
func (f *channelForm) draw(others []alert.Channel) {
	fallbacks := []option{{Label: "No other channel"}}
	for _, c := range others {
		if c.ID != f.channel.ID {
			fallbacks = append(fallbacks, option{Value: c.ID, Label: c.Name})
		}
	}
	first := append([]field{{Name: "name", Label: "Name", Placeholder: "Ops phone", Wide: true}}, typeFields(f.Type.Fields, false, f.channel.SecretFields)...)
	for i := range first {
		if first[i].Name == "url" && f.channel.URLHost != "" {
			first[i].Hint += " Its host is " + f.channel.URLHost + "."
		}
	}
	groups := []fieldGroup{{Fields: first}}
	if more := typeFields(f.Type.Fields, true, f.channel.SecretFields); len(more) > 0 {
		groups = append(groups, fieldGroup{Key: "type", Title: "More of " + f.Type.Label, Fields: more})
	}
	groups = append(groups, fieldGroup{Key: "words", Title: "Words of its messages", Fields: []field{
		{
			Name: "title_template", Label: "Title", Optional: true, Wide: true,
			Placeholder: "[{{.Severity}}] {{.Title}}", Hint: "A template of Go. Left empty: the default words.",
		},
		{
			Name: "text_template", Label: "Text", Optional: true, Type: "textarea", Rows: 4, Wide: true,
			Placeholder: "{{range .Alerts}}{{.Name}}: {{.Reason}}\n{{end}}",
		},
	}}, fieldGroup{Key: "when", Title: "Fallback, weekly test and limit", Fields: []field{
		{Name: "fallback_id", Label: "If it does not accept a message", Type: "select", Options: fallbacks, Hint: "That channel is notified, too: after two failed attempts, or at once if the service refuses the message."},
		{
			Name: "test_weekly", Label: "Weekly test", Type: "select",
			Options: []option{{Value: "false", Label: "No"}, {Value: "true", Label: "Send a test message every week"}},
		},
		{
			Name: "max_per_minute", Label: "Messages in a minute, at most", InputMode: "numeric", Optional: true,
			Placeholder: strconv.Itoa(alert.DefaultMaxPerMinute), Hint: "Further notices are sent together in one message.",
		},
	}})
	f.Groups = f.drawGroups(groups, func(x field) bool {
		own, _ := f.Type.Field(x.Name)
		return x.Value == own.Default || x.Name == "test_weekly" && x.Value == "false" || x.Name == "max_per_minute" && x.Value == strconv.Itoa(alert.DefaultMaxPerMinute)
	})
	if !f.focused && f.channel.ID == "" { // the screen of a channel begins with its health
		focusFirst(f.Groups[0].Fields)
	}
}

// read returns the channel that the form describes, and what is invalid. Of its secrets it has only those that are
// typed. kept are those that the channel has.
func (f *channelForm) read(kept map[string]json.RawMessage) (alert.Channel, error) {
	c := f.channel
	c.Name, c.FallbackID, c.TestWeekly = strings.TrimSpace(f.Value("name")), f.Value("fallback_id"), f.Value("test_weekly") == "true"
	c.TitleTemplate, c.TextTemplate = strings.TrimSpace(f.Value("title_template")), strings.ReplaceAll(f.Value("text_template"), "\r\n", "\n")
	if strings.TrimSpace(c.TextTemplate) == "" {
		c.TextTemplate = ""
	}
	if c.MaxPerMinute = readNumber(f.values, "max_per_minute"); c.MaxPerMinute == 0 {
		c.MaxPerMinute = alert.DefaultMaxPerMinute
	}
	fields, secrets, err := readTypeFields(f.values, f.Type.Fields, kept)
	if err != nil {
		return c, err
	}
	config, _, invalid := f.Type.Read(fields)
	if invalid == nil && c.ID != "" {
		invalid = f.Type.CheckKeptSecrets(configfield.Change{
			Before: f.channel.Config, After: config, Secrets: kept, Kept: f.channel.SecretFields, Given: secrets,
		})
	}
	c.Config, c.Secrets = config, secrets
	return c, allswell.JoinInvalid(c.Validate(), invalid)
}

// testForm sends a test message to what a form says, which need not have a name.
func (v *visit) testForm(f *channelForm, c alert.Channel, invalid error, kept map[string]json.RawMessage) error {
	if c.Name == "" {
		c.Name, invalid = f.Type.Label, withoutField(invalid, "name")
	}
	if invalid != nil {
		return invalid
	}
	c.Secrets = mergeSecrets(kept, c.Secrets)
	var err error
	f.Result, err = v.sendTest(c)
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
	c, err := f.read(nil)
	if f.Value("preview") == "test" {
		err = v.testForm(f, c, err, nil)
		if err == nil {
			return v.answerNewChannel(http.StatusOK, f)
		}
	} else if err == nil {
		c, err = v.store.CreateAlertChannel(v.r.Context(), v.actor(), c)
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
	before, err := v.store.AlertChannelWithSecrets(v.r.Context(), v.actor(), v.r.PathValue("channel"))
	if err != nil {
		return err
	}
	f := newChannelForm(v.r.PostForm, before)
	c, err := f.read(before.Secrets)
	if f.Value("preview") == "test" {
		err = v.testForm(f, c, err, before.Secrets)
		if err == nil {
			return v.answerChannel(http.StatusOK, before, f, nil)
		}
	} else if err == nil {
		_, err = v.store.ChangeAlertChannel(v.r.Context(), v.actor(), before.ID, allswell.Precondition{Tags: []string{f.Tag}}, func(now *alert.Channel) error {
			now.Name, now.FallbackID, now.TestWeekly, now.MaxPerMinute, now.Templates, now.Config, now.Secrets = c.Name, c.FallbackID, c.TestWeekly, c.MaxPerMinute, c.Templates, c.Config, c.Secrets
			return nil
		})
	}
	switch {
	case errors.Is(err, allswell.ErrPreconditionFailed):
		f.Conflict, f.saved, f.Tag = true, channelValues(before), f.version("tag", allswell.EntityTag(before), true)
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
