package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/rights"
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
	all, total, err := v.store.Silences(v.r.Context(), v.actor(), ended, r)
	if err != nil {
		return err
	}
	kept := url.Values{}
	if ended {
		kept.Set("ended", "true")
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
	values := filterValues(filter)
	values.Set("zone", zone.String())
	values.Set("ends_at", v.now().In(zone).Add(time.Hour).Format(clockLayout))
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
	zone, err := allswell.LoadZone(f.Value("zone"))
	if err != nil {
		return time.UTC
	}
	return zone
}

// silenceValues returns the values of the form of a silence.
func silenceValues(s alert.Silence, zone *time.Location) url.Values {
	values := filterValues(s.Filter)
	values.Set("zone", zone.String())
	values.Set("comment", s.Comment)
	values.Set("starts_at", s.StartsAt.In(zone).Format(clockLayout))
	values.Set("ends_at", s.EndsAt.In(zone).Format(clockLayout))
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
		s.Path, s.Tag, s.Over = silencesPath+"/"+silence.ID, f.version("tag", allswell.EntityTag(silence), conflict), !silence.EndsAt.After(v.now())
	}
	s.From = f.draw(field{
		Name: "starts_at", Label: "From", Type: "datetime-local", Bare: true,
		Hint: from + "In the zone " + f.zone().String() + ".",
	})
	s.Until = f.draw(field{Name: "ends_at", Label: "Until", Type: "datetime-local"})
	s.Comment = f.draw(field{
		Name: "comment", Label: "Why", Type: "textarea", Rows: 2, Optional: true, Placeholder: "Restore test",
	})
	s.Everything = f.draw(field{Name: "everything"})
	return v.show(status, "silence", title, s)
}

// readSilence returns the silence that was typed, on the basis of one as it is.
func (v *visit) readSilence(f *form, s alert.Silence) alert.Silence {
	zone := f.zone()
	saved := silenceValues(s, zone)
	s.Filter = f.alertFilter()
	f.values.Set("comment", strings.ReplaceAll(f.Value("comment"), "\r\n", "\n"))
	if comment := f.Value("comment"); comment != s.Comment {
		s.Comment = strings.TrimSpace(comment)
	}
	for name, to := range map[string]*time.Time{"starts_at": &s.StartsAt, "ends_at": &s.EndsAt} {
		if s.ID == "" || f.Value(name) != saved.Get(name) { // the form has no seconds
			*to = f.moment(name, zone, v.now())
		}
	}
	return s
}

// checkEverything asks for a confirmation if nothing limits the input, unless that is so already.
func (f *form) checkEverything(typed, saved alert.Silence) {
	if typed.Filter.MatchesAll() && f.Value("everything") != "yes" && (saved.ID == "" || !saved.Filter.MatchesAll()) {
		f.refuse("everything", "Nothing is chosen, so nobody is notified of any alert of this workspace until the end.")
	}
}

// createSilence creates a silence.
func (v *visit) createSilence() error {
	f := newForm(v.r.PostForm)
	s := v.readSilence(f, alert.Silence{})
	if f.Value("ends_at") == "" {
		f.refuse("ends_at", allswell.Required)
	}
	f.checkEverything(s, alert.Silence{})
	if !f.HasErrors() {
		_, err := v.store.CreateSilence(v.r.Context(), v.actor(), s)
		if err != nil && !f.refused(err) {
			return err
		}
	}
	if f.HasErrors() {
		return v.answerSilence(http.StatusUnprocessableEntity, f, alert.Silence{}, false)
	}
	return v.redirect(silencesPath)
}

// showSilence shows the form of a silence as it is.
func (v *visit) showSilence() error {
	s, err := v.store.Silence(v.r.Context(), v.actor(), v.r.PathValue("silence"))
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
	s, err := v.store.Silence(v.r.Context(), v.actor(), v.r.PathValue("silence"))
	if err != nil {
		return err
	}
	typed := v.readSilence(f, s)
	for _, name := range []string{"starts_at", "ends_at"} {
		if f.Value(name) == "" {
			f.refuse(name, allswell.Required)
		}
	}
	f.checkEverything(typed, s)
	if !f.HasErrors() {
		_, err = v.store.ChangeSilence(v.r.Context(), v.actor(), s.ID, allswell.Precondition{Tags: []string{f.Value("tag")}}, func(now *alert.Silence) error {
			now.Filter, now.Comment, now.StartsAt, now.EndsAt = typed.Filter, typed.Comment, typed.StartsAt, typed.EndsAt
			return nil
		})
		f.refused(err)
	}
	switch {
	case f.HasErrors():
		return v.answerSilence(http.StatusUnprocessableEntity, f, s, false)
	case errors.Is(err, allswell.ErrPreconditionFailed):
		f.saved = silenceValues(s, f.zone())
		return v.answerSilence(http.StatusConflict, f, s, true)
	case err != nil:
		return err
	}
	return v.redirect(silencesPath)
}

// endSilence ends a silence now.
func (v *visit) endSilence() error {
	if err := v.store.EndSilence(v.r.Context(), v.actor(), v.r.PathValue("silence"), allswell.Precondition{}); err != nil {
		return err
	}
	return v.redirect(silencesPath)
}
