package view

import (
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
)

// barSpans are how many days the bars show, depending on the room that there
// is. The style sheet hides the oldest, and the figures of the other spans.
var barSpans = []int{allswell.HistoryDays, 60, 30}

// barsView is the history of a component, of a group or of a page, in bars and
// in words. The words are the only ones: page.js shows those of one day beside
// its bar, so that a bar costs no more than its class.
type barsView struct {
	Label string        // what the picture is of
	Last  string        // the day of the last bar: "2026-11-21"
	Bars  template.HTML // oldest first
	Spans []spanView
	Rows  []barRow // newest first
}

// spanView is a figure with the days that it is of. Over says them with it, so
// that nobody takes it for a figure of other days.
type spanView struct {
	Days              int
	Ago, Uptime, Over string
}

// barRow is a day in words, or several days of which there is the same to say.
type barRow struct {
	Days   int // how many
	Date   string
	Class  string // that of the bars
	Text   string
	Uptime string // "" before the first data
}

// viewBars returns the history of what is called name, with the quiet days of
// the table put together: it is short to send and short to hear.
func viewBars(l *i18n.Language, name string, r allswell.History) barsView {
	v := barsView{Spans: viewSpans(l, r), Bars: drawBars(r), Rows: mergedRows(l, r)}
	v.Label = l.T("bars.label", "name", name)
	if len(r) > 0 {
		v.Last = r[len(r)-1].Date.Format(time.DateOnly)
	}
	return v
}

// viewSpans returns the uptime of each span, the longest first. All figures that
// are seen together come from here, and so are of the same days on every screen.
func viewSpans(l *i18n.Language, r allswell.History) []spanView {
	spans := make([]spanView, len(barSpans))
	for i, days := range barSpans {
		spans[i] = spanView{days, l.T("bars.days_ago", "n", days), speakUptime(l, r.Last(days)), l.T("bars.over", "n", days)}
	}
	return spans
}

// knownSpans returns nil if nothing is known of any span.
func knownSpans(l *i18n.Language, r allswell.History) []spanView {
	if _, known := r.Last(allswell.HistoryDays).Uptime(); !known {
		return nil
	}
	return viewSpans(l, r)
}

// speakUptime writes the uptime of a tally: "99.98% uptime".
func speakUptime(l *i18n.Language, t allswell.StatusDurations) string {
	share, known := t.Uptime()
	if !known {
		return l.T("uptime.of_nothing")
	}
	return l.T("uptime.of", "percent", l.Percent(share, known))
}

// legendItem is one kind of bar with what it means.
type legendItem struct{ Class, Label string }

// The classes of bars that are not those of a status: of days with data for a
// part of the day only, and of days before the first data.
const (
	partlyKnownClass = "x"
	noDataClass      = "n"
)

// viewLegend explains the bars, the worst last.
func viewLegend(l *i18n.Language) []legendItem {
	var items []legendItem
	for _, s := range slices.Backward(allswell.RankedStatuses) {
		if s != allswell.StatusUnknown {
			items = append(items, legendItem{s.Tone().Bar.Class, l.Status(s)})
		}
	}
	return append(items,
		legendItem{allswell.StatusUnknown.Tone().Bar.Class, l.Status(allswell.StatusUnknown)},
		legendItem{partlyKnownClass, l.T("bars.partly_unknown")},
		legendItem{noDataClass, l.T("bars.no_data")})
}

// barClass returns the class of a day: that of the worst that is known of it,
// and a mark if that is not all of the day.
func barClass(t allswell.StatusDurations) string {
	if t.Empty() {
		return noDataClass
	}
	class := t.Worst().Tone().Bar.Class
	if t.In(allswell.StatusUnknown) > 0 && t.Known() > 0 {
		class = strings.TrimSpace(class + " " + partlyKnownClass)
	}
	return class
}

// drawBars returns one element for each day. The two kinds that there are most
// of, calm days and days before the first, have no class: they are most of a page.
func drawBars(r allswell.History) template.HTML {
	var out strings.Builder
	for _, d := range r {
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
	return template.HTML(out.String()) // of nothing but our own classes
}

// dailyRows returns a row for each day, newest first.
func dailyRows(l *i18n.Language, r allswell.History) []barRow {
	rows := make([]barRow, 0, len(r))
	for _, d := range slices.Backward(r) {
		rows = append(rows, barRow{
			Days: 1, Date: l.Date(d.Date), Class: barClass(d.StatusDurations), Text: dayText(l, d.StatusDurations), Uptime: dayUptime(l, d.StatusDurations),
		})
	}
	return rows
}

// mergedRows returns a row for each day on which something was, and one for
// each run of days of which there is the same to say. Together they are all
// days, newest first.
func mergedRows(l *i18n.Language, r allswell.History) []barRow {
	var rows []barRow
	for end := len(r); end > 0; {
		last := r[end-1]
		class := barClass(last.StatusDurations)
		begin := end - 1
		for begin > 0 && isPlain(class) && barClass(r[begin-1].StatusDurations) == class {
			begin--
		}
		date := l.ShortDate(last.Date)
		if n := end - begin; n > 1 {
			date = l.T("bars.range", "from", l.ShortDate(r[begin].Date), "to", date)
		}
		rows = append(rows, barRow{end - begin, date, class, dayText(l, last.StatusDurations), dayUptime(l, last.StatusDurations)})
		end = begin
	}
	return rows
}

// isPlain reports whether all days of a class are told in the same words.
func isPlain(class string) bool {
	return class == "" || class == noDataClass || class == allswell.StatusUnknown.Tone().Bar.Class
}

// dayText says what a component's state was on a day: for how long it was
// anything but operational, the worst first. Of incidents it says nothing: one
// can be open while all that it concerns works.
func dayText(l *i18n.Language, t allswell.StatusDurations) string {
	switch class := barClass(t); class {
	case noDataClass:
		return l.T("bars.no_data")
	case allswell.StatusUnknown.Tone().Bar.Class:
		return l.T("bars.not_known_all_day")
	case "":
		return l.Status(allswell.StatusOperational)
	}
	var parts []string
	for _, s := range allswell.RankedStatuses {
		if lasted := t.In(s); lasted > 0 && s != allswell.StatusOperational && s != allswell.StatusUnknown {
			parts = append(parts, l.T("bars.lasted", "status", l.Status(s), "duration", roughly(l, lasted)))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, l.Status(allswell.StatusOperational))
	}
	if unknown := t.In(allswell.StatusUnknown); unknown > 0 {
		parts = append(parts, l.T("bars.not_known", "duration", roughly(l, unknown)))
	}
	return strings.Join(parts, " · ")
}

// roughly writes how long something took of a day: to the minute, or to the
// second if it was less, and never as nothing.
func roughly(l *i18n.Language, d time.Duration) string {
	if d >= time.Minute {
		d = d.Round(time.Minute)
	}
	return l.Duration(max(d, time.Second))
}

func dayUptime(l *i18n.Language, t allswell.StatusDurations) string {
	if t.Empty() {
		return ""
	}
	return l.Percent(t.Uptime())
}
