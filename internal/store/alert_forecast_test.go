package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/store"
)

// forecastRounds is how many outages are forecast. Their times go over more than a year, and so over changes of the clock.
const forecastRounds = 40

// TestForecastIsWhatIsTold compares what is forecast of outages with what the store then decides for the same rules: which channels, when, and by
// which rule; with delays, escalation, repetition, quiet hours, silences, a channel that is disabled, and people on call with hand-overs and overrides.
func TestForecastIsWhatIsTold(t *testing.T) {
	inWorlds(t, func(w *world) {
		seed := rand.Uint64()
		w.Logf("seed %d", seed)
		f := newForecastWorld(w, rand.New(rand.NewPCG(seed, 0)))
		kinds := make(map[alert.NoticeKind]int)
		for round := range forecastRounds {
			f.round(round, kinds)
			if w.Failed() {
				return
			}
		}
		for _, kind := range []alert.NoticeKind{alert.NoticeOpened, alert.NoticeEscalated, alert.NoticeRepeated} {
			if kinds[kind] == 0 {
				t.Errorf("nothing was %s", kind)
			}
		}
	})
}

// forecastWorld is a world with channels for two rules, which share none, and with people on call.
type forecastWorld struct {
	*world
	random   *rand.Rand
	channels []alert.Channel // the last one is disabled
	onCall   alert.OnCall
}

func newForecastWorld(w *world, random *rand.Rand) *forecastWorld {
	w.Helper()
	f := &forecastWorld{world: w, random: random}
	for i := range 9 {
		f.channels = append(f.channels, w.channel(fmt.Sprint("channel ", i), func(c *alert.Channel) { c.Enabled = i < 8 }))
	}
	o := alert.OnCall{Name: "Ops", Slug: "ops", Zone: "America/New_York", HandOverDay: "mon", HandOverAt: 2*60 + 30, StartsOn: w.clock.now().Truncate(24 * time.Hour)}
	for i, name := range []string{"Ann", "Bob", "Cem"} {
		o.Participants = append(o.Participants, alert.Participant{Name: name, ChannelIDs: []string{f.channels[5+i].ID}})
	}
	for range 30 {
		from := w.clock.now().Add(f.duration(400 * 24 * time.Hour))
		o.Overrides = append(o.Overrides, alert.Override{ID: allswell.NewID(alert.PrefixOverride, from), Participant: "Ann", StartsAt: from, EndsAt: from.Add(f.duration(72 * time.Hour))})
	}
	f.onCall = must(w.CreateOnCall(w.ctx, w.ws, o))(w)
	return f
}

// duration returns a whole number of seconds from a minute to a limit.
func (f *forecastWorld) duration(most time.Duration) time.Duration {
	return time.Minute + time.Duration(f.random.Int64N(int64((most-time.Minute)/time.Second)+1))*time.Second
}

func (f *forecastWorld) yes() bool { return f.random.IntN(2) == 0 }

// target returns one of the rule's own channels, or whoever is on call.
func (f *forecastWorld) target(rule int) (t alert.Target) {
	if rule == 1 {
		if f.yes() {
			t.OnCallIDs = []string{f.onCall.ID}
		}
		if len(t.OnCallIDs) == 0 || f.yes() {
			t.ChannelIDs = []string{f.channels[f.random.IntN(2)].ID, f.channels[8].ID}
		}
		return t
	}
	return to(f.channels[2+f.random.IntN(3)])
}

func (f *forecastWorld) randomRule(rule int) alert.Rule {
	f.Helper()
	return f.rule(f.target(rule), func(r *alert.Rule) {
		r.Name = fmt.Sprint("rule ", rule)
		if f.yes() {
			r.Delay = f.duration(2 * time.Hour)
		}
		for range f.random.IntN(4) {
			r.Escalation = append(r.Escalation, alert.Step{After: f.duration(6 * time.Hour), Target: f.target(rule)})
		}
		if f.yes() {
			r.Repeat = f.duration(12 * time.Hour)
		}
		if f.yes() {
			q := &alert.QuietHours{Zone: []string{"Europe/Berlin", "Australia/Lord_Howe"}[f.random.IntN(2)], From: alert.ClockTime(f.random.IntN(720)), Until: alert.ClockTime(720 + f.random.IntN(720))}
			if f.yes() {
				q.From, q.Until = q.Until, q.From
			}
			if f.yes() {
				q.Target = f.target(rule)
			}
			r.QuietHours = q
		}
	})
}

