package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/connlimit"
)

type serveCommand struct {
	Settings `embed:""`
}

// Help is shown by serve --help below the list of settings.
func (cmd *serveCommand) Help() string {
	return "It runs until it gets SIGTERM or SIGINT; then it takes no more requests, records the pings that it has received, " +
		"answers them, and ends within 10 seconds. A second signal ends it at once."
}

func (cmd *serveCommand) Run(c *console) error {
	cfg, err := cmd.parse()
	if err != nil {
		return err
	}
	log := cfg.logger(c)
	cfg.tuneRuntime(log)
	s, err := newService(c.ctx, cfg, log)
	if err != nil {
		return unlessStopped(c.ctx, log, err)
	}
	defer s.close()
	if cfg.smtpURL == nil {
		log.Info("mail is off: ALLSWELL_SMTP_URL is not set, so nobody can subscribe by mail")
	} else if cfg.baseURL == "" {
		log.Warn("ALLSWELL_BASE_URL is not set: the links in mails only work on this machine", "url", s.publicURL())
	}
	if cfg.bootstrapToken == "" {
		secret, first := allswell.NewTokenSecret(), false
		err := s.await(c.ctx, func(ctx context.Context) (err error) {
			first, err = s.store.CreateFirstToken(ctx, secret)
			return err
		})
		if err != nil {
			return unlessStopped(c.ctx, log, fmt.Errorf("the first token could not be made: %w", err))
		}
		if first {
			c.printf("%s", firstSteps(s.publicURL(), secret))
		}
	}
	return s.run(c.ctx)
}

// unlessStopped is how a start ends: with nil if it was asked to.
func unlessStopped(ctx context.Context, log *slog.Logger, err error) error {
	if ctx.Err() == nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// logger writes to standard error, as the settings say.
func (c config) logger(out *console) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.logLevel}
	if c.logJSON {
		return slog.New(slog.NewJSONHandler(out.err, options))
	}
	return slog.New(slog.NewTextHandler(out.err, options))
}

// firstSteps is what a first start prints: the token, and lines that can be
// pasted into a shell as they are.
func firstSteps(base, secret string) string {
	return strings.NewReplacer("BASE", base, "SECRET", secret, "PING_LINE", pingLine(`"$PING"`)).Replace(`
Allswell runs at BASE

This is its first start. Here is your admin token, which is shown only this once:

  SECRET

To see it work, paste this into a shell. It makes a page, a component and a
monitor that expects a ping every minute, and sends the first ping:

  AUTH='Authorization: Bearer SECRET'
  curl -fsS -H "$AUTH" BASE/api/v1/pages -d '{"name": "Example", "slug": "example"}'
  COMPONENT=$(curl -fsS -H "$AUTH" BASE/api/v1/pages/example/components -d '{"name": "Backups"}' | sed 's/.*"id":"\([^"]*\)".*/\1/')
  PING=$(curl -fsS -H "$AUTH" BASE/api/v1/monitors -d '{"name": "Backup job", "interval": 60, "page": "example", "component_id": "'$COMPONENT'"}' | sed 's/.*"ping_url":"\([^"]*\)".*/\1/')
  PING_LINE

Then look at BASE/status/example
The last line is what your job has to run. The same with commands instead of curl:

  export ALLSWELL_URL=BASE ALLSWELL_TOKEN=SECRET
  allswell --help

`)
}

// listen opens an address; an error says in one sentence what is wrong.
func listen(ctx context.Context, env, address string) (net.Listener, error) {
	l, err := connlimit.Socket(ctx, address)
	if err == nil {
		return l, nil
	}
	return nil, fmt.Errorf("%s: it is not possible to listen on %s: %w", env, address, cause(err))
}
