package allswell

import (
	"sort"
	"time"
)

// Page is a public status page.
type Page struct {
	ID          string
	WorkspaceID string
	Slug        string
	Name        string
	Description *string
	Version     int64  // moves with every change of anything the page shows
	Status      Status // the rollup, where it was asked for
	CreatedAt   time.Time
	UpdatedAt   time.Time
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

// MaxSlug is the most characters of a page slug.
const MaxSlug = 63

// ValidSlug reports whether s matches [a-z0-9-]{1,63}.
func ValidSlug(s string) bool {
	if len(s) < 1 || len(s) > MaxSlug {
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
}

// Validate names every bad field of n. That the slug is free is for the store
// to say.
func (n NewPage) Validate() error {
	var bad Invalid
	CheckText(&bad, "name", n.Name, MaxName)
	checkSlug(&bad, n.Slug)
	if n.Description != nil {
		CheckLength(&bad, "description", *n.Description, MaxDescription)
	}
	return bad.Err()
}

// PageChange changes a page; nil fields stay.
type PageChange struct {
	Name           *string
	Slug           *string
	Description    *string // nil with HasDescription clears
	HasDescription bool
}

// Validate names every bad field of ch.
func (ch PageChange) Validate() error {
	var bad Invalid
	if ch.Name != nil {
		CheckText(&bad, "name", *ch.Name, MaxName)
	}
	if ch.Slug != nil {
		checkSlug(&bad, *ch.Slug)
	}
	if ch.Description != nil {
		CheckLength(&bad, "description", *ch.Description, MaxDescription)
	}
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
	if p.Name != before.Name || p.Slug != before.Slug || !sameText(p.Description, before.Description) {
		p.UpdatedAt = now
	}
}

func checkSlug(bad *Invalid, slug string) {
	if slug == "" {
		bad.Add("slug", "The slug field is required.")
	} else if !ValidSlug(slug) {
		bad.Add("slug", "The slug may only have lower-case letters, digits and hyphens, at most %d.", MaxSlug)
	}
}

// PageContents is all that a page shows, as loaded in one transaction.
type PageContents struct {
	Page       Page
	Groups     []Group
	Components []Component
	Incidents  []Incident // with their updates; the order does not matter
	AsOf       time.Time  // the transaction's instant
}

// Summary is all that a visitor is shown, computed. Lists are in the order of
// display; instants are UTC.
type Summary struct {
	Page   Page
	Status Status
	Banner string
	Active []Incident // not resolved, newest first; updates newest first
	Blocks []Block    // components, with and without a heading
	Past   []Day      // the last PastDays days, newest first, empty ones included
	AsOf   time.Time
}

// Block is a run of components under one heading; Group is the zero Group for
// those in no group.
type Block struct {
	Group      Group
	Status     Status // the rollup of the block
	Components []Component
}

// Day is one calendar day with the resolved incidents that began on it, newest
// first.
type Day struct {
	Date      time.Time // midnight UTC
	Incidents []Incident
}

// PastDays is how many days of past incidents a page shows, today included.
const PastDays = 7

// Summarize computes what a visitor is shown. It is the only place where that
// is decided: HTML, JSON and feeds are rendered from its result.
func (p PageContents) Summarize(now time.Time) Summary {
	s := Summary{Page: p.Page, Status: Rollup(p.Components), AsOf: p.AsOf}
	s.Page.Status = s.Status
	s.Banner = Banner(s.Status)
	s.Blocks = p.blocks()
	var past []Incident
	for _, inc := range p.Incidents {
		inc.Updates = newestFirst(inc.Updates)
		if inc.Resolved {
			past = append(past, inc)
		} else {
			s.Active = append(s.Active, inc)
		}
	}
	sortIncidents(s.Active)
	today := Midnight(now)
	s.Past = Days(past, today.AddDate(0, 0, 1-PastDays), today)
	return s
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

// Midnight returns the beginning of t's day, in UTC.
func Midnight(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// Days sorts incidents by the day on which they began, and returns every day
// from first to last, newest first. Incidents of other days are left out.
func Days(incidents []Incident, first, last time.Time) []Day {
	incidents = append([]Incident(nil), incidents...)
	sortIncidents(incidents)
	var days []Day
	for date := last; !date.Before(first); date = date.AddDate(0, 0, -1) {
		day := Day{Date: date}
		for _, inc := range incidents {
			if Midnight(inc.CreatedAt).Equal(date) {
				day.Incidents = append(day.Incidents, inc)
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

func newestFirst(updates []Update) []Update {
	out := append([]Update(nil), updates...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].Number > out[j].Number })
	return out
}
