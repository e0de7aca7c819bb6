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
	// maxSettled is how many outcomes one transaction saves.
	maxSettled = 100

	// settleFor is how long outcomes are tried to be saved. By then their leases
	// have ended. To save one late does no harm, because its fence guards it: if
	// nobody has claimed it again it need not be sent again.
	settleFor   = allswell.LeaseDuration
	settleAgain = time.Second

	// leaseMargin is how long before its lease ends a send is over, and maxWait
	// is how long after its claim one begins that has all of its time.
	leaseMargin = 5 * time.Second
	maxWait     = allswell.LeaseDuration - allswell.SendTimeout - leaseMargin
)

// job is a claimed delivery.
type job struct {
	store.ClaimedDelivery
	since time.Time // the claim was made after this, by the host's clock
}

// queue claims and sends the deliveries of one channel.
type queue struct {
	*Notifier
	channel allswell.Channel
	workers int
	send    func(context.Context, allswell.Notification) allswell.SendOutcome
	end     func() // after the last send

	wake    chan struct{} // holds a value if there may be something due
	jobs    chan job
	settled chan store.DeliveryResult

	mu       sync.Mutex
	flying   int            // claimed and not settled
	busy     map[string]int // the same by destination
	breakers breakers

	outages *failurelog.Log // of the one server that takes all; nil: there are many, or none
	server  string          // its address, for the log
}

func newQueue(n *Notifier, channel allswell.Channel, workers int, breakers breakers, send func(context.Context, allswell.Notification) allswell.SendOutcome, end func()) *queue {
	return &queue{
		Notifier: n, channel: channel, workers: workers, send: send, end: end,
		wake: make(chan struct{}, 1), jobs: make(chan job, 2*workers), settled: make(chan store.DeliveryResult, 2*workers),
		busy: make(map[string]int), breakers: breakers,
	}
}

// run claims until ctx ends, and returns when what was claimed is settled or
// given up.
func (q *queue) run(ctx context.Context) {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var working, settling sync.WaitGroup
	for range q.workers {
		working.Go(func() {
			for j := range q.jobs {
				q.work(ctx, sending, j)
			}
		})
	}
	settling.Go(q.settle)
	q.claim(ctx)
	close(q.jobs)
	timer := time.AfterFunc(DrainTimeout, stop)
	working.Wait()
	timer.Stop()
	close(q.settled)
	settling.Wait()
	q.end()
}

// claim hands due deliveries to the workers until ctx ends.
func (q *queue) claim(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		claims, ok := q.room(time.Now())
		if ok {
			since := time.Now()
			claimed, more, err := q.Store.ClaimDeliveries(ctx, claims)
			if err != nil && ctx.Err() == nil {
				q.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "deliveries could not be claimed; it is tried again", "channel", q.channel, "error", err)
			}
			q.took(claimed)
			for _, c := range claimed {
				q.jobs <- job{c, since}
			}
			if len(claimed) > 0 || more {
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-q.wake:
		case <-ticker.C:
		}
	}
}

// room returns what may be claimed now; false if nothing.
func (q *queue) room(now time.Time) (store.ClaimOptions, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := cap(q.jobs) - q.flying
	if free < q.workers/2 {
		return store.ClaimOptions{}, false
	}
	c := store.ClaimOptions{Channel: q.channel, Limit: free, LimitPerHost: q.breakers.perHost, InFlight: maps.Clone(q.busy)}
	q.breakers.fill(c.InFlight, now)
	return c, true
}

func (q *queue) took(claimed []store.ClaimedDelivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range claimed {
		q.flying++
		q.busy[c.Host]++
	}
}

// over gives back the places of deliveries that are settled or given up.
func (q *queue) over(hosts ...string) {
	q.mu.Lock()
	for _, host := range hosts {
		q.flying--
		if q.busy[host]--; q.busy[host] == 0 {
			delete(q.busy, host)
		}
	}
	q.mu.Unlock()
	rouse(q.wake)
}

