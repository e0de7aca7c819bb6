package frame

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/limit"
)

// The number of attempts to sign in that are answered within SignInWindow. Nobody can lock out somebody else, because
// an account is limited per client address.
const (
	SignInsPerAddress = 60 // an IPv6 network of 64 bits has ten times as many
	SignInsPerAccount = 10 // from one address, or one IPv6 network of 64 bits
	SignInWindow      = 10 * time.Minute

	// Codes of six digits could be guessed from many addresses by somebody who has the password. Recovery codes and
	// passkeys still work above this limit, so nobody is locked out.
	CodesPerUser = 30
	codeWindow   = time.Hour
)

// SignInLimits limits how often passwords and codes can be tried.
type SignInLimits struct {
	Addresses *limit.Addresses
	Accounts  *limit.Limiter
	Codes     *limit.Limiter // of authenticator apps, by user
}

// NewSignInLimits returns limits without any attempts.
func NewSignInLimits() *SignInLimits {
	return &SignInLimits{
		limit.NewAddresses(SignInsPerAddress, SignInWindow), limit.New(SignInsPerAccount, SignInWindow),
		limit.New(CodesPerUser, codeWindow),
	}
}

// Attempter describes who tries a password or a code.
type Attempter struct {
	Account string // email address, "" for a code
	Browser string // id of a browser that has signed in to the account before; see knownBrowsers
	Proven  bool   // a session or a one-time code has shown whose account it is
}

// take counts an attempt. Known browsers, and visitors with a session or a one-time code, have separate limits, which
// strangers at the same address, such as the address of a proxy, cannot use up.
func (l *SignInLimits) take(r *http.Request, a Attempter, now time.Time) limit.Verdict {
	address := clientaddr.Of(r)
	if a.Browser != "" {
		return l.Accounts.Take("browser "+a.Browser, now)
	}
	// An address above its limit must not fill the table of accounts.
	if a.Account != "" && (a.Proven || !l.Addresses.Full(address, now)) {
		if v := l.Accounts.Take(accountKey(address, a), now); !v.Allowed || a.Proven {
			return v
		}
	}
	return l.Addresses.Take(address, now)
}

// accountKey returns the key of attempts for an account from an address. Its length does not depend on the input.
func accountKey(address netip.Addr, a Attempter) string {
	network := address.Unmap()
	if p, err := network.Prefix(64); err == nil { // not IPv4
		network = p.Addr()
	}
	sum := sha256.Sum256([]byte(kernel.NormalizeEmail(a.Account)))
	if a.Proven {
		return "proven " + network.String() + " " + string(sum[:])
	}
	return network.String() + " " + string(sum[:])
}

// TooManyAttempts is the error of an attempt above the limit.
type TooManyAttempts struct{ Wait time.Duration }

func (e *TooManyAttempts) Error() string { return "too many attempts to sign in" }

// RetryAfter returns when the next attempt is allowed, as the value of Retry-After.
func (e *TooManyAttempts) RetryAfter() string { return strconv.Itoa(int(e.Wait.Seconds()) + 1) }

// Attempt counts an attempt to sign in, and returns an error if there were too many.
func (r *Request) Attempt(a Attempter) error {
	now := r.Now()
	if verdict := r.SignIns.take(r.Request, a, now); !verdict.Allowed {
		return &TooManyAttempts{max(time.Second, verdict.Reset.Sub(now))}
	}
	return nil
}
