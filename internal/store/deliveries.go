package store

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

const deliveryColumns = `id, page_id, subscriber_id, event_id, purpose, channel, ordering_key, position,
	collapse_key, digest_key, state, happened_at, held_until_at, next_attempt_at, attempts,
	fencing_token, lease_until_at, merged_into, reason, created_at, updated_at, host`

// openCondition is the condition of the partial index on the ordering key. SQLite uses the index only for statements
// that repeat the condition literally.
const openCondition = `state IN ('pending', 'sending')`

// waitingCondition selects pending deliveries. It is written so that only the index on the ordering key fits: with old
// statistics, PostgreSQL would otherwise scan the index of all due deliveries.
const waitingCondition = openCondition + ` AND state <> 'sending'`

// Limits of one claim and of one notification.
const (
	maxClaimRows          = 5000 // deliveries of all ordering keys of one workspace in one claim
	maxNotificationEvents = 2500 // events in one notification

	// Deliveries with more events than maxSharedEvents load them one delivery at a time. The others load theirs
	// together.
	maxSharedEvents = 10

	// maxNotificationText is how many bytes of messages a notification with more events holds in memory. A mail
	// shows far fewer. Older events are loaded without their message.
	maxNotificationText = 1 << 20
)

// deliveryRow is a delivery with the host of its destination.
type deliveryRow struct {
	audience.Delivery
	host string
}

func scanDelivery(row database.Row) (d deliveryRow, err error) {
	err = row.Scan(&d.ID, &d.PageID, &d.SubscriberID, text{&d.EventID}, &d.Purpose, &d.Channel, &d.OrderingKey,
		&d.Position, &d.CollapseKey, text{&d.DigestKey}, &d.State, instant{&d.HappenedAt}, instant{&d.HeldUntil},
		instant{&d.NextAttemptAt}, &d.Attempts, &d.FencingToken,
		instant{&d.LeaseUntil}, text{&d.MergedInto}, text{&d.Reason}, instant{&d.CreatedAt}, instant{&d.UpdatedAt},
		&d.host)
	return
}

// finishDeliveries moves deliveries to a final state. The stored reason is the given one, followed by the reason of the
// last failed attempt.
func (t *tx) finishDeliveries(ids []string, state audience.DeliveryState, reason string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := t.Exec(`UPDATE deliveries SET state = $2, reason = $3 || coalesce(' ' || reason, ''),
		lease_until_at = NULL, updated_at = $4 WHERE id IN EACH($1)`, list(ids), string(state), reason, millis(t.Now))
	return err
}

