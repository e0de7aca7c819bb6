package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/google/go-cmp/cmp"
)

// serve runs a handler that fails with err.
func serve(t *testing.T, err error) (*httptest.ResponseRecorder, map[string]any, string) {
	t.Helper()
	return serveHandler(t, httptest.NewRequest("GET", "/x?secret=1", nil),
		func(http.ResponseWriter, *http.Request) error { return err })
}

func serveHandler(t *testing.T, r *http.Request, h Handler) (*httptest.ResponseRecorder, map[string]any, string) {
	t.Helper()
	var log strings.Builder
	w := httptest.NewRecorder()
	Handle(slog.New(slog.NewTextHandler(&log, nil)), h).ServeHTTP(w, r)
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("the body: %v in %s", err, w.Body)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %s", got)
	}
	return w, body, log.String()
}

// TestProblemsArePreferred checks that errors are sent as data to clients that ask for it, and to no others.
func TestProblemsArePreferred(t *testing.T) {
	var bad kernel.ValidationError
	bad.Add("until", "must be after the %s, and in %d days", kernel.Name("from"), 24*time.Hour/time.Hour)
	bad.Add("title", kernel.Required)
	for preference, preferred := range map[string]bool{
		"": false, "problem": false, "problems": true, "respond-async, Problems": true,
	} {
		r := httptest.NewRequest("GET", "/x", nil)
		if preference != "" {
			r.Header.Add("Prefer", "wait=10")
			r.Header.Add("Prefer", preference)
		}
		_, body, _ := serveHandler(t, r, func(http.ResponseWriter, *http.Request) error { return &bad })
		want := map[string]any{
			"message": "The title field is required. (And 1 more error.)", "code": "invalid",
			"errors": map[string]any{
				"until": []any{"The until must be after the from, and in 24 days."},
				"title": []any{"The title field is required."},
			},
		}
		if preferred {
			want["problems"] = []any{
				map[string]any{"field": "title", "code": "field is required"},
				map[string]any{
					"field": "until", "code": "must be after the %s, and in %d days",
					"args": []any{map[string]any{"field": "from"}, 24.0},
				},
			}
		}
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("Prefer: %s: %s", preference, diff)
		}
	}
}

// twoWrong returns an error of two fields.
func twoWrong() error {
	var bad kernel.ValidationError
	bad.Add("b", "B is wrong.")
	bad.Add("a", "A is wrong.")
	return &bad
}

var failedAt = time.Date(2026, 11, 21, 4, 0, 0, 500, time.UTC)

// failures are errors, and the responses to them.
var failures = []struct {
	name   string
	err    error
	status int
	header map[string]string
	body   map[string]any
	logged bool
}{
	{"invalid", twoWrong(), 422, nil, map[string]any{"message": "A is wrong. (And 1 more error.)", "code": "invalid",
		"errors": map[string]any{"a": []any{"A is wrong."}, "b": []any{"B is wrong."}}}, false},
	{"not found", kernel.ErrNotFound, 404, nil, map[string]any{"message": "Not found."}, false},
	{"unauthenticated", kernel.ErrUnauthenticated, 401, map[string]string{"WWW-Authenticate": "Bearer"},
		map[string]any{"message": "Unauthenticated."}, false},
	{"forbidden", &Forbidden{kernel.ScopeRead, kernel.ScopeWrite}, 403, nil,
		map[string]any{"message": "This token has the scope read; this call needs write.", "code": "forbidden"},
		false},
	{"method", &MethodNotAllowed{[]string{"GET", "HEAD"}}, 405, map[string]string{"Allow": "GET, HEAD"},
		map[string]any{"message": "Method not allowed.", "code": "method_not_allowed"}, false},
	{"too many", &TooMany{Now: failedAt, Reset: failedAt.Add(1500 * time.Millisecond)}, 429,
		map[string]string{"Retry-After": "2", "X-RateLimit-Reset": fmt.Sprint(failedAt.Unix() + 2)},
		map[string]any{"message": "Too many requests.", "code": "rate_limited"}, false},
	{"too many until now", &TooMany{Now: failedAt, Reset: failedAt}, 429, map[string]string{"Retry-After": "1"},
		map[string]any{"message": "Too many requests.", "code": "rate_limited"}, false},
	{"too large", &TooLarge{MaxBody}, 413, nil,
		map[string]any{"message": "The request body may not be larger than 1048576 bytes.", "code": "too_large"},
		false},
	{"in progress", kernel.ErrInProgress, 409, nil,
		map[string]any{
			"message": "A request with this Idempotency-Key is still being answered.", "code": "in_progress",
		}, false},
	{"busy", kernel.ErrBusy, 503, map[string]string{"Retry-After": "5"},
		map[string]any{"message": "The service cannot do this right now. Please try again.", "code": "busy"},
		false},
	{"unknown outcome", kernel.ErrUnknownOutcome, 503, map[string]string{"Retry-After": "5"},
		map[string]any{"code": "unknown_outcome",
			"message": "The change may or may not have been saved: the database did not confirm it. Please " +
				"check, or repeat the request, a POST with the same Idempotency-Key."}, false},
	{"out of time", context.DeadlineExceeded, 503, map[string]string{"Retry-After": "5"},
		map[string]any{"message": "The service cannot do this right now. Please try again.", "code": "busy"},
		false},
}

