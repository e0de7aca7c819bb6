package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell"
)

// stage is a page that a hub looks at, changed by hand.
type stage struct {
	hub   *hub
	entry *entry

	mu    sync.Mutex
	tag   string
	until time.Time
	err   error
	looks int
}

func newStage(tag string) *stage {
	s := &stage{entry: &entry{poke: make(chan struct{}, 1)}, tag: tag}
	s.hub = newHub(time.Now, 0, func(context.Context, *entry) (string, time.Time, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.looks++
		return s.tag, s.until, s.err
	})
	return s
}

// set changes the page without a word.
func (s *stage) set(tag string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tag, s.err = tag, err
}

// lasts says until when the page is as it is.
func (s *stage) lasts(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = until
}

// looked returns how often the page was looked at.
func (s *stage) looked() int {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

// change is set, told as a commit tells it.
func (s *stage) change(tag string, err error) {
	s.set(tag, err)
	s.entry.changed()
}

// viewer is the far end of a stream, which remembers what it has read.
type viewer struct {
	conn net.Conn

	mu    sync.Mutex
	got   []string // messages
	ended bool
}

// view opens the page, as it is now, for a life.
func (s *stage) view(life time.Duration) *viewer {
	near, far := net.Pipe()
	s.hub.admit(netip.Addr{})
	s.mu.Lock()
	told := s.tag
	s.mu.Unlock()
	go s.hub.serve(s.entry, &stream{conn: near, ends: time.Now().Add(life), seen: s.hub.latest(s.entry), told: told})
	return &viewer{conn: far}
}

func (v *viewer) read() *viewer {
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

// want holds what the viewer has read since it was asked last to what is
// expected, after everything at this instant is done.
func (v *viewer) want(t *testing.T, ended bool, messages ...string) {
	t.Helper()
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	if !slices.Equal(v.got, messages) || v.ended != ended {
		t.Errorf("heard %q, ended %v; want %q, %v", v.got, v.ended, messages, ended)
	}
	v.got = nil
}

const alive = "event: alive\ndata: 1\n\n"

func told(tag string) string { return string(changeMessage(tag)) }

// onStage runs f with a page and nobody at it, on a clock that moves when all
// wait.
func onStage(t *testing.T, f func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage("a")
		f(t, s)
		s.hub.end()
		synctest.Wait()
		if s.hub.open != 0 || len(s.hub.crowds) != 0 || len(s.hub.addresses) != 0 {
			t.Errorf("after the end %d streams, %d crowds, %v", s.hub.open, len(s.hub.crowds), s.hub.addresses)
		}
	})
}

func TestViewersAreToldOnce(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		one, two := s.view(streamLife).read(), s.view(streamLife).read()
		one.want(t, false)
		time.Sleep(changeGap)
		s.change("b", nil)
		one.want(t, false, told("b"))
		two.want(t, false, told("b"))
		three := s.view(streamLife).read() // knows b
		s.entry.changed()                  // nothing that anybody sees
		time.Sleep(2 * changeGap)
		three.want(t, false)
		s.change("c", nil)
		for _, v := range []*viewer{one, two, three} {
			v.want(t, false, told("c"))
		}
	})
}

// TestStormOfChanges: a page that changes all the time is told of twice a
// second, and of its last state in any case.
func TestStormOfChanges(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		v := s.view(streamLife).read()
		for i := range 500 { // five seconds
			s.change(fmt.Sprint(i), nil)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(changeGap)
		looks := s.looked()
		v.mu.Lock()
		defer v.mu.Unlock()
		if n := len(v.got); n < 10 || n > 11 || v.got[n-1] != told("499") {
			t.Errorf("heard %d messages, at last %q", n, v.got[n-1])
		}
		if looks > 12 {
			t.Errorf("looked at %d times", looks)
		}
	})
}

// TestThereAndBack: what is as it was when the viewer is told is no news.
func TestThereAndBack(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		v := s.view(streamLife).read()
		synctest.Wait()
		s.change("b", nil)
		s.change("a", nil)
		time.Sleep(2 * changeGap)
		v.want(t, false)
	})
}

// TestBetweenLookAndJoin: a change that comes while a stream begins is heard.
func TestBetweenLookAndJoin(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		first := s.view(streamLife).read()
		first.want(t, false)
		time.Sleep(changeGap)
		seen, near, far := s.hub.latest(s.entry), net.Conn(nil), net.Conn(nil)
		s.change("b", nil)
		first.want(t, false, told("b"))
		near, far = net.Pipe()
		s.hub.admit(netip.Addr{})
		go s.hub.serve(s.entry, &stream{conn: near, ends: time.Now().Add(streamLife), seen: seen, told: "a"})
		(&viewer{conn: far}).read().want(t, false, told("b"))
	})
}

