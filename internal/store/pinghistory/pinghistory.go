// Package pinghistory encodes the history of plain pings, and merges it. It knows no database: internal/store has the
// rows.
//
// A batch of pings is a block: its pings in the order of their arrival. Blocks become segments, in which the pings of
// one key, a run, lie together, the newest first. A segment is a list of chunks in the order of their keys, and a run
// is in one chunk, so that reading a run takes one chunk of each segment. Several segments are merged into one.
// docs/decisions/0084-plain-pings-have-blocks.md has the reasons.
package pinghistory

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// ErrCorrupt is wrapped by the errors about data that cannot be decoded.
var ErrCorrupt = errors.New("the data of a ping history is corrupt")

const (
	version = 1 // the first byte of blocks and chunks

	// chunkSize is the size in bytes from which on a chunk takes no further runs.
	chunkSize = 16 << 10
)

// Client is who sent a ping.
type Client struct {
	Address   netip.Addr // the zero Addr: unknown
	UserAgent string
}

// Ping is a plain ping.
type Ping struct {
	At       int64         // microseconds since 1970, different for each ping of a key
	Duration time.Duration // of the run that it ended, in whole milliseconds; negative: it ended none
	Client   Client
}

// Run is the pings of a key, the newest first.
type Run struct {
	Key   int64
	Pings []Ping
}

// Newest sorts pings, newest first, and returns at most limit pings that are not older than cutoff. It changes its
// argument.
func Newest(pings []Ping, cutoff int64, limit int) []Ping {
	slices.SortStableFunc(pings, func(a, b Ping) int { return cmp.Compare(b.At, a.At) })
	end, _ := slices.BinarySearchFunc(pings, cutoff, func(p Ping, cutoff int64) int {
		if p.At >= cutoff {
			return -1
		}
		return 1
	})
	return pings[:min(end, limit)]
}

// dictionary assigns numbers to clients and encodes them.
type dictionary struct {
	clients map[Client]uint64
	agents  map[string]uint64
	data    []byte // of the clients
	names   []byte // of the user agents
}

func (d *dictionary) reset() {
	if d.clients == nil {
		d.clients, d.agents = make(map[Client]uint64), make(map[string]uint64)
	}
	clear(d.clients)
	clear(d.agents)
	d.data, d.names = d.data[:0], d.names[:0]
}

// number returns the number of a client.
func (d *dictionary) number(c Client) uint64 {
	n, ok := d.clients[c]
	if ok {
		return n
	}
	n = uint64(len(d.clients))
	d.clients[c] = n
	d.add(c)
	return n
}

// add encodes a client.
func (d *dictionary) add(c Client) {
	agent, ok := d.agents[c.UserAgent]
	if !ok {
		agent = uint64(len(d.agents))
		d.agents[c.UserAgent] = agent
		d.names = append(binary.AppendUvarint(d.names, uint64(len(c.UserAgent))), c.UserAgent...)
	}
	switch {
	case c.Address.Is4():
		a := c.Address.As4()
		d.data = append(append(d.data, 4), a[:]...)
	case c.Address.Is6():
		a := c.Address.As16()
		d.data = append(append(d.data, 16), a[:]...)
	default:
		d.data = append(d.data, 0)
	}
	d.data = binary.AppendUvarint(d.data, agent)
}

// appendTo appends the dictionary with a number of clients to data.
func (d *dictionary) appendTo(data []byte, clients int) []byte {
	data = append(binary.AppendUvarint(data, uint64(len(d.agents))), d.names...)
	return append(binary.AppendUvarint(data, uint64(clients)), d.data...)
}

// decoder reads data. After the first value that is missing or invalid, err wraps ErrCorrupt, and all values are 0.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) fail() {
	d.data, d.err = nil, ErrCorrupt
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

// count returns a number of things that take at least a byte each.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.data)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.data) {
		d.fail()
		return make([]byte, n)
	}
	out := d.data[:n]
	d.data = d.data[n:]
	return out
}

// duration returns a duration in milliseconds.
func (d *decoder) duration() time.Duration {
	ms := d.uvarint()
	if ms > uint64(1<<63-1)/uint64(time.Millisecond) {
		d.fail()
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// header reads the version and the dictionary.
func (d *decoder) header() (clients []Client) {
	if v := d.bytes(1)[0]; d.err == nil && v != version {
		d.data, d.err = nil, fmt.Errorf("%w: version %d", ErrCorrupt, v)
		return nil
	}
	agents := make([]string, d.count())
	for i := range agents {
		agents[i] = string(d.bytes(d.count()))
	}
	clients = make([]Client, d.count())
	for i := range clients {
		switch size := d.bytes(1)[0]; size {
		case 0:
		case 4, 16:
			clients[i].Address, _ = netip.AddrFromSlice(d.bytes(int(size)))
		default:
			d.fail()
		}
		agent := d.uvarint()
		if agent >= uint64(len(agents)) {
			d.fail()
			return nil
		}
		clients[i].UserAgent = agents[agent]
	}
	return clients
}

// client returns the client with a number.
func (d *decoder) client(clients []Client, number uint64) (c Client) {
	if number >= uint64(len(clients)) {
		d.fail()
		return c
	}
	return clients[number]
}
