package subscribers

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// subscribersScreen is the data of the template subscribers.
type subscribersScreen struct {
	*frame.Form // for a new subscriber
	frame.PageHead
	Filter  []frame.Field
	Rows    []subscriberRow
	Pager   frame.Pager
	All     bool // no filter is set
	Fields  []frame.Field
	About   frame.Field         // the components of a new subscriber
	Added   audience.Subscriber // a webhook that has just been added, with its secret; the zero value: none
	Problem string              // why a change of a row was refused
	Path    string
	Back    string // query of the current list
}

// subscriberRow is a subscriber as the list shows it.
type subscriberRow struct {
	audience.Subscriber
	Label, Tone string // of the state
	Path        string
	Deliveries  string // URL of its deliveries
}

// subscriberLooks are the labels and the tones of the states.
var subscriberLooks = map[audience.SubscriberState]struct{ label, tone string }{
	audience.SubscriberActive:      {"active", "ok"},
	audience.SubscriberUnconfirmed: {"waiting for confirmation", "none"},
	audience.SubscriberSuspended:   {"suspended", "major"},
}

// showSubscribers lists the subscribers of a page.
func (r *request) showSubscribers() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	return r.listSubscribers(http.StatusOK, &subscribersScreen{Form: newSubscriberForm(), PageHead: h}, r.URL.Query())
}

func newSubscriberForm() *frame.Form {
	return frame.NewForm(url.Values{
		"channel": {string(audience.ChannelEmail)}, "confirmed": {"false"}, "warnings": {"false"},
	})
}

// listSubscribers shows the list that the query selects. s has the form and the head.
func (r *request) listSubscribers(status int, s *subscribersScreen, query url.Values) error {
	filter := store.SubscriberFilter{
		Contains: strings.TrimSpace(query.Get("search")), Channel: audience.Channel(query.Get("in")),
		State: audience.SubscriberState(query.Get("state")),
	}
	rows := frame.Pagination(query)
	subscribers, total, err := r.Store.Subscribers(r.Context(), r.Actor(), s.Page.Slug, filter, rows)
	if err != nil {
		return err
	}
	s.Path = frame.PagePath(s.Page) + "/subscribers"
	chosen := url.Values{}
	for _, name := range []string{"search", "in", "state"} {
		if query.Get(name) != "" {
			chosen.Set(name, query.Get(name))
		}
	}
	s.All, s.Pager = len(chosen) == 0, frame.NewPager(s.Path, chosen, rows, len(subscribers), total)
	if query.Get("p") != "" {
		chosen.Set("p", query.Get("p"))
	}
	s.Back = chosen.Encode()
	for _, sub := range subscribers {
		look := subscriberLooks[sub.State()]
		s.Rows = append(s.Rows, subscriberRow{
			Subscriber: sub, Label: look.label, Tone: look.tone, Path: s.Path + "/" + sub.ID,
			Deliveries: deliveriesOf(s.Page.Slug, sub.ID),
		})
	}
	r.drawSubscribers(s, frame.NewForm(query))
	if s.About, err = r.componentsField(s.Form, s.Page.Slug); err != nil {
		return err
	}
	return r.Show(status, "subscribers", s.Page.Name+": subscribers", s)
}

// componentsField draws the choice of components that a subscriber is notified about, after the options in others.
func (r *request) componentsField(f *frame.Form, slug string, others ...frame.Option) (frame.Field, error) {
	components, _, err := r.Store.Components().List(r.Context(), r.Actor(), slug, store.Filter{}, frame.ListAll)
	about := frame.Field{
		Name: "components", Label: "Selected components", Hint: "Default: all components.",
		Options: others,
	}
	for _, c := range components {
		switch o := (frame.Option{Value: c.ID, Label: c.Name}); {
		case !c.Hidden:
			about.Options = append(about.Options, o)
		// nobody is notified of it while it is hidden
		case slices.Contains(f.Values["components"], c.ID) || slices.Contains(f.SavedMeanwhile["components"], c.ID):
			o.Label += " (hidden)"
			about.Options = append(about.Options, o)
		}
	}
	return f.DrawBoxes(about), err
}

// deliveriesOf returns the URL of the deliveries to one subscriber.
func deliveriesOf(slug, subscriberID string) string {
	return frame.Path + "/deliveries?" + url.Values{"page": {slug}, "subscriber": {subscriberID}}.Encode()
}

