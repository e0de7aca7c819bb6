package ping

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// Answers that several styles have.
const (
	busyAnswer    = "503 7 The service cannot do this right now. Please try again."
	refusedAnswer = "403  There is no such monitor, and the ping key may not create one."
	takenAnswer   = "409  Another monitor of the workspace, which is not on this page, has the slug."
	fullAnswer    = "403  The page has too many monitors for pings to create more."
	hastyAnswer   = "429 60 Too many monitors of the page were created in the last minute. Please try again."
	unreadAnswer  = "The parameters cannot be read, or contradict each other. Nothing was recorded."
	tooManyAnswer = "429 60 Too many requests: at most 3 pings a minute from one address. ALLSWELL_PING_EXEMPT " +
		"exempts " +
		"networks."
)

// textAnswers are the answers of a style that answers with plain text.
func textAnswers(recorded, created, taken string) []string {
	return []string{
		recorded, created, "404  not found", "405  method not allowed", busyAnswer, "400  " + unreadAnswer,
		"429 60 rate limit exceeded", refusedAnswer, taken, fullAnswer, hastyAnswer,
	}
}

// styleAnswers are the answers of each style: its status, its text and, if it asks for a repetition, when.
var styleAnswers = map[string]struct {
	style *style
	want  []string // a JSON answer without what it has around its text
}{
	"own": {ownStyle,
		[]string{
			`200  {"ok":true}`, `201  {"ok":true}`, "404  Not found.", "405  Method not allowed.", busyAnswer,
			"422  " + unreadAnswer, tooManyAnswer, refusedAnswer, takenAnswer, fullAnswer, hastyAnswer,
		}},
	"Healthchecks": {healthchecksStyle, textAnswers("200  OK", "201  Created", "409  ambiguous slug")},
	"Uptime Kuma": {kumaStyle,
		[]string{
			`200  {"ok":true}`, "", "404  Monitor not found or not active.", "405  Method not allowed.", busyAnswer,
			"400  " + unreadAnswer,
			"429 60 Too many requests from one address. Please try again in a minute.", "", "", "", "",
		}},
	"Cronitor":          {cronitorStyle, textAnswers("200  OK", "200  OK", takenAnswer)},
	"Dead Man's Snitch": {snitchStyle, textAnswers("202  Got it, thanks!", "202  Got it, thanks!", takenAnswer)},
}

// TestAnswersOfStyles checks each answer of each style.
func TestAnswersOfStyles(t *testing.T) {
	s := New(Config{RateLimit: 3})
	for name, c := range styleAnswers {
		answers := []*answer{
			c.style.recorded, c.style.created, c.style.unknown, c.style.badMethod, c.style.unavailable,
			c.style.unreadable,
			cmp.Or(c.style.tooMany, s.tooMany), c.style.refused, c.style.taken, c.style.full, c.style.hasty,
		}
		for i, a := range answers {
			if a == nil {
				if c.want[i] != "" {
					t.Errorf("%s: no answer %d", name, i)
				}
				continue
			}
			for _, method := range []string{"GET", "HEAD", "POST"} {
				rec := httptest.NewRecorder()
				respond(rec, request(method, "/", nil), a)
				length := rec.Header().Get("Content-Length")
				if length != fmt.Sprint(len(a.body)) || (rec.Body.Len() == 0) != (method == "HEAD") {
					t.Errorf("%s: answer %d to %s has the length %s, and %d bytes", name, i, method, length,
						rec.Body.Len())
				}
				body := string(a.body)
				for _, around := range []string{`{"message":"`, `{"ok":false,"msg":"`} {
					if rest, json := strings.CutPrefix(body, around); json {
						body = strings.TrimSuffix(rest, `"}`)
					}
				}
				if got := fmt.Sprintf("%d %s %s", rec.Code, rec.Header().Get("Retry-After"), body); got != c.want[i] {
					t.Errorf("%s: answer %d is %q, want %q", name, i, got, c.want[i])
				}
			}
		}
		checkStyle(t, name, c.style)
	}
}

func TestAnswersKeepTheTimeToWait(t *testing.T) {
	s := New(Config{RateLimit: 3})
	rec := httptest.NewRecorder()
	rec.Header()["Retry-After"] = []string{"17"}
	if respond(rec, request("GET", "/", nil), s.tooMany); rec.Header().Get("Retry-After") != "17" {
		t.Errorf("the time to wait is replaced: %v", rec.Header())
	}
}

// checkStyle checks which answer a style has for each result, and its header fields.
func checkStyle(t *testing.T, name string, style *style) {
	t.Helper()
	for result, want := range map[store.PingResult]*answer{
		store.PingRecorded: style.recorded, store.PingUnknown: style.unknown,
		store.PingFailed: style.unavailable, store.PingResult(77): style.unavailable,
	} {
		if got := style.of(result); got != want {
			t.Errorf("%s: the result %d is answered %d", name, result, got.status)
		}
	}
	h := http.Header{}
	style.setHeaders(h)
	own, json := name == "Healthchecks", name == "own" || name == "Uptime Kuma"
	if h.Get("Cache-Control") != "no-store" || (h.Get("Access-Control-Allow-Origin") == "*") != own ||
		(h.Get("Ping-Body-Limit") == "100000") != own ||
		strings.HasPrefix(h.Get("Content-Type"), "application/json") != json ||
		strings.HasPrefix(h.Get("Content-Type"), "text/plain") == json {
		t.Errorf("%s: %v", name, h)
	}
}

