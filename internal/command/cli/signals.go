package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// followInterval is how often monitor pings --follow asks the server.
const followInterval = 2 * time.Second

type monitorPings struct {
	Monitor string            `arg:"" help:"Id, name or slug of the monitor."`
	Kind    client.SignalKind `placeholder:"KIND" help:"Only this kind: ping, start, success, fail or log."`
	Follow  bool              `short:"f" help:"Continue with new ones until the command is interrupted, the newest last."`
	Limit   count             `default:"50" placeholder:"COUNT" help:"Maximum number of pings and signals; with --follow, of earlier ones."`
}

var signalHeader = []string{"SIGNAL", "TIME", "KIND", "EXIT", "DURATION", "OUTPUT", "FROM", "RUN"}

func (cmd *monitorPings) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	if cmd.Follow {
		return cmd.follow(c, id)
	}
	signals, err := cmd.newest(c, id, nil)
	if err != nil {
		return err
	}
	return table(c, signals, len(signals), "No pings or signals.", signalHeader, signalRow)
}

// newest returns the newest signals, down to the one after last; if last is nil, down to the limit.
func (cmd *monitorPings) newest(
	c *commandContext, monitor string, last *client.Signal,
) (signals []*client.Signal, err error) {
	for s, err := range c.api.ListPings(c.Ctx, monitor, cmd.Kind) {
		if err != nil {
			return nil, err
		}
		if last != nil && (s.ID == last.ID || s.ReceivedAt.Before(last.ReceivedAt)) ||
			last == nil && len(signals) >= int(cmd.Limit) {
			break
		}
		signals = append(signals, s)
	}
	return signals, nil
}

// follow prints signals as they come until the command is interrupted.
func (cmd *monitorPings) follow(c *commandContext, monitor string) error {
	var last *client.Signal
	for {
		signals, err := cmd.newest(c, monitor, last)
		if c.Ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, s := range slices.Backward(signals) {
			if c.JSON {
				c.Printf("%s\n", s.RawJSON())
			} else {
				row := signalRow(s)
				c.Printf("%s  %-24s %-7s %4s %9s %8s  %s\n", row[0], row[1], row[2], row[3], row[4], row[5], row[6])
			}
			last = s
		}
		select {
		case <-c.Ctx.Done():
			return nil
		case <-time.After(followInterval):
		}
	}
}

func signalRow(s *client.Signal) []string {
	code, lasted, output := "-", "-", "-"
	if s.ExitCode != nil {
		code = strconv.Itoa(*s.ExitCode)
	}
	if s.Duration != nil {
		lasted = time.Duration(*s.Duration * float64(time.Second)).Round(time.Millisecond).String()
	}
	if s.BodySize > 0 {
		output = strconv.Itoa(s.BodySize) + " B"
	}
	return []string{
		s.ID, console.Time(s.ReceivedAt), string(s.Kind), code, lasted, output, valueOr(s.Address, "-"),
		valueOr(s.RunID, "-"),
	}
}

// valueOr returns what p points to, or other if p is nil.
func valueOr[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

type monitorOutput struct {
	Monitor string `arg:"" help:"Id, name or slug of the monitor."`
	Signal  string `arg:"" optional:"" help:"Id of the signal, as monitor pings lists it. Default: the newest with output."`
}

func (cmd *monitorOutput) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	signal := cmd.Signal
	if signal == "" {
		if signal, err = newestOutput(c, id); err != nil {
			return err
		}
	}
	body, err := c.api.GetPingBody(c.Ctx, id, signal)
	if err != nil || c.JSON {
		return object(c, body, err, nil)
	}
	output, err := body.Bytes()
	if err != nil {
		return err
	}
	if body.Cut {
		fmt.Fprintln(c.Err, "The beginning is missing: only the end of a long output is kept.")
	}
	if c.Width > 0 { // a terminal
		c.Printf("%s\n", console.Paragraph(monitor.OutputText(output, len(output)), ""))
		return nil
	}
	_, err = c.Out.Write(output)
	return err
}

// newestOutput returns the id of the newest signal of a monitor that carried output.
func newestOutput(c *commandContext, monitor string) (string, error) {
	for s, err := range c.api.ListPings(c.Ctx, monitor, "") {
		if err != nil {
			return "", err
		}
		if s.BodySize > 0 {
			return s.ID, nil
		}
	}
	return "", errors.New("no signal of this monitor brought output")
}
