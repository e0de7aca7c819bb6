package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
	"github.com/google/uuid"
)

var incidentTable = tableOf("incidents", func(i statuspage.Incident) string { return i.ID },
	[]column[statuspage.Incident]{
		{name: "id", at: func(i *statuspage.Incident) any { return &i.ID }, fixed: true},
		{name: "page_id", at: func(i *statuspage.Incident) any { return &i.PageID }, fixed: true},
		{name: "outage_id", at: func(i *statuspage.Incident) any { return &i.OutageID }, fixed: true, null: true},
		{name: "title", at: func(i *statuspage.Incident) any { return &i.Title }},
		{name: "down_monitor", at: func(i *statuspage.Incident) any { return &i.DownMonitor }, null: true},
		{name: "draft", at: func(i *statuspage.Incident) any { return &i.Draft }},
		{name: "impact", at: func(i *statuspage.Incident) any { return &i.Impact }},
		{name: "impact_derived", at: func(i *statuspage.Incident) any { return &i.ImpactDerived }},
		{name: "state", at: func(i *statuspage.Incident) any { return &i.State }},
		{name: "resolved", at: func(i *statuspage.Incident) any { return &i.Resolved }},
		{name: "resolved_at", at: func(i *statuspage.Incident) any { return &i.ResolvedAt }},
		{name: "created_at", at: func(i *statuspage.Incident) any { return &i.CreatedAt }, fixed: true},
		{name: "updated_at", at: func(i *statuspage.Incident) any { return &i.UpdatedAt }},
		{name: "notified", at: func(i *statuspage.Incident) any { return &i.Notified }, fixed: true},
		{name: "recorded_at", at: func(i *statuspage.Incident) any { return &i.RecordedAt }, fixed: true},
		{name: "unnoticed_until_at", at: func(i *statuspage.Incident) any { return &i.UnnoticedUntil }},
		{name: "taken_over", at: func(i *statuspage.Incident) any { return &i.TakenOver }},
		{name: "merged_into", at: func(i *statuspage.Incident) any { return &i.MergedInto }, null: true},
	})

// IncidentFilter limits a list of incidents.
type IncidentFilter struct {
	Resolved *bool // nil: all
	Drafts   bool  // drafts in place of the incidents that are published

	Component string // id of an affected component; "": all
}

// Incidents lists a page's incidents that match the filter, newest first, without their updates.
func (s *Store) Incidents(
	ctx context.Context, actor kernel.Actor, slug string, f IncidentFilter, r Pagination,
) ([]statuspage.Incident, int, error) {
	p, err := s.pageOf(ctx, actor, slug)
	if err != nil {
		return nil, 0, err
	}
	from, args := `FROM incidents WHERE page_id = $1 AND draft = $2`, []any{p.ID, f.Drafts}
	if f.Resolved != nil {
		from, args = withCondition(from, args, `resolved = $%d`, *f.Resolved)
	}
	if f.Component != "" {
		from, args = withCondition(from, args,
			`id IN (SELECT incident_id FROM incident_components WHERE component_id = $%d)`, f.Component)
	}
	return listQuery[statuspage.Incident]{
		scan: incidentTable.scan, columns: incidentTable.selected,
		from: from, args: args, order: `ORDER BY created_at DESC, id DESC`,
	}.load(ctx, s, r)
}

// incidentOf loads a workspace's incident without its updates.
func (c *session) incidentOf(actor kernel.Actor, id string) (statuspage.Incident, error) {
	r := accessOf(actor)
	return database.One(c.Session, incidentTable.scan, `SELECT `+incidentTable.selected+` FROM incidents
		WHERE id = $1 AND `+r.on(`page_id`, 2), id, r.arg)
}

