package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/failurelog"
	"github.com/allswell/allswell/internal/store"
)

const (
	// maxSaved is the maximum number of outcomes that one transaction saves.
	maxSaved = 100

	// saveTimeout is how long saving outcomes is retried. By then their leases have
	// expired. Saving late is safe: the fencing token rejects the outcome of a delivery
	// that was claimed again, and otherwise the delivery need not be sent again.
	saveTimeout = allswell.LeaseDuration
	saveRetry   = time.Second

	// leaseMargin is the minimum time between the end of an attempt and the end of its
	// lease. maxQueued is how long after its claim an attempt may start and still have
	// all of allswell.SendTimeout.
	leaseMargin = 5 * time.Second
	maxQueued   = allswell.LeaseDuration - allswell.SendTimeout - leaseMargin
)

// queuedDelivery is a claimed delivery that waits for a worker.
type queuedDelivery struct {
	store.ClaimedDelivery
	claimed time.Time // just before the claim, by the clock of this host
}

// queue claims and sends the deliveries of one channel.
type queue struct {
	*Notifier
	channel
	sender sender

	due     chan struct{} // holds a value if deliveries may be due
	queued  chan queuedDelivery
	results chan store.DeliveryResult

	mu       sync.Mutex
	claimed  int            // number of claimed deliveries whose outcome is not saved
	inFlight map[string]int // the same by destination
	breakers breakers

	serverLog *failurelog.Log // logs outages of the channel's server; nil if it has none
}

func newQueue(n *Notifier, c channel, s sender) *queue {
	q := &queue{
		Notifier: n, channel: c, sender: s,
		due: make(chan struct{}, 1), queued: make(chan queuedDelivery, 2*c.workers), results: make(chan store.DeliveryResult, 2*c.workers),
		inFlight: make(map[string]int), breakers: newBreakers(c),
	}
	if s.server() != "" {
		q.serverLog = &failurelog.Log{
			Logger:  n.Logger,
			Failing: "the " + c.serverName + " cannot be used", Working: "the " + c.serverName + " can be used again",
		}
	}
	return q
}

// notify signals the queue that deliveries may be due.
func (q *queue) notify() { signal(q.due) }

// run claims and sends deliveries until ctx ends. It returns when the outcomes of all
// claimed deliveries are saved, or cannot be saved.
func (q *queue) run(ctx context.Context) {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var workers, saver sync.WaitGroup
	for range q.workers {
		workers.Go(func() {
			for d := range q.queued {
				q.work(ctx, sending, d)
			}
		})
	}
	saver.Go(q.saveResults)
	q.claim(ctx)
	close(q.queued)
	timer := time.AfterFunc(DrainTimeout, stop)
	workers.Wait()
	timer.Stop()
	close(q.results)
	saver.Wait()
	q.sender.close()
}

// claim claims due deliveries for the workers until ctx ends.
func (q *queue) claim(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		options, ok := q.claimOptions(time.Now())
		if ok {
			now := time.Now()
			claimed, more, err := q.Store.ClaimDeliveries(ctx, options)
			if err != nil && ctx.Err() == nil {
				q.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "claiming deliveries failed; retrying", "channel", q.name, "error", err)
			}
			q.addInFlight(claimed)
			for _, c := range claimed {
				q.queued <- queuedDelivery{c, now}
			}
			if len(claimed) > 0 || more {
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-q.due:
		case <-ticker.C:
		}
	}
}

// claimOptions returns what may be claimed now. ok is false if the queue is too full.
func (q *queue) claimOptions(now time.Time) (options store.ClaimOptions, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := cap(q.queued) - q.claimed
	if free < q.workers/2 {
		return store.ClaimOptions{}, false
	}
	options = store.ClaimOptions{Channel: q.name, Limit: free, LimitPerHost: q.perHost, InFlight: maps.Clone(q.inFlight)}
	q.breakers.block(options.InFlight, now)
	return options, true
}

func (q *queue) addInFlight(claimed []store.ClaimedDelivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range claimed {
		q.claimed++
		q.inFlight[c.Host]++
	}
}

// removeInFlight makes room for further deliveries.
func (q *queue) removeInFlight(hosts ...string) {
	q.mu.Lock()
	for _, host := range hosts {
		q.claimed--
		if q.inFlight[host]--; q.inFlight[host] == 0 {
			delete(q.inFlight, host)
		}
	}
	q.mu.Unlock()
	q.notify()
}

// work sends one delivery. It gives the delivery back if ctx has ended, or if it has
// been queued for longer than maxQueued. sending is cancelled when a stop has waited
// for DrainTimeout.
func (q *queue) work(ctx, sending context.Context, d queuedDelivery) {
	if ctx.Err() != nil || time.Since(d.claimed) > maxQueued {
		q.results <- store.DeliveryResult{
			ClaimedDelivery: d.ClaimedDelivery, Outcome: allswell.SendOutcome{Result: allswell.SendNotAttempted},
		}
		return
	}
	notification, err := q.Store.Notification(sending, d.ClaimedDelivery)
	var o allswell.SendOutcome
	switch {
	case errors.Is(err, allswell.ErrNotFound):
		o = allswell.SendOutcome{Result: allswell.SendGone, Reason: "The subscription has ended."}
	case err != nil:
		q.Logger.Log(sending, store.LogLevel(err, slog.LevelWarn), "loading a delivery failed; retrying", "delivery", d.ID, "error", err)
		q.removeInFlight(d.Host)
		return
	default:
		o = q.attempt(sending, d.claimed, notification)
	}
	q.results <- store.DeliveryResult{ClaimedDelivery: d.ClaimedDelivery, Outcome: o, Jitter: rand.Float64()}
}

