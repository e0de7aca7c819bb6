package view

import (
	"html/template"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// The limits of a status page, which keep it small during large incidents. Links lead to what is omitted.
const (
	maxTimelines = 10      // active incidents with their timelines; others take one line
	maxUpdates   = 25      // updates of an active incident; its own page has all
	maxMore      = 50      // active incidents without timelines
	maxNamed     = 20      // components of an incident that is shown with others
	maxOngoing   = 5       // incidents and maintenances linked from a component
	maxPerDay    = 10      // past incidents of one day; the history has all
	maxOpenGroup = 8       // components of a group that is open initially
	maxGroupSays = 12      // components that a folded group names
	monthBudget  = 1 << 20 // bytes of the timelines of a month, before compression
)

// statusBody is the status page.
type statusBody struct {
	Announcements   []announcementView
	Status          kernel.Status
	Lead            *incidentView     // the incident that the page leads with; nil: the page leads with its status
	Overall         string            // sentence about all components, below Lead; "": there are none
	Counts          string            // see countsText
	Active          []incidentView    // the other active incidents
	More            []incidentView    // active incidents without their timelines
	OmittedActive   int               // number of active incidents that are omitted
	Running         []maintenanceView // maintenances in progress
	MoreRunning     int               // number of running maintenances that are omitted
	Spans           []spanView        // of all components together; nil: there is no data
	Blocks          []blockView
	Legend          []legendItem
	Explained       string // how the uptime is computed
	Upcoming        []maintenanceView
	MoreUpcoming    int // number of upcoming maintenances that are omitted
	Calendar        string
	Past            []dayView
	PastMaintenance bool // Past has maintenances
	History         string
}

// Calm reports whether the banner takes one line.
func (b statusBody) Calm() bool { return b.Status == kernel.StatusOperational }

// withoutUptimes returns the body without uptimes, which change as time passes. The bars remain.
func (b statusBody) withoutUptimes() statusBody {
	b.Spans = nil
	b.Blocks = slices.Clone(b.Blocks)
	for i := range b.Blocks {
		block := &b.Blocks[i]
		block.Spans = nil
		block.Components = slices.Clone(block.Components)
		for j := range block.Components {
			row := &block.Components[j]
			row.Bars = barsView{Last: row.Bars.Last, Bars: row.Bars.Bars}
		}
	}
	return b
}

// blockView is a group of components, or components without a group.
type blockView struct {
	Key, Name  string // "": none
	Status     kernel.Status
	Spans      []spanView    // nil: there is no data
	Bars       template.HTML // of all components together
	Components []componentRow
}

// Open reports whether the components of the group are shown initially.
func (b blockView) Open() bool {
	return b.Status != kernel.StatusOperational || len(b.Components) <= maxOpenGroup
}

// Named returns the components that the folded group names.
func (b blockView) Named() []componentRow { return b.Components[:min(len(b.Components), maxGroupSays)] }

// Others returns the number of components that the folded group does not name.
func (b blockView) Others() int { return len(b.Components) - len(b.Named()) }

// componentRow is a component in the list of components.
type componentRow struct {
	URL, Name, Description string
	Status                 kernel.Status
	Bars                   barsView
	Ongoing                []ongoingEvent
	MoreOngoing            int // number of ongoing events that are omitted
}

// ongoingEvent is an active incident or a running maintenance, linked from a component.
type ongoingEvent struct {
	URL, Title string
	Tone       string
}

// Status returns a status page.
func Status(l Layout, sum statuspage.Summary) Model {
	at := l.At
	left := &budget{statusBytes, budgetChars}
	b := statusBody{
		Announcements: viewAnnouncements(sum.Announcements), Status: sum.Status, Counts: countsText(at.lang, sum),
		History: at.history(), Calendar: at.calendar(),
	}
	b.addEvents(at, sum, left)
	ongoing := ongoingEvents(at, sum)
	for _, block := range sum.Blocks {
		b.Blocks = append(b.Blocks, viewBlock(at, sum, block, ongoing, left))
	}
	b.Past = viewDays(at, sum.Past, maxPerDay, detail{names: maxNamed, budget: left, lines: left})
	for i, day := range sum.Past {
		b.PastMaintenance = b.PastMaintenance || len(day.Maintenances) > 0
		for _, inc := range sum.Active {
			if at.sameDay(inc.CreatedAt, day.Date) {
				b.Past[i].Active++
			}
		}
	}
	markOngoing(b.Past, sum.Past, sum.Active)
	b.Past = foldCalmDays(at.lang, b.Past, sum.Past)
	b.Spans, b.Legend, b.Explained = knownSpans(at.lang, sum.History), viewLegend(at.lang), uptimeExplanation(at.lang)
	l.Site.AtHome = true
	if sum.Page.Description != nil {
		l.Site.About = markdown.HTML(*sum.Page.Description)
	}
	l.Path = "/"
	headline := at.lang.Headline(sum)
	l.setTitle(headline)
	l.Description = at.lang.T("page.description", "banner", headline, "page", sum.Page.Name)
	return Model{l, "status", b}
}

// addEvents adds the active incidents and the maintenances.
func (b *statusBody) addEvents(at Presentation, sum statuspage.Summary, left *budget) {
	timelines := detail{updates: maxUpdates, names: maxNamed, budget: left, lines: left}
	latest := statuspage.ByLatestUpdate(sum.Active)
	if lead, ok := sum.LeadIncident(); ok {
		v := viewIncident(at, lead, timelines)
		b.Lead, b.Overall = &v, overallText(at.lang, sum)
		latest = slices.DeleteFunc(latest, func(inc statuspage.Incident) bool { return inc.ID == lead.ID })
	}
	for i, inc := range latest[:min(len(latest), maxTimelines+maxMore)] {
		if i < maxTimelines {
			b.Active = append(b.Active, viewIncident(at, inc, timelines))
		} else {
			inc.Affected, inc.Updates = nil, nil
			b.More = append(b.More, viewEntries(at, inc, nil, detail{budget: left, lines: left}))
		}
	}
	b.OmittedActive = len(latest) - len(b.Active) - len(b.More)
	running, upcoming := sum.Running[:min(len(sum.Running), maxTimelines)],
		sum.Upcoming[:min(len(sum.Upcoming), maxTimelines)]
	b.Running, b.MoreRunning = viewMaintenances(at, running, timelines), len(sum.Running)-len(running)
	b.Upcoming = viewMaintenances(at, upcoming, detail{updates: 1, names: maxNamed, budget: left, lines: left})
	b.MoreUpcoming = len(sum.Upcoming) - len(upcoming)
}

func viewBlock(
	at Presentation, sum statuspage.Summary, block statuspage.Block, ongoing map[string][]ongoingEvent, left *budget,
) blockView {
	v := blockView{Key: block.Group.ID, Name: block.Group.Name, Status: block.Status}
	if v.Key != "" {
		v.Bars, v.Spans = drawBars(block.History), knownSpans(at.lang, block.History)
	}
	for _, c := range block.Components {
		name := left.name(c.Name)
		row := componentRow{
			URL: at.component(c.ID), Name: name, Status: c.Status(),
			Bars: viewBars(at.lang, name, sum.Histories[c.ID]),
		}
		if c.Description != nil {
			if text := strings.TrimSpace(*c.Description); left.take(len(template.HTMLEscapeString(text))) {
				row.Description = text
			}
		}
		for _, named := range ongoing[c.ID][:min(len(ongoing[c.ID]), maxOngoing)] {
			if !left.take(ongoingWeight + len(template.HTMLEscapeString(named.Title))) {
				break
			}
			row.Ongoing = append(row.Ongoing, named)
		}
		row.MoreOngoing = len(ongoing[c.ID]) - len(row.Ongoing)
		v.Components = append(v.Components, row)
	}
	v.Components[len(v.Components)-1].Bars.Ends = true
	return v
}

// ongoingWeight is about how many bytes an ongoing event takes besides its title.
const ongoingWeight = 150

// uptimeExplanation explains how uptimes are computed.
func uptimeExplanation(l *i18n.Language) string {
	return l.T("uptime.explained", "percent", l.WholePercent(kernel.StatusPartialOutage.Downtime()))
}

// ongoingEvents returns the ongoing events of each component, by its id.
func ongoingEvents(at Presentation, sum statuspage.Summary) map[string][]ongoingEvent {
	ongoing := make(map[string][]ongoingEvent)
	for _, inc := range statuspage.ByLatestUpdate(sum.Active) {
		for _, a := range inc.Affected {
			ongoing[a.ComponentID] = append(ongoing[a.ComponentID], ongoingEvent{
				at.incident(inc.ID), at.lang.IncidentTitle(inc), inc.Impact.Tone().Name,
			})
		}
	}
	for _, m := range sum.Running {
		for _, c := range m.Components {
			ongoing[c.ID] = append(ongoing[c.ID], ongoingEvent{
				at.maintenance(m.ID), m.Title, kernel.StatusMaintenance.Tone().Name,
			})
		}
	}
	return ongoing
}

// overallText returns the sentence about all components of a page that leads with an incident; "": there are no
// components.
func overallText(l *i18n.Language, sum statuspage.Summary) string {
	switch {
	case len(sum.Blocks) == 0:
		return ""
	case sum.Status == kernel.StatusOperational:
		return l.T("banner.components")
	default:
		return l.Banner(sum.Status)
	}
}

// countsText returns the line below the banner: the numbers of operational and of unknown components, and of active
// incidents unless the page leads with one. It is "" if the banner implies them.
func countsText(l *i18n.Language, sum statuspage.Summary) string {
	parts := componentCounts(l, sum)
	if _, ok := sum.LeadIncident(); !ok && len(sum.Active) > 0 {
		parts = append(parts, l.T("incidents.active_count", "n", len(sum.Active)))
	}
	return strings.Join(parts, " · ")
}

// componentCounts returns the numbers of operational and of unknown components, unless the banner implies them.
func componentCounts(l *i18n.Language, sum statuspage.Summary) (parts []string) {
	total, operational, unknown := 0, 0, 0
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			total++
			switch c.Status() {
			case kernel.StatusOperational:
				operational++
			case kernel.StatusUnknown:
				unknown++
			}
		}
	}
	if total > 1 && operational < total && unknown < total {
		parts = append(parts, l.T("components.operational", "n", operational, "total", total))
		if unknown > 0 { // unknown components may be operational
			parts = append(parts, l.T("components.unknown", "n", unknown))
		}
	}
	return parts
}

// newestUpdates returns the updates of an incident, newest first.
func newestUpdates(inc statuspage.Incident) []statuspage.IncidentUpdate {
	return slices.SortedStableFunc(slices.Values(inc.Updates), func(a, b statuspage.IncidentUpdate) int {
		return b.Number - a.Number
	})
}
