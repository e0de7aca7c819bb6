package limit

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// networkFactor is the limit of an IPv6 /64 network as a multiple of the limit of
// one address. Providers assign a /64 to one customer, who may have many machines.
const networkFactor = 10

// Addresses limits events by client address. An IPv6 address also counts towards its /64 network, which has ten times
// the limit. An IPv4-mapped IPv6 address counts as the IPv4 address. It is safe for concurrent use.
type Addresses struct {
	addresses *table[[16]byte]
	networks  *table[uint64]
}

// NewAddresses returns an Addresses that allows up to limit events per address
// in any window. If limit is 0, it allows every event and keeps no state.
func NewAddresses(limit int, window time.Duration) *Addresses {
	a := &Addresses{
		addresses: newTable[[16]byte](limit, window, MaxKeys),
		networks:  newTable[uint64](networkFactor*limit, window, MaxKeys),
	}
	// Take compares times of both tables, which must be counted from one reading of the clock.
	a.networks.base = a.addresses.base
	return a
}

// Full reports whether Take would refuse an event from addr at now. It does not count the event.
func (a *Addresses) Full(addr netip.Addr, now time.Time) bool {
	if a.addresses.limit <= 0 {
		return false
	}
	key := addr.As16()
	address := a.addresses.enter(key, now)
	full := address.full()
	address.leave()
	if full || addr.Is4() || addr.Is4In6() {
		return full
	}
	network := a.networks.enter(binary.BigEndian.Uint64(key[:8]), now)
	defer network.leave()
	return network.full()
}

// Take decides whether an event from addr at now is allowed, and counts it if both the address and its network allow
// it. Zones are ignored. Limit of the verdict is the limit of the address. Remaining and Reset apply to the address or
// to the network, whichever allows fewer further events.
func (a *Addresses) Take(addr netip.Addr, now time.Time) Verdict {
	if a.addresses.limit <= 0 {
		return Verdict{Allowed: true}
	}
	key := addr.As16()
	address := a.addresses.enter(key, now)
	defer address.leave()
	if addr.Is4() || addr.Is4In6() {
		if address.full() {
			return address.verdict(false)
		}
		address.add()
		return address.verdict(true)
	}
	network := a.networks.enter(binary.BigEndian.Uint64(key[:8]), now)
	defer network.leave()
	allowed := !address.full() && !network.full()
	if allowed {
		address.add()
		network.add()
	}
	v, n := address.verdict(allowed), network.verdict(allowed)
	switch {
	case n.Remaining < v.Remaining:
		v.Remaining, v.Reset = n.Remaining, n.Reset
	case n.Remaining == v.Remaining && n.Reset.After(v.Reset):
		v.Reset = n.Reset
	}
	return v
}
