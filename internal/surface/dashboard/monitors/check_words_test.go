package monitors

import (
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
)

// TestTonesOfResults: a good result with a warning does not look like one without.
func TestTonesOfResults(t *testing.T) {
	for status, want := range map[monitor.CheckStatus][2]string{
		monitor.CheckOK: {"ok", "degraded"}, monitor.CheckSlow: {"degraded", "degraded"},
		monitor.CheckFailed: {"major", "major"}, monitor.CheckUnknown: {"none", "none"},
	} {
		for i, warning := range []bool{false, true} {
			if got := (checkResult{monitor.CheckResult{Status: status, Warning: warning}}).Tone(); got != want[i] {
				t.Errorf("%s, with a warning %t: %s, want %s", status, warning, got, want[i])
			}
		}
	}
}
