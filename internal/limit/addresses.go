package limit

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// networkFactor is how much more than one address an IPv6 network of 64 bits
// may send: it is what one customer gets, and may hold many machines.
const networkFactor = 10

// Addresses limits events by the address that they come from. An IPv6 address
// also counts for its network of 64 bits, which has ten times the limit. An
// IPv4 address is the same one when it is written as an IPv6 address. It is
// safe for concurrent use.
type Addresses struct {
	addresses *table[[16]byte]
	networks  *table[uint64]
}

// NewAddresses returns an Addresses that allows at most most events per address
// in any window. With most 0 it allows everything and keeps nothing.
func NewAddresses(most int, window time.Duration) *Addresses {
	return &Addresses{
		addresses: newTable[[16]byte](most, window, MaxKeys),
		networks:  newTable[uint64](networkFactor*most, window, MaxKeys),
	}
}

// Full reports whether Take would refuse an event from an address at now. It
// counts nothing.
func (a *Addresses) Full(addr netip.Addr, now time.Time) bool {
	if a.addresses.most <= 0 {
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

// Take decides about an event from an address at now, and counts it if both the
// address and its network allow it. Zones are ignored. The verdict's Limit is
// the address's, its Remaining the smaller of the two, its Reset that of the
// one that decides.
func (a *Addresses) Take(addr netip.Addr, now time.Time) Verdict {
	if a.addresses.most <= 0 {
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

// AddressOf returns the address of an http.Request's RemoteAddr, with or without
// a port, without a zone, and an IPv4 address as such. Everything that is not an
// address shares the zero Addr, and so one limit.
func AddressOf(remote string) netip.Addr {
	p, err := netip.ParseAddrPort(remote)
	addr := p.Addr()
	if err != nil {
		addr, _ = netip.ParseAddr(remote)
	}
	return addr.WithZone("").Unmap()
}
