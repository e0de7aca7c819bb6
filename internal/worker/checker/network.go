package checker

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/shared/addressguard"
)

// PrivateMode is whether checks may connect to private addresses.
type PrivateMode string

// The modes.
const (
	PrivateAuto PrivateMode = "auto" // only checks of the first workspace
	PrivateOn   PrivateMode = "on"   // all
	PrivateOff  PrivateMode = "off"  // none
)

// guard decides which addresses the checks of a workspace may reach, besides the addresses that package check always
// refuses.
type guard struct {
	private   bool // whether private addresses and this machine may be reached
	self      bool
	first     bool             // the workspace is the first one, which is the operator's
	listeners []netip.AddrPort // of this process
	own       *addressguard.OwnAddresses
}

// newGuards returns the guards of the first workspace and of all others.
func newGuards(c Config) (first, others *guard) {
	first = &guard{
		private: c.Private != PrivateOff, self: c.Self, first: true, listeners: c.Listeners,
		own: &addressguard.OwnAddresses{List: net.InterfaceAddrs},
	}
	copied := *first
	copied.private, copied.first = c.Private == PrivateOn, false
	return first, &copied
}

// rules returns what the guard permits. While private addresses are forbidden, checks do not reveal which ones exist.
func (g *guard) rules() check.Rules { return check.Rules{Refuse: g.refuse, Discreet: !g.private} }

// refuse returns why checks must not connect to an address, to follow "checks may not connect to ADDRESS: "; nil: they
// may.
func (g *guard) refuse(_ string, target netip.AddrPort) error {
	own, err := g.own.Has(target.Addr(), time.Now())
	if err != nil {
		return errors.New("this machine's own addresses cannot be read")
	}
	local := target.Addr().IsLoopback() || target.Addr().IsUnspecified()
	own = own || local
	switch {
	case g.private && !g.self && own && g.isListener(target) && g.first:
		return errors.New("it is this service (ALLSWELL_CHECK_SELF)")
	case g.private && !g.self && own && g.isListener(target):
		return syscall.ECONNREFUSED // other workspaces do not learn on which ports this process listens
	case g.private:
		return nil
	// the same for all ports, and for the whole private network
	case !local && addressguard.CheckPublic(target.Addr()) != nil:
		return errors.New("it is not public (ALLSWELL_CHECK_PRIVATE)")
	case own:
		return errors.New("it is this machine (ALLSWELL_CHECK_PRIVATE)")
	}
	return nil
}

// isListener reports whether one of this machine's addresses is one on which this process listens.
func (g *guard) isListener(target netip.AddrPort) bool {
	for _, l := range g.listeners {
		if l.Port() != 0 && l.Port() == target.Port() &&
			(l.Addr().IsUnspecified() || l.Addr() == target.Addr() || target.Addr().IsUnspecified()) {
			return true
		}
	}
	return false
}
