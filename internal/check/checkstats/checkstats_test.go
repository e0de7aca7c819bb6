package checkstats_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check/checkstats"
	"github.com/allswell/allswell/internal/domain/monitor"
	"pgregory.net/rapid"
)

// result is what a summary counts of a result.
type result struct {
	status monitor.CheckStatus
	total  time.Duration
}

func drawResults(t *rapid.T) []result {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) result {
		total := time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(t, "total"))
		return result{rapid.SampledFrom(monitor.CheckStatuses).Draw(t, "status"), total}
	}), 0, 50).Draw(t, "results")
}

func summaryOf(results []result) (s checkstats.Summary) {
	for _, r := range results {
		s.Add(r.status, r.total)
	}
	return s
}

// equal compares everything that a summary contains.
func equal(a, b *checkstats.Summary) bool {
	if a.Count != b.Count || a.Slow != b.Slow || a.Failures != b.Failures || a.Unknown != b.Unknown ||
		a.Min != b.Min || a.Max != b.Max || a.Mean() != b.Mean() {
		return false
	}
	for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
		if a.Quantile(q) != b.Quantile(q) {
			return false
		}
	}
	return true
}

// Merged summaries are equal to a summary of all results, and percentiles are within 2 % of the exact ones.
func TestSummaries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := drawResults(t), drawResults(t)
		all := append(slices.Clone(first), second...)
		merged, other, want := summaryOf(first), summaryOf(second), summaryOf(all)
		merged.Merge(&other)
		if !equal(&merged, &want) {
			t.Fatalf("merged %+v, want %+v", merged, want)
		}
		var timed []time.Duration
		var sum time.Duration
		for _, r := range all {
			if r.status == monitor.CheckOK || r.status == monitor.CheckSlow {
				total := max(r.total.Truncate(time.Microsecond), time.Microsecond)
				timed, sum = append(timed, total), sum+total
			}
		}
		if len(timed) == 0 {
			if want.Mean() != 0 || want.Quantile(0.5) != 0 {
				t.Fatal("times without a good result")
			}
			return
		}
		slices.Sort(timed)
		if want.Min != timed[0] || want.Max != timed[len(timed)-1] || want.Mean() != sum/time.Duration(len(timed)) {
			t.Fatalf("min %v, max %v, mean %v of %v", want.Min, want.Max, want.Mean(), timed)
		}
		for _, q := range []float64{0.5, 0.95, 0.99} {
			exact := timed[int(math.Ceil(q*float64(len(timed))))-1]
			if got := want.Quantile(q); math.Abs(float64(got-exact)) > 0.021*float64(exact)+float64(time.Microsecond) {
				t.Fatalf("quantile %v is %v, want %v", q, got, exact)
			}
		}
	})
}

func TestUptime(t *testing.T) {
	s := summaryOf([]result{
		{monitor.CheckOK, time.Second}, {monitor.CheckSlow, time.Second}, {monitor.CheckFailed, time.Second},
		{monitor.CheckUnknown, 0},
	})
	if s.Count != 3 || s.Slow != 1 || s.Failures != 1 || s.Unknown != 1 {
		t.Errorf("counted %+v", s)
	}
	if share, ok := s.Uptime(); !ok || math.Abs(share-2.0/3) > 1e-9 {
		t.Fatalf("uptime %v, %v; want 2/3", share, ok)
	}
	s = summaryOf([]result{{monitor.CheckUnknown, 0}})
	if _, ok := s.Uptime(); ok {
		t.Fatal("an uptime without results")
	}
}

// A chunk is read as it was written, whatever was put into it in which order.
func TestChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c checkstats.Chunk
		want := make(map[int]checkstats.Summary)
		for range rapid.IntRange(0, 20).Draw(t, "puts") {
			i := rapid.IntRange(0, 287).Draw(t, "index")
			s := summaryOf(drawResults(t))
			c.Put(i, s)
			want[i] = s
			if s.Count == 0 && s.Unknown == 0 {
				delete(want, i)
			}
		}
		read, err := checkstats.Decode(c.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if len(read) != len(want) {
			t.Fatalf("%d periods, want %d", len(read), len(want))
		}
		for i, p := range read {
			if i > 0 && p.Index <= read[i-1].Index {
				t.Fatal("the periods are not in order")
			}
			if w := want[p.Index]; !equal(&p.Summary, &w) {
				t.Fatalf("period %d is %+v, want %+v", p.Index, p.Summary, w)
			}
		}
	})
}

// A day of a monitor that is checked each minute is small: at 1,000 such monitors, 90 days must fit into a gigabyte.
func TestChunkSize(t *testing.T) {
	day := func(periods, results int) int {
		var c checkstats.Chunk
		for i := range periods {
			var s checkstats.Summary
			for n := range results {
				// 40 to 160 ms, most of them in the middle
				s.Add(monitor.CheckOK,
					80*time.Millisecond+
						time.Duration(float64(40*time.Millisecond)*math.Pow(math.Sin(float64(i*results+n)*12.9898), 3)))
			}
			c.Put(i, s)
		}
		return len(c.Encode())
	}
	if got := day(288, 5) + day(24, 60); got > 7<<10 {
		t.Fatalf("a day takes %d bytes", got)
	}
}

