package statuspages

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// actionUnpublish makes a published post-mortem a draft again.
const actionUnpublish = "unpublish"

// postmortemView is a post-mortem as the screen of its incident shows it.
type postmortemView struct {
	statuspage.Postmortem
	Text template.HTML
}

// postmortemScreen is the data of the template postmortem.
type postmortemScreen struct {
	*frame.Form
	Incident  store.ListedIncident
	Path, Tag string
	Saved     *statuspage.Postmortem // nil: there is none yet
	Body      frame.Field
	Preview   template.HTML // "": none was requested
	Audience  string        // who is notified of the publication
	Conflict  bool
}

// postmortemPath returns the path of the screen of the post-mortem of an incident.
func postmortemPath(incident string) string {
	return frame.Path + "/incidents/" + incident + "/postmortem"
}

// postmortem loads the post-mortem of an incident; nil: it has none.
func (r *request) postmortem(incident string) (*statuspage.Postmortem, error) {
	p, err := r.Store.Postmortem(r.Context(), r.Actor(), incident)
	if errors.Is(err, kernel.ErrNotFound) {
		return nil, nil
	}
	return &p, err
}

// newPostmortemView renders a post-mortem as the public page does; nil for nil.
func newPostmortemView(p *statuspage.Postmortem) *postmortemView {
	if p == nil {
		return nil
	}
	return &postmortemView{*p, i18n.UpdateText{Message: p.Body}.HTML(i18n.English(), allZones)}
}

// showPostmortem shows the form of the post-mortem of an incident.
func (r *request) showPostmortem() error { return r.answerPostmortem(http.StatusOK, nil, false) }

func (r *request) answerPostmortem(status int, f *frame.Form, conflict bool) error {
	i, err := r.Store.IncidentWithPage(r.Context(), r.Actor(), r.PathValue("incident"))
	if err != nil {
		return err
	}
	s := postmortemScreen{
		Form: f, Incident: i, Path: postmortemPath(i.ID), Conflict: conflict,
		Audience: "The publication notifies no one.",
	}
	if s.Saved, err = r.postmortem(i.ID); err != nil {
		return err
	}
	tag, saved := "none", url.Values{"body": {""}}
	if s.Saved != nil {
		tag = kernel.EntityTag(*s.Saved)
		saved.Set("body", s.Saved.Body)
	}
	if f == nil {
		s.Form = frame.NewForm(saved)
	} else if f.Value("action") == actionPreview {
		s.Preview = i18n.UpdateText{Message: f.Value("body")}.HTML(i18n.English(), allZones)
	}
	if conflict {
		s.SavedMeanwhile = saved
	}
	if !i.PostmortemAnnounced {
		counts, err := r.incidentAudience(i.PageSlug, i.Incident)
		if err != nil {
			return err
		}
		s.Audience = "When it is published: " + audienceText(counts)
	}
	s.Tag = s.Version("tag", tag, conflict)
	s.Body = s.Draw(frame.Field{Name: "body", Label: "Text", Type: "textarea", Rows: 14, Focus: true,
		Hint: "Markdown: **bold**, lists, links. What happened, why, and what you change so that it does not happen " +
			"again."})
	return r.Show(status, "postmortem", "Post-mortem", s)
}

// writePostmortem saves, publishes or unpublishes the post-mortem of an incident, or shows a preview.
func (r *request) writePostmortem() error {
	f := frame.NewForm(r.PostForm)
	action := f.Value("action")
	if action == actionPreview {
		f.Refused(statuspage.CheckPostmortem(readText(f, "body")))
		return r.answerPostmortem(http.StatusOK, f, false)
	}
	change := func(p *statuspage.Postmortem) error {
		p.Body, p.Published = readTextInPlaceOf(f, p.Body, "body"),
			action == actionPublish || p.Published && action != actionUnpublish
		return nil
	}
	cond := frame.UnchangedSince(f.Values)
	if f.Value("tag") == "none" {
		cond = kernel.Precondition{New: true}
	}
	incident := r.PathValue("incident")
	_, _, err := r.Store.PutPostmortem(r.Context(), r.Actor(), incident, change, f.NotifiesNobody(), cond)
	switch {
	case f.Refused(err):
		return r.answerPostmortem(http.StatusUnprocessableEntity, f, false)
	case errors.Is(err, kernel.ErrPreconditionFailed):
		return r.answerPostmortem(http.StatusConflict, f, true)
	case err != nil:
		return err
	}
	return r.Redirect(frame.Path + "/incidents/" + incident)
}

// deletePostmortem deletes the post-mortem of an incident, unless somebody else has changed it since the form was
// shown.
func (r *request) deletePostmortem() error {
	incident := r.PathValue("incident")
	err := r.Store.DeletePostmortem(r.Context(), r.Actor(), incident, frame.UnchangedSince(r.PostForm))
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		return r.answerPostmortem(http.StatusConflict, nil, true)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/incidents/" + incident)
}
