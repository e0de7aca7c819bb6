package server

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/worker/ping"
)

func mustNetworks(t testing.TB, list string) []netip.Prefix {
	t.Helper()
	networks, err := clientaddr.ParseNetworks(list)
	if err != nil {
		t.Fatal(err)
	}
	return networks
}

// TestForgedHeadersDoNotRaiseTheLimit checks that no header raises the limit of a client, and that each client behind a
// trusted proxy has its own limit.
func TestForgedHeadersDoNotRaiseTheLimit(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		pings := ping.New(ping.Config{RateLimit: 3})
		if err := pings.Start(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		defer pings.Close(t.Context())
		handlers := make(map[string]http.Handler) // by the header that counts
		for _, header := range clientaddr.Headers() {
			handlers[header] = clientaddr.NewResolver(clientaddr.Config{
				Trusted: mustNetworks(t, "10.0.0.0/8"), Header: header,
			}).Middleware(pings)
		}
		send := func(remote, header, value string) int {
			r := httptest.NewRequest("POST", ping.Path+kernel.NewPingToken(), nil)
			r.RemoteAddr = remote
			r.Header.Set(header, value)
			rec := httptest.NewRecorder()
			handlers[header].ServeHTTP(rec, r)
			return rec.Code
		}
		forge := func(i int) string { return netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}).String() }
		for name, attempt := range map[string]func(i int) int{
			"a stranger":            func(i int) int { return send("192.0.2.1:5000", "X-Forwarded-For", forge(i)) },
			"a stranger, Forwarded": func(i int) int { return send("192.0.2.2:5000", "Forwarded", "for="+forge(i)) },
			"behind a proxy": func(i int) int {
				return send("10.0.0.1:5000", "X-Forwarded-For", forge(i)+", 192.0.2.3")
			},
			"behind another proxy": func(i int) int {
				return send("10.0.0.2:5000", "Forwarded", "for="+forge(i)+", for=192.0.2.4")
			},
			"a malformed entry": func(i int) int {
				return send("10.0.0.3:5000", "X-Forwarded-For", forge(i)+", nonsense")
			},
		} {
			for i := range 6 {
				want := http.StatusNotFound // the token is unknown, and counts
				if i >= 3 {
					want = http.StatusTooManyRequests
				}
				if got := attempt(i); got != want {
					t.Errorf("%s, ping %d: %d, want %d", name, i+1, got, want)
				}
			}
		}
		for i := range 6 {
			if got := send("10.0.0.1:5000", "X-Forwarded-For", forge(100+i)); got != http.StatusNotFound {
				t.Errorf("client %d of a proxy: %d", i, got)
			}
		}
	})
}
