package alertchannel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// commandType runs a program that the operator has chosen. Only the operator chooses it: otherwise anyone who
// configures a channel could run anything on the server.
var commandType = Type{
	Name: alert.CommandType, Label: "Command",
	Help: "Runs the operator's program (ALLSWELL_ALERT_COMMAND) with the message as JSON.",
	Fields: []configfield.Field{
		{
			Name: "arguments", Label: "Arguments", Help: "Arguments of the program.", Kind: configfield.KindList,
			Max: 500, Example: "ops",
		},
	},
	New: func() Channel { return new(command) },
}

// commandRefuses is the exit status by which the program refuses a message permanently.
const commandRefuses = 100

// commandGrace is how long the pipes of a program that was killed may stay open.
const commandGrace = time.Second

type command struct {
	Arguments []string `json:"arguments"`
}

// Destination returns nothing, because there are no secrets.
func (c *command) Destination() configfield.Destination { return nil }

// Validate allows every argument that does not look like an option, which the operator may not expect.
func (c *command) Validate(bad *kernel.ValidationError) {
	for _, a := range c.Arguments {
		if strings.HasPrefix(a, "-") {
			bad.Add("arguments", "must not begin with a hyphen")
			return
		}
	}
}

func (c *command) host() string { return "program" }

// send gives the program the JSON of a webhook on its standard input. Its output is not kept: it may contain what only
// the operator may see.
func (c *command) send(ctx context.Context, s *Sender, m alert.Message) Result {
	if s.Command == "" {
		return failed(audience.SendFailed, "This service runs no programs (ALLSWELL_ALERT_COMMAND).")
	}
	body, err := json.Marshal(newWebhookMessage(m))
	if err != nil {
		return failed(audience.SendUndeliverable, "The message cannot be composed: %v.", err)
	}
	cmd := exec.CommandContext(ctx, s.Command, c.Arguments...)
	cmd.Stdin, cmd.Dir, cmd.WaitDelay = bytes.NewReader(append(body, '\n')), "/", commandGrace
	// the environment of this process has secrets
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	ownGroup(cmd)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		return failed(audience.SendNotAttempted, "The attempt was interrupted.")
	case ctx.Err() != nil:
		return failed(audience.SendFailed, "The program did not end within %g seconds.", sendTimeout.Seconds())
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return sent("")
	case errors.As(err, &exit) && exit.ExitCode() == commandRefuses:
		return failed(audience.SendRejected, "The program refused the message (exit status %d).", commandRefuses)
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return failed(audience.SendFailed, "The program failed with the exit status %d.", exit.ExitCode())
	}
	r := failed(audience.SendFailed, "The program cannot be run.")
	r.Detail = alert.Shorten(err.Error(), maxReason)
	return r
}
