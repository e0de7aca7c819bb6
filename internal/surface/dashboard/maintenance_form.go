package dashboard

import (
	"net/http"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// clockLayout is the layout of times in forms, in the zone of the page.
const clockLayout = "2006-01-02T15:04"

// reminders are the times before a maintenance at which subscribers can be reminded.
var reminders = []time.Duration{0, time.Hour, 2 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour}

// planForm is the form of what is planned: of a new maintenance, or of one that has not ended.
type planForm struct {
	*form
	Page                         statuspage.Page
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
	statuspage.Maintenance
	Entry    *timelineEntry // nil: no message
	Audience string
}

// newPlanForm draws the fields of a form.
func (v *visit) newPlanForm(f *form, page statuspage.Page) (planForm, error) {
	components, err := v.allComponents(page.Slug)
	if err != nil {
		return planForm{}, err
	}
	p := planForm{form: f, Page: page}
	for _, c := range components {
		p.Components = append(p.Components, checkField{
			c.ID, c.Name, c.Hidden, slices.Contains(f.values["components"], c.ID),
		})
	}
	drawn := make(map[string]field)
	for _, i := range resource.Maintenance.Infos() {
		x := fieldOf(i)
		switch i.Name {
		case "message":
			x.Rows = 4
		case "scheduled_for":
			x.Hint = "In the zone of the page, " + page.TimeZone + "."
		case "remind_before":
			x.Options = reminderOptions(parseSeconds(f.Value(i.Name)))
		}
		drawn[i.Name] = f.draw(x)
	}
	p.Title, p.Message, p.Reminder = drawn["title"], drawn["message"], drawn["remind_before"]
	p.From, p.Until = drawn["scheduled_for"], drawn["scheduled_until"]
	return p, nil
}

// reminderOptions returns the times of reminders to choose from, among them the chosen one.
func reminderOptions(chosen time.Duration) (options []option) {
	all := reminders
	if chosen > 0 && !slices.Contains(reminders, chosen) {
		all = append(slices.Clone(reminders), chosen)
	}
	for _, d := range all {
		options = append(options, option{Value: seconds(d), Label: reminderLabel(d)})
	}
	return options
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
	var m statuspage.Maintenance
	resource.Maintenance.Begin(&m, kernel.NewID(kernel.PrefixMaintenance, v.now()), v.now())
	m.ScheduledFor = v.now().In(page.Location()).Truncate(time.Hour).Add(24 * time.Hour)
	m.ScheduledUntil = m.ScheduledFor.Add(time.Hour)
	f := newForm(resource.Maintenance.FormValues(m, page.Location()))
	f.values.Set("id", m.ID)
	return v.answerNewMaintenance(http.StatusOK, f, page, nil)
}

func (v *visit) answerNewMaintenance(status int, f *form, page statuspage.Page, preview *maintenancePreview) error {
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
	change := func(m *statuspage.Maintenance) error {
		if id := f.Value("id"); kernel.ValidID(kernel.PrefixMaintenance, id) {
			m.ID = id
		}
		return resource.Maintenance.ReadForm(statuspage.Maintenance{}, f.values, page.Location(), v.now())(m)
	}
	if f.Value("action") != actionPublish {
		var m statuspage.Maintenance
		f.refused(resource.PlanMaintenance(&m, change, v.now()))
		preview, err := v.previewOfMaintenance(page.Slug, "", m)
		if err != nil {
			return err
		}
		if last := len(m.Updates) - 1; last >= 0 {
			preview.setEntry(m.Updates[last].Message, m.State, v.now())
		}
		return v.answerNewMaintenance(http.StatusOK, f, page, preview)
	}
	m, err := v.store.CreateMaintenance(v.r.Context(), v.actor(), page.Slug, change)
	if f.refused(err) {
		return v.answerNewMaintenance(http.StatusUnprocessableEntity, f, page, nil)
	}
	if err != nil {
		return err
	}
	return v.redirect(Path + "/maintenances/" + m.ID)
}

// previewOfMaintenance returns the preview of a maintenance of a page, without a message. id is "" for a new one.
func (v *visit) previewOfMaintenance(page, id string, m statuspage.Maintenance) (*maintenancePreview, error) {
	counts, err := v.store.Audience(v.r.Context(), v.actor(), page, id, statuspage.ComponentIDs(m.Components))
	return &maintenancePreview{Maintenance: m, Audience: audienceText(counts)}, err
}

// setEntry sets the entry of the timeline in the preview.
func (p *maintenancePreview) setEntry(message string, state statuspage.MaintenanceState, now time.Time) {
	e := newTimelineEntry(message, statuspage.SystemMessage{}, now)
	e.State = i18n.English().MaintenanceState(state)
	p.Entry = &e
}
