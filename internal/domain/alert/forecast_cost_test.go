package alert

import (
	"fmt"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// maximalRule returns a rule with as many steps as possible, which name as many channels and schedules as possible.
func maximalRule() (r Rule, schedules []OnCall) {
	var t Target
	for i := range MaxTargets {
		person := Participant{Name: "Ann", ChannelIDs: []string{fmt.Sprint("person", i)}}
		schedules = append(schedules, OnCall{
			ID: fmt.Sprint("onc", i), Zone: "America/New_York", HandOverDay: "mon", HandOverAt: 150,
			StartsOn: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Participants: []Participant{person},
		})
		t.ChannelIDs, t.OnCallIDs = append(t.ChannelIDs, fmt.Sprint("chn", i)), append(t.OnCallIDs, schedules[i].ID)
	}
	r = Rule{
		Enabled: true, Filter: Filter{Events: DefaultEvents}, Target: t, Repeat: time.Minute,
		QuietHours: &QuietHours{Zone: "America/New_York", From: 60, Until: 61},
	}
	for i := range MaxSteps {
		r.Escalation = append(r.Escalation, Step{After: time.Duration(i+1) * time.Minute, Target: t})
	}
	return r, schedules
}

// TestCostOfForecast checks that the longest forecast of a rule costs little: loading a zone of time for each question
// to a schedule cost 50 times as much.
func TestCostOfForecast(t *testing.T) {
	r, schedules := maximalRule()
	a := Alert{
		Subject:  Subject{Event: MonitorDown, Severity: kernel.ImpactMajor},
		OpenedAt: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
	}
	if steps := r.forecast(a, nil, schedules); len(steps) != MaxForecast || len(steps[20].Recipients) != 2*MaxTargets {
		t.Fatalf("forecast has %d steps: %+v", len(steps), steps)
	}
	perStep := testing.AllocsPerRun(5, func() { r.forecast(a, nil, schedules) }) / MaxForecast
	if perStep > 200 {
		t.Errorf("%g allocations for a step", perStep)
	}
}

func BenchmarkForecast(b *testing.B) {
	r, schedules := maximalRule()
	a := Alert{
		Subject:  Subject{Event: MonitorDown, Severity: kernel.ImpactMajor},
		OpenedAt: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
	}
	for b.Loop() {
		r.forecast(a, nil, schedules)
	}
}
