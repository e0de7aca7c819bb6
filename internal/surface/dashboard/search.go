package dashboard

import (
	"net/http"
	"strings"

	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
)

const searchPath = Path + "/search"

// maxSearchText is the maximum number of characters that are searched for.
const maxSearchText = 200

// shortcuts are the screens that a search finds besides those of the navigation.
var shortcuts = []navItem{
	{Label: "Report an incident", Path: Path + "/incidents/new", Needs: rights.IncidentChange},
	{Label: "Plan a maintenance", Path: Path + "/maintenances/new", Needs: rights.MaintenanceChange},
	{Label: "New monitor", Path: monitorsPath + "/new", Needs: rights.MonitorChange},
	{Label: "New alert rule", Path: alertRulesPath + "/new", Needs: rights.AlertRuleChange},
	{Label: "New channel of alerts", Path: channelsPath + "/new", Needs: rights.ChannelChange},
	{Label: "Who is notified of an alert?", Path: forecastPath, Needs: rights.AlertRuleRead},
	{Label: "New page", Path: Path + "/new-page", Needs: rights.PageCreate},
	{Label: "Incident templates", Path: Path + "/incident-templates", Needs: rights.TemplateRead},
	{Label: "Your account", Path: Path + "/account", Needs: rights.AccountChange},
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
func (v *visit) showSearch() error {
	s := searchScreen{Query: strings.TrimSpace(v.r.URL.Query().Get("q"))}
	if text := []rune(s.Query); len(text) > maxSearchText {
		s.Query = string(text[:maxSearchText])
	}
	found, err := v.store.Search(v.r.Context(), v.actor(), s.Query)
	if err != nil {
		return err
	}
	s.add("Monitors", monitorHits(found.Monitors))
	s.add("Components", v.componentHits(found.Components))
	s.add("Pages", pageHits(found.Pages))
	s.add("Incidents", incidentHits(found.Incidents))
	s.add("Screens", v.screenHits(s.Query))
	return v.show(http.StatusOK, "search", "Search", s)
}

func (s *searchScreen) add(name string, hits []searchHit) {
	if len(hits) > 0 {
		s.Groups = append(s.Groups, searchGroup{name, hits})
	}
}

func monitorHits(all []store.MonitorListEntry) (hits []searchHit) {
	for _, m := range all {
		detail := conditionName(m.Condition())
		if m.PageName != "" {
			detail += " · " + m.PageName
		}
		hits = append(hits, searchHit{m.Name, detail, monitorsPath + "/" + m.ID, conditionTone(m.Monitor)})
	}
	return hits
}

// componentHits leads viewers to the list of components, because they cannot edit one.
func (v *visit) componentHits(all []store.FoundComponent) (hits []searchHit) {
	for _, c := range all {
		path := Path + "/pages/" + c.PageSlug + "/components"
		if v.may(rights.ComponentChange) {
			path += "/" + c.ID
		}
		hits = append(hits, searchHit{Label: c.Name, Detail: c.PageName, Path: path})
	}
	return hits
}

func pageHits(all []store.MonitorListPage) (hits []searchHit) {
	for _, p := range all {
		hits = append(hits, searchHit{Label: p.Name, Detail: p.Slug, Path: Path + "/pages/" + p.Slug + "/components"})
	}
	return hits
}

func incidentHits(all []store.FoundIncident) (hits []searchHit) {
	for _, i := range all {
		hits = append(hits, searchHit{
			Label:  i.Title,
			Detail: i18n.English().State(i.State) + " · " + i.PageName + " · " + i.CreatedAt.Format("2 Jan 2006"),
			Path:   Path + "/incidents/" + i.ID,
		})
	}
	return hits
}

// screenHits returns the screens that the visitor may open and whose label has all words, or all screens if there are
// no words.
func (v *visit) screenHits(query string) (hits []searchHit) {
	for _, items := range [][]navItem{navigation, shortcuts} {
		for _, item := range v.visible(items) {
			for _, tab := range item.Tabs {
				if label := item.Label + " › " + tab.Label; containsWords(label, query) {
					hits = append(hits, searchHit{Label: label, Path: tab.Path})
				}
			}
			if item.Tabs == nil && item.Path != searchPath && containsWords(item.Label, query) {
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