// lockIncidentRow loads an incident and locks its row. Its page is locked already.
func (t *tx) lockIncidentRow(id string) (statuspage.Incident, error) {
	i, err := database.One(t.Session, incidentTable.scan,
		`SELECT `+incidentTable.selected+` FROM incidents WHERE id = $1 FOR UPDATE`, id)
	if err != nil {
		return i, err
	}
	all := []statuspage.Incident{i}
	if err = t.fillAffected(all); err == nil && i.OutageID != "" {
		err = t.fillOutage(all[0])
	}
	return all[0], err
}

// fillOutage sets OutageStatus of the affected components of an incident that an outage opened. An outage gives no
// status after its end, or after the component's status was set by hand.
func (t *tx) fillOutage(i statuspage.Incident) error {
	caused, err := database.Query(t.Session, func(row database.Row) (a statuspage.AffectedComponent, err error) {
		err = row.Scan(&a.ComponentID, &a.Status)
		return
	}, `SELECT component_id, status FROM causes WHERE source = $1 AND NOT acknowledged`, i.OutageID)
	for _, a := range caused {
		for k := range i.Affected {
			if i.Affected[k].ComponentID == a.ComponentID {
				i.Affected[k].OutageStatus = a.Status
			}
		}
	}
	return err
}

// fillAffected loads the affected components of incidents, in their order on the page.
func (c *session) fillAffected(incidents []statuspage.Incident) error {
	index := make(map[string]int, len(incidents))
	ids := make([]string, len(incidents))
	for i, inc := range incidents {
		index[inc.ID], ids[i] = i, inc.ID
	}
	type row struct {
		statuspage.AffectedComponent
		incident string
	}
	rows, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.incident, &r.ComponentID, &r.Name, &r.Status, &r.Hidden)
		return
	}, `SELECT a.incident_id, a.component_id, c.name, a.status, c.hidden FROM incident_components a
		JOIN components c ON c.id = a.component_id
		WHERE a.incident_id IN EACH($1) ORDER BY a.incident_id DESC, c.position, c.created_at, c.id
		LIMIT $2`, list(ids), maxNamedAffected)
	for _, r := range rows {
		inc := &incidents[index[r.incident]]
		inc.Affected = append(inc.Affected, r.AffectedComponent)
	}
	return err
}

// Incident returns a workspace's incident with its updates, oldest first.
func (s *Store) Incident(ctx context.Context, actor kernel.Actor, id string) (statuspage.Incident, error) {
	return read(ctx, s, func(c *session) (statuspage.Incident, error) {
		i, err := c.incidentOf(actor, id)
		if err != nil {
			return i, err
		}
		i.Updates, err = c.updatesOf(id)
		return i, err
	})
}

// Updates lists an incident's updates, oldest first.
func (s *Store) Updates(
	ctx context.Context, actor kernel.Actor, incidentID string, r Pagination,
) ([]statuspage.IncidentUpdate, int, error) {
	if _, err := read(ctx, s, func(c *session) (statuspage.Incident, error) {
		return c.incidentOf(actor, incidentID)
	}); err != nil {
		return nil, 0, err
	}
	return listQuery[statuspage.IncidentUpdate]{
		scan: incidentUpdates.scan, columns: incidentUpdates.selected,
		from: `FROM incident_updates WHERE incident_id = $1`, args: []any{incidentID}, order: `ORDER BY number`,
	}.load(ctx, s, r)
}

