package page

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

// What a list holds at most. Longer timelines are on the incident's own page.
const (
	maxCompatItems   = store.MaxNewest // incidents, and maintenances
	maxCompatUpdates = 100             // of one incident or maintenance, the newest
	// compatBytes is what the updates and the components of one list may take, and
	// the descriptions of all components. What comes first gets it.
	compatBytes = 512 << 10
)

// compatRoom is how many bytes of JSON are left.
type compatRoom int

// take reports whether there is room for a value, and takes it.
func (r *compatRoom) take(v any) bool {
	body, err := json.Marshal(v)
	if err != nil || len(body) > int(*r) {
		return false
	}
	*r -= compatRoom(len(body))
	return true
}

// compatPage is what every document opens with.
type compatPage struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	URL       string     `json:"url"`
	TimeZone  string     `json:"time_zone"`
	UpdatedAt compatTime `json:"updated_at"`
}

type compatStatus struct {
	Indicator   string `json:"indicator"`
	Description string `json:"description"`
}

// compatComponent is a component, or a group of them.
type compatComponent struct {
	ID                 string     `json:"id"`
	Name               string     `json:"name"`
	Status             string     `json:"status"`
	CreatedAt          compatTime `json:"created_at"`
	UpdatedAt          compatTime `json:"updated_at"`
	Position           int        `json:"position"`
	Description        *string    `json:"description"`
	Showcase           bool       `json:"showcase"`
	StartDate          *string    `json:"start_date"`
	GroupID            *string    `json:"group_id"`
	PageID             string     `json:"page_id"`
	Group              bool       `json:"group"`
	OnlyShowIfDegraded bool       `json:"only_show_if_degraded"`
	Components         []string   `json:"components,omitzero"` // of a group; nil, and left out, otherwise
}

// compatIncident is an incident, and the greater part of a maintenance.
type compatIncident struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Status       string            `json:"status"`
	CreatedAt    compatTime        `json:"created_at"`
	UpdatedAt    compatTime        `json:"updated_at"`
	MonitoringAt compatTime        `json:"monitoring_at"`
	ResolvedAt   compatTime        `json:"resolved_at"`
	Impact       string            `json:"impact"`
	Shortlink    string            `json:"shortlink"`
	StartedAt    compatTime        `json:"started_at"`
	PageID       string            `json:"page_id"`
	Updates      []compatUpdate    `json:"incident_updates"`
	Components   []compatComponent `json:"components"`
}

type compatMaintenance struct {
	compatIncident
	ScheduledFor   compatTime `json:"scheduled_for"`
	ScheduledUntil compatTime `json:"scheduled_until"`
}

type compatUpdate struct {
	ID                   string           `json:"id"`
	Status               string           `json:"status"`
	Body                 string           `json:"body"`
	IncidentID           string           `json:"incident_id"`
	CreatedAt            compatTime       `json:"created_at"`
	UpdatedAt            compatTime       `json:"updated_at"`
	DisplayAt            compatTime       `json:"display_at"`
	AffectedComponents   []compatAffected `json:"affected_components"` // nil: none
	DeliverNotifications bool             `json:"deliver_notifications"`
	CustomTweet          *string          `json:"custom_tweet"`
	TweetID              *string          `json:"tweet_id"`
}

type compatAffected struct {
	Code      string `json:"code"`
	Name      string `json:"name"`
	OldStatus string `json:"old_status"`
	NewStatus string `json:"new_status"`
}

// compatTime is an instant in JSON; the zero one is null.
type compatTime time.Time

// MarshalJSON writes three fraction digits, always.
func (t compatTime) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + allswell.FormatTime(time.Time(t)) + `"`), nil
}

// compatView is a page as its documents tell it.
type compatView struct {
	home       string // the page's absolute address, without a slash at its end
	page       compatPage
	components []compatComponent // in the order of display, each group before its own
	byID       map[string]compatComponent
}

func newCompatView(sum allswell.Summary, newest allswell.PageContents, home string) *compatView {
	v := &compatView{home: home, components: []compatComponent{}, byID: make(map[string]compatComponent)}
	v.page = compatPage{
		ID: sum.Page.ID, Name: sum.Page.Name, URL: home, TimeZone: sum.Zone.String(),
		UpdatedAt: compatTime(lastChange(sum, newest)),
	}
	top, room := 0, compatRoom(compatBytes)
	for _, block := range sum.Blocks {
		if block.Group.ID != "" {
			top++
			v.components = append(v.components, compatGroup(block, top))
		}
		for i, c := range block.Components {
			position := i + 1
			if block.Group.ID == "" {
				top++
				position = top
			}
			told := compatComponentOf(c, position, sum.Zone)
			if told.Description != nil && !room.take(*told.Description) {
				told.Description = nil
			}
			v.components = append(v.components, told)
			v.byID[c.ID] = told
		}
	}
	return v
}

