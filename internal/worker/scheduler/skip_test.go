package scheduler

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestSkipsAreLoggedOnce checks that consecutive skipped ticks are logged once per reason.
func TestSkipsAreLoggedOnce(t *testing.T) {
	var out bytes.Buffer
	w := &Scheduler{Config: Config{Logger: slog.New(slog.NewTextHandler(&out, nil))}}
	for range 20 {
		w.skip(noon, "pings are being lost")
	}
	w.skip(noon, "no recent liveness record")
	if n := strings.Count(out.String(), "tick skipped"); n != 2 {
		t.Errorf("%d lines for two reasons:\n%s", n, &out)
	}
	w.resume(noon)
	w.resume(noon)
	n := strings.Count(out.String(), `msg="ticks resumed"`)
	if n != 1 || !strings.Contains(out.String(), "skipped=21") {
		t.Errorf("%d lines after the end:\n%s", n, &out)
	}
}
