package checker

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/addressguard"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/trigger"
)

// TestWhatIsNoted checks which targets say something about this replica's network, and when they did.
func TestWhatIsNoted(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for host, noted := range map[string]bool{
		"example.com": true, "192.0.2.1": true, "2001:db8::1": true, "localhost": false, "127.0.0.1": false,
		"127.9.9.9": false, "::1": false,
		"::ffff:127.0.0.1": false, "0.0.0.0": false, "::": false, "": false, "localhost.example": true,
	} {
		r := newReachability()
		if r.works(target("other"), time.Time{}) {
			t.Error("the network works before any answer")
		}
		if r.note(reachable{target(host), nil, "ws_1"}, false, time.Minute, now); len(r.hosts) != 0 {
			t.Errorf("%q, which never answered, is noted", host)
		}
		r.note(reachable{target(host), nil, "ws_1"}, true, time.Minute, now)
		if got := len(r.hosts) == 1; got != noted {
			t.Errorf("%q is noted: %t", host, got)
		}
		for since, works := range map[time.Duration]bool{-1: true, 0: true, 1: false} {
			if got := r.works(target("other"), now.Add(since)); got != (noted && works) {
				t.Errorf("an answer of %q shows %v after it that the network works: %t", host, since, got)
			}
		}
		if loopback := isLoopback(target(host)); host != "" && loopback == noted {
			t.Errorf("%q is this machine: %t", host, loopback)
		}
	}
}

// TestWhenHostsAreForgotten checks that the longest interval of a host's checks counts, and that hosts are searched
// once a minute.
func TestWhenHostsAreForgotten(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newReachability()
	r.note(reachable{target("often and seldom"), nil, "ws_1"}, true, time.Hour, now)
	r.note(reachable{target("often and seldom"), nil, "ws_1"}, true, time.Minute, now)
	r.note(reachable{target("often"), nil, "ws_1"}, true, time.Minute, now)
	r.note(reachable{target("witness"), nil, "ws_1"}, true, 24*time.Hour, now)
	const short, long = keptIntervals*time.Minute + keptTime, keptIntervals*time.Hour + keptTime
	for _, step := range []struct {
		after time.Duration
		want  int
	}{
		{short, 3}, {short + sweepInterval - 1, 3}, {short + sweepInterval, 2}, {long, 2},
		{long + sweepInterval - 1, 2}, {long + sweepInterval, 1},
	} {
		r.note(reachable{target("witness"), nil, "ws_1"}, true, 24*time.Hour, now.Add(step.after))
		if len(r.hosts) != step.want {
			t.Errorf("after %v: %d hosts, want %d", step.after, len(r.hosts), step.want)
		}
	}
}

// TestBackAfterALoss checks how long after the first answer the failure to reach a host says nothing about it.
func TestBackAfterALoss(t *testing.T) {
	v := &verdicts{reachability: newReachability()}
	v.note(reachable{target("a"), nil, "ws_1"}, true, time.Minute)
	if !v.back.IsZero() {
		t.Errorf("back at %v, without a loss", v.back)
	}
	v.cutOff = time.Now()
	v.note(reachable{target("localhost"), nil, "ws_1"}, true, time.Minute)
	if v.note(reachable{target(""), nil, "ws_1"}, true, time.Minute); !v.back.IsZero() {
		t.Errorf("back at %v, because this machine answered", v.back)
	}
	if v.note(reachable{target("a"), nil, "ws_1"}, false, time.Minute); !v.back.IsZero() {
		t.Errorf("back at %v, without an answer", v.back)
	}
	v.note(reachable{target("a"), nil, "ws_1"}, true, time.Minute)
	first := v.back
	if v.note(reachable{target("b"), nil, "ws_1"}, true, time.Minute); first.IsZero() || !v.back.Equal(first) {
		t.Errorf("back at %v, and then at %v", first, v.back)
	}
	for after, counts := range map[time.Duration]bool{backAge - 1: false, backAge: true} {
		v.reachability.answered = first.Add(time.Hour) // another host works all the time
		if got := v.counts(t.Context(), target("a"), first.Add(after), time.Minute); got != counts {
			t.Errorf("a check that began %v after the network was back counts: %t", after, got)
		}
	}
	if !v.counts(t.Context(), target("127.0.0.1"), first, time.Minute) {
		t.Error("a failure to reach this machine does not count")
	}
}

