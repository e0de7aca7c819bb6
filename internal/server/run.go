package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/allswell/allswell"
)

// Run starts a server and serves until ctx ends, then stops gracefully and returns nil. It returns earlier, with an
// error, if the server fails. The first start on a new database prints an API token to stdout. The log goes to stderr.
func Run(ctx context.Context, cfg Config, stdout, stderr io.Writer) error {
	log := cfg.Logger(stderr)
	cfg.tuneRuntime(log)
	s, err := New(ctx, cfg, log)
	if err != nil {
		return unlessStopped(ctx, log, err)
	}
	defer s.Close()
	if cfg.SMTPURL == nil {
		log.Info("mail is off: ALLSWELL_SMTP_URL is not set, so visitors cannot subscribe by mail")
	} else if cfg.BaseURL == "" {
		log.Warn("ALLSWELL_BASE_URL is not set: the links in mails only work on this machine", "url", s.URL())
	}
	if cfg.BootstrapToken == "" {
		secret, first := allswell.NewTokenSecret(), false
		err := s.retryDatabase(ctx, func(ctx context.Context) (err error) {
			first, err = s.store.CreateFirstToken(ctx, secret)
			return err
		})
		if err != nil {
			return unlessStopped(ctx, log, fmt.Errorf("creating the first token: %w", err))
		}
		if first {
			fmt.Fprint(stdout, firstSteps(s.URL(), secret))
		}
	}
	return s.Run(ctx)
}

// unlessStopped returns nil instead of err if ctx has ended.
func unlessStopped(ctx context.Context, log *slog.Logger, err error) error {
	if ctx.Err() == nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// Logger returns a logger that writes to w in the configured format, from the configured level on.
func (c Config) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// firstSteps returns what the first start prints: the token, and commands to paste into a shell.
func firstSteps(base, secret string) string {
	return strings.NewReplacer("BASE", base, "SECRET", secret, "PING_LINE", allswell.PingCommand(`"$PING"`)).Replace(`
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
