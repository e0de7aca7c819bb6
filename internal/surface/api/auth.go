package api

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/surface/web"
)

// authenticate sets the token of the call and counts the request. It looks up the
// token first, so that failed attempts from the same address never block a valid one.
func (a *api) authenticate(c *call, h http.Header) error {
	secret, ok := web.Bearer(c.Request)
	err := error(kernel.ErrUnauthenticated)
	if ok {
		c.token, err = a.store.Authenticate(c.Context(), secret)
	}
	now := a.now()
	switch {
	case errors.Is(err, kernel.ErrUnauthenticated):
		if tooMany := checkRateLimit(a.limits.Failed.Take(clientaddr.Of(c.Request), now), now, h); tooMany != nil {
			return tooMany
		}
		return err
	case err != nil:
		return err
	}
	c.secret = secret
	return checkRateLimit(a.limits.Calls.Take(c.token.ID, now), now, h)
}

// checkRateLimit writes the headers of a rate limit and returns an error if the
// request exceeds it. Without a limit it does nothing.
func checkRateLimit(v limit.Verdict, now time.Time, h http.Header) error {
	if v.Limit == 0 {
		return nil
	}
	h.Set("X-RateLimit-Limit", strconv.Itoa(v.Limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(v.Remaining))
	if !v.Allowed {
		return &web.TooMany{Now: now, Reset: v.Reset}
	}
	return nil
}
