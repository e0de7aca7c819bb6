package store_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/pinghistory"
)

// pingModel is the history of monitors as a list for each, oldest first.
type pingModel struct {
	*world
	random   *rand.Rand
	monitors []monitor.Monitor
	old      map[string]string // the token before, by monitor
	lists    map[string][]string
}

var modelClients = []pinghistory.Client{
	{}, {Address: netip.MustParseAddr("192.0.2.1"), UserAgent: "curl/8.5.0"},
	{Address: netip.MustParseAddr("2001:db8::7"), UserAgent: "backup (1)"},
}

// entry describes an entry of the history.
func entry(s monitor.Signal) string {
	lasted := ""
	if s.Duration != nil {
		lasted = s.Duration.String()
	}
	return fmt.Sprint(s.ReceivedAt.UnixMilli(), s.Kind, s.Address, s.UserAgent, lasted)
}

func (m *pingModel) add(id string, s monitor.Signal) {
	s.ReceivedAt = m.clock.now()
	m.lists[id] = append(m.lists[id], entry(s))
}

// pings records a batch with several pings of some monitors, some of them by the old token.
func (m *pingModel) pings(n int) {
	m.Helper()
	var tokens []string
	from := store.PingOrigins{Clients: modelClients}
	for i := range n {
		id := m.monitors[m.random.IntN(len(m.monitors))]
		token := id.Token
		if old := m.old[id.ID]; old != "" && m.random.IntN(3) == 0 {
			token = old
		}
		at := slices.Index(tokens, token)
		if at < 0 {
			at = len(tokens)
			tokens = append(tokens, token)
		}
		client := i % len(modelClients)
		from.Pings = append(from.Pings, store.PingOrigin{Token: int32(at), Client: int32(client)})
		sent := monitor.Signal{Kind: monitor.SignalPing, UserAgent: modelClients[client].UserAgent}
		if a := modelClients[client].Address; a.IsValid() {
			sent.Address = a.String()
		}
		m.add(id.ID, sent)
	}
	tokens = append(tokens, kernel.NewPingToken())
	from.Pings = append(from.Pings, store.PingOrigin{Token: int32(len(tokens) - 1)})
	results := must(m.RecordPings(m.ctx, tokens, store.LivenessRecord{Replica: "a"}, from))(m)
	for i, result := range results {
		want := map[bool]store.PingResult{
			true: store.PingRecorded, false: store.PingUnknown,
		}[i < len(tokens)-1]
		if result != want {
			m.Fatalf("ping %d of the batch: %v, want %v", i, result, want)
		}
	}
}

// check compares the history of a monitor, read in parts of random sizes, with the model.
func (m *pingModel) check(id string) {
	m.Helper()
	want := slices.Clone(m.lists[id])
	slices.Reverse(want)
	want = want[:min(len(want), monitor.MaxSignals)]
	f, seen := store.SignalFilter{}, map[string]bool{}
	var got []string
	for first := true; first || f.Before.At != 0; first = false {
		part, next, err := m.Signals(m.ctx, m.ws, id, f, 1+m.random.IntN(400))
		m.ok(err)
		for _, s := range part {
			if seen[s.ID] {
				m.Fatalf("%s is listed twice", s.ID)
			}
			seen[s.ID] = true
			got = append(got, entry(s))
		}
		f.Before = next
	}
	if !slices.Equal(got, want) {
		m.Fatalf("%s: %d entries, want %d:\n%.600q\n%.600q", id, len(got), len(want), got, want)
	}
}

// TestHistoryOfPingsIsTheModel records random batches, signals and rotations, merges at random times, and compares
// what is listed with a list.
func TestHistoryOfPingsIsTheModel(t *testing.T) {
	inWorlds(t, func(w *world) {
		seed := rand.Uint64()
		w.Logf("seed %d", seed)
		m := &pingModel{
			w, rand.New(rand.NewPCG(seed, 0)), w.fill(12, time.Hour), map[string]string{}, map[string][]string{},
		}
		gone := m.monitors[11]
		rounds := w.rounds(1200) // on SQLite enough for segments of the third level
		for round := range rounds {
			w.clock.move(time.Duration(1+m.random.IntN(400)) * time.Millisecond)
			m.pings(1 + m.random.IntN(10))
			some := &m.monitors[m.random.IntN(len(m.monitors))]
			m.act(some, round)
			if round == rounds/2 {
				w.ok(w.DeleteMonitor(w.ctx, w.ws, gone.ID))
				m.monitors = m.monitors[:11]
			}
		}
		long := m.monitors[0]
		m.fill(long)
		// Nobody sees the history of a monitor that was deleted, not even with its token.
		m.monitors = []monitor.Monitor{
			must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Name: "again", Interval: time.Hour,
			})))(w),
		}
		w.run(`UPDATE monitors SET token = $2 WHERE id = $1`, m.monitors[0].ID, gone.Token)
		m.check(m.monitors[0].ID)
		// What is too old is not listed, and is deleted.
		w.clock.move(monitor.SignalRetention + time.Hour)
		pings := store.SignalFilter{Kind: monitor.SignalPing}
		if list, _, err := w.Signals(w.ctx, w.ws, long.ID, pings, 1); err != nil || len(list) > 0 {
			w.Errorf("pings that are too old: %v, %v", list, err)
		}
		w.clock.move(monitor.SignalRetention / 10)
		for more := true; more; {
			more = must(w.MergePings(w.ctx))(w)
		}
		got := w.value(`SELECT count(*) FROM ping_blocks`) + w.value(`SELECT count(*) FROM ping_chunks`) +
			w.value(`SELECT count(*) FROM ping_segments`)
		if got != "000" {
			w.Errorf("%s blocks, chunks and segments are left", got)
		}
	})
}

