package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/fair"
)

const deliveryColumns = `id, page_id, subscriber_id, event_id, purpose, channel, ordering_key, position, collapse_key, digest_key, state, happened_at,
	held_until_at, next_attempt_at, attempts, fencing_token, lease_until_at, merged_into, reason, created_at, updated_at, host`

// openCondition is the condition of the partial index on the ordering key. SQLite uses
// the index only for a condition in the same words.
const openCondition = `state IN ('pending', 'sending')`

// waitingCondition means that a delivery is pending. It is written so that only the index
// on the ordering key fits: with old statistics, PostgreSQL would otherwise read the index
// of all due deliveries.
const waitingCondition = openCondition + ` AND state <> 'sending'`

// Limits of one claim and of one notification.
const (
	maxClaimRows          = 5000 // deliveries of all ordering keys of one workspace in one claim
	maxNotificationEvents = 2500 // events

	// maxNotificationText is how many bytes of messages a notification holds in memory. A mail
	// shows far fewer. Older events are loaded without their message.
	maxNotificationText = 1 << 20
)

// deliveryRow is a delivery with the host of its destination.
type deliveryRow struct {
	allswell.Delivery
	host string
}

func scanDelivery(row database.Row) (d deliveryRow, err error) {
	err = row.Scan(&d.ID, &d.PageID, &d.SubscriberID, text{&d.EventID}, &d.Purpose, &d.Channel, &d.OrderingKey, &d.Position, &d.CollapseKey,
		text{&d.DigestKey}, &d.State, instant{&d.HappenedAt}, instant{&d.HeldUntil}, instant{&d.NextAttemptAt}, &d.Attempts, &d.FencingToken,
		instant{&d.LeaseUntil}, text{&d.MergedInto}, text{&d.Reason}, instant{&d.CreatedAt}, instant{&d.UpdatedAt}, &d.host)
	return
}

// ClaimOptions are what a replica can send now.
type ClaimOptions struct {
	Channel allswell.Channel
	Limit   int               // deliveries
	After   string            // the workspace whose turn was last: see ClaimDeliveries
	Plan    func() *fair.Plan // returns a new plan, which decides what is claimed; nil: all that is due is
}

// plan returns a new plan.
func (c ClaimOptions) plan() *fair.Plan {
	if c.Plan == nil {
		return nil
	}
	return c.Plan()
}

// keys returns how many ordering keys are looked at to claim a number of deliveries.
func (c ClaimOptions) keys(limit int) int {
	if c.Plan == nil {
		return limit
	}
	return limit * keysPerClaim
}

// ClaimedDelivery is a delivery that only the replica that claimed it may send, until the
// lease ends.
type ClaimedDelivery struct {
	ID           string
	FencingToken int64
	WorkspaceID  string
	Host         string // the destination
	LeaseUntil   time.Time
}

// Limits of a claim. keysPerClaim is how many ordering keys are looked at for each delivery that may be claimed, because
// some of their destinations may be full. dueRows is how many due deliveries of a workspace are read from each end of its
// queue to find them: many may have the same key.
const (
	keysPerClaim       = 4
	dueRows            = 500
	workspacesPerClaim = 16
)

// dueWorkspaces selects the workspaces with due deliveries of a channel. It jumps from one workspace to the next in the
// index, and reads one due delivery of each.
const dueWorkspaces = `WITH RECURSIVE found (id) AS (SELECT min(workspace_id) FROM deliveries WHERE state = 'pending' AND channel = $1
		UNION ALL SELECT (SELECT min(d.workspace_id) FROM deliveries d WHERE d.state = 'pending' AND d.channel = $1 AND d.workspace_id > found.id)
		FROM found WHERE found.id IS NOT NULL)
	SELECT id FROM found WHERE id IS NOT NULL AND EXISTS (SELECT 1 FROM deliveries d
		WHERE d.state = 'pending' AND d.channel = $1 AND d.workspace_id = found.id AND d.next_attempt_at <= $2) ORDER BY id`

