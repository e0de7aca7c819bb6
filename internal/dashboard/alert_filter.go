package dashboard

import (
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/store"
)

// alertFilterForm is the part of a form that says what a rule or a silence is about. The template "alert-filter" draws it.
type alertFilterForm struct {
	Events, Severities field
	Pages, Monitors    field // without options if there are more than a form offers: then their slugs are typed
	Tags               field
	Errors             []string // of what is chosen
}

// maxFilterMonitors is the number of monitors up to which a form offers them. With more, their slugs are typed.
const maxFilterMonitors = 100

// filterValues returns the values of the fields of a filter, by their names in the API.
func filterValues(f alert.Filter) url.Values {
	values := url.Values{"pages": f.Pages, "monitors": f.Monitors, "tags": {strings.Join(f.Tags, ", ")}}
	for _, e := range f.Events {
		values.Add("events", string(e))
	}
	for _, s := range f.Severities {
		values.Add("severities", string(s))
	}
	return values
}

// words returns the values of a field, which were chosen, or typed with commas or spaces between.
func (f *form) words(name string) (all []string) {
	for _, value := range f.values[name] {
		all = append(all, strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' || r == '\r' })...)
	}
	return all
}

// alertFilter returns the filter that was typed.
func (f *form) alertFilter() (filter alert.Filter) {
	filter.Pages, filter.Monitors, filter.Tags = f.words("pages"), f.words("monitors"), f.words("tags")
	for _, e := range f.words("events") {
		filter.Events = append(filter.Events, alert.Event(e))
	}
	for _, s := range f.words("severities") {
		filter.Severities = append(filter.Severities, allswell.Impact(s))
	}
	return filter
}

// newAlertFilter draws the fields of a filter.
func (v *visit) newAlertFilter(f *form) (a alertFilterForm, err error) {
	chosen := f.alertFilter()
	a.Events, a.Severities = field{Name: "events", Label: "Events"}, field{Name: "severities", Label: "Severities", Short: true}
	a.Pages, a.Monitors = field{Name: "pages", Label: "Pages"}, field{Name: "monitors", Label: "Monitors"}
	for _, e := range alert.Events {
		a.Events.Options = append(a.Events.Options, option{Value: string(e), Label: e.Label(), Selected: slices.Contains(chosen.Events, e)})
	}
	for _, s := range allswell.Impacts {
		a.Severities.Options = append(a.Severities.Options, option{Value: string(s), Label: i18n.English().Impact(s), Selected: slices.Contains(chosen.Severities, s)})
	}
	pages, total, err := v.store.Pages(v.r.Context(), v.actor(), store.Filter{}, store.Pagination{
		Page: 1, PerPage: maxLimitPages,
	})
	if err != nil {
		return a, err
	}
	for _, p := range pages {
		a.Pages.Options = append(a.Pages.Options, option{
			Value: p.ID, Label: p.Name,
			Selected: slices.Contains(chosen.Pages, p.ID) || slices.Contains(chosen.Pages, p.Slug),
		})
	}
	if total > maxLimitPages {
		f.values.Set("pages", strings.Join(chosen.Pages, ", "))
		a.Pages = f.draw(field{Name: "pages", Label: "Pages", Bare: true, Hint: "Their slugs, with commas between. Empty: all."})
	}
	monitors, total, err := v.store.Monitors(v.r.Context(), v.actor(), store.MonitorFilter{}, store.Pagination{
		Page: 1, PerPage: maxFilterMonitors,
	})
	if err != nil {
		return a, err
	}
	for _, m := range monitors {
		a.Monitors.Options = append(a.Monitors.Options, option{
			Value: m.ID, Label: m.Name,
			Selected: slices.Contains(chosen.Monitors, m.ID) || slices.Contains(chosen.Monitors, m.Slug),
		})
	}
	if total > maxFilterMonitors {
		f.values.Set("monitors", strings.Join(chosen.Monitors, ", "))
		a.Monitors = f.draw(field{
			Name: "monitors", Label: "Monitors", Bare: true, Hint: "Their slugs, with commas between. Empty: all.",
		})
	}
	f.values.Set("tags", strings.Join(chosen.Tags, ", "))
	a.Tags = f.draw(field{
		Name: "tags", Label: "Tags of monitors", Bare: true,
		Hint: "With commas between: one of them must match. Empty: all.",
	})
	for _, name := range []string{"events", "severities", "pages", "monitors"} {
		if !f.shown[name] {
			a.Errors = append(a.Errors, f.errorsOf(name, "")...)
		}
	}
	return a, nil
}
