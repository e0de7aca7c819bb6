package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/google/uuid"
)

// allZones is the zone in which times are written before a script shows them in that of the visitor.
var allZones = time.UTC

// Actions of the buttons of a form that can show a preview.
const (
	actionPreview = "preview"
	actionDraft   = "draft"
	actionPublish = "publish"
	actionResolve = "resolve"
)

// newIncidentScreen is the data of the template incident_new.
type newIncidentScreen struct {
	*form
	Page                          statuspage.Page
	Title, Message, State, Impact field
	Components                    []affectedField
	Preview                       *incidentPreview // nil: none was asked for
	Template                      field            // to choose a template; without options: there are none
	Times                         []field          // when it began and ended, if that was earlier
}

// incidentPreview is an incident as visitors will see it, and who will be notified.
type incidentPreview struct {
	statuspage.Incident
	Entry    timelineEntry // the newest update
	Audience string
}

// affectedField is the choice of the status that an incident gives to a component.
type affectedField struct {
	Name, Label, Group string
	Hidden             bool
	Now                kernel.Status
	Options            []option
}

// affectedFields returns a field for each component, with its input.
func (f *form) affectedFields(components []statuspage.Component) (fields []affectedField) {
	for _, c := range components {
		x := affectedField{
			Name: "status." + c.ID, Label: c.Name, Hidden: c.Hidden, Now: c.Status(),
			Options: []option{{Label: "Not affected"}},
		}
		for _, s := range kernel.AffectedStatuses {
			x.Options = append(x.Options, option{
				Value: string(s), Label: i18n.English().Status(s), Selected: f.Value(x.Name) == string(s),
			})
		}
		fields = append(fields, x)
	}
	return fields
}

// affected returns the components that were chosen, with their statuses.
func (f *form) affected(components []statuspage.Component) (affected []statuspage.AffectedComponent) {
	for _, c := range components {
		if status := f.Value("status." + c.ID); status != "" {
			affected = append(affected, statuspage.AffectedComponent{
				ComponentID: c.ID, Name: c.Name, Status: kernel.Status(status), Hidden: c.Hidden,
			})
		}
	}
	return affected
}

// notifiesNobody reports whether "Don't notify" was chosen.
func notifiesNobody(f *form) bool { return f.Value("notify") == "false" }

// notifiesNobodyOfPast is notifiesNobody, except that nobody is notified of what is over unless that was chosen.
func notifiesNobodyOfPast(f *form, over bool) bool {
	return notifiesNobody(f) || over && f.Value("notify") != "true"
}

// NotifyPast reports whether "Notify subscribers all the same" was chosen, for templates.
func (f *form) NotifyPast() bool { return f.Value("notify") == "true" }

// pastFields returns the fields of the times of an incident that is recorded later, in the zone of a page.
func (f *form) pastFields(p statuspage.Page, fields ...field) []field {
	for i, x := range fields {
		x.Type, x.Optional = "datetime-local", true
		x.Hint = strings.TrimSpace(x.Hint + " In the zone of the page, " + p.TimeZone + ".")
		fields[i] = f.draw(x)
	}
	return fields
}

// Silent is notifiesNobody, for templates.
func (f *form) Silent() bool { return notifiesNobody(f) }

// text returns the input of a field of several lines.
func (f *form) text(name string) string {
	return strings.TrimSpace(unixLines(f.Value(name)))
}

// textInPlaceOf returns the text that was typed into a field that shows a saved one: that, if nobody has changed it.
func (f *form) textInPlaceOf(saved, name string) string {
	if unixLines(f.Value(name)) == unixLines(saved) {
		return saved
	}
	return f.text(name)
}

// stateOptions returns the states of an incident to choose from.
func stateOptions() (options []option) {
	for _, s := range statuspage.IncidentStates {
		options = append(options, option{Value: string(s), Label: i18n.English().State(s)})
	}
	return options
}

func impactOptions() (options []option) {
	for _, i := range kernel.Impacts {
		options = append(options, option{Value: string(i), Label: i18n.English().Impact(i)})
	}
	return options
}

