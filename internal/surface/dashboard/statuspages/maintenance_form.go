package statuspages

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// reminders are the times before a maintenance at which subscribers can be reminded.
var reminders = []time.Duration{0, time.Hour, 2 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour}

// planForm is the form of the plan of a maintenance: of a new one, or of one that has not ended.
type planForm struct {
	*frame.Form
	Page                         statuspage.Page
	Seen                         string // "": a new maintenance
	Title, From, Until, Reminder frame.Field
	Message                      frame.Field // only of a new maintenance
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
func (r *request) newPlanForm(f *frame.Form, page statuspage.Page) (planForm, error) {
	components, err := r.allComponents(page.Slug)
	if err != nil {
		return planForm{}, err
	}
	p := planForm{Form: f, Page: page}
	for _, c := range components {
		p.Components = append(p.Components, checkField{
			c.ID, c.Name, c.Hidden, slices.Contains(f.Values["components"], c.ID),
		})
	}
	drawn := make(map[string]frame.Field)
	for _, i := range resource.Maintenance.Infos() {
		x := frame.FieldOf(i)
		switch i.Name {
		case "message":
			x.Rows = 4
		case "scheduled_for":
			x.Hint = zoneOfPage(page)
		case "remind_before":
			x.Options = reminderOptions(parseSeconds(f.Value(i.Name)))
		}
		drawn[i.Name] = f.Draw(x)
	}
	p.Title, p.Message, p.Reminder = drawn["title"], drawn["message"], drawn["remind_before"]
	p.From, p.Until = drawn["scheduled_for"], drawn["scheduled_until"]
	return p, nil
}

// reminderOptions returns the times of reminders to choose from, including the chosen one.
func reminderOptions(chosen time.Duration) (options []frame.Option) {
	all := reminders
	if chosen > 0 && !slices.Contains(reminders, chosen) {
		all = append(slices.Clone(reminders), chosen)
	}
	for _, d := range all {
		options = append(options, frame.Option{Value: seconds(d), Label: reminderLabel(d)})
	}
	return options
}

func reminderLabel(d time.Duration) string {
	if d == 0 {
		return "No reminder"
	}
	return i18n.English().Duration(d) + " before"
}

// showNewMaintenance shows the form of a new maintenance.
func (r *request) showNewMaintenance() error {
	page, err := r.choosePage("Schedule maintenance", frame.Path+"/maintenances/new")
	if err != nil || page.Slug == "" {
		return err
	}
	var m statuspage.Maintenance
	resource.Maintenance.Begin(&m, kernel.NewID(kernel.PrefixMaintenance, r.Now()), r.Now())
	m.ScheduledFor = r.Now().In(page.Location()).Truncate(time.Hour).Add(24 * time.Hour)
	m.ScheduledUntil = m.ScheduledFor.Add(time.Hour)
	f := frame.NewForm(resource.Maintenance.FormValues(m, page.Location()))
	f.Values.Set("id", m.ID)
	return r.answerNewMaintenance(http.StatusOK, f, page, nil)
}

func (r *request) answerNewMaintenance(
	status int, f *frame.Form, page statuspage.Page, preview *maintenancePreview,
) error {
	p, err := r.newPlanForm(f, page)
	if err != nil {
		return err
	}
	p.Preview, p.Title.Focus = preview, preview == nil
	return r.Show(status, "maintenance_new", "Schedule maintenance", p)
}

// createMaintenance plans a maintenance, or shows a preview.
func (r *request) createMaintenance() error {
	f := frame.NewForm(r.PostForm)
	page, err := r.Store.Page(r.Context(), r.Actor(), f.Value("page"))
	if err != nil {
		return err
	}
	change := func(m *statuspage.Maintenance) error {
		if id := f.Value("id"); kernel.ValidID(kernel.PrefixMaintenance, id) {
			m.ID = id
		}
		return resource.Maintenance.ReadForm(statuspage.Maintenance{}, f.Values, page.Location(), r.Now())(m)
	}
	if f.Value("action") != actionPublish {
		var m statuspage.Maintenance
		f.Refused(resource.PlanMaintenance(&m, change, r.Now()))
		preview, err := r.previewOfMaintenance(page.Slug, "", m)
		if err != nil {
			return err
		}
		if last := len(m.Updates) - 1; last >= 0 {
			preview.setEntry(m.Updates[last].Message, m.State, r.Now())
		}
		return r.answerNewMaintenance(http.StatusOK, f, page, preview)
	}
	m, err := r.Store.CreateMaintenance(r.Context(), r.Actor(), page.Slug, change)
	if f.Refused(err) {
		return r.answerNewMaintenance(http.StatusUnprocessableEntity, f, page, nil)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.Path + "/maintenances/" + m.ID)
}

// previewOfMaintenance returns the preview of a maintenance of a page, without a message. id is "" for a new one.
func (r *request) previewOfMaintenance(page, id string, m statuspage.Maintenance) (*maintenancePreview, error) {
	counts, err := r.Store.Audience(r.Context(), r.Actor(), page, id, statuspage.ComponentIDs(m.Components))
	return &maintenancePreview{Maintenance: m, Audience: audienceText(counts)}, err
}

// setEntry sets the entry of the timeline in the preview.
func (p *maintenancePreview) setEntry(message string, state statuspage.MaintenanceState, now time.Time) {
	e := newTimelineEntry(message, statuspage.SystemMessage{}, now)
	e.State = i18n.English().MaintenanceState(state)
	p.Entry = &e
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// parseSeconds parses a duration in whole seconds. It returns 0 for invalid text.
func parseSeconds(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > int(monitor.MaxInterval/time.Second) {
		return 0
	}
	return time.Duration(n) * time.Second
}
