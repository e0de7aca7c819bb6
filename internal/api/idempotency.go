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

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

// keyHeader names a POST that may be repeated; replayedHeader marks an answer
// that was given before.
const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
	maxKey         = 255
)

// once runs the route's action, or gives the answer that the same request had
// before. A request that was refused changed nothing and is not remembered.
func (a *api) once(rt route, c *call, h http.Header) (store.StoredResponse, error) {
	keys := c.Header.Values(keyHeader)
	if rt.method != http.MethodPost || len(keys) == 0 {
		return rt.do(c)
	}
	if len(keys) > 1 || !validKey(keys[0]) {
		var bad allswell.ValidationError
		bad.Add(keyHeader, "The Idempotency-Key must be one header of 1 to %d printable ASCII characters.", maxKey)
		return store.StoredResponse{}, bad.Err()
	}
	c.key = &store.IdempotencyKey{TokenID: c.by.ID, Key: keys[0], RequestHash: hashRequest(c)}
	end, ok := a.running.begin(c.by.ID + " " + keys[0])
	if !ok {
		return store.StoredResponse{}, allswell.ErrInProgress
	}
	defer end()
	if answer, found, err := a.kept(c, h); found || err != nil {
		return answer, err
	}
	answer, refused := rt.do(c)
	if refused != nil {
		// Another replica may have been faster with the same request, and that
		// may be the very reason for the refusal.
		if answer, found, err := a.kept(c, h); found && err == nil {
			return answer, nil
		}
	}
	return answer, refused
}

// kept finds the answer that the same request had before, if it had one.
func (a *api) kept(c *call, h http.Header) (answer store.StoredResponse, found bool, err error) {
	answer, found, err = a.store.FindResponse(c.Context(), *c.key)
	if err != nil || !found {
		return store.StoredResponse{}, false, err
	}
	if answer.Body, err = c.unseal(answer.Body); err != nil {
		return store.StoredResponse{}, false, err
	}
	h.Set(replayedHeader, "true")
	return answer, true, nil
}

func validKey(key string) bool {
	return key != "" && len(key) <= maxKey &&
		!strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
}

// hashRequest is over all that makes two requests the same. Neither method nor
// path can hold the separator.
func hashRequest(c *call) []byte {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n", c.Method, c.URL.Path)
	sum.Write(c.body)
	return sum.Sum(nil)
}

// responder makes the response to a POST request from what a verb of the store
// returns.
type responder[T any] struct {
	render func(T) (store.StoredResponse, error)
	save   []store.SaveResponse[T] // for the verb; empty without an Idempotency-Key
}

// newResponder returns a responder that responds with the status and what present
// makes of the verb's result.
func newResponder[T, J any](c *call, status int, present func(T) J) responder[T] {
	r := responder[T]{render: func(v T) (store.StoredResponse, error) { return one(status, present(v)) }}
	if c.key != nil {
		r.save = []store.SaveResponse[T]{{Key: *c.key, Render: func(v T) (store.StoredResponse, error) {
			response, err := r.render(v)
			if err == nil {
				response.Body, err = c.seal(response.Body)
			}
			return response, err
		}}}
	}
	return r
}

// respond returns the response to what the verb returned.
func (r responder[T]) respond(v T, err error) (store.StoredResponse, error) {
	if err != nil {
		return store.StoredResponse{}, err
	}
	return r.render(v)
}

// seal encrypts a kept answer with the caller's token, of which the database
// has only a hash: what is shown once, as a new token's secret, cannot be read
// from the database alone.
func (c *call) seal(body []byte) ([]byte, error) {
	gcm, err := c.cipher()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	rand.Read(nonce)
	return gcm.Seal(nonce, nonce, body, c.key.RequestHash), nil
}

// unseal is the reverse of seal.
func (c *call) unseal(sealed []byte) ([]byte, error) {
	gcm, err := c.cipher()
	if err != nil {
		return nil, err
	}
	if len(sealed) < gcm.NonceSize() {
		return nil, errors.New("a kept answer is too short")
	}
	nonce, text := sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():]
	body, err := gcm.Open(nil, nonce, text, c.key.RequestHash)
	if err != nil {
		return nil, fmt.Errorf("a kept answer cannot be read: %w", err)
	}
	return body, nil
}

func (c *call) cipher() (cipher.AEAD, error) {
	key := sha256.Sum256([]byte("allswell kept answer\n" + c.secret))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// inFlight holds the requests with a key that this process is answering. The
// zero value is ready. Between processes the database decides.
type inFlight struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

// begin enters a request; ok is false if it is running already. end leaves.
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
