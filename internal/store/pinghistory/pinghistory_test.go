package pinghistory

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var someClients = []Client{
	{}, {netip.MustParseAddr("192.0.2.1"), "curl/8.5.0"}, {netip.MustParseAddr("2001:db8::1"), "curl/8.5.0"},
	{netip.MustParseAddr("192.0.2.2"), strings.Repeat("ä", 200)},
}

// randomPing returns a ping before now, in microseconds.
func randomPing(r *rand.Rand, now int64) Ping {
	p := Ping{At: now - r.Int64N(1e9), Duration: -1, Client: someClients[r.IntN(len(someClients))]}
	if r.IntN(4) == 0 {
		p.At = p.At / 1000 * 1000
	}
	if r.IntN(4) == 0 {
		p.Duration = time.Duration(r.IntN(1e6)) * time.Millisecond
	}
	return p
}

// read returns the runs of chunks.
func read(t testing.TB, chunks []Chunk) map[int64][]Ping {
	t.Helper()
	runs, last := make(map[int64][]Ping), int64(math.MinInt64)
	for _, c := range chunks {
		r := NewReader(c)
		for run, ok := r.Next(); ok; run, ok = r.Next() {
			_, twice := runs[run.Key]
			if twice || run.Key < last || run.Key < c.FirstKey || run.Key > c.LastKey ||
				run.Pings[0].At > c.Newest || run.Pings[len(run.Pings)-1].At < c.Oldest {
				t.Fatalf("key %d after %d, or pings outside %d to %d", run.Key, last, c.Oldest, c.Newest)
			}
			runs[run.Key], last = slices.Clone(run.Pings), run.Key
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	return runs
}

// TestBlock checks that a block returns what was added to it.
func TestBlock(t *testing.T) {
	const now = 1_790_000_000_123_456
	w := NewBlock(now, someClients, 4)
	w.Add(math.MinInt64, 3, 0, -1)
	w.Add(7, 1, 0, 0)
	w.Add(7, 2, 5, time.Minute)
	w.Add(-1, 0, 8191, -1)
	var got []string
	err := ReadBlock(w.Bytes(), func(key int64, p Ping) {
		got = append(got, fmt.Sprint(key, p.At-now, p.Duration, slices.Index(someClients, p.Client)))
	})
	want := []string{fmt.Sprint(math.MinInt64, " 0 -1ns 3"), "7 0 0s 1", "7 5 1m0s 2", "-1 8191 -1ns 0"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("pings of the block: %q, %v, want %q", got, err, want)
	}
}

// TestMergeIsTheModel checks that random segments, merged in steps of a few chunks, are the newest pings of each key.
func TestMergeIsTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		const now = 1_790_000_000_000_000
		cutoff, limit := now-r.Int64N(1e9), 1+r.IntN(60)
		keys := make([]int64, 1+r.IntN(300))
		for i := range keys {
			keys[i] = int64(r.Uint64())
		}
		keys[0] = math.MaxInt64
		model := make(map[int64][]Ping)
		var segments [][]Chunk
		for range 1 + r.IntN(8) {
			pings := make(map[int64][]Ping)
			for range r.IntN(20_000) {
				key, p := keys[r.IntN(len(keys))], randomPing(r, now)
				pings[key], model[key] = append(pings[key], p), append(model[key], p)
			}
			var w Writer
			for _, run := range Sort(pings, 0, math.MaxInt) {
				w.Add(run)
			}
			segments = append(segments, w.Chunks())
		}
		want := make(map[int64][]Ping)
		for _, run := range Sort(model, cutoff, limit) {
			want[run.Key] = run.Pings
		}
		got, steps := mergeInSteps(t, segments, cutoff, limit, 2+r.IntN(3))
		if !maps.EqualFunc(got, want, func(a, b []Ping) bool { return reflect.DeepEqual(times(a), times(b)) }) {
			t.Fatalf("seed %d: %d keys after %d steps, want %d", seed, len(got), steps, len(want))
		}
	}
}

