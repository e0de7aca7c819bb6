package monitors

import (
	"slices"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

func TestConditionsHaveNames(t *testing.T) {
	for _, c := range monitor.DisplayStates {
		if frame.DisplayStateName(c) == "" {
			t.Errorf("%s has no name", c)
		}
	}
	if slices.Contains(monitor.DisplayStates, "") || len(frame.DisplayStateNames) != len(monitor.DisplayStates) {
		t.Error("the conditions and their names differ")
	}
}
