package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// forecastRounds is how many outages are forecast. Their times go over more than a year, and so over changes of the
// clock.
const forecastRounds = 40

// TestForecastIsWhatHappens compares what is forecast of outages with what the store then decides for the same rules:
// which channels, when, and by which rule; with delays, escalation, repetition, quiet hours, silences, a channel that
// is disabled, and people on call with hand-overs and overrides.
func TestForecastIsWhatHappens(t *testing.T) {
	inWorlds(t, func(w *world) {
		seed := rand.Uint64()
		w.Logf("seed %d", seed)
		f := newForecastWorld(w, rand.New(rand.NewPCG(seed, 0)))
		kinds := make(map[alert.NoticeKind]int)
		for round := range w.rounds(forecastRounds) {
			f.round(round, kinds)
			if w.Failed() {
				return
			}
		}
		for _, kind := range []alert.NoticeKind{
			alert.NoticeOpened, alert.NoticeEscalated, alert.NoticeRepeated, alert.NoticeAcknowledged,
			alert.NoticeResolved,
		} {
			if kinds[kind] == 0 && isSQLite(w.Store) {
				t.Errorf("nothing was %s", kind)
			}
		}
	})
}

// forecastWorld is a world with channels for two rules, which share one, and with people on call.
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
		f.channels = append(f.channels, w.channel(fmt.Sprint("channel ", i), func(c *alert.Channel) {
			c.Enabled = i < 8
		}))
	}
	o := alert.OnCall{
		Name: "Ops", Slug: "ops", Zone: "America/New_York", HandOverDay: "mon", HandOverAt: 2*60 + 30,
		StartsOn: w.clock.now().Truncate(24 * time.Hour),
	}
	for i, name := range []string{"Ann", "Bob", "Cem"} {
		o.Participants = append(o.Participants, alert.Participant{Name: name, ChannelIDs: []string{f.channels[5+i].ID}})
	}
	for range 30 {
		from := w.clock.now().Add(f.duration(400 * 24 * time.Hour))
		o.Overrides = append(o.Overrides, alert.Override{
			ID: kernel.NewID(alert.PrefixOverride, from), Participant: "Ann", StartsAt: from,
			EndsAt: from.Add(f.duration(72 * time.Hour)),
		})
	}
	f.onCall = must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(o)))(w)
	return f
}

// duration returns a whole number of seconds from a minute to a limit.
func (f *forecastWorld) duration(most time.Duration) time.Duration {
	return time.Minute + time.Duration(f.random.Int64N(int64((most-time.Minute)/time.Second)+1))*time.Second
}

func (f *forecastWorld) yes() bool { return f.random.IntN(2) == 0 }

// target returns one of the rule's channels, or the person on call.
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
	return to(f.channels[1+f.random.IntN(4)])
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
			q := &alert.QuietHours{
				Zone: []string{"Europe/Berlin", "Australia/Lord_Howe"}[f.random.IntN(2)],
				From: alert.ClockTime(f.random.IntN(720)), Until: alert.ClockTime(720 + f.random.IntN(720)),
			}
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