// lastChange returns when anything that the documents tell of was changed last.
func lastChange(sum allswell.Summary, newest allswell.PageContents) time.Time {
	last := sum.Page.UpdatedAt
	see := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for _, block := range sum.Blocks {
		see(block.Group.UpdatedAt)
		for _, c := range block.Components {
			see(c.UpdatedAt)
		}
	}
	for _, inc := range slices.Concat(sum.Active, newest.Incidents) {
		see(inc.UpdatedAt)
	}
	for _, m := range slices.Concat(sum.Running, sum.Upcoming, newest.Maintenances) {
		see(m.UpdatedAt)
	}
	return last
}

func compatComponentOf(c allswell.Component, position int, zone *time.Location) compatComponent {
	began := c.CreatedAt.In(zone).Format(time.DateOnly)
	told := compatComponent{
		ID: c.ID, Name: c.Name, Status: compatStatusOf(c.Status()), CreatedAt: compatTime(c.CreatedAt), UpdatedAt: compatTime(c.UpdatedAt),
		Position: position, Showcase: true, StartDate: &began, PageID: c.PageID,
	}
	if c.Description != nil && strings.TrimSpace(*c.Description) != "" {
		told.Description = c.Description
	}
	if c.GroupID != "" {
		told.GroupID = &c.GroupID
	}
	return told
}

// compatGroup tells a group as a component that has components. Its status is
// theirs, so it changes with them.
func compatGroup(block allswell.Block, position int) compatComponent {
	g, changed := block.Group, block.Group.UpdatedAt
	ids := make([]string, len(block.Components))
	for i, c := range block.Components {
		ids[i] = c.ID
		if c.UpdatedAt.After(changed) {
			changed = c.UpdatedAt
		}
	}
	return compatComponent{
		ID: g.ID, Name: g.Name, Status: compatStatusOf(block.Status), CreatedAt: compatTime(g.CreatedAt), UpdatedAt: compatTime(changed),
		Position: position, Showcase: true, PageID: g.PageID, Group: true, Components: ids,
	}
}

// compatStatusOf returns the word of Statuspage for a status. It has none for
// unknown, and "operational" is the one that alarms nobody.
func compatStatusOf(s allswell.Status) string {
	switch s.Canonical() {
	case allswell.StatusDegraded:
		return "degraded_performance"
	case allswell.StatusPartialOutage:
		return "partial_outage"
	case allswell.StatusMajorOutage:
		return "major_outage"
	case allswell.StatusMaintenance:
		return "under_maintenance"
	default:
		return "operational"
	}
}

// compatIndicator returns the word of Statuspage for the status of a page.
func compatIndicator(s allswell.Status) string {
	switch s.Canonical() {
	case allswell.StatusDegraded:
		return "minor"
	case allswell.StatusPartialOutage:
		return "major"
	case allswell.StatusMajorOutage:
		return "critical"
	case allswell.StatusMaintenance:
		return "maintenance"
	default:
		return "none"
	}
}

// incidents tells the first of a list. It is never nil.
func (v *compatView) incidents(list []allswell.Incident) []compatIncident {
	told := make([]compatIncident, 0, min(len(list), maxCompatItems))
	room := compatRoom(compatBytes)
	for _, inc := range list[:min(len(list), maxCompatItems)] {
		told = append(told, v.incident(inc, &room))
	}
	return told
}

