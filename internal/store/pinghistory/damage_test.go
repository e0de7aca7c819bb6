package pinghistory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// encode encodes numbers after a dictionary of one unknown client.
func encode(numbers ...uint64) []byte {
	data := []byte{version, 1, 0, 1, 0, 0}
	for _, n := range numbers {
		data = binary.AppendUvarint(data, n)
	}
	return data
}

// TestDamagedBlocks cuts a block at each of its bytes, and wants an error unless whole pings are left.
func TestDamagedBlocks(t *testing.T) {
	const now = 1_790_000_000_123_456
	w := NewBlock(now, someClients, 3)
	whole := []int{len(w.Bytes())}
	for i := range 3 {
		w.Add(int64(i), i, int64(i), time.Duration(i)*time.Second)
		whole = append(whole, len(w.Bytes()))
	}
	for n := range len(w.Bytes()) + 1 {
		pings := 0
		err := ReadBlock(w.Bytes()[:n], func(int64, Ping) { pings++ })
		want := slices.Index(whole, n)
		if want < 0 != errors.Is(err, ErrCorrupt) || want >= 0 && (err != nil || pings != want) {
			t.Errorf("the first %d of %d bytes: %d pings, %v", n, len(w.Bytes()), pings, err)
		}
	}
	ping := func(rest ...uint64) []byte { // the eight bytes of a key, each a number below 128, and what follows
		return encode(append([]uint64{5, 0, 0, 0, 0, 0, 0, 0, 1}, rest...)...)
	}
	for _, c := range []struct {
		what string
		data []byte
		ok   bool
	}{
		{"no pings", encode(5), true}, {"the last time", encode(math.MaxInt64 / 2), true},
		{"a later one", encode(math.MaxInt64/2 + 1), false},
		{"a ping", ping(0), true}, {"of a client that is not there", ping(1 << blockFlags), false},
		{"the longest duration", ping(blockDuration, math.MaxInt64/1_000_000), true},
		{"a longer one", ping(blockDuration, math.MaxInt64/1_000_000+1), false},
		{"a number that does not end", append(encode(), 0x80), false},
		{"a user agent that is not there", []byte{version, 1, 0, 1, 0, 1, 5}, false},
		{"an address of 5 bytes", []byte{version, 1, 0, 1, 5, 1, 2, 3, 4, 5, 0, 5}, false},
		{"another version", []byte{version + 1, 1, 0, 1, 0, 0, 5}, false},
		{"more user agents than bytes", []byte{version, 3, 0, 0}, false},
		{"more clients than bytes", []byte{version, 1, 0, 3, 0, 0}, false},
	} {
		if err := ReadBlock(c.data, func(int64, Ping) {}); (err == nil) != c.ok ||
			err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// TestDamagedChunks reads chunks with one mistake.
func TestDamagedChunks(t *testing.T) {
	const largest = math.MaxInt64 / 1000
	for _, c := range []struct {
		what    string
		numbers []uint64
		want    string // the keys and the times of the runs before the mistake
		ok      bool
	}{
		{"two runs", []uint64{0, 1, 9, 0, 2, 1, 8, 0}, "3:9 5:8 ", true},
		{"a key after the last one", []uint64{0, 1, 9, 0, 3, 1, 8, 0}, "3:9 ", false},
		{"a key twice", []uint64{0, 1, 9, 0, 0, 1, 8, 0}, "3:9 ", false},
		{"a first key that is another", []uint64{1, 1, 9, 0}, "", false},
		{"the last time", []uint64{0, 1, math.MaxInt64, 0}, fmt.Sprintf("3:%d ", math.MaxInt64), true},
		{"a later time", []uint64{0, 1, math.MaxInt64 + 1, 0}, "", false},
		{"milliseconds and microseconds", []uint64{0, 2, 5009, 0, 4<<chunkFlags | chunkMicros, 9}, "3:5009,1000 ",
			true},
		{"to the beginning", []uint64{0, 2, 5009, 0, 5<<chunkFlags | chunkMicros, 9}, "3:5009,0 ", true},
		{"a time before all", []uint64{0, 2, 5009, 0, 5<<chunkFlags | chunkMicros, 10}, "", false},
		{"the longest distance", []uint64{0, 1, math.MaxInt64, largest << chunkFlags},
			fmt.Sprintf("3:%d ", math.MaxInt64%1000), true},
		{"a longer one", []uint64{0, 1, math.MaxInt64, (largest + 1) << chunkFlags}, "", false},
		{"a client that is not there", []uint64{0, 1, 9, chunkClient, 1}, "", false},
		{"fewer pings than their number", []uint64{0, 2, 9, 0}, "", false},
		{"a run without its number", []uint64{0}, "", false},
	} {
		r, got := NewReader(Chunk{FirstKey: 3, LastKey: 5, Data: encode(c.numbers...)}), ""
		for run, ok := r.Next(); ok; run, ok = r.Next() {
			got += fmt.Sprint(run.Key, ":")
			for i, p := range run.Pings {
				if i > 0 {
					got += ","
				}
				got += fmt.Sprint(p.At)
			}
			got += " "
		}
		if err := r.Err(); got != c.want || (err == nil) != c.ok || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %q, %v, want %q", c.what, got, err, c.want)
		}
	}
}

// TestChunkOfRuns checks what a chunk says of its runs, and what is found in it.
func TestChunkOfRuns(t *testing.T) {
	ping := func(at int64) Ping { return Ping{At: at, Duration: -1} }
	var w Writer
	w.Add(Run{2, nil})
	w.Add(Run{3, []Ping{ping(9000), {At: 7001}}})
	w.Add(Run{5, []Ping{{At: 12_000, Duration: time.Second}, ping(4000)}})
	w.Add(Run{8, []Ping{ping(8000)}})
	w.Add(Run{9, nil})
	chunks := w.Chunks()
	if len(chunks) != 1 {
		t.Fatalf("%d chunks", len(chunks))
	}
	c := chunks[0]
	if c.FirstKey != 3 || c.LastKey != 8 || c.Oldest != 4000 || c.Newest != 12_000 {
		t.Errorf("chunk: %+v", c)
	}
	for key, want := range map[int64][]Ping{
		2: nil, 3: {ping(9000), {At: 7001}}, 4: nil, 5: {{At: 12_000, Duration: time.Second}, ping(4000)},
		8: {ping(8000)}, 9: nil,
	} {
		if got, err := Find(c, key); err != nil || !slices.Equal(got, want) {
			t.Errorf("key %d: %v, %v, want %v", key, got, err, want)
		}
	}
	merged, upTo := Merge([]Input{{Chunks: chunks}}, 5, 0, 9, func(err error) { t.Error(err) })
	if runs := read(t, merged); upTo != math.MaxInt64 || len(runs) != 2 || len(runs[5]) != 2 || len(runs[8]) != 1 {
		t.Errorf("from the key 5: %v up to %d", runs, upTo)
	}
}

// TestNewest checks which pings are kept, in which order.
func TestNewest(t *testing.T) {
	pings := func(at ...int64) (all []Ping) {
		for _, a := range at {
			all = append(all, Ping{At: a})
		}
		return all
	}
	for _, c := range []struct {
		cutoff int64
		limit  int
		want   []Ping
	}{
		{0, 9, pings(7, 5, 3, 1)}, {0, 2, pings(7, 5)}, {3, 9, pings(7, 5, 3)}, {4, 9, pings(7, 5)},
		{3, 3, pings(7, 5, 3)}, {3, 2, pings(7, 5)}, {8, 9, nil}, {0, 0, nil},
	} {
		if got := Newest(pings(3, 7, 1, 5), c.cutoff, c.limit); !slices.Equal(got, c.want) {
			t.Errorf("from %d, at most %d: %v, want %v", c.cutoff, c.limit, got, c.want)
		}
	}
	runs := Sort(map[int64][]Ping{4: pings(3, 7), -1: pings(1, 5), 2: pings(2)}, 3, 1)
	if len(runs) != 2 || runs[0].Key != -1 || runs[1].Key != 4 || !slices.Equal(runs[0].Pings, pings(5)) ||
		!slices.Equal(runs[1].Pings, pings(7)) {
		t.Errorf("sorted runs: %v", runs)
	}
}
