package store

import (
	"context"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store/database"
)

// ClaimOptions are what a replica can send now.
type ClaimOptions struct {
	Channel audience.Channel
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

// ClaimedDelivery is a delivery that only the replica that claimed it may send, until the lease ends.
type ClaimedDelivery struct {
	ID           string
	FencingToken int64
	WorkspaceID  string
	Host         string // the destination
	LeaseUntil   time.Time
}

// Limits of a claim. keysPerClaim is how many ordering keys are looked at for each delivery that may be claimed,
// because some of their destinations may be full. dueRows is how many due deliveries of a workspace are read from each
// end of its queue to find them: many may have the same key.
const (
	keysPerClaim       = 4
	dueRows            = 500
	workspacesPerClaim = 16
)

// dueWorkspaces selects the workspaces with due deliveries of a channel. It jumps from one workspace to the next in the
// index, and reads one due delivery of each.
const dueWorkspaces = `WITH RECURSIVE found (id) AS (SELECT min(workspace_id) FROM deliveries WHERE state = 'pending'
	AND channel = $1
		UNION ALL SELECT (SELECT min(d.workspace_id) FROM deliveries d WHERE d.state = 'pending' AND d.channel = $1
		AND d.workspace_id > found.id)
		FROM found WHERE found.id IS NOT NULL)
	SELECT id FROM found WHERE id IS NOT NULL AND EXISTS (SELECT 1 FROM deliveries d
		WHERE d.state = 'pending' AND d.channel = $1 AND d.workspace_id = found.id AND d.next_attempt_at <= $2)
		ORDER BY id`

// ClaimDeliveries claims due deliveries for this replica and returns once that is durable. Workspaces take turns: first
// come the workspaces after c.After, and next is what After should be in the next claim. Half of the ordering keys of a
// workspace are the keys due longest, the other half the newest, so that a long queue does not delay new notifications.
// more reports whether another call may claim more immediately. A delivery whose lease has ended may be claimed again.
//
// Due deliveries are looked up before the transaction that claims them: this may read many deliveries to hosts that are
// full, and must not keep others from writing.
func (s *Store) ClaimDeliveries(
	ctx context.Context, c ClaimOptions,
) (claimed []ClaimedDelivery, next string, more bool, err error) {
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
		return x.ids(`SELECT id FROM deliveries WHERE state = 'sending' AND lease_until_at <= $1 LIMIT 1`,
			millis(x.Now))
	})
	if err != nil || len(ended) == 0 {
		return err
	}
	return writeOnly(ctx, s, func(t *tx) error {
		if err := t.lockMutex(mutexClaim); err != nil {
			return err
		}
		_, err := t.Exec(`UPDATE deliveries SET state = 'pending', next_attempt_at = $1, lease_until_at = NULL,
			reason = $2
			WHERE state = 'sending' AND lease_until_at <= $1`, millis(t.Now),
			"The replica that was sending it stopped before it finished.")
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

// turns returns the workspaces whose turn is next, and whether there are others. Workspaces that can send nothing now,
// because all of their hosts are full or failing, have no turn.
func (c *session) turns(o ClaimOptions) (turns []workspaceClaim, others bool, err error) {
	plan := o.plan()
	waiting, err := c.ids(dueWorkspaces, string(o.Channel), millis(c.Now))
	if err != nil {
		return nil, false, err
	}
	first, _ := slices.BinarySearch(waiting, o.After+"\x00")
	waiting = slices.Concat(waiting[first:], waiting[:first])
	waiting = slices.DeleteFunc(waiting, plan.Full)
	for _, workspace := range waiting {
		if len(turns) == workspacesPerClaim {
			return turns, true, nil
		}
		keys, err := c.dueKeys(o, workspace, plan.Closed(workspace))
		if err != nil {
			return nil, false, err
		}
		if len(keys) > 0 {
			turns = append(turns, workspaceClaim{workspace: workspace, keys: keys})
		}
	}
	return turns, false, nil
}

// dueKeys returns ordering keys of due deliveries of a workspace. The keys due longest and the newest keys alternate,
// so that each end gets its share.
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
			WHERE state = 'pending' AND channel = $1 AND workspace_id = $2 AND next_attempt_at <= $3
			AND host NOT IN EACH($4)
			ORDER BY next_attempt_at` + order + ` LIMIT $5) AS due
		GROUP BY ordering_key ORDER BY min(next_attempt_at)` + order + `, ordering_key LIMIT $6`
}

// claimInTurns claims due deliveries of several workspaces, of each about as many.
func (t *tx) claimInTurns(
	c ClaimOptions, turns []workspaceClaim,
) (claimed []ClaimedDelivery, next string, more bool, err error) {
	next = c.After
	plan := c.plan()
	for i, turn := range turns {
		left := len(turns) - i
		share := (c.Limit - len(claimed) + left - 1) / left
		if share == 0 {
			return claimed, next, true, nil
		}
		turn.limit, turn.plan = min(share, plan.Room(turn.workspace)), plan
		turn.keys = turn.keys[:min(len(turn.keys), c.keys(turn.limit))]
		some, others, err := t.claimTurn(turn)
		if err != nil {
			return nil, next, false, err
		}
		claimed, next, more = append(claimed, some...), turn.workspace, more || others
	}
	return claimed, next, more, nil
}

// claimTurn claims due deliveries of one workspace. It looks at as many ordering keys as it may claim deliveries, and
// at further keys only if destinations of the first ones have no room. more reports whether there may be more to claim.
func (t *tx) claimTurn(c workspaceClaim) (claimed []ClaimedDelivery, more bool, err error) {
	limit, found := c.limit, 0
	for len(c.keys) > 0 && c.limit > 0 {
		n := min(len(c.keys), c.limit)
		due, err := t.openDeliveries(c.keys[:n])
		if err != nil {
			return nil, false, err
		}
		some, changed, err := t.claimDue(due, c)
		if err != nil {
			return nil, false, err
		}
		c.keys, c.limit = c.keys[n:], c.limit-len(some)
		claimed, found, more = append(claimed, some...), found+len(due), more || changed
	}
	return claimed, more && found >= limit, nil
}

// openDeliveries loads all open deliveries of ordering keys, a slice for each key.
func (t *tx) openDeliveries(keys []string) (due [][]deliveryRow, err error) {
	open, err := database.Query(t.Session, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries
		WHERE ordering_key IN EACH($1) AND `+openCondition+
		` ORDER BY ordering_key, position, id LIMIT $2 FOR UPDATE`, list(keys), maxClaimRows)
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
	var expired, taken, superseded, behind []string
	until := t.Now.Add(audience.LeaseDuration)
	for _, deliveries := range due {
		if len(claimed) == c.limit {
			break
		}
		to := fair.Target{Workspace: c.workspace, Host: deliveries[0].host}
		if !c.plan.Admits(to) {
			continue
		}
		open := make([]audience.Delivery, len(deliveries))
		for i, d := range deliveries {
			open[i] = d.Delivery
		}
		plan := audience.PlanDeliveries(open, t.Now)
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
			for _, i := range plan.Merge {
				superseded = append(superseded, open[i].ID)
			}
			err = t.continueMerged(open, plan)
		}
		if err != nil {
			return nil, false, err
		}
	}
	err = t.finishDeliveries(expired, audience.DeliveryExpired, "It could not be delivered within 24 hours.")
	if err != nil || len(taken) == 0 {
		return nil, changed, err
	}
	_, err = t.Exec(
		`UPDATE deliveries SET state = 'sending', attempts = attempts + 1, fencing_token = fencing_token + 1,
			lease_until_at = $2, updated_at = $3
		WHERE id IN EACH($1)`, list(taken), millis(until), millis(t.Now),
	)
	if err != nil {
		return nil, false, err
	}
	if err := t.supersede(superseded); err != nil {
		return nil, false, err
	}
	return claimed, changed, t.postpone(behind, t.Now, until) // until the result of the claimed one is saved
}

