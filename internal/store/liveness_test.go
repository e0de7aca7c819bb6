package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/google/go-cmp/cmp"
)

// expectGaps fails unless these are the stored listening gaps, as seconds after began.
func (w *world) expectGaps(want ...[2]int) {
	w.Helper()
	var got [][2]int
	for _, h := range must(w.Gaps(w.ctx))(w) {
		got = append(got, [2]int{int(h.From.Sub(began) / time.Second), int(h.To.Sub(began) / time.Second)})
	}
	if !slices.Equal(got, want) {
		w.Errorf("gaps %v, want %v", got, want)
	}
}

func (w *world) beatAt(seconds int, b store.LivenessRecord) {
	w.Helper()
	w.clock.set(began.Add(time.Duration(seconds) * time.Second))
	w.ok(w.RecordLiveness(w.ctx, b))
}

func TestListeningGaps(t *testing.T) {
	inWorlds(t, func(w *world) {
		a, b := store.LivenessRecord{Replica: "a"}, store.LivenessRecord{Replica: "b"}
		start := func(b store.LivenessRecord) store.LivenessRecord { b.First = true; return b }
		w.beatAt(0, start(a))
		w.expectGaps() // no ping could be missed before the first record
		w.beatAt(9, a)
		w.expectGaps() // late, but none was missed
		w.beatAt(19, a)
		want := [][2]int{{9, 19}}
		w.expectGaps(want...)
		w.beatAt(20, a)
		w.expectGaps(want...) // stored once
		w.beatAt(22, start(a))
		want = append(want, [2]int{20, 22})
		w.expectGaps(want...) // after a start, however short
		w.beatAt(22, start(b))
		w.expectGaps(want...)
		if !isSQLite(w.Store) {
			w.beatAt(25, start(b))
			w.expectGaps(want...) // another replica could hear
			for at := 30; at <= 300; at += 5 {
				w.beatAt(at, b)
			}
			w.beatAt(301, a)
			w.expectGaps(want...) // the absence of one replica is no gap
		} else {
			w.beatAt(301, a)
			want = append(want, [2]int{22, 301})
		}
		w.clock.set(began.Add(400 * time.Second))
		w.pinged() // a recorded ping counts as a record
		w.beatAt(405, a)
		w.expectGaps(append(want, [2]int{301, 400})...)
	})
}

// TestGapIsStoredOnceByTwoReplicas lets two replicas resume at the same time.
func TestGapIsStoredOnceByTwoReplicas(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		stores := []*store.Store{w.Store, w.replica(), w.replica()}
		w.beatAt(0, store.LivenessRecord{Replica: "0"})
		var want [][2]int
		for round := 1; round <= 10; round++ {
			want = append(want, [2]int{(round - 1) * 100, round * 100})
			w.clock.set(began.Add(time.Duration(round*100) * time.Second))
			errs := make(chan error)
			for i, s := range stores {
				go func() {
					_, err := s.RecordPings(w.ctx, []string{w.monitor.Token},
						store.LivenessRecord{Replica: string(rune('0' + i)), First: round%2 == 0}, store.PingOrigins{})
					errs <- err
				}()
			}
			for range stores {
				w.ok(<-errs)
			}
			w.expectGaps(want...)
		}
	})
}

func TestOverlappingGapsAreMerged(t *testing.T) {
	inWorlds(t, func(w *world) { // as two replicas may have stored them
		for _, h := range [][2]int64{{0, 100_000}, {50_000, 120_000}, {60_000, 70_000}, {120_000, 150_000}} {
			w.run(`INSERT INTO listening_gaps (from_at, to_at) VALUES ($1, $2)`, began.UnixMilli()+h[0],
				began.UnixMilli()+h[1])
		}
		w.expectGaps([2]int{0, 120}, [2]int{120, 150})
	})
}

