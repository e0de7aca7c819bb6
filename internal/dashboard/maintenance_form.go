package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/timeinput"
)

// clockLayout is the layout of times in forms, in the zone of the page.
const clockLayout = "2006-01-02T15:04"

// reminders are the times before a maintenance at which subscribers can be reminded.
var reminders = []time.Duration{0, time.Hour, 2 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour}

// planForm is the form of what is planned: of a new maintenance, or of one that has not ended.
type planForm struct {
	*form
	Page                         allswell.Page
	Seen                         string // "": a new maintenance
	Title, From, Until, Reminder field
	Message                      field // only of a new maintenance
	Components                   []checkField
	Preview                      *maintenancePreview
}

// checkField is a component that a maintenance can affect.
type checkField struct {
	ID, Label       string
	Hidden, Checked bool
}

// maintenancePreview is a maintenance as visitors will see it, and who will be notified.
type maintenancePreview struct {
	allswell.Maintenance
	Entry    *timelineEntry // nil: no message
	Audience string
}

// newPlanForm draws the fields of a form.
func (v *visit) newPlanForm(f *form, page allswell.Page) (planForm, error) {
	components, err := v.allComponents(page.Slug)
	if err != nil {
		return planForm{}, err
	}
	p := planForm{form: f, Page: page}
	for _, c := range components {
		p.Components = append(p.Components, checkField{c.ID, c.Name, c.Hidden, slices.Contains(f.values["components"], c.ID)})
	}
	zone := "In the zone of the page, " + page.TimeZone + "."
	p.Title = f.draw(field{Name: "title", Label: "What is planned?", Placeholder: "Database upgrade"})
	p.From = f.draw(field{Name: "scheduled_for", Label: "From", Type: "datetime-local", Hint: zone})
	p.Until = f.draw(field{Name: "scheduled_until", Label: "Until", Type: "datetime-local"})
	p.Message = f.draw(field{
		Name: "message", Label: "Message", Type: "textarea", Rows: 4, Optional: true,
		Hint: "Markdown: **bold**, lists, links.",
	})
	reminder := field{Name: "remind_before", Label: "Reminder", Type: "select"}
	for _, d := range reminders {
		reminder.Options = append(reminder.Options, option{Value: seconds(d), Label: reminderLabel(d)})
	}
	if n := parseSeconds(f.Value("remind_before")); n > 0 && !slices.Contains(reminders, n) {
		reminder.Options = append(reminder.Options, option{Value: seconds(n), Label: reminderLabel(n)})
	}
	p.Reminder = f.draw(reminder)
	return p, nil
}

func reminderLabel(d time.Duration) string {
	if d == 0 {
		return "No reminder"
	}
	return i18n.English().Duration(d) + " before"
}

// moment returns the time that was typed into a field, in a zone, or the zero time if nothing was. It notes an error of
// the field.
func (f *form) moment(name string, zone *time.Location, now time.Time) time.Time {
	if f.Value(name) == "" {
		return time.Time{}
	}
	var m timeinput.Moment
	if err := m.UnmarshalText([]byte(f.Value(name))); err != nil {
		f.problems().AddText(name, err.Error())
		return time.Time{}
	}
	at, err := m.In(zone, now)
	if err != nil {
		f.problems().AddText(name, err.Error()+".")
	}
	return at
}

// showNewMaintenance shows the form of a new maintenance.
func (v *visit) showNewMaintenance() error {
	page, err := v.choosePage("Plan a maintenance", Path+"/maintenances/new")
	if err != nil || page.Slug == "" {
		return err
	}
	begin := v.now().In(page.Location()).Truncate(time.Hour).Add(24 * time.Hour)
	return v.answerNewMaintenance(http.StatusOK, newForm(url.Values{
		"id":            {allswell.NewID(allswell.PrefixMaintenance, v.now())},
		"scheduled_for": {begin.Format(clockLayout)}, "scheduled_until": {begin.Add(time.Hour).Format(clockLayout)},
		"remind_before": {seconds(allswell.DefaultRemindBefore)},
	}), page, nil)
}

func (v *visit) answerNewMaintenance(status int, f *form, page allswell.Page, preview *maintenancePreview) error {
	p, err := v.newPlanForm(f, page)
	if err != nil {
		return err
	}
	p.Preview, p.Title.Focus = preview, preview == nil
	return v.show(status, "maintenance_new", "Plan a maintenance", p)
}

// createMaintenance plans a maintenance, or shows a preview.
func (v *visit) createMaintenance() error {
	f := newForm(v.r.PostForm)
	page, err := v.store.Page(v.r.Context(), v.actor(), f.Value("page"))
	if err != nil {
		return err
	}
	reminder := parseSeconds(f.Value("remind_before"))
	n := allswell.NewMaintenance{
		Title: strings.TrimSpace(f.Value("title")), Message: f.text("message"), Components: f.values["components"], RemindBefore: &reminder,
		ScheduledFor: f.moment("scheduled_for", page.Location(), v.now()), ScheduledUntil: f.moment("scheduled_until", page.Location(), v.now()),
	}
	if id := f.Value("id"); allswell.ValidID(allswell.PrefixMaintenance, id) {
		n.ID = id
	}
	if f.HasErrors() {
		return v.answerNewMaintenance(http.StatusUnprocessableEntity, f, page, nil)
	}
	if f.Value("action") != actionPublish {
		f.refused(n.Validate(v.now()))
		preview, err := v.previewOfMaintenance(page, n)
		if err != nil {
			return err
		}
		return v.answerNewMaintenance(http.StatusOK, f, page, preview)
	}
	m, err := v.store.CreateMaintenance(v.r.Context(), v.actor(), page.Slug, n)
	if f.refused(err) {
		return v.answerNewMaintenance(http.StatusUnprocessableEntity, f, page, nil)
	}
	if err != nil {
		return err
	}
	return v.redirect(Path + "/maintenances/" + m.ID)
}

func (v *visit) previewOfMaintenance(page allswell.Page, n allswell.NewMaintenance) (*maintenancePreview, error) {
	counts, err := v.store.Audience(v.r.Context(), v.actor(), page.Slug, "", n.Components)
	if err != nil {
		return nil, err
	}
	p := &maintenancePreview{Maintenance: n.Plan(page.ID, n.ID, "", v.now()), Audience: audienceText(counts)}
	if n.Message != nil {
		e := newTimelineEntry(*n.Message, allswell.SystemMessage{}, v.now())
		e.State = i18n.English().MaintenanceState(p.State)
		p.Entry = &e
	}
	return p, nil
}
