package checker

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/addressguard"
)

// PrivateMode is whether checks may connect to private addresses.
type PrivateMode string

// The modes.
const (
	PrivateAuto PrivateMode = "auto" // while there is one workspace
	PrivateOn   PrivateMode = "on"   // always
	PrivateOff  PrivateMode = "off"  // never
)

// guard decides which addresses checks may reach, besides the metadata services of clouds, which package check refuses.
type guard struct {
	private   PrivateMode
	self      bool
	listeners []netip.AddrPort // of this process
	own       *addressguard.OwnAddresses

	singleWorkspace atomic.Bool
	log             *slog.Logger
	warned          sync.Once
}

func newGuard(c Config) *guard {
	return &guard{
		private: c.Private, self: c.Self, listeners: c.Listeners,
		own: &addressguard.OwnAddresses{List: net.InterfaceAddrs}, log: c.Logger,
	}
}

// refuse returns why checks must not connect to an address, to follow "checks may not connect to ADDRESS: "; "": they may.
func (g *guard) refuse(network string, target netip.AddrPort) string {
	own, err := g.own.Has(target.Addr(), time.Now())
	if err != nil {
		return "this machine's own addresses cannot be read"
	}
	local := target.Addr().IsLoopback() || target.Addr().IsUnspecified()
	own = own || local
	if !g.forbidsPrivate() {
		if !g.self && own && g.isListener(target) {
			return "it is this service (ALLSWELL_CHECK_SELF)"
		}
		return ""
	}
	switch { // the same for all ports, and for all addresses of the private network
	case !local && addressguard.CheckPublic(target.Addr()) != nil:
		return "it is not public" + g.whyNotPrivate()
	case own:
		return "it is this machine" + g.whyNotPrivate()
	}
	return ""
}

// forbidsPrivate reports whether checks must not reach private addresses and this machine, nor tell which there are.
func (g *guard) forbidsPrivate() bool {
	return g.private == PrivateOff || g.private != PrivateOn && !g.singleWorkspace.Load()
}

// whyNotPrivate returns which setting forbids private addresses. If the reason is a second workspace, it is also logged
// once, because the checks worked before.
func (g *guard) whyNotPrivate() string {
	if g.private == PrivateOff {
		return " (ALLSWELL_CHECK_PRIVATE)"
	}
	g.warned.Do(func() {
		g.log.Warn("checks of private addresses and of this machine do not run, because there is more than one workspace: set ALLSWELL_CHECK_PRIVATE to on to permit them, or to off to silence this warning")
	})
	return ", and there is more than one workspace (ALLSWELL_CHECK_PRIVATE)"
}

// isListener reports whether one of this machine's addresses is one on which this process listens.
func (g *guard) isListener(target netip.AddrPort) bool {
	for _, l := range g.listeners {
		if l.Port() != 0 && l.Port() == target.Port() && (l.Addr().IsUnspecified() || l.Addr() == target.Addr() || target.Addr().IsUnspecified()) {
			return true
		}
	}
	return false
}
