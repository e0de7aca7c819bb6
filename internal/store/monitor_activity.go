package store

import (
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// MaxRecent is how many checks, runs or pings of a monitor a MonitorList has at most.
const MaxRecent = 30

// listPeriods are the periods for which a MonitorList has uptimes.
var listPeriods = []time.Duration{24 * time.Hour, 30 * 24 * time.Hour}

// MonitorActivity is what happened to a monitor lately.
type MonitorActivity struct {
	Recent  []RecentResult  // the last checks, or the last runs and pings of the job, oldest first
	Uptimes []MonitorUptime // of the last day and the last 30 days; empty for a monitor never pinged or checked
}

// RecentResult is a check, the end of a run, or a ping.
type RecentResult struct {
	At     time.Time
	Status monitor.CheckStatus // of jobs: CheckOK or CheckFailed
	Took   time.Duration       // of the check or the run; 0: unknown
}

// addActivities loads the activity of the monitors of a list.
func (c *session) addActivities(entries []MonitorListEntry) error {
	monitors, ids := make([]monitor.Monitor, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		monitors[i], ids[i] = e.Monitor, e.ID
	}
	recent := make(map[string][]RecentResult, len(monitors))
	if err := c.recentChecks(monitors, recent); err != nil {
		return err
	}
	if err := c.recentRuns(monitors, recent); err != nil {
		return err
	}
	start := c.Now.Add(-listPeriods[len(listPeriods)-1])
	outages, err := c.outagesSince(start, ids...)
	if err != nil {
		return err
	}
	listening, err := c.gaps(start)
	if err != nil {
		return err
	}
	rows, err := c.checkingGapRows(`m.id IN EACH($3)`, start, list(ids))
	checking := make(map[string][]schedule.ListeningGap)
	for _, r := range rows {
		checking[r.monitorID] = append(checking[r.monitorID], r.ListeningGap)
	}
	for i, m := range monitors {
		last := recent[m.ID]
		slices.SortStableFunc(last, func(a, b RecentResult) int { return a.At.Compare(b.At) })
		gaps := statuspage.MergeGaps(listening, checking[m.ID])
		entries[i].Activity = MonitorActivity{
			Recent:  last[max(0, len(last)-MaxRecent):],
			Uptimes: c.uptimes(m, listPeriods, outages[m.ID], gaps),
		}
	}
	return err
}

// recentChecks adds the last results of checks. Monitors with the same interval are loaded together, from a time on in
// which each has at least MaxRecent results; those whose checks are repeated sooner have more.
func (c *session) recentChecks(monitors []monitor.Monitor, recent map[string][]RecentResult) error {
	byInterval := make(map[time.Duration][]string)
	for _, m := range monitors {
		if m.IsCheck() {
			byInterval[m.Interval] = append(byInterval[m.Interval], m.ID)
		}
	}
	for interval, ids := range byInterval {
		results, err := c.timedResults(ids, c.Now.Add(-(MaxRecent+2)*interval), c.Now.Add(time.Second))
		if err != nil {
			return err
		}
		for id, ofMonitor := range results {
			for _, r := range ofMonitor {
				recent[id] = append(recent[id], RecentResult{r.at, r.status, r.total})
			}
		}
	}
	return nil
}

// recentRuns adds the last pings and ends of runs of jobs.
func (c *session) recentRuns(monitors []monitor.Monitor, recent map[string][]RecentResult) error {
	jobs := slices.DeleteFunc(slices.Clone(monitors), monitor.Monitor.IsCheck)
	ids := make([]string, len(jobs))
	for i, m := range jobs {
		ids[i] = m.ID
	}
	pings, err := c.plainPings(jobs, MaxRecent)
	if err != nil {
		return err
	}
	for id, ofMonitor := range pings {
		for _, p := range ofMonitor {
			result := RecentResult{At: time.UnixMicro(p.At), Status: monitor.CheckOK, Took: max(p.Duration, 0)}
			recent[id] = append(recent[id], result)
		}
	}
	type end struct {
		id   string
		kind monitor.SignalKind
		RecentResult
	}
	// Starts and logs are among the signals, so more than MaxRecent are looked at.
	ends, err := database.Query(c.Session, func(row database.Row) (e end, err error) {
		var ms int64
		err = row.Scan(&e.id, &e.kind, instant{&e.At}, &ms)
		e.Took = time.Duration(ms) * time.Millisecond
		return
	}, `SELECT s.monitor_id, kind, received_at, coalesce(duration_ms, 0) FROM signals AS s
		JOIN (SELECT monitor_id, max(number) AS number FROM signals WHERE monitor_id IN EACH($1) GROUP BY monitor_id)
			AS last ON s.monitor_id = last.monitor_id AND s.number > last.number - $2
		WHERE kind IN ($3, $4)`,
		list(ids), 3*MaxRecent, string(monitor.SignalSuccess), string(monitor.SignalFail))
	for _, e := range ends {
		e.Status = monitor.CheckOK
		if e.kind == monitor.SignalFail {
			e.Status = monitor.CheckFailed
		}
		recent[e.id] = append(recent[e.id], e.RecentResult)
	}
	return err
}