// TestLostPingsStayInGaps checks that a gap which is reported while it lasts, by one replica or several, loses no part
// that was reported before, and that gaps stay apart that more than the interval of liveness records separates.
func TestLostPingsStayInGaps(t *testing.T) {
	inWorlds(t, func(w *world) {
		for i, c := range []struct {
			at, lost int // seconds
			want     [][2]int
		}{
			{110, 5, [][2]int{{105, 110}}},
			{112, 2, [][2]int{{105, 112}}}, // it goes on
			{113, 4, [][2]int{{105, 113}}}, // another replica has lost pings meanwhile
			{114, 20, [][2]int{{94, 114}}}, // one that began earlier
			{130, 1, [][2]int{{94, 114}, {129, 130}}},
			{136, 1, [][2]int{{94, 114}, {129, 136}}}, // right after it
			{137, 25, [][2]int{{94, 137}}},            // over both
			{160, 3, [][2]int{{94, 137}, {157, 160}}},
		} {
			replica := string(rune('a' + i%3))
			w.beatAt(c.at, store.LivenessRecord{
				Replica: replica, Lost: time.Duration(c.lost) * time.Second, LosingPings: true,
			})
			w.expectGaps(c.want...)
		}
	})
}

func TestGrantedTimeShowsAtOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		w.pass(4 * time.Minute)
		w.absent(10 * time.Minute)
		back := w.clock.now()
		want := back.Add(5 * time.Minute)
		if m := w.now(); !m.NextCheckAt.Equal(want) {
			w.Errorf("next_check_at is %v, want an interval from %v", m.NextCheckAt, back)
		}
		list, _, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{}, store.Pagination{Page: 1, PerPage: 10})
		w.ok(err)
		if !list[0].NextCheckAt.Equal(want) {
			w.Errorf("in the list it is %v, want %v", list[0].NextCheckAt, want)
		}
		renamed := must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.Name = "x"
			return nil
		}))(w)
		rotated := must(w.RotateMonitor(w.ctx, w.ws, w.monitor.ID))(w)
		if !renamed.NextCheckAt.Equal(want) || !rotated.NextCheckAt.Equal(want) {
			w.Errorf("renamed %v, rotated %v, want %v", renamed.NextCheckAt, rotated.NextCheckAt, want)
		}
		w.pass(5 * time.Minute)
		if m := w.now(); m.ConsecutiveFailures != 0 {
			w.Errorf("counted before the granted deadline: %+v", m)
		}
	})
}

// TestGrantedTimeResetsTheCount: the ticks that count have to be consecutive.
func TestGrantedTimeResetsTheCount(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		w.pass(7 * time.Minute)
		if m := w.now(); m.ConsecutiveFailures != 2 {
			w.Fatalf("before: %+v", m)
		}
		w.run(`INSERT INTO listening_gaps (from_at, to_at) VALUES ($1, $2)`, began.Add(4*time.Minute).UnixMilli(),
			began.Add(6*time.Minute).UnixMilli())
		w.pass(time.Minute)
		if m := w.now(); m.ConsecutiveFailures != 0 || m.State != monitor.MonitorUp {
			w.Errorf("after the gap was stored: %+v", m)
		}
	})
}

func TestRejectedPingProvesLife(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("job", w.component, "")
		old := job.Token
		job = must(w.RotateMonitor(w.ctx, w.ws, job.ID))(w)
		off := must(w.CreateMonitor(w.ctx, w.ws, disabled(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "off", Interval: time.Minute, PageSlug: "acme",
		}))))(w)
		refuse := func(tokens ...string) {
			w.Helper()
			w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a", Rejected: tokens}))
		}
		refuse(job.Token)
		if m := w.monitorNow(job); !m.LastPingAt.IsZero() || !m.NextCheckAt.IsZero() {
			w.Errorf("a refused ping made a monitor wait: %+v", m)
		}
		w.pinged(job)
		for i := range 10 { // uncapped
			w.pass(20 * time.Second)
			refuse([]string{job.Token, old}[i%2], off.Token, kernel.NewPingToken())
			w.pass(40 * time.Second)
		}
		m := w.monitorNow(job)
		if m.State != monitor.MonitorUp || m.ConsecutiveFailures != 0 || !m.LastPingAt.Equal(began) {
			w.Errorf("a job whose pings are refused: %+v", m)
		}
		if m := w.monitorNow(off); !m.RejectedAt.IsZero() {
			w.Errorf("a disabled monitor's ping counts as refused: %+v", m)
		}
		w.pass(2 * time.Minute)
		if m := w.monitorNow(job); m.State != monitor.MonitorDown {
			w.Fatalf("after refusals have ended: %+v", m)
		}
		refuse(job.Token)
		if m := w.monitorNow(job); m.State != monitor.MonitorDown {
			w.Errorf("a refused ping recovered: %+v", m)
		}
		w.shows(kernel.StatusMajorOutage)
	})
}

