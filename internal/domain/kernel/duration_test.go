package kernel_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

func TestFormatEvery(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "every second", time.Minute: "every minute", 24 * time.Hour: "every day",
		30 * time.Minute: "every 30 minutes", 25 * time.Hour: "every 1 day 1 hour",
	} {
		if got := kernel.FormatEvery(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
