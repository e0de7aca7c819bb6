package store

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
	"github.com/allswell/allswell/internal/store/pinghistory"
)

// Limits of one step of a merge, which keep its transaction and its memory small.
const (
	minBlocks     = 32        // blocks that are merged into a segment
	maxBlockBytes = 256 << 10 // size at which fewer blocks are merged, too
	fanIn         = 8         // segments of a level that are merged into one of the next level
	stepChunks    = 4         // chunks of each segment in one step
	deletedChunks = 64
)

// The states of a segment of the history.
const (
	segmentBuilding = "building" // the merge that makes it is in progress
	segmentLive     = "live"
	segmentDead     = "dead" // it was merged, or is too old, and is being deleted
)

// pingSegment is a row of ping_segments.
type pingSegment struct {
	id, state, mergedInto string
	level, nextKey        int64
	oldest, newest        time.Time
}

// errStale means that another replica was faster.
var errStale = errors.New("the segments have changed")

// MergePings does one step of each kind of work on the history of plain pings: it makes a segment of blocks, merges
// segments, and deletes what is too old. more reports whether there may be more to do. Several replicas may call it
// concurrently.
func (s *Store) MergePings(ctx context.Context) (more bool, err error) {
	for _, step := range []func(context.Context) (bool, error){s.mergeBlocks, s.mergeSegments, s.deleteSegment} {
		did, err := step(ctx)
		if errors.Is(err, errStale) {
			did, err = true, nil
		}
		if err != nil {
			return false, err
		}
		more = more || did
	}
	return more, nil
}

// pingCutoff returns the time of the oldest ping that is kept.
func (s *Store) pingCutoff(now time.Time) time.Time { return now.Add(-max(s.pingRetention, 0)) }

// deletedBefore returns the time before which pings are deleted from the database, by a merge of their own if need be.
func (s *Store) deletedBefore(now time.Time) time.Time {
	return s.pingCutoff(now).Add(-max(s.pingRetention, 0) / 10)
}

// blocks are the oldest blocks.
type blocks struct {
	ids  []string
	data [][]byte
	size int // in bytes
}

// loadBlocks loads the oldest blocks, up to maxBlockBytes.
func (s *Store) loadBlocks(ctx context.Context) (b blocks, err error) {
	errFull := errors.New("enough")
	err = s.db.Each(ctx, func(row database.Row) error {
		var id string
		var data []byte
		if err := row.Scan(&id, &data); err != nil {
			return err
		}
		b.ids, b.data, b.size = append(b.ids, id), append(b.data, data), b.size+len(data)
		if b.size >= maxBlockBytes {
			return errFull
		}
		return nil
	}, `SELECT id, data FROM ping_blocks ORDER BY id`)
	if errors.Is(err, errFull) {
		err = nil
	}
	return b, err
}

// oldest returns the time of the first ping of the first block that can be read; zero: there is none. Each block is
// later than the one before.
func (b blocks) oldest() (first time.Time) {
	for _, data := range b.data {
		pinghistory.ReadBlock(data, func(_ int64, p pinghistory.Ping) {
			if at := time.UnixMicro(p.At); first.IsZero() || at.Before(first) {
				first = at
			}
		})
		if !first.IsZero() {
			break
		}
	}
	return first
}

// pings returns the pings by their keys. What cannot be read is logged and left out.
func (b blocks) pings(log *slog.Logger) map[int64][]pinghistory.Ping {
	pings := make(map[int64][]pinghistory.Ping)
	for i, data := range b.data {
		err := pinghistory.ReadBlock(data, func(key int64, p pinghistory.Ping) { pings[key] = append(pings[key], p) })
		if err != nil {
			log.Error("a part of the history of pings is lost", "block", b.ids[i], "error", err)
		}
	}
	return pings
}

