package store

import (
	"maps"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// The lock order. On PostgreSQL transactions run concurrently, and a row that one has changed or selected FOR UPDATE is
// locked until its end. Every transaction locks rows in this order, so that no two wait for each other:
//
//  0. the workspace, if its members or invitations change (lockMembers)
//  1. the actor's token, or session and membership, with the others that read it (authorize)
//  2. one mutex (lockMutex)
//  3. maintenances, by id
//  4. monitors, by id
//  5. components, by id
//  6. pages, by id (bumpVersion)
//  7. what belongs to a page: incidents, groups, events; subscribers before their
//     deliveries
//  8. channels of alerts, by id; only the fallback of a channel that failed is locked after it
//  9. the number of changes of pages (announce)
//
// Rows of last_pings are locked in the order of their tokens. Changes of monitors lock them after the rows above. Pings
// lock the rows of healthy monitors first, so that a ping costs one statement. Only pings of other monitors in the same
// transaction may then wait for a transaction that waits for them; PostgreSQL resolves that as described below.
//
// Monitors come before components and pages because pings and ticks begin with them. A deletion locks beforehand the
// rows that its cascade reaches.
//
// Which rows a transaction needs often depends on other rows: the components of an incident, the monitors of a
// component. They may change until they are locked, and then the missing rows may not be locked any more, because later
// ones are. lockRows takes care of that.
//
// Otherwise a deadlock means that a transaction breaks this order. PostgreSQL ends one of the two, which is then
// repeated.

// lockSet is a set of rows to be locked together, by ids in any order.
type lockSet struct{ maintenances, monitors, components, pages []string }

// lockRows locks the rows that find returns, in the lock order. If other transactions change meanwhile what find
// returns, it releases the locks and begins again. find may not lock anything.
func (t *tx) lockRows(find func() (lockSet, error)) error {
	versions := maps.Clone(t.versions)
	wanted, err := find()
	for err == nil {
		if !t.s.db.Shared() {
			return t.lockInOrder(wanted) // the only writer
		}
		if _, err = t.Exec(`SAVEPOINT locks`); err != nil {
			break
		}
		if err = t.lockInOrder(wanted); err != nil {
			break
		}
		locked := wanted
		if wanted, err = find(); err != nil {
			break
		}
		if locked.contains(wanted) {
			_, err = t.Exec(`RELEASE SAVEPOINT locks`)
			break
		}
		_, err = t.Exec(`ROLLBACK TO SAVEPOINT locks`) // releases them
		t.versions = maps.Clone(versions)
	}
	return err
}

// lockInOrder locks the rows of a set in the lock order.
func (t *tx) lockInOrder(s lockSet) error {
	for _, rows := range []struct {
		table string
		ids   []string
	}{{"maintenances", s.maintenances}, {"monitors", s.monitors}, {"components", s.components}} {
		if err := t.lockTable(rows.table, rows.ids); err != nil {
			return err
		}
	}
	pages := slices.Sorted(slices.Values(s.pages))
	for _, id := range slices.Compact(pages) {
		if err := t.bumpVersion(id); err != nil {
			return err
		}
	}
	return nil
}

// lockTable locks rows of a table in the order of their ids. Missing rows are ignored.
func (t *tx) lockTable(table string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := database.Query(t.Session, database.ScanString,
		`SELECT id FROM `+table+` WHERE id IN EACH($1) ORDER BY id FOR UPDATE`, list(ids))
	return err
}

// lockComponents locks components alone.
func (t *tx) lockComponents(ids []string) error { return t.lockTable("components", ids) }

// contains reports whether all rows of other are in s.
func (s lockSet) contains(other lockSet) bool {
	all := func(ids, others []string) bool {
		return !slices.ContainsFunc(others, func(id string) bool { return !slices.Contains(ids, id) })
	}
	return all(s.maintenances, other.maintenances) && all(s.monitors, other.monitors) &&
		all(s.components, other.components) && all(s.pages, other.pages)
}

// bumpVersion increments the version of the page, once per transaction, and thereby locks its row.
func (t *tx) bumpVersion(pageID string) error {
	if _, done := t.versions[pageID]; done {
		return nil
	}
	version, err := database.One(t.Session, database.ScanInt,
		`UPDATE pages SET version = version + 1 WHERE id = $1 RETURNING version`, pageID)
	if err != nil {
		return err
	}
	if t.versions == nil {
		t.versions = make(map[string]int64)
	}
	t.versions[pageID] = version
	t.MarkChanged()
	return nil
}

// mutex is the name of a row of mutexes.
type mutex string

const (
	mutexAlerts  mutex = "alerts"  // rules, silences, on-call schedules and channels, and how far alerts are
	mutexClaim   mutex = "claim"   // deliveries that are claimed
	mutexDomains mutex = "domains" // of pages
	mutexFanOut  mutex = "fan-out" // events that become deliveries
	mutexHome    mutex = "home"    // which page is the home page
	mutexParents mutex = "parents" // of monitors
)

// lockMutex waits until no other transaction holds the mutex, and holds it until this one ends.
func (t *tx) lockMutex(m mutex) error {
	_, err := database.One(t.Session, database.ScanString, `SELECT name FROM mutexes WHERE name = $1 FOR UPDATE`,
		string(m))
	return err
}

// ids returns the ids that a query returns.
func (c *session) ids(text string, args ...any) ([]string, error) {
	return database.Query(c.Session, database.ScanString, text, args...)
}

// lockWithMonitors locks components, the monitors on them, and their page.
func (t *tx) lockWithMonitors(components []string, pageID string) error {
	return t.lockRows(func() (s lockSet, err error) {
		s.components, s.pages = components, []string{pageID}
		s.monitors, err = t.ids(`SELECT id FROM monitors WHERE component_id IN EACH($1)`, list(components))
		return s, err
	})
}

// lockMaintenance loads a maintenance and locks everything that a change of it, or a
// change to the other components, may change.
func (t *tx) lockMaintenance(m statuspage.Maintenance, others []string) (statuspage.Maintenance, error) {
	err := t.lockRows(func() (lockSet, error) {
		components, err := t.ids(`SELECT component_id FROM maintenance_components WHERE maintenance_id = $1`, m.ID)
		if err != nil {
			return lockSet{}, err
		}
		components = append(components, others...)
		monitors, err := t.ids(`SELECT id FROM monitors WHERE component_id IN EACH($1)`, list(components))
		return lockSet{[]string{m.ID}, monitors, components, []string{m.PageID}}, err
	})
	if err != nil {
		return m, err
	}
	return t.withMaintenanceComponents(database.One(t.Session, maintenances.scan,
		`SELECT `+maintenances.selected+` FROM maintenances WHERE id = $1`, m.ID))
}

// lockIncident loads a workspace's incident and locks it and its page, after the
// components that it affects and the others given.
func (t *tx) lockIncident(
	actor kernel.Actor, id string, others ...statuspage.AffectedComponent,
) (statuspage.Incident, error) {
	i, err := t.incidentOf(actor, id)
	if err != nil {
		return i, err
	}
	err = t.lockRows(func() (lockSet, error) {
		components, err := t.ids(`SELECT component_id FROM incident_components WHERE incident_id = $1`, id)
		for _, a := range others {
			components = append(components, a.ComponentID)
		}
		return lockSet{components: components, pages: []string{i.PageID}}, err
	})
	if err != nil {
		return i, err
	}
	return t.lockIncidentRow(id)
}

// lockForOutage locks the components of locked monitors and of their open incidents, and
// the pages of both: what the beginning or the end of their outages changes.
func (t *tx) lockForOutage(monitors ...monitor.Monitor) error {
	var ids []string
	for _, m := range monitors {
		ids = append(ids, m.ID)
	}
	return t.lockRows(func() (s lockSet, err error) {
		const open = `FROM incidents WHERE NOT resolved AND outage_id IN
			(SELECT id FROM outages WHERE ended_at IS NULL AND monitor_id IN EACH($1))`
		s.components, err = t.ids(
			`SELECT component_id FROM incident_components WHERE incident_id IN (SELECT id `+open+`)`, list(ids),
		)
		if err != nil {
			return s, err
		}
		if s.pages, err = t.ids(`SELECT page_id `+open, list(ids)); err != nil {
			return s, err
		}
		for _, m := range monitors {
			if m.PageID != "" {
				s.pages = append(s.pages, m.PageID)
			}
			if m.ComponentID != "" {
				s.components = append(s.components, m.ComponentID)
			}
		}
		return s, nil
	})
}

// lockWholePage loads a page and locks it with everything that its deletion reaches and
// other transactions lock before it.
func (t *tx) lockWholePage(id string) (statuspage.Page, error) {
	err := t.lockRows(func() (s lockSet, err error) {
		s.pages = []string{id}
		for _, rows := range []struct {
			table string
			ids   *[]string
		}{{"maintenances", &s.maintenances}, {"monitors", &s.monitors}, {"components", &s.components}} {
			if *rows.ids, err = t.ids(`SELECT id FROM `+rows.table+` WHERE page_id = $1`, id); err != nil {
				return s, err
			}
		}
		return s, nil
	})
	if err != nil {
		return statuspage.Page{}, err
	}
	return t.page(`WHERE id = $1`, id)
}
