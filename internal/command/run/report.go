package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/shared/buildinfo"
)

const (
	requestTimeout = 10 * time.Second // of one attempt
	endTimeout     = time.Minute      // of the last report, after the end of the command

	// The pause between two attempts doubles from firstPause to lastPause.
	firstPause = time.Second
	lastPause  = 15 * time.Second
)

// target is the monitor that gets the reports.
type target struct {
	api     *client.Client
	base    string // URL of the server
	monitor string // slug or id; "": the token is known
	token   string // ping token; "": not looked up yet
}

func newTarget(base, apiToken, monitor, token string) (*target, error) {
	api, err := client.New(base, apiToken, client.Options{
		Timeout: requestTimeout, Retries: -1, UserAgent: "allswell/" + buildinfo.Read().Version,
	})
	return &target{api, strings.TrimRight(base, "/"), monitor, token}, err
}

// name returns a name of the monitor for the spool. It does not have the token, which is a secret.
func (t *target) name() string {
	sum := sha256.Sum256([]byte(t.base + "\n" + cmp.Or(t.monitor, t.token)))
	return hex.EncodeToString(sum[:16])
}

// send sends a report once.
func (t *target) send(ctx context.Context, report client.SignalReport) error {
	if t.token == "" {
		m, err := t.api.GetMonitor(ctx, t.monitor)
		if isNotFound(err) {
			return &notFound{
				fmt.Sprintf("there is no monitor %q in the workspace of the API token: `allswell monitor list "+
					"--wide` lists the slugs, `allswell monitor create` creates one", t.monitor),
				err,
			}
		}
		if err != nil {
			return err
		}
		if m.Token == "" {
			return &client.Error{Status: http.StatusForbidden, Message: "the API token must have the scope write"}
		}
		t.token = m.Token
	}
	err := t.api.Signal(ctx, t.token, report)
	if isNotFound(err) {
		return &notFound{"no monitor has this ping URL: `allswell monitor show` prints the URL of a monitor", err}
	}
	return err
}

// notFound is an error of the API, with a text that suggests what to do.
type notFound struct {
	text string
	err  error
}

func (e *notFound) Error() string { return e.text }
func (e *notFound) Unwrap() error { return e.err }

func isNotFound(err error) bool {
	refused := (*client.Error)(nil)
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// isFinal reports whether sending the report again would give the same error.
func isFinal(err error) bool {
	refused := (*client.Error)(nil)
	return errors.As(err, &refused) && refused.Status >= 400 && refused.Status < 500 &&
		refused.Status != http.StatusTooManyRequests
}

// isLost reports whether a report can never succeed: there is no such monitor, or it is disabled. A rejected API token
// may be replaced, so such reports stay in the spool.
func isLost(err error) bool {
	refused := (*client.Error)(nil)
	return isFinal(err) && errors.As(err, &refused) && refused.Status != http.StatusUnauthorized &&
		refused.Status != http.StatusForbidden
}

// sendUntil sends a report until it succeeds, a final error occurs, or stop is closed. It returns the last error. ctx
// ends an attempt that is in progress.
func (t *target) sendUntil(ctx context.Context, stop <-chan struct{}, report client.SignalReport) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := t.send(ctx, report)
		if err == nil || isFinal(err) {
			return err
		}
		wait := pause
		if refused := (*client.Error)(nil); errors.As(err, &refused) {
			wait = max(wait, min(refused.RetryAfter, endTimeout))
		}
		select {
		case <-stop:
			return err
		case <-time.After(wait):
		}
	}
}

// reporter reports one run in the background.
type reporter struct {
	target *target // nil: nothing is reported
	spool  spool
	ended  chan struct{} // closed when the command has ended: no further attempt is made to send the start
	begun  chan struct{} // closed when nothing of the beginning is sent any more

	// The result of sending the spool, valid once begun is closed.
	lost    int   // ends of earlier runs that were dropped
	refused error // why ends were dropped or stay in the spool; nil: neither
}

func newReporter(to *target, spoolFile string) *reporter {
	r := &reporter{target: to, ended: make(chan struct{}), begun: make(chan struct{})}
	if to != nil {
		r.spool = spool{spoolFile, to.name()}
	}
	return r
}

// begin sends in the background what earlier runs could not send, and then the start of this run.
func (r *reporter) begin(runID string) {
	if r.target == nil {
		return
	}
	go func() {
		defer close(r.begun)
		ctx := context.Background()
		if r.flush(ctx, r.ended) {
			// An error is not reported here: the end reports the same.
			r.target.sendUntil(ctx, r.ended, client.SignalReport{Kind: client.SignalStart, RunID: runID})
		}
	}()
}

// flush sends the ends of earlier runs until it succeeds or stop is closed. It returns false if an error that is not
// final kept it from sending some. Then nothing else may be sent: an earlier end that arrived after a later one would
// report an outdated state.
func (r *reporter) flush(ctx context.Context, stop <-chan struct{}) bool {
	lost, refused, complete := r.spool.flush(func(e entry) error { return r.target.sendUntil(ctx, stop, e.late()) })
	r.lost, r.refused = r.lost+lost, cmp.Or(refused, r.refused)
	return complete
}

var (
	errEnded   = errors.New("the command has ended")
	errEarlier = errors.New("the ends of earlier runs cannot be sent")
)

// end sends the end of the run, for up to endTimeout or until ctx ends. It waits for the start to be sent. What cannot
// be sent is added to the spool. It returns an error if that is impossible too, or if the API token is refused.
func (r *reporter) end(ctx context.Context, e entry) error {
	if r.target == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	close(r.ended)
	err := error(errEnded)
	select {
	case <-r.begun:
		if err = errEarlier; r.flush(ctx, ctx.Done()) {
			err = r.target.sendUntil(ctx, ctx.Done(), e.report())
		}
	case <-ctx.Done():
	}
	switch {
	case err == nil:
		return nil
	case r.spool.path == "" || isLost(err):
		return r.target.masked(err)
	}
	if saving := r.spool.add(e); saving != nil {
		return fmt.Errorf("%w; the spool: %w", r.target.masked(err), saving)
	}
	if isFinal(err) {
		return fmt.Errorf("%w; it is kept in the spool", r.target.masked(err))
	}
	return nil
}

// warning returns a text about the ends of earlier runs that the server refused, or "" if it has refused none. Call it
// after end.
func (r *reporter) warning() string {
	if r.target == nil {
		return ""
	}
	select {
	case <-r.begun:
	default:
		return "" // nothing was refused until now
	}
	switch {
	case r.refused == nil:
		return ""
	case r.lost > 0:
		return fmt.Sprintf("the ends of %d earlier runs are dropped from the spool: %v", r.lost,
			r.target.masked(r.refused))
	default:
		return fmt.Sprintf("the ends of earlier runs stay in the spool: %v", r.target.masked(r.refused))
	}
}

// masked returns an error without the ping token, which is a secret.
func (t *target) masked(err error) error {
	if t.token == "" {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), t.token, "…"))
}
