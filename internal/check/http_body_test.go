package check

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/fair"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestBodiesAreDecoded checks that expectations and what is kept of a body are about the text that a browser shows, and
// that a body that cannot be decoded is a failure whatever is expected.
func TestBodiesAreDecoded(t *testing.T) {
	latin1 := "gr\xfc\xdfe"
	utf16 := "\xff\xfeh\x00e\x00l\x00l\x00o\x00"
	long := strings.Repeat(" ", 3000) + "hello"
	for _, c := range []struct {
		name, encoding, contentType, body, field, value, failure string
	}{
		{"gzip contains", "gzip", "", gzipped(t, "hello ok"), "body_contains", "hello ok", ""},
		{"gzip must not contain", "gzip", "", gzipped(t, "hello ok"), "body_not_contains", "hello",
			"the body contains a text that it must not contain"},
		{"gzip does not contain", "gzip", "", gzipped(t, "hello ok"), "body_not_contains", "error", ""},
		{"gzip matches", "gzip", "", gzipped(t, "hello ok"), "body_matches", "^hello ok$", ""},
		{"JSON in gzip", "gzip", "", gzipped(t, `{"a": 1}`), "json_path", "$.a", ""},
		{"not gzip", "gzip", "", "hello ok, hello ok", "body_not_contains", "error",
			"the body cannot be decompressed (gzip): it is not valid"},
		{"half of gzip", "gzip", "", gzipped(t, "hello ok")[:20], "body_not_contains", "error",
			"the body cannot be decompressed (gzip): it ends too early"},
		{"unknown encoding", "lzma", "", "hello ok", "body_not_contains", "error",
			`the body has the content encoding "lzma", which cannot be decoded`},
		{"ISO-8859-1 contains", "", "text/html; charset=iso-8859-1", latin1, "body_contains", "grüße", ""},
		{"ISO-8859-1 must not contain", "", "text/html; charset=iso-8859-1", latin1, "body_not_contains", "grüße",
			"the body contains a text that it must not contain"},
		{"meta", "", "text/html", "<meta charset=iso-8859-1>" + latin1, "body_matches", "grü.e", ""},
		{"UTF-16", "", "", utf16, "body_matches", "^hello$", ""},
		{"JSON with a mark", "", "application/json", "\ufeff{\"a\": 1}", "json_path", "$.a", ""},
		{"unknown charset", "", "text/plain; charset=x-nonsense", latin1, "body_not_contains", "error",
			`the body has the charset "x-nonsense", which is not known`},
		{"long gzip contains", "gzip", "", gzipped(t, "hello"+long), "body_contains", "hello", ""},
		{"long gzip may contain", "gzip", "", gzipped(t, long), "body_not_contains", "hello",
			"the body may contain a text that it must not contain; it is longer than the 2000 bytes that are read " +
				"(max_body_size)"},
		{"long gzip does not contain", "gzip", "", gzipped(t, long), "body_contains", "hello",
			"the body does not contain the expected text; it is longer than the 2000 bytes that are read " +
				"(max_body_size)"},
		{"empty", "gzip", "", "", "body_not_contains", "hello", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
				if c.encoding != "" {
					w.Header().Set("Content-Encoding", c.encoding)
				}
				w.Header().Set("Content-Type", c.contentType)
				fmt.Fprint(w, c.body)
			})
			o := runOnce(t, "http", fields(t, "url", s.URL, "max_body_size", 2000, c.field, c.value))
			expectFailure(t, o, c.failure)
			if o.Unknown || c.failure == "" && o.Body != "" {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// TestKeptBodiesAreDecoded checks what is kept of bodies that are a reason of a failure, judged or not.
func TestKeptBodiesAreDecoded(t *testing.T) {
	status := http.StatusOK
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
		w.WriteHeader(status)
		fmt.Fprint(w, gzipped(t, "gr\xfc\xdfe"+strings.Repeat(" ", 100_000)))
	})
	for _, status = range []int{http.StatusOK, http.StatusBadGateway} {
		o := runOnce(t, "http", fields(t, "url", s.URL, "body_contains", "x"))
		if o.Failure == "" || !strings.HasPrefix(o.Body, "grüße  ") || len(o.Body) != monitor.MaxFailedBody {
			t.Errorf("status %d: %q is kept as %q", status, o.Failure, o.Body)
		}
	}
}

