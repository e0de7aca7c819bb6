package alerting

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// silencesScreen is the data of the template silences.
type silencesScreen struct {
	Silences []silenceRow
	Ended    bool // those that have ended are listed, too
	Pager    frame.Pager
	CanEdit  bool
}

// silenceRow is a silence in the list.
type silenceRow struct {
	alert.Silence
	State string // planned, now or ended
}

// showSilences lists the silences.
func (r *request) showSilences() error {
	query := r.URL.Query()
	rows, ended := frame.Pagination(query), query.Get("ended") == "true"
	kept, filter := url.Values{}, store.Filter{EndsAfter: r.Now()}
	if ended {
		kept.Set("ended", "true")
		filter = store.Filter{}
	}
	all, total, err := r.Store.Silences().List(r.Context(), r.Actor(), "", filter, rows)
	if err != nil {
		return err
	}
	s := silencesScreen{
		Ended: ended, Pager: frame.NewPager(frame.SilencesPath, kept, rows, len(all), total),
		CanEdit: r.May(rights.SilenceChange),
	}
	for _, silence := range all {
		s.Silences = append(s.Silences, silenceRow{silence, silenceState(silence, r.Now())})
	}
	return r.Show(http.StatusOK, "silences", "Silences", s)
}

func silenceState(s alert.Silence, now time.Time) string {
	switch {
	case !s.EndsAt.After(now):
		return "Ended"
	case s.StartsAt.After(now):
		return "Scheduled"
	}
	return "Active"
}

// silenceScreen is the data of the template silence: the form of a silence.
type silenceScreen struct {
	*frame.Form
	ID          string // "": a new one
	Path, Tag   string // of the form
	Filter      alertFilterForm
	From, Until frame.Field
	Comment     frame.Field
	Everything  frame.Field // confirms a silence without a limit; drawn if the confirmation was requested
	Conflict    bool
	Over        bool // it has ended, so it cannot be changed
}

// showNewSilence shows the form of a silence, which the query can fill in for a monitor or for an alert.
func (r *request) showNewSilence() error {
	query := r.URL.Query()
	filter, slug := alert.Filter{}, ""
	if ref := query.Get("monitor"); ref != "" {
		m, err := r.Store.Monitor(r.Context(), r.Actor(), ref)
		if err != nil {
			return err
		}
		filter.Monitors = []string{m.ID}
	}
	if id := query.Get("alert"); id != "" {
		a, err := r.Store.Alert(r.Context(), r.Actor(), id)
		if err != nil {
			return err
		}
		slug = a.PageSlug
		if a.MonitorID != "" {
			filter.Monitors = []string{a.MonitorID}
		} else {
			filter.Events = []alert.Event{a.Event}
		}
	}
	zone, err := r.zoneOfForm(slug)
	if err != nil {
		return err
	}
	values := silenceValues(alert.Silence{Filter: filter, EndsAt: r.Now().Add(time.Hour)}, zone)
	return r.answerSilence(http.StatusOK, frame.NewForm(values), alert.Silence{}, false)
}

// zoneOfForm returns the time zone of a page; without a slug, the zone of the only page, or UTC.
func (r *request) zoneOfForm(slug string) (*time.Location, error) {
	if slug == "" {
		pages, err := r.Pages()
		if err != nil || len(pages) != 1 {
			return time.UTC, err
		}
		return pages[0].Location(), nil
	}
	return r.zoneOf(slug)
}

// zoneOf returns the time zone of a form's times; UTC if it is invalid.
func zoneOf(f *frame.Form) *time.Location {
	zone, err := kernel.LoadZone(f.Value("zone"))
	if err != nil {
		return time.UTC
	}
	return zone
}

// silenceValues returns the values of the form of a silence.
func silenceValues(s alert.Silence, zone *time.Location) url.Values {
	values := resource.Silence.FormValues(s, zone)
	values.Set("zone", zone.String())
	return values
}

