package notify

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/failurelog"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/trigger"
	"github.com/allswell/allswell/internal/store"
)

const (
	// claimPause is the minimum time from one claim to the next, so that each claims many deliveries. A claim that
	// takes longer is followed by a pause of its own duration.
	claimPause = 50 * time.Millisecond

	// maxLoaded is the maximum number of deliveries whose contents one read loads.
	maxLoaded = 32

	// maxSaved is the maximum number of outcomes that one transaction saves.
	maxSaved = 100

	// saveTimeout is how long saving outcomes is retried. By then their leases have
	// expired. Saving late is safe: the fencing token rejects the outcome of a delivery
	// that was claimed again, and otherwise the delivery need not be sent again.
	saveTimeout = audience.LeaseDuration

	// leaseMargin is the minimum time between the end of an attempt and the end of its lease. maxQueued is how long
	// after its claim an attempt may start and still have all of audience.SendTimeout.
	leaseMargin = 5 * time.Second
	maxQueued   = audience.LeaseDuration - audience.SendTimeout - leaseMargin
)

// queuedDelivery is a claimed delivery, which has a place at the gate until its outcome is saved.
type queuedDelivery struct {
	store.ClaimedDelivery
	claimed time.Time // just before the claim, by the clock of this host
}

func target(d store.ClaimedDelivery) fair.Target {
	return fair.Target{Workspace: d.WorkspaceID, Host: d.Host}
}

// queue claims and sends the deliveries of one channel.
type queue struct {
	*Notifier
	channel
	sender sender

	gate    *fair.Gate      // a claimed delivery has a place
	turns   *fair.Pool      // one that is being sent has a place here, too
	due     trigger.Trigger // holds a value if deliveries may be due
	last    string          // the workspace whose turn was last; only claim uses it
	loads   chan load
	results chan store.DeliveryResult

	mu       sync.Mutex
	releases map[string]func() // of claimed deliveries, by id

	serverLog *failurelog.Log // logs outages of the channel's server; nil if it has none
}

func newQueue(n *Notifier, c channel, s sender) *queue {
	q := &queue{
		Notifier: n, channel: c, sender: s,
		gate: c.gate(), turns: fair.NewPool(c.places, 4*c.claims()),
		due: trigger.New(), loads: make(chan load), results: make(chan store.DeliveryResult, c.claims()),
		releases: make(map[string]func()),
	}
	if s.server() != "" {
		q.serverLog = &failurelog.Log{
			Logger:  n.Logger,
			Failing: "the " + c.serverName + " cannot be used", Working: "the " + c.serverName + " can be used again",
		}
	}
	return q
}

// run claims and sends deliveries until ctx ends. It returns when the outcomes of all
// claimed deliveries are saved, or cannot be saved.
func (q *queue) run(ctx context.Context) {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var working, loader, saver sync.WaitGroup
	loader.Go(func() { q.loadAll(sending) })
	saver.Go(q.saveResults)
	q.claim(ctx, func(d queuedDelivery) {
		working.Go(func() { q.work(ctx, sending, d) })
	})
	timer := time.AfterFunc(DrainTimeout, stop)
	working.Wait()
	timer.Stop()
	close(q.loads)
	loader.Wait()
	close(q.results)
	saver.Wait()
	q.sender.close()
}

// claim claims due deliveries until ctx ends, and starts work on each. Pauses let deliveries that are sent quickly be
// claimed together, and leave the database to others while claims pass over many deliveries that must wait.
func (q *queue) claim(ctx context.Context, start func(queuedDelivery)) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		claimed, more := q.claimSome(ctx)
		for _, d := range claimed {
			start(d)
		}
		pause := time.NewTimer(max(claimPause, time.Since(began)))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
		if more && q.gate.Free() > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-q.due:
		case <-ticker.C:
		}
	}
}

// claimSome claims the due deliveries for which there are places.
func (q *queue) claimSome(ctx context.Context) (claimed []queuedDelivery, more bool) {
	now := time.Now()
	options := store.ClaimOptions{
		Channel: q.name, Limit: q.gate.Free(), After: q.last, Plan: func() *fair.Plan {
			return q.gate.Plan(time.Now())
		},
	}
	if options.Limit <= 0 {
		return nil, false
	}
	deliveries, last, more, err := q.Store.ClaimDeliveries(ctx, options)
	if err != nil && ctx.Err() == nil {
		q.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "claiming deliveries failed; retrying", "channel",
			q.name, "error", err)
	}
	if err != nil {
		return nil, false
	}
	q.last = last
	q.enter(deliveries)
	for _, d := range deliveries {
		claimed = append(claimed, queuedDelivery{d, now})
	}
	return claimed, more
}

