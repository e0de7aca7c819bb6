package stream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/internal/shared/fair"
)

var errGone = errors.New("gone")

func newBroadcaster(max int) *Broadcaster {
	return New(Config{Now: time.Now, MaxSubscribers: max, Gone: func(err error) bool {
		return errors.Is(err, errGone)
	}})
}

// fixture is a broadcaster with one topic, whose state the test sets.
type fixture struct {
	*Broadcaster
	topic *Topic

	mu      sync.Mutex
	tag     string
	expires time.Time
	err     error
	checks  int
}

func newFixture(tag string) *fixture {
	f := &fixture{Broadcaster: newBroadcaster(0), tag: tag}
	f.topic = NewTopic(func(context.Context) (string, time.Time, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.checks++
		return f.tag, f.expires, f.err
	})
	return f
}

// set changes the state without marking the topic as changed.
func (f *fixture) set(tag string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tag, f.err = tag, err
}

func (f *fixture) expireAt(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expires = at
}

// checked returns how often the state was checked.
func (f *fixture) checked() int {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.checks
}

// change changes the state and marks the topic as changed.
func (f *fixture) change(tag string, err error) {
	f.set(tag, err)
	f.topic.Changed()
}

// client is the client of a stream. It records the messages.
type client struct {
	conn net.Conn

	mu    sync.Mutex
	got   []string // messages
	ended bool
}

// subscribe opens a stream for a lifetime.
func (f *fixture) subscribe(life time.Duration) *client {
	near, far := net.Pipe()
	f.mu.Lock()
	tag := f.tag
	f.mu.Unlock()
	sub := &subscriber{conn: near, ends: time.Now().Add(life), seen: f.latest(f.topic), tag: tag}
	f.admit(sub)
	go f.run(f.topic, sub)
	return &client{conn: far}
}

func (v *client) read() *client {
	go func() {
		buf := make([]byte, 1000)
		for {
			n, err := v.conn.Read(buf) // a pipe keeps writes apart
			v.mu.Lock()
			if n > 0 {
				v.got = append(v.got, string(buf[:n]))
			}
			v.ended = err != nil
			v.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return v
}

// want waits until all goroutines are idle, and checks the messages since the previous call.
func (v *client) want(t *testing.T, ended bool, messages ...string) {
	t.Helper()
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	if !slices.Equal(v.got, messages) || v.ended != ended {
		t.Errorf("got %q, ended %v; want %q, %v", v.got, v.ended, messages, ended)
	}
	v.got = nil
}

const alive = "event: alive\ndata: 1\n\n"

func change(tag string) string { return string(changeEvent(tag)) }

// run runs f on virtual time, with a topic without subscribers.
func run(t *testing.T, f func(t *testing.T, s *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newFixture("a")
		f(t, s)
		s.Close()
		synctest.Wait()
		if a := s.admission; a.open+len(s.subscribers)+len(a.count)+len(a.heavy) != 0 {
			t.Errorf("after Close %d topics, %v", len(s.subscribers), a)
		}
	})
}

func TestSubscribersGetAChangeOnce(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		one, two := s.subscribe(lifetime).read(), s.subscribe(lifetime).read()
		one.want(t, false)
		time.Sleep(minInterval)
		s.change("b", nil)
		one.want(t, false, change("b"))
		two.want(t, false, change("b"))
		three := s.subscribe(lifetime).read() // has b
		s.topic.Changed()                     // the state is unchanged
		time.Sleep(2 * minInterval)
		three.want(t, false)
		s.change("c", nil)
		for _, v := range []*client{one, two, three} {
			v.want(t, false, change("c"))
		}
	})
}

