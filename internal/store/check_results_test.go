package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check/checkstats"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// TestResultsOfOtherMonitors checks that what is read of a monitor's results has nothing of another monitor that was
// checked at the same instants from the same locations.
func TestResultsOfOtherMonitors(t *testing.T) {
	inWorlds(t, func(w *world) {
		statuses := map[string]monitor.CheckStatus{}
		for name, status := range map[string]monitor.CheckStatus{
			"a": monitor.CheckOK, "b": monitor.CheckFailed, "c": monitor.CheckUnknown,
		} {
			statuses[w.newCheck(name).ID] = status
		}
		locations := []string{"frankfurt", "virginia"}
		from := w.clock.now()
		w.threeResultsEach(statuses, locations...)
		to := w.clock.now().Add(5 * time.Minute)
		for id, status := range statuses {
			isOwn := func(r monitor.CheckResult) bool {
				return r.MonitorID == id && r.Status == status && r.Reason == id
			}
			for name, e := range map[string]monitor.Explanation{
				"explanation": must(w.ExplainMonitor(w.ctx, w.ws, id))(w),
				"detail":      must(w.MonitorDetail(w.ctx, w.ws, id))(w).Explanation,
			} {
				var seen []string
				for _, r := range e.Views {
					if seen = append(seen, r.Location); !isOwn(r) {
						w.Errorf("%s of %s: the view %+v", name, status, r)
					}
				}
				if !slices.Equal(seen, locations) {
					w.Errorf("%s of %s: views of %q", name, status, seen)
				}
				if gaps := len(e.CheckingGaps); (gaps > 0) != (status == monitor.CheckUnknown) {
					w.Errorf("%s of %s: %d gaps", name, status, gaps)
				}
			}
			results, total, err := w.CheckResults(w.ctx, w.ws, id, store.Pagination{Page: 1, PerPage: 100})
			if err != nil || total != 6 || len(results) != 6 ||
				slices.ContainsFunc(results, func(r monitor.CheckResult) bool {
					return !isOwn(r)
				}) {
				w.Errorf("results of %s: %+v, %d, %v", status, results, total, err)
			}
			var sum checkstats.Summary
			of5Minutes := store.StatisticsRange{From: from, To: to, Step: 5 * time.Minute}
			for _, p := range must(w.CheckStatistics(w.ctx, w.ws, id, of5Minutes))(w) {
				sum.Merge(&p.Summary)
			}
			of := map[monitor.CheckStatus]int{
				monitor.CheckOK: sum.Timed(), monitor.CheckFailed: sum.Failures, monitor.CheckUnknown: sum.Unknown,
			}
			if of[status] != 6 || sum.Count+sum.Unknown != 6 {
				w.Errorf("statistics of %s: %+v", status, sum)
			}
		}
	})
}

// threeResultsEach records results with a status for each monitor, at three instants from all locations, and the
// monitor's id as their reason.
func (w *world) threeResultsEach(statuses map[string]monitor.CheckStatus, locations ...string) {
	w.Helper()
	claimed := w.claimChecks("r", "")
	for range 3 {
		w.pass(time.Minute)
		for _, location := range locations {
			var results []monitor.CheckResult
			for _, c := range claimed {
				r := w.resultOf(c, statuses[c.MonitorID])
				r.Location, r.Reason = location, c.MonitorID
				results = append(results, r)
			}
			w.ok(w.RecordCheckResults(w.ctx, results))
		}
	}
}