// attempt sends a notification that was claimed after claimed. It ends within
// allswell.SendTimeout, and leaseMargin before the end of the lease.
func (q *queue) attempt(ctx context.Context, claimed time.Time, n allswell.Notification) (o allswell.SendOutcome) {
	ctx, cancelLease := context.WithDeadline(ctx, claimed.Add(allswell.LeaseDuration-leaseMargin))
	defer cancelLease()
	ctx, cancel := context.WithTimeout(ctx, allswell.SendTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			q.Logger.Error("panic while sending", "delivery", n.Delivery.ID, "panic", fmt.Sprint(p))
			o = allswell.SendOutcome{Result: allswell.SendUndeliverable, Reason: "An internal error prevented the delivery."}
		}
	}()
	o = q.sender.send(ctx, n)
	o.Reason = allswell.OneLine(o.Reason)
	return o
}

// saveResults saves outcomes until the channel of results is closed. Outcomes that
// arrive during a commit share the next transaction.
func (q *queue) saveResults() {
	for first := range q.results {
		batch := []store.DeliveryResult{first}
	gather:
		for len(batch) < maxSaved {
			select {
			case next, ok := <-q.results:
				if !ok {
					break gather
				}
				batch = append(batch, next)
			default:
				break gather
			}
		}
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
	hosts := make([]string, len(batch))
	for i, r := range batch {
		hosts[i] = r.Host
		q.report(r)
	}
	q.removeInFlight(hosts...)
}

// trySaving saves outcomes. It repeats this while the database cannot be used, until deadline.
func (q *queue) trySaving(batch []store.DeliveryResult, deadline time.Time) error {
	err := q.Store.SaveDeliveryResults(context.Background(), batch)
	for err != nil && !store.IsPermanent(err) && time.Now().Before(deadline) {
		time.Sleep(saveRetry)
		err = q.Store.SaveDeliveryResults(context.Background(), batch)
	}
	return err
}

// saveSingly saves outcomes of which the database refuses at least one: each on its own, and what is refused without
// the text that the receiver wrote.
func (q *queue) saveSingly(batch []store.DeliveryResult, deadline time.Time) {
	for _, r := range batch {
		err := q.trySaving([]store.DeliveryResult{r}, deadline)
		if err != nil && store.IsPermanent(err) {
			q.Logger.Error("the database refused a delivery result, which is saved without its reason", "channel", q.name, "delivery", r.ID, "error", err)
			r.Outcome = r.Outcome.WithoutTexts()
			err = q.trySaving([]store.DeliveryResult{r}, deadline)
		}
		if err != nil {
			q.logUnsaved(1, err)
		}
	}
}

func (q *queue) logUnsaved(deliveries int, err error) {
	q.Logger.Error("saving delivery results failed; the deliveries will be sent again", "channel", q.name, "deliveries", deliveries, "error", err)
}

// noteResults reports to the breakers and the log whether the destinations work. A failure of the
// channel's server during a session about one message may be due to that message. It counts as
// an attempt, unless the attempt before, of any message, failed in such a way too.
func (q *queue) noteResults(batch []store.DeliveryResult, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range batch {
		r := &batch[i]
		if r.Outcome.Result == allswell.SendNotAttempted {
			continue
		}
		if r.Outcome.Result == allswell.SendFailed && r.Outcome.Unreachable && q.serverName != "" && q.breakers.failing(r.Host) {
			r.Outcome.Result = allswell.SendServerUnavailable
		}
		q.breakers.note(r.Host, r.Outcome.Unreachable, now)
		q.noteOutage(r.Outcome, now)
	}
}

// noteOutage logs the beginning and the end of an outage of the channel's server.
func (q *queue) noteOutage(o allswell.SendOutcome, now time.Time) {
	switch {
	case q.serverLog == nil || o.Result == allswell.SendNotAttempted || o.Result == allswell.SendGone:
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
	if q.Settled != nil && o.Result != allswell.SendNotAttempted {
		q.Settled(q.name, o.Result)
	}
	switch {
	case o.Result == allswell.SendAccepted || o.Result == allswell.SendNotAttempted:
	case o.Detail != "" && (q.serverLog == nil || !o.Unreachable):
		q.Logger.Info("delivery failed", "delivery", r.ID, "channel", q.name, "error", o.Detail)
	default:
		q.Logger.Debug("delivery failed", "delivery", r.ID, "channel", q.name, "reason", o.Reason, "error", o.Detail)
	}
}