// TestSteadyChanges checks that subscribers of a topic that changes continuously get two messages a
// second, and always the last state.
func TestSteadyChanges(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		v := s.subscribe(lifetime).read()
		for i := range 500 { // five seconds
			s.change(fmt.Sprint(i), nil)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(minInterval)
		checks := s.checked()
		v.mu.Lock()
		defer v.mu.Unlock()
		if n := len(v.got); n < 10 || n > 11 || v.got[n-1] != change("499") {
			t.Errorf("got %d messages, at last %q", n, v.got[n-1])
		}
		if checks > 12 {
			t.Errorf("checked %d times", checks)
		}
	})
}

// TestChangedBack checks that a state that has changed back when it is checked causes no message.
func TestChangedBack(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		v := s.subscribe(lifetime).read()
		synctest.Wait()
		s.change("b", nil)
		s.change("a", nil)
		time.Sleep(2 * minInterval)
		v.want(t, false)
	})
}

// TestChangeWhileSubscribing checks that a change between reading the state and subscribing is sent.
func TestChangeWhileSubscribing(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		first := s.subscribe(lifetime).read()
		first.want(t, false)
		time.Sleep(minInterval)
		seen, near, far := s.latest(s.topic), net.Conn(nil), net.Conn(nil)
		s.change("b", nil)
		first.want(t, false, change("b"))
		near, far = net.Pipe()
		sub := &subscriber{conn: near, ends: time.Now().Add(lifetime), seen: seen, tag: "a"}
		s.admit(sub)
		go s.run(s.topic, sub)
		(&client{conn: far}).read().want(t, false, change("b"))
	})
}

// hijacked is a response whose connection is taken over.
type hijacked struct {
	*httptest.ResponseRecorder
	conn net.Conn
}

func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

// TestChangeWhileTheStateIsLoaded checks that a stream gets a message that others get while Serve loads
// the state that it had before.
func TestChangeWhileTheStateIsLoaded(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		type loaded struct{}
		state := s.topic.state
		s.topic = NewTopic(func(ctx context.Context) (string, time.Time, error) {
			tag, expires, err := state(ctx)
			if f, ok := ctx.Value(loaded{}).(func()); ok {
				f()
			}
			return tag, expires, err
		})
		first := s.subscribe(lifetime).read()
		first.want(t, false)
		time.Sleep(minInterval)
		ctx := context.WithValue(t.Context(), loaded{}, func() {
			s.change("b", nil)
			first.want(t, false, change("b"))
		})
		near, far := net.Pipe()
		v := (&client{conn: far}).read()
		r := httptest.NewRequestWithContext(ctx, "GET", "/events", nil)
		if err := s.Serve(hijacked{httptest.NewRecorder(), near}, r, s.topic); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		v.mu.Lock()
		defer v.mu.Unlock()
		if len(v.got) != 2 || !strings.Contains(v.got[0], "\nid: a\n") || v.got[1] != change("b") {
			t.Errorf("the events: %q", v.got)
		}
	})
}

// TestNewSubscribersAfterTheLastLeft checks that a subscriber that arrives as the last one leaves gets the
// next change.
func TestNewSubscribersAfterTheLastLeft(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		first := s.subscribe(lifetime).read()
		first.want(t, false)
		seen := s.latest(s.topic)
		first.conn.Close()
		synctest.Wait()
		s.set("", errors.New("broken"))
		near, far := net.Pipe()
		sub := &subscriber{conn: near, ends: time.Now().Add(lifetime), seen: seen, tag: "a"}
		s.admit(sub)
		go s.run(s.topic, sub)
		v := (&client{conn: far}).read()
		time.Sleep(aliveInterval)
		v.want(t, false, alive)
		s.set("b", nil)
		time.Sleep(retryDelay)
		v.want(t, false, change("b"))
	})
}

func TestIdleStream(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		v := s.subscribe(2*aliveInterval + time.Second).read()
		time.Sleep(aliveInterval - time.Millisecond)
		v.want(t, false)
		time.Sleep(time.Millisecond)
		v.want(t, false, alive)
		time.Sleep(aliveInterval)
		v.want(t, false, alive)
		time.Sleep(time.Second)
		v.want(t, true) // its lifetime has ended
	})
}