// CreateIncident opens an incident and emits its event; first is its first update, if that has a message. If the
// workspace has an incident with the ID that the client has chosen, it returns that one. found has the problems that
// the caller found, or is nil. If there are any problems, the error is a *kernel.ValidationError with all of them: see
// statuspage.Incident.CheckNew.
func (s *Store) CreateIncident(
	ctx context.Context, actor kernel.Actor, slug string, given statuspage.Incident, first statuspage.IncidentUpdate,
	found error, save ...SaveResponse[statuspage.Incident],
) (statuspage.Incident, error) {
	found = kernel.JoinUnread(found, given.CheckNew(first))
	i, err := writeAs(ctx, s, actor, func(t *tx) (statuspage.Incident, error) {
		i := given
		p, err := t.pageBySlug(actor, slug)
		if err == nil {
			i.PageID = p.ID
			i.Affected, err = t.affectedOn(p.ID, i.Affected)
			err = kernel.JoinUnread(found, kernel.JoinInvalid(i.CheckTimes(t.Now), err))
		}
		if err == nil {
			err = t.openIncident(&i, first, origin{})
		}
		if err == nil && !i.Resolved {
			err = t.addCauses(i)
		}
		if err == nil {
			err = t.audit(actor, kernel.AuditCreate, nil, statuspage.IncidentAction{Incident: i, Silent: first.Silent})
		}
		if err == nil && len(i.Updates) > 0 {
			err = t.audit(actor, kernel.AuditCreate, nil, i.Updates[0])
		}
		return i, err
	}, save...)
	if err != nil && given.ID != "" && s.db.IsDuplicate(err) {
		return s.Incident(ctx, actor, given.ID)
	}
	return i, err
}

// origin identifies the outage that caused an event. It is zero for changes by hand.
type origin struct{ outageID, monitorID, componentID, digestKey string }

// originOf returns the origin of the events of a monitor's outage. Events with the same
// digestKey are combined in one mail.
func originOf(m monitor.Monitor, outageID, digestKey string) origin {
	return origin{outageID, m.ID, m.ComponentID, digestKey}
}

func (o origin) of(e audience.Event) audience.Event {
	e.OutageID, e.MonitorID, e.ComponentID, e.DigestKey = o.outageID, o.monitorID, o.componentID, o.digestKey
	return e
}

// openIncident completes and saves a new incident of a page, whose affected components are locked, and emits its event.
func (t *tx) openIncident(i *statuspage.Incident, first statuspage.IncidentUpdate, from origin) (err error) {
	if i.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("making an id: %w", err)
		}
		i.ID = id.String()
	}
	i.OutageID, first.ID = from.outageID, kernel.NewID(kernel.PrefixUpdate, t.Now)
	i.Open(first, t.Now)
	if err := t.bumpVersion(i.PageID); err != nil {
		return err
	}
	if err := t.checkOpenIncidents("title", *i); err != nil {
		return err
	}
	if err := incidentTable.insert(t, i); err != nil {
		return err
	}
	if err := t.saveAffected(*i); err != nil {
		return err
	}
	var saved *statuspage.IncidentUpdate
	if len(i.Updates) > 0 {
		saved = &i.Updates[0]
		if err := incidentUpdates.insert(t, saved); err != nil {
			return err
		}
	}
	if first.Silent {
		return nil
	}
	return t.emitIncident(statuspage.EventIncidentCreated, *i, saved, from)
}

// checkOpenIncidents returns a *kernel.ValidationError if the page has the maximum number of unresolved incidents, not
// counting the incidents of outages. i is not yet stored as open, and its page is locked.
func (t *tx) checkOpenIncidents(field string, i statuspage.Incident) error {
	if i.Resolved || i.OutageID != "" {
		return nil
	}
	return t.checkLimit(field, "open incidents", kernel.MaxOpenIncidents,
		`SELECT count(*) FROM incidents WHERE page_id = $1 AND NOT resolved AND outage_id IS NULL`, i.PageID)
}

// saveIncident saves the fields that can change.
func (t *tx) saveIncident(i statuspage.Incident) error {
	return incidentTable.update(t, &i)
}

// ChangeIncident changes an incident, and adds an update if that has a message, unless it repeats the newest update and
// nothing else changes. The time of the update is when it happened; zero: now. It emits one event if the change
// resolves the incident or adds an update, unless the update is silent. seen is the Revision of the incident that the
// author of the change has seen; "": any. If the incident has another one, the error is kernel.ErrPreconditionFailed.
func (s *Store) ChangeIncident(
	ctx context.Context, actor kernel.Actor, id string, change statuspage.IncidentChange,
	update statuspage.IncidentUpdate, seen string,
) (statuspage.Incident, error) {
	return writeAs(ctx, s, actor, func(t *tx) (statuspage.Incident, error) {
		i, _, err := t.changeIncident(actor, id, incidentRequest{change: change, update: update, seen: seen})
		return i, err
	})
}

