package page

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/limit"
)

// How many requests of one kind use the database at the same time. Each kind
// has its own semaphore, so that a flood of one kind cannot starve the others,
// in particular unsubscribing, which mail providers try only once.
const (
	maxLoads            = 4 // parts of pages that are not in memory
	maxSignUps          = 2
	maxKeyLookups       = 2
	maxGuessedLookups   = 1 // keys from addresses above guessesPerAddress
	maxSubscriptionJobs = 2 // showing, confirming and changing a subscription
	maxUnsubscribes     = 4
)

// guessesPerAddress is how many keys of subscriptions, incidents and
// maintenances that do not exist one address may ask for in guessWindow, and an
// IPv6 network of 64 bits ten times as many.
//
// Above it, the address gets 429 for every part of a page that is not in memory
// already. Its keys are still looked up, because a mail provider or a proxy may
// stand between many subscribers and us; but all such addresses together have
// only maxGuessedLookups lookups at a time.
const (
	guessesPerAddress = 60
	guessWindow       = time.Minute
)

// formTimeout is how long a request of a subscriber waits for its semaphore.
const formTimeout = 5 * time.Second

// errTooManyGuesses is the error of requests from an address above
// guessesPerAddress.
var errTooManyGuesses = errors.New("too many requests for what does not exist")

// semaphore bounds the number of requests that do one thing at the same time.
type semaphore chan struct{}

// acquire waits up to timeout for the semaphore, and returns the function that
// releases it.
func (p semaphore) acquire(ctx context.Context, timeout time.Duration) (release func(), ok bool) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case p <- struct{}{}:
		return func() { <-p }, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, false
}

// run calls f with the semaphore held. If it is not acquired within formTimeout,
// run returns allswell.ErrBusy and does not call f.
func (p semaphore) run(ctx context.Context, f func() error) error {
	release, ok := p.acquire(ctx, formTimeout)
	if !ok {
		return allswell.ErrBusy
	}
	defer release()
	return f()
}

// formSemaphores are those for requests of subscribers.
type formSemaphores struct {
	signUps, keys, guessedKeys, subscriptions, unsubscribes semaphore
}

func newFormSemaphores() formSemaphores {
	return formSemaphores{
		make(semaphore, maxSignUps), make(semaphore, maxKeyLookups), make(semaphore, maxGuessedLookups),
		make(semaphore, maxSubscriptionJobs), make(semaphore, maxUnsubscribes),
	}
}

// guesses counts requests for what does not exist, by client address.
type guesses struct {
	*limit.Addresses
	now func() time.Time
}

func newGuesses(now func() time.Time) guesses {
	return guesses{limit.NewAddresses(guessesPerAddress, guessWindow), now}
}

// over reports whether the client has used up its guesses.
func (g guesses) over(r *http.Request) bool { return g.Full(clientaddr.Of(r), g.now()) }

// missed counts a request for what does not exist, and returns the error to
// answer it with.
func (g guesses) missed(r *http.Request) error {
	if g.Take(clientaddr.Of(r), g.now()).Allowed {
		return allswell.ErrNotFound
	}
	return errTooManyGuesses
}

// keyLookup is the result of looking up the key in the path of a form.
type keyLookup struct {
	slug string // the present slug of the subscription's page; "" with an error
	err  error  // allswell.ErrNotFound: there is no such subscription
}

// lookUpKey looks up the subscription whose key is in part. The slug in a link to
// it may be an old one. The error is allswell.ErrNotFound if part has no key.
func (s *Site) lookUpKey(r *http.Request, part string) keyLookup {
	name, key, _ := strings.Cut(part, "/")
	if name != "subscription" && name != "unsubscribe" || !allswell.ValidSubscriberKey(key) {
		return keyLookup{err: allswell.ErrNotFound}
	}
	over, at := s.guesses.over(r), s.forms.keys
	if over {
		at = s.forms.guessedKeys
	}
	var found keyLookup
	found.err = at.run(r.Context(), func() (err error) {
		found.slug, err = s.store.SubscriptionPageSlug(r.Context(), key)
		return err
	})
	switch {
	case errors.Is(found.err, allswell.ErrNotFound):
		found.err = s.guesses.missed(r)
	case over && errors.Is(found.err, allswell.ErrBusy):
		found.err = errTooManyGuesses
	}
	return found
}
