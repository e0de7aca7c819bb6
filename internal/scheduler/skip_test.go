package scheduler

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestSkipsAreLoggedOnce: not once for each tick.
func TestSkipsAreLoggedOnce(t *testing.T) {
	var out bytes.Buffer
	w := &Scheduler{Config: Config{Logger: slog.New(slog.NewTextHandler(&out, nil))}}
	for range 20 {
		w.skip(noon, "pings are being lost")
	}
	w.skip(noon, "no beat was recorded lately")
	if n := strings.Count(out.String(), "a periodic check was skipped"); n != 2 {
		t.Errorf("%d lines for two reasons:\n%s", n, &out)
	}
	w.resume(noon)
	w.resume(noon)
	if n := strings.Count(out.String(), `msg="periodic checks run again"`); n != 1 || !strings.Contains(out.String(), "skipped=21") {
		t.Errorf("%d lines when it is over:\n%s", n, &out)
	}
}
