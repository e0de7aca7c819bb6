package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// subscriberScreen is the data of the template subscriber.
type subscriberScreen struct {
	*form
	pageHead
	Subscriber audience.Subscriber
	About      field
	Warnings   *field // nil: it cannot ask for them
	Path, Tag  string
	Conflict   bool
	Lost       bool   // all components that were chosen are gone
	Back       string // the query of the list as it was shown
	List       string // its address
}

// wholePage is the choice of the whole page for a subscriber whose components are gone: that none is chosen says that
// it stays so.
var wholePage = option{Value: "", Label: "The whole page"}

// warningsField chooses whether a subscriber is notified of warnings.
var warningsField = field{Name: "warnings", Label: "Warnings of monitors", Type: "select", Options: []option{
	{Value: "false", Label: "do not send them"}, {Value: "true", Label: "send them, too"},
}}

// showSubscriber shows the form that says what a subscriber is notified of.
func (v *visit) showSubscriber() error {
	sub, err := v.store.Subscriber(v.r.Context(), v.actor(), v.r.PathValue("page"), v.r.PathValue("subscriber"))
	if err != nil {
		return err
	}
	f := newForm(subscriberValues(sub))
	f.values.Set("back", v.r.URL.Query().Get("back"))
	return v.answerSubscriber(http.StatusOK, f, sub, false)
}

// subscriberValues returns the values of the form of a subscriber.
func subscriberValues(sub audience.Subscriber) url.Values {
	return url.Values{"components": sub.Components, "warnings": {strconv.FormatBool(sub.Warnings)}}
}

func (v *visit) answerSubscriber(status int, f *form, sub audience.Subscriber, conflict bool) error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	back, err := url.ParseQuery(f.Value("back"))
	if err != nil {
		back = url.Values{}
	}
	s := &subscriberScreen{
		form: f, pageHead: h, Subscriber: sub, Back: back.Encode(), List: pagePath(h.Page) + "/subscribers",
		Tag: f.version("tag", kernel.EntityTag(sub), conflict), Conflict: conflict,
	}
	if s.Path = s.List + "/" + sub.ID; len(back) > 0 {
		s.List += "?" + s.Back
	}
	var others []option
	if s.Lost = !sub.WholePage && len(sub.Components) == 0 && sub.IncidentID == ""; s.Lost {
		others = []option{wholePage}
	}
	if s.About, err = v.componentsField(f, h.Page.Slug, others...); err != nil {
		return err
	}
	if s.Lost {
		s.About.Hint = "None chosen: it stays so."
	}
	if sub.CanAskForWarnings() {
		s.Warnings = new(f.draw(warningsField))
	}
	return v.show(status, "subscriber", sub.Target, s)
}

// editSubscriber saves what a subscriber is notified of, unless the subscriber or somebody else has changed it since
// the form was shown.
func (v *visit) editSubscriber() error {
	f := newForm(v.r.PostForm)
	slug, id := v.r.PathValue("page"), v.r.PathValue("subscriber")
	_, err := v.store.ChangeSubscriber(v.r.Context(), v.actor(), slug, id, shownVersion(f.values),
		func(s *audience.Subscriber) error {
			if f.values.Has("warnings") {
				s.Warnings = f.Value("warnings") == "true"
			}
			chosen := f.values["components"]
			if len(chosen) == 0 && len(s.Components) == 0 { // as it is, also if they are gone
				return nil
			}
			return s.Choose(slices.DeleteFunc(slices.Clone(chosen), func(id string) bool {
				return id == wholePage.Value
			}))
		})
	conflict := errors.Is(err, kernel.ErrPreconditionFailed)
	if !f.refused(err) && !conflict {
		return v.answerSubscribers(err, "")
	}
	sub, err := v.store.Subscriber(v.r.Context(), v.actor(), slug, id)
	if err != nil {
		return err
	}
	if conflict {
		f.saved = subscriberValues(sub)
		return v.answerSubscriber(http.StatusConflict, f, sub, true)
	}
	return v.answerSubscriber(http.StatusUnprocessableEntity, f, sub, false)
}
