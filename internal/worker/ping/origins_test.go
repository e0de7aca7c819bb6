package ping

import (
	"slices"
	"testing"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/pinghistory"
)

// TestOriginsOfBatches checks that a batch has each client and each address once, and each ping with both of its own.
func TestOriginsOfBatches(t *testing.T) {
	var b batch
	clients := []pinghistory.Client{{UserAgent: "curl/8"}, {UserAgent: "wget\n/1"}, {UserAgent: "wget/1"}}
	for _, ping := range []struct{ token, client int }{{0, 0}, {1, 1}, {0, 1}, {2, 0}, {1, 2}, {2, 2}} {
		b.addOrigin(ping.token, clients[ping.client])
	}
	want := []store.PingOrigin{
		{Token: 0, Client: 0}, {Token: 1, Client: 1}, {Token: 0, Client: 1}, {Token: 2, Client: 0},
		{Token: 1, Client: 2}, {Token: 2, Client: 2},
	}
	if !slices.Equal(b.origins.Pings, want) {
		t.Errorf("origins: %+v", b.origins.Pings)
	}
	got := b.origins.Clients
	if len(got) != 3 || got[0].UserAgent != "curl/8" || got[1].UserAgent != "wget/1" || got[2].UserAgent != "wget/1" {
		t.Errorf("clients: %+v", got)
	}
}
