package monitors

import (
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// monitorScreen is the data of the template monitor.
type monitorScreen struct {
	store.MonitorDetail
	Why         []template.HTML
	Outages     []monitor.Outage
	Pager       frame.Pager
	Snippets    []snippet // empty: the member must not see the ping URL
	PingURL     string
	CanEdit     bool
	CanSilence  bool
	CanForecast bool
	Chart       *pingChart // nil: there are too few pings
	Times       []dueTime  // the next times at which a ping is due; none for an interval
	Signals     []shownSignal
	Runs        *runChart            // nil: no run has a duration
	Kept        string               // how long pings and signals are kept
	NoPings     bool                 // there is no history of plain pings
	Warnings    []monitor.Warning    // the last ones
	Checks      *checkChart          // nil: the monitor is a heartbeat
	Results     []checkResult        // the last ones
	Tested      *checkResult         // of the requested test; nil: none was requested
	Family      []relative           // its parent and its children
	Settings    []frame.ShownSetting // the settings of its check
}

// maxSignals is how many of the last pings and signals are shown, maxShownOutput how many characters of their outputs,
// and maxShownWarnings how many of the last warnings.
const (
	maxShownWarnings = 10
	maxSignals       = 20
	maxShownOutput   = 5_000
)

// shownSignal is a signal with the end of its output as text.
type shownSignal struct {
	monitor.Signal
	Text string
}

// Label returns the kind of the signal, for people.
func (s shownSignal) Label() string {
	switch s.Kind {
	case monitor.SignalPing:
		return "Ping"
	case monitor.SignalStart:
		return "Started"
	case monitor.SignalSuccess:
		return "Succeeded"
	case monitor.SignalFail:
		return "Failed"
	default:
		return "Log"
	}
}

// Lasted returns the duration of the run that the signal ended; "": it ended none.
func (s shownSignal) Lasted() string {
	if s.Duration == nil {
		return ""
	}
	return durationText(*s.Duration)
}

// durationText returns how long a run took, for people: "320 ms", "4.2 s", "2 min 5 s".
func durationText(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	default:
		return kernel.CompactDuration(d)
	}
}

// Heading returns the reason of the monitor's state, as a heading.
func (s monitorScreen) Heading() string {
	switch e := s.Explanation; {
	case e.Type.IsCheck():
		return checkHeading(e)
	case e.State == monitor.MonitorUp && len(e.Warned) > 0:
		return "Up, with a warning"
	case e.State == monitor.MonitorUp:
		return "Up"
	case e.State == monitor.MonitorLate:
		return "Late"
	case e.State == monitor.MonitorWaiting:
		return "Waiting for the first ping"
	case e.State == monitor.MonitorDisabled:
		return "Paused"
	case e.Reason == monitor.OutageFailed:
		return "Down: job failed"
	case e.Reason == monitor.OutageRunOverdue:
		return "Down: run too long"
	case e.Reason == monitor.OutageRunTooShort:
		return "Down: run too short"
	case e.Reason == monitor.OutageRunTooOften:
		return "Down: runs too often"
	case e.Reason == monitor.OutageRunOverlap:
		return "Down: overlapping runs"
	default:
		return "Down: no ping"
	}
}

// checkHeading is Heading of a monitor that is checked.
func checkHeading(e monitor.Explanation) string {
	switch e.State {
	case monitor.MonitorUnknown:
		return "Unknown"
	case monitor.MonitorLate:
		return "Late"
	case monitor.MonitorUp:
		if len(e.Warned) > 0 {
			return "Up, with a warning"
		}
		return "Up"
	case monitor.MonitorFailing:
		return "Failing"
	case monitor.MonitorSlow:
		return "Slow"
	case monitor.MonitorSuppressed:
		return "Suppressed: parent down"
	case monitor.MonitorWaiting:
		return "Waiting for the first check"
	case monitor.MonitorDisabled:
		return "Paused"
	default:
		return "Down"
	}
}

// UptimePeriods returns the uptimes with labels.
func (s monitorScreen) UptimePeriods() []uptimePeriod {
	all := make([]uptimePeriod, len(s.Uptimes))
	for i, u := range s.Uptimes {
		all[i] = uptimePeriod{Label: fmt.Sprintf("%d days", int(u.Period.Hours()/24))}
		if u.Period <= 24*time.Hour {
			all[i].Label = fmt.Sprintf("%d hours", int(u.Period.Hours()))
		}
		all[i].Uptime = monitorUptime(u)
	}
	return all
}

// UptimeNote explains why an uptime has no figure; "": all have one.
func (s monitorScreen) UptimeNote() string {
	for _, u := range s.Uptimes {
		if _, ok := u.Uptime(); ok && u.Known() < minUptime {
			return "Shown after one hour of data."
		}
	}
	return ""
}

// minUptime is the shortest known time for which an uptime is shown.
const minUptime = time.Hour

