package monitors

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
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// monitorTab is a link to the monitors in one condition.
type monitorTab struct {
	Label   string
	Path    string
	Count   int
	Current bool
}

// monitorsScreen is the data of the template monitors.
type monitorsScreen struct {
	*frame.Form
	store.MonitorList
	Rows                          []monitorRow
	Tabs                          []monitorTab
	Page, Tag, Type, Group, Order frame.Field
	Chosen                        map[string]bool // by id, in a form that was refused
	NewTag                        frame.Field
	All                           int // in any condition
	Pager                         frame.Pager
	CanEdit, Limited              bool
	Here                          string // path and query of this list
}

// MaxRecent returns how many checks or pings of a monitor are drawn at most.
func (*monitorsScreen) MaxRecent() int { return store.MaxRecent }

// showMonitors lists the monitors.
func (r *request) showMonitors() error {
	s, err := r.monitorsScreen(r.URL, nil)
	if err != nil {
		return err
	}
	return r.Show(http.StatusOK, "monitors", "Monitors", s)
}

// monitorsScreen returns the list that a URL selects. chosen is a refused form that is shown again; nil: none.
func (r *request) monitorsScreen(at *url.URL, chosen *frame.Form) (*monitorsScreen, error) {
	typed := at.Query()
	query := store.MonitorQuery{
		Search: typed.Get("search"), Page: typed.Get("page_slug"), Tag: typed.Get("tag"),
		DisplayState: monitor.MonitorState(typed.Get("state")), Order: store.MonitorOrder(typed.Get("sort")),
		Type: monitor.MonitorType(typed.Get("type")), Group: store.MonitorGroup(typed.Get("group")),
	}
	if query.DisplayState != "" && !slices.Contains(monitor.DisplayStates, query.DisplayState) ||
		query.Type != "" && !slices.Contains(check.MonitorTypes(), query.Type) {
		return nil, kernel.ErrNotFound
	}
	rows := frame.Pagination(typed)
	rows.PerPage = monitorsPerPage
	list, err := r.Store.MonitorList(r.Context(), r.Actor(), query, rows)
	if err != nil {
		return nil, err
	}
	s := &monitorsScreen{
		Form: frame.NewForm(typed), MonitorList: list, CanEdit: r.May(rights.MonitorChange), Here: at.RequestURI(),
		Chosen: map[string]bool{},
	}
	s.Limited = query.Search != "" || query.Page != "" || query.Tag != "" || query.Type != "" ||
		query.DisplayState != ""
	shown := frame.Filter(s.Form, "search", "page_slug", "tag", "type", "state", "group", "sort")
	s.Pager = frame.NewPager(frame.MonitorsPath, shown, rows, len(list.Monitors), list.Total)
	for _, count := range list.Counts {
		s.All += count
	}
	tab := func(label string, state monitor.MonitorState, count int) {
		path := frame.PathWith(frame.MonitorsPath, shown, "state", string(state))
		s.Tabs = append(s.Tabs, monitorTab{label, path, count, query.DisplayState == state})
	}
	tab("All", "", s.All)
	for _, state := range monitor.DisplayStates {
		tab(frame.DisplayStateName(state), state, list.Counts[state])
	}
	s.drawFilter()
	heading := ""
	for _, m := range list.Monitors {
		row := monitorRow{MonitorListEntry: m}
		if m.Group != heading {
			row.Heading, heading = m.Group, m.Group
		}
		s.Rows = append(s.Rows, row)
	}
	if chosen == nil {
		chosen = frame.NewForm(url.Values{})
	}
	for _, id := range chosenMonitors(chosen.Values) {
		s.Chosen[id] = true
	}
	s.NewTag = chosen.Draw(frame.Field{
		Name: "tags", Label: "Tag", Suggestions: list.Tags, Bare: true, Placeholder: "Tag",
	})
	return s, nil
}

// drawFilter draws the fields that filter and sort the list.
func (s *monitorsScreen) drawFilter() {
	pages := []frame.Option{{Label: "All pages"}}
	for _, p := range s.Pages {
		pages = append(pages, frame.Option{Value: p.Slug, Label: p.Name})
	}
	s.Page = s.Draw(frame.Field{Name: "page_slug", Label: "Page", Type: "select", Optional: true, Options: pages})
	tags := []frame.Option{{Label: "All tags"}}
	for _, tag := range s.Tags {
		tags = append(tags, frame.Option{Value: tag, Label: tag})
	}
	s.Tag = s.Draw(frame.Field{Name: "tag", Label: "Tag", Type: "select", Optional: true, Options: tags})
	types := []frame.Option{{Label: "All types"}}
	for _, kind := range check.MonitorTypes() {
		types = append(types, frame.Option{Value: string(kind), Label: monitorTypeName(kind)})
	}
	s.Type = s.Draw(frame.Field{Name: "type", Label: "Type", Type: "select", Optional: true, Options: types})
	s.Group = s.Draw(frame.Field{Name: "group", Label: "Group", Type: "select", Optional: true, Options: []frame.Option{
		{Label: "No groups"}, {Value: string(store.MonitorsOfPage), Label: "By page"},
		{Value: string(store.MonitorsOfComponent), Label: "By component"},
		{Value: string(store.MonitorsOfTag), Label: "By tag"},
	}})
	s.Order = s.Draw(frame.Field{Name: "sort", Label: "Order", Type: "select", Optional: true, Options: []frame.Option{
		{Label: "Severity"}, {Value: string(store.MonitorsByName), Label: "Name"},
		{Value: string(store.MonitorsByLastPing), Label: "Oldest ping"},
	}})
}

