package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
)

// What a page shows at most, so that the worst day does not make it heavy. The
// rest is one link away.
const (
	maxTimelines = 10  // active incidents with their timelines; further ones in a line each
	maxUpdates   = 25  // updates of an active incident; the others on its own page
	maxPerDay    = 10  // past incidents of one day; the others in the month's history
	maxExcerpt   = 280 // characters of a past incident's last update
	maxListed    = 200 // pages listed at "/"
)

// screen is all that a template is given: the frame that all have, and what is
// in it.
type screen struct {
	Frame frame
	Body  body
}

// body is the contents of one kind of page. It names its template.
type body interface{ template() string }

// frame is what all pages have around their contents.
type frame struct {
	Title       string
	Description string
	Canonical   string // "": not to be found by search engines
	Status      allswell.Status
	Site        *siteFrame // nil: not a part of a status page
	AsOf        moment
	Secret      bool   // see document
	Late        moment // when the database was last heard of; zero: it is there
	Events      string // where changes are told; "": nowhere
	Tag         string // what the status page is like, as Events tells it
}

// siteFrame names the status page that a page belongs to.
type siteFrame struct {
	Name, Home, History string
	Subscribe           string // where to; "": not offered here
	AtHome              bool
}

// Style returns the address of the style sheet.
func (f frame) Style() string { return assets["style.css"].url }

// Icon returns the address of the favicon, which shows the status.
func (f frame) Icon() string { return iconURL(f.Status) }

// Script returns the address of what keeps an open page current.
func (f frame) Script() string { return assets["live.js"].url }

// moment is an instant as people read it.
type moment time.Time

// ISO returns the instant for programs.
func (m moment) ISO() string { return allswell.FormatTime(time.Time(m)) }

// Text returns the instant for people, to the minute, in UTC.
func (m moment) Text() string { return time.Time(m).UTC().Format("2 Jan 2006, 15:04 UTC") }

// Clock returns the time of the day alone.
func (m moment) Clock() string { return time.Time(m).UTC().Format("15:04") }

// DayClock returns the instant where the year is plain.
func (m moment) DayClock() string { return time.Time(m).UTC().Format("2 Jan, 15:04") }

// Zero reports whether there is no such instant.
func (m moment) Zero() bool { return time.Time(m).IsZero() }

// statusBody is the page itself.
type statusBody struct {
	Description string
	Banner      string
	Status      allswell.Status
	Facts       string // "" if the banner has said it all
	Active      []incidentView
	More        []incidentView // active as well, without their timelines
	Blocks      []blockView
	Past        []dayView
	History     string
	Subscribe   *subscribeForm // nil: mail is off
}

// historyBody is one month of incidents.
type historyBody struct {
	Month          string
	Days           []dayView
	Previous, Next *monthLink
}

// monthLink leads to another month.
type monthLink struct{ URL, Text string }

// incidentBody is one incident, for good.
type incidentBody struct {
	Incident incidentView
	Home     string
	Month    monthLink
}

// listBody is the list of all pages.
type listBody struct {
	Pages []listedPage
	More  int
}

// listedPage is one page in the list.
type listedPage struct {
	URL, Name, Banner string
	Status            allswell.Status
}

// firstStepsBody greets an operator who has no page yet.
type firstStepsBody struct{ BaseURL string }

// plainBody is a heading with some paragraphs: what became of a form, or why
// there is nothing to see.
type plainBody struct {
	Heading string
	Text    []string
	Home    string // the status page to go on to; "": the start
}

func (statusBody) template() string     { return "status" }
func (historyBody) template() string    { return "history" }
func (incidentBody) template() string   { return "incident" }
func (listBody) template() string       { return "list" }
func (firstStepsBody) template() string { return "firststeps" }
func (plainBody) template() string      { return "plain" }

// blockView is a run of components under one heading, or under none.
type blockView struct {
	Name       string
	Status     allswell.Status
	Components []componentView
}

type componentView struct {
	ID, Name, Description string
	Status                allswell.Status
}

// dayView is a day with the incidents that began on it.
type dayView struct {
	Date      string // for people
	ISO       string
	Incidents []incidentView
	More      int
	MoreURL   string
	Active    int  // began on the day and still active; shown above
	Lasting   bool // an incident of an earlier day was not over yet
}