// work sends one delivery, and is done with it leaseMargin before its lease
// ends. One that has waited for longer than maxWait is given back, and so is one
// that waits when ctx ends.
func (q *queue) work(ctx, sending context.Context, j job) {
	if ctx.Err() != nil || time.Since(j.since) > maxWait {
		q.settled <- store.DeliveryResult{ClaimedDelivery: j.ClaimedDelivery, Outcome: allswell.SendOutcome{Result: allswell.SendNotAttempted}}
		return
	}
	notice, err := q.Store.Notification(sending, j.ClaimedDelivery)
	var o allswell.SendOutcome
	switch {
	case errors.Is(err, allswell.ErrNotFound):
		o = allswell.SendOutcome{Result: allswell.SendGone, Reason: "The subscription has ended."}
	case err != nil:
		q.Logger.Log(sending, store.LogLevel(err, slog.LevelWarn), "a message could not be made; it is tried again", "delivery", j.ID, "error", err)
		q.over(j.Host)
		return
	default:
		o = q.attempt(sending, j.since, notice)
	}
	q.settled <- store.DeliveryResult{ClaimedDelivery: j.ClaimedDelivery, Outcome: o, Jitter: rand.Float64()}
}

// attempt sends what was claimed after since: within SendTimeout, and leaseMargin
// before the lease ends, if making the message took so long.
func (q *queue) attempt(ctx context.Context, since time.Time, n allswell.Notification) (o allswell.SendOutcome) {
	ctx, over := context.WithDeadline(ctx, since.Add(allswell.LeaseDuration-leaseMargin))
	defer over()
	ctx, cancel := context.WithTimeout(ctx, allswell.SendTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			q.Logger.Error("sending failed in a way that nobody thought of", "delivery", n.Delivery.ID, "panic", fmt.Sprint(p))
			o = allswell.SendOutcome{Result: allswell.SendUndeliverable, Reason: "It could not be sent, because of a fault in Allswell."}
		}
	}()
	return q.send(ctx, n)
}

// settle saves outcomes, those that come while a transaction commits together,
// until there are no more.
func (q *queue) settle() {
	for first := range q.settled {
		batch := []store.DeliveryResult{first}
	gather:
		for len(batch) < maxSettled {
			select {
			case next, ok := <-q.settled:
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
	err := q.Store.SaveDeliveryResults(context.Background(), batch)
	for deadline := time.Now().Add(settleFor); err != nil && time.Now().Before(deadline); {
		time.Sleep(settleAgain)
		err = q.Store.SaveDeliveryResults(context.Background(), batch)
	}
	if err != nil {
		q.Logger.Error("what became of deliveries could not be saved; they will be sent again", "channel", q.channel, "deliveries", len(batch), "error", err)
	}
	now := time.Now()
	hosts := make([]string, len(batch))
	q.mu.Lock()
	for i, s := range batch {
		hosts[i] = s.Host
		if s.Outcome.Result != allswell.SendNotAttempted {
			q.breakers.note(s.Host, s.Outcome.Unreachable, now)
		}
	}
	q.mu.Unlock()
	for _, s := range batch {
		q.noteOutage(s.Outcome, now)
		q.report(s)
	}
	q.over(hosts...)
}

// noteOutage logs, where there is one server, when it begins to be unreachable and when
// that is over.
func (q *queue) noteOutage(o allswell.SendOutcome, now time.Time) {
	switch {
	case q.outages == nil || o.Result == allswell.SendNotAttempted || o.Result == allswell.SendGone:
	case o.Unreachable:
		q.outages.Failed(now, "server", q.server, "error", cmp.Or(o.Detail, o.Reason))
	default:
		q.outages.Worked(now)
	}
}

// report counts an outcome, and logs one that is not taken: at info where the
// log is the only place that says why. An unreachable mail server is in the log by
// noteOutage.
func (q *queue) report(s store.DeliveryResult) {
	if q.Settled != nil && s.Outcome.Result != allswell.SendNotAttempted {
		q.Settled(q.channel, s.Outcome.Result)
	}
	switch {
	case s.Outcome.Result == allswell.SendAccepted || s.Outcome.Result == allswell.SendNotAttempted:
	case s.Outcome.Detail != "" && (q.outages == nil || !s.Outcome.Unreachable):
		q.Logger.Info("delivery failed", "delivery", s.ID, "channel", q.channel, "error", s.Outcome.Detail)
	default:
		q.Logger.Debug("delivery failed", "delivery", s.ID, "channel", q.channel, "reason", s.Outcome.Reason, "error", s.Outcome.Detail)
	}
}