func (v *compatView) incident(inc allswell.Incident, room *compatRoom) compatIncident {
	told := compatIncident{
		ID: inc.ID, Name: inc.Title, Status: string(stateOf(inc)), Impact: string(inc.Impact),
		CreatedAt: compatTime(inc.CreatedAt), UpdatedAt: compatTime(inc.UpdatedAt), StartedAt: compatTime(inc.CreatedAt),
		Shortlink: v.home + "/incidents/" + inc.ID, PageID: inc.PageID,
		Updates: []compatUpdate{}, Components: []compatComponent{},
	}
	if inc.Resolved {
		told.ResolvedAt = compatTime(inc.ResolvedAt)
	}
	fits := true
	for i, u := range inc.Timeline() {
		if u.State == allswell.IncidentMonitoring {
			told.MonitoringAt = compatTime(u.CreatedAt) // in the end that of the earliest
		}
		if fits = fits && i < maxCompatUpdates && !u.Truncated; !fits {
			continue
		}
		entry := newCompatUpdate(u.ID, string(u.State), u.Message, inc.ID, u.CreatedAt, compatAffectedOf(u.Affected))
		if fits = room.take(entry); fits {
			told.Updates = append(told.Updates, entry)
		}
	}
	for _, a := range inc.Affected {
		told.Components = v.appendComponent(told.Components, a.ComponentID, room)
	}
	return told
}

// appendComponent adds a component that the page has, if there is room for it.
func (v *compatView) appendComponent(list []compatComponent, id string, room *compatRoom) []compatComponent {
	if c, ok := v.byID[id]; ok && room.take(c) {
		list = append(list, c)
	}
	return list
}

// newCompatUpdate returns an entry of a timeline. It is never edited.
func newCompatUpdate(id, status, message, of string, at time.Time, affected []compatAffected) compatUpdate {
	return compatUpdate{
		ID: id, Status: status, Body: message, IncidentID: of, CreatedAt: compatTime(at), UpdatedAt: compatTime(at), DisplayAt: compatTime(at),
		AffectedComponents: affected, DeliverNotifications: true,
	}
}

// compatAffectedOf returns nil for none. What was not affected before, was
// operational as far as the incident goes.
func compatAffectedOf(changes []allswell.AffectedChange) (told []compatAffected) {
	for _, c := range changes {
		told = append(told, compatAffected{c.ComponentID, c.Name, compatStatusOf(c.Old), compatStatusOf(c.New)})
	}
	return told
}

// maintenances tells the first of a list. It is never nil.
func (v *compatView) maintenances(list []allswell.Maintenance) []compatMaintenance {
	told := make([]compatMaintenance, 0, min(len(list), maxCompatItems))
	room := compatRoom(compatBytes)
	for _, m := range list[:min(len(list), maxCompatItems)] {
		told = append(told, v.maintenance(m, &room))
	}
	return told
}

// maintenance tells a maintenance as Statuspage does: what it calls started is
// the announcement.
func (v *compatView) maintenance(m allswell.Maintenance, room *compatRoom) compatMaintenance {
	told := compatMaintenance{compatIncident{
		ID: m.ID, Name: m.Title, Status: string(m.State), Impact: "maintenance",
		CreatedAt: compatTime(m.CreatedAt), UpdatedAt: compatTime(m.UpdatedAt), StartedAt: compatTime(m.CreatedAt),
		ResolvedAt: compatTime(m.EndedAt), Shortlink: v.home + "/maintenances/" + m.ID, PageID: m.PageID,
		Updates: []compatUpdate{}, Components: []compatComponent{},
	}, compatTime(m.ScheduledFor), compatTime(m.ScheduledUntil)}
	updates := slices.SortedStableFunc(slices.Values(m.Updates), func(a, b allswell.MaintenanceUpdate) int { return b.Number - a.Number })
	for i, u := range updates[:min(len(updates), maxCompatUpdates)] {
		before := allswell.MaintenanceScheduled
		if i+1 < len(updates) {
			before = updates[i+1].State
		}
		entry := newCompatUpdate(u.ID, string(u.State), u.Message, m.ID, u.CreatedAt, compatMaintained(m.Components, before, u.State))
		if u.Truncated || !room.take(entry) {
			break
		}
		told.Updates = append(told.Updates, entry)
	}
	for _, c := range m.Components {
		told.Components = v.appendComponent(told.Components, c.ID, room)
	}
	return told
}

// compatMaintained tells what a maintenance does to its components as it comes
// from one state to another.
func compatMaintained(components []allswell.ComponentName, from, to allswell.MaintenanceState) (told []compatAffected) {
	during := func(s allswell.MaintenanceState) string {
		if (allswell.Maintenance{State: s}).Running() {
			return compatStatusOf(allswell.StatusMaintenance)
		}
		return compatStatusOf(allswell.StatusOperational)
	}
	for _, c := range components {
		told = append(told, compatAffected{c.ID, c.Name, during(from), during(to)})
	}
	return told
}
