package failover

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/allswell/allswell/test/binary"
)

const (
	// probeEvery is how often a ping is sent, whether others wait or not.
	probeEvery = 100 * time.Millisecond
	// probeMonitors is the number of monitors that are pinged in turn. A monitor keeps only its
	// last ping: with this number, pings that a fault lost can be found after it.
	probeMonitors = 800
	// pingTimeout is the -m of the curl line that Allswell prints.
	pingTimeout = 10 * time.Second
)

// retryPauses are the pauses of curl --retry 5.
var retryPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}

// pinger sends pings, one connection each, as curl does.
type pinger struct {
	url  string
	http http.Client
}

func newPinger(url string) *pinger {
	return &pinger{
		url: url, http: http.Client{Timeout: pingTimeout, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// send returns the status of one ping, and an error if there was no answer.
func (p *pinger) send(ctx context.Context, token string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", p.url+"/api/v1/heartbeat/"+token, nil)
	if err != nil {
		return 0, err
	}
	res, err := p.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0, err
	}
	return res.StatusCode, nil
}

// probes are the pings by which gaps are measured and losses found.
type probes struct {
	*pinger

	mu       sync.Mutex
	monitors []probed
	acked    []time.Time    // the instants of all acknowledgements, in order
	pages    []time.Time    // the instants at which the public page was served, in order
	refused  map[string]int // responses that were no acknowledgement
	wrong    []string       // unexpected responses
}

// probed is a monitor of the probes.
type probed struct {
	id, token string
	sent      time.Time // when the last acknowledged ping was sent
}

// run sends pings until ctx ends.
func (p *probes) run(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			running.Go(func() { p.probe(ctx, n%len(p.monitors)) })
		}
	}
}

func (p *probes) probe(ctx context.Context, n int) {
	sent := time.Now()
	status, err := p.send(ctx, p.monitors[n].token)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.refused["no answer"]++
	case status == http.StatusOK:
		p.acked = append(p.acked, time.Now())
		if sent.After(p.monitors[n].sent) {
			p.monitors[n].sent = sent
		}
	case status >= 500:
		p.refused[fmt.Sprint(status)]++
		if status == http.StatusInternalServerError {
			p.wrong = append(p.wrong, fmt.Sprintf("a ping at %v was answered 500", sent))
		}
	default:
		p.wrong = append(p.wrong, fmt.Sprintf("a ping at %v was answered %d", sent, status))
	}
}

// gap returns the longest time without an acknowledged ping between two instants.
func (p *probes) gap(from, to time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return longestGap(p.acked, from, to)
}

// pageGap returns the longest time without a served page between two instants.
func (p *probes) pageGap(from, to time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return longestGap(p.pages, from, to)
}

// longestGap returns the longest time between instants that are in order, from
// and to among them.
func longestGap(instants []time.Time, from, to time.Time) time.Duration {
	last, longest := from, time.Duration(0)
	for _, at := range instants {
		if at.After(from) && at.Before(to) {
			longest, last = max(longest, at.Sub(last)), at
		}
	}
	return max(longest, to.Sub(last))
}

// visit requests the public page all the time, until ctx ends.
func (p *probes) visit(ctx context.Context) {
	tick := time.NewTicker(2 * probeEvery)
	defer tick.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			running.Go(func() {
				if res, err := p.http.Get(p.url + "/status/acme"); err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					res.Body.Close()
					p.mu.Lock()
					defer p.mu.Unlock()
					if err == nil && res.StatusCode == http.StatusOK {
						p.pages = append(p.pages, time.Now())
					}
				}
			})
		}
	}
}

// lost returns the monitors whose last known ping is older than their last
// acknowledged one. lastPings is by id.
func (p *probes) lost(sent map[string]time.Time, lastPings map[string]time.Time) (lost []string) {
	for id, at := range sent {
		if lastPings[id].Before(at.Truncate(time.Millisecond)) {
			lost = append(lost, fmt.Sprintf("%s: acknowledged %v, known %v", id, at.UTC(), lastPings[id].UTC()))
		}
	}
	slices.Sort(lost)
	return lost
}

// sent returns by monitor when its last acknowledged ping was sent.
func (p *probes) sent() map[string]time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := map[string]time.Time{}
	for _, m := range p.monitors {
		if !m.sent.IsZero() {
			sent[m.id] = m.sent
		}
	}
	return sent
}

// A job pings at least once per interval, and repeats a failed ping for half a minute.
type job struct {
	name, id, token string
	every           time.Duration

	mu     sync.Mutex
	sent   time.Time // when the last acknowledged ping was sent
	gaveUp int       // pings that failed with all their retries
}

// run pings until ctx ends.
func (j *job) run(ctx context.Context, p *pinger) {
	tick := time.NewTicker(j.every)
	defer tick.Stop()
	for {
		j.ping(ctx, p)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (j *job) ping(ctx context.Context, p *pinger) {
	for try := 0; ; try++ {
		sent := time.Now()
		status, err := p.send(ctx, j.token)
		if err == nil && status == http.StatusOK {
			j.mu.Lock()
			j.sent = sent
			j.mu.Unlock()
			return
		}
		if try == len(retryPauses) {
			j.mu.Lock()
			j.gaveUp++
			j.mu.Unlock()
			return
		}
		if !pause(ctx, retryPauses[try]) {
			return
		}
	}
}

// pause waits and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// makeMonitors makes a monitor for each name, a few at a time.
func (w *environment) makeMonitors(names []string, body func(name string) params) []probed {
	w.t.Helper()
	made := make([]probed, len(names))
	var running sync.WaitGroup
	next := make(chan int)
	for range 8 {
		running.Go(func() {
			for i := range next {
				var m binary.Data[struct{ ID, Token string }]
				status, err := w.api.Do(w.t.Context(), "POST", "/api/v1/monitors", body(names[i]), &m)
				if err != nil || status != http.StatusCreated {
					w.t.Errorf("creating a monitor: %d, %v", status, err)
				}
				made[i] = probed{id: m.Data.ID, token: m.Data.Token}
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	running.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
	return made
}
