package fair

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func testGate() *Gate {
	return NewGate(GateConfig{
		Places: 128, PerWorkspace: 16, PerHost: 4, MinPause: 10 * time.Second, MaxPause: 5 * time.Minute,
	})
}

// enter sends what a plan admits to a target, and returns how many messages that are.
func enter(g *Gate, to Target, now time.Time) (n int) {
	for p := g.Plan(now); p.Admits(to); n++ {
		p.Add(to)
		g.Enter(to)
	}
	return n
}

// TestBreaker plays a history of attempts to a host that takes four messages at a time: "f" is a failure, "k" a
// success, and "." a second without an attempt.
func TestBreaker(t *testing.T) {
	seconds := func(n int) string { return strings.Repeat(".", n) }
	const free, probe, none = 4, 1, 0 // messages that may be sent
	for _, c := range []struct {
		name, history string
		want          int
	}{
		{"no attempts", "", free},
		{"only successes", "kkk", free},
		{"four failures", "ffff", free},
		{"five failures", "fffff", none},
		{"five failures, but not in a row", "ffffkffff", free},
		{"just before the pause ends", "fffff" + seconds(9), none},
		{"when the pause ends", "fffff" + seconds(10), probe},
		{"the probe succeeds", "fffff" + seconds(10) + "k", free},
		{"and the failures are forgotten", "fffff" + seconds(10) + "kffff", free},
		{"the probe fails", "fffff" + seconds(10) + "f", none},
		{"the second pause is longer", "fffff" + seconds(10) + "f" + seconds(19), none},
		{"and ends", "fffff" + seconds(10) + "f" + seconds(20), probe},
		{"messages in flight do not extend it", "ffffffff" + seconds(10), probe},
		{"no pause is longer than five minutes", "fffff" + strings.Repeat(seconds(300)+"f", 20) + seconds(299), none},
		{"the longest one ends", "fffff" + strings.Repeat(seconds(300)+"f", 20) + seconds(300), probe},
	} {
		g, to, now := testGate(), Target{"w", "host"}, began
		for _, what := range c.history {
			if what == '.' {
				now = now.Add(time.Second)
			} else {
				g.Note(to, what == 'f', now)
			}
		}
		if got := enter(g, to, now); got != c.want {
			t.Errorf("%s: %d messages may be sent, want %d", c.name, got, c.want)
		}
		if got := enter(g, to, now); got != 0 {
			t.Errorf("%s: %d more messages may be sent", c.name, got)
		}
		if got := g.Plan(now).Closed("w"); len(got) != 1 || got[0] != "host" {
			t.Errorf("%s: Closed = %v, want [host]", c.name, got)
		}
		if got := enter(g, Target{"other", "host"}, now); got != 4 && (got != 2 || c.want != free) {
			t.Errorf("%s: another workspace may send %d messages to the host, want 4, or half of what is left", c.name,
				got)
		}
		if got := enter(g, Target{"third", "host"}, now); got < 1 || got > 4 {
			t.Errorf("%s: a third workspace may send %d messages to the host", c.name, got)
		}
	}
}

// TestServerHasOneBreaker checks that a gate without hosts pauses all workspaces when its server fails, and that one of
// them tests it.
func TestServerHasOneBreaker(t *testing.T) {
	g := NewGate(GateConfig{Places: 16, MinPause: time.Second, MaxPause: time.Second})
	for range BreakAfter {
		g.Note(Target{"a", "smtp"}, true, began)
	}
	if !g.Failing(Target{"b", "smtp"}) || enter(g, Target{"b", "smtp"}, began) != 0 {
		t.Error("another workspace uses the server that fails")
	}
	if !g.Plan(began).Full("b") {
		t.Error("what waits for the server that fails is looked at")
	}
	later := began.Add(time.Second)
	if g.Plan(later).Full("b") {
		t.Error("after the pause, nothing is looked at")
	}
	if a, b := enter(g, Target{"a", "smtp"}, later), enter(g, Target{"b", "smtp"}, later); a != 1 || b != 0 {
		t.Errorf("%d and %d messages test the server", a, b)
	}
	g.Note(Target{"a", "smtp"}, false, later)
	if got := enter(g, Target{"b", "smtp"}, later); got != 8 && got != 7 {
		t.Errorf("one workspace may send %d messages at a time", got)
	}
}

// TestRoomIsWhatIsAdmitted checks that a plan admits as many messages of a workspace as it says it has room for, to
// hosts that differ, beside messages of others, with and without limits, and with a server that works, fails or is
// tested.
func TestRoomIsWhatIsAdmitted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 2000 {
		g := NewGate(GateConfig{
			Places: 1 + random.IntN(20), PerWorkspace: random.IntN(8), PerHost: random.IntN(2), MinPause: time.Second,
			MaxPause: time.Second,
		})
		for range random.IntN(2 * BreakAfter) {
			g.Note(Target{"other", "other"}, true, began)
		}
		p := g.Plan(began.Add(time.Duration(random.IntN(2)) * time.Second))
		for i := range random.IntN(g.Places + 1) {
			if to := (Target{[]string{"a", "b", "other"}[random.IntN(3)], fmt.Sprint("held ", i)}); p.Admits(to) {
				p.Add(to)
			}
		}
		room, admitted := p.Room("a"), 0
		for to := (Target{"a", "0"}); p.Admits(to); to.Host = fmt.Sprint(admitted) {
			p.Add(to)
			admitted++
		}
		if admitted != room || !p.Full("a") {
			t.Fatalf("%d: a plan with room for %d messages admits %d: %+v", n, room, admitted, g.GateConfig)
		}
	}
	if (*Plan)(nil).Full("a") {
		t.Error("no plan admits nothing")
	}
}

