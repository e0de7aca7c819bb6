package checkstats

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/store"
)

// ErrCorrupt means that data is not an encoded Chunk.
var ErrCorrupt = errors.New("the statistics of checks are corrupt")

const (
	version = 1

	maxChunk   = 1 << 20 // bytes of a chunk that is not compressed
	maxPeriods = 1000    // of a chunk
)

// Entry is the Summary of a period of a Chunk.
type Entry struct {
	Index int // of the period in the chunk, from 0
	Summary
}

// Chunk has the summaries of consecutive periods of the same length, in order. Periods without results are omitted.
type Chunk []Entry

// Put replaces the summary of a period, or removes it if there were no results.
func (c *Chunk) Put(index int, s Summary) {
	i, found := slices.BinarySearchFunc(*c, index, func(e Entry, index int) int { return e.Index - index })
	switch empty := s.Count == 0 && s.Unknown == 0; {
	case found && empty:
		*c = slices.Delete(*c, i, i+1)
	case found:
		(*c)[i].Summary = s
	case !empty:
		*c = slices.Insert(*c, i, Entry{index, s})
	}
}

// Encode returns the chunk as bytes, which Decode reads.
func (c Chunk) Encode() []byte {
	var data []byte
	next := 0
	for _, p := range c {
		data = binary.AppendUvarint(data, uint64(p.Index-next))
		next = p.Index + 1
		for _, n := range []int{p.Count, p.Failures, p.Slow, p.Unknown} {
			data = binary.AppendUvarint(data, uint64(n))
		}
		if p.timed == nil {
			continue
		}
		data = binary.AppendUvarint(data, uint64(p.Min.Microseconds()))
		data = binary.AppendUvarint(data, uint64((p.Max - p.Min).Microseconds()))
		data = binary.AppendUvarint(data, uint64(p.sum.Microseconds()))
		var sketch []byte
		p.timed.Encode(&sketch, true)
		data = append(binary.AppendUvarint(data, uint64(len(sketch))), sketch...)
	}
	return compress(data)
}

// compressors are reused, because a new one takes about a megabyte and a fold needs thousands.
var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic(err) // only for an invalid level
	}
	return w
}}

func compress(data []byte) []byte {
	b := bytes.NewBuffer([]byte{version})
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(b)
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // writing to a buffer does not fail
	}
	return b.Bytes()
}

// Decode reads what Encode returned. The error is ErrCorrupt.
func Decode(data []byte) (c Chunk, err error) {
	if len(data) == 0 || data[0] != version {
		return nil, ErrCorrupt
	}
	r := flate.NewReader(bytes.NewReader(data[1:]))
	plain, err := io.ReadAll(io.LimitReader(r, maxChunk+1))
	if err != nil || len(plain) > maxChunk {
		return nil, ErrCorrupt
	}
	d := decoder{data: plain}
	for next := 0; len(d.data) > 0 && !d.bad; {
		p := Entry{Index: next + d.number()}
		next = p.Index + 1
		p.Count, p.Failures, p.Slow, p.Unknown = d.number(), d.number(), d.number(), d.number()
		if p.Failures > p.Count || p.Slow > p.Timed() {
			return nil, ErrCorrupt
		}
		if p.Timed() > 0 {
			d.times(&p.Summary)
		}
		if c = append(c, p); len(c) > maxPeriods {
			return nil, ErrCorrupt
		}
	}
	if d.bad {
		return nil, ErrCorrupt
	}
	return c, nil
}

type decoder struct {
	data []byte
	bad  bool
}

// number reads a number up to math.MaxInt32.
func (d *decoder) number() int { return int(d.uvarint(math.MaxInt32)) }

func (d *decoder) uvarint(limit uint64) uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 || n > limit {
		d.bad, d.data = true, nil
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) microseconds() time.Duration {
	return time.Duration(d.uvarint(math.MaxInt64/1000/4)) * time.Microsecond
}

// times reads the times of the good results of a summary.
func (d *decoder) times(s *Summary) {
	s.Min = d.microseconds()
	s.Max = s.Min + d.microseconds()
	s.sum = d.microseconds()
	size := d.number()
	if d.bad || size > len(d.data) {
		d.bad = true
		return
	}
	timed, err := ddsketch.DecodeDDSketch(d.data[:size], func() store.Store {
		return store.NewSparseStore()
	}, indexMapping)
	if err != nil || timed.GetCount() != float64(s.Timed()) {
		d.bad = true
		return
	}
	s.timed, d.data = timed, d.data[size:]
}
