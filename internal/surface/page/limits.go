package page

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/limit"
)

// The number of requests of each kind that use the database at the same time. Each kind has its own pool, so that a
// flood of one kind cannot starve the others. Within a pool, one workspace, one client address or one network has at
// most half of the places. Unsubscribing has the most places: mail providers send the request only once.
const (
	maxLoads             = 8 // of parts of pages that are not in memory
	maxSignUps           = 4
	maxKeyLookups        = 4
	maxLimitedKeyLookups = 1 // from clients above maxNotFoundPerAddress
	maxSubscriptionJobs  = 4 // showing, confirming and changing a subscription
	maxUnsubscribes      = 8
	maxTokenLookups      = 4
	maxLimitedTokens     = 1 // look-ups of tokens from clients above maxNotFoundPerAddress
	maxSessionLookups    = 4 // of members who look at private pages

	maxWaiting = 512 // requests that wait for a place, in each pool
)

// maxHostLookups is how many queries for unknown hosts WorkspaceOf may make in a second, because anybody can send any
// name in a handshake.
const maxHostLookups = 10

// formTimeout is how long a request of a subscriber waits for a place.
const formTimeout = 5 * time.Second

// runIn calls f while holding a place in a pool. If it does not get one within formTimeout, it returns kernel.ErrBusy
// and does not call f.
func runIn(ctx context.Context, p *fair.Pool, keys []fair.Key, f func() error) error {
	release, ok := p.Within(ctx, formTimeout, keys...)
	if !ok {
		return kernel.ErrBusy
	}
	defer release()
	return f()
}

// keysOf returns the keys by which a request shares a pool: its client's, and the workspace of the page; a nil entry:
// the page is not known yet.
func keysOf(r *http.Request, e *entry) []fair.Key {
	keys := fair.Client(clientaddr.Of(r))
	if e != nil {
		keys = append(keys, fair.Workspace(e.workspace))
	}
	return keys
}

// formPools are the pools for requests of subscribers and of clients with tokens.
type formPools struct {
	signUps, keys, limitedKeys, subscriptions, unsubscribes, tokens, limitedTokens, sessions *fair.Pool
}

func newFormPools() formPools {
	p := func(size int) *fair.Pool { return fair.NewPool(size, maxWaiting) }
	return formPools{
		p(maxSignUps), p(maxKeyLookups), p(maxLimitedKeyLookups), p(maxSubscriptionJobs), p(maxUnsubscribes),
		p(maxTokenLookups), p(maxLimitedTokens), p(maxSessionLookups),
	}
}

// maxNotFoundPerAddress is how many keys of subscriptions, incidents, maintenances and components that do not exist one
// address may request in notFoundWindow. An IPv6 network of 64 bits may request ten times as many.
//
// Above the limit, the address gets 429 for every part of a page that is not in memory. Its keys are still looked up,
// because many subscribers may share the address of a mail provider or a proxy, but all such addresses together have
// only maxLimitedKeyLookups lookups at a time.
const (
	maxNotFoundPerAddress = 60
	notFoundWindow        = time.Minute
)

// errTooManyNotFound is the error of requests above maxNotFoundPerAddress.
var errTooManyNotFound = errors.New("too many requests for what does not exist")

// errTooManyCalls is the error of requests above the limit of their token.
var errTooManyCalls = errors.New("too many requests with one token")

// notFoundLimit limits requests for what does not exist, by client address.
type notFoundLimit struct {
	*limit.Addresses
	now func() time.Time
}

func newNotFoundLimit(now func() time.Time) notFoundLimit {
	return notFoundLimit{limit.NewAddresses(maxNotFoundPerAddress, notFoundWindow), now}
}

// exceeded reports whether the client has reached the limit.
func (l notFoundLimit) exceeded(r *http.Request) bool { return l.Full(clientaddr.Of(r), l.now()) }

// take counts a request for what does not exist, and returns the error to answer it with.
func (l notFoundLimit) take(r *http.Request) error {
	if l.Take(clientaddr.Of(r), l.now()).Allowed {
		return kernel.ErrNotFound
	}
	return errTooManyNotFound
}