// TestClockGoesBack sets the clock back by two hours while everything waits.
func TestClockGoesBack(t *testing.T) {
	inWorlds(t, func(w *world) {
		job, dead, refused := w.quick("job", w.component, ""), w.quick("dead", w.component, ""),
			w.quick("refused", w.component, "")
		old := w.quick("old", statuspage.Component{}, "")
		w.pinged(old, refused)
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "b"}))
		must(w.ChangeMonitor(w.ctx, w.ws, old.ID, func(c *monitor.MonitorConfig) error {
			c.Reschedule(4*time.Hour, schedule.Cron{})
			return nil
		}))(w)
		w.clock.set(began.Add(2*time.Hour - time.Minute))
		w.recordLiveness() // a gap
		w.pinged(job, dead)
		w.clock.move(time.Second)
		w.pinged(job, dead) // the second is noted beside the monitor alone
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a", Rejected: []string{refused.Token}}))
		w.pass(time.Minute) // the tick moves the refused one's deadline

		w.clock.set(began.Add(30 * time.Second))
		w.recordLiveness()
		for _, m := range w.stored() {
			if m.ID != w.monitor.ID &&
				(m.LastPingAt.After(w.clock.now()) || m.WaitingSince.After(w.clock.now()) ||
					m.RejectedAt.After(w.clock.now())) {
				w.Errorf("still ahead: %+v", m)
			}
		}
		if m := w.monitorNow(old); !m.WaitingSince.Equal(began) {
			w.Errorf("a wait that did not lie ahead began anew: %+v", m)
		}
		w.consistent()
		w.pinged(job) // it is not stranded
		m := w.monitorNow(job)
		if !m.LastPingAt.Equal(w.clock.now()) || !m.NextCheckAt.Equal(w.clock.now().Add(time.Minute)) {
			w.Errorf("pinged after the step back: %+v", m)
		}
		for range 3 {
			w.pass(20 * time.Second)
			w.pinged(job)
		}
		w.pass(40 * time.Second)
		for _, m := range []monitor.Monitor{dead, refused} {
			if m = w.monitorNow(m); m.State != monitor.MonitorDown {
				w.Errorf("two ticks after the step back: %+v", m)
			}
		}
		if m := w.monitorNow(job); m.State != monitor.MonitorUp {
			w.Errorf("the job that pings: %+v", m)
		}
		for _, h := range must(w.Gaps(w.ctx))(w) {
			if h.To.After(began.Add(30 * time.Second)) {
				w.Errorf("a gap in the future: %+v", h)
			}
		}
	})
}

func TestSmallStepBackIsIgnored(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.clock.move(time.Second)
		w.pinged()
		before := w.now()
		w.clock.move(-time.Second)
		w.recordLiveness()
		w.pinged()
		if diff := cmp.Diff(before, w.now()); diff != "" {
			w.Errorf("a ping committed out of order moved something back (-before +after):\n%s", diff)
		}
	})
}

// TestDelayedTransactionIsNoStepBack: a transaction whose now is long ago,
// because its process stood still, finds newer liveness records of others.
func TestDelayedTransactionIsNoStepBack(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.clock.move(time.Minute)
		w.pinged()
		before := w.now()
		late := []time.Time{began.Add(40 * time.Second)}
		s := w.another(func() time.Time {
			if len(late) > 0 {
				now := late[0]
				late = nil
				return now
			}
			return w.clock.now()
		})
		w.ok(s.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "b"}))
		if diff := cmp.Diff(before, w.now()); diff != "" || late != nil {
			w.Errorf("it turned the clock back (-before +after):\n%s", diff)
		}
	})
}

// another opens a second store on the world's database with a clock of its
// own.
func (w *world) another(now func() time.Time) *store.Store {
	w.Helper()
	s, err := store.OpenBeside(w.ctx, w.dsn, store.Options{Clock: now})
	w.ok(err)
	w.Cleanup(func() { s.Close() })
	return s
}

