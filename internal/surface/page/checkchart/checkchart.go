// Package checkchart draws the response times of a target, and the failures of its checks, as SVG shapes. Surfaces
// embed them in their templates, with their own texts.
package checkchart

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/check/checkstats"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// The sizes of the drawings, in units that the browser stretches.
const (
	Width         = 720
	Height        = 160 // of the times
	FailureHeight = 24  // of the failures
)

// Chart is a drawing of periods. Its lines are d attributes of SVG paths; they have gaps where no result is known.
type Chart struct {
	From, To time.Time
	Step     time.Duration
	Periods  []checkstats.Period // periods with results, oldest first
	Total    checkstats.Summary  // of the whole time
	Top      time.Duration
	Band     string // the area between the median and the 95th percentile
	P50      string
	P95      string
	P99      string
	Failures []Bar // as high as the share of failures
	Unknown  []Bar // where no result is known
	Gaps     []Bar // see Shade; as high as the drawing of times
}

// Bar is a rectangle, in units of the drawing of failures.
type Bar struct{ X, Y, Width, Height float64 }

// New draws the periods of the length step between two times.
func New(from, to time.Time, step time.Duration, periods []checkstats.Period) *Chart {
	c := &Chart{From: from, To: to, Step: step, Periods: periods, Top: time.Millisecond}
	for i := range periods {
		c.Total.Merge(&periods[i].Summary)
		c.Top = max(c.Top, periods[i].P99())
	}
	c.Top = niceAbove(c.Top)
	for _, run := range c.runs() {
		upper := c.line(run, (*checkstats.Summary).P95)
		lower := c.line(backwards(run), (*checkstats.Summary).P50)
		c.Band += "M" + upper + "L" + lower + "Z"
		c.P50 += "M" + c.line(run, (*checkstats.Summary).P50)
		c.P95 += "M" + upper
		c.P99 += "M" + c.line(run, (*checkstats.Summary).P99)
	}
	c.drawFailures()
	return c
}

// runs returns the points that follow each other without a gap and have times.
func (c *Chart) runs() (runs [][]*checkstats.Period) {
	var last *checkstats.Period
	for i := range c.Periods {
		p := &c.Periods[i]
		if p.Timed() == 0 {
			continue
		}
		if last == nil || p.StartsAt.Sub(last.StartsAt) > c.Step {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], p)
		last = p
	}
	return runs
}

func backwards(run []*checkstats.Period) []*checkstats.Period {
	out := make([]*checkstats.Period, len(run))
	for i, p := range run {
		out[len(run)-1-i] = p
	}
	return out
}

// line returns the coordinates of a line through the points. Each point is a step wide, so that a single one is
// visible.
func (c *Chart) line(run []*checkstats.Period, value func(*checkstats.Summary) time.Duration) string {
	var b strings.Builder
	forwards := len(run) < 2 || run[0].StartsAt.Before(run[1].StartsAt)
	for i, p := range run {
		x, y := c.x(p.StartsAt.Add(c.Step/2)), c.y(value(&p.Summary))
		first, last := c.x(p.StartsAt), c.x(p.StartsAt.Add(c.Step))
		if !forwards {
			first, last = last, first
		}
		if i == 0 {
			fmt.Fprintf(&b, "%.1f %.1f ", first, y)
		}
		fmt.Fprintf(&b, "L%.1f %.1f ", x, y)
		if i == len(run)-1 {
			fmt.Fprintf(&b, "L%.1f %.1f", last, y)
		}
	}
	return b.String()
}

// x returns the horizontal position of a time, limited to the drawing.
func (c *Chart) x(t time.Time) float64 {
	return min(max(float64(t.Sub(c.From))/float64(c.To.Sub(c.From)), 0), 1) * Width
}

func (c *Chart) y(d time.Duration) float64 {
	return (1 - min(float64(d)/float64(c.Top), 1)) * Height
}

// drawFailures fills Failures and Unknown. A failure is at least a quarter of the drawing high, so that it is visible.
func (c *Chart) drawFailures() {
	for i := range c.Periods {
		p := &c.Periods[i]
		x := c.x(p.StartsAt)
		width := max(c.x(p.StartsAt.Add(c.Step))-x, 1)
		switch {
		case p.Failures > 0:
			share := float64(p.Failures) / float64(p.Count)
			h := max(share, 0.25) * FailureHeight
			c.Failures = append(c.Failures, Bar{x, FailureHeight - h, width, h})
		case p.Count == 0:
			c.Unknown = append(c.Unknown, Bar{x, 0, width, FailureHeight})
		}
	}
}

// Shade sets Gaps to the listening gaps, during which nothing could be checked, as far as they overlap the drawing.
func (c *Chart) Shade(gaps []schedule.ListeningGap) {
	for _, gap := range gaps {
		if gap.To.After(c.From) && gap.From.Before(c.To) {
			x := c.x(gap.From)
			c.Gaps = append(c.Gaps, Bar{x, 0, max(c.x(gap.To)-x, 1), Height})
		}
	}
}

// niceAbove returns the smallest of 1, 2 or 5 times a power of ten microseconds that is at least d.
func niceAbove(d time.Duration) time.Duration {
	for unit := time.Microsecond; ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if d <= n*unit {
				return n * unit
			}
		}
	}
}

// Half returns the time in the middle of the scale.
func (c *Chart) Half() time.Duration { return c.Top / 2 }

// Mid returns the vertical position of Half.
func (*Chart) Mid() int { return Height / 2 }

// Newest returns the periods, the newest first.
func (c *Chart) Newest() []checkstats.Period {
	periods := slices.Clone(c.Periods)
	slices.Reverse(periods)
	return periods
}
