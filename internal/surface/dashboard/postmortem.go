package dashboard

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
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
	*form
	Incident  store.ListedIncident
	Path, Tag string
	Saved     *statuspage.Postmortem // nil: there is none yet
	Body      field
	Preview   template.HTML // "": none was asked for
	Audience  string        // of the publication
	Conflict  bool
}

// postmortemPath returns the path of the screen of the post-mortem of an incident.
func postmortemPath(incident string) string { return Path + "/incidents/" + incident + "/postmortem" }

// postmortem loads the post-mortem of an incident; nil: it has none.
func (v *visit) postmortem(incident string) (*statuspage.Postmortem, error) {
	p, err := v.store.Postmortem(v.r.Context(), v.actor(), incident)
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
func (v *visit) showPostmortem() error { return v.answerPostmortem(http.StatusOK, nil, false) }

func (v *visit) answerPostmortem(status int, f *form, conflict bool) error {
	i, err := v.store.IncidentWithPage(v.r.Context(), v.actor(), v.r.PathValue("incident"))
	if err != nil {
		return err
	}
	s := postmortemScreen{
		form: f, Incident: i, Path: postmortemPath(i.ID), Conflict: conflict,
		Audience: "The publication notifies nobody.",
	}
	if s.Saved, err = v.postmortem(i.ID); err != nil {
		return err
	}
	tag, saved := "none", url.Values{"body": {""}}
	if s.Saved != nil {
		tag = kernel.EntityTag(*s.Saved)
		saved.Set("body", s.Saved.Body)
	}
	if f == nil {
		s.form = newForm(saved)
	} else if f.Value("action") == actionPreview {
		s.Preview = i18n.UpdateText{Message: f.Value("body")}.HTML(i18n.English(), allZones)
	}
	if conflict {
		s.saved = saved
	}
	if !i.PostmortemAnnounced {
		counts, err := v.incidentAudience(i.PageSlug, i.Incident)
		if err != nil {
			return err
		}
		s.Audience = "When it is published: " + audienceText(counts)
	}
	s.Tag = s.version("tag", tag, conflict)
	s.Body = s.draw(field{Name: "body", Label: "Text", Type: "textarea", Rows: 14, Focus: true,
		Hint: "Markdown: **bold**, lists, links. What happened, why, and what you change so that it does not happen " +
			"again."})
	return v.show(status, "postmortem", "Post-mortem", s)
}

// writePostmortem saves, publishes or unpublishes the post-mortem of an incident, or shows a preview.
func (v *visit) writePostmortem() error {
	f := newForm(v.r.PostForm)
	action := f.Value("action")
	if action == actionPreview {
		f.refused(statuspage.CheckPostmortem(f.text("body")))
		return v.answerPostmortem(http.StatusOK, f, false)
	}
	change := func(p *statuspage.Postmortem) error {
		p.Body, p.Published = f.textInPlaceOf(p.Body, "body"),
			action == actionPublish || p.Published && action != actionUnpublish
		return nil
	}
	cond := shownVersion(f.values)
	if f.Value("tag") == "none" {
		cond = kernel.Precondition{New: true}
	}
	incident := v.r.PathValue("incident")
	_, _, err := v.store.PutPostmortem(v.r.Context(), v.actor(), incident, change, notifiesNobody(f), cond)
	switch {
	case f.refused(err):
		return v.answerPostmortem(http.StatusUnprocessableEntity, f, false)
	case errors.Is(err, kernel.ErrPreconditionFailed):
		return v.answerPostmortem(http.StatusConflict, f, true)
	case err != nil:
		return err
	}
	return v.redirect(Path + "/incidents/" + incident)
}

// deletePostmortem deletes the post-mortem of an incident, unless somebody else has changed it since the form was
// shown.
func (v *visit) deletePostmortem() error {
	incident := v.r.PathValue("incident")
	err := v.store.DeletePostmortem(v.r.Context(), v.actor(), incident, shownVersion(v.r.PostForm))
	if errors.Is(err, kernel.ErrPreconditionFailed) {
		return v.answerPostmortem(http.StatusConflict, nil, true)
	}
	if err != nil {
		return err
	}
	return v.redirect(Path + "/incidents/" + incident)
}
