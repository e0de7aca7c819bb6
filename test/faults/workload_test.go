package faults

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

// The environment of the server: jobs that ping continuously, jobs that are sometimes silent,
// and people who write incident updates. What was sent and acknowledged is recorded outside of
// the server.
const (
	livingJobs    = 4
	flappingJobs  = 3
	writers       = 3
	livingSeconds = 2 // the interval of a living job, far above what a restart takes
)

const apiToken = "fault-test-token-0123456789abcdef"

type environment struct {
	t      *testing.T
	server *binary.Server
	api    *binary.Client
	jobs   []*job

	reporters []*reporter
	signals   atomic.Int64

	careful     []*carefulJob
	careless    []carelessJob
	carefulRuns atomic.Int64

	incidents []*incident // opened by people

	pings, pingsUnknown     atomic.Int64
	updates, updatesUnknown atomic.Int64
	kept, outages           int
}

// job is a monitor with its component, and its acknowledged pings.
type job struct {
	name, id, token, component string
	flaps                      bool

	mu      sync.Mutex
	acked   time.Time     // when the last acknowledged ping was sent
	silence time.Duration // the longest between two acknowledged pings
	sent    int           // number of pings that were sent; each has its number as its User-Agent
	recent  []string      // the numbers of the last acknowledged pings, oldest first
}

// maxRecent is how many acknowledged pings of a job are looked for in its history.
const maxRecent = 100

// minSilence is how long a living job has to be silent before it may be down: its interval and
// the two further checks of the default threshold.
const minSilence = (livingSeconds + 2) * time.Second

// acknowledge records that the ping with a number, sent at that time, was acknowledged.
func (j *job) acknowledge(number string, sent time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.recent = append(j.recent[max(0, len(j.recent)-maxRecent+1):], number)
	if !j.acked.IsZero() {
		j.silence = max(j.silence, sent.Sub(j.acked))
	}
	j.acked = sent
}

// alive reports whether the job has never been silent for so long that it may be down. On a
// machine that is too slow for this test it has been.
func (j *job) alive() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.flaps && max(j.silence, time.Since(j.acked)) < minSilence
}

// incident is an incident of a writer, with its updates.
type incident struct {
	id, title string
	entries   []*entry
}

// entry is one update that a writer sent.
type entry struct {
	message string
	key     string // the Idempotency-Key; "" for none
	id      string // from the response; "" if it is unknown whether it was saved
}

type params = map[string]any

// newEnvironment prepares a server with env and the settings of all servers.
func newEnvironment(t *testing.T, exe, database string, env ...string) *environment {
	server := binary.NewServer(t, exe, append(env,
		"ALLSWELL_DATABASE="+database, "ALLSWELL_BOOTSTRAP_TOKEN="+apiToken,
		"ALLSWELL_SECRET_KEY=key-of-tests-of-thirty-two-characters",
		"ALLSWELL_CHECK_INTERVAL=1s", "ALLSWELL_PING_RATE_LIMIT=0", "ALLSWELL_API_RATE_LIMIT=0",
		"ALLSWELL_LOG_LEVEL=warn")...)
	return &environment{t: t, server: server, api: binary.NewClient(server.URL, apiToken)}
}

// createMonitors creates the page, the components and the monitors.
func (w *environment) createMonitors() {
	w.t.Helper()
	w.api.Must(w.t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	for i := range livingJobs + flappingJobs {
		j := &job{name: fmt.Sprintf("Job %d", i), flaps: i >= livingJobs}
		var component binary.Data[struct{ ID string }]
		w.api.Must(w.t, "POST", "/api/v1/pages/acme/components", params{"name": j.name}, &component)
		j.component = component.Data.ID
		monitor := params{"name": j.name, "page": "acme", "component_id": j.component, "interval": livingSeconds}
		if j.flaps {
			monitor["interval"], monitor["failure_threshold"] = 1, 1
		}
		var made binary.Data[struct{ ID, Token string }]
		w.api.Must(w.t, "POST", "/api/v1/monitors", monitor, &made)
		j.id, j.token = made.Data.ID, made.Data.Token
		w.jobs = append(w.jobs, j)
	}
	w.createReporters()
	w.createJobsWithConditions()
}

// load is the requests of one round.
type load struct {
	w         *environment
	stop      context.CancelFunc
	running   sync.WaitGroup
	progress  atomic.Int64
	incidents []*incident
}

// beginLoad starts the jobs and the writers of a round. A flapping job pings in
// two rounds of ten, each in others.
func (w *environment) beginLoad(round int) *load {
	ctx, stop := context.WithCancel(w.t.Context())
	l := &load{w: w, stop: stop}
	for i, j := range w.jobs {
		if !j.flaps || (round+3*i)%10 < 2 {
			l.running.Go(func() { l.ping(ctx, j) })
		}
	}
	for _, r := range w.reporters {
		l.running.Go(func() { l.report(ctx, r) })
	}
	for _, j := range w.careful {
		l.running.Go(func() { l.work(ctx, j) })
	}
	for n := range writers {
		inc := &incident{title: fmt.Sprintf("Round %d, writer %d", round, n)}
		l.incidents = append(l.incidents, inc)
		l.running.Go(func() { l.write(ctx, inc, n%2 == 0) })
	}
	w.incidents = append(w.incidents, l.incidents...)
	return l
}

// end stops the load. The last requests may have no response.
func (l *load) end() {
	l.stop()
	l.running.Wait()
}

// awaitProgress returns when n requests of the load have succeeded.
func (l *load) awaitProgress(n int64) {
	l.w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(30 * time.Second)
	for ; l.progress.Load() < n; <-tick.C {
		if time.Now().After(deadline) {
			l.w.t.Fatal("requests do not succeed within 30 s")
		}
	}
}

// pause delays the repetition of a failed request.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond):
	}
}

