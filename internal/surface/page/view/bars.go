package view

import (
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
)

// barSpans are the numbers of days that the bars show, depending on the available
// width. The style sheet hides the oldest bars, and the uptimes of the other spans.
var barSpans = []int{statuspage.HistoryDays, 60, 30}

// barsView is the history of a component, a group or a page, as bars and as a table. bars.js shows the row of a day
// beside its bar, so a bar needs no attributes except its class.
type barsView struct {
	Label string        // text alternative of the bars
	Last  string        // the day of the last bar: "2026-11-21"
	Bars  template.HTML // oldest first
	Spans []spanView
	Ends  bool     // name the ends of the time span; the bars of all components are aligned, so one of a block does
	Rows  []barRow // newest first
}

// spanView is the uptime of a span of days. Over names the days of the span for which there is data.
type spanView struct {
	Days              int
	Ago, Uptime, Over string
	Young             bool // there is no data for the first days of the span
}

// barRow is a row of the table: a day, or several days with the same text.
type barRow struct {
	Days   int // number of days
	Date   string
	Class  string // of the bar
	Text   string
	Uptime string // "": there is no data
}

// viewBars returns the history of a component with the given name. Consecutive days
// with the same text are one row, which keeps the table short.
func viewBars(l *i18n.Language, name string, history statuspage.History) barsView {
	v := barsView{Spans: viewSpans(l, history), Bars: drawBars(history), Rows: mergedRows(l, history)}
	v.Label = l.T("bars.label", "name", name)
	if len(history) > 0 {
		v.Last = history[len(history)-1].Date.Format(time.DateOnly)
	}
	return v
}

// viewSpans returns the uptime of each span, longest first. All uptimes come from here, so uptimes shown together are
// of the same days.
func viewSpans(l *i18n.Language, history statuspage.History) []spanView {
	spans := make([]spanView, len(barSpans))
	for i, days := range barSpans {
		spans[i] = spanView{
			Days: days, Ago: l.T("bars.days_ago", "n", days), Uptime: uptimeText(l, history.Last(days)),
			Over: l.UptimePeriod(history, days), Young: len(history.WithData()) < days,
		}
	}
	return spans
}

// knownSpans is viewSpans, or nil if there is no data.
func knownSpans(l *i18n.Language, history statuspage.History) []spanView {
	if _, known := history.Last(statuspage.HistoryDays).Uptime(); !known {
		return nil
	}
	return viewSpans(l, history)
}

// uptimeText formats the uptime of a time span: "99.98% uptime".
func uptimeText(l *i18n.Language, t statuspage.StatusDurations) string {
	share, known := t.Uptime()
	if !known {
		return l.T("uptime.of_nothing")
	}
	return l.T("uptime.of", "percent", l.Percent(share, known))
}

// legendItem is a class of bars with its meaning.
type legendItem struct{ Class, Label string }

// The classes of bars besides the classes of statuses: days with data for a part of the day, and days without data.
const (
	partlyKnownClass = "x"
	noDataClass      = "n"
)

// viewLegend returns the legend of the bars, best status first.
func viewLegend(l *i18n.Language) []legendItem {
	var items []legendItem
	for _, s := range slices.Backward(kernel.RankedStatuses) {
		if s != kernel.StatusUnknown {
			items = append(items, legendItem{s.Tone().Bar.Class, l.Status(s)})
		}
	}
	return append(items,
		legendItem{kernel.StatusUnknown.Tone().Bar.Class, l.Status(kernel.StatusUnknown)},
		legendItem{partlyKnownClass, l.T("bars.partly_unknown")},
		legendItem{noDataClass, l.T("bars.no_data")})
}

// barClass returns the class of a day: the class of its worst known status, and a mark if a part of the day is not
// known.
func barClass(t statuspage.StatusDurations) string {
	if t.Empty() {
		return noDataClass
	}
	class := t.Worst().Tone().Bar.Class
	if t.In(kernel.StatusUnknown) > 0 && t.Known() > 0 {
		class = strings.TrimSpace(class + " " + partlyKnownClass)
	}
	return class
}

// drawBars returns one element per day. Operational days and days without data have
// no class, because they are most of the HTML of a page.
func drawBars(history statuspage.History) template.HTML {
	var out strings.Builder
	for _, d := range history {
		switch class := barClass(d.StatusDurations); {
		case class == "":
			out.WriteString("<i></i>")
		case class == noDataClass:
			out.WriteString("<b></b>")
		case strings.Contains(class, " "):
			out.WriteString(`<i class="` + class + `"></i>`)
		default:
			out.WriteString("<i class=" + class + "></i>")
		}
	}
	return template.HTML(out.String()) // contains only our own classes
}

// dailyRows returns a row for each day, newest first.
func dailyRows(l *i18n.Language, history statuspage.History) []barRow {
	rows := make([]barRow, 0, len(history))
	for _, d := range slices.Backward(history) {
		rows = append(rows, barRow{
			Days: 1, Date: l.Date(d.Date), Class: barClass(d.StatusDurations), Text: dayText(l, d.StatusDurations),
			Uptime: dayUptime(l, d.StatusDurations),
		})
	}
	return rows
}

// mergedRows returns one row for each day with an event, and one for each run of days with the same text, newest first.
func mergedRows(l *i18n.Language, history statuspage.History) []barRow {
	var rows []barRow
	for end := len(history); end > 0; {
		last := history[end-1]
		class := barClass(last.StatusDurations)
		begin := end - 1
		for begin > 0 && isPlain(class) && barClass(history[begin-1].StatusDurations) == class {
			begin--
		}
		date := l.ShortDate(last.Date)
		if n := end - begin; n > 1 {
			date = l.T("bars.range", "from", l.ShortDate(history[begin].Date), "to", date)
		}
		rows = append(rows, barRow{
			end - begin, date, class, dayText(l, last.StatusDurations), dayUptime(l, last.StatusDurations),
		})
		end = begin
	}
	return rows
}

// isPlain reports whether all days of a class have the same text.
func isPlain(class string) bool {
	return class == "" || class == noDataClass || class == kernel.StatusUnknown.Tone().Bar.Class
}

// dayText returns the statuses of a component on a day with their durations, worst first. It does not mention
// incidents, because components may be operational during one.
func dayText(l *i18n.Language, t statuspage.StatusDurations) string {
	switch class := barClass(t); class {
	case noDataClass:
		return l.T("bars.no_data")
	case kernel.StatusUnknown.Tone().Bar.Class:
		return l.T("bars.not_known_all_day")
	case "":
		return l.Status(kernel.StatusOperational)
	}
	var parts []string
	for _, s := range kernel.RankedStatuses {
		if lasted := t.In(s); lasted > 0 && s != kernel.StatusOperational && s != kernel.StatusUnknown {
			parts = append(parts, l.T("bars.lasted", "status", l.Status(s), "duration", roundedDuration(l, lasted)))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, l.Status(kernel.StatusOperational))
	}
	if unknown := t.In(kernel.StatusUnknown); unknown > 0 {
		parts = append(parts, l.T("bars.not_known", "duration", roundedDuration(l, unknown)))
	}
	return strings.Join(parts, " · ")
}

// roundedDuration formats a duration within a day: rounded to minutes, or to
// seconds below a minute, and at least one second.
func roundedDuration(l *i18n.Language, d time.Duration) string {
	if d >= time.Minute {
		d = d.Round(time.Minute)
	}
	return l.Duration(max(d, time.Second))
}

func dayUptime(l *i18n.Language, t statuspage.StatusDurations) string {
	if t.Empty() {
		return ""
	}
	return l.Percent(t.Uptime())
}
