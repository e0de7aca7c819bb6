package dashboard

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
)

// maintenanceScreen is the data of the template maintenance.
type maintenanceScreen struct {
	store.ListedMaintenance
	Entries  []timelineEntry // newest first
	Log      objectLog
	CanEdit  bool
	Conflict bool // somebody else was faster
	Audience string
	Update   maintenanceUpdateForm
	Plan     planForm
}

// Completed reports whether the maintenance has ended.
func (s maintenanceScreen) Completed() bool { return s.State == statuspage.MaintenanceCompleted }

// maintenanceUpdateForm is the form of an update of a maintenance.
type maintenanceUpdateForm struct {
	*form
	Seen           string
	State, Message field
	Preview        *maintenancePreview // nil: none was asked for
}

// maintenanceForms are the two forms of the screen of a maintenance, with the input of one of them.
type maintenanceForms struct {
	update, plan *form // nil: nothing was typed
	conflict     bool
	preview      *maintenancePreview
}

// showMaintenance shows a maintenance with its timeline, its forms and its changes.
func (v *visit) showMaintenance() error {
	m, err := v.store.MaintenanceWithPage(v.r.Context(), v.actor(), v.r.PathValue("maintenance"))
	if err != nil {
		return err
	}
	return v.answerMaintenance(http.StatusOK, m, maintenanceForms{})
}

func (v *visit) answerMaintenance(status int, m store.ListedMaintenance, forms maintenanceForms) error {
	s := maintenanceScreen{ListedMaintenance: m, CanEdit: v.may(rights.MaintenanceChange), Conflict: forms.conflict}
	ids := []string{m.ID}
	for _, u := range m.Updates {
		ids = append(ids, u.ID)
	}
	var err error
	if s.Log, err = v.objectLog(ids); err != nil {
		return err
	}
	for _, u := range slices.Backward(m.Updates) {
		e := newTimelineEntry(u.Message, u.System, u.CreatedAt)
		e.State, e.Author = i18n.English().MaintenanceState(u.State), s.Log.authors[u.ID]
		if u.System.Kind != "" {
			e.Author = "Allswell"
		}
		s.Entries = append(s.Entries, e)
	}
	if s.CanEdit {
		if err := v.fillMaintenanceForms(&s, forms); err != nil {
			return err
		}
	}
	return v.show(status, "maintenance", m.Title, s)
}

// fillMaintenanceForms sets the forms, from the input or else from the maintenance.
func (v *visit) fillMaintenanceForms(s *maintenanceScreen, forms maintenanceForms) error {
	m := s.Maintenance
	page, err := v.store.Page(v.r.Context(), v.actor(), s.PageSlug)
	if err != nil {
		return err
	}
	counts, err := v.store.Audience(v.r.Context(), v.actor(), s.PageSlug, m.ID, statuspage.ComponentIDs(m.Components))
	if err != nil {
		return err
	}
	s.Audience = audienceText(counts)
	f := forms.update
	if f == nil {
		f = newForm(url.Values{"state": {string(m.State)}})
	}
	revision := resource.MaintenanceRevision(m)
	s.Update = maintenanceUpdateForm{form: f, Seen: f.version("seen", revision, forms.conflict), Preview: forms.preview}
	for _, i := range resource.MaintenanceUpdate.Infos() {
		x := fieldOf(i)
		if i.Name == "message" {
			x.Rows, x.Optional = 4, true
			s.Update.Message = f.draw(x)
			continue
		}
		x.Options = slices.DeleteFunc(x.Options, func(o option) bool {
			changed := m
			return resource.ChangeMaintenance(&changed, toState(statuspage.MaintenanceState(o.Value)), v.now()) != nil
		})
		s.Update.State = f.draw(x)
	}
	if f = forms.plan; f == nil {
		f = newForm(resource.Maintenance.FormValues(m, page.Location()))
	}
	s.Plan, err = v.newPlanForm(f, page)
	s.Plan.Seen = f.version("seen", revision, forms.conflict)
	return err
}

// toState is the change that brings a maintenance to a state.
func toState(state statuspage.MaintenanceState) fields.Change[statuspage.Maintenance] {
	return func(m *statuspage.Maintenance) error { m.State = state; return nil }
}

