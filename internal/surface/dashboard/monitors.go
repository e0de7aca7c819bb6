package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

const monitorsPath = Path + "/monitors"

// conditionNames are the words for monitor.MonitorConditions.
var conditionNames = map[monitor.MonitorState]string{
	monitor.MonitorDown: "Down", monitor.MonitorLate: "Late", monitor.MonitorFailing: "Failing",
	monitor.MonitorUnknown: "Unknown", monitor.MonitorSlow: "Slow", monitor.MonitorSuppressed: "Suppressed",
	monitor.MonitorWaiting: "Waiting", monitor.MonitorUp: "Up", monitor.MonitorDisabled: "Paused",
}

func conditionName(s monitor.MonitorState) string { return conditionNames[s] }

// conditionTone returns the name of the tone of a monitor.
func conditionTone(m monitor.Monitor) string {
	switch m.Condition() {
	case monitor.MonitorDown:
		return m.DownStatus.Tone().Name
	case monitor.MonitorLate, monitor.MonitorFailing, monitor.MonitorUnknown, monitor.MonitorSlow:
		return kernel.StatusDegraded.Tone().Name
	case monitor.MonitorUp:
		return kernel.StatusOperational.Tone().Name
	default:
		return kernel.NeutralTone.Name
	}
}

// monitorTab is a link to the monitors in one condition.
type monitorTab struct {
	Label   string
	Path    string
	Count   int
	Current bool
}

// monitorsScreen is the data of the template monitors.
type monitorsScreen struct {
	*form
	store.MonitorList
	Tabs                   []monitorTab
	Page, Tag, Type, Order field
	Chosen                 map[string]bool // by id, in a form that was refused
	NewTag                 field
	All                    int // in any condition
	Pager                  pager
	CanEdit, Limited       bool
	Here                   string // path and query of this list
}

// showMonitors lists the monitors.
func (v *visit) showMonitors() error {
	s, err := v.monitorsScreen(v.r.URL, nil)
	if err != nil {
		return err
	}
	return v.showLive("monitors", "Monitors", s)
}

// monitorsScreen returns the list that a URL selects. chosen is the form that was refused, which is shown with it; nil:
// none.
func (v *visit) monitorsScreen(at *url.URL, chosen *form) (*monitorsScreen, error) {
	typed := at.Query()
	query := store.MonitorQuery{
		Search: typed.Get("search"), Page: typed.Get("page_slug"), Tag: typed.Get("tag"),
		Condition: monitor.MonitorState(typed.Get("state")), Order: store.MonitorOrder(typed.Get("sort")),
		Type: monitor.MonitorType(typed.Get("type")),
	}
	if query.Condition != "" && !slices.Contains(monitor.MonitorConditions, query.Condition) ||
		query.Type != "" && !slices.Contains(check.MonitorTypes(), query.Type) {
		return nil, errNotFound
	}
	r := pagination(typed)
	list, err := v.store.MonitorList(v.r.Context(), v.actor(), query, r)
	if err != nil {
		return nil, err
	}
	s := &monitorsScreen{
		form: newForm(typed), MonitorList: list, CanEdit: v.may(rights.MonitorChange), Here: at.RequestURI(),
		Chosen: map[string]bool{},
	}
	s.Limited = query.Search != "" || query.Page != "" || query.Tag != "" || query.Type != "" || query.Condition != ""
	shown := url.Values{}
	for _, name := range []string{"search", "page_slug", "tag", "type", "state", "sort"} {
		if text := typed.Get(name); text != "" {
			shown.Set(name, text)
		}
	}
	s.Pager = newPager(monitorsPath, shown, r, len(list.Monitors), list.Total)
	for _, c := range monitor.MonitorConditions {
		s.All += list.Counts[c]
		s.Tabs = append(s.Tabs, monitorTab{conditionName(c), tabPath(shown, c), list.Counts[c], query.Condition == c})
	}
	s.Tabs = slices.Insert(s.Tabs, 0, monitorTab{"All", tabPath(shown, ""), s.All, query.Condition == ""})
	pages := []option{{Label: "All pages"}}
	for _, p := range list.Pages {
		pages = append(pages, option{Value: p.Slug, Label: p.Name})
	}
	s.Page = s.draw(field{Name: "page_slug", Label: "Page", Type: "select", Optional: true, Options: pages})
	tags := []option{{Label: "All tags"}}
	for _, tag := range list.Tags {
		tags = append(tags, option{Value: tag, Label: tag})
	}
	s.Tag = s.draw(field{Name: "tag", Label: "Tag", Type: "select", Optional: true, Options: tags})
	types := []option{{Label: "All types"}}
	for _, kind := range check.MonitorTypes() {
		types = append(types, option{Value: string(kind), Label: monitorTypeName(kind)})
	}
	s.Type = s.draw(field{Name: "type", Label: "Type", Type: "select", Optional: true, Options: types})
	s.Order = s.draw(field{Name: "sort", Label: "Order", Type: "select", Optional: true, Options: []option{
		{Label: "Most urgent first"}, {Value: string(store.MonitorsByName), Label: "By name"},
		{Value: string(store.MonitorsByLastPing), Label: "Longest silent first"},
	}})
	if chosen == nil {
		chosen = newForm(url.Values{})
	}
	for _, id := range chosenMonitors(chosen.values) {
		s.Chosen[id] = true
	}
	s.NewTag = chosen.draw(field{Name: "tags", Label: "Tag", Suggestions: list.Tags, Bare: true, Placeholder: "Tag"})
	return s, nil
}

