package statuspages

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
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/google/uuid"
)

// allZones is the zone in which times are written before a script shows them in the visitor's zone.
var allZones = time.UTC

// The actions of buttons of a form that can show a preview.
const (
	actionPreview = "preview"
	actionDraft   = "draft"
	actionPublish = "publish"
	actionResolve = "resolve"
)

// newIncidentScreen is the data of the template incident_new.
type newIncidentScreen struct {
	*frame.Form
	Page                          statuspage.Page
	Title, Message, State, Impact frame.Field
	Components                    []affectedField
	Preview                       *incidentPreview // nil: none was requested
	Template                      frame.Field      // to choose a template; without options: there are none
	Times                         []frame.Field    // when it began and ended, if it is recorded later
}

// incidentPreview is an incident as visitors will see it, and who will be notified.
type incidentPreview struct {
	statuspage.Incident
	Entry    timelineEntry // the newest update
	Audience string
}

// affectedField is the choice of the status that an incident gives a component.
type affectedField struct {
	Name, Label, Group string
	Hidden             bool
	Now                kernel.Status
	Options            []frame.Option
}

// affectedFields returns a field for each component, with its input.
func affectedFields(f *frame.Form, components []statuspage.Component) (fields []affectedField) {
	for _, c := range components {
		x := affectedField{
			Name: "status." + c.ID, Label: c.Name, Hidden: c.Hidden, Now: c.Status(),
			Options: []frame.Option{{Label: "Not affected"}},
		}
		for _, s := range kernel.AffectedStatuses {
			x.Options = append(x.Options, frame.Option{
				Value: string(s), Label: i18n.English().Status(s), Selected: f.Value(x.Name) == string(s),
			})
		}
		fields = append(fields, x)
	}
	return fields
}

// readAffected returns the chosen components with their statuses.
func readAffected(f *frame.Form, components []statuspage.Component) (affected []statuspage.AffectedComponent) {
	for _, c := range components {
		if status := f.Value("status." + c.ID); status != "" {
			affected = append(affected, statuspage.AffectedComponent{
				ComponentID: c.ID, Name: c.Name, Status: kernel.Status(status), Hidden: c.Hidden,
			})
		}
	}
	return affected
}

// notifiesNobodyOfPast reports whether an update notifies nobody. By default, an update about something that is over
// notifies nobody.
func notifiesNobodyOfPast(f *frame.Form, over bool) bool {
	return f.NotifiesNobody() || over && f.Value("notify") != "true"
}

// zoneOfPage says in which time zone the times of a form are.
func zoneOfPage(p statuspage.Page) string { return "Time zone: " + p.TimeZone + " (from the page)" }

// drawPastFields returns the fields of the times of an incident that is recorded later, in the zone of a page.
func drawPastFields(f *frame.Form, p statuspage.Page, fields ...frame.Field) []frame.Field {
	for i, x := range fields {
		x.Type, x.Optional = "datetime-local", true
		x.Hint = strings.TrimSpace(x.Hint + " " + zoneOfPage(p))
		fields[i] = f.Draw(x)
	}
	return fields
}

// readText returns the input of a multi-line field.
func readText(f *frame.Form, name string) string {
	return strings.TrimSpace(frame.UnixLines(f.Value(name)))
}

// readTextInPlaceOf returns the input of a field that shows the text saved. If the input was not changed, it returns
// saved itself.
func readTextInPlaceOf(f *frame.Form, saved, name string) string {
	if frame.UnixLines(f.Value(name)) == frame.UnixLines(saved) {
		return saved
	}
	return readText(f, name)
}

// stateOptions returns the states of an incident to choose from.
func stateOptions() (options []frame.Option) {
	for _, s := range statuspage.IncidentStates {
		options = append(options, frame.Option{Value: string(s), Label: i18n.English().State(s)})
	}
	return options
}

// allComponents returns all components of a page.
func (r *request) allComponents(slug string) ([]statuspage.Component, error) {
	components, _, err := r.Store.Components().List(r.Context(), r.Actor(), slug, store.Filter{}, store.Pagination{
		Page: 1, PerPage: kernel.MaxComponents,
	})
	return components, err
}

