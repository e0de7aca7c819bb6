package pinghistory

import (
	"encoding/binary"
	"math"
	"time"
)

// BlockWriter encodes a block.
type BlockWriter struct {
	at   int64
	data []byte
}

// The lowest bits of the number of a client in a block, and how many they are.
const (
	blockDuration = 1 << iota // a duration follows
	blockLater                // the distance to the time of the block follows
	blockFlags    = iota
)

// NewBlock begins a block with at most pings pings from the given time on, in microseconds since 1970.
func NewBlock(at int64, clients []Client, pings int) *BlockWriter {
	var d dictionary
	d.agents = make(map[string]uint64)
	for _, c := range clients {
		d.add(c)
	}
	w := &BlockWriter{at: at, data: make([]byte, 0, 24+len(d.names)+len(d.data)+12*pings)}
	w.data = d.appendTo(append(w.data, version), len(clients))
	w.data = binary.AppendUvarint(w.data, uint64(at))
	return w
}

// Add adds a ping, which was later than the block's time by the given microseconds. client is the index in the clients.
// A negative duration means that it ended no run.
func (w *BlockWriter) Add(key int64, client int, later int64, duration time.Duration) {
	head := uint64(client) << blockFlags
	if duration >= 0 {
		head |= blockDuration
	}
	if later > 0 {
		head |= blockLater
	}
	w.data = binary.AppendUvarint(binary.BigEndian.AppendUint64(w.data, uint64(key)), head)
	if duration >= 0 {
		w.data = binary.AppendUvarint(w.data, uint64(duration.Milliseconds()))
	}
	if later > 0 {
		w.data = binary.AppendUvarint(w.data, uint64(later))
	}
}

// Bytes returns the encoded block.
func (w *BlockWriter) Bytes() []byte { return w.data }

// ReadBlock calls f for each ping of a block, in the order of their arrival. An error wraps ErrCorrupt; f may have been
// called before.
func ReadBlock(data []byte, f func(key int64, p Ping)) error {
	d := decoder{data: data}
	clients := d.header()
	at := d.uvarint()
	if at > math.MaxInt64/2 {
		d.fail()
	}
	for d.err == nil && len(d.data) > 0 {
		key := int64(binary.BigEndian.Uint64(d.bytes(8)))
		head := d.uvarint()
		p := Ping{At: int64(at), Duration: -1, Client: d.client(clients, head>>blockFlags)}
		if head&blockDuration != 0 {
			p.Duration = d.duration()
		}
		if head&blockLater != 0 {
			p.At += int64(min(d.uvarint(), math.MaxInt64/2))
		}
		if d.err == nil {
			f(key, p)
		}
	}
	return d.err
}
