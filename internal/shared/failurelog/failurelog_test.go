package failurelog

import (
	"bytes"
	"log/slog"
	"testing"
	"time"
)

// TestLog checks the two lines of an outage: the first failure, and the recovery with
// the duration and the number of failures.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	quiet := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	l := Log{
		Logger:  slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: quiet})),
		Failing: "broken", Working: "working", Settle: 10 * time.Second,
	}
	at := func(seconds int) time.Time { return time.Unix(1e9, 0).Add(time.Duration(seconds) * time.Second) }
	l.Worked(at(0))
	for n := range 45 {
		l.Failed(at(n), "error", "first or later")
	}
	l.Worked(at(45))
	l.Failed(at(47), "error", "it began before")
	l.Worked(at(48))
	l.Worked(at(57))
	l.Worked(at(58))
	l.Worked(at(59))
	l.Failed(at(60), "error", "another")
	want := "level=ERROR msg=broken error=\"first or later\"\nlevel=INFO msg=working after=48s failures=46\n" +
		"level=ERROR msg=broken error=another\n"
	if out.String() != want {
		t.Errorf("the log is\n%swant\n%s", &out, want)
	}
}
