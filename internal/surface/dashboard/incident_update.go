package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// incidentUpdateScreen is the data of the template incident_update.
type incidentUpdateScreen struct {
	*form
	Incident store.ListedIncident
	Path     string
	Tag      string
	Entry    timelineEntry
	Message  field
	Conflict bool
}

// updatePath returns the path of the screen that changes an update.
func updatePath(u statuspage.IncidentUpdate) string {
	return Path + "/incidents/" + u.IncidentID + "/updates/" + u.ID
}

// showIncidentUpdate shows the form of the text of an update.
func (v *visit) showIncidentUpdate() error { return v.answerIncidentUpdate(http.StatusOK, nil, false) }

func (v *visit) answerIncidentUpdate(status int, f *form, conflict bool) error {
	i, err := v.store.IncidentWithPage(v.r.Context(), v.actor(), v.r.PathValue("incident"))
	if err != nil {
		return err
	}
	u, err := v.store.Update(v.r.Context(), v.actor(), i.ID, v.r.PathValue("update"))
	if err != nil {
		return err
	}
	saved := url.Values{"message": {u.Message}}
	if f == nil {
		f = newForm(saved)
	}
	if conflict {
		f.saved = saved
	}
	s := incidentUpdateScreen{
		form: f, Incident: i, Path: updatePath(u), Tag: f.version("tag", kernel.EntityTag(u), conflict),
		Conflict: conflict,
		Entry:    newTimelineEntry(u.Message, u.System, u.CreatedAt),
	}
	s.Message = f.draw(field{
		Name: "message", Label: "Message", Type: "textarea", Rows: 8, Focus: true,
		Hint: "Markdown: **bold**, lists, links.",
	})
	return v.show(status, "incident_update", "Edit an update", s)
}

// editIncidentUpdate saves the text of an update.
func (v *visit) editIncidentUpdate() error {
	f := newForm(v.r.PostForm)
	incident := v.r.PathValue("incident")
	u, err := v.store.Update(v.r.Context(), v.actor(), incident, v.r.PathValue("update"))
	if err != nil {
		return err
	}
	_, err = v.store.EditUpdate(v.r.Context(), v.actor(), incident, u.ID, f.textInPlaceOf(u.Message, "message"),
		shownVersion(f.values))
	switch {
	case f.refused(err):
		return v.answerIncidentUpdate(http.StatusUnprocessableEntity, f, false)
	case errors.Is(err, kernel.ErrPreconditionFailed):
		return v.answerIncidentUpdate(http.StatusConflict, f, true)
	case err != nil:
		return err
	}
	return v.redirect(Path + "/incidents/" + incident)
}

// deleteIncidentUpdate deletes an update, unless somebody else has changed it since the form was shown.
func (v *visit) deleteIncidentUpdate() error {
	incident, id := v.r.PathValue("incident"), v.r.PathValue("update")
	err := v.store.DeleteUpdate(v.r.Context(), v.actor(), incident, id, shownVersion(v.r.PostForm))
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		return v.answerIncidentUpdate(http.StatusConflict, nil, true)
	}
	if err != nil {
		return err
	}
	return v.redirect(Path + "/incidents/" + incident)
}
