package store_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// signCounts are the counts that a passkey sends, after the stored ones.
var signCounts = []struct {
	stored, sent uint32
	accepted     bool
}{
	{0, 0, true}, {0, 1, true}, {1, 0, false}, {1, 1, false}, {1, 2, true}, {5, 4, false}, {5, 5, false},
	{5, 6, true}, {5, 5000, true},
	{math.MaxInt32, math.MaxInt32, false}, {math.MaxInt32, math.MaxInt32 + 1, true},
	{math.MaxUint32, math.MaxUint32, false}, {math.MaxUint32, 0, false},
	{math.MaxUint32 - 1, math.MaxUint32, true},
}

// TestSignCountOfAPasskeyIncreases signs in and confirms with a passkey whose count is higher than the stored one,
// equal, and lower. A count that does not increase may be the count of a copy; passkeys without a counter always send
// 0.
func TestSignCountOfAPasskeyIncreases(t *testing.T) {
	inWorlds(t, func(w *world) {
		user := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		w.ok(w.AddPasskey(w.ctx, user, account.Passkey{
			Name: "Key", CredentialID: []byte("id"), PublicKey: []byte("key"),
		}))
		key := must(w.Passkeys(w.ctx, user))(w)[0]
		uses := map[string]func(key account.Passkey, count uint32) error{
			"sign-in": func(key account.Passkey, count uint32) error {
				_, err := w.SignInWithPasskey(w.ctx, key, count, store.Browser{})
				return err
			},
			"confirmation": func(key account.Passkey, count uint32) error {
				return w.ConfirmWithPasskey(w.ctx, user, key, count)
			},
		}
		refused := func(what string, use func() error) {
			w.Helper()
			before := w.dump()
			if err := use(); !errors.Is(err, store.ErrWrongFactor) {
				w.Errorf("%s: %v", what, err)
			}
			if w.dump() != before {
				w.Errorf("%s changes something", what)
			}
		}
		for name, use := range uses {
			for _, c := range signCounts {
				w.run(`UPDATE passkeys SET sign_count = $1`, int64(c.stored))
				if !c.accepted {
					refused(fmt.Sprintf("%s: %d after %d", name, c.sent, c.stored), func() error {
						return use(key, c.sent)
					})
					continue
				}
				err := use(key, c.sent)
				now := must(w.Passkeys(w.ctx, user))(w)[0]
				if err != nil || now.SignCount != c.sent || !now.LastUsedAt.Equal(w.clock.now()) {
					w.Errorf("%s: %d after %d: %v, stored is %+v", name, c.sent, c.stored, err, now)
				}
			}
			w.run(`UPDATE passkeys SET sign_count = 0`)
			other := key
			other.UserID = w.signedIn(w.joined("viewer-"+name+"@example.com", kernel.RoleViewer)).ID
			refused(name+" of another user", func() error { return use(other, 1) })
		}
		w.ok(w.RemovePasskey(w.ctx, user, key.ID))
		for name, use := range uses {
			refused(name+" with a removed passkey", func() error { return use(key, 1) })
		}
	})
}
