package api

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/limit"
	"github.com/allswell/allswell/internal/web"
)

// authenticate finds out who asks, and counts the request. The token is looked
// up before anything is refused, so that a valid one is never the victim of
// failed attempts from the same address.
func (a *api) authenticate(c *call, h http.Header) error {
	secret, ok := web.Bearer(c.Request)
	err := error(allswell.ErrUnauthenticated)
	if ok {
		c.by, err = a.store.Authenticate(c.Context(), secret)
	}
	now := a.now()
	switch {
	case errors.Is(err, allswell.ErrUnauthenticated):
		if tooMany := counted(a.failed.Take(clientaddr.Of(c.Request), now), now, h); tooMany != nil {
			return tooMany
		}
		return err
	case err != nil:
		return err
	}
	c.secret = secret
	return counted(a.calls.Take(c.by.ID, now), now, h)
}

// counted tells in the headers where the client stands, and returns the error
// of a request that is one too many. Without a limit there is nothing to tell.
func counted(v limit.Verdict, now time.Time, h http.Header) error {
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
