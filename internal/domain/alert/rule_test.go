package alert

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestQuietHours checks days, midnight and the changes of the clock.
func TestQuietHours(t *testing.T) {
	night := QuietHours{Zone: "Europe/Berlin", From: 22 * 60, Until: 7 * 60}
	for _, c := range []struct {
		q       QuietHours
		at, end string // end "": not quiet
	}{
		{night, "2026-01-10T20:59:59Z", ""},
		{night, "2026-01-10T21:00:00Z", "2026-01-11T06:00:00Z"},
		{night, "2026-01-11T05:59:59Z", "2026-01-11T06:00:00Z"},
		{night, "2026-01-11T06:00:00Z", ""},
		{night, "2026-03-28T22:00:00Z", "2026-03-29T05:00:00Z"}, // summer time begins in this night
		{night, "2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z"}, // and ends in this one
		{QuietHours{Zone: "UTC", From: 9 * 60, Until: 17 * 60}, "2026-01-10T12:00:00Z", "2026-01-10T17:00:00Z"},
		// the night after Saturday
		{QuietHours{Zone: "UTC", From: 22 * 60, Until: 7 * 60, Days: []Weekday{"sat"}}, "2026-01-11T06:00:00Z",
			"2026-01-11T07:00:00Z"},
		{QuietHours{Zone: "UTC", From: 22 * 60, Until: 7 * 60, Days: []Weekday{"sun"}}, "2026-01-11T06:00:00Z", ""},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		end, ok := c.q.EndAfter(at)
		if got := end.UTC().Format(time.RFC3339); ok != (c.end != "") || ok && got != c.end {
			t.Errorf("EndAfter of %+v at %s = %s, %v; want %s", c.q, c.at, got, ok, c.end)
		}
	}
}

// TestQuietHoursEnd draws quiet hours and instants: at their end it is not quiet for that reason any more, and until
// then it is.
func TestQuietHoursEnd(t *testing.T) {
	zones := []string{
		"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia",
	}
	for range 3000 {
		q := QuietHours{
			Zone: zones[rand.IntN(len(zones))], From: ClockTime(rand.IntN(24 * 60)),
			Until: ClockTime(rand.IntN(24 * 60)),
		}
		if q.From == q.Until {
			continue
		}
		at := t0.Add(time.Duration(rand.Int64N(int64(400 * 24 * time.Hour))))
		end, ok := q.EndAfter(at)
		if !ok {
			continue
		}
		if !end.After(at) || end.Sub(at) > 26*time.Hour {
			t.Fatalf("quiet hours %+v at %s end at %s", q, at, end)
		}
		if again, ok := q.EndAfter(end.Add(-time.Millisecond)); !ok || again.Before(end) {
			t.Fatalf("%+v at %s: just before %s it ends at %s, %v", q, at, end, again, ok)
		}
		if _, ok := q.EndAfter(end); ok {
			t.Fatalf("%+v at %s: still quiet at %s", q, at, end)
		}
	}
}

// TestOnCall checks hand-overs, the first week and overrides.
func TestOnCall(t *testing.T) {
	o := OnCall{
		Zone: "Europe/Berlin", HandOverDay: "mon", HandOverAt: 9 * 60,
		StartsOn:     time.Date(2026, 3, 23, 0, 0, 0, 0, time.UTC),
		Participants: []Participant{{Name: "Ann"}, {Name: "Bob"}, {Name: "Cem"}},
		Overrides: []Override{
			{Participant: "Cem", StartsAt: t0.AddDate(0, 2, 0), EndsAt: t0.AddDate(0, 2, 1)},
			{Participant: "bob", StartsAt: t0.AddDate(0, 2, 0), EndsAt: t0.AddDate(0, 2, 0).Add(time.Hour)},
		},
	}
	for at, want := range map[string]string{
		"2026-03-23T07:59:59Z": "Cem", // before the first hand-over
		"2026-03-23T08:00:00Z": "Ann",
		"2026-03-30T06:59:59Z": "Ann", // summer time began on Sunday
		"2026-03-30T07:00:00Z": "Bob",
		"2026-04-06T07:00:00Z": "Cem",
		"2026-04-13T07:00:00Z": "Ann",
		"2026-05-01T12:30:00Z": "Bob", // the later override
		"2026-05-01T13:00:00Z": "Cem",
	} {
		instant, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := o.On(instant); !ok || got.Name != want {
			t.Errorf("On at %s = %s, want %s", at, got.Name, want)
		}
	}
	if _, ok := (OnCall{Zone: "UTC", HandOverDay: "mon"}).On(t0); ok {
		t.Error("somebody is on call without participants")
	}
}

