package page

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/limit"
)

// How many sign-ups are accepted in signUpWindow, besides Config.SignUps, which
// is the limit of all together.
const (
	signUpsPerAddress = 10  // the limiter gives an IPv6 network of 64 bits ten times that
	signUpsPerNetwork = 100 // of an IPv4 network of 24 bits or an IPv6 network of 48
	signUpsPerMailbox = 5   // over all pages and clients; further ones get the usual response
	signUpWindow      = time.Hour
)

// signUps limits how often a client can have mail sent to addresses that may not
// be its own.
type signUps struct {
	addresses *limit.Addresses
	networks  *limit.Limiter
	all       *limit.Limiter // of one key
	mailboxes *limit.Limiter // by allswell.MailboxKey, so that nobody is buried in questions

	log    *slog.Logger
	mu     sync.Mutex
	warned time.Time // when the limit of all together was last reported
}

// newSignUps returns limits that allow at most most sign-ups altogether; 0 means
// any number.
func newSignUps(most int, log *slog.Logger) *signUps {
	return &signUps{
		addresses: limit.NewAddresses(signUpsPerAddress, signUpWindow), networks: limit.New(signUpsPerNetwork, signUpWindow),
		all: limit.New(most, signUpWindow), mailboxes: limit.New(signUpsPerMailbox, signUpWindow), log: log,
	}
}

// take decides about a sign-up from addr at now. The address comes first, and
// all together last, so that what one client is refused takes nothing from the
// others.
func (l *signUps) take(addr netip.Addr, now time.Time) limit.Verdict {
	if v := l.addresses.Take(addr, now); !v.Allowed {
		return v
	}
	v := l.networks.Take(networkName(addr), now)
	if !v.Allowed {
		return v
	}
	if all := l.all.Take("", now); !all.Allowed {
		l.warn(all, now)
		return all
	}
	return v
}

// networkName names the network of an address: 24 bits of IPv4, 48 of IPv6. What
// is no address, as on a Unix socket, is one network.
func networkName(addr netip.Addr) string {
	addr = addr.Unmap()
	bits := 48
	if addr.Is4() {
		bits = 24
	}
	network, err := addr.WithZone("").Prefix(bits)
	if err != nil {
		network = netip.Prefix{}
	}
	return network.String()
}

// warn logs that the limit of all together is reached, once in signUpWindow.
func (l *signUps) warn(v limit.Verdict, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.warned.IsZero() || now.Sub(l.warned).Abs() >= signUpWindow {
		l.warned = now
		l.log.Warn("sign-ups by e-mail are refused: the limit of all together is reached", "limit", v.Limit, "until", v.Reset)
	}
}