// mergeBlocks makes a segment of the oldest blocks, if there are enough, or some are too old.
func (s *Store) mergeBlocks(ctx context.Context) (bool, error) {
	b, err := s.loadBlocks(ctx)
	if err != nil || len(b.ids) == 0 {
		return false, err
	}
	now, err := s.Clock(ctx)
	if err != nil {
		return false, err
	}
	if b.size < maxBlockBytes && len(b.ids) < minBlocks && s.KeepsPings() {
		if oldest := b.oldest(); oldest.IsZero() || !oldest.Before(s.deletedBefore(now)) {
			return false, nil
		}
	}
	var w pinghistory.Writer
	for _, run := range pinghistory.Sort(b.pings(s.log), s.pingCutoff(now).UnixMicro(), monitor.MaxSignals) {
		w.Add(run)
	}
	return true, writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		n, err := t.Exec(`DELETE FROM ping_blocks WHERE id IN EACH($1)`, list(b.ids))
		if err == nil && n != int64(len(b.ids)) {
			err = errStale
		}
		if err != nil || len(w.Chunks()) == 0 {
			return err
		}
		segment := pingSegment{id: kernel.NewID("", t.Now), state: segmentLive, level: 1}
		segment.include(w.Chunks())
		if err := t.insertSegment(segment); err != nil {
			return err
		}
		return t.insertChunks(segment.id, w.Chunks())
	})
}

// include extends the times of a segment by the times of chunks.
func (g *pingSegment) include(chunks []pinghistory.Chunk) {
	for _, c := range chunks {
		if oldest := time.UnixMicro(c.Oldest); g.oldest.IsZero() || oldest.Before(g.oldest) {
			g.oldest = oldest
		}
		g.newest = kernel.Later(g.newest, time.UnixMicro(c.Newest))
	}
}