// showNewIncident shows the form of a new incident.
func (r *request) showNewIncident() error {
	page, err := r.choosePage("Report an incident", frame.Path+"/incidents/new")
	if err != nil || page.Slug == "" {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	components, err := r.allComponents(page.Slug)
	if err != nil {
		return err
	}
	f := frame.NewForm(url.Values{"id": {id.String()}, "state": {string(statuspage.IncidentInvestigating)}})
	if ref := r.URL.Query().Get("template"); ref != "" {
		if err := r.beginFromTemplate(f, page, ref); err != nil {
			return err
		}
	}
	return r.answerNewIncident(http.StatusOK, f, page, components, nil)
}

func (r *request) answerNewIncident(
	status int, f *frame.Form, page statuspage.Page, components []statuspage.Component, preview *incidentPreview,
) error {
	s := newIncidentScreen{Form: f, Page: page, Components: affectedFields(f, components), Preview: preview}
	templates, err := r.templatesOf(page)
	if err != nil {
		return err
	}
	s.Template = frame.Field{Name: "template", Label: "Start from a template"}
	for _, t := range templates {
		s.Template.Options = append(s.Template.Options, frame.Option{Value: t.ID, Label: t.Name})
	}
	s.Template = f.Draw(s.Template)
	s.Template.Type = "select"
	s.Title = f.Draw(frame.Field{Name: "title", Label: "Title", Placeholder: "Payments are slow"})
	s.Message = f.Draw(frame.Field{Name: "message", Label: "Message", Type: "textarea", Rows: 5, Optional: true,
		Placeholder: "We are looking into it.", Hint: "Markdown: **bold**, lists, links."})
	s.State = f.Draw(frame.Field{Name: "state", Label: "State", Type: "select", Options: stateOptions()})
	s.Impact = f.Draw(frame.Field{Name: "impact", Label: "Impact", Type: "select", Optional: true,
		Options: append([]frame.Option{{Label: "Automatic (from components)"}}, frame.ImpactOptions()...)})
	s.Times = drawPastFields(f, page, frame.Field{Name: "began_at", Label: "Began"}, frame.Field{
		Name: "resolved_at", Label: "Resolved", Hint: "Leave empty for an ongoing incident.",
	})
	s.Title.Focus = preview == nil
	return r.Show(status, "incident_new", "Report an incident", s)
}

// createIncident opens an incident, saves a draft, or shows a preview.
func (r *request) createIncident() error {
	f := frame.NewForm(r.PostForm)
	page, err := r.Store.Page(r.Context(), r.Actor(), f.Value("page"))
	if err != nil {
		return err
	}
	components, err := r.allComponents(page.Slug)
	if err != nil {
		return err
	}
	i := statuspage.Incident{
		PageID: page.ID, Title: strings.TrimSpace(f.Value("title")), Impact: kernel.Impact(f.Value("impact")),
		State: statuspage.IncidentState(f.Value("state")), Draft: f.Value("action") == actionDraft,
		Affected: readAffected(f, components), CreatedAt: f.Moment("began_at", page.Location(), r.Now()),
		ResolvedAt: f.Moment("resolved_at", page.Location(), r.Now()),
	}
	first := statuspage.IncidentUpdate{
		Message: readText(f, "message"), Silent: notifiesNobodyOfPast(f, !i.ResolvedAt.IsZero()),
	}
	if !i.ResolvedAt.IsZero() {
		i.State = statuspage.IncidentResolved
	}
	if f.HasErrors() {
		return r.answerNewIncident(http.StatusUnprocessableEntity, f, page, components, nil)
	}
	if f.Value("template") != "" {
		r.fillFromTemplate(&i, &first, page)
	}
	if id, err := uuid.Parse(f.Value("id")); err == nil {
		i.ID = id.String()
	}
	if a := f.Value("action"); a != actionDraft && a != actionPublish {
		opened := i
		opened.Open(first, r.Now())
		preview, err := r.previewOf(page, opened, first.Silent)
		if err != nil {
			return err
		}
		if f.Refused(i.CheckTimes(r.Now())); !f.HasErrors() {
			f.Refused(i.CheckNew(first))
		}
		return r.answerNewIncident(http.StatusOK, f, page, components, preview)
	}
	i, err = r.Store.CreateIncident(r.Context(), r.Actor(), page.Slug, i, first, nil)
	if f.Refused(err) {
		return r.answerNewIncident(http.StatusUnprocessableEntity, f, page, components, nil)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/incidents/" + i.ID)
}

// previewOf returns the preview of an incident of a page. silent means that nobody is notified.
func (r *request) previewOf(page statuspage.Page, i statuspage.Incident, silent bool) (*incidentPreview, error) {
	p := &incidentPreview{Incident: i, Audience: audienceText(nil)}
	if !silent {
		counts, err := r.incidentAudience(page.Slug, i)
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
func (r *request) incidentAudience(slug string, i statuspage.Incident) (map[audience.Channel]int, error) {
	var components []string
	for _, a := range i.Affected {
		components = append(components, a.ComponentID)
	}
	return r.Store.Audience(r.Context(), r.Actor(), slug, i.ID, components)
}

// audienceText returns a text about how many subscribers will be notified.
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
		return "1 email subscriber"
	case channel == audience.ChannelEmail:
		return fmt.Sprint(n, " email subscribers")
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
	Fields       []frame.Field
	Open, Notify bool
}

// newPastForm returns the part of a form for times. It is open if a time is given or has an error.
func newPastForm(title, hint string, fields []frame.Field, notify bool) pastForm {
	given := slices.ContainsFunc(fields, func(x frame.Field) bool { return x.Value != "" || len(x.Errors) > 0 })
	return pastForm{Title: title, Hint: hint, Fields: fields, Open: given, Notify: notify}
}

// Past returns the part of the form for the times of an incident that is recorded later.
func (s newIncidentScreen) Past() pastForm {
	return newPastForm("Backdate",
		"The history and the uptime of the components are corrected. No one is notified of a resolved incident.",
		s.Times, s.NotifyPast())
}

// Past returns the part of the form for the time of an event that is reported later.
func (u updateForm) Past() pastForm {
	return newPastForm("Backdate", "The timeline shows the update at this time. No one is notified.",
		u.Times, u.NotifyPast())
}