// Notifications loads the present contents of claimed deliveries, by delivery. Deliveries whose claim no longer holds,
// or whose subscription has ended, are missing: nothing may be sent for them. The fencing token
// of a notification's delivery says for which claim it was loaded.
func (s *Store) Notifications(
	ctx context.Context, claimed []ClaimedDelivery,
) (map[string]audience.Notification, error) {
	ids := make([]string, len(claimed))
	for i, c := range claimed {
		ids[i] = c.ID
	}
	return read(ctx, s, func(c *session) (map[string]audience.Notification, error) {
		rows, err := database.Query(c.Session, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries
			WHERE id IN EACH($1) AND state = 'sending'`, list(ids))
		if err != nil {
			return nil, err
		}
		return c.notifications(slices.DeleteFunc(rows, func(d deliveryRow) bool {
			return !slices.ContainsFunc(claimed, func(c ClaimedDelivery) bool {
				return c.ID == d.ID && c.FencingToken == d.FencingToken
			})
		}))
	})
}

// notifications loads the contents of deliveries. Subscribers, pages and events that several deliveries share are
// loaded once.
func (c *session) notifications(deliveries []deliveryRow) (map[string]audience.Notification, error) {
	var of, from []string // subscribers and pages
	for _, d := range deliveries {
		of, from = append(of, d.SubscriberID), append(from, d.PageID)
	}
	subscribers, err := c.recipients(of)
	if err != nil {
		return nil, err
	}
	pages, err := c.pages(`WHERE id IN EACH($1)`, list(from))
	if err != nil {
		return nil, err
	}
	events, err := c.eventsOf(deliveries)
	if err != nil {
		return nil, err
	}
	loaded := make(map[string]audience.Notification, len(deliveries))
	for _, d := range deliveries {
		subscriber, ok := subscribers[d.SubscriberID]
		page := slices.IndexFunc(pages, func(p statuspage.Page) bool { return p.ID == d.PageID })
		if ok && page >= 0 {
			loaded[d.ID] = audience.Notification{
				Delivery: d.Delivery, Subscriber: subscriber, Page: pages[page], Events: events[d.ID],
			}
		}
	}
	return loaded, nil
}

// recipients loads subscribers with their addresses, by id.
func (c *session) recipients(ids []string) (map[string]audience.Subscriber, error) {
	all, err := database.Query(c.Session, subscriberTable.scan,
		`SELECT `+subscriberTable.selected+` FROM subscribers WHERE id IN EACH($1)`, list(ids))
	byID := make(map[string]audience.Subscriber, len(all))
	for _, s := range all {
		if err == nil {
			s.Address, err = c.address(c.s, s)
		}
		byID[s.ID] = s
	}
	return byID, err
}

// eventsOf loads the events of deliveries, by delivery: its own event, and the events of the deliveries that were
// merged into it, oldest first. Most deliveries of a page have the same few events, which are loaded once.
func (c *session) eventsOf(deliveries []deliveryRow) (map[string][]audience.Event, error) {
	ids := make([]string, len(deliveries))
	for i, d := range deliveries {
		ids[i] = d.ID
	}
	merged, err := c.mergedEvents(ids)
	if err != nil {
		return nil, err
	}
	of, shared := make(map[string][]audience.Event, len(deliveries)), make(map[string][]string) // deliveries by event
	for _, d := range deliveries {
		switch others := merged[d.ID]; {
		case d.Purpose != audience.PurposeEvent:
		case len(others) >= maxSharedEvents:
			if of[d.ID], err = c.manyEvents(d); err != nil {
				return nil, err
			}
		default:
			for _, event := range append(others, d.EventID) {
				shared[event] = append(shared[event], d.ID)
			}
		}
	}
	events, err := database.Query(c.Session, scanEvent, `SELECT `+eventColumns+` FROM events WHERE id IN EACH($1)
		ORDER BY page_version, ordinal`, list(slices.Collect(maps.Keys(shared))))
	for _, e := range events {
		for _, id := range shared[e.ID] {
			of[id] = append(of[id], e)
		}
	}
	return of, err
}

// mergedEvents returns the ids of the events that were merged into each delivery, at most maxSharedEvents a delivery.
func (c *session) mergedEvents(ids []string) (map[string][]string, error) {
	of := make(map[string][]string)
	_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var delivery, event string
		if err = row.Scan(&delivery, &event); err == nil {
			of[delivery] = append(of[delivery], event)
		}
		return
	}, `SELECT merged_into, event_id FROM (SELECT merged_into, event_id,
		row_number() OVER (PARTITION BY merged_into) AS n
			FROM deliveries WHERE merged_into IN EACH($1)) AS merged WHERE n <= $2`, list(ids), maxSharedEvents)
	return of, err
}

// manyEvents loads the newest events of a delivery into which many others were merged, oldest first.
func (c *session) manyEvents(d deliveryRow) ([]audience.Event, error) {
	events, err := database.Query(c.Session, scanEventWithin(maxNotificationText), `SELECT `+eventColumns+` FROM events
		WHERE id IN (SELECT CAST($1 AS TEXT) UNION ALL SELECT event_id FROM deliveries WHERE merged_into = $2)
		ORDER BY page_version DESC, ordinal DESC LIMIT $3`, d.EventID, d.ID, maxNotificationEvents)
	slices.Reverse(events)
	return events, err
}

// scanEventWithin returns a function that scans events, and omits their messages once these have more than room bytes
// together. The first event always keeps its message.
func scanEventWithin(room int) func(database.Row) (audience.Event, error) {
	first := true
	return func(row database.Row) (audience.Event, error) {
		e, err := scanEvent(row)
		if room -= len(e.Data.Message); room < 0 && !first {
			e.Data.Message, e.Data.MessageOmitted = "", true
		}
		first = false
		return e, err
	}
}

// DeliveryResult is the result of sending a claimed delivery.
type DeliveryResult struct {
	ClaimedDelivery
	Outcome audience.SendOutcome
	Jitter  float64 // 0 to 1, spreads the next attempt
}

// SaveDeliveryResults saves the results of claimed deliveries in one transaction. It
// ignores results for deliveries that were cancelled since, or claimed again after their lease ended.
func (s *Store) SaveDeliveryResults(ctx context.Context, results []DeliveryResult) error {
	ids := make([]string, len(results))
	outcomes := make(map[string]DeliveryResult, len(results))
	for i, v := range results {
		ids[i], outcomes[v.ID] = v.ID, v
	}
	return writeOnly(ctx, s, func(t *tx) error {
		// A concurrent claim would postpone the waiting deliveries of an ordering key to the end of a lease, although
		// this transaction ends that lease.
		if err := t.lockMutex(mutexClaim); err != nil {
			return err
		}
		// Subscribers before deliveries, as everywhere.
		_, err := database.Query(t.Session, database.ScanString, `SELECT id FROM subscribers
			WHERE id IN (SELECT subscriber_id FROM deliveries WHERE id IN EACH($1)) ORDER BY id FOR UPDATE`, list(ids))
		if err != nil {
			return err
		}
		rows, err := database.Query(t.Session, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries
			WHERE id IN EACH($1) AND state = 'sending' ORDER BY id FOR UPDATE`, list(ids))
		if err != nil {
			return err
		}
		var sent, accepting, notified, keys []string
		for _, d := range rows {
			v := outcomes[d.ID]
			if v.FencingToken != d.FencingToken {
				continue
			}
			d.ApplyOutcome(v.Outcome, t.Now, v.Jitter)
			if d.State == audience.DeliverySent {
				sent, accepting = append(sent, d.ID), append(accepting, d.SubscriberID)
				if d.Purpose == audience.PurposeEvent {
					notified = append(notified, d.SubscriberID)
				}
			} else if err := t.saveFailedDelivery(d.Delivery, v.Outcome); err != nil {
				return err
			}
			if d.State != audience.DeliveryPending || v.Outcome.Result == audience.SendNotAttempted {
				keys = append(keys, d.OrderingKey)
			}
		}
		_, err = t.Exec(`UPDATE deliveries SET state = 'sent', reason = NULL, lease_until_at = NULL, updated_at = $2
				WHERE id IN EACH($1)`, list(sent), millis(t.Now))
		if err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE subscribers SET rejections = 0 WHERE id IN EACH($1) AND rejections > 0`,
			list(accepting))
		if err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM subscribers WHERE id IN EACH($1) AND incident_id IS NOT NULL`, list(notified))
		if err != nil {
			return err
		}
		return t.releaseNext(keys)
	})
}

