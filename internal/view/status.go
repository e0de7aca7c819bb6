package view

import (
	"html/template"
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/markdown"
)

// What a page shows at most, so that the worst day does not make it heavy. The
// rest is one link away.
const (
	maxTimelines = 10      // active incidents with their timelines; further ones in a line each
	maxUpdates   = 25      // updates of an active incident; the others on its own page
	maxMore      = 50      // further active incidents in a line each
	maxNamed     = 20      // components that an incident concerns, where it is shown with others
	maxConcerns  = 5       // incidents and maintenances named at a component
	maxPerDay    = 10      // past incidents of one day; the others in the month's history
	monthBudget  = 1 << 20 // bytes of the timelines of a month, before compression
)

// statusBody is the page itself.
type statusBody struct {
	Description template.HTML
	Status      allswell.Status
	Facts       string // "" if the banner has said it all
	Active      []incidentView
	More        []incidentView    // active as well, without their timelines
	Further     int               // active incidents that are left out
	Running     []maintenanceView // maintenance
	MoreRunning int               // maintenances that are left out
	Spans       []spanView        // of all components together; nil: nothing is known
	Blocks      []blockView
	Legend      []legendItem
	Explained   string // how the uptime is computed
	Upcoming    []maintenanceView
	MorePlanned int // upcoming maintenances that are left out
	Calendar    string
	Past        []dayView
	PastPlanned bool // there is maintenance among it
	History     string
	Subscribe   *subscribeForm // nil: mail is off
}

// withoutUptimes returns the body without uptimes, which change with time alone.
// The bars remain.
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

// blockView is a run of components under one heading, or under none.
type blockView struct {
	Key, Name  string // "": none
	Status     allswell.Status
	Spans      []spanView    // nil: nothing is known
	Bars       template.HTML // of all components together
	Components []componentRow
}

// Open reports whether the group is shown with its components from the first.
func (b blockView) Open() bool { return b.Status != allswell.StatusOperational }

// componentRow is a component in the list of all.
type componentRow struct {
	URL, Name, Description string
	Status                 allswell.Status
	Bars                   barsView
	Concerns               []concern
	MoreConcerns           int // that are left out
}

// concern is an active incident or a running maintenance, as a component names
// it.
type concern struct {
	URL, Title string
	Tone       string
}

// Status returns a status page.
func Status(l Layout, sum allswell.Summary) Model {
	at := l.At
	r := &budget{statusBytes, budgetChars}
	b := statusBody{Status: sum.Status, Facts: facts(at.lang, sum), History: at.history(), Calendar: at.calendar()}
	if sum.Page.Description != nil {
		b.Description = markdown.HTML(*sum.Page.Description)
	}
	b.layIncidents(at, sum, r)
	concerns := concernsOf(at, sum)
	for _, block := range sum.Blocks {
		b.Blocks = append(b.Blocks, viewBlock(at, sum, block, concerns, r))
	}
	b.Past = viewDays(at, sum.Past, maxPerDay, detail{names: maxNamed, budget: r, lines: r})
	for i, day := range sum.Past {
		b.PastPlanned = b.PastPlanned || len(day.Maintenances) > 0
		for _, inc := range sum.Active {
			if at.sameDay(inc.CreatedAt, day.Date) {
				b.Past[i].Active++
			}
		}
	}
	markOngoing(b.Past, sum.Past, sum.Active)
	b.Spans, b.Legend, b.Explained = knownSpans(at.lang, sum.History), viewLegend(at.lang), explainUptime(at.lang)
	l.Site.AtHome = true
	if at.Mail {
		b.Subscribe = &subscribeForm{Action: at.subscribe(), Choice: choice{Blocks: sum.Blocks}}
		l.Site.Subscribe = "#subscribe"
	}
	l.Path = "/"
	l.setTitle(at.lang.Banner(sum.Status))
	l.Description = at.lang.T("page.description", "banner", at.lang.Banner(sum.Status), "page", sum.Page.Name)
	return Model{l, "status", b}
}

