package dashboard

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
)

const silencesPath = Path + "/silences"

// silencesScreen is the data of the template silences.
type silencesScreen struct {
	Silences []silenceRow
	Ended    bool // those that have ended are listed, too
	Pager    pager
	CanEdit  bool
}

// silenceRow is a silence in the list.
type silenceRow struct {
	alert.Silence
	State string // planned, now or ended
}

// showSilences lists the silences.
func (v *visit) showSilences() error {
	query := v.r.URL.Query()
	r, ended := pagination(query), query.Get("ended") == "true"
	kept, filter := url.Values{}, store.Filter{EndsAfter: v.now()}
	if ended {
		kept.Set("ended", "true")
		filter = store.Filter{}
	}
	all, total, err := v.store.Silences().List(v.r.Context(), v.actor(), "", filter, r)
	if err != nil {
		return err
	}
	s := silencesScreen{
		Ended: ended, Pager: newPager(silencesPath, kept, r, len(all), total), CanEdit: v.may(rights.SilenceChange),
	}
	for _, silence := range all {
		s.Silences = append(s.Silences, silenceRow{silence, silenceState(silence, v.now())})
	}
	return v.showLive("silences", "Silences", s)
}

func silenceState(s alert.Silence, now time.Time) string {
	switch {
	case !s.EndsAt.After(now):
		return "Ended"
	case s.StartsAt.After(now):
		return "Planned"
	}
	return "Now"
}

// silenceScreen is the data of the template silence: the form of a silence.
type silenceScreen struct {
	*form
	ID          string // "": a new one
	Path, Tag   string // of the form
	Filter      alertFilterForm
	From, Until field
	Comment     field
	Everything  field // confirms that nothing limits it; drawn if that was asked
	Conflict    bool
	Over        bool // it has ended, so it cannot be changed
}

// showNewSilence shows the form of a silence, which may be of a monitor, or of what an alert is about.
func (v *visit) showNewSilence() error {
	query := v.r.URL.Query()
	filter, slug := alert.Filter{}, ""
	if ref := query.Get("monitor"); ref != "" {
		m, err := v.store.Monitor(v.r.Context(), v.actor(), ref)
		if err != nil {
			return err
		}
		filter.Monitors = []string{m.ID}
	}
	if id := query.Get("alert"); id != "" {
		a, err := v.store.Alert(v.r.Context(), v.actor(), id)
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
	zone, err := v.zoneOfForm(slug)
	if err != nil {
		return err
	}
	values := silenceValues(alert.Silence{Filter: filter, EndsAt: v.now().Add(time.Hour)}, zone)
	return v.answerSilence(http.StatusOK, newForm(values), alert.Silence{}, false)
}

// zoneOfForm returns the zone of a page, or else that of the only page, or UTC.
func (v *visit) zoneOfForm(slug string) (*time.Location, error) {
	if slug == "" {
		pages, err := v.pages()
		if err != nil || len(pages) != 1 {
			return time.UTC, err
		}
		return pages[0].Location(), nil
	}
	return v.zoneOf(slug)
}

// zone returns the zone of the times of a form.
func (f *form) zone() *time.Location {
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

func (v *visit) answerSilence(status int, f *form, silence alert.Silence, conflict bool) error {
	if err := rights.SilenceChange.CheckLimit(v.actor()); err != nil {
		return err
	}
	filter, err := v.newAlertFilter(f)
	if err != nil {
		return err
	}
	s := silenceScreen{form: f, ID: silence.ID, Path: silencesPath + "/new", Filter: filter, Conflict: conflict}
	title, from := "New silence", "Empty: now. "
	if silence.ID != "" {
		title, from = "Silence", ""
		s.Path, s.Tag, s.Over = silencesPath+"/"+silence.ID,
			f.version("tag", kernel.EntityTag(resource.Silence.Audited(silence)), conflict),
			!silence.EndsAt.After(v.now())
	}
	starts := fieldOf(resource.Silence.Info("starts_at"))
	starts.Bare, starts.Hint = true, from+"In the zone "+f.zone().String()+"."
	s.From, s.Until, s.Comment = f.draw(starts), f.draw(fieldOf(resource.Silence.Info("ends_at"))),
		f.draw(fieldOf(resource.Silence.Info("comment")))
	s.Everything = f.draw(field{Name: "everything"})
	return v.show(status, "silence", title, s)
}

// readSilence returns the change of a silence that was typed; saved is zero for a new one. If nothing limits it then,
// that must be confirmed, unless that was so before.
func (v *visit) readSilence(f *form, saved alert.Silence) func(*alert.Silence) error {
	typed := resource.Silence.ReadForm(saved, f.withEmpty(filterFields...), f.zone(), v.now())
	return func(s *alert.Silence) error {
		err := typed(s)
		var bad kernel.ValidationError
		if s.MatchesAll() && f.Value("everything") != "yes" && (saved.ID == "" || !saved.MatchesAll()) {
			bad.Add("everything",
				"Nothing is chosen, so nobody is notified of any alert of this workspace until the end.")
		}
		if saved.ID != "" && f.Value("starts_at") == "" {
			bad.Add("starts_at", kernel.Required)
		}
		return kernel.JoinInvalid(err, bad.Err())
	}
}

// createSilence creates a silence.
func (v *visit) createSilence() error {
	f := newForm(v.r.PostForm)
	_, err := v.store.Silences().Create(v.r.Context(), v.actor(), "", v.readSilence(f, alert.Silence{}))
	if f.refused(err) {
		return v.answerSilence(http.StatusUnprocessableEntity, f, alert.Silence{}, false)
	}
	if err != nil {
		return err
	}
	return v.redirect(silencesPath)
}

// showSilence shows the form of a silence as it is.
func (v *visit) showSilence() error {
	s, err := v.store.Silences().Get(v.r.Context(), v.actor(), "", v.r.PathValue("silence"))
	if err != nil {
		return err
	}
	zone, err := v.zoneOfForm("")
	if err != nil {
		return err
	}
	return v.answerSilence(http.StatusOK, newForm(silenceValues(s, zone)), s, false)
}

// editSilence saves a silence, unless somebody else has changed it since the form was shown.
func (v *visit) editSilence() error {
	f := newForm(v.r.PostForm)
	s, err := v.store.Silences().Get(v.r.Context(), v.actor(), "", v.r.PathValue("silence"))
	if err != nil {
		return err
	}
	_, err = v.store.Silences().Change(v.r.Context(), v.actor(), "", s.ID, v.readSilence(f, s), shownVersion(f.values))
	switch {
	case f.refused(err):
		return v.answerSilence(http.StatusUnprocessableEntity, f, s, false)
	case errors.Is(err, kernel.ErrPreconditionFailed):
		f.saved = silenceValues(s, f.zone())
		return v.answerSilence(http.StatusConflict, f, s, true)
	case err != nil:
		return err
	}
	return v.redirect(silencesPath)
}

// endSilence ends a silence now.
func (v *visit) endSilence() error {
	if err := v.store.Silences().Delete(
		v.r.Context(), v.actor(), "", v.r.PathValue("silence"), kernel.Precondition{},
	); err != nil {
		return err
	}
	return v.redirect(silencesPath)
}