// act sometimes does something with a monitor, or merges.
func (m *pingModel) act(some *monitor.Monitor, round int) {
	switch m.random.IntN(12) {
	case 0:
		m.clock.move(time.Millisecond)
		m.send(store.NewSignal{Token: some.Token, Kind: monitor.SignalLog})
		m.add(some.ID, monitor.Signal{Kind: monitor.SignalLog})
	case 1:
		if m.old[some.ID] == "" {
			m.old[some.ID] = some.Token
			some.Token = must(m.RotateMonitor(m.ctx, m.ws, some.ID))(m).Token
		}
	case 2, 3, 4, 5:
		must(m.MergePings(m.ctx))(m)
	case 6:
		if round%5 == 0 {
			m.check(some.ID)
		}
	}
}

// fill gives a monitor a run that a plain ping ends, which has a duration, and more than 1,000 entries. At most 1,000
// are kept.
func (m *pingModel) fill(long monitor.Monitor) {
	m.send(store.NewSignal{Token: long.Token, Kind: monitor.SignalStart})
	m.add(long.ID, monitor.Signal{Kind: monitor.SignalStart})
	m.clock.move(90 * time.Second)
	m.ping(long.Token)
	m.add(long.ID, monitor.Signal{Kind: monitor.SignalPing, Duration: new(90 * time.Second)})
	m.check(long.ID)
	for range 9 {
		m.clock.move(time.Second)
		m.monitors = m.monitors[:1]
		m.pings(130)
	}
	m.check(long.ID)
	for more := true; more; {
		more = must(m.MergePings(m.ctx))(m)
	}
	if got := m.value(`SELECT max(level) FROM ping_segments WHERE state = 'live'`); got < "2" {
		m.Errorf("segments were not merged: the highest level is %s", got)
	}
	m.check(long.ID)
}

// TestMergeInSteps merges segments of more chunks than a step takes, whose chunks begin at different keys: no ping is
// lost or doubled between two steps.
func TestMergeInSteps(t *testing.T) {
	inWorlds(t, func(w *world) {
		seed := rand.Uint64()
		w.Logf("seed %d", seed)
		m := &pingModel{
			w, rand.New(rand.NewPCG(seed, 0)), w.fill(60, time.Hour), map[string]string{}, map[string][]string{},
		}
		long := strings.Repeat("x", 200)
		for batch := range 8 {
			w.clock.move(time.Second)
			var from store.PingOrigins
			for i := range 1300 { // enough for a segment
				sent, at := monitor.Signal{Kind: monitor.SignalPing, UserAgent: fmt.Sprint(batch, i, long)},
					m.random.IntN(len(m.monitors))
				from.Clients = append(from.Clients, pinghistory.Client{UserAgent: sent.UserAgent})
				from.Pings = append(from.Pings, store.PingOrigin{Token: int32(at), Client: int32(i)})
				m.add(m.monitors[at].ID, sent)
			}
			must(w.RecordPings(w.ctx, tokensOf(m.monitors), store.LivenessRecord{Replica: "a"}, from))(w)
			must(w.MergePings(w.ctx))(w)
		}
		steps := 0
		for must(w.MergePings(w.ctx))(w) {
			steps++
		}
		if got := w.value(`SELECT count(*), min(level) FROM ping_segments`); got != "1|2" || steps < 4 {
			w.Errorf("segments and their level: %s, after %d steps", got, steps)
		}
		for _, monitor := range m.monitors {
			m.check(monitor.ID)
		}
	})
}