// allComponents returns all components of a page.
func (v *visit) allComponents(slug string) ([]statuspage.Component, error) {
	components, _, err := v.store.Components().List(v.r.Context(), v.actor(), slug, store.Filter{}, store.Pagination{
		Page: 1, PerPage: kernel.MaxComponents,
	})
	return components, err
}

// showNewIncident shows the form of a new incident.
func (v *visit) showNewIncident() error {
	page, err := v.choosePage("Report an incident", Path+"/incidents/new")
	if err != nil || page.Slug == "" {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	components, err := v.allComponents(page.Slug)
	if err != nil {
		return err
	}
	f := newForm(url.Values{"id": {id.String()}, "state": {string(statuspage.IncidentInvestigating)}})
	if ref := v.r.URL.Query().Get("template"); ref != "" {
		if err := v.beginFromTemplate(f, page, ref); err != nil {
			return err
		}
	}
	return v.answerNewIncident(http.StatusOK, f, page, components, nil)
}

func (v *visit) answerNewIncident(
	status int, f *form, page statuspage.Page, components []statuspage.Component, preview *incidentPreview,
) error {
	s := newIncidentScreen{form: f, Page: page, Components: f.affectedFields(components), Preview: preview}
	templates, err := v.templatesOf(page)
	if err != nil {
		return err
	}
	s.Template = field{Name: "template", Label: "Begin with a template"}
	for _, t := range templates {
		s.Template.Options = append(s.Template.Options, option{Value: t.ID, Label: t.Name})
	}
	s.Template = f.draw(s.Template)
	s.Template.Type = "select"
	s.Title = f.draw(field{Name: "title", Label: "What is wrong?", Placeholder: "Payments are slow"})
	s.Message = f.draw(field{Name: "message", Label: "Message", Type: "textarea", Rows: 5, Optional: true,
		Placeholder: "We are looking into it.", Hint: "Markdown: **bold**, lists, links."})
	s.State = f.draw(field{Name: "state", Label: "State", Type: "select", Options: stateOptions()})
	s.Impact = f.draw(field{Name: "impact", Label: "Impact", Type: "select", Optional: true,
		Options: append([]option{{Label: "As severe as the worst component"}}, impactOptions()...)})
	s.Times = f.pastFields(page, field{Name: "began_at", Label: "Began"}, field{
		Name: "resolved_at", Label: "Was over", Hint: "Left empty: it is not over.",
	})
	s.Title.Focus = preview == nil
	return v.show(status, "incident_new", "Report an incident", s)
}

// createIncident opens an incident, saves a draft, or shows a preview.
func (v *visit) createIncident() error {
	f := newForm(v.r.PostForm)
	page, err := v.store.Page(v.r.Context(), v.actor(), f.Value("page"))
	if err != nil {
		return err
	}
	components, err := v.allComponents(page.Slug)
	if err != nil {
		return err
	}
	i := statuspage.Incident{
		PageID: page.ID, Title: strings.TrimSpace(f.Value("title")), Impact: kernel.Impact(f.Value("impact")),
		State: statuspage.IncidentState(f.Value("state")),
		Draft: f.Value("action") == actionDraft, Affected: f.affected(components),
		CreatedAt:  f.moment("began_at", page.Location(), v.now()),
		ResolvedAt: f.moment("resolved_at", page.Location(), v.now()),
	}
	first := statuspage.IncidentUpdate{
		Message: f.text("message"), Silent: notifiesNobodyOfPast(f, !i.ResolvedAt.IsZero()),
	}
	if !i.ResolvedAt.IsZero() {
		i.State = statuspage.IncidentResolved
	}
	if f.HasErrors() {
		return v.answerNewIncident(http.StatusUnprocessableEntity, f, page, components, nil)
	}
	if f.Value("template") != "" {
		v.fillFromTemplate(&i, &first, page)
	}
	if id, err := uuid.Parse(f.Value("id")); err == nil {
		i.ID = id.String()
	}
	if a := f.Value("action"); a != actionDraft && a != actionPublish {
		opened := i
		opened.Open(first, v.now())
		preview, err := v.previewOf(page, opened, first.Silent)
		if err != nil {
			return err
		}
		if f.refused(i.CheckTimes(v.now())); !f.HasErrors() {
			f.refused(i.CheckNew(first))
		}
		return v.answerNewIncident(http.StatusOK, f, page, components, preview)
	}
	i, err = v.store.CreateIncident(v.r.Context(), v.actor(), page.Slug, i, first, nil)
	if f.refused(err) {
		return v.answerNewIncident(http.StatusUnprocessableEntity, f, page, components, nil)
	}
	if err != nil {
		return err
	}
	return v.redirect(Path + "/incidents/" + i.ID)
}

// previewOf returns the preview of an incident of a page. silent: nobody is notified.
func (v *visit) previewOf(page statuspage.Page, i statuspage.Incident, silent bool) (*incidentPreview, error) {
	p := &incidentPreview{Incident: i, Audience: audienceText(nil)}
	if !silent {
		counts, err := v.incidentAudience(page.Slug, i)
		if err != nil {
			return nil, err
		}
		p.Audience = audienceText(counts)
	}
	if timeline := i.Timeline(); len(timeline) > 0 {
		p.Entry = newTimelineEntry(timeline[0].Message, timeline[0].System, timeline[0].CreatedAt)
		p.Entry.State = i18n.English().State(timeline[0].State)
	}
	return p, nil
}

// incidentAudience counts who will be notified of an incident.
func (v *visit) incidentAudience(slug string, i statuspage.Incident) (map[audience.Channel]int, error) {
	var components []string
	for _, a := range i.Affected {
		components = append(components, a.ComponentID)
	}
	return v.store.Audience(v.r.Context(), v.actor(), slug, i.ID, components)
}

// audienceText says how many subscribers will be notified.
func audienceText(counts map[audience.Channel]int) string {
	var parts []string
	for _, channel := range audience.Channels {
		if n := counts[channel]; n > 0 {
			parts = append(parts, audienceOf(channel, n))
		}
	}
	if len(parts) == 0 {
		return "No subscriber will be notified."
	}
	return strings.Join(parts, " and ") + " will be notified."
}

func audienceOf(channel audience.Channel, n int) string {
	name := string(channel)
	switch {
	case channel == audience.ChannelEmail && n == 1:
		return "1 person by e-mail"
	case channel == audience.ChannelEmail:
		return fmt.Sprint(n, " people by e-mail")
	case channel == audience.ChannelSMS:
		return fmt.Sprint(n, " by SMS")
	case channel == audience.ChannelPush:
		return fmt.Sprint(n, " in the browser")
	case channel.Chat() && n == 1:
		return "1 room in " + channel.Name()
	case channel.Chat():
		return fmt.Sprint(n, " rooms in ", channel.Name())
	case n > 1:
		name += "s"
	}
	return fmt.Sprint(n, " ", name)
}

// pastForm is the data of the template past: the times of an incident that is recorded later.
type pastForm struct {
	Title, Hint  string
	Fields       []field
	Open, Notify bool
}

// newPastForm returns the part of a form for times, which is open if any is given.
func newPastForm(title, hint string, fields []field, notify bool) pastForm {
	given := slices.ContainsFunc(fields, func(x field) bool { return x.Value != "" || len(x.Errors) > 0 })
	return pastForm{Title: title, Hint: hint, Fields: fields, Open: given, Notify: notify}
}

// Past returns the part of the form for the times of an incident that is recorded later.
func (s newIncidentScreen) Past() pastForm {
	return newPastForm("It began earlier",
		"The history and the uptime of the components are corrected. Nobody is notified of what is over already.",
		s.Times, s.NotifyPast())
}

// Past returns the part of the form for the time of an event that is reported later.
func (u updateForm) Past() pastForm {
	return newPastForm("It happened earlier", "The timeline has the update at its time. Nobody is notified of it.",
		u.Times, u.NotifyPast())
}