// Calm reports whether no incident began on the day.
func (d dayView) Calm() bool { return len(d.Incidents) == 0 && d.Active == 0 }

// incidentView is an incident as people read it.
type incidentView struct {
	URL      string
	Title    string
	Impact   allswell.Impact
	State    allswell.State
	Resolved bool
	Began    moment
	Ended    moment
	SameDay  bool   // it ended on the day on which it began
	Lasted   string // "" while it lasts
	Updates  []updateView
	Earlier  int // updates that are left out
	Excerpt  string
}

type updateView struct {
	State   allswell.State
	Message string
	At      moment
}

// homeOf, historyOf and incidentOf return the addresses of a page's parts.
func homeOf(slug string) string         { return "/status/" + slug }
func historyOf(slug string) string      { return "/status/" + slug + "/history" }
func incidentOf(slug, id string) string { return "/status/" + slug + "/incidents/" + id }
func monthOf(slug string, m time.Time) string {
	return historyOf(slug) + "?month=" + m.Format(monthForm)
}

// monthForm is how a month is written in an address.
const monthForm = "2006-01"

// viewIncident returns inc with its updates newest first, at most most of them.
func viewIncident(slug string, inc allswell.Incident, most int) incidentView {
	v := incidentView{
		URL: incidentOf(slug, inc.ID), Title: inc.Title, Impact: inc.Impact, State: inc.State,
		Resolved: inc.Resolved, Began: moment(inc.CreatedAt),
	}
	if inc.Resolved {
		v.Ended = moment(inc.ResolvedAt)
		v.SameDay = allswell.Midnight(inc.ResolvedAt, time.UTC).Equal(allswell.Midnight(inc.CreatedAt, time.UTC))
		v.Lasted = allswell.SpeakDuration(max(0, inc.ResolvedAt.Sub(inc.CreatedAt)))
	}
	updates := slices.SortedStableFunc(slices.Values(inc.Updates), func(a, b allswell.Update) int {
		return b.Number - a.Number
	})
	if len(updates) > 0 {
		v.Excerpt = excerpt(updates[0].Message)
	}
	if len(updates) > most {
		v.Earlier = len(updates) - most
		updates = updates[:most]
	}
	for _, u := range updates {
		v.Updates = append(v.Updates, updateView{u.State, u.Message, moment(u.CreatedAt)})
	}
	return v
}

// viewDays returns the days with at most most incidents each; the others are in
// the month's history.
func viewDays(slug string, days []allswell.Day, most int) []dayView {
	out := make([]dayView, 0, len(days))
	for _, d := range days {
		v := dayView{
			Date: d.Date.Format("Monday, 2 January"), ISO: d.Date.Format(time.DateOnly),
			MoreURL: monthOf(slug, d.Date) + "#" + d.Date.Format(time.DateOnly),
		}
		for _, inc := range d.Incidents[:min(len(d.Incidents), most)] {
			v.Incidents = append(v.Incidents, viewIncident(slug, inc, 0))
		}
		v.More = len(d.Incidents) - len(v.Incidents)
		out = append(out, v)
	}
	return out
}

// markLasting finds the days on which an incident of an earlier day was not
// over yet, so that none of them is called free of incidents. active are those
// that are not among the days'.
func markLasting(views []dayView, days []allswell.Day, active []allswell.Incident) {
	incidents := slices.Clone(active)
	for _, d := range days {
		incidents = append(incidents, d.Incidents...)
	}
	for i, d := range days {
		views[i].Lasting = slices.ContainsFunc(incidents, func(inc allswell.Incident) bool {
			return inc.CreatedAt.Before(d.Date) && (!inc.Resolved || inc.ResolvedAt.After(d.Date))
		})
	}
}