// TestKeptOutput checks how much of a body is kept at its limit and around it, in pieces of several sizes, and that
// what is left begins with a whole character.
func TestKeptOutput(t *testing.T) {
	for _, unit := range []string{"a", "ü", "€", "🦊", "\x80"} {
		for _, size := range []int{
			0, 1, monitor.MaxOutput - 1, monitor.MaxOutput, monitor.MaxOutput + 1, 2*monitor.MaxOutput - 1,
			2 * monitor.MaxOutput, 3*monitor.MaxOutput + 7,
		} {
			whole := strings.Repeat(unit, size/len(unit)+1)
			whole = whole[len(whole)-size:]
			for _, piece := range []int{997, 4096, size + 1} {
				var o output
				for rest := whole; rest != ""; {
					n := min(piece, len(rest))
					if wrote, err := o.Write([]byte(rest[:n])); wrote != n || err != nil {
						t.Fatalf("bytes written: %d, %v", wrote, err)
					}
					if rest = rest[n:]; len(o.kept) >= 2*monitor.MaxOutput {
						t.Fatalf("%d bytes are held", len(o.kept))
					}
				}
				o.trim()
				lost := max(0, size-len(o.kept))
				if o.cut != (size > monitor.MaxOutput) || !strings.HasSuffix(whole, string(o.kept)) ||
					o.cut && lost-(size-monitor.MaxOutput) > utf8.UTFMax-1 || !o.cut && lost > 0 {
					t.Errorf("%d bytes of %q: %d are kept, cut: %t", size, unit, len(o.kept), o.cut)
				}
				if o.cut && unit != "\x80" && !utf8.Valid(o.kept) {
					t.Errorf("%d bytes of %q: half a character is kept", size, unit)
				}
			}
		}
	}
}

// TestRoomForOutputs checks that a client gets as much memory as it leaves free, to the byte, and gets it again.
func TestRoomForOutputs(t *testing.T) {
	from := func(address string) *http.Request {
		r := request("POST", "/", nil)
		r.RemoteAddr = address
		return r
	}
	var o outputs
	if _, ok := o.reserve(from("192.0.2.1:1"), maxOutputs+1); ok {
		t.Error("more than there is was given")
	}
	end, ok := o.reserve(from("192.0.2.1:1"), maxOutputs/2)
	if !ok {
		t.Fatal("half of it was refused")
	}
	if _, ok := o.reserve(from("192.0.2.1:9"), 1); ok {
		t.Error("a client has more than it leaves free")
	}
	if _, ok := o.reserve(from("192.0.2.2:1"), maxOutputs/2+1); ok {
		t.Error("more than is free was given")
	}
	other, ok := o.reserve(from("192.0.2.2:1"), maxOutputs/2)
	if !ok || o.total != maxOutputs {
		t.Errorf("the other half: %t, %d held", ok, o.total)
	}
	end()
	other()
	if o.total != 0 || len(o.held) != 0 {
		t.Errorf("%d held by %v after all is given back", o.total, o.held)
	}
}

// TestTracesOfRefusedSignals checks what is kept of signals that are not recorded: of a success that its job is alive,
// of a start that its job will repeat it, and nothing of what is not valid.
func TestTracesOfRefusedSignals(t *testing.T) {
	token := kernel.NewPingToken()
	for _, c := range []struct {
		path       string
		limited    bool
		status     int
		alive, run bool
	}{
		{"success", false, 503, true, false}, {"0", false, 503, true, false}, {"fail", false, 503, false, false},
		{"log", false, 503, false, false},
		{"start", false, 503, false, true}, {"", false, 503, true, false}, {"start?rid=x", false, 422, false, false},
		{"success?rid=x", false, 422, false, false},
		{"success", true, 429, true, false}, {"fail", true, 429, false, false}, {"start", true, 429, false, true},
		{"", true, 429, true, false},
		{"start?rid=x", true, 429, false, false}, {"success?rid=x", true, 429, false, false},
		{"none", true, 429, false, false},
	} {
		s := New(Config{RateLimit: 1}) // not started: it knows no tokens yet, and records nothing
		serve := func(path string) int {
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, request("POST", path, nil))
			return rec.Code
		}
		if c.limited {
			serve(Path + "x")
		}
		status := serve(Path + token + "/" + c.path)
		saved := s.batcher.rejected.take()
		alive := len(saved) == 1 && saved[0] == token
		run := s.unacknowledged.take(store.ShortTokenHash(token), time.Now())
		if status != c.status || alive != c.alive || run != c.run || len(saved) > 1 {
			t.Errorf("%s, over the limit: %t: %d, a sign of life %t, repeated %t", c.path, c.limited, status, alive,
				run)
		}
	}
}

// TestSignalOfNoAddress checks that a signal from an unknown address has none, and that one from a known address has
// it.
func TestSignalOfNoAddress(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		for remote, want := range map[string]string{
			"@": "", "192.0.2.7:1": "192.0.2.7", "[2001:db8::1]:1": "2001:db8::1",
		} {
			m := w.newMonitor()
			r := request("POST", Path+m.Token+"/fail", strings.NewReader("it broke"))
			r.RemoteAddr = remote
			if rec := w.serve(r); rec.Code != 200 {
				w.Errorf("%s: %d", remote, rec.Code)
			}
			if all := w.signals(m.ID); len(all) != 1 || all[0].Address != want || string(all[0].Output) != "it broke" {
				w.Errorf("%s: %+v", remote, all)
			}
		}
	})
}