func TestClockForwardIsAListeningGap(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		w.pass(time.Minute)
		w.clock.move(3 * time.Hour)
		w.recordLiveness()
		w.clock.set(w.clock.now().Truncate(time.Minute))
		w.tick()
		m := w.now()
		if m.State != monitor.MonitorUp || m.ConsecutiveFailures != 0 || m.NextCheckAt.Before(w.clock.now()) {
			w.Errorf("after a step of three hours: %+v", m)
		}
	})
}

// job is one well-behaved job, or one that dies.
type job struct {
	token    string
	interval time.Duration
	next     time.Time   // when it pings
	tries    []time.Time // of the ping that is under way
	diesAt   time.Time   // zero: never
	lost     int         // pings in a row that did not get through with any try
	capped   bool        // two were lost in a row, so the cap may report it
}

// retries are the pauses of the command line that we print: curl --retry 5.
var retries = []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second}

// TestServiceOutageRaisesNoAlarm runs jobs of many intervals and phases for hours,
// during which the service is away again and again, for seconds or hours. No
// job that lives may be reported, unless two of its pings in a row were lost:
// the cap is there so that endless restarts cannot hide a real outage. Each that
// dies has to be reported by the cap.
func TestServiceOutageRaisesNoAlarm(t *testing.T) {
	inWorlds(t, func(w *world) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		w.Logf("seed %d", seed)
		end := began.Add(time.Duration(w.rounds(int(3 * time.Hour))))
		var jobs []*job
		dead, alive := map[string]*job{}, map[string]*job{} // by monitor
		for i, m := range w.fill(250, time.Minute) {
			j := &job{token: m.Token, interval: time.Duration(60+random.IntN(60*(1+i%60))) * time.Second}
			j.next = began.Add(time.Duration(random.Int64N(int64(j.interval))))
			if i%5 == 0 {
				j.diesAt = began.Add(time.Duration(random.Int64N(int64(end.Sub(began) / 2))))
				dead[m.ID] = j
			} else {
				alive[m.ID] = j
			}
			w.run(`UPDATE monitors SET interval_ms = $2 WHERE id = $1`, m.ID, j.interval.Milliseconds())
			jobs = append(jobs, j)
		}
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a", First: true}))
		absence := w.liveUntil(end, jobs, random)
		reported, capped := map[string]bool{}, 0
		for _, id := range w.rows(`SELECT monitor_id FROM outages`) {
			reported[id] = true
			if alive[id] != nil && alive[id].capped {
				capped++
			} else if dead[id] == nil {
				w.Errorf("a false alarm: %v",
					w.rows(`SELECT interval_ms, last_ping_at FROM monitors WHERE id = $1`, id))
			}
		}
		for _, m := range w.stored() {
			j := dead[m.ID]
			if j == nil || m.LastPingAt.IsZero() {
				continue
			}
			// Of the ticks within the cap some were missed, at most one per absence.
			by := m.LastPingAt.Add(2*j.interval + absence + 10*time.Minute)
			if !reported[m.ID] && by.Before(w.clock.now()) {
				w.Errorf("not reported: silent since %v, interval %v, away for %v in all", m.LastPingAt, j.interval,
					absence)
			}
		}
		w.Logf("away for %v of %v; %d of %d outages were of jobs that had lost two pings in a row",
			absence.Round(time.Minute), end.Sub(began), capped, len(reported))
		if len(reported)-capped < len(dead)/4 && isSQLite(w.Store) {
			w.Errorf("only %d of %d dead jobs were reported", len(reported)-capped, len(dead))
		}
	})
}

