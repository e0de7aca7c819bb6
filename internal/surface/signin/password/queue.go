package password

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/fair"
)

// ErrBusy is returned when too many passwords are being hashed. It wraps kernel.ErrBusy.
var ErrBusy = fmt.Errorf("%w: too many passwords are being checked", kernel.ErrBusy)

const (
	maxWaiting = 32 // callers for each place, of a queue
	maxWait    = 5 * time.Second
)

// Asker is a person who has a password hashed. Strangers and proven persons wait in two queues with separate places, so
// that any number of attempts by strangers never makes the others wait.
type Asker struct {
	proven bool
	keys   []fair.Key
}

// Stranger returns an asker about whom nothing is known. Strangers share their places fairly by each of the keys: the
// account or the page that they want to enter, and their address.
func Stranger(keys ...fair.Key) Asker { return Asker{false, keys} }

// Proven returns an asker who has proved their identity before: by a session, a token, a one-time code, or the cookie
// of a browser that has signed in before. The key identifies the person.
func Proven(key fair.Key) Asker { return Asker{true, []fair.Key{key}} }

// queue computes a limited number of hashes at a time, because each takes memory and a processor.
type queue struct{ strangers, proven *fair.Pool }

var hashes = newQueue(max(1, runtime.GOMAXPROCS(0)/2))

// newQueue returns a queue with a number of places for strangers, and as many for the others.
func newQueue(places int) *queue {
	return &queue{fair.NewPool(places, places*maxWaiting), fair.NewPool(places, places*maxWaiting)}
}

// begin waits until a hash may be computed. The caller calls end when it is done. The error is ErrBusy if too many
// wait, or if it takes longer than maxWait, and the error of ctx if that ends first.
func (q *queue) begin(ctx context.Context, a Asker) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pool := q.strangers
	if a.proven {
		pool = q.proven
	}
	waiting, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	end, err = pool.Acquire(waiting, a.keys...)
	if errors.Is(err, fair.ErrFull) || err != nil && ctx.Err() == nil {
		return nil, ErrBusy
	}
	return end, err
}
