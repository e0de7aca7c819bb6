package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

const (
	hangingMonitors   = 300
	hangingChannels   = 100
	channelsOfRule    = 10
	neighbourChecks   = 10
	neighbourInterval = 10 * time.Second
	neighbourSpan     = 90 * time.Second
	neighbourAlerts   = 6 // the first is measured before the other workspace has any
)

// neighbour is the server that the checks of the measured workspace request, and the receiver of its alerts.
type neighbour struct {
	mu      sync.Mutex
	visited map[string]time.Time // the last request, by path
	longest time.Duration        // the longest time between two requests of a path
	alerts  chan struct{}
}

func (n *neighbour) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		n.alerts <- struct{}{}
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if last, ok := n.visited[r.URL.Path]; ok {
		n.longest = max(n.longest, now.Sub(last))
	}
	n.visited[r.URL.Path] = now
}

// neighbours measures how much a workspace is affected by another one whose targets and channels accept connections but
// never answer.
func (b *bench) neighbours() ([]result, error) {
	path := filepath.Join(b.dir, "neighbours.db")
	token, err := b.secondToken(path)
	if err != nil {
		return nil, err
	}
	p, err := b.allswell(path, "ALLSWELL_CHECK_PRIVATE=on", "ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections, and nothing answers
	if err != nil {
		return nil, err
	}
	defer silent.Close()
	n := &neighbour{visited: make(map[string]time.Time), alerts: make(chan struct{}, 100)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	go http.Serve(l, n)

	good := &process{cmd: p.cmd, base: p.base, token: token}
	began := time.Now()
	hangingJobs, bad1 := p.addMonitors("http://"+silent.Addr().String(), hangingMonitors, 3*neighbourInterval,
		hangingChannels)
	jobs, bad2 := good.addMonitors("http://"+l.Addr().String(), neighbourChecks, neighbourInterval, 1)
	if err := errors.Join(bad1, bad2); err != nil {
		return nil, err
	}
	delays, err := good.alertDelays(n, jobs, func() error { return p.signal("/fail", hangingJobs) })
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Until(began.Add(neighbourSpan)))
	n.mu.Lock()
	late := n.longest - neighbourInterval
	n.mu.Unlock()
	peak, err := p.memory("VmHWM")
	return []result{
		{fmt.Sprintf("Checks beside %d of a host that never answers, every %s: how late", hangingMonitors,
			neighbourInterval), "< 10 s",
			fmt.Sprintf("at most %.1f s", late.Seconds())},
		{fmt.Sprintf("Alerts beside %d channels that never answer: from the failure to the message", hangingChannels),
			"≤ 5 s more",
			fmt.Sprintf("%.1f s before, at most %.1f s beside them", delays[0].Seconds(),
				slices.Max(delays[1:]).Seconds())},
		{"Resident memory beside them", "", fmt.Sprintf("at most %.0f MB", peak)},
	}, err
}

// secondToken creates a second workspace in the database of the benchmark, and returns a token for it.
func (b *bench) secondToken(path string) (string, error) {
	s, err := store.Open(b.ctx, "sqlite:"+path, store.Options{})
	if err != nil {
		return "", err
	}
	defer s.Close()
	issued, err := s.IssueTokenFor(b.ctx, "neighbour", account.NewToken{Name: "bench", Scope: kernel.ScopeAdmin})
	return issued.Secret, err
}

// addMonitors creates checks, webhook channels, and heartbeat monitors whose alerts go to all of the channels. It
// returns the ping tokens of the heartbeat monitors.
func (p *process) addMonitors(url string, checks int, interval time.Duration, channels int) (jobs []string, err error) {
	if err := concurrently(32, checks, func(i int) error {
		_, err := p.addCheck(fmt.Sprint("check ", i), fmt.Sprint(url, "/", i), interval, 9*time.Second)
		return err
	}); err != nil {
		return nil, err
	}
	type object = map[string]any
	var created struct{ Data struct{ ID, Token string } }
	for i := range neighbourAlerts {
		job := object{"name": fmt.Sprint("job ", i), "interval": 86400}
		if err := p.ask(http.MethodPost, "/api/v1/monitors", job, &created); err != nil {
			return nil, err
		}
		jobs = append(jobs, created.Data.Token)
	}
	var ids []string
	for i := range channels {
		channel := object{"type": "webhook", "name": fmt.Sprint("channel ", i), "url": fmt.Sprint(url, "/", i)}
		if err := p.ask(http.MethodPost, "/api/v1/channels", channel, &created); err != nil {
			return nil, err
		}
		ids = append(ids, created.Data.ID)
	}
	for some := range slices.Chunk(ids, channelsOfRule) {
		rule := object{"name": "of " + some[0], "channel_ids": some}
		if err := p.ask(http.MethodPost, "/api/v1/alert-rules", rule, nil); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// alertDelays makes the jobs fail one after the other, and returns the delays of their alerts. It calls disturb after
// the first.
func (p *process) alertDelays(n *neighbour, jobs []string, disturb func() error) (delays []time.Duration, err error) {
	for i, job := range jobs {
		if i == 1 {
			if err := disturb(); err != nil {
				return nil, err
			}
			time.Sleep(neighbourInterval) // until the messages of the other workspace are being sent
		}
		began := time.Now()
		if err := p.signal("/fail", []string{job}); err != nil {
			return nil, err
		}
		if err := n.await(); err != nil {
			return nil, err
		}
		delays = append(delays, time.Since(began))
	}
	return delays, nil
}

// await waits for an alert.
func (n *neighbour) await() error {
	select {
	case <-n.alerts:
		return nil
	case <-time.After(alertWait):
		return errors.New("an alert did not arrive")
	}
}