// monitorUptime returns an uptime for people. It has no figure if less than minUptime is known. If much of the period
// is unknown, such as before the monitor was created or while nothing was checked, it includes how much is known.
func monitorUptime(u store.MonitorUptime) string {
	share, ok := u.Uptime()
	switch known := u.Known(); {
	case !ok:
		return "unknown"
	case known < minUptime:
		return "–"
	case known < u.Period-u.Period/20:
		unit := time.Hour
		if known > 48*time.Hour {
			unit = 24 * time.Hour
		}
		return percentOf(share) + " (" + kernel.CompactDuration(known.Truncate(unit)) + " known)"
	}
	return percentOf(share)
}

// percentOf formats an uptime between 0 and 1 in percent.
func percentOf(share float64) string {
	return strconv.FormatFloat(statuspage.UptimePercent(share, statuspage.UptimeDecimals), 'f', -1, 64) + " %"
}

// uptimePeriod is the uptime in a period.
type uptimePeriod struct{ Label, Uptime string }

// OutageEnd returns the reason why an outage ended, for people.
func (s monitorScreen) OutageEnd(o monitor.Outage) string {
	switch o.EndReason {
	case monitor.OutageEndedByDisable.String():
		return "paused"
	case monitor.OutageEndedByPing.String(), monitor.OutageEndedByCheck.String():
		return "recovered"
	default:
		return ""
	}
}

// Lasted returns how long the monitor was down in an outage that has ended.
func (s monitorScreen) Lasted(o monitor.Outage) time.Duration { return o.EndedAt.Sub(o.StartedAt) }

// showMonitor shows a monitor, the reason of its state, and its outages.
func (r *request) showMonitor() error { return r.showMonitorWith(nil) }

// showMonitorWith shows a monitor, and the result of a test; nil: there was none.
func (r *request) showMonitorWith(tested *checkResult) error {
	ref := r.PathValue("monitor")
	detail, err := r.Store.MonitorDetail(r.Context(), r.Actor(), ref)
	if err != nil {
		return err
	}
	s := monitorScreen{
		MonitorDetail: detail, CanEdit: r.May(rights.MonitorChange),
		Chart: newPingChart(detail.Monitor, detail.Explanation), Times: dueTimes(detail.Cron, time.Now()),
	}
	s.CanForecast, s.CanSilence = r.May(rights.AlertRuleRead), r.May(rights.SilenceChange)
	rows := frame.Pagination(r.URL.Query())
	outages, total, err := r.Store.Outages(r.Context(), r.Actor(), detail.ID, rows)
	if err != nil {
		return err
	}
	s.Outages, s.Pager = outages, frame.NewPager(frame.MonitorsPath+"/"+detail.ID, nil, rows, len(outages), total)
	history, _, err := r.Store.Signals(r.Context(), r.Actor(), detail.ID, store.SignalFilter{Outputs: maxSignals},
		monitor.MaxSignals)
	if err != nil {
		return err
	}
	s.Runs, s.NoPings = newRunChart(detail.Monitor, history), !r.Store.KeepsPings()
	s.Kept = kernel.FormatDuration(r.Store.SignalRetention())
	for _, signal := range history[:min(len(history), maxSignals)] {
		s.Signals = append(s.Signals, shownSignal{signal, monitor.OutputText(signal.Output, maxShownOutput)})
	}
	s.Warnings, _, err = r.Store.Warnings(r.Context(), r.Actor(), detail.ID, store.WarningFilter{}, maxShownWarnings)
	if err != nil {
		return err
	}
	if detail.Type != monitor.MonitorHeartbeat {
		if s.Checks, err = r.loadCheckChart(detail.Monitor, time.Now()); err != nil {
			return err
		}
		if err := r.loadCheck(&s); err != nil {
			return err
		}
		s.Checks.Shade(detail.Explanation.UncheckedTimes())
		s.Tested = tested
	}
	if s.Family, err = r.loadFamily(detail.Monitor); err != nil {
		return err
	}
	for _, sentence := range detail.Explanation.Sentences(frame.SentenceSecond, frame.SentenceAgo) {
		s.Why = append(s.Why, template.HTML(sentence))
	}
	if s.CanEdit && !detail.IsCheck() { // the ping URL is a credential
		s.PingURL = r.pingURL(detail.Monitor)
		s.Snippets = snippets(s.PingURL, detail.Monitor)
	}
	return r.Show(http.StatusOK, "monitor", detail.Name, s)
}

// pingURL returns the URL that a monitor's job pings.
func (r *request) pingURL(m monitor.Monitor) string { return r.Base + "/api/v1/heartbeat/" + m.Token }

// rotateMonitor replaces the ping URL of a monitor.
func (r *request) rotateMonitor() error {
	m, err := r.Store.RotateMonitor(r.Context(), r.Actor(), r.PathValue("monitor"))
	if err != nil {
		return err
	}
	return r.Redirect(frame.MonitorsPath + "/" + m.ID + "#ping")
}

// showOutput shows the complete output that a signal carried, as text.
func (r *request) showOutput() error {
	s, err := r.Store.Signal(r.Context(), r.Actor(), r.PathValue("monitor"), r.PathValue("signal"))
	if err != nil {
		return err
	}
	r.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err = io.WriteString(r.W, monitor.OutputText(s.Output, len(s.Output))+"\n")
	return err
}