// TestExpiry checks that a state that expires is checked without being marked as changed.
func TestExpiry(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		s.expireAt(time.Now().Add(10 * time.Second))
		v := s.subscribe(lifetime).read()
		v.want(t, false)
		s.set("b", nil)
		s.expireAt(time.Time{})
		time.Sleep(10 * time.Second)
		v.want(t, false, change("b"))
		s.set("c", nil)
		time.Sleep(pollInterval)
		v.want(t, false, alive, change("c"))
		s.expireAt(time.Now().Add(-time.Hour)) // of a clock that is behind
		checks := s.checked()
		s.topic.Changed()
		time.Sleep(10 * time.Second)
		if n := s.checked() - checks; n > 11 {
			t.Errorf("checked %d times in ten seconds", n)
		}
	})
}

func TestStateFails(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		v := s.subscribe(lifetime).read()
		synctest.Wait()
		s.change("b", errors.New("broken"))
		time.Sleep(10 * time.Second)
		v.want(t, false)
		s.set("c", nil)
		time.Sleep(retryDelay)
		v.want(t, false, change("c"))
	})
}

func TestTopicGone(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		v := s.subscribe(lifetime).read()
		synctest.Wait()
		s.change("", errGone)
		time.Sleep(minInterval)
		v.want(t, true)
		s.set("a", nil) // a topic that is gone normally does not return
		v = s.subscribe(lifetime).read()
		v.want(t, false)
	})
}

// TestSlowSubscriber checks that a client that does not read is disconnected and delays no other client.
func TestSlowSubscriber(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		stuck := s.subscribe(lifetime)
		var others []*client
		for range 10 {
			others = append(others, s.subscribe(lifetime).read())
		}
		time.Sleep(minInterval)
		for _, tag := range []string{"b", "c"} {
			s.change(tag, nil)
			for _, v := range others {
				v.want(t, false, change(tag))
			}
			time.Sleep(minInterval)
		}
		time.Sleep(writeTimeout)
		stuck.read().want(t, true)
	})
}

// TestClientSends checks that a client that sends something is disconnected.
func TestClientSends(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		v := s.subscribe(lifetime).read()
		if _, err := io.WriteString(v.conn, "G"); err != nil {
			t.Fatal(err)
		}
		v.want(t, true)
	})
}

// TestEndedStreamsFreeTheirSlots checks that a stream counts towards the limits until it
// ends, whether the client, the topic or its lifetime ends it.
func TestEndedStreamsFreeTheirSlots(t *testing.T) {
	run(t, func(t *testing.T, s *fixture) {
		wantOpen := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := s.Subscribers(); got != want {
				t.Errorf("%d streams are open, want %d", got, want)
			}
		}
		left := s.subscribe(lifetime).read()
		s.subscribe(minInterval).read()
		s.subscribe(lifetime).read()
		wantOpen(3)
		left.conn.Close()
		wantOpen(2)
		time.Sleep(minInterval)
		wantOpen(1)
		s.change("", errGone)
		time.Sleep(minInterval)
		wantOpen(0)
	})
}

func TestLimits(t *testing.T) {
	b := newBroadcaster(120)
	viewer := func(name string) *subscriber {
		return &subscriber{keys: []fair.Key{fair.User(name).AtMost(30), fair.Workspace("w")}}
	}
	admit := func(sub *subscriber, want int) {
		t.Helper()
		if got := b.admit(sub); got != want {
			t.Errorf("%v gets %d, want %d", sub.keys, got, want)
		}
	}
	first := viewer("ada")
	admit(first, 200)
	for range 29 {
		admit(viewer("ada"), 200)
	}
	admit(viewer("ada"), 429)
	b.release(first)
	b.release(first) // counts once
	admit(viewer("ada"), 200)
	admit(viewer("ada"), 429)
	for i := range 90 {
		admit(viewer(fmt.Sprint(i)), 200)
	}
	if b.Subscribers() != 120 {
		t.Errorf("%d streams", b.Subscribers())
	}
	if b := newBroadcaster(0); b.config.MaxSubscribers != 20_000 {
		t.Errorf("%d subscribers", b.config.MaxSubscribers)
	}
	b.Close()
	b.release(viewer("bob"))
	admit(viewer("bob"), 503)
}