// layIncidents lays out what goes on now and what is planned.
func (b *statusBody) layIncidents(at Presentation, sum allswell.Summary, r *budget) {
	timelines := detail{updates: maxUpdates, names: maxNamed, budget: r, lines: r}
	latest := allswell.ByLatestUpdate(sum.Active)
	for i, inc := range latest[:min(len(latest), maxTimelines+maxMore)] {
		if i < maxTimelines {
			b.Active = append(b.Active, viewIncident(at, inc, timelines))
		} else {
			inc.Affected, inc.Updates = nil, nil
			b.More = append(b.More, viewIncident(at, inc, detail{budget: r, lines: r}))
		}
	}
	b.Further = len(latest) - len(b.Active) - len(b.More)
	running, upcoming := sum.Running[:min(len(sum.Running), maxTimelines)], sum.Upcoming[:min(len(sum.Upcoming), maxTimelines)]
	b.Running, b.MoreRunning = viewMaintenances(at, running, timelines), len(sum.Running)-len(running)
	b.Upcoming = viewMaintenances(at, upcoming, detail{updates: 1, names: maxNamed, budget: r, lines: r})
	b.MorePlanned = len(sum.Upcoming) - len(upcoming)
}

func viewBlock(at Presentation, sum allswell.Summary, block allswell.Block, concerns map[string][]concern, r *budget) blockView {
	v := blockView{Key: block.Group.ID, Name: block.Group.Name, Status: block.Status}
	if v.Key != "" {
		v.Bars, v.Spans = drawBars(block.History), knownSpans(at.lang, block.History)
	}
	for _, c := range block.Components {
		name := r.name(c.Name)
		row := componentRow{
			URL: at.component(c.ID), Name: name, Status: c.Status(),
			Bars: viewBars(at.lang, name, sum.Histories[c.ID]),
		}
		if c.Description != nil {
			if text := strings.TrimSpace(*c.Description); r.take(len(template.HTMLEscapeString(text))) {
				row.Description = text
			}
		}
		for _, named := range concerns[c.ID][:min(len(concerns[c.ID]), maxConcerns)] {
			if !r.take(concernWeight + len(template.HTMLEscapeString(named.Title))) {
				break
			}
			row.Concerns = append(row.Concerns, named)
		}
		row.MoreConcerns = len(concerns[c.ID]) - len(row.Concerns)
		v.Components = append(v.Components, row)
	}
	return v
}

// concernWeight is about how many bytes a concern takes beside its title.
const concernWeight = 150

// explainUptime says how the figures come about.
func explainUptime(l *i18n.Language) string {
	return l.T("uptime.explained", "percent", l.Percent(allswell.StatusPartialOutage.Downtime(), true))
}

// concernsOf returns what each component has to do with right now.
func concernsOf(at Presentation, sum allswell.Summary) map[string][]concern {
	concerns := make(map[string][]concern)
	for _, inc := range allswell.ByLatestUpdate(sum.Active) {
		for _, a := range inc.Affected {
			concerns[a.ComponentID] = append(concerns[a.ComponentID], concern{at.incident(inc.ID), at.lang.IncidentTitle(inc), inc.Impact.Tone().Name})
		}
	}
	for _, m := range sum.Running {
		for _, c := range m.Components {
			concerns[c.ID] = append(concerns[c.ID], concern{at.maintenance(m.ID), m.Title, allswell.StatusMaintenance.Tone().Name})
		}
	}
	return concerns
}

// facts returns what the banner leaves open: how many components are well, of how
// many that is not known, and whether there are incidents.
func facts(l *i18n.Language, sum allswell.Summary) string {
	total, well, unknown := 0, 0, 0
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			total++
			switch c.Status() {
			case allswell.StatusOperational:
				well++
			case allswell.StatusUnknown:
				unknown++
			}
		}
	}
	var parts []string
	if total > 1 && well < total && unknown < total {
		parts = append(parts, l.T("components.operational", "n", well, "total", total))
		if unknown > 0 { // these may be well: see the banner
			parts = append(parts, l.T("components.unknown", "n", unknown))
		}
	}
	if n := len(sum.Active); n > 0 {
		parts = append(parts, l.T("incidents.active_count", "n", n))
	}
	return strings.Join(parts, " · ")
}

// newestUpdates returns the updates of an incident, newest first.
func newestUpdates(inc allswell.Incident) []allswell.IncidentUpdate {
	return slices.SortedStableFunc(slices.Values(inc.Updates), func(a, b allswell.IncidentUpdate) int {
		return b.Number - a.Number
	})
}
