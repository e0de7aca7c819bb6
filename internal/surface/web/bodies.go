package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// The memory for bodies that handlers read as a whole. Small bodies need no place, so large ones never block them.
const (
	smallBody  = 4 << 10  // bytes that any request may send without a place
	mediumBody = 64 << 10 // bytes of a medium place

	mediumBodies  = 256 // places, for 16 MiB
	largeBodies   = 16  // places for up to MaxBody, for 16 MiB
	waitingBodies = 256 // requests for a place of each kind
	bodyWait      = 5 * time.Second
)

// ErrBodies is the error of reading a body that did not get a place within bodyWait. It wraps kernel.ErrBusy.
var ErrBodies = fmt.Errorf("%w: too many large requests are being read", kernel.ErrBusy)

// MaxBody is the maximum length of a request's body in bytes.
const MaxBody = 1 << 20

// ReadBody returns the request's body. The error is a *TooLarge if the body has more than limit bytes, a
// *kernel.ValidationError if it ends early, and ErrBodies if there is no memory for it now.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, &TooLarge{limit}
	}
	if errors.Is(err, ErrBodies) {
		return nil, ErrBodies
	}
	if err != nil {
		var bad kernel.ValidationError
		bad.Add(jsonobject.BodyField, "The body could not be read to its end.")
		return nil, bad.Err()
	}
	return body, nil
}

// Bodies limits the memory for the bodies of requests in flight. One client address or one network has at most half of
// the places.
type Bodies struct{ medium, large *fair.Pool }

// NewBodies returns the limit, for all handlers that share it.
func NewBodies() *Bodies {
	return &Bodies{fair.NewPool(mediumBodies, waitingBodies), fair.NewPool(largeBodies, waitingBodies)}
}

// Handler returns a handler that calls h with a body that waits for places while it is read, and fails with ErrBodies.
// The places are freed when h returns. h must limit its bodies to about MaxBody.
func (b *Bodies) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody || r.ContentLength >= 0 && r.ContentLength <= smallBody {
			h.ServeHTTP(w, r)
			return
		}
		body := &boundBody{
			ReadCloser: r.Body, bodies: b, ctx: r.Context(), keys: fair.Client(clientaddr.Of(r)), room: smallBody,
			release: func() {},
		}
		defer func() { body.release() }()
		bound := *r
		bound.Body = body
		h.ServeHTTP(w, &bound)
	})
}

// boundBody is a body that acquires places while it is read.
type boundBody struct {
	io.ReadCloser
	bodies  *Bodies
	ctx     context.Context
	keys    []fair.Key
	read    int
	room    int // bytes that may be read without a further place
	release func()
}

func (b *boundBody) Read(p []byte) (int, error) {
	if b.read >= b.room {
		if err := b.grow(); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.room-b.read)])
	b.read += n
	return n, err
}

// grow acquires the next larger place. A body with a large place never waits again, so no two bodies wait for each
// other.
func (b *boundBody) grow() error {
	pool, room := b.bodies.medium, mediumBody
	if b.room >= mediumBody {
		pool, room = b.bodies.large, 1<<62
	}
	release, ok := pool.Within(b.ctx, bodyWait, b.keys...)
	if !ok {
		return ErrBodies
	}
	b.release()
	b.room, b.release = room, release
	return nil
}
