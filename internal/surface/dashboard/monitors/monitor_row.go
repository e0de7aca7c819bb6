package monitors

import (
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// The size of the drawings in a row, in their own units.
const (
	rowHeight   = 20
	barDistance = 4 // from one bar to the next
	rowWidth    = store.MaxRecent * barDistance
)

// monitorRow is a monitor in the list.
type monitorRow struct {
	store.MonitorListEntry
	Heading string // of the group that begins with it; "": none
}

// Last returns the last check, run or ping; zero if there is none.
func (r monitorRow) Last() (last store.RecentResult) {
	if n := len(r.Activity.Recent); n > 0 {
		last = r.Activity.Recent[n-1]
	}
	return last
}

// LastAt returns when the last check, run or ping was; zero if there was none.
func (r monitorRow) LastAt() time.Time {
	if r.IsCheck() {
		return r.Last().At
	}
	return kernel.Later(r.LastPingAt, r.Last().At)
}

// Lasted returns how long the last check or run took; "": unknown.
func (r monitorRow) Lasted() string {
	if took := r.Last().Took; took > 0 {
		return shortTime(took)
	}
	return ""
}

// Uptimes returns the uptimes in the order of the columns; "": unknown.
func (r monitorRow) Uptimes() [2]string {
	var shown [2]string
	for i, u := range r.Activity.Uptimes {
		if share, ok := u.Uptime(); ok && u.Known() >= minUptime {
			shown[i] = percentOf(share)
		}
	}
	return shown
}

// Schedule says how often the monitor is checked, or when its job has to ping.
func (r monitorRow) Schedule() string {
	if r.IsCheck() {
		return monitorTypeName(r.Type) + " " + kernel.EveryDuration(r.Interval)
	}
	return r.ScheduleWords()
}

// rowDrawing is a drawing of the last results of a monitor, the newest on the right.
type rowDrawing struct {
	Width, Height int
	Label         string // for who cannot see it
	Paths         []tonedPath
	Line          string // the points of a line
}

// tonedPath is the path of all bars in the same tone.
type tonedPath struct{ Tone, Path string }

// resultBars say how results are drawn as bars, in this order: the worse, the taller, so that they can be told without
// colour.
var resultBars = []struct {
	status monitor.CheckStatus
	height int
	tone   *kernel.Tone
}{
	{monitor.CheckOK, 10, kernel.StatusOperational.Tone()},
	{monitor.CheckSlow, 14, kernel.StatusDegraded.Tone()},
	{monitor.CheckFailed, rowHeight, kernel.StatusMajorOutage.Tone()},
	{monitor.CheckUnknown, 4, kernel.StatusUnknown.Tone()},
}

// Bars draws the last results; nil if there are none.
func (r monitorRow) Bars() *rowDrawing {
	recent := r.Activity.Recent
	if len(recent) == 0 {
		return nil
	}
	d := &rowDrawing{Width: rowWidth, Height: rowHeight}
	var counts []string
	for _, bar := range resultBars {
		var path strings.Builder
		count := 0
		for i, result := range recent {
			if result.Status == bar.status {
				fmt.Fprintf(&path, "M%d %dv%d", barX(i, len(recent)), (rowHeight-bar.height)/2, bar.height)
				count++
			}
		}
		if count > 0 {
			d.Paths = append(d.Paths, tonedPath{bar.tone.Name, path.String()})
			counts = append(counts, fmt.Sprintf("%d %s", count, resultNames[bar.status]))
		}
	}
	what := "pings"
	if r.IsCheck() {
		what = "checks"
	}
	d.Label = fmt.Sprintf("Last %d %s: %s", len(recent), what, strings.Join(counts, ", "))
	return d
}

// barX returns the centre of the bar of a result, given its index and the number of results.
func barX(i, n int) int { return rowWidth - (n-i)*barDistance + barDistance/2 }

// Times draws how long the last checks or runs took as a line; nil if less than two are known.
func (r monitorRow) Times() *rowDrawing {
	var longest time.Duration
	known := 0
	for _, result := range r.Activity.Recent {
		if result.Took > 0 {
			known, longest = known+1, max(longest, result.Took)
		}
	}
	if known < 2 {
		return nil
	}
	var points []string
	for i, result := range r.Activity.Recent {
		if result.Took > 0 {
			y := 1 + (rowHeight-2)*(1-result.Took.Seconds()/longest.Seconds())
			points = append(points, fmt.Sprintf("%d,%.1f", barX(i, len(r.Activity.Recent)), y))
		}
	}
	return &rowDrawing{
		Width: rowWidth, Height: rowHeight, Label: "Longest: " + shortTime(longest), Line: strings.Join(points, " "),
	}
}