func TestFailures(t *testing.T) {
	for _, tt := range failures {
		for _, err := range []error{
			tt.err, fmt.Errorf("password=hunter2: %w", tt.err), errors.Join(errors.New("hunter2"), tt.err),
		} {
			t.Run(tt.name, func(t *testing.T) {
				w, body, log := serve(t, err)
				if w.Code != tt.status {
					t.Errorf("status %d, want %d", w.Code, tt.status)
				}
				if diff := cmp.Diff(tt.body, body); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
				for name, want := range tt.header {
					if got := w.Header().Get(name); got != want {
						t.Errorf("the header: %s is %q, want %q", name, got, want)
					}
				}
				if (log != "") != tt.logged {
					t.Errorf("logged: %q", log)
				}
			})
		}
	}
}

// TestInternalErrors checks that an unknown error is answered 500, and that only the log has its cause.
func TestInternalErrors(t *testing.T) {
	for name, h := range map[string]Handler{
		"an error": func(http.ResponseWriter, *http.Request) error { return errors.New("hunter2") },
		"a panic":  func(http.ResponseWriter, *http.Request) error { panic("hunter2") },
		"a cancellation not by the client": func(http.ResponseWriter, *http.Request) error {
			return fmt.Errorf("hunter2: %w", context.Canceled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, body, log := serveHandler(t, httptest.NewRequest("GET", "/x?secret=1", nil), h)
			if w.Code != 500 || body["message"] != "Something went wrong on our side." || body["code"] != "internal" ||
				len(body) != 3 {
				t.Errorf("the response to an internal error: %d %v", w.Code, body)
			}
			id, _ := body["id"].(string)
			if !strings.HasPrefix(id, "err_") || !strings.Contains(log, "id="+id) || !strings.Contains(log, "hunter2") {
				t.Errorf("the id is %q, the log %q", id, log)
			}
			if strings.Contains(log, "secret") {
				t.Errorf("the query is in the log: %s", log)
			}
		})
	}
	_, first, _ := serve(t, errors.New("x"))
	_, second, _ := serve(t, errors.New("x"))
	if first["id"] == second["id"] {
		t.Error("two errors have the same id")
	}
}

func TestClientGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
	_, _, log := serveHandler(t, r, func(http.ResponseWriter, *http.Request) error {
		return fmt.Errorf("x: %w", ctx.Err())
	})
	if log != "" {
		t.Errorf("the log has an error: %s", log)
	}
}

func TestAbortedHandlersStayAborted(t *testing.T) {
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("recovered %v", got)
		}
	}()
	Handle(slog.New(slog.DiscardHandler), func(http.ResponseWriter, *http.Request) error {
		panic(http.ErrAbortHandler)
	}).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}

func TestSentence(t *testing.T) {
	var bad kernel.ValidationError
	bad.Add("z", "Last.")
	if got := Sentence(&bad); got != "Last." {
		t.Errorf("one: %s", got)
	}
	bad.Add("a", "First.")
	bad.Add("a", "Second.")
	if got := Sentence(&bad); got != "First. (And 2 more errors.)" {
		t.Errorf("three: %s", got)
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer x": "x", "bearer x": "x", "bEARER  x ": "x", "Bearer": "", "Bearer ": "", "Basic x": "", "x": "",
		"":           "",
		"Bearer a b": "", "Bearer\tx": "", "Bearer x\x7f": "",
		"Bearer " + strings.Repeat("x", maxSecret):   strings.Repeat("x", maxSecret),
		"Bearer " + strings.Repeat("x", maxSecret+1): "",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		got, ok := Bearer(r)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q gives %q, %v", header, got, ok)
		}
	}
}

