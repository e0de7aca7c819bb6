package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/optional"
)

type monitorOutages struct {
	Monitor string `arg:"" help:"Id, name or slug of the monitor."`
	listing
}

func (cmd *monitorOutages) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	outages, total, err := c.api.ListOutages(id).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	header := []string{"DOWN", "ENDED", "WHY", "INCIDENT"}
	pings := slices.ContainsFunc(outages, func(o *client.Outage) bool { return o.Reason != client.OutageCheckFailed })
	if pings {
		header = slices.Insert(header, 0, "LAST PING")
	}
	return table(c, outages, total, "No outages.", header, func(o *client.Outage) []string {
		incident := cmp.Or(optional.Value(o.IncidentID), "-")
		if o.IncidentDraft {
			incident += " (draft)"
		}
		row := []string{console.Time(o.StartedAt), timeOr(o.EndedAt, "-"), outageReason(o), incident}
		if !pings {
			return row
		}
		last := "never"
		if o.SilentSince.Before(o.StartedAt) {
			last = console.Time(o.SilentSince)
		}
		return slices.Insert(row, 0, last)
	})
}

// outageReason describes why a monitor went down.
func outageReason(o *client.Outage) string {
	switch o.Reason {
	case client.OutageFailed:
		return "failure"
	case client.OutageRunOverdue:
		return "run too long"
	case client.OutageRunTooShort:
		return "run too short"
	case client.OutageRunTooOften:
		return "runs too often"
	case client.OutageRunOverlap:
		return "runs overlap"
	case client.OutageCheckFailed:
		return "checks failed"
	default:
		return "no ping"
	}
}

// printViews prints the last result of each location, and the gaps in which there was no reliable view of the target.
func printViews(c *commandContext, s *client.CheckState) {
	if s == nil {
		return
	}
	for _, r := range s.Views {
		result := string(r.Status)
		if r.Reason != nil {
			result += ", " + *r.Reason
		}
		c.Printf("Seen from %s at %s: %s.\n", optional.Value(r.Location), console.Time(r.StartedAt), result)
	}
	for _, gap := range s.Gaps {
		if gap.To != nil { // the sentences name one that has not ended
			text := fmt.Sprintf("No data from %s to %s", console.Time(gap.From), console.Time(*gap.To))
			if why := (monitor.CheckingGap{Cause: monitor.GapCause(optional.Value(gap.Cause))}).Text(); why != "" {
				text += ": " + why
			}
			c.Printf("%s.\n", text)
		}
	}
}

type monitorExplain struct {
	Monitor string `arg:"" help:"Id, name or slug of the monitor."`
}

func (cmd *monitorExplain) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	explanation, err := c.api.ExplainMonitor(c.Ctx, id)
	return object(c, explanation, err, func(e *client.MonitorExplanation) {
		of := monitor.Explanation{
			State: monitor.MonitorState(e.State), PausedUntil: optional.Value(e.PausedUntil), AsOf: e.AsOf,
			LastPingAt: optional.Value(e.LastPingAt), WaitingSince: optional.Value(e.WaitingSince),
			Interval: e.Interval.Duration(), Cron: cronOf(e.Schedule), Grace: e.Grace.Duration(),
			ExpectedAt: optional.Value(e.ExpectedAt), DueAt: optional.Value(e.DueAt),
			Failures: e.ConsecutiveFailures, Threshold: e.FailureThreshold, TakenOver: e.IncidentTakenOver,
			CountedAt: optional.Value(e.CountedAt), DownAt: optional.Value(e.DownAt),
			Reason: monitor.OutageReason(optional.Value(e.Reason)), DownSince: optional.Value(e.DownSince),
			RunDueAt: optional.Value(e.RunDueAt),
		}
		if s := e.Check; s != nil {
			of.Type = "check" // any that is no heartbeat
			of.Check = monitor.CheckState{
				Status: monitor.CheckStatus(optional.Value(s.Status)), Reason: optional.Value(s.Reason),
				Good: s.GoodResults, Slow: s.SlowResults,
				SlowSince: optional.Value(s.SlowSince), UnknownSince: optional.Value(s.UnknownSince), Late: s.Late,
			}
			of.UnknownReason = optional.Value(s.UnknownReason)
			of.RecoveryThreshold, of.SuppressedUntil = s.RecoveryThreshold, optional.Value(s.SuppressedUntil)
		}
		for _, c := range e.Warnings {
			of.Warned = append(of.Warned, monitor.Condition(c))
		}
		for _, x := range e.Extensions {
			of.Extensions = append(of.Extensions, monitor.Extension{
				Reason: monitor.ExtensionReason(x.Reason), From: optional.Value(x.From), To: x.To, DueAt: x.DueAt,
			})
		}
		for _, gap := range e.PingGaps {
			of.PingGaps = append(of.PingGaps, monitor.PingGap{
				PingedAt: gap.PingedAt, Length: time.Duration(gap.Length * float64(time.Second)),
			})
		}
		for _, sentence := range of.Sentences(console.Time, console.Time) {
			c.Printf("%s\n", sentence)
		}
		if rhythm, ok := of.Rhythm(); ok {
			c.Printf("This job seems to run %s.\n", rhythm)
		}
		printViews(c, e.Check)
	})
}
