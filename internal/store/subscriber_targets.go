package store

import (
	"context"
	"errors"
	"slices"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// storedTarget is how a target is stored: in full, or sealed if the targets of its channel are secret.
type storedTarget struct {
	shown  string
	key    string // finds a sealed target again; "": the target is not sealed
	sealed any    // bytes; nil: the target is not sealed
}

// CanSeal reports whether there is a key for secrets, or one can be made.
func (s *Store) CanSeal() bool {
	keys, err := s.secretKeys.current()
	return err == nil && keys != nil || s.secretKeys.path != ""
}

// storeTarget returns the stored form of a target, sealed for its owner: a subscriber or a sign-up. Without a key of
// secrets, the error is a *kernel.ValidationError. key is the hash of the target.
func (t *tx) storeTarget(owner, key string, channel audience.Channel, target string) (storedTarget, error) {
	if !channel.Secret() {
		return storedTarget{shown: target}, nil
	}
	keys, err := t.keysForSealing(slices.Values([]string{"target"}))
	if err != nil {
		return storedTarget{}, err
	}
	return storedTarget{channel.Shown(target), key, keys.Seal([]byte(target), owner)}, nil
}

// openTarget returns the whole target of an owner. If the key of secrets is missing or another one, the error is
// secret.ErrNoKey.
func (s *Store) openTarget(owner, shown string, sealed []byte) (string, error) {
	if sealed == nil {
		return shown, nil
	}
	keys, err := s.secretKeys.forOpening()
	if err != nil {
		return "", err
	}
	plain, err := keys.Open(sealed, owner)
	return string(plain), err
}

// address returns the whole target of a subscriber, or "" if it cannot be opened.
func (c *session) address(s *Store, sub audience.Subscriber) (string, error) {
	if !sub.Channel.Secret() {
		return sub.Target, nil
	}
	sealed, err := database.One(c.Session, func(row database.Row) (sealed []byte, err error) {
		err = row.Scan(&sealed)
		return
	}, `SELECT sealed_target FROM subscribers WHERE id = $1`, sub.ID)
	if err != nil {
		return "", err
	}
	address, err := s.openTarget(sub.ID, sub.Target, sealed)
	if isUnreadable(err) {
		s.log.Error("the URL of a subscriber cannot be read", "subscriber", sub.ID, "error", err)
		return "", nil
	}
	return address, err
}

// CodeTry is a code that somebody typed: for the subscription with a key, or, if that is "", of a target.
type CodeTry struct {
	Slug, Key string
	Channel   audience.Channel
	Target    string
	Code      string
}

// ConfirmWithCode confirms the subscription to which a code belongs. Repeating it changes nothing. The error is a
// *kernel.ValidationError if the code is wrong, too old or was tried too often, and also if there is no such target, so
// that nobody learns whether it is subscribed. For an unknown key it is kernel.ErrNotFound.
func (s *Store) ConfirmWithCode(ctx context.Context, try CodeTry) (audience.Subscriber, error) {
	where, args := subscriberOfKey, []any{try.Key, try.Slug}
	if try.Key == "" {
		n, err := audience.NewSubscriber{Channel: try.Channel, Target: try.Target}.CheckSignUp()
		if err != nil || !n.Channel.Coded() {
			return audience.Subscriber{}, wrongCode()
		}
		pageID, err := read(ctx, s, func(c *session) (string, error) {
			return database.One(c.Session, database.ScanString, `SELECT id FROM pages WHERE slug = $1`, try.Slug)
		})
		if err != nil {
			return audience.Subscriber{}, err
		}
		key := ""
		if n.Channel.Secret() {
			key = targetHash(pageID, n.Channel, n.Target)
		}
		where, args = `WHERE page_id = $1 AND channel = $2 AND target = $3 AND target_key = $4`,
			[]any{pageID, string(n.Channel), n.Channel.Shown(n.Target), key}
	}
	right := false
	sub, err := write(ctx, s, func(t *tx) (audience.Subscriber, error) {
		sub, err := t.subscriber(where+` FOR UPDATE`, args...)
		if err != nil {
			return sub, err
		}
		if right = sub.TryCode(try.Code, t.Now); right {
			return sub, nil
		}
		_, err = t.Exec(`UPDATE subscribers SET code_attempts = $2 WHERE id = $1`, sub.ID, sub.CodeAttempts)
		return sub, err
	})
	switch {
	case errors.Is(err, kernel.ErrNotFound) && try.Key == "", err == nil && !right:
		return audience.Subscriber{}, wrongCode()
	case err != nil:
		return sub, err
	}
	return s.confirm(ctx, try.Slug, sub.Key)
}

func wrongCode() error {
	var bad kernel.ValidationError
	bad.Add("code", "is wrong or has expired")
	return bad.Err()
}
