package monitors

import (
	"net/url"
	"testing"
)

// TestFormsChangeALimitedNumberOfMonitors chooses as many monitors as one form changes, and one more.
func TestFormsChangeALimitedNumberOfMonitors(t *testing.T) {
	for n, want := range map[int]int{
		0: 0, 1: 1, maxMonitorsChosen: maxMonitorsChosen, maxMonitorsChosen + 1: maxMonitorsChosen,
	} {
		if got := chosenMonitors(url.Values{"monitor": make([]string, n)}); len(got) != want {
			t.Errorf("of %d monitors %d are changed", n, len(got))
		}
	}
}
