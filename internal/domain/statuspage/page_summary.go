package statuspage

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// PageContents is everything that a page shows, loaded in one transaction. The lists are
// unordered, except for Changes and Gaps.
type PageContents struct {
	Page          Page
	Groups        []Group
	Components    []Component
	Incidents     []Incident                // with updates
	Maintenances  []Maintenance             // with updates
	Announcements []Announcement            // announcements that are not over
	Since         time.Time                 // past incidents before it were not loaded; zero: all were loaded
	Changes       map[string][]StatusChange // by component; see NewHistory
	Gaps          []schedule.ListeningGap   // see NewHistory
	// by component: when no target of its monitors could be checked; they may overlap
	CheckingGaps map[string][]schedule.ListeningGap
	AsOf         time.Time // time of the transaction
}

// Summary is everything that a visitor sees. Lists are in display order.
type Summary struct {
	Page          Page
	Status        kernel.Status
	Banner        string
	Active        []Incident     // not resolved, newest first, updates newest first; Affected has the present statuses
	Blocks        []Block        // components by group
	Announcements []Announcement // shown announcements, in their order
	// the last PastDays days since the page's first day, newest first, including empty ones
	Past []Day

	Running  []Maintenance // earliest first, updates newest first
	Upcoming []Maintenance // scheduled, earliest first, updates newest first

	Histories map[string]History // by component
	History   History            // of all components together
	AsOf      time.Time
	Zone      *time.Location // of the page
}

// Block is a group with its components. Group is zero for components without a group.
type Block struct {
	Group      Group
	Status     kernel.Status // result of Rollup for Components
	History    History       // of Components
	Components []Component
}

// Day is a calendar day with the resolved incidents and completed maintenances that began on it, each list newest
// first.
type Day struct {
	Date         time.Time // midnight
	Incidents    []Incident
	Maintenances []Maintenance
}

// PastDays is how many days of past incidents a page shows, including today.
const PastDays = 7

// Summarize computes what a visitor sees at now. HTML, JSON and feeds are all rendered from its result.
func (p PageContents) Summarize(now time.Time) Summary {
	zone := p.Page.Location()
	s := Summary{Page: p.Page, Status: Rollup(p.Components), AsOf: p.AsOf, Zone: zone}
	s.Page.Status = s.Status
	s.Banner = kernel.Banner(s.Status)
	s.Announcements = shownAnnouncements(p.Announcements, now)
	s.Histories = make(map[string]History, len(p.Components))
	all := make([]History, 0, len(p.Components))
	for _, c := range p.Components {
		r := NewHistory(p.Changes[c.ID], p.gapsOf(c.ID), now, zone)
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
	statuses := make(map[string]kernel.Status, len(p.Components))
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

// withCurrentStatus returns the affected components with their present statuses, which people may
// have changed since the incident set them.
func withCurrentStatus(affected []AffectedComponent, now map[string]kernel.Status) []AffectedComponent {
	affected = slices.Clone(affected)
	for i, a := range affected {
		if status, ok := now[a.ComponentID]; ok {
			affected[i].Status = status
		}
	}
	return affected
}

// begin returns the first day of the page, which is today at the latest. Earlier days are not shown.
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

// sortIncidents sets s.Active and returns the resolved incidents.
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

// sortMaintenances sets s.Running and s.Upcoming and returns the completed maintenances.
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

// blocks returns the components without a group, followed by the groups that have components.
func (p PageContents) blocks() []Block {
	byGroup := make(map[string][]Component)
	for _, c := range p.Components {
		byGroup[c.GroupID] = append(byGroup[c.GroupID], c)
	}
	groups := append([]Group{{}}, p.Groups...)
	slices.SortStableFunc(groups[1:], func(a, b Group) int {
		return sortKey{a.Order, a.CreatedAt, a.ID}.compare(sortKey{b.Order, b.CreatedAt, b.ID})
	})
	var out []Block
	for _, g := range groups {
		members := byGroup[g.ID]
		if len(members) == 0 {
			continue
		}
		slices.SortStableFunc(members, func(a, b Component) int {
			return sortKey{a.Order, a.CreatedAt, a.ID}.compare(sortKey{b.Order, b.CreatedAt, b.ID})
		})
		out = append(out, Block{Group: g, Status: Rollup(members), Components: members})
	}
	return out
}

// sortKey sorts groups and components: by order, then by age.
type sortKey struct {
	order     int
	createdAt time.Time
	id        string
}

func (k sortKey) compare(other sortKey) int {
	return cmp.Or(cmp.Compare(k.order, other.order), k.createdAt.Compare(other.createdAt), cmp.Compare(k.id, other.id))
}

// Midnight returns the beginning of t's day in the zone.
func Midnight(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return dayStart(y, m, d, zone)
}

// AddDays returns the beginning of the day n days after midnight's.
func AddDays(midnight time.Time, n int) time.Time {
	y, m, d := midnight.Date()
	return dayStart(y, m, d+n, midnight.Location())
}

// dayStart returns the first instant of a day. It is not 0:00 if clocks are set forward at
// midnight; if clocks are set back to midnight, it is the first of the two.
func dayStart(y int, m time.Month, d int, zone *time.Location) time.Time {
	start := time.Date(y, m, d, 0, 0, 0, 0, zone)
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Day()
	changed, changes := start.ZoneBounds()
	if start.Day() != day && !changes.IsZero() {
		return changes.In(zone) // the day has no 0:00
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

// Days returns every day from first to last, newest first, with the incidents and maintenances
// that began on it. first and last are midnights in one zone.
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

// ByLatestUpdate returns the incidents in the order of their newest updates, newest first, as a
// page shows active incidents. An incident without updates counts from its creation.
func ByLatestUpdate(incidents []Incident) []Incident {
	incidents = slices.Clone(incidents)
	sortIncidents(incidents)
	slices.SortStableFunc(incidents, func(a, b Incident) int { return b.lastUpdatedAt().Compare(a.lastUpdatedAt()) })
	return incidents
}

// lastUpdatedAt returns the time of the newest update, or of the incident's creation.
func (i Incident) lastUpdatedAt() time.Time {
	last := i.CreatedAt
	for _, u := range i.Updates {
		last = kernel.Later(last, u.CreatedAt)
	}
	return last
}

func newestFirst(updates []IncidentUpdate) []IncidentUpdate {
	out := append([]IncidentUpdate(nil), updates...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].Number > out[j].Number })
	return out
}

// gapsOf returns the periods in which the status of a component is unknown.
func (p PageContents) gapsOf(componentID string) []schedule.ListeningGap {
	if own := p.CheckingGaps[componentID]; len(own) > 0 {
		return MergeGaps(p.Gaps, own)
	}
	return p.Gaps
}