// TestTurns checks that turns leave no gap, and agree with OnCall.On at every instant. They say which of them are
// overrides, also of a participant whose turn it is anyway.
func TestTurns(t *testing.T) {
	for range 100 {
		o := OnCall{
			Zone: "America/New_York", HandOverDay: Weekdays[rand.IntN(7)], HandOverAt: ClockTime(rand.IntN(24 * 60)),
			StartsOn: t0.Truncate(24 * time.Hour),
		}
		for i := range 1 + rand.IntN(4) {
			o.Participants = append(o.Participants, Participant{Name: string(rune('A' + i))})
		}
		for range rand.IntN(4) {
			from := t0.Add(time.Duration(rand.Int64N(int64(60 * 24 * time.Hour))))
			o.Overrides = append(o.Overrides, Override{
				Participant: "A", StartsAt: from,
				EndsAt: from.Add(time.Duration(1 + rand.Int64N(int64(72*time.Hour)))),
			})
		}
		until := t0.AddDate(0, 2, 0)
		at := t0
		for _, turn := range o.Turns(t0, until) {
			if !turn.StartsAt.Equal(at) || !turn.EndsAt.After(at) {
				t.Fatalf("%+v: a gap at %s: %+v", o, at, turn)
			}
			for range 5 {
				instant := turn.StartsAt.Add(time.Duration(rand.Int64N(int64(turn.EndsAt.Sub(turn.StartsAt)))))
				if p, _ := o.On(instant); p.Name != turn.Participant.Name {
					t.Fatalf("%+v: On = %s at %s, want %s as in Turns", o, p.Name, instant, turn.Participant.Name)
				}
				if override := slices.ContainsFunc(o.Overrides, func(v Override) bool {
					return v.covers(instant)
				}); override != turn.Override {
					t.Fatalf("%+v: %+v, by an override at %s: %t", o, turn, instant, override)
				}
			}
			at = turn.EndsAt
		}
		if !at.Equal(until) {
			t.Fatalf("turns of %+v end at %s", o, at)
		}
	}
}

// TestEveryAlertEnds draws rules and histories: a rule has an end, notifies nobody before its delay, in quiet hours
// without a target or during a silence, and nothing after the alert was acknowledged or has ended.
func TestEveryAlertEnds(t *testing.T) {
	for range 500 {
		r := Rule{
			Enabled: true, Target: Target{ChannelIDs: []string{"a"}}, Delay: time.Duration(rand.IntN(3)) * time.Minute,
			Repeat: time.Duration(rand.IntN(2)) * 10 * time.Minute,
		}
		for range rand.IntN(3) {
			r.Escalation = append(r.Escalation, Step{
				time.Duration(1+rand.IntN(30)) * time.Minute, Target{ChannelIDs: []string{"b"}},
			})
		}
		if rand.IntN(2) == 0 {
			r.QuietHours = &QuietHours{Zone: "Europe/Berlin", From: 22 * 60, Until: 7 * 60}
		}
		a := Alert{ID: "alt", Subject: Subject{Event: MonitorDown}, OpenedAt: t0}
		silence := Silence{StartsAt: t0.Add(time.Hour), EndsAt: t0.Add(time.Duration(1+rand.IntN(10)) * time.Hour)}
		over := t0.Add(time.Duration(rand.IntN(100)) * time.Hour)
		acknowledged := rand.IntN(2) == 0
		steps := 0
		for p := r.Begin(a, a.OpenedAt); !p.DueAt.IsZero(); steps++ {
			now := p.DueAt
			if !over.After(now) {
				if a.ResolvedAt = over; acknowledged {
					a.ResolvedAt, a.AcknowledgedAt = time.Time{}, over
				}
			}
			action := r.Advance(p, a, SilencedUntil([]Silence{silence}, a.Subject, now), now)
			if action.Kind != "" {
				_, quiet := QuietHours{Zone: "Europe/Berlin", From: 22 * 60, Until: 7 * 60}.EndAfter(now)
				if now.Sub(t0) < r.Delay || quiet && r.QuietHours != nil ||
					!now.Before(silence.StartsAt) && now.Before(silence.EndsAt) || now.After(over) ||
					len(action.Notify) == 0 {
					t.Fatalf("%+v notified %+v at %s; silence %+v, over %s", r, action, now, silence, over)
				}
			}
			if p = action.Next; steps > 1000 {
				t.Fatalf("%+v has no end", r)
			}
		}
		if steps == 0 {
			t.Fatal("nothing was due")
		}
	}
}

