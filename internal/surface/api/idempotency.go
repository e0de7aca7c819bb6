package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// idempotencyKeyHeader makes a POST safe to repeat. replayedHeader marks a saved response.
const (
	idempotencyKeyHeader = "Idempotency-Key"
	replayedHeader       = "Idempotency-Replayed"
	maxIdempotencyKey    = 255
)

// serveOnce runs the route's action, or returns the saved response of the same
// request. Errors are not saved: such a request has changed nothing.
func (a *api) serveOnce(rt *route, c *call, h http.Header) (store.Response, error) {
	keys := c.Header.Values(idempotencyKeyHeader)
	if len(keys) == 0 || rt.ignoresIdempotencyKey() {
		return rt.do(a, c)
	}
	if rt.method != http.MethodPost {
		var bad kernel.ValidationError
		bad.Add(idempotencyKeyHeader, "The Idempotency-Key header is for POST requests only.")
		return store.Response{}, bad.Err()
	}
	if len(keys) > 1 || !validIdempotencyKey(keys[0]) {
		var bad kernel.ValidationError
		bad.Add(idempotencyKeyHeader, "The Idempotency-Key must be one header of 1 to %d printable ASCII characters.",
			maxIdempotencyKey)
		return store.Response{}, bad.Err()
	}
	c.key = &store.IdempotencyKey{TokenID: c.token.ID, Key: keys[0], RequestHash: hashRequest(c)}
	end, ok := a.inFlight.begin(c.token.ID + " " + keys[0])
	if !ok {
		return store.Response{}, kernel.ErrInProgress
	}
	defer end()
	if saved, found, err := a.findResponse(c, h); found || err != nil {
		return saved, err
	}
	response, actionErr := rt.do(a, c)
	if actionErr != nil {
		// Another replica may have completed the same request meanwhile, which may be the cause of the error.
		if saved, found, err := a.findResponse(c, h); found && err == nil {
			return saved, nil
		}
	}
	return response, actionErr
}

// ignoresIdempotencyKey reports whether the route ignores the header. Reading needs none.
// The two PATCH routes of the contract (see docs/api.md) must not refuse a client that
// sends it with every request. A test of a monitor, of a channel or of the rules changes nothing.
func (rt *route) ignoresIdempotencyKey() bool {
	return rt.method == http.MethodGet || rt.rehearsal || rt.method == http.MethodPatch && rt.contract
}

// findResponse returns the saved response of the same request, if there is one.
func (a *api) findResponse(c *call, h http.Header) (saved store.Response, found bool, err error) {
	saved, found, err = a.store.FindResponse(c.Context(), *c.key)
	if err != nil || !found {
		return store.Response{}, false, err
	}
	if saved.Body, err = c.decrypt(saved.Body); err != nil {
		return store.Response{}, false, err
	}
	h.Set(replayedHeader, "true")
	return saved, true, nil
}

func validIdempotencyKey(key string) bool {
	return key != "" && len(key) <= maxIdempotencyKey &&
		!strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
}

// hashRequest returns a hash of the method, the path and the body. Neither method nor path can contain the separator.
func hashRequest(c *call) []byte {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n", c.Method, c.URL.Path)
	sum.Write(c.body)
	return sum.Sum(nil)
}

// responder builds the response to a POST from the result of a method of the store.
type responder[T any] struct {
	render   func(T) (store.Response, error)
	save     []store.SaveResponse[T] // argument of the method; empty without an Idempotency-Key
	rendered *store.Response         // the response that was saved, without encryption; nil: none was
}

// newResponder returns a responder whose responses have the status and the JSON that toJSON returns for the result.
func newResponder[T, J any](c *call, status int, toJSON func(T) J) *responder[T] {
	r := &responder[T]{render: func(v T) (store.Response, error) { return newResponse(status, toJSON(v)) }}
	if c.key != nil {
		r.save = []store.SaveResponse[T]{{Key: *c.key, Render: func(v T) (store.Response, error) {
			response, err := r.render(v)
			response.Ignored = c.ignored()
			r.rendered = new(response)
			if err == nil {
				response.Body, err = c.encrypt(response.Body)
			}
			return response, err
		}}}
	}
	return r
}

// respond returns the response to a result of the method, or its error. A saved response is returned unchanged, so that
// a repeated request gets the same response.
func (r *responder[T]) respond(v T, err error) (store.Response, error) {
	switch {
	case err != nil:
		return store.Response{}, err
	case r.rendered != nil:
		return *r.rendered, nil
	}
	return r.render(v)
}

// encrypt encrypts a response before it is saved, with a key derived from the caller's token. The database contains
// only a hash of the token, so secrets that a response shows once cannot be read from the database alone.
func (c *call) encrypt(body []byte) ([]byte, error) {
	gcm, err := c.cipher()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	rand.Read(nonce)
	return gcm.Seal(nonce, nonce, body, c.key.RequestHash), nil
}

// decrypt is the reverse of encrypt.
func (c *call) decrypt(sealed []byte) ([]byte, error) {
	gcm, err := c.cipher()
	if err != nil {
		return nil, err
	}
	if len(sealed) < gcm.NonceSize() {
		return nil, errors.New("saved response is too short")
	}
	nonce, text := sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():]
	body, err := gcm.Open(nil, nonce, text, c.key.RequestHash)
	if err != nil {
		return nil, fmt.Errorf("decrypting a saved response: %w", err)
	}
	return body, nil
}

func (c *call) cipher() (cipher.AEAD, error) {
	// The prefix is part of the key of stored data: if it changes, saved responses cannot be decrypted.
	key := sha256.Sum256([]byte("allswell kept answer\n" + c.secret))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// inFlight holds the keys of the requests that this process is handling. The zero
// value is ready to use. Between processes, the database excludes duplicates.
type inFlight struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

// begin adds a key; ok is false if it is there already. end removes it.
func (f *inFlight) begin(key string) (end func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, running := f.keys[key]; running {
		return nil, false
	}
	if f.keys == nil {
		f.keys = make(map[string]struct{})
	}
	f.keys[key] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.keys, key)
	}, true
}
