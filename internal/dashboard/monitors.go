package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

const monitorsPath = Path + "/monitors"

// conditionNames are the words for allswell.MonitorConditions.
var conditionNames = map[allswell.MonitorState]string{
	allswell.MonitorDown: "Down", allswell.MonitorLate: "Late", allswell.MonitorWaiting: "Waiting", allswell.MonitorUp: "Up", allswell.MonitorDisabled: "Disabled",
}

func conditionName(s allswell.MonitorState) string { return conditionNames[s] }

// conditionTone returns the name of the tone of a monitor.
func conditionTone(m allswell.Monitor) string {
	switch m.Condition() {
	case allswell.MonitorDown:
		return m.DownStatus.Tone().Name
	case allswell.MonitorLate:
		return allswell.StatusDegraded.Tone().Name
	case allswell.MonitorUp:
		return allswell.StatusOperational.Tone().Name
	default:
		return allswell.NeutralTone.Name
	}
}

// monitorTab is a link to the monitors in one condition.
type monitorTab struct {
	Label   string
	Path    string
	Count   int
	Current bool
}

// monitorsScreen is what the template monitors shows.
type monitorsScreen struct {
	*form
	store.MonitorList
	Tabs             []monitorTab
	Page, Order      field
	All              int // in any condition
	Pager            pager
	CanEdit, Limited bool
	Here             string // path and query of this list
}

// showMonitors lists the monitors.
func (v *visit) showMonitors() error {
	typed := v.r.URL.Query()
	query := store.MonitorQuery{
		Search: typed.Get("search"), Page: typed.Get("page_slug"), Condition: allswell.MonitorState(typed.Get("state")), Order: store.MonitorOrder(typed.Get("sort")),
	}
	if query.Condition != "" && !slices.Contains(allswell.MonitorConditions, query.Condition) {
		return errNotFound
	}
	r := pagination(typed)
	list, err := v.store.MonitorList(v.r.Context(), v.actor(), query, r)
	if err != nil {
		return err
	}
	s := monitorsScreen{form: newForm(typed), MonitorList: list, CanEdit: v.can(allswell.RoleEditor), Here: v.r.URL.RequestURI()}
	s.Limited = query.Search != "" || query.Page != "" || query.Condition != ""
	shown := url.Values{}
	for _, name := range []string{"search", "page_slug", "state", "sort"} {
		if text := typed.Get(name); text != "" {
			shown.Set(name, text)
		}
	}
	s.Pager = newPager(monitorsPath, shown, r, len(list.Monitors), list.Total)
	for _, c := range allswell.MonitorConditions {
		s.All += list.Counts[c]
		s.Tabs = append(s.Tabs, monitorTab{conditionName(c), tabPath(shown, c), list.Counts[c], query.Condition == c})
	}
	s.Tabs = slices.Insert(s.Tabs, 0, monitorTab{"All", tabPath(shown, ""), s.All, query.Condition == ""})
	pages := []option{{Label: "All pages"}}
	for _, p := range list.Pages {
		pages = append(pages, option{Value: p.Slug, Label: p.Name})
	}
	s.Page = s.draw(field{Name: "page_slug", Label: "Page", Type: "select", Optional: true, Options: pages})
	s.Order = s.draw(field{Name: "sort", Label: "Order", Type: "select", Optional: true, Options: []option{
		{Label: "Most urgent first"}, {Value: string(store.MonitorsByName), Label: "By name"}, {Value: string(store.MonitorsByLastPing), Label: "Longest silent first"},
	}})
	return v.showLive("monitors", "Monitors", s)
}

// tabPath returns the path of the list of the monitors in one condition; "": in any.
func tabPath(query url.Values, condition allswell.MonitorState) string {
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

// changeMonitors enables or disables the monitors that were chosen. Those that were deleted meanwhile are left out.
func (v *visit) changeMonitors() error {
	typed := v.r.PostForm
	enabled := typed.Get("action") == "enable"
	if !enabled && typed.Get("action") != "disable" {
		return errNotFound
	}
	for _, id := range chosenMonitors(typed) {
		_, err := v.store.ChangeMonitor(v.r.Context(), v.actor(), id, allswell.MonitorChange{Enabled: &enabled})
		if err != nil && !errors.Is(err, allswell.ErrNotFound) {
			return err
		}
	}
	return v.redirect(monitorsNext(typed.Get("next")))
}

// monitorsNext returns next if it is a screen of monitors, and their list otherwise.
func monitorsNext(next string) string {
	if next = localPath(next); next == Path {
		return monitorsPath
	}
	return next
}

// deleteMonitorsScreen is what the template monitors_delete shows.
type deleteMonitorsScreen struct {
	Monitors []allswell.Monitor
	Next     string
}

// Down reports whether one of the monitors is down.
func (s deleteMonitorsScreen) Down() bool {
	return slices.ContainsFunc(s.Monitors, func(m allswell.Monitor) bool { return m.Condition() == allswell.MonitorDown })
}

// showDeleteMonitors says what is lost with the monitors that were chosen.
func (v *visit) showDeleteMonitors() error {
	typed := v.r.URL.Query()
	s := deleteMonitorsScreen{Next: monitorsNext(typed.Get("next"))}
	for _, id := range chosenMonitors(typed) {
		m, err := v.store.Monitor(v.r.Context(), v.actor(), id)
		if errors.Is(err, allswell.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		s.Monitors = append(s.Monitors, m)
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
		if err != nil && !errors.Is(err, allswell.ErrNotFound) {
			return err
		}
	}
	return v.redirect(monitorsNext(v.r.PostForm.Get("next")))
}
