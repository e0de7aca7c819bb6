package statuspages

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// incidentUpdateScreen is the data of the template incident_update.
type incidentUpdateScreen struct {
	*frame.Form
	Incident store.ListedIncident
	Path     string
	Tag      string
	Entry    timelineEntry
	Message  frame.Field
	Conflict bool
}

// updatePath returns the path of the screen that changes an update.
func updatePath(u statuspage.IncidentUpdate) string {
	return frame.Path + "/incidents/" + u.IncidentID + "/updates/" + u.ID
}

// showIncidentUpdate shows the form of the text of an update.
func (r *request) showIncidentUpdate() error {
	return r.answerIncidentUpdate(http.StatusOK, nil, false)
}

func (r *request) answerIncidentUpdate(status int, f *frame.Form, conflict bool) error {
	i, err := r.Store.IncidentWithPage(r.Context(), r.Actor(), r.PathValue("incident"))
	if err != nil {
		return err
	}
	u, err := r.Store.Update(r.Context(), r.Actor(), i.ID, r.PathValue("update"))
	if err != nil {
		return err
	}
	saved := url.Values{"message": {u.Message}}
	if f == nil {
		f = frame.NewForm(saved)
	}
	if conflict {
		f.SavedMeanwhile = saved
	}
	s := incidentUpdateScreen{
		Form: f, Incident: i, Path: updatePath(u), Tag: f.Version("tag", kernel.EntityTag(u), conflict),
		Conflict: conflict, Entry: newTimelineEntry(u.Message, u.System, u.CreatedAt),
	}
	s.Message = f.Draw(frame.Field{
		Name: "message", Label: "Message", Type: "textarea", Rows: 8, Focus: true,
		Hint: "Markdown: **bold**, lists, links.",
	})
	return r.Show(status, "incident_update", "Edit an update", s)
}

// editIncidentUpdate saves the text of an update.
func (r *request) editIncidentUpdate() error {
	f := frame.NewForm(r.PostForm)
	incident := r.PathValue("incident")
	u, err := r.Store.Update(r.Context(), r.Actor(), incident, r.PathValue("update"))
	if err != nil {
		return err
	}
	_, err = r.Store.EditUpdate(r.Context(), r.Actor(), incident, u.ID, readTextInPlaceOf(f, u.Message, "message"),
		frame.UnchangedSince(f.Values))
	switch {
	case f.Refused(err):
		return r.answerIncidentUpdate(http.StatusUnprocessableEntity, f, false)
	case errors.Is(err, kernel.ErrPreconditionFailed):
		return r.answerIncidentUpdate(http.StatusConflict, f, true)
	case err != nil:
		return err
	}
	return r.Redirect(frame.Path + "/incidents/" + incident)
}

// deleteIncidentUpdate deletes an update, unless somebody else has changed it since the form was shown.
func (r *request) deleteIncidentUpdate() error {
	incident, id := r.PathValue("incident"), r.PathValue("update")
	err := r.Store.DeleteUpdate(r.Context(), r.Actor(), incident, id, frame.UnchangedSince(r.PostForm))
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		return r.answerIncidentUpdate(http.StatusConflict, nil, true)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/incidents/" + incident)
}
