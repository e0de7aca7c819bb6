package view

import (
	"fmt"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/page/checkchart"
)

// timesView has the response times of a component, as a drawing and as a table.
type timesView struct {
	*checkchart.Chart
	Label     string // text alternative of the drawing
	Top, Half string // of the scale
	Start, To string
	Rows      []timesRow // newest first
}

// timesRow is a row of the table. Times are "" if no check succeeded.
type timesRow struct {
	From, Checks, Failed      string
	Median, P95, P99, Longest string
}

// viewTimes returns the response times of a component; nil if chart is.
func viewTimes(l *i18n.Language, sum statuspage.Summary, chart *checkchart.Chart) *timesView {
	if chart == nil {
		return nil
	}
	zone := sum.Page.Location()
	v := &timesView{Chart: chart, Top: l.ResponseTime(chart.Top), Half: l.ResponseTime(chart.Half()),
		Start: l.DayClock(chart.From.In(zone)), To: l.DayClock(chart.To.In(zone))}
	total := chart.Total
	v.Label = fmt.Sprintf("%s: %s. %s: %s.", l.T("times.checks"), l.Number(total.Count), l.T("times.failed"),
		l.Number(total.Failures))
	if total.Timed() > 0 {
		v.Label = l.T("times.label", "checks", l.Number(total.Count), "failed", l.Number(total.Failures),
			"median", l.ResponseTime(total.P50()), "most", l.ResponseTime(total.P95()), "almost",
			l.ResponseTime(total.P99()))
	}
	for _, p := range chart.Newest() {
		row := timesRow{From: l.DayClock(p.StartsAt.In(zone)), Checks: l.Number(p.Count), Failed: l.Number(p.Failures)}
		if p.Timed() > 0 {
			row.Median, row.P95, row.P99, row.Longest = l.ResponseTime(p.P50()), l.ResponseTime(p.P95()),
				l.ResponseTime(p.P99()), l.ResponseTime(p.Max)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// Known reports whether there is a result.
func (v *timesView) Known() bool { return v.Total.Count > 0 }

// Wide, High and Low return the sizes of the drawings.
func (*timesView) Wide() int { return checkchart.Width }
func (*timesView) High() int { return checkchart.Height }
func (*timesView) Low() int  { return checkchart.FailureHeight }
