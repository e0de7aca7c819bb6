package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
)

// TestNewCodeAfterTooManyAttempts checks that a code is not accepted after too many wrong ones, and that the next code
// can be tried as often.
func TestNewCodeAfterTooManyAttempts(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		n := audience.NewSubscriber{Channel: audience.ChannelSlack, Target: roomA}
		code := func() string { w.Helper(); return w.only(`SELECT code FROM subscribers`) }
		try := func(code string) error {
			_, err := w.ConfirmWithCode(w.ctx, store.CodeTry{
				Slug: "acme", Channel: n.Channel, Target: n.Target, Code: code,
			})
			return err
		}
		refused := func(what, code string) {
			t.Helper()
			var bad *kernel.ValidationError
			if err := try(code); !errors.As(err, &bad) {
				t.Errorf("%s: %v", what, err)
			}
		}
		w.ok(w.signUp("acme", n))
		for range audience.MaxCodeAttempts {
			refused("a wrong code", "x")
		}
		refused("the code after too many attempts", code())
		w.clock.move(audience.RepeatMailInterval + time.Second)
		w.ok(w.signUp("acme", n))
		for range audience.MaxCodeAttempts - 1 {
			refused("a wrong code", "x")
		}
		w.ok(try(code()))
	})
}