// round forecasts an outage, lets it happen and last for some days, and compares.
func (f *forecastWorld) round(n int, kinds map[alert.NoticeKind]int) {
	f.Helper()
	f.clock.set(f.clock.now().Add(f.duration(14 * 24 * time.Hour)))
	rules := []alert.Rule{f.randomRule(1), f.randomRule(2)}
	var silences []alert.Silence
	for range f.random.IntN(3) {
		from := f.clock.now().Add(f.duration(12 * time.Hour))
		silences = append(silences, must(f.CreateSilence(f.ctx, f.ws, alert.Silence{StartsAt: from, EndsAt: from.Add(f.duration(24 * time.Hour))}))(f))
	}
	m := must(f.CreateMonitor(f.ctx, f.ws, allswell.NewMonitor{Name: fmt.Sprint("job ", n), Interval: allswell.MaxInterval}))(f)
	forecast := must(f.ForecastAlert(f.ctx, f.ws, store.AlertQuestion{Event: alert.MonitorDown, Monitor: m.ID}))(f)
	until := f.clock.now().Add(f.duration(6 * 24 * time.Hour))
	var want []string
	for _, r := range forecast.Rules {
		if len(r.Steps) == alert.MaxForecast {
			until = earlier(until, r.Steps[len(r.Steps)-1].At)
		}
	}
	for _, r := range forecast.Rules {
		for _, s := range r.Steps {
			if s.At.After(until) {
				break
			}
			kinds[s.Kind] += len(s.Channels)
			for _, c := range s.Channels {
				want = append(want, fmt.Sprint(r.Rule.ID, " ", s.Kind, " ", c.ChannelID, " ", s.At.UnixMilli()))
			}
		}
	}
	f.send(store.NewSignal{Kind: allswell.SignalFail, Token: m.Token})
	f.advanceUntil(until)
	got := f.rows(fmt.Sprintf(`SELECT n.rule_id || ' ' || n.kind || ' ' || n.channel_id || ' ' || n.created_at FROM alert_notices n JOIN alerts a ON a.id = n.alert_id WHERE a.monitor_id = '%s'`, m.ID))
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		f.Errorf("rules %+v\nsilences %+v\nat %s until %s: told\n%q, forecast\n%q", rules, silences, forecast.At, until, got, want)
	}
	// What was decided is told, and no rule goes on after the end.
	f.send(store.NewSignal{Kind: allswell.SignalSuccess, Token: m.Token})
	f.told(8*time.Second, taken)
	if waiting := f.rows(`SELECT id FROM alert_notices WHERE message_id IS NULL UNION ALL SELECT alert_id FROM alert_progress WHERE due_at IS NOT NULL`); len(waiting) > 0 {
		f.Errorf("not told: %q", waiting)
	}
	f.ok(f.DeleteMonitor(f.ctx, f.ws, m.ID))
	for _, r := range rules {
		f.ok(f.DeleteAlertRule(f.ctx, f.ws, r.ID, allswell.Precondition{}))
	}
	for _, s := range silences {
		if s.EndsAt.After(f.clock.now()) {
			f.ok(f.EndSilence(f.ctx, f.ws, s.ID, allswell.Precondition{}))
		}
	}
}

// advanceUntil asks the rules at each time at which one is due.
func (f *forecastWorld) advanceUntil(until time.Time) {
	f.Helper()
	for {
		more, next, err := f.AdvanceAlerts(f.ctx)
		f.ok(err)
		switch {
		case more:
		case next.IsZero() || next.After(until):
			f.clock.set(until)
			return
		default:
			f.clock.set(next)
		}
	}
}
