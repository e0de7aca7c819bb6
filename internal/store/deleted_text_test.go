package store_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
)

// TestDeletedAddressesAreOverwritten checks that a SQLite file does not have the addresses of people who have
// unsubscribed, neither in pages in use nor in freed pages.
func TestDeletedAddressesAreOverwritten(t *testing.T) {
	inWorlds(t, func(w *world) {
		if !isSQLite(w.Store) {
			return
		}
		path := strings.TrimPrefix(w.dsn, "sqlite:")
		file := func() []byte {
			w.run(`PRAGMA wal_checkpoint(TRUNCATE)`)
			return must(os.ReadFile(path))(w)
		}
		var all []audience.Subscriber
		for i := range 100 {
			all = append(all,
				must(w.CreateSubscriber(w.ctx, w.ws, "acme",
					audience.NewSubscriber{
						Channel: audience.ChannelEmail, Target: fmt.Sprintf("hidden-%d@example.com", i),
						Confirmed: true,
					},
					nil))(w))
			all = append(all,
				must(w.CreateSubscriber(w.ctx, w.ws, "acme",
					audience.NewSubscriber{
						Channel: audience.ChannelWebhook, Target: fmt.Sprintf("https://example.com/hidden-%d", i),
					},
					nil))(w))
		}
		if !bytes.Contains(file(), []byte("hidden-")) {
			t.Fatal("the file does not have the addresses of subscribers")
		}
		for _, s := range all {
			w.ok(w.Unsubscribe(w.ctx, "acme", s.Key))
		}
		if n := bytes.Count(file(), []byte("hidden-")); n > 0 {
			t.Errorf("the file has %d addresses of those who have unsubscribed", n)
		}
	})
}
