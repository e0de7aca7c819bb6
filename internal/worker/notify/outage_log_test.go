package notify

import (
	"bytes"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestOutageOfTheMailServerIsLoggedOnce checks that an outage is two lines in the log, one
// when it begins and one when it ends, and that the log has no line at info for each mail.
// Webhooks, which go to many servers, have no such lines.
func TestOutageOfTheMailServerIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	n := New(Config{
		Store:  storetest.Open(t, "sqlite:"+t.TempDir()+"/allswell.db", store.Options{}),
		SMTP:   &url.URL{Scheme: "smtp", Host: "mail.example.com:587"},
		Logger: slog.New(slog.NewTextHandler(&out, nil)),
	})
	outcome := func(o audience.SendOutcome) {
		for _, q := range n.queues {
			q.noteOutage(o, time.Unix(1e9, 0))
			q.report(store.DeliveryResult{Outcome: o})
		}
	}
	for range 50 {
		outcome(audience.SendOutcome{Result: audience.SendFailed, Unreachable: true, Reason: "It cannot be used."})
		outcome(audience.SendOutcome{Result: audience.SendNotAttempted})
	}
	outcome(audience.SendOutcome{Result: audience.SendAccepted})
	outcome(audience.SendOutcome{Result: audience.SendAccepted})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 ||
		!strings.Contains(lines[0], `msg="the mail server cannot be used" server=mail.example.com:587 error=`) ||
		!strings.Contains(lines[1], `msg="the mail server can be used again"`) ||
		!strings.Contains(lines[1], "failures=50") {
		t.Errorf("the log:\n%s", &out)
	}
}