// TestWhyAddressesAreRefused checks what checks say of addresses that they may not reach.
func TestWhyAddressesAreRefused(t *testing.T) {
	_, own, err := net.ParseCIDR("198.51.100.0/24")
	if err != nil {
		t.Fatal(err)
	}
	own.IP = net.IPv4(8, 8, 4, 4) // which is public
	addresses := &addressguard.OwnAddresses{List: func() ([]net.Addr, error) { return []net.Addr{own}, nil }}
	listeners := []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:8080"), netip.MustParseAddrPort("0.0.0.0:0")}
	const notPublic, machine, itself = "it is not public (ALLSWELL_CHECK_PRIVATE)",
		"it is this machine (ALLSWELL_CHECK_PRIVATE)", "it is this service (ALLSWELL_CHECK_SELF)"
	for target, want := range map[string][2]string{ // where private addresses are permitted, and where they are not
		"8.8.8.8:80": {}, "10.0.0.1:80": {"", notPublic}, "[fd00::1]:80": {"", notPublic}, "8.8.4.4:80": {"", machine},
		"8.8.4.4:8080": {itself, machine},
		"127.0.0.1:80": {"", machine}, "127.0.0.1:8080": {itself, machine}, "0.0.0.0:8080": {itself, machine},
		"127.0.0.1:0": {"", machine}, "10.0.0.1:8080": {"", notPublic},
	} {
		first, others := newGuards(Config{Private: PrivateAuto, Listeners: listeners})
		for i, g := range []*guard{first, others} {
			g.own = addresses
			got := ""
			if err := g.rules().Refuse("tcp", netip.MustParseAddrPort(target)); err != nil {
				got = err.Error()
			}
			if got != want[i] {
				t.Errorf("%s of guard %d: %q, want %q", target, i, got, want[i])
			}
			if g.rules().Discreet != (i == 1) {
				t.Errorf("guard %d is discreet: %t", i, g.rules().Discreet)
			}
			g.own = &addressguard.OwnAddresses{List: func() ([]net.Addr, error) { return nil, errors.New("?") }}
			err := g.refuse("tcp", netip.MustParseAddrPort(target))
			if err == nil || err.Error() != "this machine's own addresses cannot be read" {
				t.Errorf("%s of guard %d without addresses: %v", target, i, err)
			}
		}
	}
}

// TestPlacesOfSlowHosts checks where checks run by what is known of their hosts, for one workspace and for several.
func TestPlacesOfSlowHosts(t *testing.T) {
	c := &Checker{Config: Config{Concurrency: 5}}
	p := newPlaces(c, trigger.New())
	if p.fast.Free() != 3 || p.slow.Free() != 2 || p.plan().free() != 5 {
		t.Errorf("%d places, and %d for slow hosts", p.fast.Free(), p.slow.Free())
	}
	p.note(at{"acme", "hangs"}, true)
	plan := p.plan()
	for _, c := range []struct {
		workspace, host string
		pool            *fair.Shares
		named           bool
	}{
		{"acme", "hangs", plan.slow, true}, {"other", "hangs", plan.fast, true}, {"acme", "answers", plan.fast, true},
		{"acme", "", plan.fast, false},
	} {
		if pool, keys := plan.place(c.workspace, c.host); pool != c.pool || (len(keys) > 0) != c.named {
			t.Errorf("%s of %s: %d keys, the place of a slow host %t", c.host, c.workspace, len(keys),
				pool == plan.slow)
		}
	}
	if p.note(at{"acme", "hangs"}, false); p.isSlow(at{"acme", "hangs"}) {
		t.Error("a host that answers is slow")
	}
	c.isOnlyFirst = true
	if alone := p.keys(at{"acme", "answers"}); len(alone) != 1 || !slices.Equal(alone, p.keys(at{"other", "answers"})) {
		t.Errorf("a workspace that is alone shares its places: %v", alone)
	}
	c.isOnlyFirst = false
	shared := p.keys(at{"acme", "answers"})
	if len(shared) != 4 || shared[2] != fair.Workspace("acme") || slices.Equal(shared, p.keys(at{"other", "answers"})) {
		t.Errorf("a workspace among others shares no places: %v", shared)
	}
	for i := range maxSlowHosts {
		p.note(at{"acme", fmt.Sprint(i)}, true)
	}
	if len(p.slowHosts) != maxSlowHosts {
		t.Errorf("%d slow hosts are known", len(p.slowHosts))
	}
	if p.note(at{"acme", "one more"}, true); len(p.slowHosts) != maxSlowHosts || !p.isSlow(at{"acme", "one more"}) {
		t.Errorf("%d slow hosts are known after one more", len(p.slowHosts))
	}
}

// TestObservedDelays checks what is observed of a result.
func TestObservedDelays(t *testing.T) {
	due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]time.Duration{-time.Second: 0, 0: 0, time.Second: time.Second} {
		observed := 0
		c := &Checker{Config: Config{Observe: func(status monitor.CheckStatus, delay time.Duration) {
			observed++
			if status != monitor.CheckSlow || delay != want {
				t.Errorf("%s after %v, want %v", status, delay, want)
			}
		}}}
		(&recorder{checker: c}).observe(monitor.CheckResult{
			Status: monitor.CheckSlow, DueAt: due, StartedAt: due.Add(after),
		})
		if observed != 1 {
			t.Errorf("%d results are observed", observed)
		}
	}
	(&recorder{checker: new(Checker)}).observe(monitor.CheckResult{})
}

// TestSinceWhenAnswersShow checks from when on an answer shows that the network works.
func TestSinceWhenAnswersShow(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for began, want := range map[time.Duration]time.Duration{
		-time.Minute: -answerAge, -answerAge: -answerAge, -answerAge + 1: -answerAge + 1, 0: 0,
	} {
		if got := shownSince(now.Add(began), now); got.Sub(now) != want {
			t.Errorf("of a check that began at %v: %v, want %v", began, got.Sub(now), want)
		}
	}
	for after, want := range map[time.Duration]bool{cutOffAge - 1: true, cutOffAge: false} {
		if got := (&verdicts{reachability: newReachability(), cutOff: now}).isCutOff(now.Add(after)); got != want {
			t.Errorf("%v after it reached nothing it is cut off: %t", after, got)
		}
	}
}
