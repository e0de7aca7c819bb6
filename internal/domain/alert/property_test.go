package alert

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// zonesOfTests change their clocks at different times, by an hour or by half an hour, or never.
var zonesOfTests = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns",
	"Africa/Casablanca",
}

// clockChanged reports whether clocks of a zone were changed within a day before or after an instant.
func clockChanged(at time.Time, zone *time.Location) bool {
	_, before := at.Add(-26 * time.Hour).In(zone).Zone()
	_, after := at.Add(26 * time.Hour).In(zone).Zone()
	_, now := at.In(zone).Zone()
	return before != now || after != now
}

// TestQuietHoursByTheClock compares quiet hours with what a clock on the wall says: away from changes of the clock
// exactly, and near them at all times of day that occur once.
func TestQuietHoursByTheClock(t *testing.T) {
	near := 0
	for range 20_000 {
		q := QuietHours{
			Zone: zonesOfTests[rand.IntN(len(zonesOfTests))], From: ClockTime(rand.IntN(24 * 60)),
			Until: ClockTime(rand.IntN(24 * 60)),
		}
		if q.From == q.Until {
			continue
		}
		for _, d := range Weekdays {
			if rand.IntN(2) == 0 {
				q.Days = append(q.Days, d)
			}
		}
		zone := OnCall{Zone: q.Zone}.Location()
		at := t0.Add(time.Duration(rand.Int64N(int64(400 * 24 * time.Hour)))).Truncate(time.Minute)
		if clockChanged(at, zone) {
			if near++; rand.IntN(4) > 0 { // changes are rare, and most of them begin at night
				q.From, q.Until = 22*60, 7*60
			}
		}
		local := at.In(zone)
		clock := ClockTime(local.Hour()*60 + local.Minute())
		begun := local // a day on which they began, if it is quiet
		quiet := clock >= q.From && clock < q.Until
		if q.Until < q.From {
			quiet = clock >= q.From || clock < q.Until
			if clock < q.Until {
				begun = local.AddDate(0, 0, -1)
			}
		}
		quiet = quiet && (len(q.Days) == 0 || slices.Contains(q.Days, weekdayOf(begun)))
		// At a change, a time of the clock may be skipped or come twice: then only a plausible answer is asked for.
		if clockChanged(at, zone) && (clock < 5*60 || q.From < 5*60 || q.Until < 5*60) {
			continue
		}
		end, got := q.EndAfter(at)
		if got != quiet || got && (end.In(zone).Hour()*60+end.In(zone).Minute() != int(q.Until) || !end.After(at)) {
			t.Fatalf("EndAfter of %+v at %s = %v until %s, want %v", q, local, got, end.In(zone), quiet)
		}
	}
	if near == 0 {
		t.Error("no instant was near a change of the clock")
	}
}

// TestRotationByTheCalendar compares on-call schedules with a calendar in which somebody counts weeks.
func TestRotationByTheCalendar(t *testing.T) {
	for range 300 {
		o := OnCall{
			Zone: zonesOfTests[rand.IntN(len(zonesOfTests))], HandOverDay: Weekdays[rand.IntN(7)],
			HandOverAt: ClockTime(rand.IntN(24 * 60)),
			StartsOn:   t0.Truncate(24*time.Hour).AddDate(0, 0, rand.IntN(60)),
		}
		for i := range 1 + rand.IntN(5) {
			o.Participants = append(o.Participants, Participant{Name: string(rune('A' + i))})
		}
		// The first hand-over is the last one at the time of the hand-over on the first day; the next are on the same
		// day of the next weeks.
		zone := o.Location()
		first := o.StartsOn
		for weekdayOf(first) != o.HandOverDay {
			first = first.AddDate(0, 0, -1)
		}
		for week := range 60 {
			begin := time.Date(first.Year(), first.Month(), first.Day()+7*week, int(o.HandOverAt)/60,
				int(o.HandOverAt)%60, 0, 0, zone)
			end := time.Date(first.Year(), first.Month(), first.Day()+7*week+7, int(o.HandOverAt)/60,
				int(o.HandOverAt)%60, 0, 0, zone)
			want := o.Participants[week%len(o.Participants)].Name
			for _, at := range []time.Time{
				begin, begin.Add(time.Duration(rand.Int64N(int64(end.Sub(begin))))), end.Add(-time.Millisecond),
			} {
				if got, ok := o.On(at); !ok || got.Name != want {
					t.Fatalf("%+v: %s is on call at %s in week %d, want %s", o, got.Name, at.In(zone), week, want)
				}
			}
		}
	}
}

// modelStep is a step of the model of a rule.
type modelStep struct {
	at   time.Time
	kind NoticeKind
	to   []string
	held HoldReason
}

