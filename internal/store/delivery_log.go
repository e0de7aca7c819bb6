package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

func scanDeliveryLogEntry(row database.Row) (l audience.DeliveryLogEntry, err error) {
	d, err := scanDelivery(widerRow{
		row,
		[]any{
			text{&l.Target}, text{(*string)(&l.Kind)}, text{&l.IncidentID}, text{&l.MaintenanceID}, text{&l.MonitorID},
			text{&l.ComponentID},
		},
	})
	l.Delivery = d.Delivery
	return
}

// deliveryLogColumns and deliveryLogFrom select deliveries (d) with their subscriber's target
// and the object of their event.
const (
	deliveryLogColumns = deliveryColumns + `, (SELECT target FROM subscribers s WHERE s.id = d.subscriber_id),
		(SELECT kind FROM events e WHERE e.id = d.event_id), (SELECT incident_id FROM events e WHERE e.id = d.event_id),
		(SELECT maintenance_id FROM events e WHERE e.id = d.event_id),
		(SELECT monitor_id FROM events e WHERE e.id = d.event_id AND e.warning_id IS NOT NULL),
		(SELECT component_id FROM events e WHERE e.id = d.event_id
		AND e.kind = '` + string(statuspage.EventComponentStatusChanged) + `')`
	deliveryLogFrom = `FROM deliveries d WHERE d.page_id = $1`
)

// DeliveryFilter selects deliveries. A zero field selects all.
type DeliveryFilter struct {
	States     []audience.DeliveryState
	Subscriber string // id
}

// Deliveries lists a page's deliveries that match the filter, newest first, with the total number.
func (s *Store) Deliveries(
	ctx context.Context, actor kernel.Actor, slug string, f DeliveryFilter, r Pagination,
) ([]audience.DeliveryLogEntry, int, error) {
	p, err := s.Page(ctx, actor, slug)
	if err != nil {
		return nil, 0, err
	}
	now, err := s.Clock(ctx)
	if err != nil {
		return nil, 0, err
	}
	fill := func(c *session, entries []audience.DeliveryLogEntry) error {
		if err := c.fillTitles(entries); err != nil {
			return err
		}
		return c.fillWaitsFor(entries, now)
	}
	const order = `ORDER BY d.created_at DESC, d.id DESC`
	from, args := deliveryLogFrom, []any{p.ID}
	if len(f.States) > 0 {
		from, args = withCondition(from, args, `d.state IN EACH($%d)`, list(f.States))
	}
	if f.Subscriber != "" {
		from, args = withCondition(from, args, `d.subscriber_id = $%d`, f.Subscriber)
	}
	return listQuery[audience.DeliveryLogEntry]{
		scan: scanDeliveryLogEntry, fill: fill, columns: deliveryLogColumns,
		from: from, args: args, order: order,
	}.load(ctx, s, r)
}

// fillTitles sets Title of deliveries about an incident, a maintenance, the warning of a monitor or a component.
func (c *session) fillTitles(entries []audience.DeliveryLogEntry) error {
	var ids []string
	for _, e := range entries {
		if id := cmp.Or(e.IncidentID, e.MaintenanceID, e.MonitorID, e.ComponentID); id != "" {
			ids = append(ids, id)
		}
	}
	type titled struct{ id, title string }
	rows, err := database.Query(c.Session, func(row database.Row) (t titled, err error) {
		err = row.Scan(&t.id, &t.title)
		return
	},
		`SELECT id, title FROM incidents WHERE id IN EACH($1) UNION ALL SELECT id, title FROM maintenances
			WHERE id IN EACH($1)
			UNION ALL SELECT id, name FROM monitors WHERE id IN EACH($1)
			UNION ALL SELECT id, name FROM components WHERE id IN EACH($1)`, list(ids))
	titles := make(map[string]string)
	for _, t := range rows {
		titles[t.id] = t.title
	}
	for i, e := range entries {
		entries[i].Title = titles[cmp.Or(e.IncidentID, e.MaintenanceID, e.MonitorID, e.ComponentID)]
	}
	return err
}

