package pinghistory

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// Chunk is a part of a segment.
type Chunk struct {
	FirstKey, LastKey int64
	Oldest, Newest    int64 // of its pings, in microseconds since 1970
	Data              []byte
}

// The lowest bits of the distance between two pings in a chunk, and how many they are.
const (
	chunkClient   = 1 << iota // the number of another client follows
	chunkDuration             // a duration follows
	chunkMicros               // the microseconds of the distance follow
	chunkFlags    = iota
)

// Writer encodes runs as chunks.
type Writer struct {
	chunks  []Chunk
	dict    dictionary
	body    []byte
	open    Chunk
	lastKey int64
}

// Add adds a run with pings, newest first. Its key is higher than the key of the run before.
func (w *Writer) Add(r Run) {
	if len(r.Pings) == 0 {
		return
	}
	newest, oldest := r.Pings[0].At, r.Pings[len(r.Pings)-1].At
	if len(w.body) == 0 {
		w.dict.reset()
		w.open = Chunk{FirstKey: r.Key, Oldest: oldest, Newest: newest}
		w.lastKey = r.Key
	}
	w.open.Oldest, w.open.Newest = min(w.open.Oldest, oldest), max(w.open.Newest, newest)
	w.body = binary.AppendUvarint(w.body, uint64(r.Key)-uint64(w.lastKey))
	w.body = binary.AppendUvarint(w.body, uint64(len(r.Pings)))
	w.body = binary.AppendUvarint(w.body, uint64(newest))
	last, client := newest, uint64(0)
	for _, p := range r.Pings {
		client = w.add(p, last, client)
		last = p.At
	}
	w.lastKey = r.Key
	if len(w.body)+len(w.dict.data)+len(w.dict.names) >= chunkSize {
		w.flush()
	}
}

// add encodes a ping, given the time and the client of the ping after it, and returns the number of its client.
func (w *Writer) add(p Ping, after int64, client uint64) uint64 {
	distance := uint64(after - p.At)
	head := distance / 1000 << chunkFlags
	if distance%1000 != 0 {
		head |= chunkMicros
	}
	if p.Duration >= 0 {
		head |= chunkDuration
	}
	number := w.dict.number(p.Client)
	if number != client {
		head |= chunkClient
	}
	w.body = binary.AppendUvarint(w.body, head)
	if number != client {
		w.body = binary.AppendUvarint(w.body, number)
	}
	if p.Duration >= 0 {
		w.body = binary.AppendUvarint(w.body, uint64(p.Duration.Milliseconds()))
	}
	if distance%1000 != 0 {
		w.body = binary.AppendUvarint(w.body, distance%1000)
	}
	return number
}

func (w *Writer) flush() {
	if len(w.body) == 0 {
		return
	}
	c := w.open
	c.LastKey = w.lastKey
	c.Data = make([]byte, 0, 1+20+len(w.dict.names)+len(w.dict.data)+len(w.body))
	c.Data = append(w.dict.appendTo(append(c.Data, version), len(w.dict.clients)), w.body...)
	w.chunks = append(w.chunks, c)
	w.body = w.body[:0]
}

// Chunks returns the chunks of all runs.
func (w *Writer) Chunks() []Chunk {
	w.flush()
	return w.chunks
}

// Reader reads the runs of a chunk.
type Reader struct {
	d       decoder
	clients []Client
	key     int64 // of the last run; at the beginning of the first run
	lastKey int64 // of the chunk
	begun   bool
	empty   []Ping // memory for the next run
}

// NewReader returns a Reader of a chunk.
func NewReader(c Chunk) *Reader {
	r := &Reader{d: decoder{data: c.Data}, key: c.FirstKey, lastKey: c.LastKey}
	r.clients = r.d.header()
	return r
}

