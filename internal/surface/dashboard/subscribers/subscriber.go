package subscribers

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// subscriberScreen is the data of the template subscriber.
type subscriberScreen struct {
	*frame.Form
	frame.PageHead
	Subscriber audience.Subscriber
	About      frame.Field
	Warnings   *frame.Field // nil: the subscriber cannot get warnings
	Path, Tag  string
	Conflict   bool
	Lost       bool   // all chosen components were deleted
	Back       string // query of the list that was shown
	List       string // URL of that list
}

// wholePage is the choice of the whole page, for a subscriber whose components were all deleted. If neither it nor a
// component is chosen, the subscriber stays unchanged.
var wholePage = frame.Option{Value: "", Label: "All components"}

// warningsField chooses whether a subscriber is notified of warnings.
var warningsField = frame.Field{
	Name: "warnings", Label: "Warnings of monitors", Type: "select", Options: []frame.Option{
		{Value: "false", Label: "don't send"}, {Value: "true", Label: "send"},
	},
}

// showSubscriber shows the form for what a subscriber is notified about.
func (r *request) showSubscriber() error {
	sub, err := r.Store.Subscriber(r.Context(), r.Actor(), r.PathValue("page"), r.PathValue("subscriber"))
	if err != nil {
		return err
	}
	f := frame.NewForm(subscriberValues(sub))
	f.Values.Set("back", r.URL.Query().Get("back"))
	return r.answerSubscriber(http.StatusOK, f, sub, false)
}

// subscriberValues returns the values of the form of a subscriber.
func subscriberValues(sub audience.Subscriber) url.Values {
	return url.Values{"components": sub.Components, "warnings": {strconv.FormatBool(sub.Warnings)}}
}

func (r *request) answerSubscriber(status int, f *frame.Form, sub audience.Subscriber, conflict bool) error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	back, err := url.ParseQuery(f.Value("back"))
	if err != nil {
		back = url.Values{}
	}
	s := &subscriberScreen{
		Form: f, PageHead: h, Subscriber: sub, Back: back.Encode(), List: frame.PagePath(h.Page) + "/subscribers",
		Tag: f.Version("tag", kernel.EntityTag(sub), conflict), Conflict: conflict,
	}
	if s.Path = s.List + "/" + sub.ID; len(back) > 0 {
		s.List += "?" + s.Back
	}
	var others []frame.Option
	if s.Lost = !sub.WholePage && len(sub.Components) == 0 && sub.IncidentID == ""; s.Lost {
		others = []frame.Option{wholePage}
	}
	if s.About, err = r.componentsField(f, h.Page.Slug, others...); err != nil {
		return err
	}
	if s.Lost {
		s.About.Hint = "Leave empty to keep the current choice."
	}
	if sub.CanAskForWarnings() {
		s.Warnings = new(f.Draw(warningsField))
	}
	return r.Show(status, "subscriber", sub.Target, s)
}

// editSubscriber saves what a subscriber is notified about, unless the subscriber or somebody else has changed it since
// the form was shown.
func (r *request) editSubscriber() error {
	f := frame.NewForm(r.PostForm)
	slug, id := r.PathValue("page"), r.PathValue("subscriber")
	_, err := r.Store.ChangeSubscriber(r.Context(), r.Actor(), slug, id, frame.UnchangedSince(f.Values),
		func(s *audience.Subscriber) error {
			if f.Values.Has("warnings") {
				s.Warnings = f.Value("warnings") == "true"
			}
			chosen := f.Values["components"]
			if len(chosen) == 0 && len(s.Components) == 0 { // unchanged, also if they are gone
				return nil
			}
			return s.Choose(slices.DeleteFunc(slices.Clone(chosen), func(id string) bool {
				return id == wholePage.Value
			}))
		})
	conflict := errors.Is(err, kernel.ErrPreconditionFailed)
	if !f.Refused(err) && !conflict {
		return r.answerSubscribers(err, "")
	}
	sub, err := r.Store.Subscriber(r.Context(), r.Actor(), slug, id)
	if err != nil {
		return err
	}
	if conflict {
		f.SavedMeanwhile = subscriberValues(sub)
		return r.answerSubscriber(http.StatusConflict, f, sub, true)
	}
	return r.answerSubscriber(http.StatusUnprocessableEntity, f, sub, false)
}
