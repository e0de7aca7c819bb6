package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/check/checkstats"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

// checkStep is the length of the periods whose summaries are stored.
type checkStep struct {
	length    time.Duration
	chunk     time.Duration // the time that a row of check_rollups covers
	retention time.Duration // how long such rows are kept
}

var checkSteps = []checkStep{
	{5 * time.Minute, 24 * time.Hour, 90 * 24 * time.Hour},
	{time.Hour, 7 * 24 * time.Hour, 2 * 365 * 24 * time.Hour},
}

const (
	// foldDelay is how long after an hour its results are summed up. By then each check of it has ended, and
	// its result is written.
	foldDelay = monitor.MaxCheckTimeout + time.Minute

	foldMonitors = 50 // monitors per transaction
)

// FoldCheckResults sums up the results of the next few monitors in a past hour. more reports whether there may be more
// to do. Several replicas may call it concurrently.
func (s *Store) FoldCheckResults(ctx context.Context) (more bool, err error) {
	return write(ctx, s, (*tx).foldStep)
}

// foldStep sums up the results of the next monitors in the hour that check_fold has reached.
func (t *tx) foldStep() (more bool, err error) {
	t.skipBeforeReturn = true
	type progress struct {
		hour  time.Time
		after string
	}
	p, err := database.One(t.Session, func(row database.Row) (p progress, err error) {
		err = row.Scan(instant{&p.hour}, &p.after)
		return
	}, `SELECT hour_at, after_id FROM check_fold WHERE id = 1 FOR UPDATE`)
	oldest := t.Now.Add(-monitor.CheckResultRetention).Truncate(time.Hour)
	switch {
	case errors.Is(err, kernel.ErrNotFound):
		p.hour = oldest
		_, err = t.Exec(`INSERT INTO check_fold (id, hour_at, after_id) VALUES (1, $1, '') ON CONFLICT (id) DO NOTHING`,
			millis(p.hour))
		if err != nil {
			return false, err
		}
		return true, nil
	case err != nil:
		return false, err
	case p.hour.Before(oldest): // nobody summed up for a day
		p = progress{hour: oldest}
	}
	end := p.hour.Add(time.Hour)
	if t.Now.Before(end.Add(foldDelay)) {
		return false, nil
	}
	ids, err := database.Query(t.Session, database.ScanString,
		`SELECT monitor_id FROM checks WHERE monitor_id > $1 ORDER BY monitor_id LIMIT $2`, p.after, foldMonitors)
	if err != nil {
		return false, err
	}
	if err := t.foldHour(p.hour, ids); err != nil {
		return false, err
	}
	if p.after = ""; len(ids) == foldMonitors {
		p.after = ids[len(ids)-1]
	} else {
		p.hour = end
	}
	_, err = t.Exec(`UPDATE check_fold SET hour_at = $1, after_id = $2 WHERE id = 1`, millis(p.hour), p.after)
	return true, err
}

// rollupKey identifies a row of check_rollups.
type rollupKey struct {
	monitor string
	step    time.Duration
	start   int64 // in milliseconds since 1970
}

// foldHour sums up the results of monitors in an hour, and replaces earlier summaries of that hour.
func (t *tx) foldHour(hour time.Time, ids []string) error {
	results, err := t.timedResults(ids, hour, hour.Add(time.Hour))
	if err != nil || len(results) == 0 {
		return err
	}
	chunks, err := t.rollupChunks(ids, func(step checkStep) (from, to time.Time) {
		from = hour.Truncate(step.chunk)
		return from, from.Add(step.chunk)
	})
	if err != nil {
		return err
	}
	changed := make(map[rollupKey]bool)
	for monitor, results := range results {
		for _, step := range checkSteps {
			key := rollupKey{monitor, step.length, hour.Truncate(step.chunk).UnixMilli()}
			chunk := chunks[key]
			sums := sumUp(results, step.length)
			for at := hour; at.Before(hour.Add(time.Hour)); at = at.Add(step.length) {
				chunk.Put(int(at.Sub(at.Truncate(step.chunk))/step.length), sums[at.UnixMilli()])
			}
			chunks[key], changed[key] = chunk, true
		}
	}
	return t.saveRollups(chunks, changed)
}

