package run

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/client"
)

// answers is a server whose responses are given.
type answers struct {
	next  func(try int) (status int, retryAfter string)
	tries []time.Duration // since the first one
	first time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.first.IsZero() {
		a.first = time.Now()
	}
	a.tries = append(a.tries, time.Since(a.first))
	status, retryAfter := a.next(len(a.tries))
	header := http.Header{"Content-Type": {"application/json"}}
	if retryAfter != "" {
		header.Set("Retry-After", retryAfter)
	}
	return &http.Response{
		StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(`{"message":"x"}`)), Request: r,
	}, nil
}

// TestReportsAreSentAgain checks when a report that was refused is sent again: with growing pauses, not before the
// server wants it, and not if it cannot succeed.
func TestReportsAreSentAgain(t *testing.T) {
	seconds := func(all ...int) (out []time.Duration) {
		for _, n := range all {
			out = append(out, time.Duration(n)*time.Second)
		}
		return out
	}
	for name, c := range map[string]struct {
		status     int
		retryAfter string
		want       []time.Duration // five attempts; the last one succeeds
	}{
		"busy":              {503, "", seconds(0, 1, 3, 7, 15)},
		"rate limit":        {429, "20", seconds(0, 20, 40, 60, 80)},
		"an hour":           {429, "3600", seconds(0, 60, 120, 180, 240)},
		"a shorter pause":   {503, "2", seconds(0, 2, 4, 8, 16)},
		"not found":         {404, "", seconds(0)},
		"no such token":     {401, "20", seconds(0)},
		"validation":        {422, "", seconds(0)},
		"redirect (broken)": {500, "", seconds(0, 1, 3, 7, 15)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &answers{next: func(try int) (int, string) {
					if try == 5 {
						return http.StatusOK, ""
					}
					return c.status, c.retryAfter
				}}
				api, err := client.New("http://status.example.com", "", client.Options{Retries: -1, Transport: server})
				if err != nil {
					t.Fatal(err)
				}
				to := target{api: api, token: "0123456789abcdef0123456789abcdef"}
				err = to.sendUntil(t.Context(), nil, client.SignalReport{Kind: client.SignalSuccess})
				if !slices.Equal(server.tries, c.want) || (err == nil) != (len(c.want) == 5) {
					t.Errorf("attempts after %v: %v", server.tries, err)
				}
			})
		})
	}
}

// TestSpoolKeepsTheOrder checks that after an end which cannot be sent now, no later one is.
func TestSpoolKeepsTheOrder(t *testing.T) {
	s := spool{filepath.Join(t.TempDir(), "spool"), "nightly"}
	for _, id := range []string{"1", "2", "3"} {
		if err := s.add(entry{RunID: id, Monitor: s.monitor, Kind: client.SignalFail}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ down, sent string }{{"2", "12"}, {"2", "2"}, {"", "23"}, {"", ""}} {
		sent := ""
		s.flush(func(e entry) error {
			sent += e.RunID
			if e.RunID == c.down {
				return errors.New("the server is down")
			}
			return nil
		})
		if sent != c.sent {
			t.Errorf("while %q cannot be sent: %s, not %s", c.down, sent, c.sent)
		}
	}
}

// TestCommandThatIgnoresSIGTERM checks that a command which goes on after its timeout and SIGTERM is killed.
func TestCommandThatIgnoresSIGTERM(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap '' TERM; echo ready; exec sleep 60`)
	separate(cmd)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+killAfter+time.Second)
		defer cancel()
		if !(process{timeout: time.Minute}).supervise(cmd, nil, ctx.Done(), false) {
			t.Error("the timeout has not passed")
		}
	})
	cmd.Process.Signal(syscall.SIGINT) // ends it with another signal, if it lives
	cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}

// TestWhichEndsAreLost checks for which answers the end of a run is dropped from the spool: an API token may be
// replaced or get the scope that it lacks, and a server may recover.
func TestWhichEndsAreLost(t *testing.T) {
	for status, lost := range map[int]bool{
		400: true, 401: false, 403: false, 404: true, 422: true, 429: false, 500: false, 503: false,
	} {
		s := spool{filepath.Join(t.TempDir(), "spool"), "nightly"}
		if err := s.add(entry{RunID: "1", Kind: client.SignalFail}); err != nil {
			t.Fatal(err)
		}
		n, refused, _ := s.flush(func(entry) error { return &client.Error{Status: status} })
		left, err := s.entries()
		if err != nil || (n == 1) != lost || (len(left) == 0) != lost || lost && refused == nil {
			t.Errorf("%d: %d lost, %d left, %v, %v", status, n, len(left), refused, err)
		}
	}
}
