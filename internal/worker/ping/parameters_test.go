package ping

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// TestLimitOfParameters checks how each service's path is read with as many parameters as are read, and with one more.
func TestLimitOfParameters(t *testing.T) {
	key, token := strings.Repeat("k", kernel.PingKeyLength), strings.Repeat("t", kernel.PingTokenLength)
	for path, want := range map[string]*answer{
		// of a plain ping, only what it would create
		Path + token + "/fail": ownStyle.unreadable, Path + key + "/job/start": ownStyle.unreadable,
		Path + key + "/job": nil,
		"/ping/" + token:    badHealthchecksRun, "/ping/" + key + "/job/fail": badHealthchecksRun,
		"/api/push/" + token: kumaStyle.unreadable,
		"/p/" + key + "/job": cronitorStyle.unreadable, "/snitch/" + token: snitchStyle.unreadable,
	} {
		for n, over := range map[int]bool{
			1: false, maxParameters - 1: false, maxParameters: false, maxParameters + 1: true,
		} {
			query := strings.TrimSuffix(strings.Repeat("x=1&", n), "&")
			c := readContact(&http.Request{URL: &url.URL{Path: path}, ContentLength: 0}, query)
			invalid := want
			if !over {
				invalid = nil
			}
			if c.invalid != invalid || c.unreadable != over {
				t.Errorf("%s with %d parameters: unreadable %t, %v", path, n, c.unreadable, c.invalid)
			}
		}
	}
}

// leaving fails after a while, as the body of a client that disconnects does.
type leaving struct{ left int }

func (b *leaving) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("the client is gone")
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

func (b *leaving) Close() error { return nil }

// TestFormsThatEndEarly checks that a form that lacks a part, or that is longer than what is read, is not taken for the
// whole form.
func TestFormsThatEndEarly(t *testing.T) {
	token := kernel.NewPingToken()
	for what, c := range map[string]struct {
		body   io.ReadCloser
		status int
	}{
		"nothing": {&leaving{0}, 400}, "a part": {&leaving{100}, 400},
		"too much": {io.NopCloser(strings.NewReader(strings.Repeat("x", maxForm+1))), 400},
		// it is not started
		"as much as is read": {io.NopCloser(strings.NewReader("m=" + strings.Repeat("x", maxForm-2))), 503},
	} {
		s := New(Config{})
		r := request("POST", snitchPath+token, nil)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body, r.ContentLength = c.body, -1
		rec := httptest.NewRecorder()
		if s.ServeHTTP(rec, r); rec.Code != c.status {
			t.Errorf("%s: %d %s", what, rec.Code, rec.Body)
		}
		if s.outputs.total != 0 {
			t.Errorf("%s: %d bytes are not given back", what, s.outputs.total)
		}
	}
}

// TestRoomForPendingSignals checks that a signal joins a batch if fewer than the limit of pings and signals wait, and
// no other.
func TestRoomForPendingSignals(t *testing.T) {
	b := newBatcher("a", slog.New(slog.DiscardHandler))
	b.accepting, b.maxPending = true, 2
	for n := range 4 {
		_, ok := b.joinSignal(store.NewSignal{Token: "t"}, time.Unix(1e9, 0))
		if ok != (n < 2) || b.pending != min(n+1, 2) {
			t.Errorf("signal %d: %t, %d pending", n+1, ok, b.pending)
		}
	}
	b.accepting, b.pending = false, 0
	if _, ok := b.joinSignal(store.NewSignal{Token: "t"}, time.Unix(1e9, 0)); ok {
		t.Error("a signal joins a batch after the end")
	}
}