// PublishIncident publishes a draft and, unless silent, emits the event of its creation, with its newest update. It
// returns the incident with its updates, oldest first; one that is published already is not changed.
func (s *Store) PublishIncident(
	ctx context.Context, actor kernel.Actor, id string, silent bool, save ...SaveResponse[statuspage.Incident],
) (statuspage.Incident, error) {
	return writeAs(ctx, s, actor, func(t *tx) (statuspage.Incident, error) {
		i, err := t.lockIncident(actor, id)
		if err != nil {
			return i, err
		}
		before := i
		i.Publish(t.Now)
		i.Updates, err = t.updatesOf(i.ID)
		if err != nil || !before.Draft {
			return i, err
		}
		if err := t.saveIncident(i); err != nil {
			return i, err
		}
		var newest *statuspage.IncidentUpdate
		if n := len(i.Updates); n > 0 && !silent {
			newest = &i.Updates[n-1]
			newest.Silent = false
			if err := incidentUpdates.update(t, newest); err != nil {
				return i, err
			}
		}
		from := origin{outageID: i.OutageID}
		from.monitorID, err = database.One(t.Session, database.ScanString,
			`SELECT monitor_id FROM outages WHERE id = $1`, i.OutageID)
		if errors.Is(err, kernel.ErrNotFound) { // the monitor may be deleted
			err = nil
		}
		if err == nil && !silent {
			err = t.emitIncident(statuspage.EventIncidentCreated, i, newest, from)
		}
		if err != nil {
			return i, err
		}
		return i, t.audit(actor, kernel.AuditUpdate, before, statuspage.IncidentAction{Incident: i, Silent: silent})
	}, save...)
}

// PostUpdate adds an update to an incident's timeline, after changing the incident, and emits one event for both. See
// ChangeIncident.
func (s *Store) PostUpdate(
	ctx context.Context, actor kernel.Actor, incidentID string, update statuspage.IncidentUpdate,
	change statuspage.IncidentChange, save ...SaveResponse[statuspage.IncidentUpdate],
) (statuspage.IncidentUpdate, error) {
	return writeAs(ctx, s, actor, func(t *tx) (statuspage.IncidentUpdate, error) {
		_, u, err := t.changeIncident(actor, incidentID, incidentRequest{change: change, update: update, always: true})
		return u, err
	}, save...)
}

// incidentRequest is a request to change an incident.
type incidentRequest struct {
	change statuspage.IncidentChange
	update statuspage.IncidentUpdate // see ChangeIncident
	seen   string                    // see ChangeIncident
	always bool                      // the update is added in any case
}

// changeIncident changes an incident, adds the update, if there is one, which has the state after the change, and emits
// their event.
func (t *tx) changeIncident(
	actor kernel.Actor, id string, r incidentRequest,
) (i statuspage.Incident, u statuspage.IncidentUpdate, err error) {
	if i, err = t.lockForChange(actor, id, r.change); err != nil {
		return i, u, err
	}
	newest, err := t.newestUpdate(i.ID)
	if err == nil {
		err = checkSeen(r.seen, i, newest)
	}
	if err != nil {
		return i, u, err
	}
	before := i
	stateThen, err := i.Change(t.withComponents(r), r.update, newest, t.Now)
	if err == nil && before.Resolved {
		err = t.checkOpenIncidents("resolved", i)
	}
	if err == nil && !slices.Equal(i.Affected, before.Affected) {
		err = t.replaceAffected(before.Affected, &i)
	}
	if err == nil {
		err = t.saveIncident(i)
	}
	if err == nil {
		err = t.changeCauses(before, i)
	}
	if err != nil {
		return i, u, err
	}
	resolvedNow, kind := i.Resolved && !before.Resolved, statuspage.EventIncidentUpdated
	if resolvedNow {
		kind = statuspage.EventIncidentResolved
	}
	silent := r.update.Silent
	changed := statuspage.IncidentAction{Incident: i, Silent: silent && resolvedNow}
	var added *statuspage.IncidentUpdate
	if r.always || r.update.Message != "" && !i.Repeats(before, r.update.Message, newest) {
		_, notified := i.NotifiedKind(kind)
		n := newUpdate{message: r.update.Message, silent: silent || !notified, at: r.update.CreatedAt, state: stateThen}
		if u, err = t.addUpdate(&i, n); err != nil {
			return i, u, err
		}
		added = &u
	}
	if !silent && (resolvedNow || added != nil) {
		err = t.emitIncident(kind, i, added, origin{})
	}
	if err == nil {
		err = t.audit(actor, kernel.AuditUpdate, before, changed)
	}
	if err == nil && added != nil {
		err = t.audit(actor, kernel.AuditCreate, nil, u)
	}
	return i, u, err
}

