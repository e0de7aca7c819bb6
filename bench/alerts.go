package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

const (
	alertCount   = 100_000
	alertQuarter = alertCount / 4
	stormCount   = 1000
	alertWait    = 5 * time.Minute
)

// alertSink is a webhook that counts the notifications of channels.
type alertSink struct {
	base string // URL, to which the name of a channel is added

	mu       sync.Mutex
	messages int
	notified map[string]int // alerts by channel and kind, such as "/a opened"
	last     map[string]alertMessage
	lags     []float64 // seconds from the beginning of an alert until /a was notified
}

// alertMessage is the part of a message that is counted.
type alertMessage struct {
	Total  int
	Alerts []struct {
		Kinds    []string
		OpenedAt time.Time `json:"opened_at"`
	}
	at time.Time
}

// newAlertSink serves until the program ends.
func newAlertSink() (*alertSink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &alertSink{
		base: "http://" + l.Addr().String(), notified: make(map[string]int), last: make(map[string]alertMessage),
	}
	go http.Serve(l, s)
	return s, nil
}

func (s *alertSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := alertMessage{at: time.Now()}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || len(m.Alerts) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	kind := m.Alerts[0].Kinds[0]
	s.notified[r.URL.Path+" "+kind] += m.Total
	s.last[r.URL.Path+" "+kind] = m
	if r.URL.Path == "/a" && kind == string(alert.NoticeOpened) {
		for _, a := range m.Alerts {
			s.lags = append(s.lags, m.at.Sub(a.OpenedAt).Seconds())
		}
	}
}

