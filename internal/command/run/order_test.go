package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/domain/kernel"
	"pgregory.net/rapid"
)

// flaky is a server that is down from time to time.
type flaky struct {
	began    time.Time
	changes  []time.Duration // when it goes down, comes back, goes down, ...
	accepted []accepted
}

type accepted struct {
	name, run, output string
	at                time.Time
}

func (f *flaky) down() bool {
	down := false
	for _, at := range f.changes {
		if time.Since(f.began) >= at {
			down = !down
		}
	}
	return down
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if f.down() {
		if len(f.changes)%3 == 0 {
			return nil, errors.New("connection refused")
		}
		return &http.Response{
			StatusCode: 503, Header: http.Header{"Retry-After": {"7"}},
			Body: io.NopCloser(strings.NewReader(`{"message":"x"}`)), Request: r,
		}, nil
	}
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	f.accepted = append(f.accepted, accepted{path.Base(r.URL.Path), r.URL.Query().Get("rid"), string(body), time.Now()})
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"message":"x"}`)), Request: r,
	}, nil
}

// TestReportsKeepTheirOrder runs one job again and again while its server comes and goes. Each end is reported once,
// with the output and the exit code of its run, after its start and after the ends of all earlier runs: a failure that
// is reported after a later success would be a false alarm. What is not reported is in the spool.
func TestReportsKeepTheirOrder(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		spoolFile := filepath.Join(dir, fmt.Sprint(n))
		var failed any
		synctest.Test(t, func(*testing.T) {
			defer func() { failed = recover() }()
			runJobs(r, spoolFile)
		})
		os.Remove(spoolFile)
		if failed != nil {
			panic(failed)
		}
	})
}

func runJobs(t *rapid.T, spoolFile string) {
	server := &flaky{began: time.Now()}
	at := time.Duration(0)
	for range rapid.IntRange(0, 7).Draw(t, "changes") {
		at += rapid.SampledFrom([]time.Duration{
			0, time.Second, 20 * time.Second, 70 * time.Second, 5 * time.Minute,
		}).Draw(t, "after")
		server.changes = append(server.changes, at)
	}
	ends := make(map[string]entry)
	runs := rapid.IntRange(1, 7).Draw(t, "runs")
	for i := range runs + 1 {
		if i == runs { // the last run finds the server well
			server.changes = nil
		}
		api, err := client.New("http://status.example.com", "", client.Options{Retries: -1, Transport: server})
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("run-%d", i)
		r := newReporter(&target{api: api, token: "0123456789abcdef0123456789abcdef"}, spoolFile)
		r.begin(id)
		time.Sleep(rapid.SampledFrom([]time.Duration{0, time.Second, 30 * time.Second, 4 * time.Minute}).Draw(t,
			"runs for"))
		e := entry{RunID: id, Kind: client.SignalFail, EndedAt: time.Now(), Output: []byte("output of " + id)}
		if rapid.Bool().Draw(t, "ends itself") {
			e.ExitCode = new(i % 3)
		}
		ends[id] = e
		ended := time.Now()
		if err := r.end(context.Background(), e); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if waited := time.Since(ended); waited > endTimeout {
			t.Fatalf("%s: its end took %s", id, waited)
		}
		if text := r.warning(); text != "" {
			t.Fatalf("%s: %s", id, text)
		}
		synctest.Wait()
		checkOrder(t, server, spool{spoolFile, r.spool.monitor}, ends, i)
	}
	if entries, err := (spool{path: spoolFile}).entries(); err != nil || len(entries) != 0 {
		t.Fatalf("%d ends are left in the spool of a server that is well, %v", len(entries), err)
	}
}

// checkOrder checks what the server has got and what the spool has after the runs up to the given one.
func checkOrder(t *rapid.T, server *flaky, s spool, ends map[string]entry, runs int) {
	var got []string
	started := make(map[string]bool)
	for _, a := range server.accepted {
		if a.name == "start" {
			if started[a.run] {
				t.Fatalf("%s started twice: %+v", a.run, server.accepted)
			}
			started[a.run] = true
			if a.run != fmt.Sprintf("run-%d", len(got)) {
				t.Fatalf("%s started before the ends of earlier runs: %+v", a.run, server.accepted)
			}
			continue
		}
		e := ends[a.run]
		name := "fail"
		if e.ExitCode != nil {
			name = fmt.Sprint(*e.ExitCode)
		}
		late := strings.Contains(a.output,
			"this run ended at "+kernel.FormatTime(e.EndedAt)+", and could only be reported later")
		if !strings.HasPrefix(a.output, string(e.Output)) || a.name != name || late != (len(a.output) > len(e.Output)) {
			t.Fatalf("%s is reported as %+v, want %s", a.run, a, name)
		}
		got = append(got, a.run)
	}
	entries, err := s.entries()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Monitor != s.monitor || !e.EndedAt.Equal(ends[e.RunID].EndedAt) {
			t.Fatalf("the spool has %+v", e)
		}
		got = append(got, e.RunID)
	}
	for i := range runs + 1 {
		if len(got) != runs+1 || got[i] != fmt.Sprintf("run-%d", i) {
			t.Fatalf("after %d runs, reported and then in the spool: %v", runs+1, got)
		}
	}
}
