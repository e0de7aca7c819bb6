package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/allswell/allswell/test/binary"
)

const (
	reporters       = 2
	checkedReports  = 150 // the last acknowledged ones of each reporter, which are far fewer than are kept
	fetchedReports  = 300
	reportsPerFetch = 100
)

// reportKinds are what a run of a reporter sends, one after the other.
var reportKinds = []string{"start", "log", "success", "7"}

// reporter is a job that reports runs. Every second one fails.
type reporter struct {
	id, address string
	acked       []report
	known       bool // all reports were answered
}

// report is a signal of a reporter.
type report struct{ Run, Kind string }

// createReporters creates the monitors of the reporters. The last one signals with the ping key of a page and its slug.
func (w *environment) createReporters() {
	w.t.Helper()
	for n := range reporters {
		var made binary.Data[struct{ ID, Token string }]
		w.api.Must(w.t, "POST", "/api/v1/monitors", params{"name": fmt.Sprintf("Reporter %d", n), "interval": 3600},
			&made)
		w.reporters = append(w.reporters, &reporter{id: made.Data.ID, address: made.Data.Token, known: true})
	}
	var key binary.Data[struct{ Key string }]
	w.api.Must(w.t, "POST", "/api/v1/pages", params{"name": "Reports", "slug": "reports", "auto_incidents": "off"}, nil)
	w.api.Must(w.t, "PATCH", "/api/v1/pages/reports/ping-key", params{"access": "ping_only"}, &key)
	last := w.reporters[reporters-1]
	w.api.Must(w.t, "PATCH", "/api/v1/monitors/"+last.id, params{"page": "reports"}, nil)
	last.address = fmt.Sprintf("%s/reporter-%d", key.Data.Key, reporters-1)
}

// report sends the signals of one run after the other.
func (l *load) report(ctx context.Context, r *reporter) {
	for n := 0; ctx.Err() == nil; n++ {
		run := uuid.NewString()
		for i, kind := range reportKinds {
			if i == 2+n%2 {
				continue // it has one end
			}
			status, err := l.w.api.Do(ctx, "POST", "/api/v1/heartbeat/"+r.address+"/"+kind+"?rid="+run, run+kind, nil)
			switch {
			case err == nil && status == http.StatusOK:
				r.acked, r.known = append(r.acked, report{run, kind}), true
				l.w.signals.Add(1)
				l.progress.Add(1)
			case err == nil && status != http.StatusServiceUnavailable:
				l.w.t.Errorf("a signal was answered %d", status)
				return
			default:
				r.known = false
				pause(ctx)
			}
		}
	}
}

// storedReport is a signal as the API shows it.
type storedReport struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	ExitCode *int   `json:"exit_code"`
	RunID    string `json:"run_id"`
	Size     int    `json:"body_size"`
}

// checkReports checks that the last acknowledged signals of a reporter are stored once, with their output, in the order
// in which they were sent, and that the monitor is what the last one says.
func (w *environment) checkReports(r *reporter) {
	w.t.Helper()
	got, newest := w.fetchReports(r)
	at := 0
	for _, want := range r.acked[max(0, len(r.acked)-checkedReports):] {
		next := slices.Index(got[at:], want)
		if next < 0 {
			w.t.Errorf("%s of %s was acknowledged, and is not stored, or not in its order", want.Kind, want.Run)
			return
		}
		at += next + 1
		if slices.Contains(got[at:], want) {
			w.t.Errorf("%s of %s is stored twice", want.Kind, want.Run)
		}
	}
	if !r.known || len(r.acked) == 0 {
		return
	}
	w.checkOutput(r, newest, r.acked[len(r.acked)-1])
	state := "up"
	for _, s := range slices.Backward(r.acked) {
		if s.Kind == "7" || s.Kind == "success" {
			state = map[string]string{"7": "down", "success": "up"}[s.Kind]
			break
		}
	}
	var m binary.Data[monitorState]
	w.api.Must(w.t, "GET", "/api/v1/monitors/"+r.id, nil, &m)
	if m.Data.State != state {
		w.t.Errorf("%s is %s, and its last signal says %s", r.id, m.Data.State, state)
	}
}

// fetchReports returns the last stored signals of a reporter, oldest first, and the id of the newest.
func (w *environment) fetchReports(r *reporter) (got []report, newest string) {
	w.t.Helper()
	for cursor := ""; len(got) < fetchedReports; {
		var page struct {
			Data []storedReport
			Meta struct {
				Next string `json:"next_cursor"`
			}
		}
		w.api.Must(w.t, "GET", fmt.Sprintf("/api/v1/monitors/%s/pings?limit=%d%s", r.id, reportsPerFetch, cursor), nil,
			&page)
		for _, s := range page.Data {
			kind := s.Kind
			if s.ExitCode != nil {
				kind = fmt.Sprint(*s.ExitCode)
			}
			if want := len(s.RunID + kind); s.Size != want+len(`""`) {
				w.t.Errorf("%s of %s has %d bytes of output", kind, s.RunID, s.Size)
			}
			if newest == "" {
				newest = s.ID
			}
			got = append(got, report{s.RunID, kind})
		}
		if cursor = "&cursor=" + page.Meta.Next; page.Meta.Next == "" {
			break
		}
	}
	slices.Reverse(got)
	return got, newest
}

// checkOutput checks what a signal brought.
func (w *environment) checkOutput(r *reporter, id string, s report) {
	w.t.Helper()
	var body binary.Data[struct{ Body string }]
	w.api.Must(w.t, "GET", "/api/v1/monitors/"+r.id+"/pings/"+id+"/body", nil, &body)
	if want, _ := json.Marshal(s.Run + s.Kind); body.Data.Body != string(want) {
		w.t.Errorf("the output of %s is %s, want %s", id, body.Data.Body, want)
	}
}