// TestOneViewerDoesNotEndTheStreamsOfOthers opens 500 streams of one viewer, and more of one workspace than there is
// room for: the streams of other viewers stay open, and new ones of others get places.
func TestOneViewerDoesNotEndTheStreamsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture("a")
		s.Broadcaster = newBroadcaster(100)
		before, _ := s.openAs("ann", "small")
		refused := 0
		for range 500 {
			if _, status := s.openAs("hog", "big"); status == 429 {
				refused++
			}
		}
		if refused != 470 {
			t.Errorf("%d of 500 streams of one viewer are refused, want 470", refused)
		}
		for i := range 200 { // other accounts of the same workspace
			s.openAs(fmt.Sprint("hog", i/30), "big")
		}
		if s.Subscribers() != 100 {
			t.Errorf("%d streams are open", s.Subscribers())
		}
		var after []*client
		for i := range 20 {
			v, status := s.openAs(fmt.Sprint("bob", i), fmt.Sprint("other", i))
			if status != 200 {
				t.Fatalf("stream %d of another workspace is refused with %d", i, status)
			}
			after = append(after, v)
		}
		if _, status := s.openAs("hog0", "big"); status != 503 && status != 429 {
			t.Errorf("one more stream of a user and a workspace that have the most gets %d", status)
		}
		if s.Subscribers() != 100 {
			t.Errorf("%d streams are open", s.Subscribers())
		}
		time.Sleep(minInterval)
		s.change("b", nil)
		for _, v := range append(after, before) {
			v.want(t, false, change("b"))
		}
		s.Close()
		synctest.Wait()
		if a := s.admission; a.open+len(a.count)+len(a.heavy) != 0 {
			t.Errorf("after Close %v", a)
		}
	})
}

// openAs opens a stream for a user of a workspace, and returns its client and the status.
func (f *fixture) openAs(user, workspace string) (*client, int) {
	near, far := net.Pipe()
	sub := &subscriber{
		conn: near, keys: []fair.Key{fair.User(user).AtMost(30), fair.Workspace(workspace)},
		ends: time.Now().Add(lifetime), tag: "a",
	}
	status := f.admit(sub)
	if status == 200 {
		go f.run(f.topic, sub)
	}
	v := (&client{conn: far}).read()
	if status != 200 {
		near.Close()
	}
	synctest.Wait()
	return v, status
}

// TestRefusedStreamsCostNothing checks that no state is computed for a stream that is refused.
func TestRefusedStreamsCostNothing(t *testing.T) {
	s := newFixture("a")
	s.Broadcaster = newBroadcaster(1)
	s.admit(&subscriber{})
	rec := httptest.NewRecorder()
	err := s.Serve(rec, httptest.NewRequest("GET", "/events", nil), s.topic)
	if err != nil || rec.Code != 503 || rec.Header().Get("Retry-After") == "" {
		t.Errorf("a refused stream: %d %v, %v", rec.Code, rec.Header(), err)
	}
	if s.checks != 0 {
		t.Errorf("the state was computed %d times", s.checks)
	}
	s.set("", errGone)
	s.Broadcaster = newBroadcaster(1)
	for range 2 {
		err := s.Serve(httptest.NewRecorder(), httptest.NewRequest("GET", "/events", nil), s.topic)
		if !errors.Is(err, errGone) {
			t.Errorf("a topic that is gone: %v", err)
		}
	}
}