// tabPath returns the path of the list of the monitors in one condition; "": in any.
func tabPath(query url.Values, condition monitor.MonitorState) string {
	q := url.Values{}
	for name, values := range query {
		if name != "state" {
			q[name] = values
		}
	}
	if condition != "" {
		q.Set("state", string(condition))
	}
	if len(q) == 0 {
		return monitorsPath
	}
	return monitorsPath + "?" + q.Encode()
}

// maxMonitorsChosen is the maximum number of monitors that one form changes.
const maxMonitorsChosen = 2 * perPage

// chosenMonitors returns the ids of the monitors that were chosen.
func chosenMonitors(typed url.Values) []string {
	chosen := typed["monitor"]
	return chosen[:min(len(chosen), maxMonitorsChosen)]
}

// monitorAction returns the change that the form makes to the monitors that were chosen.
func (v *visit) monitorAction() (monitor.MonitorChange, error) {
	typed := v.r.PostForm
	tags := readTags(typed.Get("tags"))
	switch typed.Get("action") {
	case "resume":
		return monitor.Resume(), nil
	case "add_tags":
		var bad kernel.ValidationError
		monitor.CheckTags(&bad, tags) // also if none of the monitors is there any more
		return func(c *monitor.MonitorConfig) error {
			c.Tags = slices.Concat(c.Tags, tags)
			return nil
		}, bad.Err()
	case "remove_tags":
		return func(c *monitor.MonitorConfig) error {
			c.Tags = slices.DeleteFunc(slices.Clone(c.Tags), func(tag string) bool {
				return slices.Contains(tags, tag)
			})
			return nil
		}, nil
	}
	return nil, errNotFound
}

// changeMonitors changes the monitors that were chosen.
func (v *visit) changeMonitors() error {
	next := monitorsNext(v.r.PostForm.Get("next"))
	ch, err := v.monitorAction()
	if err == nil {
		err = v.changeChosen(ch)
	}
	refused := newForm(v.r.PostForm)
	at, badURL := url.Parse(next)
	if badURL == nil && refused.refused(err) {
		s, err := v.monitorsScreen(at, refused)
		if err != nil {
			return err
		}
		return v.show(http.StatusUnprocessableEntity, "monitors", "Monitors", s)
	}
	if err != nil {
		return err
	}
	return v.redirect(next)
}

// changeChosen changes the monitors that were chosen. Those that were deleted meanwhile are left out.
func (v *visit) changeChosen(ch monitor.MonitorChange) error {
	for _, id := range chosenMonitors(v.r.PostForm) {
		if _, err := v.store.ChangeMonitor(v.r.Context(), v.actor(), id, ch); err != nil &&
			!errors.Is(err, kernel.ErrNotFound) {
			return err
		}
	}
	return nil
}

// monitorsNext returns next if it is a screen of monitors, and their list otherwise.
func monitorsNext(next string) string {
	if next = localPath(next); next == Path {
		return monitorsPath
	}
	return next
}

// loadChosen loads the monitors that were chosen. Those that were deleted meanwhile are left out.
func (v *visit) loadChosen(typed url.Values) (all []monitor.Monitor, err error) {
	for _, id := range chosenMonitors(typed) {
		m, err := v.store.Monitor(v.r.Context(), v.actor(), id)
		if errors.Is(err, kernel.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// deleteMonitorsScreen is the data of the template monitors_delete.
type deleteMonitorsScreen struct {
	Monitors []monitor.Monitor
	Next     string
}

// Down reports whether one of the monitors is down.
func (s deleteMonitorsScreen) Down() bool {
	return slices.ContainsFunc(s.Monitors, func(m monitor.Monitor) bool { return m.Condition() == monitor.MonitorDown })
}

// Jobs reports whether jobs ping one of the monitors.
func (s deleteMonitorsScreen) Jobs() bool {
	return slices.ContainsFunc(s.Monitors, func(m monitor.Monitor) bool { return !m.IsCheck() })
}

// Checks reports whether the target of one of the monitors is checked.
func (s deleteMonitorsScreen) Checks() bool {
	return slices.ContainsFunc(s.Monitors, monitor.Monitor.IsCheck)
}

// showDeleteMonitors says what is lost with the monitors that were chosen.
func (v *visit) showDeleteMonitors() error {
	typed := v.r.URL.Query()
	s := deleteMonitorsScreen{Next: monitorsNext(typed.Get("next"))}
	var err error
	if s.Monitors, err = v.loadChosen(typed); err != nil {
		return err
	}
	if len(s.Monitors) == 0 {
		return v.redirect(s.Next)
	}
	return v.show(http.StatusOK, "monitors_delete", "Delete monitors", s)
}

// deleteMonitors deletes the monitors that were chosen.
func (v *visit) deleteMonitors() error {
	for _, id := range chosenMonitors(v.r.PostForm) {
		err := v.store.DeleteMonitor(v.r.Context(), v.actor(), id)
		if err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return err
		}
	}
	return v.redirect(monitorsNext(v.r.PostForm.Get("next")))
}