// releaseNext makes the first waiting delivery of each ordering key due. The claim that takes it decides about the
// others of the key. A held delivery stays held until its own time.
func (t *tx) releaseNext(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := t.Exec(`UPDATE deliveries SET next_attempt_at = held_until_at
		WHERE ordering_key IN EACH($1) AND `+waitingCondition+
		` AND held_until_at > $2 AND next_attempt_at > held_until_at`, list(keys), millis(t.Now))
	if err != nil {
		return err
	}
	type waiting struct{ id, key string }
	all, err := database.Query(t.Session, func(row database.Row) (w waiting, err error) {
		err = row.Scan(&w.id, &w.key)
		return
	}, `SELECT id, ordering_key FROM deliveries WHERE ordering_key IN EACH($1) AND `+waitingCondition+`
		AND (held_until_at IS NULL OR held_until_at <= $2) ORDER BY ordering_key, position`, list(keys), millis(t.Now))
	if err != nil || len(all) == 0 {
		return err
	}
	var first []string
	for i, w := range all {
		if i == 0 || w.key != all[i-1].key {
			first = append(first, w.id)
		}
	}
	_, err = t.Exec(`UPDATE deliveries SET next_attempt_at = $2 WHERE id IN EACH($1) AND next_attempt_at > $2`,
		list(first), millis(t.Now))
	return err
}

// saveFailedDelivery saves a delivery that was not sent, and ends or suspends its subscription if necessary.
func (t *tx) saveFailedDelivery(d audience.Delivery, o audience.SendOutcome) error {
	_, err := t.Exec(
		`UPDATE deliveries SET state = $2, reason = $3, lease_until_at = NULL, next_attempt_at = $4, updated_at = $5,
			attempts = $6 WHERE id = $1`,
		d.ID, string(d.State), nullIfEmpty(d.Reason), millis(d.NextAttemptAt), millis(t.Now), d.Attempts,
	)
	if err != nil {
		return err
	}
	switch o.Result {
	case audience.SendFailed, audience.SendServerUnavailable:
		return t.postpone([]string{d.OrderingKey}, d.NextAttemptAt, d.NextAttemptAt)
	case audience.SendGone:
		if d.Channel == audience.ChannelSMS {
			return t.endByReceiver(d.SubscriberID, o.Reason)
		}
		return t.endSubscription(d.SubscriberID, o.Reason)
	case audience.SendRejected:
		sub, err := database.One(t.Session, subscriberTable.scan,
			`SELECT `+subscriberTable.selected+` FROM subscribers WHERE id = $1 FOR UPDATE`, d.SubscriberID)
		if errors.Is(err, kernel.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if sub.RecordRejection(o.Reason, t.Now); !sub.SuspendedAt.IsZero() {
			if err := t.cancel(sub.ID, "The subscription is suspended: "+o.Reason); err != nil {
				return err
			}
			if err := t.emitSuspended(sub, o.Reason); err != nil {
				return err
			}
		}
		sub.UpdatedAt = kernel.Later(t.Now, sub.UpdatedAt)
		return t.saveSubscriber(sub)
	}
	return nil
}
