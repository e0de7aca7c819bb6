package workspace

import (
	"net/http"
	"strings"

	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// maxSearchText is the maximum number of characters that are searched for.
const maxSearchText = 200

// shortcuts are the screens that a search finds besides the screens of the navigation.
var shortcuts = []frame.NavItem{
	{Label: "Report an incident", Path: frame.Path + "/incidents/new", Needs: rights.IncidentChange},
	{Label: "Schedule maintenance", Path: frame.Path + "/maintenances/new", Needs: rights.MaintenanceChange},
	{Label: "New monitor", Path: frame.MonitorsPath + "/new", Needs: rights.MonitorChange},
	{Label: "New alert rule", Path: frame.AlertRulesPath + "/new", Needs: rights.AlertRuleChange},
	{Label: "New channel of alerts", Path: frame.ChannelsPath + "/new", Needs: rights.ChannelChange},
	{Label: "Who is notified of an alert?", Path: frame.ForecastPath, Needs: rights.AlertRuleRead},
	{Label: "New page", Path: frame.Path + "/new-page", Needs: rights.PageCreate},
	{Label: "Incident templates", Path: frame.Path + "/incident-templates", Needs: rights.TemplateRead},
	{Label: "Your account", Path: frame.Path + "/account", Needs: rights.AccountChange},
}

// searchScreen is the data of the template search. A script shows its groups in a dialog.
type searchScreen struct {
	Query  string
	Groups []searchGroup
}

// searchGroup are the matches of one kind.
type searchGroup struct {
	Name string
	Hits []searchHit
}

// searchHit is one match.
type searchHit struct {
	Label, Detail, Path string
	Tone                string // "": none
}

// showSearch finds screens and objects by their names.
func (r *request) showSearch() error {
	s := searchScreen{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	if text := []rune(s.Query); len(text) > maxSearchText {
		s.Query = string(text[:maxSearchText])
	}
	found, err := r.Store.Search(r.Context(), r.Actor(), s.Query)
	if err != nil {
		return err
	}
	s.add("Monitors", monitorHits(found.Monitors))
	s.add("Components", r.componentHits(found.Components))
	s.add("Pages", pageHits(found.Pages))
	s.add("Incidents", incidentHits(found.Incidents))
	s.add("Screens", r.screenHits(s.Query))
	return r.Show(http.StatusOK, "search", "Search", s)
}

func (s *searchScreen) add(name string, hits []searchHit) {
	if len(hits) > 0 {
		s.Groups = append(s.Groups, searchGroup{name, hits})
	}
}

func monitorHits(all []store.MonitorListEntry) (hits []searchHit) {
	for _, m := range all {
		detail := frame.DisplayStateName(m.DisplayState())
		if m.PageName != "" {
			detail += " · " + m.PageName
		}
		path := frame.MonitorsPath + "/" + m.ID
		hits = append(hits, searchHit{m.Name, detail, path, frame.DisplayStateTone(m.Monitor)})
	}
	return hits
}

// componentHits links components to their forms, or to the list of components for viewers, who cannot edit them.
func (r *request) componentHits(all []store.FoundComponent) (hits []searchHit) {
	for _, c := range all {
		path := frame.Path + "/pages/" + c.PageSlug + "/components"
		if r.May(rights.ComponentChange) {
			path += "/" + c.ID
		}
		hits = append(hits, searchHit{Label: c.Name, Detail: c.PageName, Path: path})
	}
	return hits
}

func pageHits(all []store.MonitorListPage) (hits []searchHit) {
	for _, p := range all {
		hits = append(hits, searchHit{
			Label: p.Name, Detail: p.Slug, Path: frame.Path + "/pages/" + p.Slug + "/components",
		})
	}
	return hits
}

func incidentHits(all []store.FoundIncident) (hits []searchHit) {
	for _, i := range all {
		hits = append(hits, searchHit{
			Label:  i.Title,
			Detail: i18n.English().State(i.State) + " · " + i.PageName + " · " + i.CreatedAt.Format("2 Jan 2006"),
			Path:   frame.Path + "/incidents/" + i.ID,
		})
	}
	return hits
}

// screenHits returns the screens that the visitor may open and whose label contains all words of the query; without
// words, all screens.
func (r *request) screenHits(query string) (hits []searchHit) {
	for _, items := range [][]frame.NavItem{frame.Navigation, shortcuts} {
		for _, item := range r.Visible(items) {
			for _, tab := range item.Tabs {
				if label := item.Label + " › " + tab.Label; containsWords(label, query) {
					hits = append(hits, searchHit{Label: label, Path: tab.Path})
				}
			}
			if item.Tabs == nil && item.Path != frame.SearchPath && containsWords(item.Label, query) {
				hits = append(hits, searchHit{Label: item.Label, Path: item.Path})
			}
		}
	}
	return hits
}

// containsWords reports whether a label has all words of a query, in any case.
func containsWords(label, query string) bool {
	label = strings.ToLower(label)
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if !strings.Contains(label, word) {
			return false
		}
	}
	return true
}