// Next returns the next run, which is valid until the next call. ok is false at the end, and after an error.
func (r *Reader) Next() (run Run, ok bool) {
	if r.d.err != nil || len(r.d.data) == 0 {
		return run, false
	}
	d := &r.d
	step := d.uvarint()
	count, at := d.count(), d.uvarint()
	if step > uint64(r.lastKey)-uint64(r.key) || (step == 0) == r.begun || at > math.MaxInt64 {
		d.fail() // the keys of a chunk ascend, and the distance between two fits into 64 bits
	}
	r.begun = true
	r.key = int64(uint64(r.key) + step)
	pings, client := r.empty[:0], uint64(0)
	for range count {
		head := d.uvarint()
		if head&chunkClient != 0 {
			client = d.uvarint()
		}
		p := Ping{Duration: -1, Client: d.client(r.clients, client)}
		if head&chunkDuration != 0 {
			p.Duration = d.duration()
		}
		distance := head >> chunkFlags
		if distance > math.MaxInt64/1000 {
			d.fail()
		}
		distance *= 1000
		if head&chunkMicros != 0 {
			distance += min(d.uvarint(), 999)
		}
		if distance > at {
			d.fail()
		}
		if d.err != nil {
			return run, false
		}
		at -= distance
		p.At = int64(at)
		pings = append(pings, p)
	}
	r.empty = pings
	return Run{r.key, pings}, d.err == nil
}

// Err returns an error that wraps ErrCorrupt if the chunk could not be read to its end.
func (r *Reader) Err() error { return r.d.err }

// Find returns the pings of a key in a chunk; none if the chunk lacks the key. An error wraps ErrCorrupt.
func Find(c Chunk, key int64) ([]Ping, error) {
	r := NewReader(c)
	for {
		run, ok := r.Next()
		if !ok || run.Key > key {
			return nil, r.Err()
		}
		if run.Key == key {
			return run.Pings, nil
		}
	}
}

// Sort returns the runs of pings by their keys, in the order of the keys, each with at most limit pings that are not
// older than cutoff.
func Sort(pings map[int64][]Ping, cutoff int64, limit int) []Run {
	runs := make([]Run, 0, len(pings))
	for _, key := range slices.Sorted(maps.Keys(pings)) {
		if kept := Newest(pings[key], cutoff, limit); len(kept) > 0 {
			runs = append(runs, Run{key, kept})
		}
	}
	return runs
}

// Input is chunks of a segment, in the order of their keys.
type Input struct {
	Chunks []Chunk // if there are more, at least two: the first may end before the key from which on they are merged
	More   bool    // the segment has chunks after these
}

// Merge merges the runs of segments from a key on, each with at most limit pings that are not older than cutoff. It
// ends with the last key up to which no input can have more. It calls corrupt for chunks that it cannot read.
func Merge(inputs []Input, from, cutoff int64, limit int, corrupt func(error)) (chunks []Chunk, upTo int64) {
	upTo = math.MaxInt64
	cursors := make([]cursor, 0, len(inputs))
	for _, in := range inputs {
		if in.More {
			upTo = min(upTo, in.Chunks[len(in.Chunks)-1].LastKey)
		}
		c := cursor{chunks: in.Chunks, corrupt: corrupt}
		for c.next() && c.run.Key < from {
		}
		if !c.ended {
			cursors = append(cursors, c)
		}
	}
	var w Writer
	var pings []Ping
	for {
		cursors = slices.DeleteFunc(cursors, func(c cursor) bool { return c.ended })
		if len(cursors) == 0 {
			break
		}
		key := slices.MinFunc(cursors, func(a, b cursor) int { return cmp.Compare(a.run.Key, b.run.Key) }).run.Key
		if key > upTo {
			break
		}
		pings = pings[:0]
		for i := range cursors {
			for c := &cursors[i]; !c.ended && c.run.Key == key; c.next() {
				pings = append(pings, c.run.Pings...)
			}
		}
		w.Add(Run{key, Newest(pings, cutoff, limit)})
	}
	return w.Chunks(), upTo
}

// cursor reads the runs of an input.
type cursor struct {
	chunks  []Chunk
	reader  *Reader
	run     Run
	ended   bool
	corrupt func(error)
}

// next reads the next run. It returns false at the end.
func (c *cursor) next() bool {
	for {
		if c.reader != nil {
			var ok bool
			if c.run, ok = c.reader.Next(); ok {
				return true
			}
			if err := c.reader.Err(); err != nil {
				c.corrupt(err)
			}
		}
		if len(c.chunks) == 0 {
			c.ended = true
			return false
		}
		c.reader = NewReader(c.chunks[0])
		c.chunks = c.chunks[1:]
	}
}