// updateMaintenance posts an update, with a change of the state, or shows a preview of it. A change of the state needs
// no message.
func (v *visit) updateMaintenance() error {
	f := newForm(v.r.PostForm)
	m, err := v.store.MaintenanceWithPage(v.r.Context(), v.actor(), v.r.PathValue("maintenance"))
	if err != nil {
		return err
	}
	u, seen := statuspage.MaintenanceUpdate{State: m.State}, f.Value("seen")
	write := resource.MaintenanceUpdate.ReadForm(statuspage.MaintenanceUpdate{}, f.values, time.UTC, v.now())
	if err := write(&u); err != nil {
		return err
	}
	if last := len(m.Updates) - 1; last >= 0 && seen != resource.MaintenanceRevision(m.Maintenance) &&
		m.State == u.State {
		if l := m.Updates[last]; l.Message == u.Message || u.Message == "" && l.System.Kind != "" {
			return v.redirect(Path + "/maintenances/" + m.ID) // the form was sent twice
		}
	}
	switch {
	case f.Value("action") == actionPreview:
		changed := m.Maintenance
		f.refused(resource.ChangeMaintenance(&changed, toState(u.State), v.now()))
		preview, err := v.previewOfMaintenance(m.PageSlug, m.ID, changed)
		if err != nil {
			return err
		}
		if text := cmp.Or(u.Message, changed.TransitionFrom(m.Maintenance).Message()); text != "" {
			preview.setEntry(text, changed.State, v.now())
		}
		return v.answerMaintenance(http.StatusOK, m, maintenanceForms{update: f, preview: preview})
	case u.Message == "" && u.State != m.State:
		_, err = v.store.ChangeMaintenance(v.r.Context(), v.actor(), m.ID, toState(u.State), seen)
	default:
		_, err = v.store.PostMaintenanceUpdate(v.r.Context(), v.actor(), m.ID, write, seen)
	}
	return v.afterMaintenanceChange(m, err, maintenanceForms{update: f})
}

// afterMaintenanceChange leads back to a maintenance after a change, or shows the form again if it was refused. If
// somebody else was faster, it shows their change.
func (v *visit) afterMaintenanceChange(m store.ListedMaintenance, err error, forms maintenanceForms) error {
	f := forms.update
	if f == nil {
		f = forms.plan
	}
	if f.refused(err) {
		return v.answerMaintenance(http.StatusUnprocessableEntity, m, forms)
	}
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		if m, err = v.store.MaintenanceWithPage(v.r.Context(), v.actor(), m.ID); err != nil {
			return err
		}
		forms.conflict = true
		return v.answerMaintenance(http.StatusConflict, m, forms)
	}
	if err != nil {
		return err
	}
	return v.redirect(Path + "/maintenances/" + m.ID)
}

// editMaintenance changes what is planned. Times that are as the form showed them are kept to the second.
func (v *visit) editMaintenance() error {
	f := newForm(v.r.PostForm)
	m, err := v.store.MaintenanceWithPage(v.r.Context(), v.actor(), v.r.PathValue("maintenance"))
	if err != nil {
		return err
	}
	page, err := v.store.Page(v.r.Context(), v.actor(), m.PageSlug)
	if err != nil {
		return err
	}
	change := resource.Maintenance.ReadForm(m.Maintenance, f.values, page.Location(), v.now())
	_, err = v.store.ChangeMaintenance(v.r.Context(), v.actor(), m.ID, change, f.Value("seen"))
	return v.afterMaintenanceChange(m, err, maintenanceForms{plan: f})
}

// deleteMaintenance deletes a maintenance. One that has not ended is cancelled.
func (v *visit) deleteMaintenance() error {
	if v.r.PostForm.Get("confirm") == "" {
		return v.redirect(Path + "/maintenances/" + url.PathEscape(v.r.PathValue("maintenance")))
	}
	if err := v.store.DeleteMaintenance(v.r.Context(), v.actor(), v.r.PathValue("maintenance")); err != nil {
		return err
	}
	return v.redirect(Path + "/maintenances")
}