// liveUntil lets jobs ping and time pass, and returns for how long the service was away.
func (w *world) liveUntil(end time.Time, jobs []*job, random *rand.Rand) (absence time.Duration) {
	w.Helper()
	for w.clock.now().Before(end) {
		first := false
		if random.IntN(120) == 0 { // away, mostly shortly
			away := time.Duration(random.ExpFloat64() * float64([]time.Duration{
				3 * time.Second, 40 * time.Second, 20 * time.Minute,
			}[random.IntN(3)]))
			w.clock.move(away)
			absence += away
			first = true
			for _, j := range jobs {
				j.tried(w.clock.now())
			}
		}
		w.clock.move(store.LivenessInterval)
		var pings []string
		for _, j := range jobs {
			if j.pingedBy(w.clock.now()) {
				pings = append(pings, j.token)
			}
		}
		must(w.RecordPings(w.ctx, pings, store.LivenessRecord{Replica: "a", First: first}, store.PingOrigins{}))(w)
		if instant := w.clock.now().Truncate(time.Minute); w.clock.now().Sub(instant) < store.LivenessInterval {
			must(w.Tick(w.ctx, instant, "a", 0))(w)
		}
	}
	return absence
}

// tried makes the job try until now while no replica listens.
func (j *job) tried(now time.Time) {
	for j.advance(now) {
		j.tries = slices.DeleteFunc(j.tries, func(at time.Time) bool { return !at.After(now) })
		if len(j.tries) == 0 {
			j.lost++
			j.capped = j.capped || j.lost > 1
		}
	}
}

// pingedBy reports whether a try of the job has got through until now.
func (j *job) pingedBy(now time.Time) bool {
	received := false
	for j.advance(now) {
		received = true
		j.tries, j.lost = nil, 0
	}
	return received
}

// advance starts the job's next ping if it is due, and reports whether there
// is a try until now.
func (j *job) advance(now time.Time) bool {
	if len(j.tries) == 0 && !j.next.After(now) && (j.diesAt.IsZero() || j.next.Before(j.diesAt)) {
		for _, r := range retries {
			j.tries = append(j.tries, j.next.Add(r))
		}
		j.next = j.next.Add(j.interval)
	}
	return len(j.tries) > 0 && !j.tries[0].After(now)
}

func TestPrune(t *testing.T) {
	inWorlds(t, func(w *world) {
		const day = 24 * time.Hour
		gap := func(age, length time.Duration) {
			to := w.clock.now().Add(-age)
			w.run(`INSERT INTO listening_gaps (from_at, to_at) VALUES ($1, $2)`, to.Add(-length).UnixMilli(),
				to.UnixMilli())
		}
		gap(31*day, schedule.LongGap-time.Millisecond)
		gap(31*day-time.Second, 20*time.Second)
		gap(31*day+time.Hour, schedule.LongGap)
		gap(2*monitor.MaxInterval, time.Hour)
		gap(2*monitor.MaxInterval-time.Second, time.Hour)
		w.clock.move(-2 * day)
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "gone"}))
		w.ok(w.Prune(w.ctx)) // the last one stays, however old
		w.clock.move(2 * day)
		w.ok(w.Prune(w.ctx))
		if got := w.rows(`SELECT replica FROM liveness`); !slices.Equal(got, []string{"gone"}) {
			w.Errorf("liveness %v, want the only one kept", got)
		}
		w.recordLiveness()
		w.ok(w.Prune(w.ctx))
		if got := w.rows(`SELECT replica FROM liveness`); !slices.Equal(got, []string{"a"}) {
			w.Errorf("liveness %v, want the one of the running replica", got)
		}
		var ages []string
		for _, d := range []time.Duration{
			2*monitor.MaxInterval - time.Second, 31*day + time.Hour, 31*day - time.Second, 0,
		} {
			ages = append(ages, fmt.Sprint(d.Milliseconds()))
		}
		got := w.rows(`SELECT $1 - to_at FROM listening_gaps ORDER BY to_at`, w.clock.now().UnixMilli())
		if !slices.Equal(got, ages) {
			w.Errorf("gaps of ages %v stayed, want %v", got, ages)
		}
	})
}

func TestLastContact(t *testing.T) {
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		before := time.Now().Add(-time.Second)
		must(s.Clock(t.Context()))(t)
		contact := s.LastContact()
		if contact.Before(before) || contact.After(time.Now()) {
			t.Errorf("last contact %v, want about now", contact)
		}
		s.Close()
		if _, err := s.Clock(t.Context()); err == nil || errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("a closed store: %v", err)
		}
		if !s.LastContact().Equal(contact) {
			t.Error("a failed transaction counts as contact")
		}
	})
}
