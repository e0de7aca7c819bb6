// Package stream sends server-sent events to many HTTP clients that wait for changes of few topics.
//
// The subscribers of a [Topic] receive the tag of its new state, and request the state itself over HTTP. A new message
// replaces the previous one; there is no queue. A slow subscriber receives only the latest message.
//
// Connections are taken over from net/http, so that an idle subscriber costs one
// goroutine and no buffers (docs/decisions/0009-net-http-parses-and-routes.md).
package stream

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/trigger"
)

const (
	// DefaultMaxSubscribers is the default of Config.MaxSubscribers.
	DefaultMaxSubscribers = 20_000

	minInterval  = 500 * time.Millisecond // between two messages of one topic
	pollInterval = 30 * time.Second       // between two checks of a topic that is not marked as changed
	retryDelay   = time.Second            // after a failed check
)

// Config configures a Broadcaster.
type Config struct {
	Now            func() time.Time // the clock to which the expiry of a topic's state refers
	MaxSubscribers int              // 0: DefaultMaxSubscribers
	Gone           func(error) bool // reports whether an error of a state function means that its topic is gone
}

// Broadcaster sends the changes of topics to their subscribers.
type Broadcaster struct {
	config Config

	mu          sync.Mutex
	closed      bool
	admission   admission
	subscribers map[*Topic]*subscribers
}

// Topic is a state that can change, identified by a tag.
type Topic struct {
	state   func(ctx context.Context) (tag string, expires time.Time, err error)
	changed trigger.Trigger
}

// subscribers are the subscribers of one topic.
type subscribers struct {
	stop   context.CancelFunc // stops watching the topic
	latest atomic.Pointer[message]
	set    map[*subscriber]struct{} // guarded by the broadcaster's mutex
}

// New returns a broadcaster without subscribers.
func New(c Config) *Broadcaster {
	if c.MaxSubscribers <= 0 {
		c.MaxSubscribers = DefaultMaxSubscribers
	}
	return &Broadcaster{
		config: c, admission: newAdmission(c.MaxSubscribers), subscribers: make(map[*Topic]*subscribers),
	}
}

// NewTopic returns a topic. state returns the tag of its present state, and the time at which that state expires; the
// zero Time means never. If state fails, it may return the tag of the last known state with the error, or "".
func NewTopic(state func(ctx context.Context) (tag string, expires time.Time, err error)) *Topic {
	return &Topic{state: state, changed: trigger.New()}
}

// Changed marks the topic as changed: its state is checked soon. It never blocks.
func (t *Topic) Changed() { t.changed.Fire() }

// Subscribers returns the number of open streams.
func (b *Broadcaster) Subscribers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.admission.open
}

// Close ends all streams and accepts no more.
func (b *Broadcaster) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, subs := range b.subscribers {
		subs.stop()
		for sub := range subs.set {
			sub.conn.Close()
		}
	}
}

// latest returns the last message to the subscribers of a topic, or nil.
func (b *Broadcaster) latest(t *Topic) *message {
	b.mu.Lock()
	defer b.mu.Unlock()
	if subs := b.subscribers[t]; subs != nil {
		return subs.latest.Load()
	}
	return nil
}

// admit counts a subscriber until release and returns 200. If there are too many, it
// returns the HTTP status of the rejection.
func (b *Broadcaster) admit(sub *subscriber) (status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return http.StatusServiceUnavailable
	}
	status = b.admission.add(sub.keys, b.evict)
	sub.counted = status == http.StatusOK
	return status
}

func (b *Broadcaster) release(sub *subscriber) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uncount(sub)
}

// uncount frees the place of a subscriber, once.
func (b *Broadcaster) uncount(sub *subscriber) {
	if sub.counted {
		sub.counted = false
		b.admission.remove(sub.keys)
	}
}

// evict ends one of the streams of a key, and reports whether there was one.
func (b *Broadcaster) evict(of fair.Key) bool {
	for _, subs := range b.subscribers {
		for sub := range subs.set {
			if sub.counted && slices.ContainsFunc(sub.keys, func(k fair.Key) bool { return bare(k) == of }) {
				b.uncount(sub)
				go sub.conn.Close() // over TLS it waits for a slow client
				return true
			}
		}
	}
	return false
}

// run sends messages to an admitted subscriber until its topic or its connection ends.
func (b *Broadcaster) run(t *Topic, sub *subscriber) {
	defer b.release(sub)
	defer sub.conn.Close()
	if subs := b.join(t, sub); subs != nil {
		sub.send(subs)
		b.leave(t, subs, sub)
	}
}

// join adds a subscriber to a topic. The first subscriber starts watching the topic. join returns nil after Close.
func (b *Broadcaster) join(t *Topic, sub *subscriber) *subscribers {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	subs := b.subscribers[t]
	if subs == nil {
		ctx, stop := context.WithCancel(context.Background())
		subs = &subscribers{stop: stop, set: make(map[*subscriber]struct{})}
		b.subscribers[t] = subs
		go b.watch(ctx, t, subs)
	}
	subs.set[sub] = struct{}{}
	return subs
}

func (b *Broadcaster) leave(t *Topic, subs *subscribers, sub *subscriber) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(subs.set, sub)
	if len(subs.set) == 0 {
		subs.stop()
		if b.subscribers[t] == subs {
			delete(b.subscribers, t)
		}
	}
}

// watch checks the state of a topic whenever it may have changed, and broadcasts new tags. By then the new state is in
// memory for all subscribers. watch returns when ctx ends or the topic is gone.
func (b *Broadcaster) watch(ctx context.Context, t *Topic, subs *subscribers) {
	for {
		tag, expires, err := t.state(ctx)
		wait := pollInterval
		switch latest := subs.latest.Load(); {
		case ctx.Err() != nil:
			return
		case err != nil && b.config.Gone(err):
			b.broadcast(t, subs, &message{gone: true})
			return
		case err != nil:
			wait = retryDelay
		case latest == nil || latest.tag != tag:
			b.broadcast(t, subs, &message{tag: tag, body: changeEvent(tag)})
		}
		if err == nil && !expires.IsZero() {
			wait = min(wait, expires.Sub(b.config.Now()))
		}
		if !sleep(ctx, minInterval, nil) || !sleep(ctx, max(wait, retryDelay)-minInterval, t.changed) {
			return
		}
	}
}

// sleep waits for d, or less if early receives something. It returns false if ctx has ended.
func sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-early:
	case <-timer.C:
	}
	return true
}

// broadcast wakes all subscribers of a topic. It does not wait for them: each writes in its own goroutine.
func (b *Broadcaster) broadcast(t *Topic, subs *subscribers, m *message) {
	subs.latest.Store(m)
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.gone && b.subscribers[t] == subs {
		delete(b.subscribers, t) // later subscribers get a new set
	}
	for sub := range subs.set {
		sub.conn.SetReadDeadline(inThePast) // fails on a closed connection, which has ended anyway
	}
}