// ClaimDeliveries claims due deliveries for this replica and returns once that is durable. Workspaces take turns: first
// are those after c.After, and next is what After should be in the next claim. Half of the ordering keys of a workspace
// are those due longest, the other half the newest ones, so that a long queue does not delay new notifications. more
// reports whether another call may claim more at once. A delivery whose lease has ended may be claimed again.
//
// What is due is looked for before the transaction that claims it: this may read many deliveries to hosts that are full,
// and must not keep others from writing.
func (s *Store) ClaimDeliveries(ctx context.Context, c ClaimOptions) (claimed []ClaimedDelivery, next string, more bool, err error) {
	next = c.After
	if err := s.endLeases(ctx); err != nil {
		return nil, next, false, err
	}
	var turns []workspaceClaim
	others, err := read(ctx, s, func(x *session) (others bool, err error) {
		turns, others, err = x.turns(c)
		return others, err
	})
	if err != nil || len(turns) == 0 {
		return nil, next, false, err
	}
	claimed, err = write(ctx, s, func(t *tx) (claimed []ClaimedDelivery, err error) {
		if err := t.lockMutex(mutexClaim); err != nil {
			return nil, err
		}
		claimed, next, more, err = t.claimInTurns(c, turns)
		return claimed, err
	})
	return claimed, next, more || others, err
}

// endLeases makes deliveries pending whose lease has ended.
func (s *Store) endLeases(ctx context.Context) error {
	ended, err := read(ctx, s, func(x *session) ([]string, error) {
		return x.ids(`SELECT id FROM deliveries WHERE state = 'sending' AND lease_until_at <= $1 LIMIT 1`, millis(x.Now))
	})
	if err != nil || len(ended) == 0 {
		return err
	}
	return writeOnly(ctx, s, func(t *tx) error {
		if err := t.lockMutex(mutexClaim); err != nil {
			return err
		}
		_, err := t.Exec(`UPDATE deliveries SET state = 'pending', next_attempt_at = $1, lease_until_at = NULL, reason = $2
			WHERE state = 'sending' AND lease_until_at <= $1`, millis(t.Now), "The replica that was sending it stopped before it finished.")
		return err
	})
}

// workspaceClaim is what may be claimed of a workspace.
type workspaceClaim struct {
	workspace string
	keys      []string // ordering keys of due deliveries
	limit     int
	plan      *fair.Plan
}

// turns returns the workspaces whose turn is next, and whether there are others.
func (c *session) turns(o ClaimOptions) (turns []workspaceClaim, others bool, err error) {
	plan := o.plan()
	waiting, err := c.ids(dueWorkspaces, string(o.Channel), millis(c.Now))
	if err != nil {
		return nil, false, err
	}
	first, _ := slices.BinarySearch(waiting, o.After+"\x00")
	waiting = slices.Concat(waiting[first:], waiting[:first])
	waiting = slices.DeleteFunc(waiting, plan.Full)
	for _, workspace := range waiting[:min(len(waiting), workspacesPerClaim)] {
		keys, err := c.dueKeys(o, workspace, plan.Closed(workspace))
		if err != nil {
			return nil, false, err
		}
		turns = append(turns, workspaceClaim{workspace: workspace, keys: keys})
	}
	return turns, len(waiting) > len(turns), nil
}

// dueKeys returns ordering keys of due deliveries of a workspace. Those due longest and the newest ones alternate, so
// that each end gets its share.
func (c *session) dueKeys(o ClaimOptions, workspace string, closed []string) (mixed []string, err error) {
	var ends [2][]string // due longest, newest
	for i, order := range []string{``, ` DESC`} {
		ends[i], err = database.Query(c.Session, database.ScanString, dueKeys(order),
			string(o.Channel), workspace, millis(c.Now), list(closed), dueRows, o.keys(o.Limit))
		if err != nil || len(ends[i]) == 0 {
			return nil, err
		}
	}
	seen := make(map[string]bool)
	for i := range max(len(ends[0]), len(ends[1])) {
		for _, end := range ends {
			if i < len(end) && !seen[end[i]] && len(mixed) < o.keys(o.Limit) {
				seen[end[i]] = true
				mixed = append(mixed, end[i])
			}
		}
	}
	return mixed, nil
}