// await waits until each of the counters in what, such as "/a opened", has reached count.
func (s *alertSink) await(count int, what ...string) error {
	for deadline := time.Now().Add(alertWait); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		least := count
		for _, w := range what {
			least = min(least, s.notified[w])
		}
		s.mu.Unlock()
		if least >= count {
			return nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Errorf("%d alerts were not notified within %s: %v", count, alertWait, s.notified)
}

// addAlertRules creates two rules: one notifies two channels immediately, and the other notifies a third channel after
// a delay, and then escalates to the second channel.
func addAlertRules(ctx context.Context, path, sink string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=10000")
	if err != nil {
		return err
	}
	defer db.Close()
	var ws string
	if err := db.QueryRowContext(ctx, `SELECT id FROM workspaces WHERE name = 'bench'`).Scan(&ws); err != nil {
		return err
	}
	// alerts are measured, not incidents
	if _, err := db.ExecContext(ctx, `UPDATE pages SET auto_incidents = 'off'`); err != nil {
		return err
	}
	s, err := store.Open(ctx, "sqlite:"+path, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	actor := kernel.Actor{WorkspaceID: ws, Name: "bench"}
	var ids []string
	for _, name := range []string{"a", "b", "c"} {
		c, err := s.AlertChannels().Create(ctx, actor, "", resource.Channel.From(alert.Channel{
			Type: "webhook", Name: name, Enabled: true, Config: json.RawMessage(`{"url":"` + sink + "/" + name + `"}`),
			MaxPerMinute: alert.HighestMaxPerMinute,
		}))
		if err != nil {
			return err
		}
		ids = append(ids, c.ID)
	}
	filter := alert.Filter{Events: alert.DefaultEvents}
	_, err = s.AlertRules().Create(ctx, actor, "", resource.AlertRule.From(alert.Rule{
		Name: "at once", Enabled: true, Filter: filter, Target: alert.Target{ChannelIDs: ids[:2]},
	}))
	_, bad := s.AlertRules().Create(ctx, actor, "", resource.AlertRule.From(alert.Rule{
		Name: "later", Enabled: true, Filter: filter, Target: alert.Target{ChannelIDs: ids[2:]},
		Delay:      10 * time.Second,
		Escalation: []alert.Step{{After: time.Minute, Target: alert.Target{ChannelIDs: ids[1:2]}}},
	}))
	return errors.Join(err, bad)
}

// alerts measures a storm of alerts, and 100,000 alerts with three channels. One channel is notified twice.
func (b *bench) alerts() ([]result, error) {
	path, tokens, err := b.filled(storetest.Fill{
		Count: rounds*stormCount + alertCount, Interval: 24 * time.Hour, Now: time.Now(),
	})
	if err != nil {
		return nil, err
	}
	sink, err := newAlertSink()
	if err != nil {
		return nil, err
	}
	if err := addAlertRules(b.ctx, path, sink.base); err != nil {
		return nil, err
	}
	p, err := b.allswell(path, "ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	out, err := p.storms(sink, tokens[:rounds*stormCount])
	if err != nil {
		return nil, err
	}
	more, err := p.manyAlerts(sink, tokens[rounds*stormCount:])
	return append(out, more...), err
}

// signal sends a signal of each monitor; "": a ping.
func (p *process) signal(kind string, tokens []string) error {
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	defer client.CloseIdleConnections()
	return concurrently(256, len(tokens), func(i int) error {
		res, err := client.Post(p.base+"/api/v1/heartbeat/"+tokens[i]+kind, "", nil)
		if err != nil {
			return err
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New("a signal: " + res.Status)
		}
		return nil
	})
}

// storms measures the time from the first of many failures until one message reports all of them, and from the first of
// their pings until one message reports all recoveries.
func (p *process) storms(sink *alertSink, tokens []string) ([]result, error) {
	var down, up []float64
	for round := range rounds {
		for _, of := range []struct {
			signal, reported string
			times            *[]float64
		}{{"/fail", "/a opened", &down}, {"", "/a resolved", &up}} {
			began := time.Now()
			if err := p.signal(of.signal, tokens[round*stormCount:][:stormCount]); err != nil {
				return nil, err
			}
			if err := sink.await((round+1)*stormCount, of.reported); err != nil {
				return nil, err
			}
			sink.mu.Lock()
			m := sink.last[of.reported]
			sink.mu.Unlock()
			if m.Total != stormCount || len(m.Alerts) != alert.MaxLines {
				return nil, fmt.Errorf("the last message has %d alerts, and lists %d", m.Total, len(m.Alerts))
			}
			*of.times = append(*of.times, m.at.Sub(began).Seconds())
		}
	}
	return []result{
		{"1,000 monitors down at once until one message reports all; up again", "≤ 10 s",
			fmt.Sprintf("%.1f s; %.1f s", median(down), median(up))},
	}, nil
}

// manyAlerts measures how long alerts take, and memory before, after each quarter of them, after all have escalated,
// and after all are over.
func (p *process) manyAlerts(sink *alertSink, tokens []string) ([]result, error) {
	sink.mu.Lock()
	sink.lags, sink.messages = nil, 0
	before := make(map[string]int)
	for what, n := range sink.notified {
		before[what] = n
	}
	sink.mu.Unlock()
	var resident, private, seconds []string
	measure := func() error {
		rss, err := p.resident()
		anonymous, bad := p.private()
		resident, private = append(resident, fmt.Sprintf("%.1f", rss)), append(private, fmt.Sprintf("%.1f", anonymous))
		return errors.Join(err, bad)
	}
	if err := measure(); err != nil {
		return nil, err
	}
	began := time.Now()
	for quarter := range 4 {
		start := time.Now()
		if err := p.signal("/fail", tokens[quarter*alertQuarter:][:alertQuarter]); err != nil {
			return nil, err
		}
		if err := sink.await((quarter+1)*alertQuarter+before["/a opened"], "/a opened", "/b opened"); err != nil {
			return nil, err
		}
		seconds = append(seconds, fmt.Sprintf("%.1f", time.Since(start).Seconds()))
		if err := measure(); err != nil {
			return nil, err
		}
	}
	took := time.Since(began)
	// The alerts of the storms may have ended before the delay of their rule.
	if err := sink.await(alertCount, "/c opened", "/b escalated"); err != nil {
		return nil, err
	}
	if err := measure(); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := p.signal("", tokens); err != nil {
		return nil, err
	}
	if err := sink.await(alertCount+before["/a resolved"], "/a resolved", "/b resolved"); err != nil {
		return nil, err
	}
	ended := time.Since(start)
	if err := measure(); err != nil {
		return nil, err
	}
	sink.mu.Lock()
	defer sink.mu.Unlock()
	slices.Sort(sink.lags)
	return []result{
		{"100,000 alerts, two channels notified at once: each quarter", "",
			strings.Join(seconds, " s, ") +
				fmt.Sprintf(" s (%.0f alerts a second, with the failures that begin them)", alertCount/took.Seconds())},
		{"From the failure until the message", "",
			fmt.Sprintf("%.1f s (median), %.1f s (99 %%), %.1f s at most", median(sink.lags),
				sink.lags[len(sink.lags)*99/100], sink.lags[len(sink.lags)-1])},
		{"All of them are over: until all channels are notified", "",
			fmt.Sprintf("%.1f s; %d messages altogether", ended.Seconds(), sink.messages)},
		{"Resident memory before, after each quarter, after the escalation and at the end", "flat",
			strings.Join(resident, ", ") + " MB"},
		{"The private part of it", "flat", strings.Join(private, ", ") + " MB"},
	}, nil
}
