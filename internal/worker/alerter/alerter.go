// Package alerter notifies people of alerts: it has the store apply the alerting rules, and sends the resulting
// messages to channels.
package alerter

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/trigger"
	"github.com/allswell/allswell/internal/store"
)

const (
	// pollInterval is how often each replica polls the store for alerts that other replicas changed or that have become
	// due.
	pollInterval = time.Second

	// testPollInterval is how often each replica looks for weekly tests that are due.
	testPollInterval = 10 * time.Minute

	// Messages at a time: of all workspaces, of one, and of one to one host. Eleven workspaces whose channels all
	// hang leave a place for another one.
	places       = 128
	perWorkspace = 16
	perHost      = 4

	// A workspace sends nothing to a host that it cannot reach for a pause, which doubles from minPause to maxPause.
	minPause = 10 * time.Second
	maxPause = 2 * time.Minute

	// weeklyTests is the maximum number of weekly tests that are sent at a time; testWait is how long one waits for a
	// place.
	weeklyTests = 16
	testWait    = 5 * time.Minute

	// maxHosts is the number of channels whose hosts are remembered.
	maxHosts = 10_000

	// Saving the outcome of an attempt is tried for as long as no other replica can send the message.
	saveTimeout = alert.LeaseDuration

	// DrainTimeout is how long a stop waits for messages that are being sent.
	DrainTimeout = 4 * time.Second
)

// Config configures an Alerter.
type Config struct {
	Store   *store.Store
	Sender  *alertchannel.Sender
	BaseURL string       // base URL of links, without a slash at the end; "": messages have no links
	Logger  *slog.Logger // nil: no log

	// Sent is called after each attempt. lag is the time since the message was composed. nil: not called.
	Sent func(channelType string, result audience.SendResult, lag time.Duration)
}

// Alerter notifies people of the alerts of one store. Each replica may run one.
type Alerter struct {
	Config
	due   trigger.Trigger // holds a value if there may be something to do
	gate  *fair.Gate
	hosts map[string]channelHost // by channel; only the goroutine of Run uses it
}

// channelHost is the host of a channel as it was configured at an instant.
type channelHost struct {
	name string
	at   time.Time
}

// New returns an Alerter. It is idle until Run is called, and must be called before the store is used.
func New(c Config) *Alerter {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Alerter{Config: c, due: trigger.New(), gate: newGate(), hosts: make(map[string]channelHost)}
	c.Store.OnAlertsPending(a.due.Fire)
	return a
}

func newGate() *fair.Gate {
	return fair.NewGate(fair.GateConfig{
		Places: places, PerWorkspace: perWorkspace, PerHost: perHost, MinPause: minPause, MaxPause: maxPause,
	})
}

// Run works until ctx ends. Then it waits up to DrainTimeout for messages that are being sent, and until their results
// are saved or saving them has failed for saveTimeout. Any replica sends unfinished messages again when their leases
// have ended.
func (a *Alerter) Run(ctx context.Context) {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { a.testWeekly(ctx, sending) })
	if a.Sender.Mail != nil {
		running.Go(func() { a.confirmAddresses(ctx, sending) })
	}
	for ctx.Err() == nil {
		next := a.advance(ctx)
		sendNext := a.claim(ctx, sending, &running)
		a.wait(ctx, earliest(next, sendNext))
	}
	timer := time.AfterFunc(DrainTimeout, stop)
	running.Wait()
	timer.Stop()
	a.Sender.Close()
}

// wait waits until something may be due: at an instant, after pollInterval, or when the store says so.
func (a *Alerter) wait(ctx context.Context, next time.Time) {
	pause := pollInterval
	if !next.IsZero() {
		pause = max(10*time.Millisecond, min(pause, time.Until(next)))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-a.due:
	case <-timer.C:
	}
}

// earliest returns the earlier of two instants. A zero instant does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// advance applies all rules that are due, and returns when the next one is due; the zero time: not known, or never.
func (a *Alerter) advance(ctx context.Context) time.Time {
	for ctx.Err() == nil {
		more, next, err := a.Store.AdvanceAlerts(ctx)
		if err != nil {
			if ctx.Err() == nil {
				a.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "advancing alerts failed; retrying", "error",
					err)
			}
			return time.Time{}
		}
		if !more {
			return next
		}
	}
	return time.Time{}
}

// claim claims the messages for which there are places, and returns when the next one is due.
func (a *Alerter) claim(ctx, sending context.Context, running *sync.WaitGroup) time.Time {
	free := a.gate.Free()
	if free <= 0 || ctx.Err() != nil {
		return time.Time{}
	}
	claimed, next, err := a.Store.ClaimMessages(ctx, store.MessageClaim{
		Limit: free, Follows: alertchannel.Following(), Plan: a.gate.Plan(time.Now()), Host: a.hostOf,
	})
	if err != nil && ctx.Err() == nil {
		a.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "claiming alerts failed; retrying", "error", err)
	}
	for _, m := range claimed {
		to := target(m.Channel)
		release := a.gate.Enter(to)
		running.Go(func() {
			a.send(sending, m, to)
			release()
			a.due.Fire()
		})
	}
	return next
}

