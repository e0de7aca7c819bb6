package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	probing "github.com/prometheus-community/pro-bing"
)

// echoInterval is the time between two packets.
const echoInterval = 200 * time.Millisecond

var icmpType = Type{
	Name: "icmp", Label: "Ping (ICMP)", Help: "Sends echo requests, and measures loss and round trips.",
	Fields: []Field{
		hostField("router.example.com"),
		{
			Name: "packets", Label: "Packets", Help: "Number of echo requests of a check.",
			Kind: configfield.KindInteger, Min: 1, Max: 20, Default: "3",
		},
		{
			Name: "max_loss", Label: "Maximum loss", Help: "Percentage of packets that may be lost.",
			Kind: configfield.KindInteger, Min: 0, Max: 99, Default: "50",
		},
		ipVersionField,
	},
	New: func() Probe { return &icmpProbe{Packets: 3, MaxLoss: 50} },
}

type icmpProbe struct {
	Host      string `json:"host"`
	Packets   int    `json:"packets"`
	MaxLoss   int    `json:"max_loss"`
	IPVersion string `json:"ip_version,omitzero"`
}

// Validate adds what is invalid.
func (p *icmpProbe) Validate(bad *kernel.ValidationError) { checkHost(bad, "host", &p.Host) }

// Destination returns where secrets are sent.
func (p *icmpProbe) Destination() configfield.Destination {
	return configfield.Destination{strings.ToLower(p.Host)}
}

// Target returns the target, without a port.
func (p *icmpProbe) Target() Target { return Target{p.Host, 0} }

func (p *icmpProbe) run(ctx context.Context, r *run) Outcome {
	address, err := r.resolve(ctx, p.Host, "ip"+p.IPVersion)
	if err != nil {
		return r.fail(err)
	}
	r.enter(stageWaiting)
	statistics, err := p.send(ctx, r, address, datagramSocket)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EPROTONOSUPPORT) || errors.Is(err, syscall.EACCES) {
		statistics, err = p.send(ctx, r, address, rawSocket)
		if errors.Is(err, os.ErrPermission) {
			return Outcome{Failure: "this machine does not permit ICMP: see net.ipv4.ping_group_range", Unknown: true}
		}
	}
	if err != nil && ctx.Err() == nil {
		return r.fail(err)
	}
	return p.judge(r, statistics, address)
}

// socket is the kind of socket that packets are sent through.
type socket int

const (
	datagramSocket socket = iota // Linux permits it to the groups in net.ipv4.ping_group_range
	rawSocket                    // needs the capability CAP_NET_RAW
)

// send sends the packets.
func (p *icmpProbe) send(
	ctx context.Context, r *run, address netip.Addr, through socket,
) (*probing.Statistics, error) {
	pinger := probing.New("")
	pinger.SetLogger(probing.NoopLogger{})
	pinger.SetIPAddr(&net.IPAddr{IP: address.AsSlice(), Zone: address.Zone()})
	pinger.SetPrivileged(through == rawSocket)
	pinger.Count, pinger.Interval, pinger.Timeout = p.Packets, echoInterval, r.timeout
	pinger.RecordRtts, pinger.RecordTTLs = false, false
	err := pinger.RunWithContext(ctx)
	return pinger.Statistics(), err
}

func (p *icmpProbe) judge(r *run, s *probing.Statistics, address netip.Addr) Outcome {
	if s.PacketsRecv == 0 {
		return Outcome{Failure: "no reply from " + address.String() + " within " + seconds(r.timeout)}
	}
	sent := max(s.PacketsSent, p.Packets)
	lost := 100 * (sent - min(s.PacketsRecv, sent)) / sent
	o := Outcome{Answered: true}
	r.mu.Lock()
	r.phases.FirstByte, r.phases.Total = s.AvgRtt, s.AvgRtt // of a packet, not of the whole check
	r.mu.Unlock()
	if lost > p.MaxLoss {
		o.Failure = fmt.Sprintf("%d %% of %d packets were lost, expected at most %d %%", lost, sent, p.MaxLoss)
	}
	return o
}

// resolve returns an address of a host, preferring IPv4. It returns an error if checks may not reach this address.
// family is "ip", "ip4" or "ip6".
func (r *run) resolve(ctx context.Context, host, family string) (netip.Addr, error) {
	r.mu.Lock()
	r.name, r.family = host, family
	r.enterLocked(stageResolving)
	r.mu.Unlock()
	addresses, err := cmp.Or(r.network.Resolver, net.DefaultResolver).LookupNetIP(ctx, family, host)
	r.mu.Lock()
	r.phases.DNS = time.Since(r.began)
	r.mu.Unlock()
	if err != nil {
		return netip.Addr{}, err
	}
	r.enter(stageConnecting)
	chosen := addresses[0].Unmap()
	for _, a := range addresses {
		if a.Unmap().Is4() && family != "ip6" {
			chosen = a.Unmap()
			break
		}
	}
	r.mu.Lock()
	r.address = chosen.String()
	r.mu.Unlock()
	network := strings.Replace(family, "ip", "icmp", 1)
	return chosen, r.control(ctx, network, netip.AddrPortFrom(chosen, 0).String(), nil)
}
