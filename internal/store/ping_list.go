package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
	"github.com/allswell/allswell/internal/store/pinghistory"
)

// SignalFilter limits a list of pings and signals. Zero fields do not limit it.
type SignalFilter struct {
	Kind    monitor.SignalKind
	Before  SignalCursor // only what is older
	Outputs int          // of how many Output is loaded, from the newest on
}

// SignalCursor is a place in the list of a monitor's pings and signals. It stays valid while there are new ones. The
// zero SignalCursor is the beginning.
type SignalCursor struct {
	At     int64 // microseconds since 1970; of signals, the last one of their millisecond
	Number int64 // of the signal; 0: a ping
}

// compare compares the ages of two entries, the newest first.
func (c SignalCursor) compare(other SignalCursor) int {
	return cmp.Or(cmp.Compare(other.At, c.At), cmp.Compare(other.Number, c.Number))
}

// signalEntry is an entry of the list with its place.
type signalEntry struct {
	monitor.Signal
	place SignalCursor
}

// Signals lists at most limit of the pings and signals of a workspace's monitor, given its id or slug, newest first: of
// both together, the last monitor.MaxSignals. next is the place of the last one; zero if there are no others.
func (s *Store) Signals(
	ctx context.Context, actor kernel.Actor, ref string, f SignalFilter, limit int,
) (signals []monitor.Signal, next SignalCursor, err error) {
	entries, err := read(ctx, s, func(c *session) ([]signalEntry, error) {
		m, err := c.monitorOf(actor, ref)
		if err != nil {
			return nil, err
		}
		entries, err := c.signalEntries(m)
		if err != nil {
			return nil, err
		}
		entries = slices.DeleteFunc(entries, func(e signalEntry) bool {
			return f.Kind != "" && e.Kind != f.Kind || f.Before != SignalCursor{} && e.place.compare(f.Before) <= 0
		})
		entries = entries[:min(len(entries), limit+1)]
		return entries, c.loadOutputs(m.ID, entries[:min(len(entries), limit, f.Outputs)])
	})
	if err != nil {
		return nil, next, err
	}
	if len(entries) > limit {
		entries = entries[:limit]
		next = entries[limit-1].place
	}
	for _, e := range entries {
		signals = append(signals, e.Signal)
	}
	return signals, next, nil
}

// signalEntries loads the last pings and signals of a monitor, newest first, without outputs.
func (c *session) signalEntries(m monitor.Monitor) ([]signalEntry, error) {
	signals, err := database.Query(c.Session, scanSignal,
		`SELECT `+signalColumns+` FROM signals WHERE monitor_id = $1 ORDER BY number DESC LIMIT $2`,
		m.ID, monitor.MaxSignals)
	if err != nil {
		return nil, err
	}
	pings, err := c.plainPings([]monitor.Monitor{m}, monitor.MaxSignals)
	if err != nil {
		return nil, err
	}
	entries := make([]signalEntry, 0, len(signals)+len(pings[m.ID]))
	for _, signal := range signals {
		// Within a millisecond, the pings of a batch are recorded before its signals.
		entries = append(entries, signalEntry{signal, SignalCursor{signal.ReceivedAt.UnixMicro() + 999, signal.Number}})
	}
	for _, p := range pings[m.ID] {
		entries = append(entries, signalEntry{plainPing(m, p), SignalCursor{At: p.At}})
	}
	slices.SortStableFunc(entries, func(a, b signalEntry) int { return a.place.compare(b.place) })
	return entries[:min(len(entries), monitor.MaxSignals)], nil
}

// plainPing returns a ping of a monitor as an entry of its history.
func plainPing(m monitor.Monitor, p pinghistory.Ping) monitor.Signal {
	out := monitor.Signal{
		ID: kernel.PingID(p.At, m.ID), MonitorID: m.ID, ReceivedAt: time.UnixMilli(p.At / 1000).UTC(),
		Kind: monitor.SignalPing, UserAgent: p.Client.UserAgent,
	}
	if p.Client.Address.IsValid() {
		out.Address = p.Client.Address.String()
	}
	if p.Duration >= 0 {
		out.Duration = &p.Duration
	}
	return out
}