// The number of sign-ups that are accepted in signUpWindow, besides Config.SignUps,
// which is the limit for all clients together.
const (
	signUpsPerAddress = 10  // an IPv6 network of 64 bits has ten times as many
	signUpsPerNetwork = 100 // an IPv4 network of 24 bits, or an IPv6 network of 48
	signUpsPerMailbox = 5   // or room of a chat; from all clients, for all pages; further ones get the usual response
	signUpWindow      = time.Hour

	// sign-ups of webhooks, and of chats on servers that anybody can run, for one host name and all pages; further ones
	// get the usual response
	webhooksPerHost = 20
	webhooksPerPage = 100 // sign-ups of webhooks, chats and phones on one page

	smsPerAddress = 5 // sign-ups by SMS, because each costs money; an IPv6 network of 64 bits has ten times as many
)

// signUpLimits limits how often clients can have messages sent to targets that may not belong to them.
type signUpLimits struct {
	addresses *limit.Addresses
	networks  *limit.Limiter
	total     *limit.Limiter // has one key
	mailboxes *limit.Limiter // by kernel.MailboxKey
	hosts     *limit.Limiter // of webhooks
	pages     *limit.Limiter // of sign-ups by other channels than email, by the id of the page
	sms       *limit.Addresses

	log    *slog.Logger
	mu     sync.Mutex
	warned time.Time // when reaching the total limit was last logged
}

// newSignUpLimits returns limits that allow at most total sign-ups of all clients together; 0 means any number.
func newSignUpLimits(total int, log *slog.Logger) *signUpLimits {
	return &signUpLimits{
		addresses: limit.NewAddresses(signUpsPerAddress, signUpWindow),
		networks:  limit.New(signUpsPerNetwork, signUpWindow),
		total:     limit.New(total, signUpWindow), mailboxes: limit.New(signUpsPerMailbox, signUpWindow),
		hosts: limit.New(webhooksPerHost, signUpWindow), pages: limit.New(webhooksPerPage, signUpWindow),
		sms: limit.NewAddresses(smsPerAddress, signUpWindow), log: log,
	}
}

// take decides whether a sign-up from addr is allowed, and counts it. page is the id of the page if the channel has a
// limit per page, and otherwise "". The limits of the address are checked first and the total last, so that the
// rejected sign-ups of one client do not use up the limits of others.
func (l *signUpLimits) take(addr netip.Addr, channel audience.Channel, page string, now time.Time) limit.Verdict {
	if channel == audience.ChannelSMS {
		if v := l.sms.Take(addr, now); !v.Allowed {
			return v
		}
	}
	if v := l.addresses.Take(addr, now); !v.Allowed {
		return v
	}
	v := l.networks.Take(networkName(addr), now)
	if !v.Allowed {
		return v
	}
	if page != "" {
		if v := l.pages.Take(page, now); !v.Allowed {
			return v
		}
	}
	if total := l.total.Take("", now); !total.Allowed {
		l.warn(total, now)
		return total
	}
	return v
}

// takeTarget decides whether a message may be sent to the target of a sign-up, and counts it.
func (l *signUpLimits) takeTarget(n audience.NewSubscriber, now time.Time) bool {
	if n.Channel == audience.ChannelSMS {
		return true // Store.RequestSignUp limits numbers, for all replicas together
	}
	if n.Channel.Coded() && n.Channel.AtOneHost() {
		return l.mailboxes.Take(string(n.Channel)+" "+n.Target, now).Allowed // all rooms have the same host
	}
	if n.Channel != audience.ChannelEmail {
		return l.hosts.Take(n.Channel.Host(n.Target), now).Allowed
	}
	return l.mailboxes.Take(kernel.MailboxKey(n.Target), now).Allowed
}

// networkName names the network of an address: 24 bits of IPv4, 48 of IPv6. Clients
// without an address, as on a Unix socket, are one network.
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

// warn logs that the total limit is reached, once in signUpWindow.
func (l *signUpLimits) warn(v limit.Verdict, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.warned.IsZero() || now.Sub(l.warned).Abs() >= signUpWindow {
		l.warned = now
		l.log.Warn("rejecting sign-ups: the limit for all clients together is reached (ALLSWELL_SIGNUP_LIMIT)",
			"limit", v.Limit, "until", v.Reset)
	}
}
