package monitor

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/schedule"
)

// TestCheckWait checks after how long a check is late, in seconds after the last result. Its interval is a minute.
func TestCheckWait(t *testing.T) {
	last := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return last.Add(time.Duration(seconds) * time.Second) }
	for what, c := range map[string]struct {
		gaps []schedule.ListeningGap
		want int
	}{
		"no gap":                           {nil, 180},
		"a gap before the result":          {[]schedule.ListeningGap{{From: at(-60), To: at(-1)}}, 180},
		"a gap before the next one is due": {[]schedule.ListeningGap{{From: at(5), To: at(60)}}, 180},
		"a gap while it is due":            {[]schedule.ListeningGap{{From: at(100), To: at(140)}}, 220},
		"a gap from before it is due":      {[]schedule.ListeningGap{{From: at(30), To: at(600)}}, 180 + 540},
		"a gap at the end of the wait":     {[]schedule.ListeningGap{{From: at(179), To: at(1000)}}, 180 + 821},
		"a gap when it is late already":    {[]schedule.ListeningGap{{From: at(180), To: at(1000)}}, 180},
		"a second gap in the time that it gained": {[]schedule.ListeningGap{
			{From: at(100), To: at(140)}, {From: at(200), To: at(210)},
		}, 230},
		"restarts without end: only their time": {[]schedule.ListeningGap{
			{From: at(70), To: at(75)}, {From: at(100), To: at(105)}, {From: at(130), To: at(135)},
			{From: at(160), To: at(165)}, {From: at(190), To: at(195)},
		}, 205},
		"a second gap when it would be late again": {[]schedule.ListeningGap{
			{From: at(100), To: at(140)}, {From: at(220), To: at(300)},
		}, 220},
	} {
		if got := (schedule.CheckWait{Since: last, Interval: time.Minute}).LateAt(c.gaps); !got.Equal(at(c.want)) {
			t.Errorf("%s: LateAt is after %v, want %d s", what, got.Sub(last), c.want)
		}
	}
}

// TestForgottenResults: the last result of a check is noted if it may be deleted before the check is late without
// another one.
func TestForgottenResults(t *testing.T) {
	for _, interval := range []time.Duration{
		MinCheckInterval, time.Hour, CheckResultRetention/3 - time.Second, CheckResultRetention / 3,
		CheckResultRetention/3 + time.Second, MaxCheckInterval,
	} {
		want := !schedule.CheckWait{Interval: interval}.LateAt(nil).Before(time.Time{}.Add(CheckResultRetention))
		m := Monitor{
			MonitorConfig: MonitorConfig{Type: "http", Enabled: true, Interval: interval},
			MonitorStatus: MonitorStatus{State: MonitorUp, CheckState: CheckState{Status: CheckOK}},
		}
		if m.ForgetsResults() != want || m.Healthy() == want {
			t.Errorf("every %v: forgets results %t, healthy %t, want %t", interval, m.ForgetsResults(), m.Healthy(),
				want)
		}
	}
}