// excerpt returns the beginning of a message as one line, cut between words
// where there are any.
func excerpt(message string) string {
	line := strings.Join(strings.Fields(message), " ")
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

// statusScreen lays out a summary.
func statusScreen(sum allswell.Summary) screen {
	slug := sum.Page.Slug
	b := statusBody{
		Banner: sum.Banner, Status: sum.Status, Facts: facts(sum), History: historyOf(slug),
		Past: viewDays(slug, sum.Past, maxPerDay),
	}
	for i, day := range sum.Past {
		for _, inc := range sum.Active {
			if allswell.Midnight(inc.CreatedAt, time.UTC).Equal(day.Date) {
				b.Past[i].Active++
			}
		}
	}
	markLasting(b.Past, sum.Past, sum.Active)
	if sum.Page.Description != nil {
		b.Description = strings.TrimSpace(*sum.Page.Description)
	}
	for i, inc := range sum.Active {
		if i < maxTimelines {
			b.Active = append(b.Active, viewIncident(slug, inc, maxUpdates))
		} else {
			b.More = append(b.More, viewIncident(slug, inc, 0))
		}
	}
	for _, block := range sum.Blocks {
		b.Blocks = append(b.Blocks, viewBlock(block))
	}
	f := frameOf(sum.Page, sum.Status, sum.AsOf)
	f.Site.AtHome = true
	f.Title = sum.Banner + " – " + sum.Page.Name
	f.Description = sum.Banner + ". Current status, active incidents and their history of " + sum.Page.Name + "."
	f.Canonical = homeOf(slug)
	return screen{f, b}
}

func viewBlock(block allswell.Block) blockView {
	v := blockView{Name: block.Group.Name, Status: block.Status}
	for _, c := range block.Components {
		cv := componentView{ID: c.ID, Name: c.Name, Status: c.Status()}
		if c.Description != nil {
			cv.Description = strings.TrimSpace(*c.Description)
		}
		v.Components = append(v.Components, cv)
	}
	return v
}

// frameOf returns the frame of a part of page.
func frameOf(page allswell.Page, status allswell.Status, asOf time.Time) frame {
	return frame{
		Status: status, AsOf: moment(asOf),
		Site: &siteFrame{Name: page.Name, Home: homeOf(page.Slug), History: historyOf(page.Slug)},
	}
}

// facts returns what the banner leaves open: how many components are well, and
// whether there are incidents.
func facts(sum allswell.Summary) string {
	total, well := 0, 0
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			total++
			if c.Status() == allswell.Operational {
				well++
			}
		}
	}
	var parts []string
	if total > 1 && well < total {
		parts = append(parts, fmt.Sprintf("%d of %d components operational", well, total))
	}
	switch n := len(sum.Active); n {
	case 0:
	case 1:
		parts = append(parts, "1 active incident")
	default:
		parts = append(parts, fmt.Sprintf("%d active incidents", n))
	}
	return strings.Join(parts, " · ")
}

// historyScreen lays out the incidents of one month: every day of it from first
// on, the future left out.
func historyScreen(page allswell.Page, status allswell.Status, incidents []allswell.Incident, month, first, now time.Time) screen {
	from, to := month, month.AddDate(0, 1, -1)
	if day := allswell.Midnight(first, time.UTC); day.After(from) {
		from = day
	}
	if today := allswell.Midnight(now, time.UTC); today.Before(to) {
		to = today
	}
	text := month.Format("January 2006")
	days := allswell.Days(incidents, nil, from, to)
	b := historyBody{Month: text, Days: viewDays(page.Slug, days, len(incidents))}
	markLasting(b.Days, days, nil)
	if month.After(first) {
		m := month.AddDate(0, -1, 0)
		b.Previous = &monthLink{monthOf(page.Slug, m), m.Format("January 2006")}
	}
	if m := month.AddDate(0, 1, 0); !m.After(now) {
		b.Next = &monthLink{monthOf(page.Slug, m), m.Format("January 2006")}
	}
	f := frameOf(page, status, now)
	f.Title = "Incidents in " + text + " – " + page.Name
	f.Description = "All incidents of " + page.Name + " in " + text + ", day by day."
	f.Canonical = monthOf(page.Slug, month)
	return screen{f, b}
}

// incidentScreen lays out one incident with its full timeline.
func incidentScreen(page allswell.Page, status allswell.Status, inc allswell.Incident, asOf time.Time) screen {
	v := viewIncident(page.Slug, inc, len(inc.Updates))
	b := incidentBody{
		Incident: v, Home: homeOf(page.Slug),
		Month: monthLink{monthOf(page.Slug, inc.CreatedAt.UTC()), inc.CreatedAt.UTC().Format("January 2006")},
	}
	f := frameOf(page, status, asOf)
	f.Title = inc.Title + " – " + page.Name
	f.Description = inc.State.Label() + ". " + v.Impact.Label() + ". " + v.Excerpt
	f.Canonical = v.URL
	return screen{f, b}
}