// TestRepetitionsEnd checks how often a rule repeats an alert that nobody acknowledges.
func TestRepetitionsEnd(t *testing.T) {
	r := Rule{Enabled: true, Target: Target{ChannelIDs: []string{"a"}}, Repeat: MinRepeat}
	a := Alert{ID: "alt", Subject: Subject{Event: MonitorDown}, OpenedAt: t0}
	repeated := 0
	for p := r.Begin(a, t0); !p.DueAt.IsZero() && repeated <= 2*MaxRepeats; {
		action := r.Advance(p, a, time.Time{}, p.DueAt)
		if action.Kind == NoticeRepeated {
			repeated++
		}
		p = action.Next
	}
	if repeated != MaxRepeats {
		t.Errorf("%d repetitions, want %d", repeated, MaxRepeats)
	}
}

// TestBriefAlert checks what is sent about an alert that ends before a rule sends it.
func TestBriefAlert(t *testing.T) {
	a := Alert{ID: "alt", Subject: Subject{Event: MonitorDown}, OpenedAt: t0, ResolvedAt: t0.Add(30 * time.Second)}
	for _, c := range []struct {
		name     string
		delay    time.Duration
		notifyAt time.Time
		want     NoticeKind
	}{
		{"without a delay", 0, t0, NoticeOpened},
		{"shorter than the delay", time.Minute, t0, ""},
		{"longer than the delay", 10 * time.Second, t0, NoticeOpened},
		{"of a flapping monitor", 0, t0.Add(time.Hour), NoticeOpened},
	} {
		r := Rule{Enabled: true, Target: Target{ChannelIDs: []string{"a"}}, Delay: c.delay, Repeat: time.Minute}
		p := r.Begin(a, c.notifyAt)
		got := r.Advance(p, a, time.Time{}, p.DueAt.Add(time.Minute))
		if got.Kind != c.want || !got.Next.DueAt.IsZero() {
			t.Errorf("Advance of a rule on an alert that ended, %s: %+v", c.name, got)
		}
	}
}

// TestSilencedUntil checks that silences that follow each other count as one.
func TestSilencedUntil(t *testing.T) {
	hours := func(from, until int) Silence {
		return Silence{
			StartsAt: t0.Add(time.Duration(from) * time.Hour), EndsAt: t0.Add(time.Duration(until) * time.Hour),
		}
	}
	other := hours(0, 9)
	other.Severities = []kernel.Impact{kernel.ImpactMinor}
	s := Subject{Severity: kernel.ImpactMajor}
	for _, c := range []struct {
		all  []Silence
		want int // hours; 0: not silenced
	}{
		{nil, 0}, {[]Silence{hours(1, 2)}, 0}, {[]Silence{hours(-2, 0)}, 0}, {[]Silence{hours(-1, 2)}, 2},
		{[]Silence{hours(2, 4), hours(0, 2), hours(5, 6)}, 4}, {[]Silence{other}, 0},
	} {
		got := SilencedUntil(c.all, s, t0)
		want := t0.Add(time.Duration(c.want) * time.Hour)
		if c.want == 0 && !got.IsZero() || c.want != 0 && !got.Equal(want) {
			t.Errorf("SilencedUntil of %+v = %s, want %s", c.all, got, want)
		}
	}
}

// TestMatchesAll checks that each list limits a filter.
func TestMatchesAll(t *testing.T) {
	if !(Filter{}).MatchesAll() {
		t.Error("a filter without lists does not match all")
	}
	for name, f := range map[string]Filter{
		"events": {Events: DefaultEvents}, "pages": {Pages: []string{"acme"}}, "monitors": {Monitors: []string{"shop"}},
		"tags":       {Tags: []string{"prod"}},
		"severities": {Severities: []kernel.Impact{kernel.ImpactCritical}},
	} {
		if f.MatchesAll() {
			t.Errorf("a filter with %s matches all", name)
		}
	}
}