// enter gives claimed deliveries their places.
func (q *queue) enter(claimed []store.ClaimedDelivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range claimed {
		q.releases[c.ID] = q.gate.Enter(target(c))
	}
}

// leave makes room for further deliveries.
func (q *queue) leave(ids ...string) {
	q.mu.Lock()
	for _, id := range ids {
		if release := q.releases[id]; release != nil {
			release()
			delete(q.releases, id)
		}
	}
	q.mu.Unlock()
	q.due.Fire()
}

// work sends one delivery when it is its workspace's turn. It gives the delivery back if ctx ends before, or if the
// turn comes later than maxQueued after the claim. sending is cancelled when a stop has waited for DrainTimeout.
func (q *queue) work(ctx, sending context.Context, d queuedDelivery) {
	wait, cancel := context.WithDeadline(ctx, d.claimed.Add(maxQueued))
	release, err := q.turns.Acquire(wait, fair.Workspace(d.WorkspaceID))
	if err == nil {
		defer release()
		err = wait.Err()
	}
	cancel()
	if err != nil {
		q.results <- store.DeliveryResult{
			ClaimedDelivery: d.ClaimedDelivery, Outcome: audience.SendOutcome{Result: audience.SendNotAttempted},
		}
		return
	}
	loaded := make(chan *audience.Notification, 1)
	q.loads <- load{d.ClaimedDelivery, loaded}
	notification, ok := <-loaded
	if !ok {
		q.leave(d.ID)
		return
	}
	o := audience.SendOutcome{Result: audience.SendGone, Reason: "The subscription has ended."}
	if notification != nil {
		o = q.attempt(sending, d.claimed, *notification)
	}
	q.results <- store.DeliveryResult{ClaimedDelivery: d.ClaimedDelivery, Outcome: o, Jitter: rand.Float64()}
}

// load asks for the content of a delivery.
type load struct {
	store.ClaimedDelivery
	// receives the content, or nil if nothing may be sent; closed without a value if loading fails
	loaded chan<- *audience.Notification
}

// loadAll loads contents until the channel of requests is closed. Requests that arrive meanwhile share the next read.
func (q *queue) loadAll(ctx context.Context) {
	for batch := range batches(q.loads, maxLoaded) {
		claimed := make([]store.ClaimedDelivery, len(batch))
		for i, l := range batch {
			claimed[i] = l.ClaimedDelivery
		}
		contents, err := q.Store.Notifications(ctx, claimed)
		if err != nil {
			q.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "loading deliveries failed; retrying", "deliveries",
				len(batch), "error", err)
		}
		for _, l := range batch {
			if content, ok := contents[l.ID]; ok && content.Delivery.FencingToken == l.FencingToken {
				l.loaded <- &content
			} else if err == nil {
				l.loaded <- nil
			}
			close(l.loaded)
		}
	}
}

// batches yields what arrives on a channel until it is closed: the first value with the values that wait behind it, at
// most limit.
func batches[T any](from <-chan T, limit int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for first := range from {
			batch := []T{first}
		gather:
			for len(batch) < limit {
				select {
				case next, ok := <-from:
					if !ok {
						break gather
					}
					batch = append(batch, next)
				default:
					break gather
				}
			}
			if !yield(batch) {
				return
			}
		}
	}
}

// attempt sends a notification that was claimed after claimed. It ends within
// audience.SendTimeout, and leaseMargin before the end of the lease.
func (q *queue) attempt(ctx context.Context, claimed time.Time, n audience.Notification) (o audience.SendOutcome) {
	ctx, cancelLease := context.WithDeadline(ctx, claimed.Add(audience.LeaseDuration-leaseMargin))
	defer cancelLease()
	ctx, cancel := context.WithTimeout(ctx, audience.SendTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			q.Logger.Error("panic while sending", "delivery", n.Delivery.ID, "panic", fmt.Sprint(p))
			o = audience.SendOutcome{
				Result: audience.SendUndeliverable, Reason: "An internal error prevented the delivery.",
			}
		}
	}()
	o = q.sender.send(ctx, n)
	o.Reason = kernel.OneLine(o.Reason)
	return o
}

