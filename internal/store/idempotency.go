package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/allswell/allswell"
)

// IdempotencyLifetime is how long the answer to a request with an idempotency key is
// kept.
const IdempotencyLifetime = 24 * time.Hour

// Answer is what a request was answered.
type StoredResponse struct {
	Status int
	Body   []byte
}

// IdempotencyKey names a request that may be repeated: the token that sent it, the
// key that the client chose, and a hash over all that was asked.
type IdempotencyKey struct {
	TokenID     string
	Key         string
	RequestHash []byte
}

type answering struct {
	key    IdempotencyKey
	render func(result any) (StoredResponse, error)
}

type answeringKey struct{}

// WithIdempotency returns a context under which a verb that changes something saves
// its answer in its own transaction, so that act and answer are durable
// together. render turns what the verb returns into the answer. If another
// request with the same key was faster, the verb changes nothing and fails
// with allswell.ErrInProgress.
func WithIdempotency(ctx context.Context, key IdempotencyKey, render func(result any) (StoredResponse, error)) context.Context {
	return context.WithValue(ctx, answeringKey{}, answering{key, render})
}

// FindResponse returns the answer that was given under the key within IdempotencyLifetime, once
// it is replicated. ok is false if there is none. If the key was used for another
// request, the error is an *allswell.ValidationError.
func (s *Store) FindResponse(ctx context.Context, key IdempotencyKey) (answer StoredResponse, ok bool, err error) {
	type row struct {
		StoredResponse
		hash    []byte
		created time.Time
	}
	kept, err := read(ctx, s, func(c *session) (row, error) {
		r, err := one(c, func(sc scanner) (r row, err error) {
			err = sc.Scan(&r.Status, &r.Body, &r.hash, instant{&r.created})
			return
		}, `SELECT status, body, request_hash, created_at FROM idempotency_keys WHERE token_id = $1 AND key = $2`, key.TokenID, key.Key)
		if err == nil && c.now.Sub(r.created) >= IdempotencyLifetime {
			err = allswell.ErrNotFound
		}
		return r, err
	})
	if errors.Is(err, allswell.ErrNotFound) {
		return StoredResponse{}, false, nil
	}
	if err != nil {
		return StoredResponse{}, false, err
	}
	if !bytes.Equal(kept.hash, key.RequestHash) {
		var bad allswell.ValidationError
		bad.Add("Idempotency-Key", "This idempotency key was used for another request.")
		return StoredResponse{}, false, bad.Err()
	}
	// To give an answer again is to acknowledge it again, and the transaction that
	// saved it may be on the primary alone.
	if err := s.awaitReplication(ctx); err != nil {
		return StoredResponse{}, false, err
	}
	return kept.StoredResponse, true, nil
}

// saveAnswer saves the answer that the context asks for, if it does.
func (t *tx) saveAnswer(result any) error {
	a, ok := t.ctx.Value(answeringKey{}).(answering)
	if !ok {
		return nil
	}
	answer, err := a.render(result)
	if err != nil {
		return err
	}
	// An answer past its age is replaced; a younger one means that the same
	// request was faster.
	n, err := t.exec(`INSERT INTO idempotency_keys (token_id, key, request_hash, status, body, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (token_id, key) DO UPDATE SET request_hash = excluded.request_hash, status = excluded.status,
			body = excluded.body, created_at = excluded.created_at
		WHERE idempotency_keys.created_at <= $7`,
		a.key.TokenID, a.key.Key, a.key.RequestHash, answer.Status, answer.Body, millis(t.now), millis(t.now.Add(-IdempotencyLifetime)))
	if err == nil && n == 0 {
		err = allswell.ErrInProgress
	}
	return err
}
