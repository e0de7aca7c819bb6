package dashboard

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// alertFilterForm is the part of a form that says what a rule or a silence is about. The template "alert-filter" draws
// it.
type alertFilterForm struct {
	Events, Severities field
	Pages, Monitors    field // without options if there are more than a form offers: then their slugs are typed
	Tags               field
	Errors             []string // of what is chosen
}

// maxFilterMonitors is the number of monitors up to which a form offers them. With more, their slugs are typed.
const maxFilterMonitors = 100

// filterFields are the fields of a filter.
var filterFields = []string{"events", "severities", "pages", "monitors", "tags"}

// withEmpty returns the values with an empty one for each list of which nothing was chosen: browsers do not send it.
func (f *form) withEmpty(lists ...string) url.Values {
	values := maps.Clone(f.values)
	for _, name := range lists {
		if len(values[name]) == 0 {
			values[name] = []string{""}
		}
	}
	return values
}

// words returns the values of a field, which were chosen, or typed with commas or spaces between.
func (f *form) words(name string) (all []string) {
	for _, value := range f.values[name] {
		all = append(all, strings.FieldsFunc(value, func(r rune) bool {
			return r == ',' || r == ' ' || r == '\n' || r == '\t' || r == '\r'
		})...)
	}
	return all
}

// newAlertFilter draws the fields of a filter.
func (v *visit) newAlertFilter(f *form) (a alertFilterForm, err error) {
	pages, allPages, err := v.store.Pages(v.r.Context(), v.actor(), store.Filter{}, store.Pagination{
		Page: 1, PerPage: maxLimitPages,
	})
	if err != nil {
		return a, err
	}
	monitors, allMonitors, err := v.store.Monitors(v.r.Context(), v.actor(), store.MonitorFilter{}, store.Pagination{
		Page: 1, PerPage: maxFilterMonitors,
	})
	if err != nil {
		return a, err
	}
	boxes := func(name string) field {
		x := fieldOf(resource.Silence.Info(name))
		x.Optional, x.Hint, x.Type = false, "", ""
		for i, o := range x.Options {
			x.Options[i].Selected = slices.Contains(f.words(name), o.Value)
		}
		return x
	}
	typed := func(name string) field {
		f.values.Set(name, strings.Join(f.words(name), ", "))
		x := fieldOf(resource.Silence.Info(name))
		x.Optional, x.Bare = false, true
		return f.draw(x)
	}
	a.Events, a.Severities = boxes("events"), boxes("severities")
	a.Pages, a.Monitors = boxes("pages"), boxes("monitors")
	a.Severities.Short = true
	var known []string
	for _, p := range pages {
		known = append(known, p.ID, p.Slug)
		a.Pages.Options = append(a.Pages.Options, f.reference("pages", p.ID, p.Slug, p.Name))
	}
	for _, m := range monitors {
		known = append(known, m.ID, m.Slug)
		a.Monitors.Options = append(a.Monitors.Options, f.reference("monitors", m.ID, m.Slug, m.Name))
	}
	a.Pages.Options = append(a.Pages.Options, f.deleted("pages", "A deleted page", known)...)
	a.Monitors.Options = append(a.Monitors.Options, f.deleted("monitors", "A deleted monitor", known)...)
	if allPages > maxLimitPages {
		a.Pages = typed("pages")
	}
	if allMonitors > maxFilterMonitors {
		a.Monitors = typed("monitors")
	}
	a.Tags = typed("tags")
	for _, name := range []string{"events", "severities", "pages", "monitors"} {
		if !f.shown[name] {
			a.Errors = append(a.Errors, f.errorsOf(name, "")...)
		}
	}
	return a, nil
}

// deleted returns options for what is chosen in a field and not among the known ids and slugs, because it was deleted
// since. If the form left it out, it would save less than what is stored, and nothing at all means everything.
func (f *form) deleted(name, label string, known []string) (all []option) {
	for _, ref := range f.words(name) {
		if !slices.Contains(known, ref) {
			all = append(all, option{Value: ref, Label: label + " (" + ref + ")", Selected: true})
		}
	}
	return all
}

// reference returns an object as an option of a field, in which it is chosen by its id or its slug.
func (f *form) reference(name, id, slug, label string) option {
	chosen := f.words(name)
	return option{Value: id, Label: label, Selected: slices.Contains(chosen, id) || slices.Contains(chosen, slug)}
}
