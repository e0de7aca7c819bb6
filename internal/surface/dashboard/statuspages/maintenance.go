package statuspages

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	fields "github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// maintenanceScreen is the data of the template maintenance.
type maintenanceScreen struct {
	store.ListedMaintenance
	Entries  []timelineEntry // newest first
	Log      frame.ObjectLog
	CanEdit  bool
	Conflict bool // somebody else has changed the maintenance meanwhile
	Audience string
	Update   maintenanceUpdateForm
	Plan     planForm
}

// Completed reports whether the maintenance has ended.
func (s maintenanceScreen) Completed() bool { return s.State == statuspage.MaintenanceCompleted }

// maintenanceUpdateForm is the form of an update of a maintenance.
type maintenanceUpdateForm struct {
	*frame.Form
	Seen           string
	State, Message frame.Field
	Preview        *maintenancePreview // nil: none was requested
}

// maintenanceForms are the two forms of the screen of a maintenance, with the input of one of them.
type maintenanceForms struct {
	update, plan *frame.Form // nil: nothing was typed
	conflict     bool
	preview      *maintenancePreview
}

// showMaintenance shows a maintenance with its timeline, its forms and its changes.
func (r *request) showMaintenance() error {
	m, err := r.Store.MaintenanceWithPage(r.Context(), r.Actor(), r.PathValue("maintenance"))
	if err != nil {
		return err
	}
	return r.answerMaintenance(http.StatusOK, m, maintenanceForms{})
}

func (r *request) answerMaintenance(status int, m store.ListedMaintenance, forms maintenanceForms) error {
	s := maintenanceScreen{ListedMaintenance: m, CanEdit: r.May(rights.MaintenanceChange), Conflict: forms.conflict}
	ids := []string{m.ID}
	for _, u := range m.Updates {
		ids = append(ids, u.ID)
	}
	var err error
	if s.Log, err = r.objectLog(ids); err != nil {
		return err
	}
	for _, u := range slices.Backward(m.Updates) {
		e := newTimelineEntry(u.Message, u.System, u.CreatedAt)
		e.State, e.Author = i18n.English().MaintenanceState(u.State), s.Log.Authors[u.ID]
		if u.System.Kind != "" {
			e.Author = "Allswell"
		}
		s.Entries = append(s.Entries, e)
	}
	if s.CanEdit {
		if err := r.fillMaintenanceForms(&s, forms); err != nil {
			return err
		}
	}
	return r.Show(status, "maintenance", m.Title, s)
}

// fillMaintenanceForms sets the forms, from the input or else from the maintenance.
func (r *request) fillMaintenanceForms(s *maintenanceScreen, forms maintenanceForms) error {
	m := s.Maintenance
	page, err := r.Store.Page(r.Context(), r.Actor(), s.PageSlug)
	if err != nil {
		return err
	}
	counts, err := r.Store.Audience(r.Context(), r.Actor(), s.PageSlug, m.ID, statuspage.ComponentIDs(m.Components))
	if err != nil {
		return err
	}
	s.Audience = audienceText(counts)
	f := forms.update
	if f == nil {
		f = frame.NewForm(url.Values{"state": {string(m.State)}})
	}
	revision := resource.MaintenanceRevision(m)
	s.Update = maintenanceUpdateForm{Form: f, Seen: f.Version("seen", revision, forms.conflict), Preview: forms.preview}
	for _, i := range resource.MaintenanceUpdate.Infos() {
		x := frame.FieldOf(i)
		if i.Name == "message" {
			x.Rows, x.Optional = 4, true
			s.Update.Message = f.Draw(x)
			continue
		}
		x.Options = slices.DeleteFunc(x.Options, func(o frame.Option) bool {
			changed := m
			return resource.ChangeMaintenance(&changed, toState(statuspage.MaintenanceState(o.Value)), r.Now()) != nil
		})
		s.Update.State = f.Draw(x)
	}
	if f = forms.plan; f == nil {
		f = frame.NewForm(resource.Maintenance.FormValues(m, page.Location()))
	}
	s.Plan, err = r.newPlanForm(f, page)
	s.Plan.Seen = f.Version("seen", revision, forms.conflict)
	return err
}

