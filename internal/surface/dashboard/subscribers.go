package dashboard

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
)

// subscribersScreen is the data of the template subscribers.
type subscribersScreen struct {
	*form // for a new subscriber
	pageHead
	Filter  []field
	Rows    []subscriberRow
	Pager   pager
	All     bool // no filter is set
	Fields  []field
	About   field               // the components of a new subscriber
	Added   audience.Subscriber // a webhook that has just been added, with its secret; the zero value: none
	Problem string              // why a change of a row was refused
	Path    string
	Back    string // the list as it is shown
}

// subscriberRow is a subscriber as the list shows it.
type subscriberRow struct {
	audience.Subscriber
	Label, Tone string // of the state
	Path        string
	Deliveries  string // address of its deliveries
}

// subscriberLooks are the words and the tones of the states.
var subscriberLooks = map[audience.SubscriberState]struct{ label, tone string }{
	audience.SubscriberActive:      {"active", "ok"},
	audience.SubscriberUnconfirmed: {"waiting for confirmation", "none"},
	audience.SubscriberSuspended:   {"suspended", "major"},
}

// showSubscribers lists the subscribers of a page.
func (v *visit) showSubscribers() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	return v.listSubscribers(http.StatusOK, &subscribersScreen{form: newSubscriberForm(), pageHead: h}, v.r.URL.Query())
}

func newSubscriberForm() *form {
	return newForm(url.Values{
		"channel": {string(audience.ChannelEmail)}, "confirmed": {"false"}, "warnings": {"false"},
	})
}

// listSubscribers shows the list that the query asks for. s has the form and the head.
func (v *visit) listSubscribers(status int, s *subscribersScreen, query url.Values) error {
	filter := store.SubscriberFilter{
		Contains: strings.TrimSpace(query.Get("search")), Channel: audience.Channel(query.Get("in")),
		State: audience.SubscriberState(query.Get("state")),
	}
	r := pagination(query)
	subscribers, total, err := v.store.Subscribers(v.r.Context(), v.actor(), s.Page.Slug, filter, r)
	if err != nil {
		return err
	}
	s.Path = pagePath(s.Page) + "/subscribers"
	chosen := url.Values{}
	for _, name := range []string{"search", "in", "state"} {
		if query.Get(name) != "" {
			chosen.Set(name, query.Get(name))
		}
	}
	s.All, s.Pager = len(chosen) == 0, newPager(s.Path, chosen, r, len(subscribers), total)
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
	v.drawSubscribers(s, newForm(query))
	if s.About, err = v.componentsField(s.form, s.Page.Slug); err != nil {
		return err
	}
	return v.show(status, "subscribers", s.Page.Name+": subscribers", s)
}

// componentsField draws the choice of the components of a page that somebody is notified about, after other options.
func (v *visit) componentsField(f *form, slug string, others ...option) (field, error) {
	components, _, err := v.store.Components().List(v.r.Context(), v.actor(), slug, store.Filter{}, listAll)
	about := field{
		Name: "components", Label: "Only about these components", Hint: "None chosen: about the whole page.",
		Options: others,
	}
	for _, c := range components {
		switch o := (option{Value: c.ID, Label: c.Name}); {
		case !c.Hidden:
			about.Options = append(about.Options, o)
		// nobody is notified of it while it is hidden
		case slices.Contains(f.values["components"], c.ID) || slices.Contains(f.saved["components"], c.ID):
			o.Label += " (hidden)"
			about.Options = append(about.Options, o)
		}
	}
	return f.drawBoxes(about), err
}

// deliveriesOf returns the address of the deliveries to one subscriber.
func deliveriesOf(slug, subscriberID string) string {
	return Path + "/deliveries?" + url.Values{"page": {slug}, "subscriber": {subscriberID}}.Encode()
}

