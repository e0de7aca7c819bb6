package alerting

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// alertFilterForm is the part of a form that limits a rule or a silence to some events, pages, monitors and tags. The
// template "alert-filter" draws it.
type alertFilterForm struct {
	Events, Severities frame.Field
	Pages, Monitors    frame.Field // without options, slugs are typed, because there are more than a form offers
	Tags               frame.Field
	Errors             []string // of the choices
}

// maxFilterMonitors is the number of monitors up to which a form offers them. With more, their slugs are typed.
const maxFilterMonitors = 100

// filterFields are the fields of a filter.
var filterFields = []string{"events", "severities", "pages", "monitors", "tags"}

// withEmptyLists returns the values of a form. A list in which nothing was chosen gets an empty value, because browsers
// do not send it.
func withEmptyLists(f *frame.Form, lists ...string) url.Values {
	values := maps.Clone(f.Values)
	for _, name := range lists {
		if len(values[name]) == 0 {
			values[name] = []string{""}
		}
	}
	return values
}

// wordsOf returns the values of a field. They were chosen, or typed with commas or white space between them.
func wordsOf(f *frame.Form, name string) (all []string) {
	for _, value := range f.Values[name] {
		all = append(all, strings.FieldsFunc(value, func(r rune) bool {
			return r == ',' || r == ' ' || r == '\n' || r == '\t' || r == '\r'
		})...)
	}
	return all
}

// newAlertFilter draws the fields of a filter.
func (r *request) newAlertFilter(f *frame.Form) (a alertFilterForm, err error) {
	pages, allPages, err := r.Store.Pages(r.Context(), r.Actor(), store.Filter{}, store.Pagination{
		Page: 1, PerPage: frame.MaxLimitPages,
	})
	if err != nil {
		return a, err
	}
	monitors, allMonitors, err := r.Store.Monitors(r.Context(), r.Actor(), store.MonitorFilter{}, store.Pagination{
		Page: 1, PerPage: maxFilterMonitors,
	})
	if err != nil {
		return a, err
	}
	boxes := func(name string) frame.Field {
		x := frame.FieldOf(resource.Silence.Info(name))
		x.Optional, x.Hint, x.Type = false, "", ""
		for i, o := range x.Options {
			x.Options[i].Selected = slices.Contains(wordsOf(f, name), o.Value)
		}
		return x
	}
	typed := func(name string) frame.Field {
		f.Values.Set(name, strings.Join(wordsOf(f, name), ", "))
		x := frame.FieldOf(resource.Silence.Info(name))
		x.Optional, x.Bare = false, true
		return f.Draw(x)
	}
	a.Events, a.Severities = boxes("events"), boxes("severities")
	a.Pages, a.Monitors = boxes("pages"), boxes("monitors")
	a.Severities.Short = true
	var known []string
	for _, p := range pages {
		known = append(known, p.ID, p.Slug)
		a.Pages.Options = append(a.Pages.Options, referenceOption(f, "pages", p.ID, p.Slug, p.Name))
	}
	for _, m := range monitors {
		known = append(known, m.ID, m.Slug)
		a.Monitors.Options = append(a.Monitors.Options, referenceOption(f, "monitors", m.ID, m.Slug, m.Name))
	}
	a.Pages.Options = append(a.Pages.Options, deletedOptions(f, "pages", "A deleted page", known)...)
	a.Monitors.Options = append(a.Monitors.Options, deletedOptions(f, "monitors", "A deleted monitor", known)...)
	if allPages > frame.MaxLimitPages {
		a.Pages = typed("pages")
	}
	if allMonitors > maxFilterMonitors {
		a.Monitors = typed("monitors")
	}
	a.Tags = typed("tags")
	for _, name := range []string{"events", "severities", "pages", "monitors"} {
		if !f.Drawn[name] {
			a.Errors = append(a.Errors, f.ErrorsOf(name, "")...)
		}
	}
	return a, nil
}

// deletedOptions returns options for values of a field that are not among the known ids and slugs, because the objects
// were deleted. If the form omitted them, it would save fewer values than are stored, and an empty list means
// everything.
func deletedOptions(f *frame.Form, name, label string, known []string) (all []frame.Option) {
	for _, ref := range wordsOf(f, name) {
		if !slices.Contains(known, ref) {
			all = append(all, frame.Option{Value: ref, Label: label + " (" + ref + ")", Selected: true})
		}
	}
	return all
}

// referenceOption returns an object as an option of a field whose values are ids or slugs.
func referenceOption(f *frame.Form, name, id, slug, label string) frame.Option {
	chosen := wordsOf(f, name)
	return frame.Option{Value: id, Label: label, Selected: slices.Contains(chosen, id) || slices.Contains(chosen, slug)}
}