func (t *tx) saveRollups(chunks map[rollupKey]checkstats.Chunk, changed map[rollupKey]bool) error {
	keys := slices.SortedFunc(maps.Keys(changed), func(a, b rollupKey) int {
		return cmp.Or(cmp.Compare(a.monitor, b.monitor), cmp.Compare(a.step, b.step))
	})
	for _, k := range keys {
		// A monitor may have been deleted meanwhile.
		_, err := t.Exec(`INSERT INTO check_rollups (monitor_id, step_ms, starts_at, data)
			SELECT id, CAST($2 AS BIGINT), CAST($3 AS BIGINT), $4 FROM monitors WHERE id = $1
			ON CONFLICT (monitor_id, step_ms, starts_at) DO UPDATE SET data = excluded.data`,
			k.monitor, k.step.Milliseconds(), k.start, chunks[k].Encode())
		if err != nil {
			return err
		}
	}
	return nil
}

// timedResult has the fields of a result that summaries need.
type timedResult struct {
	monitor string
	at      time.Time
	status  monitor.CheckStatus
	total   time.Duration
}

// timedResults returns the results of monitors that began in a period, by monitor.
func (c *session) timedResults(ids []string, from, to time.Time) (map[string][]timedResult, error) {
	rows, err := database.Query(c.Session, func(row database.Row) (r timedResult, err error) {
		var us int64
		err = row.Scan(&r.monitor, instant{&r.at}, &r.status, &us)
		r.total = time.Duration(us) * time.Microsecond
		return
	}, `SELECT monitor_id, started_at, status, total_us FROM check_results WHERE monitor_id IN EACH($1)
		AND started_at >= $2 AND started_at < $3`,
		list(ids), millis(from), millis(to))
	results := make(map[string][]timedResult)
	for _, r := range rows {
		results[r.monitor] = append(results[r.monitor], r)
	}
	return results, err
}

// sumUp returns the summaries of periods of a length, by their beginnings in milliseconds since 1970.
func sumUp(results []timedResult, length time.Duration) map[int64]checkstats.Summary {
	sums := make(map[int64]checkstats.Summary)
	for _, r := range results {
		key := r.at.Truncate(length).UnixMilli()
		sum := sums[key]
		sum.Add(r.status, r.total)
		sums[key] = sum
	}
	return sums
}

// rollupChunks loads the rows of check_rollups that begin in the periods that span returns for each step. Rows that
// cannot be read are logged and omitted.
func (c *session) rollupChunks(
	ids []string, span func(checkStep) (from, to time.Time),
) (map[rollupKey]checkstats.Chunk, error) {
	chunks := make(map[rollupKey]checkstats.Chunk)
	for _, step := range checkSteps {
		from, to := span(step)
		type row struct {
			key  rollupKey
			data []byte
		}
		rows, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
			r.key.step = step.length
			err = sc.Scan(&r.key.monitor, &r.key.start, &r.data)
			return
		}, `SELECT monitor_id, starts_at, data FROM check_rollups WHERE monitor_id IN EACH($1) AND step_ms = $2
			AND starts_at >= $3 AND starts_at < $4`,
			list(ids), step.length.Milliseconds(), millis(from), millis(to))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			chunk, err := checkstats.Decode(r.data)
			if err != nil {
				c.s.log.Error("statistics of checks cannot be read", "monitor", r.key.monitor,
					"since", time.UnixMilli(r.key.start).UTC(), "error", err)
				continue
			}
			chunks[r.key] = chunk
		}
	}
	return chunks, nil
}

// MaxCheckPeriods is how many periods CheckStatistics returns at most.
const MaxCheckPeriods = 1000

// StatisticsRange is a range of time, divided into periods of the length Step that begin at multiples of Step. With
// steps below an hour there are statistics for 90 days, with longer ones for two years.
type StatisticsRange struct {
	From, To time.Time
	Step     time.Duration
}

// CheckStatistics returns what the checks of a monitor, given its id or slug, found in each period of a range, oldest
// first. Periods without results are omitted. If from, to or step is invalid, the error is a *kernel.ValidationError.
func (s *Store) CheckStatistics(
	ctx context.Context, actor kernel.Actor, ref string, within StatisticsRange,
) ([]checkstats.Period, error) {
	if err := within.validate(); err != nil {
		return nil, err
	}
	return read(ctx, s, func(c *session) ([]checkstats.Period, error) {
		r := accessOf(actor)
		id, err := database.One(c.Session, database.ScanString,
			`SELECT id FROM monitors WHERE `+refColumn(ref)+` = $1 AND `+r.objects(2), ref, r.arg)
		if err != nil {
			return nil, err
		}
		return c.checkStatistics([]string{id}, within)
	})
}

