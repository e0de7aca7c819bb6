package dashboard

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// mergeForm is the form that merges an incident into another one. Without options there is none.
type mergeForm struct {
	*form
	Into field
}

// takeOverIncident leaves an automatic incident to people, or gives it back to its monitor.
func (v *visit) takeOverIncident() error {
	taken := v.r.PostForm.Get("taken") == "true"
	f := newForm(url.Values{})
	_, err := v.store.TakeOverIncident(v.r.Context(), v.actor(), v.r.PathValue("incident"), taken)
	if f.refused(err) {
		i, err := v.store.IncidentWithPage(v.r.Context(), v.actor(), v.r.PathValue("incident"))
		if err != nil {
			return err
		}
		return v.answerIncident(http.StatusUnprocessableEntity, i, incidentForms{merge: f})
	}
	if err != nil {
		return err
	}
	return v.redirect(Path + "/incidents/" + v.r.PathValue("incident"))
}

// mergeIncident merges an incident into another one, whose screen it then shows.
func (v *visit) mergeIncident() error {
	f := newForm(v.r.PostForm)
	i, err := v.store.IncidentWithPage(v.r.Context(), v.actor(), v.r.PathValue("incident"))
	if err != nil {
		return err
	}
	_, err = v.store.MergeIncident(v.r.Context(), v.actor(), i.ID, f.Value("incident_id"))
	if f.refused(err) {
		return v.answerIncident(http.StatusUnprocessableEntity, i, incidentForms{merge: f})
	}
	if err != nil {
		return err
	}
	return v.redirect(Path + "/incidents/" + f.Value("incident_id"))
}

// newMergeForm returns the form with the active incidents of the page of i.
func (v *visit) newMergeForm(i store.ListedIncident, f *form) (mergeForm, error) {
	if f == nil {
		f = newForm(url.Values{})
	}
	m := mergeForm{form: f}
	if i.Resolved {
		return m, nil
	}
	active, _, err := v.store.Incidents(v.r.Context(), v.actor(), i.PageSlug,
		store.IncidentFilter{Resolved: new(false)}, store.Pagination{Page: 1, PerPage: maxChoices})
	var options []option
	for _, o := range active {
		if o.ID != i.ID {
			options = append(options, option{Value: o.ID, Label: o.Title})
		}
	}
	if len(options) > 0 {
		m.Into = f.draw(field{Name: "incident_id", Label: "Incident that goes on", Type: "select", Options: options})
	}
	return m, err
}

// mergedInto returns the incident into which another one was merged; an empty one: none.
func (v *visit) mergedInto(i statuspage.Incident) (target statuspage.Incident, err error) {
	if i.MergedInto != "" {
		target, err = v.store.Incident(v.r.Context(), v.actor(), i.MergedInto)
	}
	return target, err
}
