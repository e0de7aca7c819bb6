package monitor

import (
	"fmt"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxPause is the longest time for which a monitor can be paused. It can also be paused until it is resumed.
const MaxPause = 366 * 24 * time.Hour

// checkPause checks the end of a pause. A zero until means that the monitor is paused until it is resumed.
func checkPause(bad *kernel.ValidationError, until, now time.Time) {
	if !until.IsZero() && (!until.After(now) || until.Sub(now) > MaxPause) {
		bad.Add("paused_until", "must be in the future, and at most %d days from now", MaxPause/(24*time.Hour))
	}
}

// Pause returns the change that pauses a monitor: it is disabled until a time, or until it is resumed if until is zero.
func Pause(until time.Time) MonitorChange {
	return func(c *MonitorConfig) error {
		c.Enabled, c.PausedUntil = false, until
		return nil
	}
}

// Resume returns the change that ends a pause. It begins a new wait, so that silence during the pause does not count.
func Resume() MonitorChange {
	return func(c *MonitorConfig) error {
		c.Enable(true)
		return nil
	}
}

// PauseIsOver reports whether the monitor is paused until a time that has come.
func (m MonitorConfig) PauseIsOver(now time.Time) bool {
	return !m.Enabled && !m.PausedUntil.IsZero() && !m.PausedUntil.After(now)
}

// pausedCheckSentence is pauseSentence of a monitor that is checked.
func pausedCheckSentence(until time.Time, clock func(time.Time) string) string {
	if until.IsZero() {
		return "Paused until someone resumes it. The target is not checked."
	}
	return fmt.Sprintf("Paused until %s. The target is not checked until then.", clock(until))
}

// pauseSentence says until when a monitor is paused. clock formats times.
func pauseSentence(until time.Time, clock func(time.Time) string) string {
	if until.IsZero() {
		return "Paused until someone resumes it. No pings are expected, and the ping URL returns 404."
	}
	return fmt.Sprintf("Paused until %s. No pings are expected until then, and the ping URL returns 404. After that, "+
		"the next ping is due as if the job had just pinged.", clock(until))
}
