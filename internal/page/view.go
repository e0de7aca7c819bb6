package page

import (
	"html/template"
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/markdown"
)

// What a page shows at most, so that the worst day does not make it heavy. The
// rest is one link away.
const (
	maxTimelines = 10      // active incidents with their timelines; further ones in a line each
	maxUpdates   = 25      // updates of an active incident; the others on its own page
	maxPerDay    = 10      // past incidents of one day; the others in the month's history
	maxExcerpt   = 280     // characters of a past incident's last update
	maxListed    = 200     // pages listed at "/"
	monthRoom    = 1 << 20 // bytes of the timelines of a month, before compression
)

// statusBody is the page itself.
type statusBody struct {
	Description template.HTML
	Status      allswell.Status
	Facts       string // "" if the banner has said it all
	Active      []incidentView
	More        []incidentView // active as well, without their timelines
	Running     []plannedView  // maintenance
	Spans       []spanView     // of all components together; nil: nothing is known
	Blocks      []blockView
	Legend      []legendItem
	Explained   string // how the uptime is computed
	Upcoming    []plannedView
	Past        []dayView
	PastPlanned bool // there is maintenance among it
	History     string
	Subscribe   *subscribeForm // nil: mail is off
}

func (statusBody) template() string { return "status" }

// still returns the body without the figures of its history, which move by
// themselves. The bars stay.
func (b statusBody) still() statusBody {
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
func (b blockView) Open() bool { return b.Status != allswell.Operational }

// componentRow is a component in the list of all.
type componentRow struct {
	URL, Name, Description string
	Status                 allswell.Status
	Bars                   barsView
	Concerns               []concern
}

// concern is an active incident or a running maintenance, as a component names
// it.
type concern struct {
	URL, Title string
	Tone       string
}

// statusScreen lays out a summary.
func statusScreen(at where, sum allswell.Summary) screen {
	b := statusBody{
		Status: sum.Status, Facts: facts(at.lang, sum), History: at.history(),
		Past: viewDays(at, sum.Past, maxPerDay, nil),
	}
	for i, day := range sum.Past {
		b.PastPlanned = b.PastPlanned || len(day.Maintenances) > 0
		for _, inc := range sum.Active {
			if at.sameDay(inc.CreatedAt, day.Date) {
				b.Past[i].Active++
			}
		}
	}
	markLasting(b.Past, sum.Past, sum.Active)
	if sum.Page.Description != nil {
		b.Description = markdown.HTML(*sum.Page.Description)
	}
	for i, inc := range allswell.LatestFirst(sum.Active) {
		if i < maxTimelines {
			b.Active = append(b.Active, viewIncident(at, inc, maxUpdates))
		} else {
			b.More = append(b.More, viewIncident(at, inc, 0))
		}
	}
	b.Running = viewMaintenances(at, sum.Running[:min(len(sum.Running), maxTimelines)], maxUpdates)
	b.Upcoming = viewMaintenances(at, sum.Upcoming[:min(len(sum.Upcoming), maxTimelines)], 1)
	concerns := concernsOf(at, sum)
	for _, block := range sum.Blocks {
		b.Blocks = append(b.Blocks, viewBlock(at, sum, block, concerns))
	}
	l := at.lang
	b.Spans, b.Legend, b.Explained = knownSpans(l, sum.Record), viewLegend(l), explainUptime(l)
	f := frameOf(at, sum.Page, sum.Status, sum.AsOf)
	f.Site.AtHome = true
	f.Path = "/"
	f.titled(l.Banner(sum.Status))
	f.Description = l.T("page.description", "banner", l.Banner(sum.Status), "page", sum.Page.Name)
	return screen{f, b}
}

func viewBlock(at where, sum allswell.Summary, block allswell.Block, concerns map[string][]concern) blockView {
	v := blockView{Key: block.Group.ID, Name: block.Group.Name, Status: block.Status}
	if v.Key != "" {
		v.Bars, v.Spans = drawBars(block.Record), knownSpans(at.lang, block.Record)
	}
	for _, c := range block.Components {
		row := componentRow{
			URL: at.component(c.ID), Name: c.Name, Status: c.Status(), Concerns: concerns[c.ID],
			Bars: viewBars(at.lang, c.Name, sum.Records[c.ID]),
		}
		if c.Description != nil {
			row.Description = strings.TrimSpace(*c.Description)
		}
		v.Components = append(v.Components, row)
	}
	return v
}

// explainUptime says how the figures come about.
func explainUptime(l *lang) string {
	return l.T("uptime.explained", "percent", l.Percent(partialCounts(), true))
}

// concernsOf returns what each component has to do with right now.
func concernsOf(at where, sum allswell.Summary) map[string][]concern {
	concerns := make(map[string][]concern)
	for _, inc := range allswell.LatestFirst(sum.Active) {
		for _, a := range inc.Affected {
			concerns[a.ComponentID] = append(concerns[a.ComponentID], concern{at.incident(inc.ID), titleOf(at.lang, inc), tone(inc.Impact)})
		}
	}
	for _, m := range sum.Running {
		for _, c := range m.Components {
			concerns[c.ID] = append(concerns[c.ID], concern{at.maintenance(m.ID), m.Title, tone(allswell.Maintenance)})
		}
	}
	return concerns
}

// facts returns what the banner leaves open: how many components are well, of how
// many that is not known, and whether there are incidents.
func facts(l *lang, sum allswell.Summary) string {
	total, well, unknown := 0, 0, 0
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			total++
			switch c.Status() {
			case allswell.Operational:
				well++
			case allswell.Unknown:
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

// excerpt returns the beginning of a message as one line, cut between words
// where there are any.
func excerpt(message string) string {
	line := markdown.Prose(message)
	runes := []rune(line)
	if len(runes) <= maxExcerpt {
		return line
	}
	cut := string(runes[:maxExcerpt])
	if space := strings.LastIndexByte(cut, ' '); space > len(cut)/2 {
		cut = cut[:space]
	}
	return cut + "…"
}

// newestUpdates returns the updates of an incident, newest first.
func newestUpdates(inc allswell.Incident) []allswell.Update {
	return slices.SortedStableFunc(slices.Values(inc.Updates), func(a, b allswell.Update) int {
		return b.Number - a.Number
	})
}