// times returns the pings without repetitions of a time, as the pings of a key are.
func times(pings []Ping) (out []Ping) {
	for i, p := range pings {
		if i == 0 || p.At != pings[i-1].At {
			out = append(out, p)
		}
	}
	return out
}

// mergeInSteps merges segments as the store does, with a number of chunks of each per step.
func mergeInSteps(
	t *testing.T, segments [][]Chunk, cutoff int64, limit, perStep int,
) (runs map[int64][]Ping, steps int) {
	var all []Chunk
	for from := int64(math.MinInt64); ; steps++ {
		var inputs []Input
		for _, chunks := range segments {
			i := slices.IndexFunc(chunks, func(c Chunk) bool { return c.FirstKey > from })
			if i < 0 {
				i = len(chunks)
			}
			rest := chunks[max(i-1, 0):]
			n := min(len(rest), perStep)
			inputs = append(inputs, Input{rest[:n], n < len(rest)})
		}
		chunks, upTo := Merge(inputs, from, cutoff, limit, func(err error) { t.Fatal(err) })
		all = append(all, chunks...)
		if upTo == math.MaxInt64 {
			break
		}
		if upTo < from {
			t.Fatalf("no progress at %d", from)
		}
		from = upTo + 1
	}
	return read(t, all), steps
}

// TestCorruptChunk checks that a merge survives a chunk that cannot be read, and keeps the others.
func TestCorruptChunk(t *testing.T) {
	var w Writer
	for key := range int64(50) {
		pings := make([]Ping, 100)
		for i := range pings {
			pings[i] = Ping{At: 1_790_000_000_000_000 - int64(i)*60_000_123, Duration: -1, Client: someClients[i%4]}
		}
		w.Add(Run{key, pings})
	}
	chunks := w.Chunks()
	if len(chunks) < 2 {
		t.Fatalf("%d chunks", len(chunks))
	}
	chunks[0].Data = append([]byte{version + 1}, chunks[0].Data[1:]...)
	var failed error
	merged, upTo := Merge([]Input{{Chunks: chunks}}, math.MinInt64, 0, 10, func(err error) {
		failed = errors.Join(failed, err)
	})
	if !errors.Is(failed, ErrCorrupt) || upTo != math.MaxInt64 || len(read(t, merged)) != 50-1-int(chunks[0].LastKey) {
		t.Errorf("%d keys up to %d, %v", len(read(t, merged)), upTo, failed)
	}
}

// FuzzDecode checks that no data makes reading or merging panic, and that what a merge writes can be read.
func FuzzDecode(f *testing.F) {
	w := NewBlock(1_790_000_000_000_000, someClients, 2)
	w.Add(1, 1, 3, time.Second)
	f.Add(w.Bytes(), int64(0), int64(9))
	var c Writer
	c.Add(Run{
		3,
		[]Ping{
			{At: 1_790_000_000_000_005, Duration: time.Second, Client: someClients[1]},
			{At: 1_790_000_000_000_000, Duration: -1},
		},
	})
	c.Add(Run{9, []Ping{{At: 1_790_000_000_000_000, Duration: -1, Client: someClients[2]}}})
	f.Add(c.Chunks()[0].Data, int64(3), int64(9))
	f.Add([]byte{}, int64(0), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, first, last int64) {
		if err := ReadBlock(data, func(int64, Ping) {}); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		chunk := Chunk{FirstKey: first, LastKey: last, Data: data}
		if _, err := Find(chunk, last); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		inputs := []Input{{Chunks: []Chunk{chunk}}, {Chunks: c.Chunks()}}
		merged, _ := Merge(inputs, math.MinInt64, math.MinInt64, math.MaxInt, func(error) {})
		if got := len(read(t, merged)); got < 2 {
			t.Fatalf("%d keys", got)
		}
	})
}