// saveResults saves outcomes until the channel of results is closed. Outcomes that
// arrive during a commit share the next transaction.
func (q *queue) saveResults() {
	for batch := range batches(q.results, maxSaved) {
		q.save(batch)
	}
}

func (q *queue) save(batch []store.DeliveryResult) {
	q.noteResults(batch, time.Now())
	deadline := time.Now().Add(saveTimeout)
	if err := q.trySaving(batch, deadline); err != nil && store.IsPermanent(err) {
		q.saveSingly(batch, deadline)
	} else if err != nil {
		q.logUnsaved(len(batch), err)
	}
	ids := make([]string, len(batch))
	for i, r := range batch {
		ids[i] = r.ID
		q.report(r)
	}
	q.leave(ids...)
}

// trySaving saves outcomes. It repeats this while the database cannot be used, until deadline.
func (q *queue) trySaving(batch []store.DeliveryResult, deadline time.Time) error {
	return store.RetryUntil(deadline, func() error { return q.Store.SaveDeliveryResults(context.Background(), batch) })
}

// saveSingly saves a batch of outcomes when the database refuses at least one: each on its own, and a refused one again
// without the text that the receiver wrote.
func (q *queue) saveSingly(batch []store.DeliveryResult, deadline time.Time) {
	for _, r := range batch {
		err := q.trySaving([]store.DeliveryResult{r}, deadline)
		if err != nil && store.IsPermanent(err) {
			q.Logger.Error("the database refused a delivery result, which is saved without its reason",
				"channel", q.name, "delivery", r.ID, "error", err)
			r.Outcome = r.Outcome.WithoutTexts()
			err = q.trySaving([]store.DeliveryResult{r}, deadline)
		}
		if err != nil {
			q.logUnsaved(1, err)
		}
	}
}

func (q *queue) logUnsaved(deliveries int, err error) {
	q.Logger.Error("saving delivery results failed; the deliveries will be sent again", "channel", q.name,
		"deliveries", deliveries, "error", err)
}

// noteResults reports to the gate and the log whether the destinations work. A failure of the
// channel's server during a session about one message may be due to that message. It counts as
// an attempt, unless the attempt before, of any message, failed in such a way too.
func (q *queue) noteResults(batch []store.DeliveryResult, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range batch {
		r := &batch[i]
		if r.Outcome.Result == audience.SendNotAttempted {
			continue
		}
		if r.Outcome.Result == audience.SendFailed && r.Outcome.Unreachable && q.serverName != "" &&
			q.gate.Failing(target(r.ClaimedDelivery)) {
			r.Outcome.Result = audience.SendServerUnavailable
		}
		q.gate.Note(target(r.ClaimedDelivery), r.Outcome.Unreachable, now)
		q.noteOutage(r.Outcome, now)
	}
}

// noteOutage logs the beginning and the end of an outage of the channel's server.
func (q *queue) noteOutage(o audience.SendOutcome, now time.Time) {
	switch {
	case q.serverLog == nil || o.Result == audience.SendNotAttempted || o.Result == audience.SendGone:
	case o.Unreachable:
		q.serverLog.Failed(now, "server", q.sender.server(), "error", cmp.Or(o.Detail, o.Reason))
	default:
		q.serverLog.Worked(now)
	}
}

// report counts an outcome and logs a failure: at info if only the log has the cause,
// and otherwise at debug. noteOutage logs the cause of an unreachable server.
func (q *queue) report(r store.DeliveryResult) {
	o := r.Outcome
	if q.Settled != nil && o.Result != audience.SendNotAttempted {
		q.Settled(q.name, o.Result)
	}
	switch {
	case o.Result == audience.SendAccepted || o.Result == audience.SendNotAttempted:
	case o.Detail != "" && (q.serverLog == nil || !o.Unreachable):
		q.Logger.Info("delivery failed", "delivery", r.ID, "channel", q.name, "error", o.Detail)
	default:
		q.Logger.Debug("delivery failed", "delivery", r.ID, "channel", q.name, "reason", o.Reason, "error", o.Detail)
	}
}