// TestCrowdComesAgain: a stream began when the last one left, and what that one
// was told is forgotten.
func TestCrowdComesAgain(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		first := s.view(streamLife).read()
		first.want(t, false)
		seen := s.hub.latest(s.entry)
		first.conn.Close()
		synctest.Wait()
		s.set("", errors.New("broken"))
		near, far := net.Pipe()
		s.hub.admit(netip.Addr{})
		go s.hub.serve(s.entry, &stream{conn: near, ends: time.Now().Add(streamLife), seen: seen, told: "a"})
		v := (&viewer{conn: far}).read()
		time.Sleep(keepAlive)
		v.want(t, false, alive)
		s.set("b", nil)
		time.Sleep(recheckFailed)
		v.want(t, false, told("b"))
	})
}

func TestQuietStream(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		v := s.view(2*keepAlive + time.Second).read()
		time.Sleep(keepAlive - time.Millisecond)
		v.want(t, false)
		time.Sleep(time.Millisecond)
		v.want(t, false, alive)
		time.Sleep(keepAlive)
		v.want(t, false, alive)
		time.Sleep(time.Second)
		v.want(t, true) // its life is over
	})
}

// TestChangesWithTime: nobody says that a day has begun.
func TestChangesWithTime(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.lasts(time.Now().Add(10 * time.Second))
		v := s.view(streamLife).read()
		v.want(t, false)
		s.set("b", nil)
		s.lasts(time.Time{})
		time.Sleep(10 * time.Second)
		v.want(t, false, told("b"))
		s.set("c", nil)
		time.Sleep(recheck)
		v.want(t, false, alive, told("c"))
		s.lasts(time.Now().Add(-time.Hour)) // by a clock that is behind
		looks := s.looked()
		s.entry.changed()
		time.Sleep(10 * time.Second)
		if n := s.looked() - looks; n > 11 {
			t.Errorf("looked at %d times in ten seconds", n)
		}
	})
}

func TestPageCannotBeMade(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		v := s.view(streamLife).read()
		synctest.Wait()
		s.change("b", errors.New("broken"))
		time.Sleep(10 * time.Second)
		v.want(t, false)
		s.set("c", nil)
		time.Sleep(recheckFailed)
		v.want(t, false, told("c"))
	})
}

func TestPageGoes(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		v := s.view(streamLife).read()
		synctest.Wait()
		s.change("", allswell.ErrNotFound)
		time.Sleep(changeGap)
		v.want(t, true)
		s.set("a", nil) // the same entry would not come back, but nothing hangs on it
		v = s.view(streamLife).read()
		v.want(t, false)
	})
}

// TestStuckViewer: one who reads nothing delays nobody, and is let go.
func TestStuckViewer(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		stuck := s.view(streamLife)
		var others []*viewer
		for range 10 {
			others = append(others, s.view(streamLife).read())
		}
		time.Sleep(changeGap)
		for _, tag := range []string{"b", "c"} {
			s.change(tag, nil)
			for _, v := range others {
				v.want(t, false, told(tag))
			}
			time.Sleep(changeGap)
		}
		time.Sleep(streamDeadline)
		stuck.read().want(t, true)
	})
}

// TestClientSpeaks: an event stream is one-way.
func TestClientSpeaks(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		v := s.view(streamLife).read()
		if _, err := io.WriteString(v.conn, "G"); err != nil {
			t.Fatal(err)
		}
		v.want(t, true)
	})
}

func TestStreamPlaces(t *testing.T) {
	h := newHub(time.Now, 2*maxStreamsPerAddress+10, nil)
	admit := func(address string, want int) {
		t.Helper()
		if got := h.admit(networkOf(netip.MustParseAddr(address))); got != want {
			t.Errorf("%s gets %d, want %d", address, got, want)
		}
	}
	for i := range maxStreamsPerAddress {
		admit("192.0.2.1", 200)
		admit(fmt.Sprintf("2001:db8::%x", i), 200)
	}
	admit("192.0.2.1", 429)
	admit("::ffff:192.0.2.1", 429)
	admit("2001:db8::ffff:1:1", 429)
	h.leave(networkOf(netip.MustParseAddr("2001:db8::5")))
	admit("2001:db8::ffff:1:1%eth0", 200)
	for i := range 10 {
		admit(fmt.Sprintf("2001:db8:0:%x::1", i+1), 200)
	}
	admit("192.0.2.2", 503)
	if h := newHub(time.Now, 0, nil); h.most != 20_000 {
		t.Errorf("%d streams", h.most)
	}
	h.end()
	h.leave(netip.MustParseAddr("192.0.2.1"))
	admit("192.0.2.1", 503)
}
