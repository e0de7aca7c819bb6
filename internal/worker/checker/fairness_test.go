package checker

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// silent returns the address of a server that accepts connections and says nothing, at an address of the loopback
// network.
func silent(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String() // the kernel completes the handshakes
}

// TestSilentHostDelaysNoOther checks that 300 monitors of one host that says nothing, all of them due earlier, delay
// neither checks of another host in their workspace nor checks of another workspace, even at the same host.
func TestSilentHostDelaysNoOther(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		noisy, _ := storetest.Workspace(t, s, "noisy")
		quiet, _ := storetest.Workspace(t, s, "quiet")
		target, web := "http://"+silent(t, "127.0.0.1"), newSite(t)
		for i := range 300 {
			create(t, s, noisy, fmt.Sprint("silent ", i), target)
		}
		here := create(t, s, noisy, "here", "http://localhost:"+web.port())
		there := create(t, s, quiet, "there", web.URL)
		c := newChecker(t, s, "a", nil, func(c *Config) { c.Concurrency, c.Private = 40, PrivateOn })
		work, stop := context.WithCancel(t.Context())
		d := newDispatcher(c, work)
		for range 50 { // claims that do not wait for silent checks
			d.claim(t.Context())
			for len(c.results) > 0 {
				r := <-c.results
				if r.MonitorID != here.ID && r.MonitorID != there.ID {
					t.Fatalf("a result before any timeout: %+v", r)
				}
				if r.Status != monitor.CheckOK {
					t.Errorf("result %+v", r)
				}
				if r.MonitorID == here.ID {
					here.ID = ""
				} else {
					there.ID = ""
				}
			}
			if here.ID == "" && there.ID == "" {
				break
			}
			select {
			case <-d.ended:
			case <-time.After(100 * time.Millisecond):
			}
		}
		if here.ID != "" || there.ID != "" {
			t.Error("the other checks have no results")
		}
		if d.places.taken() > perHost {
			t.Errorf("%d checks of one host and workspace run", d.places.taken())
		}
		n := due(t, s) + d.places.taken()
		for deadline := time.Now().Add(10 * time.Second); n > 302 &&
			time.Now().Before(deadline); n = due(t, s) + d.places.taken() {
			time.Sleep(10 * time.Millisecond) // a check that ends is due again before its place is free
		}
		if n < 300 || n > 302 { // the others may be due again
			t.Errorf("%d checks of the host are due or run", n)
		}
		stop()
		d.drain(stop)
	})
}

// due returns how many checks are due.
func due(t *testing.T, s *store.Store) int {
	t.Helper()
	claimed, _, err := s.ClaimChecks(t.Context(), store.CheckClaim{Replica: "another", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(claimed)
}

// TestSilentWorkspaceLeavesPlaces checks that checks of many silent hosts of one workspace take no more than half of
// the places for hosts that are not known to be slow, and that the checks of a workspace that appears later run.
func TestSilentWorkspaceLeavesPlaces(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	noisy, _ := storetest.Workspace(t, s, "noisy")
	quiet, _ := storetest.Workspace(t, s, "quiet")
	for i := range 100 {
		create(t, s, noisy, fmt.Sprint("silent ", i), "http://"+silent(t, fmt.Sprintf("127.0.1.%d", i+1)))
	}
	c := newChecker(t, s, "a", nil, func(c *Config) { c.Concurrency, c.Private = 40, PrivateOn })
	work, stop := context.WithCancel(t.Context())
	d := newDispatcher(c, work)
	for d.claim(t.Context()) == 0 { // until all hosts are known
	}
	if d.places.taken() != 10 {
		t.Errorf("%d checks of one workspace run", d.places.taken())
	}
	create(t, s, quiet, "late", "http://"+silent(t, "127.0.2.1"))
	for d.claim(t.Context()) == 0 {
	}
	if d.places.taken() != 11 || !d.full {
		t.Errorf("with another workspace, %d checks run; others are due: %v", d.places.taken(), d.full)
	}
	stop()
	d.drain(stop)
}