func (r *request) drawSubscribers(s *subscribersScreen, filter *frame.Form) {
	var channels, addable []frame.Option
	for _, c := range audience.Channels {
		channels = append(channels, frame.Option{Value: string(c), Label: c.Name()})
		if slices.Contains(audience.OperatorChannels, c) {
			addable = append(addable, frame.Option{Value: string(c), Label: c.Name()})
		}
	}
	states := []frame.Option{{Label: "All states"}}
	for _, state := range audience.SubscriberStates {
		states = append(states, frame.Option{Value: string(state), Label: subscriberLooks[state].label})
	}
	s.Filter = []frame.Field{
		filter.Draw(frame.Field{Name: "state", Label: "State", Type: "select", Options: states}),
		filter.Draw(frame.Field{
			Name: "in", Label: "Channel", Type: "select",
			Options: append([]frame.Option{{Label: "All channels"}}, channels...),
		}),
	}
	warnings := warningsField
	warnings.Hint = "Webhooks only. The page does not show warnings, and visitors do not receive any."
	s.Fields = []frame.Field{
		s.Draw(frame.Field{Name: "channel", Label: "Channel", Type: "select", Options: addable}),
		s.Draw(frame.Field{
			Name: "target", Label: "Email address, URL or phone number", Placeholder: "ada@example.com",
			Autocomplete: "off",
		}),
		s.Draw(frame.Field{Name: "confirmed", Label: "Consent", Type: "select", Options: []frame.Option{
			{Value: "false", Label: "ask the address to confirm first"},
			{Value: "true", Label: "the owner has already agreed"},
		}, Hint: "Webhooks that you add need no confirmation. Chats and phones get a code to enter on the page."}),
		s.Draw(warnings),
	}
}

// Search returns the text of the search.
func (s *subscribersScreen) Search() string {
	query, err := url.ParseQuery(s.Back)
	if err != nil {
		return ""
	}
	return query.Get("search")
}

// addSubscriber adds a subscriber to a page. The response itself shows the secret of a webhook, so that no URL ever
// contains it.
func (r *request) addSubscriber() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	s := &subscribersScreen{Form: frame.NewForm(r.PostForm), PageHead: h}
	n, err := audience.NewSubscriber{
		Channel: audience.Channel(s.Value("channel")), Target: strings.TrimSpace(s.Value("target")),
		Confirmed: s.Value("confirmed") == "true", Components: s.Values["components"],
		Warnings: s.Value("warnings") == "true",
	}.Check()
	if err == nil && r.CheckTarget != nil {
		err = r.CheckTarget(r.Context(), n.Channel, n.Target)
	}
	added, err := r.Store.CreateSubscriber(r.Context(), r.Actor(), h.Page.Slug, n, err)
	switch {
	case s.Refused(err):
		return r.listSubscribers(http.StatusUnprocessableEntity, s, url.Values{})
	case err != nil:
		return err
	case added.Secret != "":
		return r.listSubscribers(http.StatusCreated, &subscribersScreen{
			Form: newSubscriberForm(), PageHead: h, Added: added,
		}, url.Values{})
	}
	return r.Redirect(frame.PagePath(h.Page) + "/subscribers?saved")
}

// resumeSubscriber ends a suspension.
func (r *request) resumeSubscriber() error {
	_, err := r.Store.ResumeSubscriber(r.Context(), r.Actor(), r.PathValue("page"), r.PathValue("subscriber"))
	return r.answerSubscribers(err, "")
}

// removeSubscriber ends a subscription.
func (r *request) removeSubscriber() error {
	return r.answerSubscribers(r.Store.DeleteSubscriber(r.Context(), r.Actor(), r.PathValue("page"),
		r.PathValue("subscriber"), kernel.Precondition{}), "")
}

// testSubscriber queues a test message, and redirects to the deliveries, which show its result.
func (r *request) testSubscriber() error {
	_, err := r.Store.SendTestMessage(r.Context(), r.Actor(), r.PathValue("page"), r.PathValue("subscriber"))
	return r.answerSubscribers(err, deliveriesOf(r.PathValue("page"), r.PathValue("subscriber")))
}

// answerSubscribers redirects to path after a change, or to the list if path is "". If the change was refused, it shows
// the reason above the list.
func (r *request) answerSubscribers(err error, path string) error {
	back, parseErr := url.ParseQuery(r.PostForm.Get("back"))
	if parseErr != nil {
		back = url.Values{}
	}
	if bad := (*kernel.ValidationError)(nil); errors.As(err, &bad) {
		h, err := r.PageHead()
		if err != nil {
			return err
		}
		return r.listSubscribers(http.StatusUnprocessableEntity, &subscribersScreen{
			Form: newSubscriberForm(), PageHead: h, Problem: bad.Problems[0].Message(),
		}, back)
	}
	if err != nil {
		return err
	}
	if path == "" {
		kept := url.Values{"saved": {""}}
		for name, values := range back {
			if slices.Contains([]string{"search", "in", "state", "p"}, name) {
				kept[name] = values
			}
		}
		path = frame.PagePath(statuspage.Page{Slug: r.PathValue("page")}) + "/subscribers?" + kept.Encode()
	}
	return r.Redirect(path)
}