func (v *visit) drawSubscribers(s *subscribersScreen, filter *form) {
	var channels, addable []option
	for _, c := range audience.Channels {
		channels = append(channels, option{Value: string(c), Label: c.Name()})
		if slices.Contains(audience.OperatorChannels, c) {
			addable = append(addable, option{Value: string(c), Label: c.Name()})
		}
	}
	states := []option{{Label: "All states"}}
	for _, state := range audience.SubscriberStates {
		states = append(states, option{Value: string(state), Label: subscriberLooks[state].label})
	}
	s.Filter = []field{
		filter.draw(field{Name: "state", Label: "State", Type: "select", Options: states}),
		filter.draw(field{
			Name: "in", Label: "Channel", Type: "select",
			Options: append([]option{{Label: "All channels"}}, channels...),
		}),
	}
	warnings := warningsField
	warnings.Hint = "Only to webhooks. The page does not show warnings, and visitors do not receive any."
	s.Fields = []field{
		s.draw(field{Name: "channel", Label: "Channel", Type: "select", Options: addable}),
		s.draw(field{
			Name: "target", Label: "E-mail address, URL or phone number", Placeholder: "ada@example.com",
			Autocomplete: "off",
		}),
		s.draw(field{Name: "confirmed", Label: "Consent", Type: "select", Options: []option{
			{Value: "false", Label: "ask the address to confirm first"},
			{Value: "true", Label: "its owner has already agreed"},
		}, Hint: "Webhooks that you add are not asked. A chat or a phone is sent a code, to enter on the page."}),
		s.draw(warnings),
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

// addSubscriber adds a subscriber to a page. The answer shows the secret of a webhook, so that no address ever has it.
func (v *visit) addSubscriber() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	s := &subscribersScreen{form: newForm(v.r.PostForm), pageHead: h}
	n, err := audience.NewSubscriber{
		Channel: audience.Channel(s.Value("channel")), Target: strings.TrimSpace(s.Value("target")),
		Confirmed:  s.Value("confirmed") == "true",
		Components: s.values["components"], Warnings: s.Value("warnings") == "true",
	}.Check()
	if err == nil && v.checkTarget != nil {
		err = v.checkTarget(v.r.Context(), n.Channel, n.Target)
	}
	added, err := v.store.CreateSubscriber(v.r.Context(), v.actor(), h.Page.Slug, n, err)
	switch {
	case s.refused(err):
		return v.listSubscribers(http.StatusUnprocessableEntity, s, url.Values{})
	case err != nil:
		return err
	case added.Secret != "":
		return v.listSubscribers(http.StatusCreated, &subscribersScreen{
			form: newSubscriberForm(), pageHead: h, Added: added,
		}, url.Values{})
	}
	return v.redirect(pagePath(h.Page) + "/subscribers?saved")
}

// resumeSubscriber ends a suspension.
func (v *visit) resumeSubscriber() error {
	_, err := v.store.ResumeSubscriber(v.r.Context(), v.actor(), v.r.PathValue("page"), v.r.PathValue("subscriber"))
	return v.answerSubscribers(err, "")
}

// removeSubscriber ends a subscription.
func (v *visit) removeSubscriber() error {
	return v.answerSubscribers(v.store.DeleteSubscriber(v.r.Context(), v.actor(), v.r.PathValue("page"),
		v.r.PathValue("subscriber"), kernel.Precondition{}), "")
}

// testSubscriber sends a test message, and redirects to the deliveries, which show its result.
func (v *visit) testSubscriber() error {
	_, err := v.store.SendTestMessage(v.r.Context(), v.actor(), v.r.PathValue("page"), v.r.PathValue("subscriber"))
	return v.answerSubscribers(err, deliveriesOf(v.r.PathValue("page"), v.r.PathValue("subscriber")))
}

// answerSubscribers redirects after a change, back to the list if path is "", or shows above the list why the change
// was refused.
func (v *visit) answerSubscribers(err error, path string) error {
	back, parseErr := url.ParseQuery(v.r.PostForm.Get("back"))
	if parseErr != nil {
		back = url.Values{}
	}
	if bad := (*kernel.ValidationError)(nil); errors.As(err, &bad) {
		h, err := v.pageHead()
		if err != nil {
			return err
		}
		return v.listSubscribers(http.StatusUnprocessableEntity, &subscribersScreen{
			form: newSubscriberForm(), pageHead: h, Problem: bad.Problems[0].Message(),
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
		path = pagePath(statuspage.Page{Slug: v.r.PathValue("page")}) + "/subscribers?" + kept.Encode()
	}
	return v.redirect(path)
}