// monitorsPerPage is how many monitors the list shows at a time; maxMonitorsChosen, how many one form changes at most.
const monitorsPerPage, maxMonitorsChosen = 100, 100

// chosenMonitors returns the ids of the selected monitors.
func chosenMonitors(typed url.Values) []string {
	chosen := typed["monitor"]
	return chosen[:min(len(chosen), maxMonitorsChosen)]
}

// monitorAction returns the change that the form makes to the selected monitors.
func (r *request) monitorAction() (monitor.MonitorChange, error) {
	typed := r.PostForm
	tags := readTags(typed.Get("tags"))
	switch typed.Get("action") {
	case "resume":
		return monitor.Resume(), nil
	case "add_tags":
		var bad kernel.ValidationError
		monitor.CheckTags(&bad, tags) // even if none of the monitors exists any more
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
	return nil, kernel.ErrNotFound
}

// changeMonitors changes the selected monitors.
func (r *request) changeMonitors() error {
	next := monitorsNext(r.PostForm.Get("next"))
	ch, err := r.monitorAction()
	if err == nil {
		err = r.changeChosen(ch)
	}
	refused := frame.NewForm(r.PostForm)
	at, badURL := url.Parse(next)
	if badURL == nil && refused.Refused(err) {
		s, err := r.monitorsScreen(at, refused)
		if err != nil {
			return err
		}
		return r.Show(http.StatusUnprocessableEntity, "monitors", "Monitors", s)
	}
	if err != nil {
		return err
	}
	return r.Redirect(next)
}

// changeChosen changes the selected monitors. Monitors that were deleted meanwhile are omitted.
func (r *request) changeChosen(ch monitor.MonitorChange) error {
	for _, id := range chosenMonitors(r.PostForm) {
		_, err := r.Store.ChangeMonitor(r.Context(), r.Actor(), id, ch)
		if err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return err
		}
	}
	return nil
}

// monitorsNext returns next if it is a screen of monitors, and their list otherwise.
func monitorsNext(next string) string {
	if next = frame.LocalPath(next); next == frame.Path {
		return frame.MonitorsPath
	}
	return next
}

// loadChosen loads the selected monitors. Monitors that were deleted meanwhile are omitted.
func (r *request) loadChosen(typed url.Values) (all []monitor.Monitor, err error) {
	for _, id := range chosenMonitors(typed) {
		m, err := r.Store.Monitor(r.Context(), r.Actor(), id)
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
	return slices.ContainsFunc(s.Monitors, func(m monitor.Monitor) bool {
		return m.DisplayState() == monitor.MonitorDown
	})
}

// Jobs reports whether jobs ping one of the monitors.
func (s deleteMonitorsScreen) Jobs() bool {
	return slices.ContainsFunc(s.Monitors, func(m monitor.Monitor) bool { return !m.IsCheck() })
}

// Checks reports whether the target of one of the monitors is checked.
func (s deleteMonitorsScreen) Checks() bool {
	return slices.ContainsFunc(s.Monitors, monitor.Monitor.IsCheck)
}

// showDeleteMonitors shows what is lost with the selected monitors.
func (r *request) showDeleteMonitors() error {
	typed := r.URL.Query()
	s := deleteMonitorsScreen{Next: monitorsNext(typed.Get("next"))}
	var err error
	if s.Monitors, err = r.loadChosen(typed); err != nil {
		return err
	}
	if len(s.Monitors) == 0 {
		return r.Redirect(s.Next)
	}
	return r.Show(http.StatusOK, "monitors_delete", "Delete monitors", s)
}

// deleteMonitors deletes the selected monitors.
func (r *request) deleteMonitors() error {
	for _, id := range chosenMonitors(r.PostForm) {
		err := r.Store.DeleteMonitor(r.Context(), r.Actor(), id)
		if err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return err
		}
	}
	return r.Redirect(monitorsNext(r.PostForm.Get("next")))
}