func (t *tx) insertSegment(g pingSegment) error {
	_, err := t.Exec(`INSERT INTO ping_segments (id, level, state, next_key, oldest_at, newest_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, g.id, g.level, g.state, g.nextKey, g.oldest.UnixMilli(), g.newest.UnixMilli())
	return err
}

func (t *tx) insertChunks(segment string, chunks []pinghistory.Chunk) error {
	for _, c := range chunks {
		_, err := t.Exec(`INSERT INTO ping_chunks (segment_id, first_key, last_key, data) VALUES ($1, $2, $3, $4)`,
			segment, c.FirstKey, c.LastKey, c.Data)
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeSegments does a step of a merge, or begins one. Merges of low levels go first: they take seconds and keep the
// number of segments small. During merges of high levels, of gigabytes, it would grow for hours.
func (s *Store) mergeSegments(ctx context.Context) (bool, error) {
	now, err := s.Clock(ctx)
	if err != nil {
		return false, err
	}
	segments, err := database.Lookup(ctx, s.db, func(c *database.Session) ([]pingSegment, error) {
		return database.Query(c, func(row database.Row) (g pingSegment, err error) {
			err = row.Scan(&g.id, &g.level, &g.state, text{&g.mergedInto}, &g.nextKey, instant{&g.oldest},
				instant{&g.newest})
			return
		}, `SELECT id, level, state, merged_into, next_key, oldest_at, newest_at FROM ping_segments ORDER BY level, id`)
	})
	if err != nil {
		return false, err
	}
	var building *pingSegment // of the lowest level
	if i := slices.IndexFunc(segments, func(g pingSegment) bool { return g.state == segmentBuilding }); i >= 0 {
		building = new(segments[i])
	}
	waiting := slices.DeleteFunc(segments, func(g pingSegment) bool {
		return g.state != segmentLive || g.mergedInto != ""
	})
	from, level := s.mergeable(waiting, now)
	switch {
	case len(from) > 0 && (building == nil || level < building.level):
		return true, s.beginMerge(ctx, from, level)
	case building != nil:
		return true, s.continueMerge(ctx, *building, s.pingCutoff(now))
	default:
		return false, nil
	}
}

// mergeable returns the segments that are to be merged next, and the level of the result. Segments are given by level
// and age. One with pings that are older than the retention and a tenth is merged alone, which deletes these.
func (s *Store) mergeable(segments []pingSegment, now time.Time) (from []pingSegment, level int64) {
	for begin := 0; begin < len(segments); {
		end := begin
		for end < len(segments) && segments[end].level == segments[begin].level {
			end++
		}
		if end-begin >= fanIn {
			return segments[begin : begin+fanIn], segments[begin].level + 1
		}
		begin = end
	}
	for i, g := range segments {
		if g.newest.Before(s.pingCutoff(now)) || g.oldest.Before(s.deletedBefore(now)) {
			return segments[i : i+1], g.level
		}
	}
	return nil, 0
}

// beginMerge begins a merge of segments.
func (s *Store) beginMerge(ctx context.Context, from []pingSegment, level int64) error {
	return writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		into := pingSegment{
			id: kernel.NewID("", t.Now), state: segmentBuilding, level: level, nextKey: math.MinInt64, oldest: t.Now,
		}
		var ids []string
		for _, g := range from {
			ids = append(ids, g.id)
		}
		n, err := t.Exec(`UPDATE ping_segments SET merged_into = $2 WHERE id IN EACH($1) AND state = 'live'
			AND merged_into IS NULL`, list(ids), into.id)
		if err == nil && n != int64(len(from)) {
			err = errStale
		}
		if err != nil {
			return err
		}
		return t.insertSegment(into)
	})
}

// continueMerge merges the next keys of the segments that become a new one. It reads outside the transaction, because
// what it reads does not change, and pings need not wait for it.
func (s *Store) continueMerge(ctx context.Context, into pingSegment, cutoff time.Time) error {
	inputs, err := s.mergeInputs(ctx, into)
	if err != nil {
		return err
	}
	chunks, upTo := pinghistory.Merge(inputs, into.nextKey, cutoff.UnixMicro(), monitor.MaxSignals, func(err error) {
		s.log.Error("a part of the history of pings is lost", "segment", into.id, "error", err)
	})
	next := into
	next.include(chunks)
	ended := upTo == math.MaxInt64
	switch {
	case !ended:
		next.nextKey = upTo + 1
	case next.newest.Before(time.UnixMilli(0)): // nothing is left
		next.state = segmentDead
	default:
		next.state = segmentLive
	}
	return writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		n, err := t.Exec(`UPDATE ping_segments SET state = $3, next_key = $4, oldest_at = $5, newest_at = $6
			WHERE id = $1 AND state = 'building' AND next_key = $2`,
			into.id, into.nextKey, next.state, next.nextKey, next.oldest.UnixMilli(), next.newest.UnixMilli())
		if err == nil && n == 0 {
			err = errStale
		}
		if err == nil {
			err = t.insertChunks(into.id, chunks)
		}
		if err == nil && ended {
			_, err = t.Exec(`UPDATE ping_segments SET state = 'dead', merged_into = NULL WHERE merged_into = $1`,
				into.id)
		}
		return err
	})
}

// mergeInputs loads the next chunks of the segments that become a new one.
func (s *Store) mergeInputs(ctx context.Context, into pingSegment) ([]pinghistory.Input, error) {
	return read(ctx, s, func(c *session) (inputs []pinghistory.Input, err error) {
		from, err := c.ids(`SELECT id FROM ping_segments WHERE merged_into = $1`, into.id)
		if err != nil {
			return nil, err
		}
		for _, id := range from {
			chunks, err := database.Query(c.Session, scanChunk,
				`SELECT first_key, last_key, data FROM ping_chunks WHERE segment_id = $1
				AND first_key >= (SELECT coalesce(max(first_key), $2) FROM ping_chunks WHERE segment_id = $1
				AND first_key <= $2)
				ORDER BY first_key LIMIT $3`, id, into.nextKey, stepChunks+1)
			if err != nil {
				return nil, err
			}
			in := pinghistory.Input{Chunks: chunks[:min(len(chunks), stepChunks)], More: len(chunks) > stepChunks}
			inputs = append(inputs, in)
		}
		return inputs, nil
	})
}

func scanChunk(row database.Row) (c pinghistory.Chunk, err error) {
	err = row.Scan(&c.FirstKey, &c.LastKey, &c.Data)
	return
}

// deleteSegment deletes some chunks of a dead segment, or the segment after its last one.
func (s *Store) deleteSegment(ctx context.Context) (bool, error) {
	dead, err := s.count(ctx, `SELECT count(*) FROM ping_segments WHERE state = 'dead'`)
	if err != nil || dead == 0 {
		return false, err
	}
	return true, writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		id, err := database.One(t.Session, database.ScanString,
			`SELECT id FROM ping_segments WHERE state = 'dead' ORDER BY id LIMIT 1 FOR UPDATE`)
		if errors.Is(err, kernel.ErrNotFound) {
			return nil // another replica has deleted it
		}
		if err != nil {
			return err
		}
		n, err := t.Exec(`DELETE FROM ping_chunks WHERE segment_id = $1 AND first_key IN
			(SELECT first_key FROM ping_chunks WHERE segment_id = $1 ORDER BY first_key LIMIT $2)`, id, deletedChunks)
		if err == nil && n < deletedChunks {
			_, err = t.Exec(`DELETE FROM ping_segments WHERE id = $1`, id)
		}
		return err
	})
}
