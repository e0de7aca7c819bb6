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
		return "The monitor is paused until somebody resumes it. Its target is not checked."
	}
	return fmt.Sprintf("The monitor is paused until %s. Until then its target is not checked.", clock(until))
}

// pauseSentence says until when a monitor is paused. clock formats times.
func pauseSentence(until time.Time, clock func(time.Time) string) string {
	if until.IsZero() {
		return "The monitor is paused until somebody resumes it. No ping is expected, and its ping URL answers 404."
	}
	return fmt.Sprintf("The monitor is paused until %s. Until then no ping is expected, and its ping URL answers "+
		"404. Then its next ping is due as if it had just pinged.", clock(until))
}
