package alert

import (
	"fmt"
	"testing"
	"time"
)

// channels returns the ids of n channels.
func channels(n int) Target {
	var t Target
	for i := range n {
		t.ChannelIDs = append(t.ChannelIDs, fmt.Sprintf("chn_%d", i))
	}
	return t
}

// TestLimitsOfOnCall checks the limits of participants and overrides, and that a name is unique in any case of its
// letters.
func TestLimitsOfOnCall(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	people := func(n, targets int) (all []Participant) {
		for i := range n {
			all = append(all, Participant{fmt.Sprintf("Ann %d", i), channels(targets).ChannelIDs})
		}
		return all
	}
	overrides := func(n int) (all []Override) {
		for i := range n {
			all = append(all, Override{fmt.Sprintf("ovr_%d", i), "Ann 0", now, now.Add(time.Hour)})
		}
		return all
	}
	same := []Participant{{"Ann 0", channels(1).ChannelIDs}, {"ANN 0", channels(1).ChannelIDs}}
	for _, c := range []struct {
		what      string
		people    []Participant
		overrides []Override
		valid     bool
	}{
		{"all participants", people(MaxParticipants, 1), nil, true},
		{"one too many", people(MaxParticipants+1, 1), nil, false},
		{"all channels", people(1, MaxTargets), nil, true},
		{"a channel too many", people(1, MaxTargets+1), nil, false},
		{"no channel", people(1, 0), nil, false},
		{"all overrides", people(1, 1), overrides(MaxOverrides), true},
		{"an override too many", people(1, 1), overrides(MaxOverrides + 1), false},
		{"names that differ in case", same, nil, false},
	} {
		o := OnCall{Name: "Ops", Zone: "UTC", HandOverDay: "mon", Participants: c.people, Overrides: c.overrides}
		if err := problemsOf(o, now, nil); (err == nil) != c.valid {
			t.Errorf("problems of an on-call schedule with %s: %v", c.what, err)
		}
	}
}

// TestEndOfHolds checks that an alert is held at most maxQuietHolds times.
func TestEndOfHolds(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := Rule{Enabled: true, Target: channels(1)}
	a := Alert{ID: "alt_1", OpenedAt: now, Subject: Subject{Event: MonitorDown}}
	until := now.Add(time.Hour)
	for holds, want := range map[int]time.Time{maxQuietHolds - 1: until, maxQuietHolds: {}} {
		got := r.Advance(Progress{DueAt: now, Holds: holds}, a, until, now)
		if got.Held != HeldBySilence || !got.Next.DueAt.Equal(want) {
			t.Errorf("after %d holds: %+v", holds, got)
		}
	}
}
