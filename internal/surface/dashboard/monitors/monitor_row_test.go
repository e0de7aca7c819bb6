package monitors

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// TestRowDrawings draws the results of a check: the worse, the taller.
func TestRowDrawings(t *testing.T) {
	row := monitorRow{MonitorListEntry: store.MonitorListEntry{Monitor: monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{Type: "http"},
	}}}
	if row.Bars() != nil || row.Times() != nil || row.Lasted() != "" {
		t.Errorf("a row without results has drawings: %+v, %+v, %q", row.Bars(), row.Times(), row.Lasted())
	}
	row.Activity.Recent = []store.RecentResult{
		{Status: monitor.CheckOK, Took: 10 * time.Millisecond}, {Status: monitor.CheckUnknown},
		{Status: monitor.CheckFailed, Took: 20 * time.Millisecond},
	}
	bars := &rowDrawing{
		Width: 120, Height: 20, Label: "Last 3 checks: 1 OK, 1 Failed, 1 Unknown",
		Paths: []tonedPath{{"ok", "M110 5v10"}, {"major", "M118 0v20"}, {"unknown", "M114 8v4"}},
	}
	if diff := cmp.Diff(bars, row.Bars()); diff != "" {
		t.Errorf("bars (-want +got):\n%s", diff)
	}
	times := &rowDrawing{Width: 120, Height: 20, Label: "Longest: 20 ms", Line: "110,10.0 118,1.0"}
	if diff := cmp.Diff(times, row.Times()); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}