// TestNoHistoryOfPings checks that a negative retention keeps no pings, and drops existing ones.
func TestNoHistoryOfPings(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		off := must(store.OpenBeside(w.ctx, w.dsn, store.Options{Clock: w.clock.now, PingRetention: -1}))(w)
		defer off.Close()
		w.clock.move(time.Minute)
		must(off.RecordPings(w.ctx, []string{w.monitor.Token}, store.LivenessRecord{Replica: "a"},
			store.PingOrigins{}))(w)
		w.clock.move(time.Minute)
		for s, want := range map[*store.Store]int{off: 0, w.Store: 1} {
			list, _, err := s.Signals(w.ctx, w.ws, w.monitor.ID, store.SignalFilter{}, 9)
			if err != nil || len(list) != want {
				w.Errorf("signals of a store that keeps pings or not: %v, %v, want %d", list, err, want)
			}
		}
		for more := true; more; {
			more = must(off.MergePings(w.ctx))(w)
		}
		if got := w.value(`SELECT count(*) FROM ping_blocks`); got != "0" {
			w.Errorf("%s blocks are left", got)
		}
	})
}

// TestCorruptHistoryOfPings checks that what cannot be read is left out, and does not stop merges.
func TestCorruptHistoryOfPings(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.clock.move(time.Second)
		for i := range 40 {
			w.pinged()
			w.clock.move(time.Second)
			if i == 20 {
				w.run(`UPDATE ping_blocks SET data = $1`, []byte{1, 200})
			}
		}
		for range 2 { // before and after the merge
			list, _, err := w.Signals(w.ctx, w.ws, w.monitor.ID, store.SignalFilter{}, 100)
			if err != nil || len(list) != 19 {
				w.Errorf("entries that can be read: %d, %v, want 19", len(list), err)
			}
			must(w.MergePings(w.ctx))(w)
		}
		w.run(`UPDATE ping_chunks SET data = $1`, []byte{9})
		list, _, err := w.Signals(w.ctx, w.ws, w.monitor.ID, store.SignalFilter{}, 100)
		if err != nil || len(list) != 0 {
			w.Errorf("history with corrupt chunks: %v, %v", list, err)
		}
	})
}

// TestSmallMergesDoNotWaitForLargeOnes checks that segments of a low level are merged while a long merge is in
// progress, which goes on after that.
func TestSmallMergesDoNotWaitForLargeOnes(t *testing.T) {
	inWorlds(t, func(w *world) {
		now := w.clock.now().UnixMilli()
		add := func(id string, level int, state string, into any) {
			w.run(`INSERT INTO ping_segments (id, level, state, merged_into, next_key, oldest_at, newest_at)
				VALUES ($1, $2, $3, $4, 0, $5, $5)`, id, level, state, into, now)
		}
		add("large", 9, "building", nil)
		add("part", 8, "live", "large")
		for key := range 20 {
			w.run(`INSERT INTO ping_chunks (segment_id, first_key, last_key, data) VALUES ('part', $1, $1, $2)`, key,
				[]byte{1, 0, 0})
		}
		for i := range 8 {
			add(fmt.Sprint("small", i), 1, "live", nil)
		}
		for range 2 {
			must(w.MergePings(w.ctx))(w)
		}
		if got := w.value(`SELECT count(*) FROM ping_segments WHERE level = 1 AND state = 'live'`); got != "0" {
			w.Errorf("%s small segments wait", got)
		}
		for more := true; more; {
			more = must(w.MergePings(w.ctx))(w)
		}
		if got := w.value(`SELECT id || ' is ' || state FROM ping_segments`); got != "large is live" {
			w.Errorf("at the end, %s", got)
		}
	})
}

// TestPastTokensAreLimited checks that few of the tokens that a monitor had are kept, the last ones.
func TestPastTokensAreLimited(t *testing.T) {
	inWorlds(t, func(w *world) {
		for range 22 {
			w.pinged()
			w.clock.move(time.Second)
			w.monitor = must(w.RotateMonitor(w.ctx, w.ws, w.monitor.ID))(w)
		}
		list, _, err := w.Signals(w.ctx, w.ws, w.monitor.ID, store.SignalFilter{}, 100)
		if w.ok(err); len(list) != 20 {
			w.Errorf("%d pings are listed, want those by the last 20 tokens", len(list))
		}
	})
}

// TestBlocksAreMergedOnce merges the same blocks several times concurrently, as replicas do: no ping is listed twice,
// and none is lost.
func TestBlocksAreMergedOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		merge := func() {
			if _, err := w.MergePings(w.ctx); err != nil {
				t.Error(err)
			}
		}
		const rounds, blocks = 8, 32
		for range rounds {
			for range blocks {
				w.clock.move(time.Second)
				w.pinged()
			}
			together(merge, merge, merge, merge)
		}
		list, _, err := w.Signals(w.ctx, w.ws, w.monitor.ID, store.SignalFilter{}, monitor.MaxSignals)
		w.ok(err)
		times := make(map[time.Time]bool)
		for _, s := range list {
			times[s.ReceivedAt] = true
		}
		if len(list) != rounds*blocks || len(times) != len(list) {
			t.Errorf("%d pings at %d times are listed, want %d", len(list), len(times), rounds*blocks)
		}
	})
}
