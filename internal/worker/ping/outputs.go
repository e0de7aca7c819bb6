package ping

import (
	"net/http"
	"sync"

	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
)

// maxOutputs is the maximum memory for the bodies of all signals that wait for their commit, in bytes.
const maxOutputs = 64 << 20

// outputs shares maxOutputs among clients: each holds at most as much as it leaves free, so that slow bodies of one
// client leave room for others. The zero value is ready to use; it is safe for concurrent use.
type outputs struct {
	mu    sync.Mutex
	held  map[string]int64 // by the address of the client, or the network of an IPv6 address
	total int64
}

// reserve takes size bytes for the client of a request, until release is called once. ok is false if there is no room.
func (o *outputs) reserve(r *http.Request, size int64) (release func(), ok bool) {
	client := fair.Client(clientaddr.Of(r))[0].Name
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[client]+size > maxOutputs-o.total {
		return func() {}, false
	}
	if o.held == nil {
		o.held = make(map[string]int64)
	}
	o.held[client] += size
	o.total += size
	return func() { o.put(client, size) }, true
}

func (o *outputs) put(client string, size int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total -= size
	if o.held[client] -= size; o.held[client] == 0 {
		delete(o.held, client)
	}
}
