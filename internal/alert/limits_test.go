package alert

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// channels returns the ids of n channels.
func channels(n int) Target {
	var t Target
	for i := range n {
		t.ChannelIDs = append(t.ChannelIDs, fmt.Sprintf("chn_%d", i))
	}
	return t
}

// TestLimitsOfRules checks every limit of a rule at its last valid value and at the one beyond it.
func TestLimitsOfRules(t *testing.T) {
	step := func(after time.Duration, to Target) []Step { return []Step{{after, to}} }
	steps := func(n int) (all []Step) {
		for range n {
			all = append(all, Step{time.Hour, channels(1)})
		}
		return all
	}
	quiet := func(to Target) *QuietHours { return &QuietHours{Zone: "UTC", From: 22 * 60, Until: 7 * 60, Target: to} }
	for _, c := range []struct {
		field      string
		valid, bad func(*Rule)
	}{
		{"channel_ids", func(r *Rule) { r.Target = channels(MaxTargets) }, func(r *Rule) { r.Target = channels(MaxTargets + 1) }},
		{"channel_ids", func(r *Rule) { r.OnCallIDs = channels(MaxTargets).ChannelIDs }, func(r *Rule) { r.OnCallIDs = channels(MaxTargets + 1).ChannelIDs }},
		{"delay", func(r *Rule) { r.Delay = 0 }, func(r *Rule) { r.Delay = -time.Second }},
		{"delay", func(r *Rule) { r.Delay = MaxDelay }, func(r *Rule) { r.Delay = MaxDelay + time.Second }},
		{"repeat", func(r *Rule) { r.Repeat = MinRepeat }, func(r *Rule) { r.Repeat = MinRepeat - time.Second }},
		{"repeat", func(r *Rule) { r.Repeat = MaxRepeat }, func(r *Rule) { r.Repeat = MaxRepeat + time.Second }},
		{"escalation", func(r *Rule) { r.Escalation = steps(MaxSteps) }, func(r *Rule) { r.Escalation = steps(MaxSteps + 1) }},
		{"escalation", func(r *Rule) { r.Escalation = step(MinStepAfter, channels(1)) }, func(r *Rule) { r.Escalation = step(MinStepAfter-time.Second, channels(1)) }},
		{"escalation", func(r *Rule) { r.Escalation = step(MaxStepAfter, channels(1)) }, func(r *Rule) { r.Escalation = step(MaxStepAfter+time.Second, channels(1)) }},
		{"escalation", func(r *Rule) { r.Escalation = step(time.Hour, channels(MaxTargets)) }, func(r *Rule) { r.Escalation = step(time.Hour, channels(MaxTargets+1)) }},
		{"quiet_hours", func(r *Rule) { r.QuietHours = quiet(channels(MaxTargets)) }, func(r *Rule) { r.QuietHours = quiet(channels(MaxTargets + 1)) }},
	} {
		r := Rule{Name: "Night", Enabled: true, Filter: Filter{Events: DefaultEvents}, Target: channels(1)}
		if c.valid(&r); r.Validate() != nil {
			t.Errorf("%s: the last valid value is refused: %v", c.field, r.Validate())
		}
		if c.bad(&r); r.Validate() == nil || !strings.Contains(r.Validate().Error(), c.field) {
			t.Errorf("%s: the value beyond the limit: %v", c.field, r.Validate())
		}
	}
}

// TestLimitsOfSilences checks every limit of a silence, and that a comment of old does not prevent a change.
func TestLimitsOfSilences(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	long := strings.Repeat("a", allswell.MaxMessageLength+1)
	for _, c := range []struct {
		what         string
		starts, ends time.Duration // from now
		comment, old string
		want         string // "": valid
	}{
		{"a second", 0, time.Second, "", "", ""},
		{"no time", time.Hour, time.Hour, "", "", "must be after"},
		{"until now", -time.Hour, 0, "", "", "in the future"},
		{"as long as possible", 0, MaxSilence, "", "", ""},
		{"longer", 0, MaxSilence + time.Second, "", "", "at most 366 days"},
		{"as long as possible, later", 48 * time.Hour, 48*time.Hour + MaxSilence, "", "", ""},
		{"longer, begun before", -time.Hour, MaxSilence - time.Hour + time.Second, "", "", "at most 366 days"},
		{"a long comment", 0, time.Hour, long[1:], "", ""},
		{"a longer comment", 0, time.Hour, long, "", "comment"},
		{"a comment of old", 0, time.Hour, long, long, ""},
	} {
		s := Silence{Comment: c.comment, StartsAt: now.Add(c.starts), EndsAt: now.Add(c.ends)}
		if err := s.Validate(Silence{Comment: c.old}, now); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// TestLimitsOfOnCall checks the limits of participants and overrides, and that a name is unique in any case of its letters.
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
		if err := o.Validate(now, nil); (err == nil) != c.valid {
			t.Errorf("%s: %v", c.what, err)
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
		if got := r.Advance(Progress{DueAt: now, Holds: holds}, a, until, now); got.Held != HeldBySilence || !got.Next.DueAt.Equal(want) {
			t.Errorf("after %d holds: %+v", holds, got)
		}
	}
}
