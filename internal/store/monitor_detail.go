package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// uptimePeriods are the periods for which MonitorDetail has the uptime.
var uptimePeriods = []time.Duration{24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 90 * 24 * time.Hour}

// MonitorDetail is a monitor with what explains it.
type MonitorDetail struct {
	MonitorListEntry
	Explanation   monitor.Explanation
	OldTokenUntil time.Time // when the ping URL before the current one stops working; zero: there is none
	Uptimes       []MonitorUptime
}

// MonitorUptime is the time that a monitor was up and down in the last Period, or since it was created.
type MonitorUptime struct {
	Period time.Duration
	statuspage.StatusDurations
}

// ExplainMonitor returns why a workspace's monitor, given its id or slug, has its state.
func (s *Store) ExplainMonitor(ctx context.Context, actor kernel.Actor, ref string) (monitor.Explanation, error) {
	return read(ctx, s, func(c *session) (e monitor.Explanation, err error) {
		m, err := c.monitorOf(actor, ref)
		if err != nil {
			return e, err
		}
		return c.explain(m)
	})
}

func (c *session) explain(m monitor.Monitor) (monitor.Explanation, error) {
	gaps, err := c.pingGaps(m)
	if err != nil {
		return monitor.Explanation{}, err
	}
	tick := monitor.Tick{AsOf: c.Now, Period: c.s.period, Threshold: c.s.threshold}
	if !m.WaitingSince.IsZero() {
		tick.Gaps, err = c.gaps(m.WaitingSince)
	}
	e := m.Explain(tick)
	e.PingGaps = gaps
	if err == nil && m.IsCheck() {
		if e.CheckingGaps, err = c.monitorGaps(m); err == nil {
			e.Views, err = c.lastResults(m.ID)
		}
		if err == nil && e.State == monitor.MonitorUnknown {
			e.UnknownReason, err = c.unknownReason(m.ID)
		}
	}
	if err != nil || m.State != monitor.MonitorDown {
		return e, err
	}
	o, err := c.openOutage(m.ID)
	if err != nil {
		return e, err
	}
	e.Reason, e.DownSince = o.Reason, o.StartedAt
	n, err := database.One(c.Session, database.ScanInt,
		`SELECT count(*) FROM incidents WHERE taken_over AND NOT resolved AND outage_id = $1`, o.ID)
	e.TakenOver = n > 0
	return e, err
}

// MonitorDetail returns a workspace's monitor, given its id or slug.
func (s *Store) MonitorDetail(ctx context.Context, actor kernel.Actor, ref string) (MonitorDetail, error) {
	return read(ctx, s, func(c *session) (d MonitorDetail, err error) {
		m, err := c.monitorOf(actor, ref)
		if err != nil {
			return d, err
		}
		pages, err := c.monitorListPages(actor)
		if err != nil {
			return d, err
		}
		entries, err := c.monitorListEntries([]monitor.Monitor{m}, pages)
		if err != nil {
			return d, err
		}
		d.MonitorListEntry = entries[0]
		if d.Explanation, err = c.explain(m); err != nil {
			return d, err
		}
		if d.Uptimes, err = c.monitorUptimes(m, d.Explanation.UncheckedTimes()); err != nil {
			return d, err
		}
		d.OldTokenUntil, err = database.One(c.Session, func(row database.Row) (until time.Time, err error) {
			err = row.Scan(instant{&until})
			return
		}, `SELECT CASE WHEN old_token_until_at > $2 THEN old_token_until_at END FROM monitors WHERE id = $1`, m.ID,
			millis(c.Now))
		return d, err
	})
}

// monitorGaps loads the checking gaps of a monitor since the beginning of the longest of uptimePeriods.
func (c *session) monitorGaps(m monitor.Monitor) (gaps []monitor.CheckingGap, err error) {
	rows, err := c.checkingGapRows(`m.id = $3`, c.Now.Add(-uptimePeriods[len(uptimePeriods)-1]), m.ID)
	for _, r := range rows {
		gaps = append(gaps, r.CheckingGap)
	}
	return gaps, err
}

// unknownReason loads why the last unknown result is unknown; "": it is not kept any more.
func (c *session) unknownReason(monitorID string) (string, error) {
	reason, err := database.One(c.Session, database.ScanString, `SELECT coalesce(reason, '') FROM check_results
		WHERE monitor_id = $1 AND status = $2 ORDER BY due_at DESC LIMIT 1`, monitorID, string(monitor.CheckUnknown))
	if errors.Is(err, kernel.ErrNotFound) {
		return "", nil
	}
	return reason, err
}

// lastResults loads the last result from each location, in the order of their names.
func (c *session) lastResults(monitorID string) ([]monitor.CheckResult, error) {
	results, err := database.Query(c.Session, scanCheckResult, `SELECT `+checkResultColumns+` FROM check_results
		JOIN (SELECT location AS place, max(started_at) AS last_at FROM check_results WHERE monitor_id = $1
		AND location IS NOT NULL GROUP BY location) AS last
			ON location = place AND started_at = last_at WHERE monitor_id = $1 ORDER BY due_at DESC`, monitorID)
	slices.SortStableFunc(results, func(a, b monitor.CheckResult) int { return cmp.Compare(a.Location, b.Location) })
	return slices.CompactFunc(results, func(a, b monitor.CheckResult) bool { return a.Location == b.Location }), err
}

// monitorUptimes returns the uptimes of a monitor; none if it was never pinged or checked. checking are the gaps of its
// checks.
func (c *session) monitorUptimes(m monitor.Monitor, checking []schedule.ListeningGap) ([]MonitorUptime, error) {
	start := c.Now.Add(-uptimePeriods[len(uptimePeriods)-1])
	gaps, err := c.gaps(start)
	if err != nil {
		return nil, err
	}
	outages, err := c.outagesSince(start, m.ID)
	return c.uptimes(m, uptimePeriods, outages[m.ID], statuspage.MergeGaps(gaps, checking)), err
}

// outagesSince loads the outages of monitors that have not ended before an instant, by monitor and from the oldest.
func (c *session) outagesSince(start time.Time, ids ...string) (map[string][]monitor.Outage, error) {
	rows, err := database.Query(c.Session, scanOutage, `SELECT `+outageColumns+` FROM outages
		WHERE monitor_id IN EACH($1) AND (ended_at IS NULL OR ended_at > $2) ORDER BY started_at, id`, list(ids),
		millis(start))
	outages := make(map[string][]monitor.Outage)
	for _, o := range rows {
		outages[o.MonitorID] = append(outages[o.MonitorID], o)
	}
	return outages, err
}

// uptimes returns the uptimes of a monitor in periods until now, and nothing for one that was never pinged or checked.
func (c *session) uptimes(
	m monitor.Monitor, periods []time.Duration, outages []monitor.Outage, gaps []schedule.ListeningGap,
) (all []MonitorUptime) {
	if m.LastPingAt.IsZero() && m.CheckState.Status == "" {
		return nil
	}
	for _, period := range periods {
		from := kernel.Later(c.Now.Add(-period), m.CreatedAt)
		all = append(all, MonitorUptime{period, monitor.MonitorDurations(outages, gaps, from, c.Now)})
	}
	return all
}
