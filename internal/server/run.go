package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/clientaddr"
)

// Run starts a server and serves until ctx ends, then stops gracefully and returns nil. It returns earlier, with an
// error, if the server fails. The first start on a new database prints an API token to stdout. The log goes to stderr.
func Run(ctx context.Context, cfg Config, stdout, stderr io.Writer) error {
	log := cfg.Logger(stderr)
	if cfg.File != "" {
		log.Info("settings were read from the configuration file", "path", cfg.File)
	}
	cfg.tuneRuntime(log)
	s, err := New(ctx, cfg, log)
	if err != nil {
		return unlessStopped(ctx, log, err)
	}
	defer s.Close()
	if s.isLocal() {
		log.Info("only this machine can connect: "+reachableHint, "address", s.Addr().String())
	}
	if cfg.TLS.Auto && s.listensLocally() {
		log.Warn("only this machine can connect, so the certificate authority cannot: ALLSWELL_LISTEN has to be :443 "+
			"with ALLSWELL_TLS=auto",
			"address", s.Addr().String())
	}
	if cfg.SMTPURL == nil {
		log.Info("mail is off: ALLSWELL_SMTP_URL is not set, so visitors cannot subscribe by mail")
	} else if cfg.BaseURL == "" {
		log.Warn("ALLSWELL_BASE_URL is not set: the links in mails only work on this machine", "url", s.URL())
	}
	if cfg.BootstrapToken == "" {
		secret, first := account.NewTokenSecret(), false
		err := s.retryDatabase(ctx, func(ctx context.Context) (err error) {
			first, err = s.store.CreateFirstToken(ctx, secret)
			return err
		})
		if err != nil {
			return unlessStopped(ctx, log, fmt.Errorf("creating the first token: %w", err))
		}
		if first {
			code, err := s.store.IssueSetupCode(ctx)
			if err != nil {
				return unlessStopped(ctx, log, fmt.Errorf("creating the setup link: %w", err))
			}
			fmt.Fprint(stdout, firstSteps(s.URL(), code, secret, s.isLocal()))
		}
	}
	return s.Run(ctx)
}

// reachableHint tells how to make a server reachable that listens only on this machine.
const reachableHint = "for others, run it behind a reverse proxy and set --base-url, use --tls auto with --base-url, " +
	"or --listen :8080 (plain HTTP)"

// isLocal reports whether only this machine can connect, and no proxy seems to pass on requests of others.
func (s *Server) isLocal() bool { return s.cfg.BaseURL == "" && s.listensLocally() }

// listensLocally reports whether only this machine can connect.
func (s *Server) listensLocally() bool {
	address, ok := clientaddr.Parse(s.listener.Addr().String())
	return ok && address.Addr().IsLoopback()
}

// unlessStopped returns nil instead of err if ctx has ended.
func unlessStopped(ctx context.Context, log *slog.Logger, err error) error {
	if ctx.Err() == nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// firstSteps returns what the first start prints: the setup link, the token, and commands to paste into a shell. local
// means that only this machine can connect.
func firstSteps(base, code, secret string, local bool) string {
	hint := ""
	if local {
		hint = "Only this machine can connect. For others: a reverse proxy and --base-url;\n--tls auto --base-url " +
			"https://status.example.com; or --listen :8080 (plain HTTP).\n"
	}
	return strings.NewReplacer("BASE", base, "SECRET", secret, "SETUP_URL", account.CodeSetup.URL(base, code), "HINT\n",
		hint, "PING_LINE", monitor.PingCommand(`"$PING"`)).Replace(`
Allswell runs at BASE
HINT

This is its first start. Open this link in a browser to set it up. It works once,
within 24 hours; allswell setup-link prints a new one:

  SETUP_URL

For scripts, here is an admin token, which is shown only this once:

  SECRET

To see it work without a browser, paste this into a shell. It makes a page, a component and a
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