// toState returns the change that sets the state of a maintenance.
func toState(state statuspage.MaintenanceState) fields.Change[statuspage.Maintenance] {
	return func(m *statuspage.Maintenance) error { m.State = state; return nil }
}

// updateMaintenance posts an update and may change the state, or shows a preview. A change of the state needs no
// message.
func (r *request) updateMaintenance() error {
	f := frame.NewForm(r.PostForm)
	m, err := r.Store.MaintenanceWithPage(r.Context(), r.Actor(), r.PathValue("maintenance"))
	if err != nil {
		return err
	}
	u, seen := statuspage.MaintenanceUpdate{State: m.State}, f.Value("seen")
	write := resource.MaintenanceUpdate.ReadForm(statuspage.MaintenanceUpdate{}, f.Values, time.UTC, r.Now())
	if err := write(&u); err != nil {
		return err
	}
	last := len(m.Updates) - 1
	if last >= 0 && seen != resource.MaintenanceRevision(m.Maintenance) && m.State == u.State {
		if l := m.Updates[last]; l.Message == u.Message || u.Message == "" && l.System.Kind != "" {
			return r.Redirect(frame.Path + "/maintenances/" + m.ID) // the form was sent twice
		}
	}
	switch {
	case f.Value("action") == actionPreview:
		changed := m.Maintenance
		f.Refused(resource.ChangeMaintenance(&changed, toState(u.State), r.Now()))
		preview, err := r.previewOfMaintenance(m.PageSlug, m.ID, changed)
		if err != nil {
			return err
		}
		if text := cmp.Or(u.Message, changed.TransitionFrom(m.Maintenance).Message()); text != "" {
			preview.setEntry(text, changed.State, r.Now())
		}
		return r.answerMaintenance(http.StatusOK, m, maintenanceForms{update: f, preview: preview})
	case u.Message == "" && u.State != m.State:
		_, err = r.Store.ChangeMaintenance(r.Context(), r.Actor(), m.ID, toState(u.State), seen)
	default:
		_, err = r.Store.PostMaintenanceUpdate(r.Context(), r.Actor(), m.ID, write, seen)
	}
	return r.afterMaintenanceChange(m, err, maintenanceForms{update: f})
}

// afterMaintenanceChange redirects to a maintenance after a change, or shows the form again if it was refused. If
// somebody else has changed the maintenance since the form was shown, it shows that change.
func (r *request) afterMaintenanceChange(m store.ListedMaintenance, err error, forms maintenanceForms) error {
	f := forms.update
	if f == nil {
		f = forms.plan
	}
	if f.Refused(err) {
		return r.answerMaintenance(http.StatusUnprocessableEntity, m, forms)
	}
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		if m, err = r.Store.MaintenanceWithPage(r.Context(), r.Actor(), m.ID); err != nil {
			return err
		}
		forms.conflict = true
		return r.answerMaintenance(http.StatusConflict, m, forms)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/maintenances/" + m.ID)
}

// editMaintenance changes the plan of a maintenance. Unchanged times keep their seconds, which the form does not show.
func (r *request) editMaintenance() error {
	f := frame.NewForm(r.PostForm)
	m, err := r.Store.MaintenanceWithPage(r.Context(), r.Actor(), r.PathValue("maintenance"))
	if err != nil {
		return err
	}
	page, err := r.Store.Page(r.Context(), r.Actor(), m.PageSlug)
	if err != nil {
		return err
	}
	change := resource.Maintenance.ReadForm(m.Maintenance, f.Values, page.Location(), r.Now())
	_, err = r.Store.ChangeMaintenance(r.Context(), r.Actor(), m.ID, change, f.Value("seen"))
	return r.afterMaintenanceChange(m, err, maintenanceForms{plan: f})
}

// deleteMaintenance deletes a maintenance. One that has not ended is cancelled.
func (r *request) deleteMaintenance() error {
	if r.PostForm.Get("confirm") == "" {
		return r.Redirect(frame.Path + "/maintenances/" + url.PathEscape(r.PathValue("maintenance")))
	}
	if err := r.Store.DeleteMaintenance(r.Context(), r.Actor(), r.PathValue("maintenance")); err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/maintenances")
}