func (r *request) answerSilence(status int, f *frame.Form, silence alert.Silence, conflict bool) error {
	if err := rights.SilenceChange.CheckLimit(r.Actor()); err != nil {
		return err
	}
	filter, err := r.newAlertFilter(f)
	if err != nil {
		return err
	}
	s := silenceScreen{Form: f, ID: silence.ID, Path: frame.SilencesPath + "/new", Filter: filter, Conflict: conflict}
	title, from := "New silence", "Default: now. "
	if silence.ID != "" {
		title, from = "Silence", ""
		s.Path, s.Tag, s.Over = frame.SilencesPath+"/"+silence.ID,
			f.Version("tag", kernel.EntityTag(resource.Silence.Audited(silence)), conflict),
			!silence.EndsAt.After(r.Now())
	}
	starts := frame.FieldOf(resource.Silence.Info("starts_at"))
	starts.Bare, starts.Hint = true, from+"Time zone: "+zoneOf(f).String()
	s.From, s.Until, s.Comment = f.Draw(starts), f.Draw(frame.FieldOf(resource.Silence.Info("ends_at"))),
		f.Draw(frame.FieldOf(resource.Silence.Info("comment")))
	s.Everything = f.Draw(frame.Field{Name: "everything"})
	return r.Show(status, "silence", title, s)
}

// readSilence returns the change of a silence that the form describes; saved is zero for a new silence. If the change
// removes all limits of the silence, it returns an error unless the form confirms that.
func (r *request) readSilence(f *frame.Form, saved alert.Silence) func(*alert.Silence) error {
	typed := resource.Silence.ReadForm(saved, withEmptyLists(f, filterFields...), zoneOf(f), r.Now())
	return func(s *alert.Silence) error {
		err := typed(s)
		var bad kernel.ValidationError
		if s.MatchesAll() && f.Value("everything") != "yes" && (saved.ID == "" || !saved.MatchesAll()) {
			bad.Add("everything",
				"Nothing is chosen, so no one gets any alert of this workspace until the silence ends.")
		}
		if saved.ID != "" && f.Value("starts_at") == "" {
			bad.Add("starts_at", kernel.Required)
		}
		return kernel.JoinInvalid(err, bad.Err())
	}
}

// createSilence creates a silence.
func (r *request) createSilence() error {
	f := frame.NewForm(r.PostForm)
	_, err := r.Store.Silences().Create(r.Context(), r.Actor(), "", r.readSilence(f, alert.Silence{}))
	if f.Refused(err) {
		return r.answerSilence(http.StatusUnprocessableEntity, f, alert.Silence{}, false)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.SilencesPath)
}

// showSilence shows the form of a silence, with its saved values.
func (r *request) showSilence() error {
	s, err := r.Store.Silences().Get(r.Context(), r.Actor(), "", r.PathValue("silence"))
	if err != nil {
		return err
	}
	zone, err := r.zoneOfForm("")
	if err != nil {
		return err
	}
	return r.answerSilence(http.StatusOK, frame.NewForm(silenceValues(s, zone)), s, false)
}

// editSilence saves a silence, unless somebody else has changed it since the form was shown.
func (r *request) editSilence() error {
	f := frame.NewForm(r.PostForm)
	s, err := r.Store.Silences().Get(r.Context(), r.Actor(), "", r.PathValue("silence"))
	if err != nil {
		return err
	}
	_, err = r.Store.Silences().Change(r.Context(), r.Actor(), "", s.ID, r.readSilence(f, s),
		frame.UnchangedSince(f.Values))
	switch {
	case f.Refused(err):
		return r.answerSilence(http.StatusUnprocessableEntity, f, s, false)
	case errors.Is(err, kernel.ErrPreconditionFailed):
		f.SavedMeanwhile = silenceValues(s, zoneOf(f))
		return r.answerSilence(http.StatusConflict, f, s, true)
	case err != nil:
		return err
	}
	return r.Redirect(frame.SilencesPath)
}

// endSilence ends a silence now.
func (r *request) endSilence() error {
	err := r.Store.Silences().Delete(r.Context(), r.Actor(), "", r.PathValue("silence"), kernel.Precondition{})
	if err != nil {
		return err
	}
	return r.Redirect(frame.SilencesPath)
}