// fillWaitsFor sets WaitsFor of pending deliveries.
func (c *session) fillWaitsFor(entries []audience.DeliveryLogEntry, now time.Time) error {
	var keys []string
	for _, e := range entries {
		if e.State == audience.DeliveryPending {
			keys = append(keys, e.OrderingKey)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := database.Query(c.Session, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries
		WHERE ordering_key IN EACH($1) AND `+openCondition+` ORDER BY ordering_key, position, id LIMIT $2`, list(keys),
		maxClaimRows)
	if err != nil {
		return err
	}
	open := make(map[string][]audience.Delivery) // by ordering key
	for _, d := range rows {
		open[d.OrderingKey] = append(open[d.OrderingKey], d.Delivery)
	}
	for i := range entries {
		entries[i].WaitsFor = audience.DeliveryAhead(open[entries[i].OrderingKey], entries[i].ID, now)
	}
	return nil
}

// RetryDelivery makes a dead, expired or pending delivery due immediately, with another audience.DeliveryLifetime. If
// it waits for another delivery of its ordering key, that one is due immediately, too. In any other state, or if the
// subscription has ended or is suspended, it returns a *kernel.ValidationError.
func (s *Store) RetryDelivery(
	ctx context.Context, actor kernel.Actor, id string, save ...SaveResponse[audience.DeliveryLogEntry],
) (audience.DeliveryLogEntry, error) {
	return writeAs(ctx, s, actor, func(t *tx) (audience.DeliveryLogEntry, error) {
		r := accessOf(actor)
		d, err := database.One(t.Session, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries
			WHERE id = $1 AND `+r.on(`page_id`, 2)+` FOR UPDATE`, id, r.arg)
		if err != nil {
			return audience.DeliveryLogEntry{}, err
		}
		switch d.State {
		case audience.DeliveryDead, audience.DeliveryExpired, audience.DeliveryPending:
		default:
			var bad kernel.ValidationError
			bad.Add("state", "A delivery that is %s cannot be tried again.", d.State)
			return audience.DeliveryLogEntry{}, bad.Err()
		}
		sub, err := database.One(t.Session, subscriberTable.scan,
			`SELECT `+subscriberTable.selected+` FROM subscribers WHERE id = $1`, d.SubscriberID)
		if errors.Is(err, kernel.ErrNotFound) || err == nil && !sub.SuspendedAt.IsZero() {
			var bad kernel.ValidationError
			bad.Add("state", "The subscription has ended, or is suspended.")
			return audience.DeliveryLogEntry{}, bad.Err()
		} else if err != nil {
			return audience.DeliveryLogEntry{}, err
		}
		_, err = t.Exec(
			`UPDATE deliveries SET state = 'pending', happened_at = $2, held_until_at = NULL, next_attempt_at = $2,
			attempts = 0, updated_at = $2 WHERE id = $1`, d.ID, millis(t.Now),
		)
		if err != nil {
			return audience.DeliveryLogEntry{}, err
		}
		if err := t.releaseNext([]string{d.OrderingKey}); err != nil {
			return audience.DeliveryLogEntry{}, err
		}
		t.signal(effectDeliveriesPending)
		retried := d.Delivery
		retried.State = audience.DeliveryPending
		if err := t.audit(actor, kernel.AuditRetry, d.Delivery, retried); err != nil {
			return audience.DeliveryLogEntry{}, err
		}
		entries, err := database.Query(t.Session, scanDeliveryLogEntry,
			`SELECT `+deliveryLogColumns+` `+deliveryLogFrom+` AND d.id = $2`, d.PageID, d.ID)
		if err != nil {
			return audience.DeliveryLogEntry{}, err
		}
		return entries[0], t.fillWaitsFor(entries, t.Now)
	}, save...)
}