// TestOneAuthorization: of two headers, which a proxy and a program may read differently, none counts.
func TestOneAuthorization(t *testing.T) {
	for n, want := range []bool{false, true, false, false} {
		r := httptest.NewRequest("GET", "/", nil)
		for range n {
			r.Header.Add("Authorization", "Bearer x")
		}
		if _, ok := Bearer(r); ok != want {
			t.Errorf("a request with %d headers has a token: %v", n, ok)
		}
	}
}

// FuzzBearer checks that every accepted token can be looked up.
func FuzzBearer(f *testing.F) {
	for _, header := range []string{"Bearer aw_x", "bearer  x", "Basic x", "Bearer", "Bearer \xff", "BEARER x\x00"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Header: http.Header{"Authorization": {header}}}
		secret, ok := Bearer(r)
		if !ok {
			return
		}
		if secret == "" || len(secret) > maxSecret || !strings.HasSuffix(strings.TrimRight(header, " "), secret) ||
			!strings.EqualFold(header[:7], "bearer ") {
			t.Errorf("%q gives %q", header, secret)
		}
		for i := range len(secret) {
			if secret[i] <= ' ' || secret[i] > '~' {
				t.Errorf("%q gives %q", header, secret)
			}
		}
	})
}

func TestQuery(t *testing.T) {
	q := ParseQuery("a=7&b=true&c=007&d=&e=1&e=2")
	flag := q.Flag("b")
	n := q.Integer("a", 1, 1, 9)
	if n != 7 || flag == nil || !*flag || q.Flag("x") != nil ||
		q.Integer("x", 3, 1, 9) != 3 || q.Integer("c", 1, 1, 9) != 7 {
		t.Error("valid parameters are not read")
	}
	if err := q.Check(); err != nil {
		t.Errorf("good parameters: %v", err)
	}
	q.Integer("d", 1, 1, 9)
	q.Integer("e", 1, 1, 9)
	q.Integer("a", 1, 8, 9)
	q.Flag("c")
	want := map[string][]string{
		"a": {"The a must be a whole number from 8 to 9."}, "c": {"The c must be true or false."},
		"d": {"The d must be a whole number from 1 to 9."}, "e": {"The e is given more than once."},
	}
	if diff := cmp.Diff(want, messages(t, q.Check())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// messages returns the messages of a *ValidationError by field.
func messages(t *testing.T, err error) map[string][]string {
	t.Helper()
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) {
		t.Fatalf("not a *ValidationError: %v", err)
	}
	return bad.Messages()
}

func TestChoices(t *testing.T) {
	for raw, want := range map[string][]kernel.Impact{
		"": nil, "x=major": nil, "f=major": {"major"}, "f=minor,none,minor": {"minor", "none"},
		"f=none%2Ccritical": {"none", "critical"},
	} {
		q := ParseQuery(raw)
		if diff := cmp.Diff(want, Choices(q, "f", kernel.Impacts)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", raw, diff)
		}
		if err := q.Check(); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
	const wrong = "The f must be one or several of: none, minor, major, critical."
	for raw, complaint := range map[string]string{
		"f=": wrong, "f=x": wrong, "f=Major": wrong, "f=major,": wrong, "f=,major": wrong, "f=minor,,major": wrong,
		"f=minor, major": wrong,
		"f=minor%20":     wrong, "f=minor&f=major": "The f is given more than once.",
	} {
		q := ParseQuery(raw)
		if got := Choices(q, "f", kernel.Impacts); got != nil {
			t.Errorf("%q is read as %v", raw, got)
		}
		if diff := cmp.Diff(map[string][]string{"f": {complaint}}, messages(t, q.Check())); diff != "" {
			t.Errorf("%q (-want +got):\n%s", raw, diff)
		}
	}
}

func TestMarshalLeavesTextAsItIs(t *testing.T) {
	got, err := jsonobject.Marshal(map[string]string{"a": "<b>&'\" é\u2028"})
	if want := "{\"a\":\"<b>&'\\\" é\\u2028\"}\n"; err != nil || string(got) != want {
		t.Errorf("the JSON: %s, %v", got, err)
	}
}
