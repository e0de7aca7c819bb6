package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// IdempotencyLifetime is how long the response to a request with an idempotency key is kept.
const IdempotencyLifetime = 24 * time.Hour

// Response is the response of the API to a request. Responses to requests with an idempotency key are stored.
type Response struct {
	Status  int
	Body    []byte
	Ignored string // fields of the request that had no effect, as the header of the response names them
}

// IdempotencyKey identifies a request that may be repeated: the token that sent
// it, the key that the client chose, and a hash of the request.
type IdempotencyKey struct {
	TokenID     string
	Key         string
	RequestHash []byte
}

// SaveResponse is an option of the methods that serve POST requests. The method saves the response to the request under
// the key, in its own transaction, so that the change and the response are durable together. Render makes the response
// from the method's result. If the key already has a response, because a repetition of the request was faster, the
// method changes nothing and returns kernel.ErrInProgress.
type SaveResponse[T any] struct {
	Key    IdempotencyKey
	Render func(T) (Response, error)
}

// FindResponse returns the response that was saved under the key within IdempotencyLifetime, once it is replicated. ok
// is false if there is none, or if the token is revoked. If the key was used for another request, the error is a
// *kernel.ValidationError.
func (s *Store) FindResponse(ctx context.Context, key IdempotencyKey) (response Response, ok bool, err error) {
	type row struct {
		Response
		hash    []byte
		created time.Time
	}
	saved, err := read(ctx, s, func(c *session) (row, error) {
		r, err := database.One(c.Session, func(sc database.Row) (r row, err error) {
			err = sc.Scan(&r.Status, &r.Body, &r.Ignored, &r.hash, instant{&r.created})
			return
		}, `SELECT status, body, ignored, request_hash, created_at FROM idempotency_keys
			WHERE token_id = $1 AND key = $2 AND token_id IN (SELECT id FROM tokens
			WHERE revoked_at IS NULL)`, key.TokenID, key.Key)
		if err == nil && c.Now.Sub(r.created) >= IdempotencyLifetime {
			err = kernel.ErrNotFound
		}
		return r, err
	})
	if errors.Is(err, kernel.ErrNotFound) {
		return Response{}, false, nil
	}
	if err != nil {
		return Response{}, false, err
	}
	if !bytes.Equal(saved.hash, key.RequestHash) {
		var bad kernel.ValidationError
		bad.Add("Idempotency-Key", "This idempotency key was used for another request.")
		return Response{}, false, bad.Err()
	}
	// Repeating a response acknowledges it again, and the transaction that saved it may not be replicated yet.
	if err := s.db.AwaitReplication(ctx); err != nil {
		return Response{}, false, err
	}
	return saved.Response, true, nil
}

// save saves the response to a request, made from the result of its method.
func (r SaveResponse[T]) save(t *tx, result T) error {
	response, err := r.Render(result)
	if err != nil {
		return err
	}
	// An expired response is replaced. Any other means that a repetition of the request was faster.
	n, err := t.Exec(`INSERT INTO idempotency_keys (token_id, key, request_hash, status, body, ignored, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (token_id, key) DO UPDATE SET request_hash = excluded.request_hash, status = excluded.status,
			body = excluded.body, ignored = excluded.ignored, created_at = excluded.created_at
		WHERE idempotency_keys.created_at <= $8`,
		r.Key.TokenID, r.Key.Key, r.Key.RequestHash, response.Status, response.Body, response.Ignored, millis(t.Now),
		millis(t.Now.Add(-IdempotencyLifetime)))
	if err == nil && n == 0 {
		err = kernel.ErrInProgress
	}
	return err
}
