package alerting

import (
	"testing"
	"time"
)

// TestSilenceUntilTomorrow checks the end in the zone of a page.
func TestSilenceUntilTomorrow(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// half past midnight in Berlin, the clock is put back in this night
	now := time.Date(2026, 10, 24, 22, 30, 0, 0, time.UTC)
	if end, ok := silenceEnd("tomorrow", zone, now); !ok || end.UTC().Format(time.RFC3339) != "2026-10-26T07:00:00Z" {
		t.Errorf("the end of a silence until tomorrow: %s, %v", end, ok)
	}
}
