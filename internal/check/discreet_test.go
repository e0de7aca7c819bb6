package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/addressguard"
)

// discreetNetwork refuses what is not public. Its name server knows some names.
func discreetNetwork(t *testing.T) *Network {
	server := nameServer(t, "inside.test. 60 IN A 10.0.0.7", "loopback.test. 60 IN A 127.0.0.1",
		"cloud.test. 60 IN A 169.254.169.254",
		"six.test. 60 IN AAAA fd12::7")
	return &Network{
		Rules: Rules{Discreet: true, Refuse: func(_ string, a netip.AddrPort) error {
			if addressguard.CheckPublic(a.Addr()) != nil {
				return errors.New("it is not public")
			}
			return nil
		}},
		Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server)
		}},
	}
}

// TestInternalNames checks that no type of check tells a name with an address that is refused from one that does not
// exist.
func TestInternalNames(t *testing.T) {
	n := discreetNetwork(t)
	for kind, config := range map[string]map[string]any{
		"http": {"url": "http://HOST:1/"}, "websocket": {"url": "ws://HOST:1/"}, "tcp": {"host": "HOST", "port": 1},
		"tls": {"host": "HOST", "port": 1},
		"dns": {"host": "example.com", "resolver": "HOST:1"}, "icmp": {"host": "HOST"},
		"smtp": {"host": "HOST", "port": 1},
		"grpc": {"host": "HOST", "port": 1}, "postgres": {"host": "HOST", "port": 1, "username": "u"},
		"mysql": {"host": "HOST", "port": 1, "username": "u"}, "redis": {"host": "HOST", "port": 1},
	} {
		t.Run(kind, func(t *testing.T) {
			outcome := func(host string) Outcome {
				var pairs []any
				for name, value := range config {
					if text, ok := value.(string); ok {
						value = strings.ReplaceAll(text, "HOST", host)
					}
					pairs = append(pairs, name, value)
				}
				o := Run(t.Context(), n, probe(t, monitor.MonitorType(kind), fields(t, pairs...)), testTimeout)
				o.Failure = strings.ReplaceAll(o.Failure, host, "HOST")
				if o.Phases.Connect != 0 {
					t.Errorf("%s: the phases tell that an address was tried: %+v", host, o.Phases)
				}
				o.Phases = monitor.CheckPhases{}
				return o
			}
			unknown := outcome("unknown.test")
			if unknown.Failure != "the name HOST has no address" {
				t.Errorf("an unknown name: %+v", unknown)
			}
			for _, host := range []string{"inside.test", "loopback.test", "cloud.test", "six.test"} {
				o := outcome(host)
				if o.Failure != unknown.Failure || o.Unknown != unknown.Unknown || o.Answered != unknown.Answered {
					t.Errorf("%s: %+v, expected %+v", host, o, unknown)
				}
			}
		})
	}
	o := Run(t.Context(), n, probe(t, "tcp", fields(t, "host", "10.0.0.7", "port", 1)), testTimeout)
	if o.Failure != "checks may not connect to 10.0.0.7: it is not public" || !o.Unknown {
		t.Errorf("an address has no reason: %+v", o)
	}
	n.Discreet = false
	o = Run(t.Context(), n, probe(t, "tcp", fields(t, "host", "inside.test", "port", 1)), testTimeout)
	if o.Failure != "checks may not connect to 10.0.0.7: it is not public" || !o.Unknown {
		t.Errorf("without discretion: %+v", o)
	}
}

// internalAnswers says for names and types of records whether a discreet check tells what their records are.
var internalAnswers = map[string]map[string]bool{
	"A": {
		"a.example.com": true, "b.example.com": false, "db.example.com": false, "unknown.example.com": false,
		"web.internal": false,
		"wiki":         false, "nas.home.arpa": false, "x.example": false, "a.github.io": true,
		"none.internal": false,
	},
	"AAAA": {"c.example.com": false, "d.example.com": false, "a.example.com": false},
	"PTR": {
		"10.0.0.7": false, "9.9.9.9": true, "9.9.9.10": false, "fd12::1": false, "7.0.0.10.IN-ADDR.ARPA": false,
		"10.in-addr.arpa": false,
		"8.8.8.8":         false,
	},
	"CNAME": {
		"c-out.example.com": true, "c-in.example.com": false, "c-low.example.com": false,
		"c-gone.example.com": true,
	},
	"MX": {
		"m-out.example.com": true, "m-in.example.com": false, "m-low.example.com": false, "a.example.com": false,
	},
	"SRV": {"s-out.example.com": true, "s-in.example.com": false, "s-low.example.com": false},
	"NS":  {"n-out.example.com": true, "n-in.example.com": false, "n-low.example.com": false},
}

var internalRecords = []string{
	"a.example.com. 60 IN A 9.9.9.9", "b.example.com. 60 IN A 9.9.9.9", "b.example.com. 60 IN A 10.0.0.7",
	"c.example.com. 60 IN AAAA fd12::1", "d.example.com. 60 IN AAAA ::ffff:10.0.0.7",
	"db.example.com. 60 IN A 10.1.2.3",
	"web.internal. 60 IN A 9.9.9.9", "wiki. 60 IN A 9.9.9.9", "nas.home.arpa. 60 IN A 9.9.9.9",
	"x.example. 60 IN A 9.9.9.9",
	"a.github.io. 60 IN A 9.9.9.9",
	"7.0.0.10.in-addr.arpa. 60 IN PTR a.example.com.", "9.9.9.9.in-addr.arpa. 60 IN PTR a.example.com.",
	"10.9.9.9.in-addr.arpa. 60 IN PTR db.example.com.",
	"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.1.d.f.ip6.arpa. 60 IN PTR a.example.com.",
}

// TestInternalAnswers checks which answers of this machine's name server are told where private addresses are
// forbidden.
func TestInternalAnswers(t *testing.T) {
	records := slices.Clone(internalRecords)
	for target, name := range map[string]string{
		"a.example.com.": "out", "db.example.com.": "in", "mail.corp.": "low", "gone.example.com.": "gone",
	} {
		records = append(records, fmt.Sprintf("c-%s.example.com. 60 IN CNAME %s", name, target),
			fmt.Sprintf("m-%s.example.com. 60 IN MX 10 %s", name, target),
			fmt.Sprintf("s-%s.example.com. 60 IN SRV 1 1 80 %s", name, target),
			fmt.Sprintf("n-%s.example.com. 60 IN NS %s", name, target))
	}
	n := discreetNetwork(t)
	n.nameServer = nameServer(t, records...)
	n.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", n.nameServer)
	}}
	ask := func(name, kind string) Outcome {
		return Run(t.Context(), n, probe(t, "dns", fields(t, "host", name, "record_type", kind)), testTimeout)
	}
	for kind, names := range internalAnswers {
		for name, told := range names {
			o := ask(name, kind)
			want := ""
			if !told {
				want = fmt.Sprintf("%s has no %s record", name, kind)
			}
			if o.Failure != want || !o.Answered || o.Unknown || o.Body != "" {
				t.Errorf("%s %s: %+v, expected %q", name, kind, o, want)
			}
		}
	}
	n.Discreet = false
	if o := ask("wiki", "A"); o.Failure != "" {
		t.Errorf("where private addresses are permitted: %+v", o)
	}
}
