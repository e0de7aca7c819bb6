package monitors

import (
	"slices"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

func TestConditionsHaveNames(t *testing.T) {
	for _, c := range monitor.MonitorConditions {
		if frame.ConditionName(c) == "" {
			t.Errorf("%s has no name", c)
		}
	}
	if slices.Contains(monitor.MonitorConditions, "") || len(frame.ConditionNames) != len(monitor.MonitorConditions) {
		t.Error("the conditions and their names differ")
	}
}
