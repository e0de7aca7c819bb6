package statuspages

import (
	"cmp"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// timelineEntry is an update as visitors see it, with its author.
type timelineEntry struct {
	State  string
	Text   template.HTML
	At     time.Time
	Author string    // "": not known
	Edited time.Time // zero: never
	Silent bool      // nobody was notified, though visitors see it
	Change string    // path of the screen that changes the text; "": it cannot be changed
}

// newTimelineEntry renders the message of an update as the public page does.
func newTimelineEntry(message string, system statuspage.SystemMessage, at time.Time) timelineEntry {
	return timelineEntry{
		Text: i18n.UpdateText{Message: message, System: system, At: at}.HTML(i18n.English(), allZones), At: at,
	}
}

// maxNotes is how many notes of an incident are shown. An outage has one.
const maxNotes = 20

// incidentScreen is the data of the template incident.
type incidentScreen struct {
	store.ListedIncident
	Entries    []timelineEntry // newest first
	Notes      []monitor.IncidentNote
	Postmortem *postmortemView // nil: none is written
	Log        frame.ObjectLog
	CanEdit    bool
	Conflict   bool   // somebody else has changed the incident meanwhile
	Audience   string // who is notified of an update, or of the publication of a draft
	Update     updateForm
	Edit       editForm
	Merge      mergeForm
	Target     statuspage.Incident // the incident into which it was merged; zero: none
	Unaffected bool                // the page has no components
}

// updateForm is the form of an update.
type updateForm struct {
	*frame.Form
	Seen           string
	State, Message frame.Field
	Times          []frame.Field // when it happened, if it is reported later
	Components     []affectedField
	Preview        *incidentPreview
}

// editForm is the form of the title and the impact.
type editForm struct {
	*frame.Form
	Seen          string
	Title, Impact frame.Field
}

// incidentForms are the forms of the screen of an incident. At most one of them has input.
type incidentForms struct {
	update, edit, merge *frame.Form // nil: nothing was typed

	preview  *incidentPreview
	conflict bool
}

// showIncident shows an incident with its timeline, its forms and its changes.
func (r *request) showIncident() error {
	i, err := r.Store.IncidentWithPage(r.Context(), r.Actor(), r.PathValue("incident"))
	if err != nil {
		return err
	}
	return r.answerIncident(http.StatusOK, i, incidentForms{})
}

func (r *request) answerIncident(status int, i store.ListedIncident, forms incidentForms) error {
	s := incidentScreen{ListedIncident: i, CanEdit: r.May(rights.IncidentChange), Conflict: forms.conflict}
	ids := []string{i.ID}
	for _, u := range i.Updates {
		ids = append(ids, u.ID)
	}
	var err error
	if s.Log, err = r.objectLog(ids); err != nil {
		return err
	}
	s.Notes, _, err = r.Store.IncidentNotes(r.Context(), r.Actor(), i.ID, store.Pagination{Page: 1, PerPage: maxNotes})
	if err != nil {
		return err
	}
	postmortem, err := r.postmortem(i.ID)
	if err != nil {
		return err
	}
	s.Postmortem = newPostmortemView(postmortem)
	if s.Target, err = r.mergedInto(i.Incident); err != nil {
		return err
	}
	for _, u := range i.Timeline() {
		e := newTimelineEntry(u.Message, u.System, u.CreatedAt)
		e.State, e.Author = i18n.English().State(u.State), s.Log.Authors[u.ID]
		if u.System.Kind != "" {
			e.Author = "Allswell"
		}
		if stored := slices.ContainsFunc(i.Updates, func(o statuspage.IncidentUpdate) bool {
			return o.ID == u.ID
		}); stored {
			e.Edited, e.Silent = u.EditedAt, u.Silent && !i.Draft
			if s.CanEdit {
				e.Change = updatePath(u)
			}
		}
		s.Entries = append(s.Entries, e)
	}
	if s.CanEdit {
		if err := r.fillIncidentForms(&s, forms); err != nil {
			return err
		}
	}
	return r.Show(status, "incident", i.Title, s)
}

// fillIncidentForms sets the forms, from the input or else from the incident.
func (r *request) fillIncidentForms(s *incidentScreen, forms incidentForms) error {
	i := s.ListedIncident
	components, err := r.allComponents(i.PageSlug)
	if err != nil {
		return err
	}
	counts, err := r.incidentAudience(i.PageSlug, i.Incident)
	if err != nil {
		return err
	}
	s.Audience, s.Unaffected = audienceText(counts), len(components) == 0
	if !i.Notified && !i.Draft {
		s.Audience += " So far no one was notified of this incident: they will not be notified of its end alone."
	}
	f := forms.update
	if f == nil {
		f = frame.NewForm(url.Values{"state": {string(i.EffectiveState())}})
		for _, a := range i.Affected {
			f.Values.Set("status."+a.ComponentID, string(a.Status))
		}
	}
	s.Update = updateForm{
		Form: f, Seen: f.Version("seen", i.Revision(), forms.conflict), Components: affectedFields(f, components),
		Preview: forms.preview,
	}
	s.Update.Message = f.Draw(frame.Field{
		Name: "message", Label: "Message", Type: "textarea", Rows: 4, Optional: true,
		Hint: "Markdown: **bold**, lists, links.",
	})
	page, err := r.Store.Page(r.Context(), r.Actor(), i.PageSlug)
	if err != nil {
		return err
	}
	s.Update.Times = drawPastFields(f, page, frame.Field{
		Name: "at", Label: "Time",
		Hint: "Not before the newest update. If the update resolves the incident, it was over then.",
	})
	s.Update.State = f.Draw(frame.Field{Name: "state", Label: "State", Type: "select", Options: stateOptions()})
	if s.Merge, err = r.newMergeForm(i, forms.merge); err != nil {
		return err
	}
	if f = forms.edit; f == nil {
		f = frame.NewForm(url.Values{"title": {i.Title}, "impact": {string(i.Impact)}})
	}
	s.Edit = editForm{Form: f, Seen: f.Version("seen", i.Revision(), forms.conflict)}
	s.Edit.Title = f.Draw(frame.Field{Name: "title", Label: "Title"})
	s.Edit.Impact = f.Draw(frame.Field{Name: "impact", Label: "Impact", Type: "select", Options: frame.ImpactOptions()})
	return nil
}

// updateIncident posts an update, resolves the incident, or shows a preview of the update.
func (r *request) updateIncident() error {
	f := frame.NewForm(r.PostForm)
	i, err := r.Store.IncidentWithPage(r.Context(), r.Actor(), r.PathValue("incident"))
	if err != nil {
		return err
	}
	components, err := r.allComponents(i.PageSlug)
	if err != nil {
		return err
	}
	state, affected := statuspage.IncidentState(f.Value("state")), readAffected(f, components)
	if f.Value("action") == actionResolve {
		state = statuspage.IncidentResolved
	}
	page, err := r.Store.Page(r.Context(), r.Actor(), i.PageSlug)
	if err != nil {
		return err
	}
	u := statuspage.IncidentUpdate{Message: readText(f, "message"), CreatedAt: f.Moment("at", page.Location(), r.Now())}
	at := u.CreatedAt
	u.Silent = notifiesNobodyOfPast(f, !at.IsZero())
	if resolves := state == statuspage.IncidentResolved && !i.Resolved; u.Message == "" && !at.IsZero() && !resolves {
		f.Refuse("message", "An update with a time needs a message.")
	}
	if f.HasErrors() {
		return r.answerIncident(http.StatusUnprocessableEntity, i, incidentForms{update: f})
	}
	reopens := i.Resolved && (at.IsZero() || !at.Before(i.ResolvedAt))
	change := func(i *statuspage.Incident) error {
		i.State = state
		switch {
		case state == statuspage.IncidentResolved: // the components recover by themselves
			return nil
		case reopens:
			i.SetResolved(false)
		}
		i.Affected = affected
		return nil
	}
	if f.Value("action") == actionPreview {
		preview, err := r.previewOfUpdate(i, change, u)
		if err != nil {
			return err
		}
		return r.answerIncident(http.StatusOK, i, incidentForms{update: f, preview: preview})
	}
	return r.changeIncident(i, change, u, incidentForms{update: f})
}

// previewOfUpdate returns the preview of a change that adds an update, or of the change alone if the update has no
// message.
func (r *request) previewOfUpdate(
	i store.ListedIncident, change statuspage.IncidentChange, u statuspage.IncidentUpdate,
) (*incidentPreview, error) {
	changed := i.Incident
	stateThen, _ := changed.Change(change, u, nil, r.Now()) // the form shows what is wrong when it is sent
	changed.DeriveImpact(r.Now())
	if u.Message != "" {
		changed.AddUpdate("", u.Message, nil, r.Now())
		newest := &changed.Updates[len(changed.Updates)-1]
		newest.State = cmp.Or(stateThen, newest.State)
		if !u.CreatedAt.IsZero() {
			newest.CreatedAt = u.CreatedAt
		}
	}
	return r.previewOf(statuspage.Page{Slug: i.PageSlug}, changed, u.Silent)
}

// changeIncident changes an incident and adds an update, unless the update has no message. If somebody else has changed
// the incident since the form was shown, it shows that change, and the form again.
func (r *request) changeIncident(
	i store.ListedIncident, change statuspage.IncidentChange, u statuspage.IncidentUpdate, forms incidentForms,
) error {
	f := forms.update
	if f == nil {
		f = forms.edit
	}
	_, err := r.Store.ChangeIncident(r.Context(), r.Actor(), i.ID, change, u, f.Value("seen"))
	if f.Refused(err) {
		return r.answerIncident(http.StatusUnprocessableEntity, i, forms)
	}
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		if i, err = r.Store.IncidentWithPage(r.Context(), r.Actor(), i.ID); err != nil {
			return err
		}
		if isDone(i.Incident, change, u) {
			return r.Redirect(frame.Path + "/incidents/" + i.ID)
		}
		forms.conflict = true
		return r.answerIncident(http.StatusConflict, i, forms)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/incidents/" + i.ID)
}

// isDone reports whether an incident already is as a change with a message would leave it, because the form was sent
// twice.
func isDone(i statuspage.Incident, change statuspage.IncidentChange, u statuspage.IncidentUpdate) bool {
	after, n := i, len(i.Updates)
	return u.Message != "" && n > 0 && i.Updates[n-1].Message == u.Message && change(&after) == nil &&
		after.State == i.EffectiveState()
}

// editIncident changes the title and the impact.
func (r *request) editIncident() error {
	f := frame.NewForm(r.PostForm)
	i, err := r.Store.IncidentWithPage(r.Context(), r.Actor(), r.PathValue("incident"))
	if err != nil {
		return err
	}
	impact := kernel.Impact(f.Value("impact"))
	follows := i.ImpactDerived && impact == i.Impact // it continues to follow the components
	return r.changeIncident(i, func(i *statuspage.Incident) error {
		if i.Title = readTextInPlaceOf(f, i.Title, "title"); !follows {
			i.SetImpact(impact)
		}
		return nil
	}, statuspage.IncidentUpdate{}, incidentForms{edit: f})
}

// publishIncident publishes a draft.
func (r *request) publishIncident() error {
	i, err := r.Store.PublishIncident(r.Context(), r.Actor(), r.PathValue("incident"),
		frame.NewForm(r.PostForm).NotifiesNobody())
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/incidents/" + i.ID)
}

// deleteIncident deletes an incident for good.
func (r *request) deleteIncident() error {
	if r.PostForm.Get("confirm") == "" {
		return r.Redirect(frame.Path + "/incidents/" + url.PathEscape(r.PathValue("incident")))
	}
	if err := r.Store.DeleteIncident(r.Context(), r.Actor(), r.PathValue("incident")); err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/incidents")
}
