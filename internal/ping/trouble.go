package ping

import (
	"log/slog"
	"time"
)

// troubleEvery is the least time between two log lines about the same trouble.
const troubleEvery = 10 * time.Second

// trouble writes in the log when recording begins to fail, goes on failing, and
// works again.
type trouble struct {
	log           *slog.Logger
	since, logged time.Time // zero: none
	failed        int       // transactions
}

// note takes down how a transaction ended.
func (t *trouble) note(err error, now time.Time) {
	switch {
	case err == nil && t.failed == 0:
	case err == nil:
		t.log.Info("pings are recorded again", "failed", t.failed, "after", now.Sub(t.since).Round(time.Millisecond))
		t.failed, t.logged = 0, time.Time{}
	default:
		if t.failed == 0 {
			t.since = now
		}
		t.failed++
		if now.Sub(t.logged) >= troubleEvery {
			t.log.Error("pings cannot be recorded", "error", err, "failed", t.failed)
			t.logged = now
		}
	}
}
