package fair

import (
	"context"
	"time"
)

// Within is Acquire with a timeout. ok is false if there was no place by then, if ctx ended, or if too many callers
// wait.
func (p *Pool) Within(ctx context.Context, wait time.Duration, keys ...Key) (release func(), ok bool) {
	if release, ok := p.TryAcquire(keys...); ok {
		return release, true
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	release, err := p.Acquire(ctx, keys...)
	return release, err == nil
}
