package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/rights"
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
func (s maintenanceScreen) Completed() bool { return s.State == allswell.MaintenanceCompleted }

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
	components := componentIDs(m)
	counts, err := v.store.Audience(v.r.Context(), v.actor(), s.PageSlug, m.ID, components)
	if err != nil {
		return err
	}
	s.Audience = audienceText(counts)
	f := forms.update
	if f == nil {
		f = newForm(url.Values{"state": {string(m.State)}})
	}
	s.Update = maintenanceUpdateForm{form: f, Seen: f.version("seen", m.Revision(), forms.conflict), Preview: forms.preview}
	s.Update.Message = f.draw(field{
		Name: "message", Label: "Message", Type: "textarea", Rows: 4, Optional: true,
		Hint: "Markdown: **bold**, lists, links.",
	})
	state := field{Name: "state", Label: "State", Type: "select"}
	for _, next := range allswell.MaintenanceStates {
		if (allswell.MaintenanceChange{State: &next}).Validate(m, v.now()) == nil {
			state.Options = append(state.Options, option{Value: string(next), Label: i18n.English().MaintenanceState(next)})
		}
	}
	s.Update.State = f.draw(state)
	if f = forms.plan; f == nil {
		f = newForm(url.Values{
			"title": {m.Title}, "components": components, "remind_before": {seconds(m.RemindBefore)},
			"scheduled_for":   {m.ScheduledFor.In(page.Location()).Format(clockLayout)},
			"scheduled_until": {m.ScheduledUntil.In(page.Location()).Format(clockLayout)},
		})
	}
	s.Plan, err = v.newPlanForm(f, page)
	s.Plan.Seen = f.version("seen", m.Revision(), forms.conflict)
	return err
}

// updateMaintenance posts an update, with a change of the state, or shows a preview of it. A change of the state needs no
// message.
func (v *visit) updateMaintenance() error {
	f := newForm(v.r.PostForm)
	m, err := v.store.MaintenanceWithPage(v.r.Context(), v.actor(), v.r.PathValue("maintenance"))
	if err != nil {
		return err
	}
	n := allswell.NewMaintenanceUpdate{State: allswell.MaintenanceState(f.Value("state")), Seen: f.Value("seen")}
	if message := f.text("message"); message != nil {
		n.Message = *message
	}
	if last := len(m.Updates) - 1; last >= 0 && n.Seen != m.Revision() && m.State == n.State {
		if u := m.Updates[last]; u.Message == n.Message || n.Message == "" && u.System.Kind != "" {
			return v.redirect(Path + "/maintenances/" + m.ID) // the form was sent twice
		}
	}
	if f.Value("action") == actionPreview {
		preview, err := v.previewOfMaintenanceUpdate(m, n)
		if err != nil {
			return err
		}
		return v.answerMaintenance(http.StatusOK, m, maintenanceForms{update: f, preview: preview})
	}
	if n.Message == "" && n.State != m.State {
		_, err = v.store.ChangeMaintenance(v.r.Context(), v.actor(), m.ID, allswell.MaintenanceChange{
			State: &n.State, Seen: n.Seen,
		})
	} else {
		_, err = v.store.PostMaintenanceUpdate(v.r.Context(), v.actor(), m.ID, n)
	}
	return v.afterMaintenanceChange(m, err, maintenanceForms{update: f})
}

// previewOfMaintenanceUpdate returns the preview of an update.
func (v *visit) previewOfMaintenanceUpdate(
	m store.ListedMaintenance, n allswell.NewMaintenanceUpdate,
) (*maintenancePreview, error) {
	counts, err := v.store.Audience(v.r.Context(), v.actor(), m.PageSlug, m.ID, componentIDs(m.Maintenance))
	if err != nil {
		return nil, err
	}
	changed := m.Maintenance
	transition := changed.Apply(allswell.MaintenanceChange{State: &n.State}, v.now())
	p := &maintenancePreview{Maintenance: changed, Audience: audienceText(counts)}
	if n.Message != "" || transition != allswell.TransitionNone {
		e := newTimelineEntry(cmp.Or(n.Message, transition.Message()), allswell.SystemMessage{}, v.now())
		e.State = i18n.English().MaintenanceState(changed.State)
		p.Entry = &e
	}
	return p, nil
}

func componentIDs(m allswell.Maintenance) (ids []string) {
	for _, c := range m.Components {
		ids = append(ids, c.ID)
	}
	return ids
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
	if errors.Is(err, allswell.ErrPreconditionFailed) {
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
	title := strings.TrimSpace(f.Value("title"))
	ch := allswell.MaintenanceChange{Title: &title, Seen: f.Value("seen")}
	if m.State != allswell.MaintenanceCompleted {
		components, reminder := f.values["components"], parseSeconds(f.Value("remind_before"))
		ch.Components, ch.RemindBefore = &components, &reminder
		if f.Value("scheduled_for") != m.ScheduledFor.In(page.Location()).Format(clockLayout) {
			from := f.moment("scheduled_for", page.Location(), v.now())
			ch.ScheduledFor = &from
		}
		if f.Value("scheduled_until") != m.ScheduledUntil.In(page.Location()).Format(clockLayout) {
			until := f.moment("scheduled_until", page.Location(), v.now())
			ch.ScheduledUntil = &until
		}
	}
	if f.HasErrors() {
		return v.answerMaintenance(http.StatusUnprocessableEntity, m, maintenanceForms{plan: f})
	}
	_, err = v.store.ChangeMaintenance(v.r.Context(), v.actor(), m.ID, ch)
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