// TestExpensiveExpressions checks that an expression is limited when it is saved, and that judging ends with the check.
func TestExpensiveExpressions(t *testing.T) {
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, strings.Repeat("a", 1<<20)) })
	typ, _ := TypeOf("http")
	_, _, err := typ.Read(object(t, fields(t, "url", s.URL, "body_matches", "(?:a?){990}b$")))
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) || len(bad.Messages()["body_matches"]) != 1 ||
		!strings.Contains(err.Error(), "at most 1500 characters and operators") {
		t.Errorf("error %v", err)
	}
	o := Run(t.Context(), new(Network), probe(t, "http", fields(t, "url", s.URL, "body_matches", "(?:a?){700}b$")),
		2*time.Second)
	expectFailure(t, o, "the body could not be judged within 2 s")
	if o.Unknown || !o.Answered || o.Phases.Total >= 2*time.Second {
		t.Errorf("outcome %+v", o)
	}
}

// TestManyTurnsAreTooExpensive judges a body in turns that are each shorter than the limit.
func TestManyTurnsAreTooExpensive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{network: new(Network), timeout: time.Hour, keys: []fair.Key{fair.Host("a")}}
		began := time.Now()
		err := r.inTurn(t.Context(), func(stop func() bool) error {
			for !stop() && time.Since(began) < 2*maxJudging {
				time.Sleep(turnLength)
			}
			return nil
		})
		took := time.Since(began)
		if !errors.Is(err, errTooExpensive) || took < maxJudging || took > maxJudging+2*turnLength {
			t.Errorf("error %v after %v", err, took)
		}
	})
}

// TestTurns checks that a body that takes long to judge lets others have their turn, and that one that cannot have a
// turn is not a failure of its target.
func TestTurns(t *testing.T) {
	n := new(Network)
	n.capacity.open().turns = fair.NewPool(1, 2)
	first, second := &run{network: n, timeout: time.Minute, keys: []fair.Key{fair.Host("a")}},
		&run{network: n, timeout: time.Minute, keys: []fair.Key{fair.Host("b")}}
	var began, ended atomic.Bool
	var others sync.WaitGroup
	others.Go(func() {
		for !began.Load() {
			time.Sleep(time.Millisecond)
		}
		if err := second.inTurn(t.Context(), func(func() bool) error { ended.Store(true); return nil }); err != nil {
			t.Error(err)
		}
	})
	err := first.inTurn(t.Context(), func(stop func() bool) error {
		began.Store(true)
		for !ended.Load() && !stop() {
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var o Outcome
		if err := second.inTurn(ctx, func(func() bool) error { return nil }); !errors.Is(err, errBusy) {
			t.Errorf("error %v without a turn", err)
		} else if second.notJudged(ctx, err, &o); !o.Unknown {
			t.Errorf("outcome %+v", o)
		}
		return nil
	})
	others.Wait()
	if err != nil || !ended.Load() {
		t.Errorf("error %v, the other one ended: %v", err, ended.Load())
	}
	if free := n.capacity.turns.Free(); free != 1 {
		t.Errorf("%d turns are free", free)
	}
}

// TestBodiesLeaveRoomAtTheirHost checks that large bodies that never end leave another workspace room for one of the
// same host.
func TestBodiesLeaveRoomAtTheirHost(t *testing.T) {
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, 2*smallBody))
		if r.URL.Path == "/endless" {
			<-r.Context().Done()
		}
	})
	n := new(Network)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	run := func(ctx context.Context, workspace, path string) Outcome {
		p := probe(t, "http", fields(t, "url", s.URL+path, "body_not_contains", "x", "max_body_size", maxMaxBodySize))
		return Run(ctx, n, p, time.Minute, fair.Workspace(workspace))
	}
	for range 2 * largeBodies {
		all.Go(func() { run(ctx, "a", "/endless") })
	}
	for n.capacity.open().large.Free() > largeBodies/2 {
		time.Sleep(time.Millisecond)
	}
	if o := run(t.Context(), "b", "/"); o.Failure != "" {
		t.Errorf("check of another workspace: %q", o.Failure)
	}
	stop()
	all.Wait()
}