// encoded returns bytes as a chunk that contains them.
func encoded(t *testing.T, plain []byte) []byte {
	t.Helper()
	b := bytes.NewBuffer([]byte{1})
	w, err := flate.NewWriter(b, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(plain)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCorruptChunks checks what is no chunk, beside what just is one.
func TestCorruptChunks(t *testing.T) {
	var c checkstats.Chunk
	c.Put(0, summaryOf([]result{{monitor.CheckOK, time.Second}, {monitor.CheckSlow, 2 * time.Second}}))
	timed, err := io.ReadAll(flate.NewReader(bytes.NewReader(c.Encode()[1:])))
	if err != nil {
		t.Fatal(err)
	}
	with := func(i int, b byte) []byte { // the chunk with another byte
		out := slices.Clone(timed)
		out[i] = b
		return out
	}
	limit := binary.AppendUvarint(nil, math.MaxInt32)
	above := binary.AppendUvarint(nil, math.MaxInt32+1)
	whole := encoded(t, timed)
	for name, data := range map[string][]byte{
		"it is empty": {}, "of another version": append([]byte{2}, whole[1:]...), "not compressed": {1, 0xff, 0xff},
		"cut while compressed":        whole[:len(whole)-4],
		"more failures than results":  encoded(t, []byte{0, 2, 3, 0, 0}),
		"more slow than good results": encoded(t, []byte{0, 2, 1, 2, 0}),
		"slow results without times":  encoded(t, []byte{0, 2, 2, 1, 0}),
		"too many periods":            encoded(t, bytes.Repeat([]byte{0, 1, 1, 0, 0}, 1001)),
		"a number without an end":     encoded(t, []byte{0, 1, 1, 0, 0x80}),
		"no number":                   encoded(t, []byte{0, 1, 1, 0}),
		"a number that is too large":  encoded(t, append([]byte{0, 1, 1, 0}, above...)),
		"times that are cut":          encoded(t, timed[:len(timed)-1]),
		"times of more results":       encoded(t, with(1, 3)),
		"times of fewer results":      encoded(t, with(2, 1)),
		"times and nothing else":      encoded(t, timed[:6]),
		"times before another number": encoded(t, append(slices.Clone(timed), 0x80)),
		"times that are no sketch": encoded(
			t, append(slices.Clone(timed[:len(timed)-6]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		),
		"times beyond the end of data": encoded(t, append(slices.Clone(timed[:14]), 0x7f, 0x7f)),
	} {
		if c, err := checkstats.Decode(data); !errors.Is(err, checkstats.ErrCorrupt) || c != nil {
			t.Errorf("%s: %d periods, %v", name, len(c), err)
		}
	}
	for name, data := range map[string][]byte{
		"all results failed":             encoded(t, []byte{0, 2, 2, 0, 0}),
		"the largest number":             encoded(t, append([]byte{0, 1, 1, 0}, limit...)),
		"as many periods as a chunk has": encoded(t, bytes.Repeat([]byte{0, 1, 1, 0, 0}, 1000)), "with times": whole,
		"no period": encoded(t, nil),
	} {
		if _, err := checkstats.Decode(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPut checks that a period is added, replaced and removed where it is, and that the others stay.
func TestPut(t *testing.T) {
	var c checkstats.Chunk
	failed, unknown := summaryOf([]result{{monitor.CheckFailed, 0}}), summaryOf([]result{{monitor.CheckUnknown, 0}})
	for _, step := range []struct {
		index int
		put   checkstats.Summary
		want  []int
	}{
		{5, failed, []int{5}}, {3, unknown, []int{3, 5}}, {4, checkstats.Summary{}, []int{3, 5}},
		{9, failed, []int{3, 5, 9}}, {5, unknown, []int{3, 5, 9}},
		{5, checkstats.Summary{}, []int{3, 9}}, {9, checkstats.Summary{}, []int{3}}, {3, checkstats.Summary{}, nil},
	} {
		c.Put(step.index, step.put)
		var got []int
		for _, e := range c {
			got = append(got, e.Index)
			if e.Index == step.index && (e.Unknown != step.put.Unknown || e.Failures != step.put.Failures) {
				t.Errorf("period %d has %+v, want %+v", e.Index, e.Summary, step.put)
			}
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("after period %d: %v, want %v", step.index, got, step.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	var c checkstats.Chunk
	c.Put(3, summaryOf([]result{{monitor.CheckOK, time.Second}, {monitor.CheckFailed, 0}}))
	f.Add(c.Encode())
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := checkstats.Decode(data)
		if err != nil {
			if !errors.Is(err, checkstats.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := checkstats.Decode(c.Encode())
		if err != nil || len(again) != len(c) {
			t.Fatal("what was read cannot be written and read again", err)
		}
	})
}
