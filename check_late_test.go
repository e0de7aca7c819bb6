package allswell

import (
	"testing"
	"time"
)

// TestCheckWait checks after how long a check is late, in seconds after the last result. Its interval is a minute.
func TestCheckWait(t *testing.T) {
	last := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return last.Add(time.Duration(seconds) * time.Second) }
	for what, c := range map[string]struct {
		gaps []ListeningGap
		want int
	}{
		"no gap":                                   {nil, 180},
		"a gap before the result":                  {[]ListeningGap{{at(-60), at(-1)}}, 180},
		"a gap before the next one is due":         {[]ListeningGap{{at(5), at(60)}}, 180},
		"a gap while it is due":                    {[]ListeningGap{{at(100), at(140)}}, 220},
		"a gap from before it is due":              {[]ListeningGap{{at(30), at(600)}}, 180 + 540},
		"a gap at the end of the wait":             {[]ListeningGap{{at(179), at(1000)}}, 180 + 821},
		"a gap when it is late already":            {[]ListeningGap{{at(180), at(1000)}}, 180},
		"a second gap in the time that it gained":  {[]ListeningGap{{at(100), at(140)}, {at(200), at(210)}}, 230},
		"restarts without end: only their time":    {[]ListeningGap{{at(70), at(75)}, {at(100), at(105)}, {at(130), at(135)}, {at(160), at(165)}, {at(190), at(195)}}, 205},
		"a second gap when it would be late again": {[]ListeningGap{{at(100), at(140)}, {at(220), at(300)}}, 220},
	} {
		if got := (CheckWait{last, time.Minute}).LateAt(c.gaps); !got.Equal(at(c.want)) {
			t.Errorf("%s: late after %v, not %d s", what, got.Sub(last), c.want)
		}
	}
}

// TestForgottenResults: the last result of a check is noted if it may be deleted before the check is late without another one.
func TestForgottenResults(t *testing.T) {
	for _, interval := range []time.Duration{
		MinCheckInterval, time.Hour, CheckResultRetention/3 - time.Second, CheckResultRetention / 3, CheckResultRetention/3 + time.Second, MaxCheckInterval,
	} {
		want := !CheckWait{Interval: interval}.LateAt(nil).Before(time.Time{}.Add(CheckResultRetention))
		m := Monitor{
			MonitorConfig: MonitorConfig{Type: "http", Enabled: true, Interval: interval},
			MonitorStatus: MonitorStatus{State: MonitorUp, CheckState: CheckState{Status: CheckOK}},
		}
		if m.ForgetsResults() != want || m.Healthy() == want {
			t.Errorf("every %v: forgets results %t, healthy %t, want %t", interval, m.ForgetsResults(), m.Healthy(), want)
		}
	}
}