// dueKeys selects ordering keys of due deliveries of a workspace, from one end of its queue.
func dueKeys(order string) string {
	return `SELECT ordering_key FROM (SELECT ordering_key, next_attempt_at FROM deliveries
			WHERE state = 'pending' AND channel = $1 AND workspace_id = $2 AND next_attempt_at <= $3 AND host NOT IN EACH($4)
			ORDER BY next_attempt_at` + order + ` LIMIT $5) AS due
		GROUP BY ordering_key ORDER BY min(next_attempt_at)` + order + `, ordering_key LIMIT $6`
}

// claimInTurns claims due deliveries of several workspaces, of each about as many.
func (t *tx) claimInTurns(c ClaimOptions, turns []workspaceClaim) (claimed []ClaimedDelivery, next string, more bool, err error) {
	next = c.After
	plan := c.plan()
	for i, turn := range turns {
		left := len(turns) - i
		turn.limit, turn.plan = (c.Limit-len(claimed)+left-1)/left, plan
		if turn.limit == 0 {
			return claimed, next, true, nil
		}
		turn.keys = turn.keys[:min(len(turn.keys), c.keys(turn.limit))]
		due, err := t.openDeliveries(turn.keys)
		if err != nil {
			return nil, next, false, err
		}
		some, changed, err := t.claimDue(due, turn)
		if err != nil {
			return nil, next, false, err
		}
		claimed, next, more = append(claimed, some...), turn.workspace, more || changed && len(due) >= turn.limit
	}
	return claimed, next, more, nil
}