// ComponentStatistics returns the CheckStatistics of the checks of a component together, but at most of the first
// maxStatisticsMonitors checks. checked reports whether there are any.
func (s *Store) ComponentStatistics(
	ctx context.Context, componentID string, within StatisticsRange,
) (periods []checkstats.Period, checked bool, err error) {
	if err := within.validate(); err != nil {
		return nil, false, err
	}
	periods, err = read(ctx, s, func(c *session) ([]checkstats.Period, error) {
		ids, err := database.Query(c.Session, database.ScanString,
			`SELECT id FROM monitors WHERE component_id = $1 AND type <> $2 ORDER BY id LIMIT $3`,
			componentID, string(monitor.MonitorHeartbeat), maxStatisticsMonitors)
		if checked = len(ids) > 0; err != nil || !checked {
			return nil, err
		}
		return c.checkStatistics(ids, within)
	})
	return periods, checked, err
}

// maxStatisticsMonitors limits how many monitors of a component ComponentStatistics sums up, because more would take
// too long.
const maxStatisticsMonitors = 20

func (r StatisticsRange) validate() error {
	var bad kernel.ValidationError
	switch {
	case r.Step <= 0 || r.Step%checkSteps[0].length != 0 || time.Hour%r.Step != 0 && r.Step%time.Hour != 0:
		bad.Add("step", "must be a multiple of 300 seconds that divides an hour, or a multiple of an hour")
	case !r.To.After(r.From):
		bad.Add("to", "must be later than the %s", kernel.Name("from"))
	case r.To.Sub(r.From)/r.Step >= MaxCheckPeriods:
		bad.Add("step", "is too short: there would be more than %d periods", MaxCheckPeriods)
	}
	return bad.Err()
}

// checkStatistics reads the summaries in check_rollups, and sums up the later results.
func (c *session) checkStatistics(ids []string, within StatisticsRange) ([]checkstats.Period, error) {
	from, to, length := within.From, within.To, within.Step
	step := checkSteps[0]
	if length%checkSteps[1].length == 0 {
		step = checkSteps[1]
	}
	from = from.Truncate(length)
	folded, err := database.One(c.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT hour_at FROM check_fold WHERE id = 1`)
	if errors.Is(err, kernel.ErrNotFound) {
		folded, err = from, nil
	}
	if err != nil {
		return nil, err
	}
	chunks, err := c.rollupChunks(ids, func(s checkStep) (time.Time, time.Time) {
		if s != step {
			return from, from // none
		}
		return from.Truncate(s.chunk), to
	})
	if err != nil {
		return nil, err
	}
	sums := make(map[int64]*checkstats.Summary)
	add := func(at time.Time, sum *checkstats.Summary) {
		if at.Before(from) || !at.Before(to) {
			return
		}
		key := at.Truncate(length).UnixMilli()
		if sums[key] == nil {
			sums[key] = new(checkstats.Summary)
		}
		sums[key].Merge(sum)
	}
	for key, chunk := range chunks {
		for i := range chunk {
			// In the hour that is being summed up, some monitors have summaries already.
			if at := time.UnixMilli(key.start).Add(time.Duration(chunk[i].Index) * step.length); at.Before(folded) {
				add(at, &chunk[i].Summary)
			}
		}
	}
	results, err := c.timedResults(ids, kernel.Later(from, folded), to)
	if err != nil {
		return nil, err
	}
	for _, ofMonitor := range results {
		for at, sum := range sumUp(ofMonitor, step.length) {
			add(time.UnixMilli(at), &sum)
		}
	}
	periods := make([]checkstats.Period, 0, len(sums))
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		periods = append(periods, checkstats.Period{StartsAt: time.UnixMilli(key).UTC(), Summary: *sums[key]})
	}
	return periods, nil
}

// pruneCheckRollups deletes summaries that are older than their retention.
func (s *Store) pruneCheckRollups(ctx context.Context) error {
	return writeOnly(ctx, s, func(t *tx) error {
		for _, step := range checkSteps {
			_, err := t.Exec(`DELETE FROM check_rollups WHERE step_ms = $1 AND starts_at <= $2`,
				step.length.Milliseconds(), millis(t.Now.Add(-step.retention-step.chunk)))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
