package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// checkStorage stores the results of some monitors: one a minute for 90 days.
const (
	storageMonitors = 50
	storageDays     = 90
	storageGoal     = 1000 // checks a minute: the size is extrapolated to these
	storagePrune    = 6    // hours between two deletions of old results
	foldWait        = 4 * time.Minute
)

// Environment variables of the part checkstorage.
const (
	storageDaysVariable     = "ALLSWELL_BENCH_DAYS"     // instead of storageDays
	storageDatabaseVariable = "ALLSWELL_BENCH_DATABASE" // an empty database at postgres://…, instead of SQLite
)

// checkStorage measures the disk space of check results and their statistics. The store records, aggregates and deletes
// them as usual, but its clock jumps to the next minute as soon as the work of one minute is done.
func (b *bench) checkStorage() ([]result, error) {
	days, err := strconv.Atoi(cmp.Or(os.Getenv(storageDaysVariable), fmt.Sprint(storageDays)))
	if err != nil {
		return nil, err
	}
	dsn := cmp.Or(os.Getenv(storageDatabaseVariable), "sqlite:"+filepath.Join(b.dir, "storage.db"))
	f := storageFill{now: time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -days)}
	s, err := store.Open(b.ctx, dsn, store.Options{Clock: func() time.Time { return f.now }})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f.Store = s
	if err := f.createMonitors(b.ctx); err != nil {
		return nil, err
	}
	for hour := range days * 24 {
		if err := f.passHour(b.ctx, hour%storagePrune == storagePrune-1 || hour == days*24-1); err != nil {
			return nil, err
		}
		if hour%240 == 239 {
			fmt.Fprintf(os.Stderr, "%d days\n", (hour+1)/24)
		}
	}
	sizes, err := tableSizes(b.ctx, dsn)
	if err != nil {
		return nil, err
	}
	summaries := sizes["check_rollups"] / float64(storageMonitors*days)
	results := sizes["check_results"] / storageMonitors
	total := (summaries*storageDays + results) * storageGoal / 1e9
	return []result{
		{fmt.Sprintf("Statistics of a monitor that is checked each minute, for a day (%d monitors, %d days)",
			storageMonitors, days), "", fmt.Sprintf("%.0f bytes", summaries)},
		{"Its results of the last day", "", fmt.Sprintf("%.0f bytes", results)},
		{"1,000 checks a minute for 90 days, from that", "≤ 1 GB", fmt.Sprintf("%.2f GB", total)},
		{"The whole database", "", fmt.Sprintf("%.1f MB", sizes[wholeDatabase]/1e6)},
	}, nil
}

// storageFill fills a database with the results of checks.
type storageFill struct {
	*store.Store
	now      time.Time
	monitors []monitor.Monitor
}

func (f *storageFill) createMonitors(ctx context.Context) error {
	issued, err := f.IssueTokenFor(ctx, "bench", account.NewToken{Name: "bench", Scope: kernel.ScopeAdmin})
	for i := 0; i < storageMonitors && err == nil; i++ {
		var m monitor.Monitor
		m, err = f.CreateMonitor(ctx, issued.Actor(""), monitor.MonitorOf(monitor.MonitorConfig{
			Type: "http", Name: fmt.Sprint("target ", i), Interval: time.Minute,
			Check: monitor.CheckSpec{
				Config: json.RawMessage(fmt.Sprintf(`{"url": "http://192.0.2.%d/"}`, i)), Timeout: 10 * time.Second,
			},
		}))
		f.monitors = append(f.monitors, m)
	}
	return err
}

// passHour advances the clock by an hour. It records the results of that hour, and aggregates what is due.
func (f *storageFill) passHour(ctx context.Context, prune bool) error {
	hour := f.now
	var batch []monitor.CheckResult
	for minute := range 60 {
		f.now = hour.Add(time.Duration(minute) * time.Minute)
		for i, m := range f.monitors {
			batch = append(batch, f.result(i, m))
			if len(batch) == store.MaxCheckResults {
				if err := f.RecordCheckResults(ctx, batch); err != nil {
					return err
				}
				batch = batch[:0]
			}
		}
	}
	if err := f.RecordCheckResults(ctx, batch); err != nil {
		return err
	}
	f.now = hour.Add(time.Hour + foldWait)
	for more := true; more; {
		var err error
		if more, err = f.FoldCheckResults(ctx); err != nil {
			return err
		}
	}
	if prune {
		if err := f.Prune(ctx); err != nil {
			return err
		}
	}
	f.now = hour.Add(time.Hour)
	return nil
}

// result returns the result of a check at the present time of the fill. Response times are between 20 and 300 ms,
// higher in the afternoon, and vary by about a third, with a long tail. One result in 500 is a failure.
func (f *storageFill) result(i int, m monitor.Monitor) monitor.CheckResult {
	at := f.now.Add(monitor.CheckPhase(m.ID, m.Interval))
	usual := 20 * math.Pow(15, float64(i)/storageMonitors) * (1 + 0.3*math.Sin(float64(at.Hour())/24*2*math.Pi))
	total := time.Duration(usual * math.Exp(0.3*rand.NormFloat64()) * float64(time.Millisecond))
	r := monitor.CheckResult{
		MonitorID: m.ID, Version: 1, Replica: "bench", DueAt: at, StartedAt: at.Add(rand.N(250 * time.Millisecond)),
		Status: monitor.CheckOK, Answered: true,
		Phases: monitor.CheckPhases{DNS: total / 20, Connect: total / 5, FirstByte: total / 2, Total: total},
	}
	if rand.N(500) == 0 {
		r.Status, r.Reason, r.Body = monitor.CheckFailed, "HTTP 502 (expected 200–299)",
			strings.Repeat("Bad gateway. ", 20)
	}
	return r
}

const wholeDatabase = "" // the key of the total in the result of tableSizes

// tableSizes returns the sizes of the tables with their indexes after VACUUM, in bytes.
func tableSizes(ctx context.Context, dsn string) (map[string]float64, error) {
	driver, name := "sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")
	vacuum, query := `VACUUM`,
		`SELECT m.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_master m ON m.name = d.name GROUP BY m.tbl_name`
	if strings.HasPrefix(dsn, "postgres") {
		driver, name = "pgx", dsn
		vacuum, query = `VACUUM FULL`, `SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'`
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, vacuum); err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	sizes := make(map[string]float64)
	for rows.Next() {
		var table string
		var size float64
		if err := rows.Scan(&table, &size); err != nil {
			return nil, err
		}
		sizes[table] += size
		sizes[wholeDatabase] += size
	}
	return sizes, errors.Join(rows.Err(), ctx.Err())
}