// round forecasts an outage, lets it happen and last for some days, lets somebody acknowledge it or not, ends it, and
// compares what was sent. The monitor may flap before it: then what is compared is the plan of the alert, because the
// forecast would have to be made at the instant of the outage.
func (f *forecastWorld) round(n int, kinds map[alert.NoticeKind]int) {
	f.Helper()
	f.clock.set(f.clock.now().Add(f.duration(14 * 24 * time.Hour)))
	rules := []alert.Rule{f.randomRule(1), f.randomRule(2)}
	silences := f.randomSilences()
	m := must(f.CreateMonitor(f.ctx, f.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: fmt.Sprint("job ", n), Interval: monitor.MaxInterval,
	})))(f)
	e := &expectation{kinds: kinds, notified: make(map[string]bool)}
	plans := f.begin(m)
	about, until := f.alertOf(m), f.clock.now().Add(f.duration(6*24*time.Hour))
	if f.yes() {
		// before or after delays, and while the monitor is flapping
		until = f.clock.now().Add(f.duration([]time.Duration{10 * time.Minute, 6 * time.Hour}[f.random.IntN(2)]))
	}
	for _, p := range plans {
		if len(p.Steps) >= p.limit {
			until = earlier(until, p.Steps[len(p.Steps)-1].At)
		}
	}
	for _, p := range plans {
		for _, s := range p.Steps {
			if !s.At.After(until) {
				e.add(p.rule, s.Kind, s.At, s.Channels)
			}
		}
	}
	f.advanceUntil(until)
	acknowledged := f.random.IntN(3) == 0
	if acknowledged {
		must(f.AcknowledgeAlert(f.ctx, f.ws, about))(f)
		e.toRecipients(alert.NoticeAcknowledged, until)
		f.advanceUntil(until.Add(48 * time.Hour))
	}
	e.toRecipients(alert.NoticeResolved, f.clock.now())
	f.send(store.NewSignal{Kind: monitor.SignalSuccess, Token: m.Token})
	f.advanceAlerts()
	f.expectLateEnds(e, about)
	f.advanceUntil(f.clock.now().Add(14 * 24 * time.Hour))
	got := f.rows(fmt.Sprintf(`SELECT CASE WHEN kind IN ('acknowledged', 'resolved') THEN '' ELSE rule_id
		END || ' ' || kind || ' ' || channel_id || ' ' || created_at FROM alert_notices WHERE alert_id = '%s'`, about))
	slices.Sort(got)
	if slices.Sort(e.want); !slices.Equal(got, e.want) {
		f.Errorf("rules %+v\nsilences %+v\nuntil %s, acknowledged: %v: notified\n%q, forecast\n%q", rules, silences,
			until, acknowledged, got, e.want)
	}
	// What was decided is sent, and no rule goes on after the end.
	f.notified(8*time.Second, taken)
	waiting := f.rows(`SELECT id FROM alert_notices WHERE message_id IS NULL
		UNION ALL SELECT alert_id FROM alert_progress WHERE due_at IS NOT NULL`)
	if len(waiting) > 0 {
		f.Errorf("not notified: %q", waiting)
	}
	f.remove(m, rules, silences)
}

// remove deletes what a round has created.
func (f *forecastWorld) remove(m monitor.Monitor, rules []alert.Rule, silences []alert.Silence) {
	f.Helper()
	f.ok(f.DeleteMonitor(f.ctx, f.ws, m.ID))
	for _, r := range rules {
		f.ok(f.AlertRules().Delete(f.ctx, f.ws, "", r.ID, kernel.Precondition{}))
	}
	for _, s := range silences {
		if s.EndsAt.After(f.clock.now()) {
			f.ok(f.Silences().Delete(f.ctx, f.ws, "", s.ID, kernel.Precondition{}))
		}
	}
}

// expectLateEnds adds the notices of rules that wait for the end of a silence or delay before they tell of the end.
func (f *forecastWorld) expectLateEnds(e *expectation, alertID string) {
	f.Helper()
	for _, p := range f.waitingForEnd(alertID) {
		i := slices.IndexFunc(p.Steps, func(s store.ForecastStep) bool { return s.Kind != "" })
		if i < 0 {
			f.Fatalf("the rule %s waits for more than %d times", p.rule, p.limit)
		}
		e.add(p.rule, p.Steps[i].Kind, p.Steps[i].At, p.Steps[i].Channels)
		e.add("", alert.NoticeResolved, p.Steps[i].At, p.Steps[i].Channels)
	}
}

func (f *forecastWorld) randomSilences() (all []alert.Silence) {
	f.Helper()
	for range f.random.IntN(3) {
		from := f.clock.now().Add(f.duration(12 * time.Hour))
		all = append(all,
			must(f.Silences().Create(f.ctx, f.ws, "", resource.Silence.From(alert.Silence{
				StartsAt: from, EndsAt: from.Add(f.duration(24 * time.Hour)),
			})))(f))
	}
	return all
}