// openDeliveries loads all open deliveries of ordering keys, a slice for each key.
func (t *tx) openDeliveries(keys []string) (due [][]deliveryRow, err error) {
	open, err := database.Query(t.Session, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries
		WHERE ordering_key IN EACH($1) AND `+openCondition+` ORDER BY ordering_key, position, id LIMIT $2 FOR UPDATE`, list(keys), maxClaimRows)
	if err != nil {
		return nil, err
	}
	byKey := make(map[string][]deliveryRow)
	for _, d := range open {
		byKey[d.OrderingKey] = append(byKey[d.OrderingKey], d)
	}
	for _, key := range keys {
		if deliveries := byKey[key]; deliveries != nil { // not cancelled meanwhile
			due = append(due, deliveries)
		}
	}
	return due, nil
}

// claimDue plans the deliveries of each ordering key, saves the plans, and returns the
// claimed deliveries and whether anything changed.
func (t *tx) claimDue(due [][]deliveryRow, c workspaceClaim) (claimed []ClaimedDelivery, changed bool, err error) {
	var expired, taken, behind []string
	until := t.Now.Add(allswell.LeaseDuration)
	for _, deliveries := range due {
		if len(claimed) == c.limit {
			break
		}
		to := fair.Target{Workspace: c.workspace, Host: deliveries[0].host}
		if !c.plan.Admits(to) {
			continue
		}
		open := make([]allswell.Delivery, len(deliveries))
		for i, d := range deliveries {
			open[i] = d.Delivery
		}
		plan := allswell.PlanDeliveries(open, t.Now)
		changed = true
		for _, i := range plan.Expire {
			expired = append(expired, open[i].ID)
		}
		if plan.Claim < 0 {
			if !plan.Defer.IsZero() {
				err = t.postpone([]string{open[0].OrderingKey}, plan.Defer, plan.Defer)
			}
		} else {
			d := deliveries[plan.Claim]
			c.plan.Add(to)
			taken = append(taken, d.ID)
			claimed = append(claimed, ClaimedDelivery{d.ID, d.FencingToken + 1, c.workspace, d.host, until})
			if len(open) > 1+len(plan.Merge)+len(plan.Expire) {
				behind = append(behind, d.OrderingKey)
			}
			err = t.mergeDeliveries(open, plan)
		}
		if err != nil {
			return nil, false, err
		}
	}
	if err := t.finishDeliveries(expired, allswell.DeliveryExpired, "It could not be delivered within 24 hours."); err != nil || len(taken) == 0 {
		return nil, changed, err
	}
	if _, err := t.Exec(`UPDATE deliveries SET state = 'sending', attempts = attempts + 1, fencing_token = fencing_token + 1, lease_until_at = $2, updated_at = $3
		WHERE id IN EACH($1)`, list(taken), millis(until), millis(t.Now)); err != nil {
		return nil, false, err
	}
	return claimed, changed, t.postpone(behind, t.Now, until) // until the result of the claimed one is saved
}

// postpone sets the next attempt of the waiting deliveries that are due by an instant to
// a later one.
func (t *tx) postpone(keys []string, by, until time.Time) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := t.Exec(`UPDATE deliveries SET next_attempt_at = $2
		WHERE ordering_key IN EACH($1) AND `+waitingCondition+` AND next_attempt_at <= $3`,
		list(keys), millis(until), millis(by))
	return err
}

// mergeDeliveries merges into the claimed delivery those that the plan names, and the
// deliveries that were merged into them before. It continues their back-off.
func (t *tx) mergeDeliveries(open []allswell.Delivery, plan allswell.DeliveryPlan) error {
	if len(plan.Merge) == 0 {
		return nil
	}
	ids := make([]string, len(plan.Merge))
	var claimedBefore []string // only a delivery that was claimed before can have others merged into it
	for n, i := range plan.Merge {
		ids[n] = open[i].ID
		if open[i].FencingToken > 0 {
			claimedBefore = append(claimedBefore, ids[n])
		}
	}
	target := open[plan.Claim].ID
	if plan.Attempts > open[plan.Claim].Attempts {
		if _, err := t.Exec(`UPDATE deliveries SET attempts = $2 WHERE id = $1`, target, plan.Attempts); err != nil {
			return err
		}
	}
	if len(claimedBefore) > 0 {
		if _, err := t.Exec(`UPDATE deliveries SET merged_into = $2 WHERE merged_into IN EACH($1) AND merged_into IS NOT NULL`,
			list(claimedBefore), target); err != nil {
			return err
		}
	}
	_, err := t.Exec(`UPDATE deliveries SET state = 'superseded', merged_into = $2, updated_at = $3 WHERE id IN EACH($1)`,
		list(ids), target, millis(t.Now))
	return err
}

// finishDeliveries brings deliveries to a final state. The reason of the last failure follows theirs.
func (t *tx) finishDeliveries(ids []string, state allswell.DeliveryState, reason string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := t.Exec(`UPDATE deliveries SET state = $2, reason = $3 || coalesce(' ' || reason, ''), lease_until_at = NULL, updated_at = $4 WHERE id IN EACH($1)`,
		list(ids), string(state), reason, millis(t.Now))
	return err
}

// Notification loads the content of a claimed delivery as it is now. It returns
// allswell.ErrNotFound if the claim no longer holds or the subscription has ended;
// nothing may be sent then.
func (s *Store) Notification(ctx context.Context, c ClaimedDelivery) (allswell.Notification, error) {
	return read(ctx, s, func(r *session) (n allswell.Notification, err error) {
		d, err := database.One(r.Session, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = $1 AND state = 'sending' AND fencing_token = $2`, c.ID, c.FencingToken)
		if err != nil {
			return n, err
		}
		n.Delivery = d.Delivery
		if n.Subscriber, err = database.One(r.Session, scanSubscriber, `SELECT `+subscriberColumns+` FROM subscribers WHERE id = $1`, d.SubscriberID); err != nil {
			return n, err
		}
		if n.Subscriber.Address, err = r.address(s, n.Subscriber); err != nil {
			return n, err
		}
		n.Page, err = r.page(`WHERE id = $1`, d.PageID)
		if err == nil && d.Purpose == allswell.PurposeEvent {
			n.Events, err = database.Query(r.Session, scanEventWithin(maxNotificationText), `SELECT `+eventColumns+` FROM events
				WHERE id IN (SELECT CAST($1 AS TEXT) UNION ALL SELECT event_id FROM deliveries WHERE merged_into = $2)
				ORDER BY page_version DESC, ordinal DESC LIMIT $3`, d.EventID, d.ID, maxNotificationEvents)
			slices.Reverse(n.Events)
		}
		return n, err
	})
}

