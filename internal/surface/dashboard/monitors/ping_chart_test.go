package monitors

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store"
)

func TestPingChart(t *testing.T) {
	at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	e := monitor.Explanation{Interval: time.Hour, Threshold: 3, Period: time.Minute}
	m := monitor.Monitor{
		ID:            "mon_1",
		MonitorConfig: monitor.MonitorConfig{Interval: time.Hour, DownStatus: kernel.StatusMajorOutage},
	}
	if newPingChart(m, e) != nil {
		t.Error("a chart without gaps")
	}
	for i := range 61 {
		length := 61 * time.Minute
		if i == 40 {
			length = 48 * time.Hour
		}
		at = at.Add(length)
		e.PingGaps = append(e.PingGaps, monitor.PingGap{PingedAt: at, Length: length})
	}
	c := newPingChart(m, e)
	if len(c.Bars) != chartBars || c.Rhythm != "every 1 h 1 min" || c.Seconds() != 64*60 ||
		c.Longest.Length != 48*time.Hour || c.Median != 61*time.Minute {
		t.Errorf("chart %+v", c)
	}
	tones := map[string]int{}
	for _, b := range c.Bars {
		tones[b.Tone]++
		if b.X < 0 || b.Y < 0 || b.X+b.Width > chartWidth || b.Y+b.Height != chartHeight {
			t.Errorf("bar %+v", b)
		}
	}
	if tones[kernel.StatusDegraded.Tone().Name] != 59 || tones[kernel.StatusMajorOutage.Tone().Name] != 1 ||
		c.DownY >= c.DueY || c.DownY <= 0 {
		t.Errorf("tones %v, lines at %d and %d", tones, c.DueY, c.DownY)
	}
	var body strings.Builder
	template := templates()["monitor"]
	s := monitorScreen{
		MonitorDetail: store.MonitorDetail{MonitorListEntry: store.MonitorListEntry{Monitor: m}}, Chart: c,
		CanEdit: true,
	}
	if err := template.ExecuteTemplate(&body, "main", s); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"This job seems to run every 1 h 1 min.", `value="3840">Set to 1 h 4 min</button>`, "<title",
		"As a table",
	} {
		if !strings.Contains(body.String(), text) {
			t.Errorf("the screen lacks %q", text)
		}
	}
}

// TestPingChartOfACron checks that bars of a monitor with a Cron are late by its times, and that there are no lines.
func TestPingChartOfACron(t *testing.T) {
	m := monitor.Monitor{
		ID: "mon_1",
		MonitorConfig: monitor.MonitorConfig{
			Cron: schedule.NewCalendar("Mon..Fri 06:00", ""), Interval: 72 * time.Hour, Grace: 30 * time.Minute,
			DownStatus: kernel.StatusMajorOutage,
		},
	}
	e := monitor.Explanation{Interval: m.Interval, Cron: m.Cron, Grace: m.Grace, Threshold: 3, Period: time.Minute}
	friday := time.Date(2026, 11, 20, 6, 10, 0, 0, time.UTC)
	last := friday
	for _, after := range []time.Duration{
		72*time.Hour + 21*time.Minute, 96*time.Hour + 25*time.Minute, 120 * time.Hour, 168*time.Hour + 22*time.Minute,
	} {
		at := friday.Add(after)
		e.PingGaps = append(e.PingGaps, monitor.PingGap{PingedAt: at, Length: at.Sub(last)})
		last = at
	}
	c := newPingChart(m, e)
	var late []time.Duration
	for _, gap := range c.Gaps {
		late = append(late, gap.Late)
	}
	if want := []time.Duration{24*time.Hour + 2*time.Minute, 0, 5 * time.Minute, 0}; !slices.Equal(late, want) {
		t.Errorf("late by %v, want %v", late, want)
	}
	var body strings.Builder
	s := monitorScreen{
		MonitorDetail: store.MonitorDetail{MonitorListEntry: store.MonitorListEntry{Monitor: m}}, Chart: c,
	}
	if err := templates()["monitor"].ExecuteTemplate(&body, "main", s); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"Schedule: Mon..Fri 06:00, grace 30 min; down 3 min later.", "<td>5 min</td>",
		"between due times",
	} {
		if !strings.Contains(body.String(), text) {
			t.Errorf("the screen lacks %q", text)
		}
	}
	if strings.Contains(body.String(), `class="due"`) || strings.Contains(body.String(), "due within") {
		t.Error("the screen shows the line of an interval")
	}
}
