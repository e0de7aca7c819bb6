package frame

import (
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// CheckProblem returns the reason why the last check of a monitor failed; "": it did not fail.
func CheckProblem(m monitor.Monitor) string {
	if !m.IsCheck() || !m.Enabled || m.CheckState.Status != monitor.CheckFailed {
		return ""
	}
	return m.CheckState.Reason
}

// DisplayStateNames are the names that the dashboard shows for monitor.DisplayStates.
var DisplayStateNames = map[monitor.MonitorState]string{
	monitor.MonitorDown: "Down", monitor.MonitorLate: "Late", monitor.MonitorFailing: "Failing",
	monitor.MonitorUnknown: "Unknown", monitor.MonitorSlow: "Slow", monitor.MonitorSuppressed: "Suppressed",
	monitor.MonitorWaiting: "Waiting", monitor.MonitorUp: "Up", monitor.MonitorDisabled: "Paused",
}

// DisplayStateName returns the name that the dashboard shows for a state.
func DisplayStateName(s monitor.MonitorState) string { return DisplayStateNames[s] }

// DisplayStateTone returns the name of the tone in which the state of a monitor is shown.
func DisplayStateTone(m monitor.Monitor) string {
	switch m.DisplayState() {
	case monitor.MonitorDown:
		return m.DownStatus.Tone().Name
	case monitor.MonitorLate, monitor.MonitorFailing, monitor.MonitorUnknown, monitor.MonitorSlow:
		return kernel.StatusDegraded.Tone().Name
	case monitor.MonitorUp:
		return kernel.StatusOperational.Tone().Name
	default:
		return kernel.NeutralTone.Name
	}
}
