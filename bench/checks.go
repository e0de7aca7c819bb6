package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How checks are measured.
const (
	checkSpan    = 2 * time.Minute
	checkMinutes = 60                    // how long memory is measured
	checkHosts   = 100                   // addresses of the target server
	tick         = 10 * time.Millisecond // the unit of processor time in /proc
)

// targetServer is the server that is checked. It runs in this process, so its processor time is not part of the result.
type targetServer struct {
	http.Server
	addresses []string // each a host and a port
	hung      atomic.Bool
}

// newTargetServer returns a server on addresses of the loopback interface, all with the same port.
func newTargetServer(hosts ...string) (*targetServer, error) {
	t := new(targetServer)
	t.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if t.hung.Load() {
			<-r.Context().Done()
		}
		fmt.Fprintln(w, "ok")
	})
	port := "0"
	for _, host := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err == nil {
			_, port, err = net.SplitHostPort(l.Addr().String())
		}
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.addresses = append(t.addresses, l.Addr().String())
		go t.Serve(l)
	}
	return t, nil
}

// withTargets calls measure with a service and a target server. The target has several addresses, because a replica
// limits how many checks of one host it runs at a time.
func (b *bench) withTargets(measure func(*process, *targetServer) ([]result, error)) ([]result, error) {
	dir, err := os.MkdirTemp(b.dir, "checks")
	if err != nil {
		return nil, err
	}
	p, err := b.allswell(filepath.Join(dir, "checks.db"), "ALLSWELL_CHECK_PRIVATE=on")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	hosts := make([]string, checkHosts)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("127.1.0.%d", i+1)
	}
	target, err := newTargetServer(hosts...)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	return measure(p, target)
}

// addChecks creates HTTP checks, the same number for each address of the target.
func (p *process) addChecks(count int, interval time.Duration, target *targetServer) error {
	return concurrently(32, count, func(i int) error {
		_, err := p.addCheck(fmt.Sprint("check ", i), "http://"+target.addresses[i%len(target.addresses)]+"/", interval,
			5*time.Second)
		return err
	})
}