// hostOf returns the host of a channel, or "" if its secrets cannot be opened. It computes the host once for each
// configuration. It does not remember the host of a channel whose secrets cannot be opened, because their key may be
// put back.
func (a *Alerter) hostOf(d store.DueChannel) string {
	if known, ok := a.hosts[d.ID]; ok && known.at.Equal(d.UpdatedAt) {
		return known.name
	}
	c, err := d.Channel()
	if err != nil {
		return "" // claiming it fails too, and says why
	}
	name := alertchannel.Host(c)
	if c.Health.SecretsUnreadable {
		return name
	}
	if len(a.hosts) >= maxHosts {
		clear(a.hosts)
	}
	a.hosts[d.ID] = channelHost{name, d.UpdatedAt}
	return name
}

// target returns where the messages of a channel go.
func target(c alert.Channel) fair.Target {
	return fair.Target{Workspace: c.WorkspaceID, Host: alertchannel.Host(c)}
}

// send sends a message and saves the outcome.
func (a *Alerter) send(ctx context.Context, m store.ClaimedMessage, to fair.Target) {
	result := a.attempt(ctx, m)
	a.note(to, result)
	r := store.MessageResult{
		ClaimedMessage: m, Outcome: result.SendOutcome, Reference: result.Reference,
		TemplateError: result.TemplateError, Jitter: rand.Float64(),
	}
	a.save(context.WithoutCancel(ctx), r)
	if result.Result != audience.SendAccepted && result.Result != audience.SendNotAttempted {
		a.Logger.Warn("a channel did not accept an alert", "channel", m.Channel.ID, "name", m.Channel.Name,
			"type", m.Channel.Type, "reason", result.Reason, "error", result.Detail)
	}
	if a.Sent != nil {
		a.Sent(m.Channel.Type, result.Result, time.Since(m.Since))
	}
}

// save saves the outcome of an attempt. If the database refuses it, it is saved without the texts that the service
// wrote: otherwise the message would be sent again and again.
func (a *Alerter) save(ctx context.Context, r store.MessageResult) {
	deadline, try := time.Now().Add(saveTimeout), func() error { return a.Store.SaveMessageResult(ctx, r) }
	err := store.RetryUntil(deadline, try)
	if err != nil && store.IsPermanent(err) {
		a.Logger.Error("the database refused the outcome of an alert, which is saved without its texts",
			"channel", r.Channel.ID, "error", err)
		r.Outcome, r.Reference, r.TemplateError = r.Outcome.WithoutTexts(), "", ""
		err = store.RetryUntil(deadline, try)
	}
	if err != nil {
		a.Logger.Error("saving the outcome of an alert failed; it will be sent again", "channel", r.Channel.ID,
			"error", err)
	}
}

// attempt makes one attempt to send a message.
func (a *Alerter) attempt(ctx context.Context, m store.ClaimedMessage) (result alertchannel.Result) {
	defer func() {
		if p := recover(); p != nil {
			a.Logger.Error("panic while sending an alert", "channel", m.Channel.ID, "panic", p)
			result = alertchannel.Result{
				SendOutcome: audience.SendOutcome{
					Result: audience.SendUndeliverable, Reason: "An internal error prevented it.",
				},
			}
		}
	}()
	if m.Channel.Health.SecretsUnreadable {
		return alertchannel.Result{
			SendOutcome: audience.SendOutcome{
				Result: audience.SendFailed,
				Reason: "The secrets of the channel cannot be decrypted: enter them again.",
			},
		}
	}
	return a.Sender.Send(ctx, m.Channel, WithLinks(m.Message, a.BaseURL))
}

// note tells the gate whether an attempt reached its host.
func (a *Alerter) note(to fair.Target, r alertchannel.Result) {
	if r.Result != audience.SendNotAttempted {
		a.gate.Note(to, r.Unreachable, time.Now())
	}
}

// testWeekly sends the weekly tests of channels that ask for them, until ctx ends.
func (a *Alerter) testWeekly(ctx, sending context.Context) {
	b := batches[alert.Channel]{
		size: weeklyTests, interval: testPollInterval, take: a.Store.TakeChannelTests,
		what: "looking for weekly tests of channels",
		send: func(c alert.Channel) { a.test(sending, c) },
	}
	b.run(ctx, a.Logger)
}

// test sends the weekly test of a channel. All weekly tests together take at most weeklyTests/2 places from alerts.
func (a *Alerter) test(ctx context.Context, c alert.Channel) {
	to := target(c)
	wait, cancel := context.WithTimeout(ctx, testWait)
	defer cancel()
	release, err := a.gate.Wait(wait, to, fair.Key{Kind: "weekly tests", Max: weeklyTests / 2})
	if err != nil {
		a.Logger.Warn("a weekly test was not sent, because no place was free for it", "channel", c.ID, "error", err)
		return
	}
	defer release()
	m := store.ClaimedMessage{Message: alertchannel.TestMessage(c, "", time.Now()), Channel: c}
	result := a.attempt(ctx, m)
	a.note(to, result)
	if err := a.Store.RecordWeeklyTest(ctx, c.ID, result.SendOutcome); err != nil {
		a.Logger.Warn("saving the outcome of a weekly test failed", "channel", c.ID, "error", err)
	}
}

// WithLinks returns a message with links below the base URL of this service; "": it has none.
func WithLinks(m alert.Message, base string) alert.Message {
	if base == "" {
		return m
	}
	m.Links.Alerts = base + alert.Path
	if m.Thread != nil {
		m.Links.Acknowledge = base + alert.LinkPath + "?key=" + m.Thread.Key
	}
	return m
}