// plannedRule is what a rule is to do. If there are limit steps, more may follow.
type plannedRule struct {
	rule  string
	limit int
	Steps []store.ForecastStep
}

// begin lets a monitor go down, and returns what was foreseen for the alert. One of three monitors flaps before it.
func (f *forecastWorld) begin(m monitor.Monitor) (plans []plannedRule) {
	f.Helper()
	fail := func() {
		f.send(store.NewSignal{Kind: monitor.SignalFail, Token: m.Token})
	}
	if f.random.IntN(3) > 0 {
		for _, r := range must(
			f.ForecastAlert(f.ctx, f.ws, store.AlertQuestion{Event: alert.MonitorDown, Monitor: m.ID}),
		)(f).Rules {
			plans = append(plans, plannedRule{r.Rule.ID, alert.MaxForecast, r.Steps})
		}
		fail()
		f.advanceAlerts()
		return plans
	}
	for range 5 + f.random.IntN(4) {
		fail()
		f.advanceAlerts()
		f.clock.move(f.duration(2 * time.Minute))
		f.send(store.NewSignal{Kind: monitor.SignalSuccess, Token: m.Token})
		f.advanceAlerts()
	}
	fail()
	f.advanceAlerts()
	return f.plansOf(f.alertOf(m))
}

// alertOf returns the id of the last alert of a monitor.
func (f *forecastWorld) alertOf(m monitor.Monitor) string {
	f.Helper()
	return f.rows(fmt.Sprintf(`SELECT id FROM alerts WHERE monitor_id = '%s' ORDER BY opened_at DESC, id DESC LIMIT 1`,
		m.ID))[0]
}

func (f *forecastWorld) plansOf(id string) (plans []plannedRule) {
	f.Helper()
	for _, p := range must(f.Alert(f.ctx, f.ws, id))(f).Plans {
		plans = append(plans, plannedRule{p.RuleID, store.MaxPlanSteps, p.Steps})
	}
	return plans
}

// waitingForEnd returns the plans of rules that notify of an alert although it has ended.
func (f *forecastWorld) waitingForEnd(id string) []plannedRule {
	f.Helper()
	waiting := f.rows(fmt.Sprintf(`SELECT rule_id FROM alert_progress WHERE alert_id = '%s' AND flapping
		AND due_at IS NOT NULL`, id))
	return slices.DeleteFunc(f.plansOf(id), func(p plannedRule) bool { return !slices.Contains(waiting, p.rule) })
}

// expectation is what is to be sent about an alert.
type expectation struct {
	kinds    map[alert.NoticeKind]int // counts all that was sent, so that no kind is missing in the test
	notified map[string]bool          // the channels that were notified of the alert
	want     []string
}

func (e *expectation) add(rule string, kind alert.NoticeKind, at time.Time, channels []store.ForecastChannel) {
	for _, c := range channels {
		e.kinds[kind]++
		e.notified[c.ChannelID] = true
		e.want = append(e.want, fmt.Sprint(rule, " ", kind, " ", c.ChannelID, " ", at.UnixMilli()))
	}
}