// ping is one job. It sends one ping after the other.
func (l *load) ping(ctx context.Context, j *job) {
	for ctx.Err() == nil {
		sent, number := time.Now(), j.nextNumber()
		switch status, err := l.w.sendPing(ctx, j, number); {
		case err == nil && status == http.StatusOK:
			j.acknowledge(number, sent)
			l.w.pings.Add(1)
			l.progress.Add(1)
		case err == nil && status != http.StatusServiceUnavailable:
			l.w.t.Errorf("a ping was answered %d", status)
			return
		default:
			l.w.pingsUnknown.Add(1)
			pause(ctx)
		}
	}
}

func (w *environment) sendPing(ctx context.Context, j *job, number string) (status int, err error) {
	return w.api.Do(ctx, "POST", "/api/v1/heartbeat/"+j.token, nil, nil, "User-Agent", number)
}

// nextNumber returns the number of the next ping of a job.
func (j *job) nextNumber() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sent++
	return strconv.Itoa(j.sent)
}

// checkHistory checks that the last acknowledged pings of a job are in its history once, in their order.
func (w *environment) checkHistory(j *job) {
	w.t.Helper()
	var listed []string
	for cursor, first := "", true; first || cursor != "" && len(listed) < 3*maxRecent; first = false {
		var part struct {
			Data []struct {
				UserAgent string `json:"user_agent"`
			}
			Meta struct {
				NextCursor string `json:"next_cursor"`
			}
		}
		w.api.Must(w.t, "GET", "/api/v1/monitors/"+j.id+"/pings?kind=ping&limit=100&cursor="+cursor, nil, &part)
		for _, p := range part.Data {
			listed = append(listed, p.UserAgent)
		}
		cursor = part.Meta.NextCursor
	}
	slices.Reverse(listed)
	for i, number := range j.recent {
		at := slices.Index(listed, number)
		if at < 0 || slices.Contains(listed[at+1:], number) || i > 0 && slices.Index(listed, j.recent[i-1]) > at {
			w.t.Errorf("%s: ping %s was acknowledged, and is not in the history once and in order: %q", j.name, number,
				listed)
			return
		}
	}
}

// write is one writer. It opens an incident and adds one update after the other. With keys, it
// repeats a request until it gets a response; the update is saved once.
func (l *load) write(ctx context.Context, inc *incident, keys bool) {
	var opened binary.Data[struct{ ID string }]
	if !l.send(ctx, "/api/v1/pages/acme/incidents", params{"title": inc.title}, &opened, rand.Text()) {
		return
	}
	inc.id = opened.Data.ID
	for n := 0; ctx.Err() == nil; n++ {
		e := &entry{message: fmt.Sprintf("%s, update %d", inc.title, n)}
		if keys {
			e.key = rand.Text()
		}
		inc.entries = append(inc.entries, e)
		var answer binary.Data[struct{ ID string }]
		if l.send(ctx, "/api/v1/incidents/"+inc.id+"/updates", params{"message": e.message}, &answer, e.key) {
			e.id = answer.Data.ID
			l.w.updates.Add(1)
			l.progress.Add(1)
		} else {
			l.w.updatesUnknown.Add(1)
			if keys {
				return // it was repeated until the end
			}
		}
	}
}

// send reports whether the response was 201. A request with a key is repeated until it is, or
// until the round ends.
func (l *load) send(ctx context.Context, path string, body, into any, key string) bool {
	for ctx.Err() == nil {
		var headers []string
		if key != "" {
			headers = []string{"Idempotency-Key", key}
		}
		status, err := l.w.api.Do(ctx, "POST", path, body, into, headers...)
		if err == nil && status == http.StatusCreated {
			return true
		}
		if err == nil && status != http.StatusServiceUnavailable && status != http.StatusConflict {
			l.w.t.Errorf("POST %s was answered %d", path, status)
			return false
		}
		pause(ctx)
		if key == "" {
			return false
		}
	}
	return false
}

func (w *environment) counts() string {
	return fmt.Sprintf("%d pings acknowledged, %d without a response; %d signals acknowledged; %d runs with "+
		"conditions; %d updates acknowledged, %d without a response, of which %d were stored; %d outages",
		w.pings.Load(), w.pingsUnknown.Load(), w.signals.Load(), w.carefulRuns.Load(), w.updates.Load(),
		w.updatesUnknown.Load(), w.kept, w.outages)
}

// autoTitle is the title of the incident that a job's outage opens.
func (j *job) autoTitle() string { return j.name + " is down" }

func isAutoTitle(title string) bool { return strings.HasSuffix(title, " is down") }
