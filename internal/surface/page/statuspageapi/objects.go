package statuspageapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// The limits of a list. Longer timelines are on the incident's own page.
const (
	// MaxItems is how many incidents, or maintenances, a list has.
	MaxItems   = 50
	maxUpdates = 100 // of one incident or maintenance, the newest
	// maxListBytes limits the updates and components of one list, and the
	// descriptions of all components. The first ones are kept.
	maxListBytes = 512 << 10
)

// budget is the number of bytes of JSON that may still be written.
type budget int

// take deducts the size of a value in JSON. If fewer bytes are left, it returns false and deducts nothing.
func (r *budget) take(v any) bool {
	body, err := json.Marshal(v)
	if err != nil || len(body) > int(*r) {
		return false
	}
	*r -= budget(len(body))
	return true
}

// pageObject is the first member of every document.
type pageObject struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	URL       string    `json:"url"`
	TimeZone  string    `json:"time_zone"`
	UpdatedAt timestamp `json:"updated_at"`
}

type statusObject struct {
	Indicator   string `json:"indicator"`
	Description string `json:"description"`
}

// componentObject is a component, or a group of them.
type componentObject struct {
	ID                 string    `json:"id"`
	Name               string    `json:"name"`
	Status             string    `json:"status"`
	CreatedAt          timestamp `json:"created_at"`
	UpdatedAt          timestamp `json:"updated_at"`
	Position           int       `json:"position"`
	Description        *string   `json:"description"`
	Showcase           bool      `json:"showcase"`
	StartDate          *string   `json:"start_date"`
	GroupID            *string   `json:"group_id"`
	PageID             string    `json:"page_id"`
	Group              bool      `json:"group"`
	OnlyShowIfDegraded bool      `json:"only_show_if_degraded"`
	Components         []string  `json:"components,omitzero"` // of a group; omitted otherwise
}

// incidentObject is an incident. A maintenance has the same fields and some more.
type incidentObject struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Status       string            `json:"status"`
	CreatedAt    timestamp         `json:"created_at"`
	UpdatedAt    timestamp         `json:"updated_at"`
	MonitoringAt timestamp         `json:"monitoring_at"`
	ResolvedAt   timestamp         `json:"resolved_at"`
	Impact       string            `json:"impact"`
	Shortlink    string            `json:"shortlink"`
	StartedAt    timestamp         `json:"started_at"`
	PageID       string            `json:"page_id"`
	Updates      []updateObject    `json:"incident_updates"`
	Components   []componentObject `json:"components"`
}

type maintenanceObject struct {
	incidentObject
	ScheduledFor   timestamp `json:"scheduled_for"`
	ScheduledUntil timestamp `json:"scheduled_until"`
}

type updateObject struct {
	ID                   string           `json:"id"`
	Status               string           `json:"status"`
	Body                 string           `json:"body"`
	IncidentID           string           `json:"incident_id"`
	CreatedAt            timestamp        `json:"created_at"`
	UpdatedAt            timestamp        `json:"updated_at"`
	DisplayAt            timestamp        `json:"display_at"`
	AffectedComponents   []affectedObject `json:"affected_components"` // nil: none
	DeliverNotifications bool             `json:"deliver_notifications"`
	CustomTweet          *string          `json:"custom_tweet"`
	TweetID              *string          `json:"tweet_id"`
}

type affectedObject struct {
	Code      string `json:"code"`
	Name      string `json:"name"`
	OldStatus string `json:"old_status"`
	NewStatus string `json:"new_status"`
}

// timestamp is an instant in JSON; zero is null.
type timestamp time.Time

// MarshalJSON always writes three fraction digits.
func (t timestamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + kernel.FormatTime(time.Time(t)) + `"`), nil
}

// builder makes the objects of one page.
type builder struct {
	home       string // absolute URL of the page, without a trailing slash
	page       pageObject
	components []componentObject // in the order of display, each group before its components
	byID       map[string]componentObject
}