// modelOf follows what a rule promises in the words of docs/alerts.md: minute by minute, without Advance. Of what is
// held it says why at first. The alert begins at t0 and lasts; times of the rule and of silences are whole minutes.
func modelOf(r Rule, silences []Silence, until time.Time) (steps []modelStep) {
	due, notified, repeats, held := t0.Add(r.Delay), 0, 0, HoldReason("")
	for at := t0; !at.After(until); at = at.Add(time.Minute) {
		if at.Before(due) {
			continue
		}
		why := HoldReason("")
		quiet := false
		for _, s := range silences {
			if !at.Before(s.StartsAt) && at.Before(s.EndsAt) {
				why = HeldBySilence
			}
		}
		if r.QuietHours != nil {
			if _, quiet = r.QuietHours.EndAfter(at); quiet && r.QuietHours.isEmpty() && why == "" {
				why = HeldByQuietHours
			}
		}
		if why != "" {
			if held == "" {
				steps = append(steps, modelStep{at: at, held: why})
			}
			held = why
			continue
		}
		held = ""
		step := modelStep{at: at, kind: NoticeOpened, to: r.ChannelIDs}
		switch {
		case notified > 0 && notified <= len(r.Escalation):
			step.kind, step.to = NoticeEscalated, r.Escalation[notified-1].ChannelIDs
		case notified > 0:
			step.kind = NoticeRepeated
			for _, s := range r.Escalation {
				step.to = append(slices.Clip(step.to), s.ChannelIDs...)
			}
		}
		if quiet {
			step.to = r.QuietHours.ChannelIDs
		}
		steps = append(steps, step)
		switch {
		case notified < len(r.Escalation):
			due = at.Add(r.Escalation[notified].After)
		case r.Repeat > 0 && repeats < MaxRepeats:
			due, repeats = at.Add(r.Repeat), repeats+1
		default:
			return steps
		}
		notified++
	}
	return steps
}

// randomRule returns a rule whose steps notify different channels, with times of whole minutes.
func randomRule() Rule {
	minutes := func(most int) time.Duration { return time.Duration(1+rand.IntN(most)) * time.Minute }
	r := Rule{Enabled: true, Target: Target{ChannelIDs: []string{"first"}}}
	if rand.IntN(2) == 0 {
		r.Delay = minutes(120)
	}
	for i := range rand.IntN(4) {
		r.Escalation = append(r.Escalation, Step{minutes(90), Target{ChannelIDs: []string{string(rune('a' + i))}}})
	}
	if rand.IntN(2) == 0 {
		r.Repeat = minutes(200)
	}
	if rand.IntN(2) == 0 {
		r.QuietHours = &QuietHours{
			Zone: zonesOfTests[rand.IntN(len(zonesOfTests))], From: ClockTime(rand.IntN(24 * 60)),
			Until: ClockTime(rand.IntN(24 * 60)),
		}
		if r.QuietHours.Until == r.QuietHours.From {
			r.QuietHours.Until = (r.QuietHours.From + 1) % (24 * 60)
		}
		if rand.IntN(2) == 0 {
			r.QuietHours.ChannelIDs = []string{"night"}
		}
	}
	return r
}

// TestRuleIsTheModel compares the forecast of random rules with the model, over changes of the clock and silences that
// overlap.
func TestRuleIsTheModel(t *testing.T) {
	silent := 0
	for range 300 {
		r := randomRule()
		a := Alert{Subject: Subject{Event: MonitorDown}, OpenedAt: t0}
		var silences []Silence
		for range rand.IntN(3) {
			from := t0.Add(time.Duration(rand.IntN(600)-60) * time.Minute)
			silences = append(silences, Silence{
				StartsAt: from, EndsAt: from.Add(time.Duration(1+rand.IntN(300)) * time.Minute),
			})
		}
		var got []modelStep
		last := HoldReason("")
		for _, s := range r.forecast(a, silences, nil) {
			step := modelStep{at: s.At, kind: s.Kind, held: s.Held}
			for _, to := range s.Recipients {
				step.to = append(step.to, to.ChannelID)
			}
			if s.Held == "" || last == "" { // the model says once that something is held
				got = append(got, step)
			}
			if last = s.Held; len(got) == 20 {
				break
			}
		}
		if len(got) == 0 {
			t.Fatalf("%+v does nothing", r)
		}
		want := modelOf(r, silences, got[len(got)-1].at)
		if !slices.EqualFunc(got, want, func(a, b modelStep) bool {
			return a.at.Equal(b.at) && a.kind == b.kind && a.held == b.held && slices.Equal(a.to, b.to)
		}) {
			t.Fatalf("%+v\nquiet %+v, silences %+v:\n%v, want\n%v", r, r.QuietHours, silences, got, want)
		}
		if slices.ContainsFunc(want, func(s modelStep) bool { return s.held != "" }) {
			silent++
		}
	}
	if silent == 0 {
		t.Error("nothing was held")
	}
}

// forecast is ForecastFrom of an alert that begins, if its monitor is not flapping.
func (r Rule) forecast(a Alert, silences []Silence, schedules []OnCall) []ForecastStep {
	return r.ForecastFrom(r.Begin(a, a.OpenedAt), a, silences, schedules, MaxForecast)
}
