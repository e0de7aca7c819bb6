package allswell

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Page is a public status page.
type Page struct {
	ID           string
	WorkspaceID  string
	Slug         string
	Name         string
	Description  *string
	TimeZone     string // IANA name; days begin by it
	Language     string // BCP 47 tag, where a visitor's own is not to be had; "": English
	Domain       string // the host name that the page claims as its own; "": none
	Claim        DomainClaim
	DomainStatus DomainStatus // "" without a domain; see Hosts.SetHost
	Host         string       // the host name at which the page is served at "/", which is Domain or ""; see Hosts.SetHost
	Accent       string       // "#rrggbb"; "": ours
	Footer       []FooterLink
	Logo, Icon   string // names of the stored pictures (PageImage); "": none
	Version      int64  // moves with every change of anything the page shows
	Status       Status // the rollup, where it was asked for
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Group is a heading under which a page lists components.
type Group struct {
	ID        string
	PageID    string
	Name      string
	Order     int
	CreatedAt time.Time
	UpdatedAt time.Time
}

// FooterLink is a link at the foot of a page.
type FooterLink struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// Location returns the page's time zone; UTC if it is not known here.
func (p Page) Location() *time.Location {
	zone, err := time.LoadLocation(p.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// MaxSlugLength is the most characters of a page slug.
const MaxSlugLength = 63

// ValidSlug reports whether s matches [a-z0-9-]{1,63}.
func ValidSlug(s string) bool {
	if len(s) < 1 || len(s) > MaxSlugLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// NewPage is what a caller gives to make a page.
type NewPage struct {
	Name        string
	Slug        string
	Description *string
	PageSettings
}

// PageSettings is how a page looks and where it is; nil fields are the default, or
// stay.
type PageSettings struct {
	TimeZone *string
	Language *string // "": English
	Domain   *string // "": none
	Accent   *string // "": ours
	Footer   *[]FooterLink
}

// Validate names every bad field of n. That the slug is free is for the store
// to say.
func (n NewPage) Validate() error {
	var bad ValidationError
	CheckText(&bad, "name", n.Name, MaxNameLength)
	checkSlug(&bad, n.Slug)
	if n.Description != nil {
		CheckLength(&bad, "description", *n.Description, MaxDescriptionLength)
	}
	n.PageSettings.check(&bad)
	return bad.Err()
}

// URL returns where people see the page, without a slash at its end: at its own
// domain if it is served there, or else under base, the address of the service.
func (p Page) URL(base string) string {
	if p.Host != "" {
		return "https://" + p.Host
	}
	return base + "/status/" + p.Slug
}

// PageChange changes a page; nil fields stay.
type PageChange struct {
	Name           *string
	Slug           *string
	Description    *string // nil with HasDescription clears
	HasDescription bool
	PageSettings
}

// Validate names every bad field of ch.
func (ch PageChange) Validate() error {
	var bad ValidationError
	if ch.Name != nil {
		CheckText(&bad, "name", *ch.Name, MaxNameLength)
	}
	if ch.Slug != nil {
		checkSlug(&bad, *ch.Slug)
	}
	if ch.Description != nil {
		CheckLength(&bad, "description", *ch.Description, MaxDescriptionLength)
	}
	ch.PageSettings.check(&bad)
	return bad.Err()
}

// Apply changes p and moves UpdatedAt if a field changed.
func (p *Page) Apply(ch PageChange, now time.Time) {
	before := *p
	if ch.Name != nil {
		p.Name = *ch.Name
	}
	if ch.Slug != nil {
		p.Slug = *ch.Slug
	}
	if ch.HasDescription {
		p.Description = ch.Description
	}
	p.ApplySettings(ch.PageSettings)
	if p.Name != before.Name || p.Slug != before.Slug || !equalText(p.Description, before.Description) ||
		p.TimeZone != before.TimeZone || p.Language != before.Language || p.Domain != before.Domain ||
		p.Accent != before.Accent || !slices.Equal(p.Footer, before.Footer) {
		p.UpdatedAt = now
	}
}

func checkSlug(bad *ValidationError, slug string) {
	if slug == "" {
		bad.Add("slug", "The slug field is required.")
	} else if !ValidSlug(slug) {
		bad.Add("slug", "The slug may only have lower-case letters, digits and hyphens, at most %d.", MaxSlugLength)
	}
}

// PageContents is all that a page shows, as loaded in one transaction. The
// order of the lists does not matter, but for changes and windows.
type PageContents struct {
	Page         Page
	Groups       []Group
	Components   []Component
	Incidents    []Incident                // with their updates
	Maintenances []Maintenance             // with their updates
	Since        time.Time                 // of the incidents that are over, those that began before are left out; zero: none
	Changes      map[string][]StatusChange // by component: see NewHistory
	Gaps         []ListeningGap            // when the service could not listen: see NewHistory
	AsOf         time.Time                 // the transaction's instant
}

// Summary is all that a visitor is shown, computed. Lists are in the order of
// display; instants are UTC.
type Summary struct {
	Page   Page
	Status Status
	Banner string
	Active []Incident // not resolved, newest first (a page shows them ByLatestUpdate); updates newest first; with the statuses that components have
	Blocks []Block    // components, with and without a heading
	Past   []Day      // the last PastDays days since there is anything to know of, newest first, empty ones included

	Running  []Maintenance // begun and not ended, the longest first; updates newest first
	Upcoming []Maintenance // scheduled, soonest first; updates newest first

	Histories map[string]History // by component
	History   History            // of all components together
	AsOf      time.Time
	Zone      *time.Location // the page's; days begin by it
}

// Block is a run of components under one heading; Group is the zero Group for
// those in no group.
type Block struct {
	Group      Group
	Status     Status  // the rollup of the block
	History    History // of the block's components together
	Components []Component
}

// Day is one calendar day with the resolved incidents and the completed
// maintenances that began on it, newest first.
type Day struct {
	Date         time.Time // its midnight
	Incidents    []Incident
	Maintenances []Maintenance
}

// PastDays is how many days of past incidents a page shows, today included.
const PastDays = 7

// Summarize computes what a visitor is shown. It is the only place where that
// is decided: HTML, JSON and feeds are rendered from its result.
func (p PageContents) Summarize(now time.Time) Summary {
	zone := p.Page.Location()
	s := Summary{Page: p.Page, Status: Rollup(p.Components), AsOf: p.AsOf, Zone: zone}
	s.Page.Status = s.Status
	s.Banner = Banner(s.Status)
	s.Histories = make(map[string]History, len(p.Components))
	all := make([]History, 0, len(p.Components))
	for _, c := range p.Components {
		r := NewHistory(p.Changes[c.ID], p.Gaps, now, zone)
		s.Histories[c.ID], all = r, append(all, r)
	}
	s.History = MergeHistories(all, now, zone)
	s.Blocks = p.blocks()
	for i := range s.Blocks {
		records := make([]History, len(s.Blocks[i].Components))
		for j, c := range s.Blocks[i].Components {
			records[j] = s.Histories[c.ID]
		}
		s.Blocks[i].History = MergeHistories(records, now, zone)
	}
	past := s.sortIncidents(p.Incidents)
	statuses := make(map[string]Status, len(p.Components))
	for _, c := range p.Components {
		statuses[c.ID] = c.Status()
	}
	for i := range s.Active {
		s.Active[i].Affected = withCurrentStatus(s.Active[i].Affected, statuses)
	}
	done := s.sortMaintenances(p.Maintenances)
	today := Midnight(now, zone)
	first := AddDays(today, 1-PastDays)
	if begin := p.begin(now, zone); begin.After(first) {
		first = begin
	}
	if since := Midnight(p.Since, zone); !p.Since.IsZero() && since.After(first) {
		first = since
	}
	s.Past = Days(past, done, first, today)
	return s
}

// withCurrentStatus returns what an incident concerns with the status that each component
// has now, whatever the incident says: a human may have set another one since.
func withCurrentStatus(affected []AffectedComponent, now map[string]Status) []AffectedComponent {
	affected = slices.Clone(affected)
	for i, a := range affected {
		if status, ok := now[a.ComponentID]; ok {
			affected[i].Status = status
		}
	}
	return affected
}

// begin returns the day with which there is anything to know of a page: nothing
// is said of days before it, nor that they were calm. It is today at the latest.
func (p PageContents) begin(now time.Time, zone *time.Location) time.Time {
	begin := now
	earlier := func(t time.Time) {
		if t.Before(begin) {
			begin = t
		}
	}
	earlier(p.Page.CreatedAt)
	for _, inc := range p.Incidents {
		earlier(inc.CreatedAt)
	}
	for _, m := range p.Maintenances {
		if !m.BegunAt.IsZero() {
			earlier(m.BegunAt)
		}
	}
	return Midnight(begin, zone)
}

// sortIncidents puts the active incidents into s, and returns the others.
func (s *Summary) sortIncidents(incidents []Incident) (past []Incident) {
	for _, inc := range incidents {
		inc.Updates = newestFirst(inc.Updates)
		if inc.Resolved {
			past = append(past, inc)
		} else {
			s.Active = append(s.Active, inc)
		}
	}
	sortIncidents(s.Active)
	return past
}

// sortMaintenances puts what runs and what is to come into s, and returns the
// others.
func (s *Summary) sortMaintenances(maintenances []Maintenance) (past []Maintenance) {
	for _, m := range maintenances {
		m.Updates = slices.Clone(m.Updates)
		slices.SortStableFunc(m.Updates, func(a, b MaintenanceUpdate) int { return b.Number - a.Number })
		switch {
		case m.Running():
			s.Running = append(s.Running, m)
		case m.State == MaintenanceScheduled:
			s.Upcoming = append(s.Upcoming, m)
		default:
			past = append(past, m)
		}
	}
	sortMaintenances(s.Running)
	sortMaintenances(s.Upcoming)
	return past
}

func sortMaintenances(maintenances []Maintenance) {
	slices.SortStableFunc(maintenances, func(a, b Maintenance) int {
		return cmp.Or(a.ScheduledFor.Compare(b.ScheduledFor), cmp.Compare(a.ID, b.ID))
	})
}

// blocks puts the components in order: those without a group first, then the
// groups. A group without components is not shown.
func (p PageContents) blocks() []Block {
	byGroup := make(map[string][]Component)
	for _, c := range p.Components {
		byGroup[c.GroupID] = append(byGroup[c.GroupID], c)
	}
	groups := append([]Group{{}}, p.Groups...)
	sort.SliceStable(groups[1:], func(i, j int) bool {
		a, b := groups[1+i], groups[1+j]
		return before(a.Order, b.Order, a.CreatedAt, b.CreatedAt, a.ID, b.ID)
	})
	var out []Block
	for _, g := range groups {
		members := byGroup[g.ID]
		if len(members) == 0 {
			continue
		}
		sort.SliceStable(members, func(i, j int) bool {
			a, b := members[i], members[j]
			return before(a.Order, b.Order, a.CreatedAt, b.CreatedAt, a.ID, b.ID)
		})
		out = append(out, Block{Group: g, Status: Rollup(members), Components: members})
	}
	return out
}

// before is the order of what people have put in an order: by it, then by age.
func before(orderA, orderB int, createdA, createdB time.Time, idA, idB string) bool {
	if orderA != orderB {
		return orderA < orderB
	}
	if !createdA.Equal(createdB) {
		return createdA.Before(createdB)
	}
	return idA < idB
}

// Midnight returns the beginning of t's day in a zone.
func Midnight(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return dayStart(y, m, d, zone)
}

// AddDays returns the beginning of the day n days after that of midnight.
func AddDays(midnight time.Time, n int) time.Time {
	y, m, d := midnight.Date()
	return dayStart(y, m, d+n, midnight.Location())
}

// dayStart returns the first instant of a day. Where clocks are put forward at
// midnight, that is not 0:00; where they are put back to it, it is the first of
// the two.
func dayStart(y int, m time.Month, d int, zone *time.Location) time.Time {
	start := time.Date(y, m, d, 0, 0, 0, 0, zone)
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Day()
	changed, changes := start.ZoneBounds()
	if start.Day() != day && !changes.IsZero() {
		return changes.In(zone) // of the day before: the day has no 0:00
	}
	if changed.IsZero() {
		return start
	}
	_, was := changed.Add(-time.Second).In(zone).Zone()
	_, is := start.Zone()
	if first := start.Add(time.Duration(is-was) * time.Second); first.Before(changed) && first.Day() == day {
		return first
	}
	return start
}

// Days sorts incidents and maintenances by the day on which they began, and
// returns every day from first to last, which are midnights of one zone, newest
// first. Those of other days are left out.
func Days(incidents []Incident, maintenances []Maintenance, first, last time.Time) []Day {
	incidents = slices.Clone(incidents)
	sortIncidents(incidents)
	maintenances = slices.Clone(maintenances)
	slices.SortStableFunc(maintenances, func(a, b Maintenance) int {
		return cmp.Or(b.BegunAt.Compare(a.BegunAt), cmp.Compare(b.ID, a.ID))
	})
	var days []Day
	for date := last; !date.Before(first); date = AddDays(date, -1) {
		day := Day{Date: date}
		on := func(t time.Time) bool { return Midnight(t, date.Location()).Equal(date) }
		for _, inc := range incidents {
			if on(inc.CreatedAt) {
				day.Incidents = append(day.Incidents, inc)
			}
		}
		for _, m := range maintenances {
			if on(m.BegunAt) {
				day.Maintenances = append(day.Maintenances, m)
			}
		}
		days = append(days, day)
	}
	return days
}

func sortIncidents(incidents []Incident) {
	sort.SliceStable(incidents, func(i, j int) bool {
		a, b := incidents[i], incidents[j]
		if !a.CreatedAt.Equal(b.CreatedAt) {
			return a.CreatedAt.After(b.CreatedAt)
		}
		return a.ID > b.ID
	})
}

// ByLatestUpdate returns incidents with that of the newest update first, which is
// the order in which a page shows those that are active (design section 9): on a
// bad day the one that people wait for may not be the one that began last. One
// that has no updates is as new as it is itself, and of two that are as new, the
// one that began later is first.
func ByLatestUpdate(incidents []Incident) []Incident {
	incidents = slices.Clone(incidents)
	sortIncidents(incidents)
	slices.SortStableFunc(incidents, func(a, b Incident) int { return b.lastUpdatedAt().Compare(a.lastUpdatedAt()) })
	return incidents
}

// lastWritten returns when the newest of the incident's updates was written.
func (i Incident) lastUpdatedAt() time.Time {
	last := i.CreatedAt
	for _, u := range i.Updates {
		last = later(last, u.CreatedAt)
	}
	return last
}

func newestFirst(updates []IncidentUpdate) []IncidentUpdate {
	out := append([]IncidentUpdate(nil), updates...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].Number > out[j].Number })
	return out
}