func newBuilder(sum statuspage.Summary, newest statuspage.PageContents, home string) *builder {
	v := &builder{home: home, components: []componentObject{}, byID: make(map[string]componentObject)}
	v.page = pageObject{
		ID: sum.Page.ID, Name: sum.Page.Name, URL: home, TimeZone: sum.Zone.String(),
		UpdatedAt: timestamp(lastChange(sum, newest)),
	}
	top, room := 0, budget(maxListBytes)
	for _, block := range sum.Blocks {
		if block.Group.ID != "" {
			top++
			v.components = append(v.components, newGroup(block, top))
		}
		for i, c := range block.Components {
			position := i + 1
			if block.Group.ID == "" {
				top++
				position = top
			}
			out := newComponent(c, position, sum.Zone)
			if out.Description != nil && !room.take(*out.Description) {
				out.Description = nil
			}
			v.components = append(v.components, out)
			v.byID[c.ID] = out
		}
	}
	return v
}

// lastChange returns when anything in the documents was last changed.
func lastChange(sum statuspage.Summary, newest statuspage.PageContents) time.Time {
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

func newComponent(c statuspage.Component, position int, zone *time.Location) componentObject {
	began := c.CreatedAt.In(zone).Format(time.DateOnly)
	out := componentObject{
		ID: c.ID, Name: c.Name, Status: statusOf(c.Status()), CreatedAt: timestamp(c.CreatedAt),
		UpdatedAt: timestamp(c.UpdatedAt), Position: position, Showcase: true, StartDate: &began, PageID: c.PageID,
	}
	if c.Description != nil && strings.TrimSpace(*c.Description) != "" {
		out.Description = c.Description
	}
	if c.GroupID != "" {
		out.GroupID = &c.GroupID
	}
	return out
}

// newGroup returns a group, which Statuspage treats as a component that has components. Its status is the worst status
// of its components.
func newGroup(block statuspage.Block, position int) componentObject {
	g, changed := block.Group, block.Group.UpdatedAt
	ids := make([]string, len(block.Components))
	for i, c := range block.Components {
		ids[i] = c.ID
		if c.UpdatedAt.After(changed) {
			changed = c.UpdatedAt
		}
	}
	return componentObject{
		ID: g.ID, Name: g.Name, Status: statusOf(block.Status), CreatedAt: timestamp(g.CreatedAt),
		UpdatedAt: timestamp(changed), Position: position, Showcase: true, PageID: g.PageID, Group: true,
		Components: ids,
	}
}

// statusOf returns Statuspage's equivalent of a component's status.
func statusOf(s kernel.Status) string { return s.Statuspage().Component }

// incidents returns the first MaxItems of a list; never nil.
func (v *builder) incidents(list []statuspage.Incident) []incidentObject {
	out := make([]incidentObject, 0, min(len(list), MaxItems))
	room := budget(maxListBytes)
	for _, inc := range list[:min(len(list), MaxItems)] {
		out = append(out, v.incident(inc, &room))
	}
	return out
}

func (v *builder) incident(inc statuspage.Incident, room *budget) incidentObject {
	out := incidentObject{
		ID: inc.ID, Name: inc.Title, Status: string(inc.EffectiveState()), Impact: string(inc.Impact),
		CreatedAt: timestamp(inc.CreatedAt), UpdatedAt: timestamp(inc.UpdatedAt), StartedAt: timestamp(inc.CreatedAt),
		Shortlink: v.home + "/incidents/" + inc.ID, PageID: inc.PageID, Updates: []updateObject{},
		Components: []componentObject{},
	}
	if inc.Resolved {
		out.ResolvedAt = timestamp(inc.ResolvedAt)
	}
	fits := true
	if p := inc.Postmortem; p != nil {
		out.Status = postmortemStatus
		entry := newUpdate(updateObject{
			ID: postmortemID(inc), Status: postmortemStatus, Body: p.Body, IncidentID: inc.ID,
		}, p.PublishedAt)
		if !p.EditedAt.IsZero() {
			entry.UpdatedAt = timestamp(p.EditedAt)
		}
		if !p.Omitted && room.take(entry) {
			out.Updates = append(out.Updates, entry)
		}
	}
	for i, u := range inc.Timeline() {
		if u.State == statuspage.IncidentMonitoring {
			out.MonitoringAt = timestamp(u.CreatedAt) // the earliest, because updates are newest first
		}
		if fits = fits && i < maxUpdates && !u.Truncated; !fits {
			continue
		}
		entry := newUpdate(updateObject{
			ID: u.ID, Status: string(u.State), Body: u.Message, IncidentID: inc.ID,
			AffectedComponents: affectedOf(u.Affected),
		}, u.CreatedAt)
		if !u.EditedAt.IsZero() {
			entry.UpdatedAt = timestamp(u.EditedAt)
		}
		if fits = room.take(entry); fits {
			out.Updates = append(out.Updates, entry)
		}
	}
	slices.SortStableFunc(out.Updates, func(a, b updateObject) int {
		return time.Time(b.CreatedAt).Compare(time.Time(a.CreatedAt))
	})
	for _, a := range inc.Affected {
		out.Components = v.appendComponent(out.Components, a.ComponentID, room)
	}
	return out
}

// postmortemStatus is the status of an incident with a published post-mortem, and of the entry that has its text.
const postmortemStatus = "postmortem"

// postmortemID returns the id of the timeline entry of a post-mortem. It is derived from the incident, so it is stable.
func postmortemID(inc statuspage.Incident) string {
	sum := sha256.Sum256([]byte(postmortemStatus + inc.ID))
	return kernel.PrefixUpdate + hex.EncodeToString(sum[:10])
}

// appendComponent adds a component if the page has it and the budget allows.
func (v *builder) appendComponent(list []componentObject, id string, room *budget) []componentObject {
	if c, ok := v.byID[id]; ok && room.take(c) {
		list = append(list, c)
	}
	return list
}

// newUpdate completes a timeline entry that was created at an instant and not edited since.
func newUpdate(entry updateObject, at time.Time) updateObject {
	entry.CreatedAt, entry.UpdatedAt, entry.DisplayAt = timestamp(at), timestamp(at), timestamp(at)
	entry.DeliverNotifications = true
	return entry
}

// affectedOf returns the affected components, or nil if there are none.
func affectedOf(changes []statuspage.AffectedChange) (out []affectedObject) {
	for _, c := range changes {
		out = append(out, affectedObject{c.ComponentID, c.Name, statusOf(c.Old), statusOf(c.New)})
	}
	return out
}

// maintenances returns the first MaxItems of a list; never nil.
func (v *builder) maintenances(list []statuspage.Maintenance) []maintenanceObject {
	out := make([]maintenanceObject, 0, min(len(list), MaxItems))
	room := budget(maxListBytes)
	for _, m := range list[:min(len(list), MaxItems)] {
		out = append(out, v.maintenance(m, &room))
	}
	return out
}

// maintenance returns a maintenance. As in Statuspage, started_at is the time of its announcement.
func (v *builder) maintenance(m statuspage.Maintenance, room *budget) maintenanceObject {
	out := maintenanceObject{incidentObject{
		ID: m.ID, Name: m.Title, Status: string(m.State), Impact: "maintenance",
		CreatedAt: timestamp(m.CreatedAt), UpdatedAt: timestamp(m.UpdatedAt), StartedAt: timestamp(m.CreatedAt),
		ResolvedAt: timestamp(m.EndedAt), Shortlink: v.home + "/maintenances/" + m.ID, PageID: m.PageID,
		Updates: []updateObject{}, Components: []componentObject{},
	}, timestamp(m.ScheduledFor), timestamp(m.ScheduledUntil)}
	updates := slices.SortedStableFunc(slices.Values(m.Updates), func(a, b statuspage.MaintenanceUpdate) int {
		return b.Number - a.Number
	})
	for i, u := range updates[:min(len(updates), maxUpdates)] {
		before := statuspage.MaintenanceScheduled
		if i+1 < len(updates) {
			before = updates[i+1].State
		}
		entry := newUpdate(updateObject{
			ID: u.ID, Status: string(u.State), Body: u.Message, IncidentID: m.ID,
			AffectedComponents: maintenanceChanges(m.Components, before, u.State),
		}, u.CreatedAt)
		if u.Truncated || !room.take(entry) {
			break
		}
		out.Updates = append(out.Updates, entry)
	}
	for _, c := range m.Components {
		out.Components = v.appendComponent(out.Components, c.ID, room)
	}
	return out
}

// maintenanceChanges returns the changes of the components when a maintenance changes from one state to another.
func maintenanceChanges(
	components []statuspage.ComponentName, from, to statuspage.MaintenanceState,
) (out []affectedObject) {
	during := func(s statuspage.MaintenanceState) string {
		if (statuspage.Maintenance{State: s}).Running() {
			return statusOf(kernel.StatusMaintenance)
		}
		return statusOf(kernel.StatusOperational)
	}
	for _, c := range components {
		out = append(out, affectedObject{c.ID, c.Name, during(from), during(to)})
	}
	return out
}
