package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// tuneRuntime sets what Go's own defaults are wrong about here, unless the
// environment says otherwise.
func tuneRuntime() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		// One thread is in a durable commit most of the time, waiting for the
		// disk; the others shall have all cores.
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}

// A service that answers fewer requests than quietRequests in restInterval gives
// memory back that it does not need.
const (
	restInterval  = 20 * time.Second
	quietRequests = 200
)

// rest does so until ctx ends. The collector alone would let garbage grow to
// gcPercent of what lives before it looked.
func (s *service) rest(ctx context.Context) {
	ticker := time.NewTicker(restInterval)
	defer ticker.Stop()
	for before := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		answered := s.faces.ids.n.Load()
		if answered-before < quietRequests {
			runtime.GC() // what pools hold outlives one collection
			debug.FreeOSMemory()
		}
		before = answered
	}
}

// gcPercent lets the heap grow to five times of what lives before the garbage
// collector runs. So little lives here that Go's own 100 would run it dozens of
// times a second under load; GOGC in the environment overrules it.
const gcPercent = 400

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
	tuneRuntime()
	s, err := newService(c.ctx, cfg, log)
	if err != nil {
		return err
	}
	defer s.close()
	if cfg.smtpURL == nil {
		log.Info("mail is off: ALLSWELL_SMTP_URL is not set, so nobody can subscribe by mail")
	} else if cfg.baseURL == "" {
		log.Warn("ALLSWELL_BASE_URL is not set: the links in mails only work on this machine", "url", s.publicURL())
	}
	if cfg.bootstrapToken == "" {
		secret, first, err := s.store.FirstToken(c.ctx)
		if err != nil {
			return fmt.Errorf("the first token could not be made: %w", err)
		}
		if first {
			c.printf("%s", firstSteps(s.publicURL(), secret))
		}
	}
	return s.run(c.ctx)
}

// logger writes to standard error, as the settings say.
func (cfg config) logger(c *console) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.logLevel}
	if cfg.logJSON {
		return slog.New(slog.NewJSONHandler(c.err, options))
	}
	return slog.New(slog.NewTextHandler(c.err, options))
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
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	return nil, fmt.Errorf("%s: it is not possible to listen on %s: %w", env, address, cause(err))
}
