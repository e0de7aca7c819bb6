package failover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

const (
	// healTimeout bounds how long the cluster may take to become healthy after a fault has been
	// removed.
	healTimeout = 3 * time.Minute
	// calm is how long pings are acknowledged before the next fault.
	calm = 3 * time.Second
	// judgedFrom is the minimum number of faults for which gaps are checked. In a short round on
	// a busy machine they are only printed.
	judgedFrom = 25
	// detection bounds how long a dead job may stay unnoticed: interval, one
	// check, and the fresh interval that gaps may grant, with room.
	detection = 6 * time.Minute
	// linesPerFault is how many lines a replica may log for a fault.
	linesPerFault = 10
	// settling bounds how long webhooks may take after the last fault.
	settling = 2 * time.Minute
)

type params = map[string]any

// environment is the cluster with its clients.
type environment struct {
	t        *testing.T
	cluster  *cluster
	api      *binary.Client
	receiver *receiver
	probes   *probes
	jobs     []*job
	mortals  []*job
	writers  []*writer
	results  []result
	senders  int // replicas that were killed, frozen or cut off
	lost     int // acknowledged pings
}

// result is what one fault did.
type result struct {
	kind      string
	gap, page time.Duration // the longest time without an acknowledged ping, and without a page
	heal      time.Duration // from the end of the fault until all are healthy
	refused   string
}

// TestFailover injects one fault after the other while jobs ping, people write and jobs die.
// Nothing that was acknowledged is lost, no living job has an incident, each dead one has one,
// and every webhook arrives in order.
func TestFailover(t *testing.T) {
	require(t)
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		seed = 1
	}
	w := newEnvironment(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	w.begin(ctx, &running)
	dead := make(chan int, 1)
	ctxMortals, stopMortals := context.WithCancel(ctx)
	go func() { dead <- w.kill(ctxMortals) }()

	rnd := rand.New(rand.NewPCG(seed, 0))
	for n, f := range choose(t, rnd, faultsWanted()) {
		w.awaitCalm()
		w.strike(n+1, f, rnd)
	}
	w.awaitCalm()
	stopMortals()
	deaths := <-dead
	stop()
	running.Wait()
	w.check(deaths)
	w.print()
}

// choose returns n faults: all kinds in their order first, then in random
// orders.
func choose(t *testing.T, rnd *rand.Rand, n int) (chosen []fault) {
	kinds, err := regexp.Compile(os.Getenv(kindsVariable))
	if err != nil {
		t.Fatalf("%s: %v", kindsVariable, err)
	}
	all := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !kinds.MatchString(f.kind) })
	if len(all) == 0 {
		t.Fatalf("%s matches no kind of fault", kindsVariable)
	}
	for len(chosen) < n {
		chosen = append(chosen, all...)
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return chosen[:n]
}