// toRecipients adds a notice for each channel that was notified of the alert.
func (e *expectation) toRecipients(kind alert.NoticeKind, at time.Time) {
	for id := range e.notified {
		e.kinds[kind]++
		e.want = append(e.want, fmt.Sprint(" ", kind, " ", id, " ", at.UnixMilli()))
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

// TestForecastNamesFallbacks checks that a forecast says who is notified of what a channel does not accept: the
// fallbacks up to the first that is disabled, whose own fallback is not notified either.
func TestForecastNamesFallbacks(t *testing.T) {
	inWorlds(t, func(w *world) {
		last := w.channel("last", func(*alert.Channel) {})
		disabled := w.channel("disabled", func(c *alert.Channel) { c.Enabled, c.FallbackID = false, last.ID })
		chat := w.channel("chat", func(c *alert.Channel) { c.FallbackID = disabled.ID })
		mail := w.channel("mail", func(c *alert.Channel) { c.FallbackID = chat.ID })
		phone := w.channel("phone", func(c *alert.Channel) { c.FallbackID = mail.ID })
		w.rule(to(phone, disabled, last), func(*alert.Rule) {})
		var got []string
		step := must(w.ForecastAlert(w.ctx, w.ws, store.AlertQuestion{Event: alert.MonitorDown}))(w).Rules[0].Steps[0]
		if want := []store.ChannelName{{ID: disabled.ID, Name: "disabled"}}; !slices.Equal(step.Disabled, want) {
			w.Errorf("disabled: %v, want %v", step.Disabled, want)
		}
		for _, ch := range step.Channels {
			got = append(got, fmt.Sprint(ch.Name, " ", ch.Fallbacks))
		}
		slices.Sort(got)
		want := []string{
			"last []", fmt.Sprintf("phone [{%s mail} {%s chat}]", mail.ID, chat.ID),
		}
		if !slices.Equal(got, want) {
			w.Errorf("fallbacks: %q, want %q", got, want)
		}
	})
}

// TestForecastsAreLimited checks that few forecasts are made at a time, and that many rules have fewer steps.
func TestForecastsAreLimited(t *testing.T) {
	inWorlds(t, func(w *world) {
		channel := w.channel("ops", func(*alert.Channel) {})
		for i := range 60 {
			_, err := w.AlertRules().Create(t.Context(), w.ws, "", resource.AlertRule.From(alert.Rule{
				Name: fmt.Sprint("rule ", i), Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents},
				Target: alert.Target{ChannelIDs: []string{channel.ID}}, Repeat: time.Minute,
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		question := store.AlertQuestion{Event: alert.MonitorDown}
		f, err := w.ForecastAlert(t.Context(), w.ws, question)
		if err != nil || len(f.Rules) != 60 || len(f.Rules[0].Steps) != 2000/60 || len(f.Rules[59].Steps) != 2000/60 {
			t.Errorf("%d rules with %d steps, %v", len(f.Rules), len(f.Rules[0].Steps), err)
		}
		_, free := store.OccupyForecasts(w.Store, "wsp_of_others")
		if _, err := w.ForecastAlert(t.Context(), w.ws, question); err != nil {
			t.Errorf("while another workspace makes all it may: %v", err)
		}
		n, freeOwn := store.OccupyForecasts(w.Store, w.ws.WorkspaceID)
		if n != 1 {
			t.Errorf("%d forecasts of a workspace at a time", n)
		}
		if _, err := w.ForecastAlert(t.Context(), w.ws, question); !errors.Is(err, kernel.ErrBusy) {
			t.Errorf("another forecast: %v", err)
		}
		free()
		freeOwn()
		if _, err := w.ForecastAlert(t.Context(), w.ws, question); err != nil {
			t.Error(err)
		}
	})
}

// TestForecastOfAnyOutage checks that an outage without a monitor is taken for a critical one, so that rules about
// severities are not said to notify nobody.
func TestForecastOfAnyOutage(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone := w.channel("phone", func(*alert.Channel) {})
		w.rule(to(phone), func(r *alert.Rule) { r.Filter.Severities = []kernel.Impact{kernel.ImpactCritical} })
		for _, q := range []store.AlertQuestion{
			{Event: alert.MonitorDown}, {Event: alert.MonitorDown, Severity: kernel.ImpactMinor},
			{Event: alert.MonitorUp},
		} {
			steps := must(w.ForecastAlert(w.ctx, w.ws, q))(w).Rules[0].Steps
			if critical := q.Event == alert.MonitorDown && q.Severity == ""; (len(steps) > 0) != critical {
				w.Errorf("%+v: %d steps", q, len(steps))
			}
		}
	})
}