// checkSeen returns kernel.ErrPreconditionFailed if an incident has another Revision than the author of a change has
// seen; "": any.
func checkSeen(seen string, i statuspage.Incident, newest *statuspage.IncidentUpdate) error {
	if newest != nil {
		i.Updates = []statuspage.IncidentUpdate{*newest}
	}
	if seen != "" && i.Revision() != seen {
		return kernel.ErrPreconditionFailed
	}
	return nil
}

// changeCauses replaces the causes that an incident had before a change by the causes that it has now.
func (t *tx) changeCauses(before, i statuspage.Incident) error {
	switch {
	case i.Resolved && !before.Resolved:
		return t.removeCauses(i.ID, origin{})
	case before.Resolved && !i.Resolved:
		return t.addCauses(i)
	case !i.Resolved:
		return t.replaceCauses(i.ID, before.Affected, i.Affected)
	}
	return nil
}

// lockForChange locks an incident with the components that it affects now and the components that it will affect after
// a change. To learn the latter, it applies the change to an empty incident.
func (t *tx) lockForChange(
	actor kernel.Actor, id string, change statuspage.IncidentChange,
) (statuspage.Incident, error) {
	var after statuspage.Incident
	if change != nil {
		_ = change(&after) // withComponents returns the same error
	}
	if len(after.Affected) == 0 {
		return t.lockIncident(actor, id)
	}
	i, err := t.incidentOf(actor, id)
	if err != nil {
		return i, err
	}
	affected, err := t.resolveAffected(i.PageID, after.Affected)
	if err != nil && !errors.As(err, new(*kernel.ValidationError)) {
		return i, err
	}
	return t.lockIncident(actor, id, affected...)
}

// withComponents returns the change of a request, which also replaces the slugs of components by their ids, and adds
// their names. Components that the page does not have make a *kernel.ValidationError, and so does an update without a
// message.
func (t *tx) withComponents(r incidentRequest) statuspage.IncidentChange {
	return func(i *statuspage.Incident) error {
		var bad error
		before := i.Affected
		if r.change != nil {
			bad = r.change(i)
		}
		if r.always {
			bad = kernel.JoinUnread(bad, statuspage.CheckMessage(r.update.Message))
		}
		if slices.Equal(i.Affected, before) {
			return bad
		}
		affected, err := t.affectedOn(i.PageID, i.Affected)
		if err == nil {
			i.Affected = affected
		}
		return kernel.JoinUnread(bad, err)
	}
}

// DeleteIncident deletes an incident with its timeline. The outage that opened it does not open another.
func (s *Store) DeleteIncident(ctx context.Context, actor kernel.Actor, id string) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		i, err := t.lockIncident(actor, id)
		if err != nil {
			return err
		}
		if err := t.removeCauses(i.ID, origin{}); err != nil {
			return err
		}
		n, err := t.Exec(`DELETE FROM incidents WHERE id = $1`, i.ID)
		if err = requireRow(n, err); err == nil {
			err = t.audit(actor, kernel.AuditDelete, i, nil)
		}
		return err
	})
}