// concurrently calls f with all numbers below count, from several goroutines, and returns the joined errors. A
// goroutine stops after its first error.
func concurrently(goroutines, count int, f func(int) error) error {
	var running sync.WaitGroup
	failed := make([]error, goroutines)
	for g := range goroutines {
		running.Go(func() {
			for i := g; i < count && failed[g] == nil; i += goroutines {
				failed[g] = f(i)
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

func (p *process) addCheck(name, url string, interval, timeout time.Duration) (id string, err error) {
	var created struct{ Data struct{ ID string } }
	err = p.ask(http.MethodPost, "/api/v1/monitors", map[string]any{
		"name": name, "type": "http", "url": url, "interval": interval / time.Second, "timeout": timeout / time.Second,
		"failure_threshold": 1,
	}, &created)
	return created.Data.ID, err
}

// checkCounts are the counters of checks from /metrics.
type checkCounts struct {
	all, good float64
	late      map[float64]float64 // by seconds: how many checks began at most so late
}

// checkCounts reads the counters of a process.
func (p *process) checkCounts() (c checkCounts, err error) {
	req, err := http.NewRequest(http.MethodGet, p.base+"/metrics", nil)
	if err != nil {
		return c, err
	}
	req.Header.Set("Authorization", "Bearer "+benchToken)
	res, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		return c, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return c, errors.New("/metrics: " + res.Status)
	}
	c.late = make(map[float64]float64)
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		if strings.HasPrefix(name, "allswell_checks_total{") {
			c.all += value
			if strings.Contains(name, `"ok"`) {
				c.good += value
			}
		}
		if bound, ok := strings.CutPrefix(name, `allswell_check_lateness_seconds_bucket{le="`); ok {
			limit, err := strconv.ParseFloat(strings.TrimSuffix(bound, `"}`), 64)
			if err != nil {
				return c, err
			}
			c.late[limit] = value
		}
	}
	return c, lines.Err()
}

// lateness returns the lateness in seconds, rounded up to the bound of a bucket, that the given share of the checks
// since before did not exceed.
func (c checkCounts) lateness(before checkCounts, share float64) float64 {
	least := math.Inf(1)
	for bound, count := range c.late {
		if count-before.late[bound] >= share*(c.late[math.Inf(1)]-before.late[math.Inf(1)]) {
			least = min(least, bound)
		}
	}
	return least
}

// processorTime returns the processor time of a process, on all cores together.
func (p *process) processorTime() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name of the program may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("no processor time")
	}
	user, err := strconv.Atoi(fields[11])
	system, bad := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick, errors.Join(err, bad)
}

// checks measures 10,000 checks a minute, and the throughput of pings with and without these checks.
func (b *bench) checks() ([]result, error) {
	return b.withTargets(func(p *process, target *targetServer) ([]result, error) {
		script, err := b.jobsToPing(p, 1000)
		if err != nil {
			return nil, err
		}
		without, err := b.pingRate(p, script)
		if err != nil {
			return nil, err
		}
		if err := p.addChecks(10_000, time.Minute, target); err != nil {
			return nil, err
		}
		time.Sleep(time.Minute) // until each check has a result
		out, err := p.measureChecks()
		if err != nil {
			return nil, err
		}
		with, err := b.pingRate(p, script)
		if err != nil {
			return nil, err
		}
		return append(out, result{
			"Durable pings beside them, against none", "",
			fmt.Sprintf("%.2f (%.0f/s against %.0f/s)", with/without, with, without),
		}), nil
	})
}

// measureChecks measures the checks of a process for checkSpan.
func (p *process) measureChecks() ([]result, error) {
	before, err := p.checkCounts()
	if err != nil {
		return nil, err
	}
	used, err := p.processorTime()
	if err != nil {
		return nil, err
	}
	rss, err := p.resident()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	time.Sleep(checkSpan)
	after, err := p.checkCounts()
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	usedAfter, err := p.processorTime()
	if err != nil {
		return nil, err
	}
	rssAfter, err := p.resident()
	if err != nil {
		return nil, err
	}
	cores, count := (usedAfter-used).Seconds()/took.Seconds(), after.all-before.all
	return []result{
		{"10,000 HTTP checks a minute: processor time", "≤ 0.5 cores",
			fmt.Sprintf("%.2f cores (%.0f checks a minute, %.0f of them good; %.0f checks per second of one core)",
				cores, count/took.Minutes(), (after.good-before.good)/took.Minutes(),
				count/(usedAfter-used).Seconds())},
		{"Their lateness, median and 99 %", "",
			fmt.Sprintf("≤ %g s, ≤ %g s", after.lateness(before, .5), after.lateness(before, .99))},
		{"Resident memory at the beginning and the end of " + checkSpan.String(), "",
			fmt.Sprintf("%.1f MB, %.1f MB", rss, rssAfter)},
	}, nil
}

// jobsToPing creates heartbeat monitors and returns a script for wrk that pings them.
func (b *bench) jobsToPing(p *process, count int) (script string, err error) {
	var tokens []string
	for i := range count {
		var created struct{ Data struct{ Token string } }
		err := p.ask(http.MethodPost, "/api/v1/monitors",
			map[string]any{"name": fmt.Sprint("job ", i), "interval": 3600}, &created)
		if err != nil {
			return "", err
		}
		tokens = append(tokens, created.Data.Token)
	}
	script, list := filepath.Join(b.dir, "beside.lua"), filepath.Join(b.dir, "beside.tokens")
	return script,
		errors.Join(os.WriteFile(list, []byte(strings.Join(tokens, "\n")), 0o600),
			os.WriteFile(script, fmt.Appendf(nil, pingScript, list), 0o600))
}

func (b *bench) pingRate(p *process, script string) (float64, error) {
	var rates []float64
	for range rounds {
		rate, _, err := b.wrk(256, p.base, "-s", script)
		if err != nil {
			return 0, err
		}
		rates = append(rates, rate)
	}
	return median(rates), nil
}

// checkMemory measures whether the memory of a service that runs checks stays constant.
func (b *bench) checkMemory() ([]result, error) {
	return b.withTargets(func(p *process, target *targetServer) ([]result, error) {
		if err := p.addChecks(1000, 10*time.Second, target); err != nil {
			return nil, err
		}
		var all []string
		for range checkMinutes {
			time.Sleep(time.Minute)
			rss, err := p.resident()
			if err != nil {
				return nil, err
			}
			all = append(all, fmt.Sprintf("%.1f", rss))
			fmt.Fprintf(os.Stderr, "resident: %.1f MB\n", rss)
		}
		return []result{
			{"1,000 checks every 10 s: resident memory, each minute", "flat", strings.Join(all, ", ") + " MB"},
		}, nil
	})
}

// detection measures the time from the failure of a target until its monitor is down, with an interval of 10 s and a
// timeout of 2 s: for targets that refuse connections, and for targets that do not answer. The targets fail at
// different times within the interval.
func (b *bench) detection() ([]result, error) {
	return b.withTargets(func(p *process, _ *targetServer) (out []result, err error) {
		for _, hangs := range []bool{false, true} {
			times := make([]float64, 10)
			err := concurrently(len(times), len(times), func(i int) (err error) {
				times[i], err = p.detect(i, hangs)
				return err
			})
			if err != nil {
				return nil, err
			}
			what := "refuses connections"
			if hangs {
				what = "does not answer"
			}
			out = append(out, result{
				"A target " + what + " until its monitor is down, interval 10 s, timeout 2 s", "≤ 13 s",
				fmt.Sprintf("%.1f s, at most %.1f s", median(times), slices.Max(times)),
			})
		}
		return out, nil
	})
}

// detect returns how many seconds pass until a monitor is down.
func (p *process) detect(i int, hangs bool) (float64, error) {
	target, err := newTargetServer(fmt.Sprintf("127.2.0.%d", i+1))
	if err != nil {
		return 0, err
	}
	defer target.Close()
	id, err := p.addCheck(fmt.Sprint("target ", i, hangs), "http://"+target.addresses[0]+"/", 10*time.Second,
		2*time.Second)
	if err != nil {
		return 0, err
	}
	if _, err := p.await(id, "up"); err != nil {
		return 0, err
	}
	time.Sleep(10*time.Second + time.Duration(i)*time.Second)
	began := time.Now()
	if hangs {
		target.hung.Store(true)
	} else {
		target.Close()
	}
	at, err := p.await(id, "down")
	return at.Sub(began).Seconds(), err
}

// await waits at most a minute until a monitor has a state, and returns when it first saw the state.
func (p *process) await(id, state string) (time.Time, error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var got struct{ Data struct{ State string } }
		if err := p.ask(http.MethodGet, "/api/v1/monitors/"+id, nil, &got); err != nil {
			return time.Time{}, err
		}
		if got.Data.State == state {
			return time.Now(), nil
		}
	}
	return time.Time{}, errors.New("a monitor was not " + state + " within a minute")
}
