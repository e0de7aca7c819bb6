package check

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/addressguard"
)

// discreetNetwork refuses what is not public. Its name server knows some names.
func discreetNetwork(t *testing.T) *Network {
	server := nameServer(t, "inside.test. 60 IN A 10.0.0.7", "loopback.test. 60 IN A 127.0.0.1", "cloud.test. 60 IN A 169.254.169.254",
		"six.test. 60 IN AAAA fd12::7")
	return &Network{
		Discreet: func() bool { return true },
		Refuse: func(_ string, a netip.AddrPort) string {
			if addressguard.CheckPublic(a.Addr()) != nil {
				return "it is not public"
			}
			return ""
		},
		Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server)
		}},
	}
}

// TestInternalNames checks that no type of check tells a name with an address that is refused from one that does not exist.
func TestInternalNames(t *testing.T) {
	n := discreetNetwork(t)
	for kind, config := range map[string]map[string]any{
		"http": {"url": "http://HOST:1/"}, "websocket": {"url": "ws://HOST:1/"}, "tcp": {"host": "HOST", "port": 1}, "tls": {"host": "HOST", "port": 1},
		"dns": {"host": "example.com", "resolver": "HOST:1"}, "icmp": {"host": "HOST"}, "smtp": {"host": "HOST", "port": 1},
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
				o := Run(t.Context(), n, probe(t, allswell.MonitorType(kind), fields(t, pairs...)), testTimeout)
				o.Failure = strings.ReplaceAll(o.Failure, host, "HOST")
				if o.Phases.Connect != 0 {
					t.Errorf("%s: the phases tell that an address was tried: %+v", host, o.Phases)
				}
				o.Phases = allswell.CheckPhases{}
				return o
			}
			unknown := outcome("unknown.test")
			if unknown.Failure != "the name HOST has no address" {
				t.Errorf("an unknown name: %+v", unknown)
			}
			for _, host := range []string{"inside.test", "loopback.test", "cloud.test", "six.test"} {
				if o := outcome(host); o.Failure != unknown.Failure || o.Unknown != unknown.Unknown || o.Answered != unknown.Answered {
					t.Errorf("%s: %+v, expected %+v", host, o, unknown)
				}
			}
		})
	}
	o := Run(t.Context(), n, probe(t, "tcp", fields(t, "host", "10.0.0.7", "port", 1)), testTimeout)
	if o.Failure != "checks may not connect to 10.0.0.7: it is not public" || !o.Unknown {
		t.Errorf("an address has no reason: %+v", o)
	}
	n.Discreet = nil
	o = Run(t.Context(), n, probe(t, "tcp", fields(t, "host", "inside.test", "port", 1)), testTimeout)
	if o.Failure != "checks may not connect to 10.0.0.7: it is not public" || !o.Unknown {
		t.Errorf("without discretion: %+v", o)
	}
}

// TestInternalAnswers checks which answers of this machine's name server tell of its network.
func TestInternalAnswers(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		records    []string
		internal   bool
	}{
		{"a.test.", "A", []string{"a.test. 60 IN A 9.9.9.9"}, false},
		{"a.test.", "A", []string{"a.test. 60 IN A 9.9.9.9", "a.test. 60 IN A 10.0.0.7"}, true},
		{"a.test.", "A", []string{"a.test. 60 IN CNAME b.test.", "b.test. 60 IN A 192.168.0.1"}, true},
		{"a.test.", "AAAA", []string{"a.test. 60 IN AAAA fd12::1"}, true},
		{"a.test.", "AAAA", []string{"a.test. 60 IN AAAA ::ffff:10.0.0.7"}, true},
		{"a.test.", "MX", nil, true},
		{"7.0.0.10.in-addr.arpa.", "PTR", []string{"7.0.0.10.in-addr.arpa. 60 IN PTR db.test."}, true},
		{"9.9.9.9.in-addr.arpa.", "PTR", []string{"9.9.9.9.in-addr.arpa. 60 IN PTR dns9.test."}, false},
		{"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.1.d.f.ip6.arpa.", "PTR", []string{
			"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.1.d.f.ip6.arpa. 60 IN PTR db.test.",
		}, true},
	} {
		answer := new(dns.Msg).SetQuestion(c.name, dns.StringToType[c.kind])
		for _, text := range c.records {
			record, err := dns.NewRR(text)
			if err != nil {
				t.Fatal(err)
			}
			answer.Answer = append(answer.Answer, record)
		}
		if got := new(dnsProbe).isInternal(answer); got != c.internal {
			t.Errorf("%s %s %v: internal %v", c.name, c.kind, c.records, got)
		}
	}
	if a := new(dns.Msg).SetRcode(new(dns.Msg).SetQuestion("a.test.", dns.TypeA), dns.RcodeNameError); !new(dnsProbe).isInternal(a) {
		t.Error("a name that does not exist differs from one without records")
	}
}