// pingKeys are the keys of the tokens of monitors. A key has been the token of at most one of them.
type pingKeys map[int64]keyOwner

// keyOwner says whose token a key was, and in which time. A token can become another monitor's after it is deleted.
type keyOwner struct {
	monitorID    string
	since, until int64 // microseconds since 1970
}

// pingKeys loads the keys of monitors.
func (c *session) pingKeys(monitors []monitor.Monitor) (pingKeys, error) {
	keys, since := pingKeys{}, make(map[string]int64, len(monitors))
	ids := make([]string, len(monitors))
	for i, m := range monitors {
		ids[i], since[m.ID] = m.ID, m.CreatedAt.UnixMicro()
	}
	_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var id string
		var key int64
		var until time.Time
		if err = row.Scan(&id, &key, instant{&until}); err == nil {
			keys[key] = keyOwner{id, since[id], until.UnixMicro()}
		}
		return
	}, `SELECT monitor_id, ping_key, until_at FROM past_ping_tokens WHERE monitor_id IN EACH($1)`, list(ids))
	for _, m := range monitors {
		keys[pingKey(m.Token)] = keyOwner{m.ID, since[m.ID], c.Now.AddDate(100, 0, 0).UnixMicro()}
	}
	return keys, err
}

// plainPings loads the last plain pings of monitors, at most limit of each, newest first. What cannot be read is logged
// and left out.
func (c *session) plainPings(monitors []monitor.Monitor, limit int) (map[string][]pinghistory.Ping, error) {
	if !c.s.KeepsPings() || len(monitors) == 0 {
		return nil, nil
	}
	keys, err := c.pingKeys(monitors)
	if err != nil {
		return nil, err
	}
	pings := make(map[string][]pinghistory.Ping, len(monitors))
	keep := func(key int64, p pinghistory.Ping) {
		if o, ok := keys[key]; ok && p.At >= o.since && p.At < o.until {
			pings[o.monitorID] = append(pings[o.monitorID], p)
		}
	}
	corrupt := func(err error) {
		if err != nil {
			c.s.log.Error("a part of the history of pings cannot be read", "error", err)
		}
	}
	_, err = database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var data []byte
		if err = row.Scan(&data); err == nil {
			corrupt(pinghistory.ReadBlock(data, keep))
		}
		return
	}, `SELECT data FROM ping_blocks`)
	if err != nil {
		return nil, err
	}
	for key := range keys {
		chunks, err := database.Query(c.Session, scanChunk,
			`SELECT first_key, last_key, data FROM ping_segments JOIN ping_chunks ON segment_id = id
			WHERE state = 'live' AND first_key = (SELECT max(first_key) FROM ping_chunks AS o
			WHERE o.segment_id = ping_segments.id AND o.first_key <= $1)`, key)
		if err != nil {
			return nil, err
		}
		for _, chunk := range chunks {
			if chunk.LastKey < key {
				continue
			}
			found, err := pinghistory.Find(chunk, key)
			corrupt(err)
			for _, p := range found {
				keep(key, p)
			}
		}
	}
	for id := range pings {
		pings[id] = pinghistory.Newest(pings[id], c.s.pingCutoff(c.Now).UnixMicro(), limit)
	}
	return pings, nil
}

// loadOutputs loads the outputs of the signals among entries.
func (c *session) loadOutputs(monitorID string, entries []signalEntry) error {
	index, ids := map[string]int{}, []string{}
	for i, e := range entries {
		if e.OutputSize > 0 {
			index[e.ID] = i
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	signals, err := database.Query(c.Session, scanSignalWithOutput,
		`SELECT `+signalColumns+`, output FROM signals WHERE id IN EACH($1) AND monitor_id = $2`, list(ids), monitorID)
	for _, signal := range signals {
		entries[index[signal.ID]].Output = signal.Output
	}
	return err
}
