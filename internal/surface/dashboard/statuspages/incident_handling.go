package statuspages

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// mergeForm is the form that merges an incident into another one. Without options there is none.
type mergeForm struct {
	*frame.Form
	Into frame.Field
}

// takeOverIncident marks an automatic incident as handled by people, or returns it to its monitor.
func (r *request) takeOverIncident() error {
	taken := r.PostForm.Get("taken") == "true"
	f := frame.NewForm(url.Values{})
	_, err := r.Store.TakeOverIncident(r.Context(), r.Actor(), r.PathValue("incident"), taken)
	if f.Refused(err) {
		i, err := r.Store.IncidentWithPage(r.Context(), r.Actor(), r.PathValue("incident"))
		if err != nil {
			return err
		}
		return r.answerIncident(http.StatusUnprocessableEntity, i, incidentForms{merge: f})
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/incidents/" + r.PathValue("incident"))
}

// mergeIncident merges an incident into another one, and then shows the other one.
func (r *request) mergeIncident() error {
	f := frame.NewForm(r.PostForm)
	i, err := r.Store.IncidentWithPage(r.Context(), r.Actor(), r.PathValue("incident"))
	if err != nil {
		return err
	}
	_, err = r.Store.MergeIncident(r.Context(), r.Actor(), i.ID, f.Value("incident_id"))
	if f.Refused(err) {
		return r.answerIncident(http.StatusUnprocessableEntity, i, incidentForms{merge: f})
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/incidents/" + f.Value("incident_id"))
}

// newMergeForm returns the form with the active incidents of the page of i.
func (r *request) newMergeForm(i store.ListedIncident, f *frame.Form) (mergeForm, error) {
	if f == nil {
		f = frame.NewForm(url.Values{})
	}
	m := mergeForm{Form: f}
	if i.Resolved {
		return m, nil
	}
	active, _, err := r.Store.Incidents(r.Context(), r.Actor(), i.PageSlug, store.IncidentFilter{Resolved: new(false)},
		store.Pagination{Page: 1, PerPage: frame.MaxChoices})
	var options []frame.Option
	for _, o := range active {
		if o.ID != i.ID {
			options = append(options, frame.Option{Value: o.ID, Label: o.Title})
		}
	}
	if len(options) > 0 {
		m.Into = f.Draw(frame.Field{
			Name: "incident_id", Label: "Merge into", Type: "select", Options: options,
		})
	}
	return m, err
}

// mergedInto returns the incident into which an incident was merged; the zero value: none.
func (r *request) mergedInto(i statuspage.Incident) (target statuspage.Incident, err error) {
	if i.MergedInto != "" {
		target, err = r.Store.Incident(r.Context(), r.Actor(), i.MergedInto)
	}
	return target, err
}