// scanEventWithin returns a scan function like scanEvent that omits messages from the
// first one on that exceeds room, in bytes. The first event keeps its message.
func scanEventWithin(room int) func(database.Row) (allswell.Event, error) {
	first := true
	return func(row database.Row) (allswell.Event, error) {
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
	Outcome allswell.SendOutcome
	Jitter  float64 // 0 to 1, spreads the next attempt
}

// SaveDeliveryResults saves the results of claimed deliveries in one transaction. It
// ignores the result of a delivery whose claim no longer holds, because it was cancelled,
// or claimed again after its lease ended.
func (s *Store) SaveDeliveryResults(ctx context.Context, results []DeliveryResult) error {
	ids := make([]string, len(results))
	outcomes := make(map[string]DeliveryResult, len(results))
	for i, v := range results {
		ids[i], outcomes[v.ID] = v.ID, v
	}
	return writeOnly(ctx, s, func(t *tx) error {
		// Not concurrently with a claim, which would postpone the waiting deliveries of a
		// key to the end of a lease that this transaction ends.
		if err := t.lockMutex(mutexClaim); err != nil {
			return err
		}
		// Subscribers before deliveries, as everywhere.
		if _, err := database.Query(t.Session, database.ScanString, `SELECT id FROM subscribers
			WHERE id IN (SELECT subscriber_id FROM deliveries WHERE id IN EACH($1)) ORDER BY id FOR UPDATE`, list(ids)); err != nil {
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
			if d.State == allswell.DeliverySent {
				sent, accepting = append(sent, d.ID), append(accepting, d.SubscriberID)
				if d.Purpose == allswell.PurposeEvent {
					notified = append(notified, d.SubscriberID)
				}
			} else if err := t.saveFailedDelivery(d.Delivery, v.Outcome); err != nil {
				return err
			}
			if d.State != allswell.DeliveryPending || v.Outcome.Result == allswell.SendNotAttempted {
				keys = append(keys, d.OrderingKey)
			}
		}
		if _, err := t.Exec(`UPDATE deliveries SET state = 'sent', reason = NULL, lease_until_at = NULL, updated_at = $2 WHERE id IN EACH($1)`,
			list(sent), millis(t.Now)); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE subscribers SET rejections = 0 WHERE id IN EACH($1) AND rejections > 0`, list(accepting)); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM subscribers WHERE id IN EACH($1) AND incident_id IS NOT NULL`, list(notified)); err != nil {
			return err
		}
		return t.releaseNext(keys)
	})
}

// releaseNext makes the first waiting delivery of each ordering key due; a claim of it
// looks at the others. A held delivery stays held until its own time.
func (t *tx) releaseNext(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	if _, err := t.Exec(`UPDATE deliveries SET next_attempt_at = held_until_at
		WHERE ordering_key IN EACH($1) AND `+waitingCondition+` AND held_until_at > $2 AND next_attempt_at > held_until_at`, list(keys), millis(t.Now)); err != nil {
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
	_, err = t.Exec(`UPDATE deliveries SET next_attempt_at = $2 WHERE id IN EACH($1) AND next_attempt_at > $2`, list(first), millis(t.Now))
	return err
}

// saveFailedDelivery saves a delivery that was not sent, and ends or suspends its
// subscription if necessary.
func (t *tx) saveFailedDelivery(d allswell.Delivery, o allswell.SendOutcome) error {
	if _, err := t.Exec(`UPDATE deliveries SET state = $2, reason = $3, lease_until_at = NULL, next_attempt_at = $4, updated_at = $5, attempts = $6 WHERE id = $1`,
		d.ID, string(d.State), nullIfEmpty(d.Reason), millis(d.NextAttemptAt), millis(t.Now), d.Attempts); err != nil {
		return err
	}
	switch o.Result {
	case allswell.SendFailed, allswell.SendServerUnavailable:
		return t.postpone([]string{d.OrderingKey}, d.NextAttemptAt, d.NextAttemptAt)
	case allswell.SendGone:
		if d.Channel == allswell.ChannelSMS {
			return t.endByReceiver(d.SubscriberID, o.Reason)
		}
		return t.endSubscription(d.SubscriberID, o.Reason)
	case allswell.SendRejected:
		sub, err := database.One(t.Session, scanSubscriber, `SELECT `+subscriberColumns+` FROM subscribers WHERE id = $1 FOR UPDATE`, d.SubscriberID)
		if errors.Is(err, allswell.ErrNotFound) {
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
		sub.UpdatedAt = allswell.Later(t.Now, sub.UpdatedAt)
		return t.saveSubscriber(sub)
	}
	return nil
}
