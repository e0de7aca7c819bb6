package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/allswell/allswell/internal/shared/clientaddr"
)

// TestAccessLogIsLikeOtherLines checks that lines of the access log are what the handlers of slog write, whatever a
// client sends.
func TestAccessLogIsLikeOtherLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "at")).Add(time.Duration(rapid.IntRange(0,
			999_999).Draw(t, "ns")))
		took := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "took"))
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"", " ", "GET", "/a=b", `/a"b\`, "<&>", "\x7f\xff", "a\u2028b",
		}))
		a := answered{
			request: &http.Request{
				Method: text.Draw(t, "method"), URL: &url.URL{Path: text.Draw(t, "path")},
				RemoteAddr: rapid.OneOf(text, rapid.SampledFrom([]string{
					"192.0.2.1:80", "[2001:db8::1%eth0]:0", "[::ffff:192.0.2.1]:1",
				})).Draw(t, "client"),
			},
			status: rapid.IntRange(100, 599).Draw(t, "status"), bytes: rapid.Int64Min(0).Draw(t, "bytes"),
			id: "0123456789abcdefghij", began: at.Add(-took), took: took,
		}
		level := rapid.SampledFrom([]slog.Level{slog.LevelDebug, slog.LevelInfo}).Draw(t, "level")
		inJSON := rapid.Bool().Draw(t, "json")
		var got, want bytes.Buffer
		(&accessLog{&got, slog.LevelDebug, inJSON}).write(level, a)
		options := &slog.HandlerOptions{Level: slog.LevelDebug}
		var handler slog.Handler = slog.NewTextHandler(&want, options)
		if inJSON {
			handler = slog.NewJSONHandler(&want, options)
		}
		client := a.request.RemoteAddr
		if addr := clientaddr.Of(a.request); addr.IsValid() {
			client = addr.String()
		}
		r := slog.NewRecord(at, level, "request", 0)
		r.AddAttrs(slog.String("method", a.request.Method[:min(len(a.request.Method), maxLoggedMethod)]),
			slog.String("path", loggedPath(a.request.URL.Path)),
			slog.Int("status", a.status), slog.Int64("bytes", a.bytes),
			slog.Duration("took", took.Round(time.Microsecond)),
			slog.String("client", client), slog.String("id", a.id))
		handler.Handle(context.Background(), r)
		if inJSON { // control characters can be escaped in two ways
			var a, b any
			err := errors.Join(json.Unmarshal(got.Bytes(), &a), json.Unmarshal(want.Bytes(), &b))
			if err != nil || !reflect.DeepEqual(a, b) {
				t.Fatalf("got  %s\nwant %s\n%v", &got, &want, err)
			}
		} else if got.String() != want.String() {
			t.Fatalf("got  %s\nwant %s", &got, &want)
		}
	})
}

// counter counts calls of Write.
type counter struct {
	mu     sync.Mutex
	text   bytes.Buffer
	writes int
}

func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	return c.text.Write(p)
}

// written returns the number of calls, and what they wrote.
func (c *counter) written() (writes int, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes, c.text.String()
}

func TestAccessLogIsBuffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out counter
		log := Config{}.Logger(&out)
		access := newAccessLog(Config{}, log)
		line := answered{request: httptest.NewRequest("GET", "/status/acme", nil), status: http.StatusOK}
		write := func(n int) {
			for range n {
				access.write(slog.LevelInfo, line)
			}
		}
		write(10)
		if writes, _ := out.written(); writes != 0 {
			t.Error("a line was written immediately")
		}
		time.Sleep(logDelay)
		synctest.Wait()
		if writes, text := out.written(); writes != 1 || strings.Count(text, "\n") != 10 {
			t.Errorf("after %s, %d writes had %q", logDelay, writes, text)
		}
		write(3)
		log.Warn("a warning")
		writes, text := out.written()
		if writes != 2 || !strings.HasSuffix(text, "msg=\"a warning\"\n") || strings.Count(text, "\n") != 14 {
			t.Errorf("with a warning, %d writes had %q", writes, text)
		}
		write(2000)
		if writes, _ := out.written(); writes < 4 || writes > 2000*200/maxBufferedLog+3 {
			t.Errorf("%d writes for 2,000 lines", writes)
		}
		flushAccessLog(log)
		if _, text := out.written(); strings.Count(text, "\n") != 2014 {
			t.Error("lines are missing")
		}
		time.Sleep(time.Minute)
	})
}

// TestLogWithAttributesIsImmediate checks that loggers made of the logger do not leave lines in the buffer.
func TestLogWithAttributesIsImmediate(t *testing.T) {
	var out bytes.Buffer
	log := Config{}.Logger(&out)
	log.With("a", 1).Info("first")
	log.WithGroup("g").Info("second", "b", 2)
	if text := out.String(); !strings.Contains(text, "msg=first a=1") || !strings.Contains(text, "msg=second g.b=2") {
		t.Errorf("the log: %s", text)
	}
}

func TestAccessLogHasItsLevel(t *testing.T) {
	line := answered{request: httptest.NewRequest("GET", "/", nil)}
	for _, test := range []struct{ level, line slog.Level }{
		{slog.LevelWarn, slog.LevelInfo}, {slog.LevelInfo, slog.LevelDebug},
	} {
		var out bytes.Buffer
		(&accessLog{out: &out, level: test.level}).write(test.line, line)
		if out.Len() != 0 {
			t.Errorf("a line of level %s is written at level %s", test.line, test.level)
		}
	}
	(&accessLog{}).write(slog.LevelInfo, line)                                            // no log
	newAccessLog(Config{}, slog.New(slog.NewTextHandler(io.Discard, nil))).write(0, line) // a log of somebody else
}