// newEnvironment starts the cluster and makes the page, the monitors and the webhook.
func newEnvironment(t *testing.T) *environment {
	t.Helper()
	w := &environment{t: t, cluster: newCluster(t)}
	w.api = binary.NewClient(w.cluster.edgeURL(), w.cluster.token)
	w.receiver = newReceiver(t)
	w.api.Must(t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	w.api.Must(t, "POST", "/api/v1/pages", params{"name": "Probes", "slug": "probes"}, nil)
	w.api.Must(t, "POST", "/api/v1/pages/acme/subscribers", params{"channel": "webhook", "target": w.receiver.url}, nil)
	var names []string
	for i := range probeMonitors {
		names = append(names, fmt.Sprintf("Probe %d", i))
	}
	w.probes = &probes{pinger: newPinger(w.cluster.edgeURL()), refused: map[string]int{},
		monitors: w.makeMonitors(names, func(name string) params {
			return params{"name": name, "page": "probes", "interval": 86400}
		})}
	for i := range 4 {
		w.jobs = append(w.jobs,
			w.makeJob(fmt.Sprintf("Frequent %d", i), 10, 2, 8*time.Second+time.Duration(i)*300*time.Millisecond),
			w.makeJob(fmt.Sprintf("Patient %d", i), 60, 1, 48*time.Second+time.Duration(i)*time.Second))
	}
	for i := range 2 {
		w.mortals = append(w.mortals, w.makeJob(fmt.Sprintf("Mortal %d", i), 60, 1, 10*time.Second))
	}
	for i := range 2 {
		w.writers = append(w.writers, &writer{w: w, name: fmt.Sprintf("Writer %d", i)})
	}
	return w
}

// makeJob makes a job with its component. interval is in seconds.
func (w *environment) makeJob(name string, interval, threshold int, every time.Duration) *job {
	w.t.Helper()
	var component binary.Data[struct{ ID string }]
	w.api.Must(w.t, "POST", "/api/v1/pages/acme/components", params{"name": name}, &component)
	var m binary.Data[struct{ ID, Token string }]
	w.api.Must(w.t, "POST", "/api/v1/monitors", params{"name": name, "page": "acme", "component_id": component.Data.ID,
		"interval": interval, "failure_threshold": threshold}, &m)
	return &job{name: name, id: m.Data.ID, token: m.Data.Token, every: every}
}

// begin starts the clients.
func (w *environment) begin(ctx context.Context, running *sync.WaitGroup) {
	p := newPinger(w.cluster.edgeURL())
	running.Go(func() { w.probes.run(ctx) })
	running.Go(func() { w.probes.visit(ctx) })
	for _, j := range w.jobs {
		running.Go(func() { j.run(ctx, p) })
	}
	for _, r := range w.writers {
		running.Go(func() { r.run(ctx) })
	}
}

// kill lets mortal jobs live, and one after the other die for as long as it takes
// to notice it, until ctx ends. It returns how many deaths there were.
func (w *environment) kill(ctx context.Context) (deaths int) {
	p := newPinger(w.cluster.edgeURL())
	var lives sync.WaitGroup
	defer lives.Wait()
	live := func(j *job) (die context.CancelFunc) {
		life, die := context.WithCancel(context.Background())
		j.ping(life, p)
		lives.Go(func() { j.run(life, p) })
		return die
	}
	var ends []context.CancelFunc
	for _, j := range w.mortals {
		ends = append(ends, live(j))
	}
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for ctx.Err() == nil || deaths == 0 {
		n := deaths % len(w.mortals)
		deaths++
		ends[n]()
		if !w.awaitState(w.mortals[n], "down") {
			w.t.Errorf("%s has been dead for %v and is not reported", w.mortals[n].name, detection)
			return deaths
		}
		ends[n] = live(w.mortals[n])
		if !w.awaitState(w.mortals[n], "up") {
			w.t.Errorf("%s pings again and is not up", w.mortals[n].name)
			return deaths
		}
		pause(ctx, time.Minute)
	}
	return deaths
}

// awaitState reports whether a monitor gets into a state in time.
func (w *environment) awaitState(j *job, state string) bool {
	for deadline := time.Now().Add(detection); time.Now().Before(deadline); pause(context.Background(), time.Second) {
		if got, err := w.state(j); err == nil && got == state {
			return true
		}
	}
	return false
}

// state returns the state of a job's monitor.
func (w *environment) state(j *job) (string, error) {
	var m binary.Data[struct{ State string }]
	status, err := w.api.Do(context.Background(), "GET", "/api/v1/monitors/"+j.id, nil, &m)
	if err != nil || status != 200 {
		return "", fmt.Errorf("status %d, %w", status, err)
	}
	return m.Data.State, nil
}

// awaitCalm waits until everything has run, and pings have been acknowledged,
// for a while without interruption.
func (w *environment) awaitCalm() {
	w.t.Helper()
	since := time.Now()
	await(w.t, healTimeout, func() error {
		err := w.cluster.healthy()
		if gap := w.probes.gap(time.Now().Add(-calm), time.Now()); err == nil && gap > time.Second {
			err = fmt.Errorf("no ping has been acknowledged for %v", gap)
		}
		if err != nil {
			since = time.Now()
		} else if time.Since(since) < calm {
			err = fmt.Errorf("all is well only since %v", since)
		}
		return err
	})
}

// strike injects a fault, removes it, waits until the cluster is healthy, and checks that no
// acknowledged ping is lost.
func (w *environment) strike(n int, f fault, rnd *rand.Rand) {
	w.t.Helper()
	w.probes.mu.Lock()
	clear(w.probes.refused)
	w.probes.mu.Unlock()
	began := time.Now()
	w.senders += f.senders
	mend := f.inject(w.cluster, rnd)
	hold := f.hold[0]
	if more := f.hold[1] - f.hold[0]; more > 0 {
		hold += time.Duration(rnd.Int64N(int64(more)))
	}
	pause(w.t.Context(), hold)
	mend()
	mended := time.Now()
	w.awaitCalm()
	now := time.Now()
	r := result{
		kind: f.kind, heal: now.Sub(mended) - calm, gap: w.probes.gap(began, now), page: w.probes.pageGap(began, now),
	}
	w.probes.mu.Lock()
	r.refused = fmt.Sprint(w.probes.refused)
	w.probes.mu.Unlock()
	w.results = append(w.results, r)
	lost := w.lostPings()
	w.lost += len(lost)
	w.t.Logf("%s fault %d: %s for %.1f s: gap %.1f s (promised %v), of pages %.1f s, whole again after %.1f s, %d "+
		"lost, refused %s", began.UTC().Format("15:04:05"),
		n, f.kind, hold.Seconds(), r.gap.Seconds(), f.gap, r.page.Seconds(), r.heal.Seconds(), len(lost), r.refused)
	for _, l := range lost[:min(5, len(lost))] {
		w.t.Errorf("an acknowledged ping is lost: %s", l)
	}
}

// lostPings returns the monitors that do not know their last acknowledged ping.
func (w *environment) lostPings() []string {
	w.t.Helper()
	sent := w.probes.sent() // before the last pings are requested
	for _, j := range w.jobs {
		j.mu.Lock()
		sent[j.id] = j.sent
		j.mu.Unlock()
	}
	known := map[string]time.Time{}
	for _, m := range binary.All[struct {
		ID         string
		LastPingAt time.Time `json:"last_ping_at"`
	}](w.t, w.api, "/api/v1/monitors") {
		known[m.ID] = m.LastPingAt
	}
	return w.probes.lost(sent, known)
}

// check checks, after all faults, that everything that was acknowledged is stored.
func (w *environment) check(deaths int) {
	w.t.Helper()
	for _, wrong := range w.probes.wrong {
		w.t.Error(wrong)
	}
	stored, acked, mine := map[string]bool{}, map[string][]string{}, map[string]bool{}
	total, lost := 0, 0
	for _, r := range w.writers {
		lost += r.check(stored)
		total += r.acked
		for id, updates := range r.acknowledged() {
			acked[id], mine[id] = updates, true
		}
	}
	await(w.t, settling, func() error { return w.receiver.missing(acked) })
	unordered, phantoms := w.receiver.unordered(acked), w.receiver.phantoms(stored, mine)
	if unordered > 0 {
		w.t.Errorf("%d webhooks arrived out of order", unordered)
	}
	alarms := w.checkAlarms(deaths)
	unsaved := w.checkLogs()
	if w.receiver.repeats > w.senders+unsaved {
		w.t.Errorf("%d webhooks arrived twice, %d replicas were killed, frozen or cut off, and the results of %d "+
			"could not be saved",
			w.receiver.repeats, w.senders, unsaved)
	}
	gaveUp := 0
	for _, j := range w.jobs {
		gaveUp += j.gaveUp
	}
	w.t.Logf("%d faults: %d pings acknowledged, %d lost; %d updates acknowledged, %d lost; %d deaths, %d false "+
		"alarms; "+
		"%d webhooks, %d repeats (%d senders, %d unsaved), %d out of order, %d of updates that were rolled back; %d "+
		"times a job gave up",
		len(w.results), len(w.probes.acked), w.lost, total, lost, deaths, alarms,
		len(w.receiver.receipts), w.receiver.repeats, w.senders, unsaved, unordered, phantoms, gaveUp)
}

// resent is what a replica logs when the database did not save that webhooks were sent.
var resent = regexp.MustCompile(`msg="saving delivery results failed; the deliveries will be sent again" ` +
	`channel=webhook deliveries=(\d+)`)

// checkLogs checks that the replicas log few lines: a failure is logged when it begins, and not
// with each attempt. It returns of how many webhooks they could not save that they were sent.
func (w *environment) checkLogs() (unsaved int) {
	w.t.Helper()
	for _, m := range w.cluster.nodes {
		log, err := os.ReadFile(m.logFile("allswell"))
		if err != nil {
			w.t.Fatal(err)
		}
		lines := strings.Count(string(log), "\n")
		w.t.Logf("%s logged %d lines at warn or above in %d faults", m.name, lines, len(w.results))
		if lines > (len(w.results)+1)*linesPerFault {
			w.t.Errorf("%s logged %d lines in %d faults", m.name, lines, len(w.results))
		}
		if strings.Contains(string(log), "panic") {
			w.t.Errorf("%s panicked", m.name)
		}
		for _, match := range resent.FindAllStringSubmatch(string(log), -1) {
			n, err := strconv.Atoi(match[1])
			if err != nil {
				w.t.Fatal(err)
			}
			unsaved += n
		}
	}
	return unsaved
}

// checkAlarms compares the incidents that Allswell opened with the deaths of jobs, and returns
// the number of false alarms.
func (w *environment) checkAlarms(deaths int) (alarms int) {
	w.t.Helper()
	expected := map[string]int{}
	for i := range deaths {
		expected[w.mortals[i%len(w.mortals)].name+" is down"]++
	}
	found := map[string]int{}
	for _, inc := range binary.All[struct{ Title string }](w.t, w.api, "/api/v1/pages/acme/incidents") {
		if strings.HasSuffix(inc.Title, " is down") {
			found[inc.Title]++
		}
	}
	for title, n := range found {
		if n > expected[title] {
			alarms += n - expected[title]
			w.t.Errorf("%q was reported %d times, and died %d times", title, n, expected[title])
		}
	}
	for title, n := range expected {
		if found[title] < n {
			w.t.Errorf("%q was reported %d times, and died %d times", title, found[title], n)
		}
		await(w.t, settling, func() error {
			if got := w.receiver.count("incident.created", title); got != n {
				return fmt.Errorf("%q: %d webhooks of %d deaths", title, got, n)
			}
			return nil
		})
	}
	return alarms
}

// print prints the table of gaps, and checks them in a long round.
func (w *environment) print() {
	var table strings.Builder
	for _, f := range faults {
		var gaps, pages []time.Duration
		for _, r := range w.results {
			if r.kind == f.kind {
				gaps, pages = append(gaps, r.gap), append(pages, r.page)
			}
		}
		if len(gaps) == 0 {
			continue
		}
		slices.Sort(gaps)
		worst := slices.Max(gaps)
		fmt.Fprintf(&table, "| %s | %d | %v | %.1f s, %.1f s | %.1f s |\n", f.kind, len(gaps), f.gap,
			gaps[len(gaps)/2].Seconds(), worst.Seconds(), slices.Max(pages).Seconds())
		if worst > f.gap && len(w.results) >= judgedFrom {
			w.t.Errorf("%s: %v without an acknowledged ping, promised are %v", f.kind, worst, f.gap)
		}
	}
	w.t.Logf("times without an acknowledged ping, and without a page:\n"+
		"| Fault | Count | Promised | Measured: median, worst | Worst of pages |\n|---|---|---|---|---|\n%s", table.String())
}
