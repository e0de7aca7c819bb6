package store

import (
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// timelines limits how much of the timelines of incidents or maintenances is loaded. The
// newest update of each is always loaded, but may be truncated.
type timelines struct {
	each   int // the newest updates of each
	before int // only updates with a lower number; 0: all
	bytes  int // of the updates together
}

// The limits of each list of incidents or maintenances on a page.
const (
	// pageTimeline is the maximum number of updates loaded of an incident that a page shows with others, and
	// feedTimeline the maximum number for programs (feeds and the API).
	pageTimeline = 25
	feedTimeline = 100
	// timelineBytes is the maximum size in memory of the timelines of one list, or of one part of a long timeline.
	timelineBytes = 4 << 20
	// truncatedLength is how many characters of a truncated message are loaded: one more than an excerpt is made of.
	truncatedLength = 1_001
	// maxNamedAffected is the maximum number of affected components loaded for one list, beginning with the newest
	// incidents.
	maxNamedAffected = 20_000
)

// TimelinePageSize is the number of updates on one page of a long timeline.
const TimelinePageSize = 50

// timelineTable is a table of updates, and its column with the id of the incident or maintenance.
type timelineTable struct{ name, owner, size string }

var (
	incidentTimelines = timelineTable{
		"incident_updates", "incident_id", "octet_length(message) + coalesce(octet_length(affected), 0)",
	}
	maintenanceTimelines = timelineTable{"maintenance_updates", "maintenance_id", "octet_length(message)"}
)

// selectUpdates returns the ids of the updates to load whole, and of the updates to load truncated. It reads no
// message.
func (c *session) selectUpdates(table timelineTable, owners []string, t timelines) (whole, cut []string, err error) {
	type row struct {
		id, owner  string
		rank, size int // rank 1 is the newest
	}
	rows, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.id, &r.owner, &r.rank, &r.size)
		return
	}, `SELECT u.id, u.`+table.owner+`, n.past - u.number, `+table.size+` FROM `+table.name+` u JOIN (
			SELECT `+table.owner+` AS owner, max(number) + 1 AS past FROM `+table.name+`
			WHERE `+table.owner+` IN EACH($1) AND ($2 = 0 OR number < $2) GROUP BY `+table.owner+`
		) n ON n.owner = u.`+table.owner+`
		WHERE u.number < n.past AND u.number >= n.past - $3
		ORDER BY n.past - u.number, u.created_at DESC, u.id DESC`, list(owners), t.before, t.each)
	full := make(map[string]bool) // timelines without room for more updates
	for _, r := range rows {
		switch {
		case !full[r.owner] && r.size <= t.bytes:
			t.bytes -= r.size
			whole = append(whole, r.id)
		case r.rank == 1:
			cut = append(cut, r.id)
			full[r.owner] = true
		default:
			full[r.owner] = true
		}
	}
	return whole, cut, err
}

// timelineSource says how to load the updates of one table.
type timelineSource[T any] struct {
	timelineTable
	columns, truncated string // columns of a whole update, and of a truncated one
	scan               func(database.Row) (T, error)
}

// loadTimelines loads updates of the owners and calls add for each, for one owner oldest
// first. If an owner's newest update is truncated, it is the only one loaded.
func loadTimelines[T any](
	c *session, from timelineSource[T], owners []string, t timelines, add func(u T, truncated bool),
) error {
	whole, cut, err := c.selectUpdates(from.timelineTable, owners, t)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		columns   string
		ids       []string
		truncated bool
	}{{from.columns, whole, false}, {from.truncated, cut, true}} {
		if len(part.ids) == 0 {
			continue
		}
		updates, err := database.Query(c.Session, from.scan,
			`SELECT `+part.columns+` FROM `+from.name+` WHERE id IN EACH($1) ORDER BY `+from.owner+`, number`,
			list(part.ids))
		if err != nil {
			return err
		}
		for _, u := range updates {
			add(u, part.truncated)
		}
	}
	return nil
}

// fillUpdates loads updates of all the incidents, oldest first.
func (c *session) fillUpdates(incidents []statuspage.Incident, t timelines) error {
	index := make(map[string]int, len(incidents))
	ids := make([]string, len(incidents))
	for i, inc := range incidents {
		index[inc.ID], ids[i] = i, inc.ID
	}
	source := timelineSource[statuspage.IncidentUpdate]{
		incidentTimelines, incidentUpdates.selected, truncatedUpdateColumns, incidentUpdates.scan,
	}
	return loadTimelines(c, source, ids, t, func(u statuspage.IncidentUpdate, truncated bool) {
		u.Truncated = truncated
		inc := &incidents[index[u.IncidentID]]
		inc.Updates = append(inc.Updates, u)
	})
}

// fillMaintenanceUpdates loads updates of all the maintenances, oldest first.
func (c *session) fillMaintenanceUpdates(maintenances []statuspage.Maintenance, t timelines) error {
	index := make(map[string]int, len(maintenances))
	ids := make([]string, len(maintenances))
	for i, m := range maintenances {
		index[m.ID], ids[i] = i, m.ID
	}
	source := timelineSource[statuspage.MaintenanceUpdate]{
		maintenanceTimelines, maintenanceUpdates.selected, truncatedMaintenanceUpdateColumns, maintenanceUpdates.scan,
	}
	return loadTimelines(c, source, ids, t, func(u statuspage.MaintenanceUpdate, truncated bool) {
		u.Truncated = truncated
		m := &maintenances[index[u.MaintenanceID]]
		m.Updates = append(m.Updates, u)
	})
}
