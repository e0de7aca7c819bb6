package monitors

import (
	"cmp"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// runChart is the chart of the durations of a job's last runs. It has the size of the chart of gaps.
type runChart struct {
	Runs    []shownSignal // newest first
	Bars    []runBar      // oldest first
	LimitY  int           // the position of Limit
	Limit   time.Duration
	Longest time.Duration
	Median  time.Duration
	Failed  int
}

// runBar is a run as a bar. A failure has a mark above it, so that it is recognizable without colour.
type runBar struct {
	chartBar
	Failed bool
	MarkX  int // centre of the mark
}

// runMark is the height that a mark takes.
const runMark = 12

// newRunChart returns the chart of a monitor's runs, given its history, newest first; nil if none has a duration.
func newRunChart(m monitor.Monitor, history []monitor.Signal) *runChart {
	c := &runChart{Limit: m.RunLimit()}
	var lengths []time.Duration
	for _, s := range history {
		if s.Duration != nil && len(c.Runs) < chartBars {
			c.Runs = append(c.Runs, shownSignal{Signal: s})
			lengths = append(lengths, *s.Duration)
		}
	}
	if len(lengths) == 0 {
		return nil
	}
	slices.Sort(lengths)
	c.Longest, c.Median = lengths[len(lengths)-1], lengths[len(lengths)/2]
	// A limit far above all runs is not drawn, so that the runs remain distinguishable.
	top := cmp.Or(c.Longest, time.Millisecond)
	if c.Limit <= 2*top {
		top = max(top, c.Limit)
	}
	const room = chartHeight - runMark
	height := func(d time.Duration) int { return max(2, int(float64(d)/float64(top)*room)) }
	if c.Limit <= top {
		c.LimitY = chartHeight - height(c.Limit)
	}
	const step = chartWidth / chartBars
	for i, run := range slices.Backward(c.Runs) {
		h, x := height(*run.Duration), chartWidth-(i+1)*step+2
		bar := runBar{
			chartBar: chartBar{x, chartHeight - h, step - 3, h, kernel.StatusOperational.Tone().Name},
			MarkX:    x + (step-3)/2,
		}
		if run.Kind == monitor.SignalFail {
			bar.Failed, bar.Tone = true, m.DownStatus.Tone().Name
			c.Failed++
		}
		c.Bars = append(c.Bars, bar)
	}
	return c
}

// MarkTop and MarkBottom return the vertical ends of the mark above a bar.
func (b runBar) MarkTop() int    { return b.Y - runMark + 2 }
func (b runBar) MarkBottom() int { return b.Y - 3 }

// Wide returns the width of the chart.
func (*runChart) Wide() int { return chartWidth }

// High returns the height of the chart.
func (*runChart) High() int { return chartHeight }

// In returns a duration for people.
func (*runChart) In(d time.Duration) string { return durationText(d) }