// supersede merges deliveries into the claimed ones with the same ordering keys. Only the claimed ones have a lease
// that lasts.
func (t *tx) supersede(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := t.Exec(`UPDATE deliveries SET state = 'superseded', updated_at = $2, merged_into = (SELECT d.id
		FROM deliveries d
			WHERE d.ordering_key = deliveries.ordering_key AND `+openCondition+` AND d.lease_until_at > $2)
		WHERE id IN EACH($1)`, list(ids), millis(t.Now))
	return err
}

// postpone sets the next attempt of the waiting deliveries that are due by an instant to a later one.
func (t *tx) postpone(keys []string, by, until time.Time) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := t.Exec(`UPDATE deliveries SET next_attempt_at = $2
		WHERE ordering_key IN EACH($1) AND `+waitingCondition+` AND next_attempt_at <= $3`,
		list(keys), millis(until), millis(by))
	return err
}

// continueMerged gives the claimed delivery what it takes over from the deliveries that the plan merges into it: the
// back-off, and the deliveries that were merged into them before.
func (t *tx) continueMerged(open []audience.Delivery, plan audience.DeliveryPlan) error {
	target := open[plan.Claim]
	if plan.Attempts > target.Attempts {
		if _, err := t.Exec(`UPDATE deliveries SET attempts = $2 WHERE id = $1`, target.ID, plan.Attempts); err != nil {
			return err
		}
	}
	var claimedBefore []string // only a delivery that was claimed before can have others merged into it
	for _, i := range plan.Merge {
		if open[i].FencingToken > 0 {
			claimedBefore = append(claimedBefore, open[i].ID)
		}
	}
	if len(claimedBefore) == 0 {
		return nil
	}
	_, err := t.Exec(`UPDATE deliveries SET merged_into = $2 WHERE merged_into IN EACH($1) AND merged_into IS NOT NULL`,
		list(claimedBefore), target.ID)
	return err
}