// TestHostHasAMaximum checks how many messages all workspaces together send to one host.
func TestHostHasAMaximum(t *testing.T) {
	g, sent := testGate(), 0
	for n := range 40 {
		sent += enter(g, Target{fmt.Sprint(n), "host"}, began)
	}
	if sent != 4*g.PerHost {
		t.Errorf("%d messages go to one host at a time", sent)
	}
	if enter(g, Target{"0", "other"}, began) == 0 {
		t.Error("another host is closed")
	}
}

func TestBreakersAreBounded(t *testing.T) {
	b := newBreakers(time.Second, time.Minute)
	for n := range 3 * maxBreakers {
		b.note(Target{fmt.Sprint(n % 7), fmt.Sprint(n)}, true, began)
		count := 0
		if n%1000 == 0 || n > maxBreakers-3 && n < maxBreakers+3 {
			for _, hosts := range b.failing {
				count += len(hosts)
			}
			if count > maxBreakers || count != b.count {
				t.Fatalf("%d hosts are tracked, and %d are counted", count, b.count)
			}
		}
	}
	for n := range 3 * maxBreakers {
		b.note(Target{fmt.Sprint(n % 7), fmt.Sprint(n)}, false, began)
	}
	if b.count != 0 || len(b.failing) != 0 {
		t.Errorf("%d are counted after their successes, and %d workspaces are tracked", b.count, len(b.failing))
	}
}

// TestBreakersOfOthersStay checks that the failing targets of one workspace do not displace another workspace's.
func TestBreakersOfOthersStay(t *testing.T) {
	b, small := newBreakers(time.Second, time.Minute), Target{"small", "a"}
	for range BreakAfter {
		b.note(small, true, began)
	}
	for n := range 2 * maxBreakers {
		b.note(Target{"large", fmt.Sprint(n)}, true, began)
	}
	if b.max(small, began) != 0 {
		t.Error("the pause of another workspace's target has ended")
	}
}

// message is a message that is to be sent, in a test of the gate.
type message struct {
	to    Target
	due   time.Time
	hangs bool
}

// hangingMessages draws messages of workspaces whose hosts hang.
func hangingMessages(t *rapid.T, workspaces, hostsEach int) (all []message) {
	for w := range workspaces {
		for n := range rapid.IntRange(1, 100).Draw(t, "messages") {
			host := fmt.Sprintf("%d.%d", w, n%hostsEach)
			if n%5 == 0 {
				host = "shared" // shared with workspaces that do not hang
			}
			all = append(all, message{Target{fmt.Sprint("hanging ", w), host}, began, true})
		}
	}
	return all
}

// TestNobodyIsLate simulates workspaces with messages for random hosts. The messages of up to eleven workspaces hang
// for 20 seconds and are tried again. Every message of the others is sent in the second in which it is due.
func TestNobodyIsLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := testGate()
		hanging := rapid.IntRange(0, 11).Draw(t, "hanging workspaces")
		hostsEach := rapid.IntRange(1, 40).Draw(t, "hosts of each")
		waiting := hangingMessages(t, hanging, hostsEach)
		type ending struct {
			message
			at      time.Time
			release func()
		}
		var sending []ending
		for second := range 90 {
			now := began.Add(time.Duration(second) * time.Second)
			left := sending[:0]
			for _, s := range sending {
				if s.at.After(now) {
					left = append(left, s)
					continue
				}
				s.release()
				if g.Note(s.to, s.hangs, now); s.hangs {
					s.due = now.Add(5 * time.Second)
					waiting = append(waiting, s.message)
				}
			}
			sending = left
			if second%7 == rapid.IntRange(0, 6).Draw(t, "moment") {
				waiting = append(waiting, message{Target{"works", fmt.Sprint("fine ", second)}, now, false})
			}
			plan := g.Plan(now)
			still := waiting[:0]
			for _, m := range waiting {
				if m.due.After(now) || !plan.Admits(m.to) {
					if still = append(still, m); !m.hangs {
						t.Fatalf("after %d s, the message to %s waits for %d hanging workspaces", second, m.to.Host,
							hanging)
					}
					continue
				}
				plan.Add(m.to)
				took := time.Second
				if m.hangs {
					took = 20 * time.Second
				}
				sending = append(sending, ending{m, now.Add(took), g.Enter(m.to)})
			}
			waiting = still
		}
		for _, s := range sending {
			s.release()
		}
		if g.Free() != g.Places {
			t.Fatalf("%d places are free after all", g.Free())
		}
	})
}