// TestMemoryOfBodies checks the memory that twenty of the largest bodies take at the same time, each a document whose
// decoded values would take thirty times its size.
func TestMemoryOfBodies(t *testing.T) {
	chunk := []byte(strings.Repeat("[],", (1<<20)/3))
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("["))
		for range 9 {
			_, _ = w.Write(chunk)
		}
		_, _ = w.Write([]byte("7]"))
	})
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	debug.FreeOSMemory()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		sample, highest :=
			[]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}},
			uint64(0)
		for {
			metrics.Read(sample)
			highest = max(highest, sample[0].Value.Uint64()+sample[1].Value.Uint64())
			select {
			case <-done:
				peak <- highest
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	n := new(Network)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			p := probe(t, "http",
				fields(t, "url", s.URL, "json_path", "$[-1]", "json_value", "7", "max_body_size", maxMaxBodySize))
			if o := Run(t.Context(), n, p, 2*time.Minute, fair.Workspace(fmt.Sprint(i%3))); o.Failure != "" {
				t.Errorf("check: %q", o.Failure)
			}
		})
	}
	all.Wait()
	close(done)
	if highest := <-peak; highest > 300<<20 {
		t.Errorf("twenty bodies take %d MB", highest>>20)
	} else {
		t.Logf("twenty bodies take %d MB", highest>>20)
	}
	small, large, turns := n.capacity.small.Free(), n.capacity.large.Free(), n.capacity.turns.Free()
	if small != smallBodies || large != largeBodies || turns < 1 {
		t.Errorf("free places: %d, %d and %d", small, large, turns)
	}
}

// TestPathsOfTheSuite checks that exactly the valid paths of the compliance suite of RFC 9535 can be saved.
func TestPathsOfTheSuite(t *testing.T) {
	text, err := os.ReadFile("jsonpath/testdata/jsonpath-compliance-suite.json")
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests []struct {
			Name, Selector  string
			InvalidSelector bool `json:"invalid_selector"`
			Document        json.RawMessage
			Result          []json.RawMessage
			Results         [][]json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &suite); err != nil {
		t.Fatal(err)
	}
	typ, _ := TypeOf("http")
	for _, c := range suite.Tests {
		config, _, err := typ.Read(object(t, fields(t, "url", "http://127.0.0.1/", "json_path", c.Selector)))
		if (err != nil) != c.InvalidSelector {
			t.Errorf("%s: %q: error %v", c.Name, c.Selector, err)
		}
		if err != nil {
			continue
		}
		p, err := typ.Probe(config, nil)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		results := append(c.Results, c.Result)
		why, err := judgeJSON(c.Document, p.(*httpProbe).json, "it", "", func() bool { return false })
		if found := slices.ContainsFunc(results, func(r []json.RawMessage) bool {
			return len(r) > 0
		}); err != nil || (why == "") != found {
			t.Errorf("%s: %q, error %v", c.Name, why, err)
		}
	}
}

// TestBodiesOfOneHost checks that one host of a workspace leaves places for bodies to its other hosts, and the
// workspace to others.
func TestBodiesOfOneHost(t *testing.T) {
	take := func(n *Network, workspace, host string) bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what has to wait for a place does not get one
		_, _, err := n.room().reserve(ctx, smallBody, atHost(host, []fair.Key{fair.Workspace(workspace)}))
		return err == nil
	}
	n := new(Network)
	of := map[string]int{}
	for _, who := range [][2]string{{"a", "first"}, {"a", "second"}, {"b", "first"}} {
		for range smallBodies {
			if take(n, who[0], who[1]) {
				of[who[0]+" "+who[1]]++
			}
		}
	}
	for who, n := range of {
		if n == 0 || n > smallBodies/2 {
			t.Errorf("%s has %d places", who, n)
		}
	}
	if len(of) != 3 || of["a first"] >= smallBodies/2 {
		t.Errorf("the places are %v", of)
	}
}
