package faults

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/test/binary"
)

// createPast creates monitors with results of the last hours.
func (s *checkedSite) createPast() {
	s.t.Helper()
	for i := range monitorsWithPast {
		s.past = append(s.past, s.create(fmt.Sprint("/past/", i), 24*time.Hour, 1))
	}
	const periods = pastHours * int(time.Hour/pastPeriod)
	// The statuses differ from period to period and from monitor to monitor.
	s.exec(fmt.Sprintf(`INSERT INTO check_results (monitor_id, started_at, due_at, status, answered, warning, dns_us,
		connect_us, tls_us, first_byte_us, total_us)
		WITH RECURSIVE ago (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM ago WHERE n < %d)
		SELECT id, at, at, CASE (n + number) %% 7 WHEN 0 THEN 'failed' WHEN 1 THEN 'unknown' WHEN 2 THEN 'slow'
		ELSE 'ok' END, TRUE, FALSE, 0, 0, 0, 0, 1000 + n
		FROM (SELECT id, n, length(name) AS number, %d - n * CAST(%d AS BIGINT) AS at FROM monitors, ago
		WHERE id IN (%s)) AS all_results`,
		periods-1, time.Now().Add(-time.Hour).UnixMilli(), pastPeriod.Milliseconds(), idsOf(s.past)))
}

// sumUpAgain has the server sum up the past once more when it starts the next time.
func (s *checkedSite) sumUpAgain() {
	s.t.Helper()
	s.exec(fmt.Sprintf(`UPDATE check_fold SET hour_at = %d, after_id = ''`,
		time.Now().Add(-(pastHours+1)*time.Hour).Truncate(time.Hour).UnixMilli()))
}

// summedUp reports whether all results of past hours that are due have been summed up.
func (s *checkedSite) summedUp() bool {
	s.t.Helper()
	var hour int64
	if err := s.db.QueryRowContext(s.t.Context(), `SELECT hour_at FROM check_fold`).Scan(&hour); err != nil {
		s.t.Fatal(err)
	}
	// The server waits a few minutes for results of the last hour.
	return !time.UnixMilli(hour).Before(time.Now().Add(-10 * time.Minute).Truncate(time.Hour))
}

// checkStatistics checks that the statistics of each period of five minutes count its results, and no others.
func (s *checkedSite) checkStatistics() {
	s.t.Helper()
	s.await("not all results are summed up", s.summedUp)
	if len(rowsOf[int64](
		s.t, s.db, `SELECT starts_at FROM check_rollups WHERE monitor_id IN (`+idsOf(s.past)+`)`,
	)) < len(s.past) {
		s.t.Error("the past is not summed up")
	}
	monitors := slices.Concat(s.past, s.flapping)
	for _, m := range monitors { // so that nothing changes any more
		s.api.Must(s.t, "PATCH", "/api/v1/monitors/"+m.id, params{"enabled": false, "interval": 3600}, nil)
	}
	for _, m := range monitors {
		if got, expected := s.statistics(m), s.countResults(m); !slices.Equal(got, expected) {
			s.t.Errorf("the statistics of %s are\n%v\nand its results\n%v", m.name(), got, expected)
		}
	}
}

// periodCounts are the results of a monitor in a period of five minutes.
type periodCounts struct {
	start                          int64 // in milliseconds since 1970
	count, slow, failures, unknown int
}

func (s *checkedSite) statistics(m checkedMonitor) (all []periodCounts) {
	s.t.Helper()
	var got binary.Data[struct {
		Periods []struct {
			StartsAt                       time.Time `json:"starts_at"`
			Count, Slow, Failures, Unknown int
		}
	}]
	s.api.Must(s.t, "GET", "/api/v1/monitors/"+m.id+"/metrics?step=300", nil, &got)
	for _, p := range got.Data.Periods {
		all = append(all, periodCounts{p.StartsAt.UnixMilli(), p.Count, p.Slow, p.Failures, p.Unknown})
	}
	return all
}

// countResults counts the results in the database.
func (s *checkedSite) countResults(m checkedMonitor) (all []periodCounts) {
	s.t.Helper()
	of := make(map[int64]*periodCounts)
	rows, err := s.db.QueryContext(s.t.Context(),
		fmt.Sprintf(`SELECT started_at, status FROM check_results WHERE monitor_id = '%s'`, m.id))
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var at int64
		var status string
		if err := rows.Scan(&at, &status); err != nil {
			s.t.Fatal(err)
		}
		start := at - at%pastPeriod.Milliseconds()
		if of[start] == nil {
			of[start] = &periodCounts{start: start}
		}
		switch c := of[start]; status {
		case "unknown":
			c.unknown++
		case "failed":
			c.failures++
			c.count++
		case "slow":
			c.slow++
			c.count++
		default:
			c.count++
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range of {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b periodCounts) int { return cmp.Compare(a.start, b.start) })
	return all
}
