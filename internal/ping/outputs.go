package ping

import (
	"net/netip"
	"sync"
)

// maxOutputs is the maximum memory for the bodies of all signals that wait for their commit, in bytes.
const maxOutputs = 64 << 20

// outputs shares maxOutputs among clients: each holds at most as much as it leaves free, so that slow bodies of one do not
// keep those of others out. The zero value is ready to use; it is safe for concurrent use.
type outputs struct {
	mu    sync.Mutex
	held  map[netip.Addr]int64
	total int64
}

// reserve takes size bytes for a client, until release is called once. ok is false if there is no room.
func (o *outputs) reserve(client netip.Addr, size int64) (release func(), ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[client]+size > maxOutputs-o.total {
		return func() {}, false
	}
	if o.held == nil {
		o.held = make(map[netip.Addr]int64)
	}
	o.held[client] += size
	o.total += size
	return func() { o.put(client, size) }, true
}

func (o *outputs) put(client netip.Addr, size int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total -= size
	if o.held[client] -= size; o.held[client] == 0 {
		delete(o.held, client)
	}
}
