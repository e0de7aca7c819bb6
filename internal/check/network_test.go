package check

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/resource/configfield"
)

// refusePrivate refuses private addresses, one of them as a closed port.
func refusePrivate(_ string, a netip.AddrPort) error {
	switch {
	case a.Addr() == netip.MustParseAddr("10.0.0.7") && a.Port() == 22:
		return syscall.ECONNREFUSED
	case a.Addr().IsPrivate():
		return errors.New("it is private")
	}
	return nil
}

// What comes of a connection: a reason, or a kind of error.
const (
	reasonNone    = ""
	reasonPrivate = "checks may not connect to 10.0.0.7: it is private"
	reasonCloud   = "checks may not connect to 169.254.169.254: it belongs to a cloud's metadata service"
	reasonClosed  = "a closed port"
	reasonUnknown = "an unknown name"
)

// TestRulesOfAddresses checks what a connection to an address results in, by the rules of the network and by how the
// address was given.
func TestRulesOfAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string // as the check has it
		address string
		rules   Rules
		trusted bool
		want    string
	}{
		{"a.test", "10.0.0.7:80", Rules{}, false, reasonNone},
		{"a.test", "169.254.169.254:80", Rules{}, false, reasonCloud},
		{"a.test", "[::ffff:169.254.169.254]:80", Rules{}, false, reasonCloud},
		{"a.test", "169.254.169.254:80", Rules{}, true, reasonNone},
		{"a.test", "10.0.0.7:80", Rules{Refuse: refusePrivate, Discreet: true}, true, reasonNone},
		{"a.test", "192.0.2.7:80", Rules{Refuse: refusePrivate, Discreet: true}, false, reasonNone},
		{"a.test", "10.0.0.7:80", Rules{Refuse: refusePrivate}, false, reasonPrivate},
		{"a.test", "[::ffff:10.0.0.7]:80", Rules{Refuse: refusePrivate}, false, reasonPrivate},
		{"10.0.0.7", "10.0.0.7:80", Rules{Refuse: refusePrivate}, false, reasonPrivate},
		{"a.test", "10.0.0.7:22", Rules{Refuse: refusePrivate}, false, reasonClosed},
		{"a.test", "[::ffff:10.0.0.7]:22", Rules{Refuse: refusePrivate}, false, reasonClosed},
		{"a.test", "169.254.169.254:80", Rules{Refuse: func(string, netip.AddrPort) error {
			return syscall.ECONNREFUSED
		}}, false, reasonCloud},
		{"a.test", "[fe80::1%eth0]:80", Rules{Refuse: refusePrivate}, false,
			"checks may not connect to fe80::1: it is link-local"},
		{"a.test", "10.0.0.7:80", Rules{Refuse: refusePrivate, Discreet: true}, false, reasonUnknown},
		{"a.test", "169.254.169.254:80", Rules{Discreet: true}, false, reasonUnknown},
		// who configured it knows the address
		{"10.0.0.7", "10.0.0.7:80", Rules{Refuse: refusePrivate, Discreet: true}, false, reasonPrivate},
		{"a.test", "no address", Rules{}, false, "refused"},
		{"a.test", "no address", Rules{}, true, "refused"},
	} {
		r := &run{network: &Network{Rules: c.rules, trusted: c.trusted}, name: c.name, address: c.address}
		err := r.control(t.Context(), "tcp", c.address, nil)
		got := r.refused
		var dnsErr *net.DNSError
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			got += reasonClosed
		case errors.As(err, &dnsErr):
			if got += reasonUnknown; !dnsErr.IsNotFound || dnsErr.Name != c.name || r.address != c.name {
				t.Errorf("%s at %s: %+v, at %s", c.name, c.address, dnsErr, r.address)
			}
		case errors.Is(err, errRefused) && got == "":
			got = "refused"
		case (err == nil) != (got == ""):
			t.Errorf("%s at %s: %v, %q", c.name, c.address, err, got)
		}
		if got != c.want {
			t.Errorf("%s at %s, %+v: %q, want %q", c.name, c.address, c.rules, got, c.want)
		}
	}
}

// doing is a probe that does something.
type doing struct {
	configfield.Destined
	do func(*run) Outcome
}

func (doing) Target() Target                          { return Target{} }
func (d doing) run(_ context.Context, r *run) Outcome { return d.do(r) }

// TestTimesOfRuns checks how long a check is said to have taken, and which facts of the run its outcome has.
func TestTimesOfRuns(t *testing.T) {
	t.Parallel()
	expiry, earlier := time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	of := func(do func(*run) Outcome) Outcome {
		return Run(t.Context(), new(Network), doing{do: do}, time.Hour)
	}
	within := func(name string, o Outcome, from time.Duration) {
		t.Helper()
		if d := o.Phases.Total; d < from || d > from+20*time.Minute {
			t.Errorf("%s: %v, want %v", name, d, from)
		}
	}
	begin := func(r *run) { r.started = time.Now().Add(-time.Hour) } // an hour ago
	within("all of it", of(func(r *run) Outcome { begin(r); return Outcome{} }), time.Hour)
	within("without waiting", of(func(r *run) Outcome {
		begin(r)
		r.wait(10 * time.Minute)
		r.wait(20 * time.Minute)
		return Outcome{}
	}), 30*time.Minute)
	within("until it is finished", of(func(r *run) Outcome {
		begin(r)
		r.wait(30 * time.Minute)
		r.finish()
		begin(r)
		return Outcome{}
	}), 30*time.Minute)
	within("as the probe says", of(func(r *run) Outcome {
		begin(r)
		r.phases.Total = time.Second
		return Outcome{}
	}), time.Second)
	for _, c := range []struct {
		seen, said, want time.Time
	}{
		{time.Time{}, time.Time{}, time.Time{}}, {expiry, time.Time{}, expiry}, {time.Time{}, expiry, expiry},
		{earlier, expiry, expiry},
	} {
		if o := of(func(r *run) Outcome {
			r.expires = c.seen
			return Outcome{CertificateExpiresAt: c.said}
		}); !o.CertificateExpiresAt.Equal(c.want) {
			t.Errorf("seen %v, said %v: %v", c.seen, c.said, o.CertificateExpiresAt)
		}
	}
	for _, c := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		o := of(func(r *run) Outcome {
			r.answered = c[0]
			r.phases.DNS = time.Minute
			return Outcome{Answered: c[1], Warning: "w"}
		})
		if o.Answered != (c[0] || c[1]) || o.Warning != "w" || o.Phases.DNS != time.Minute {
			t.Errorf("answered %v: %+v", c, o)
		}
	}
}
