package alert

import (
	"strings"
	"testing"
	"time"
)

// TestOverrideWithoutParticipant checks what is said of an override whose participant is removed.
func TestOverrideWithoutParticipant(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	o := OnCall{Name: "Ops", Zone: "Europe/Berlin", HandOverDay: "mon", Participants: []Participant{{Name: "Ann", ChannelIDs: []string{"chn_1"}}},
		Overrides: []Override{{ID: "ovr_1", Participant: "Bob", StartsAt: at, EndsAt: at.Add(time.Hour)}}}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "Bob has an override until 2026-11-21 10:00 +01:00; delete it first.") {
		t.Errorf("%v", err)
	}
	o.Overrides[0].ID = ""
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "must name a participant") {
		t.Errorf("of a new override: %v", err)
	}
}
