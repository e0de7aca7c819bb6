package ping

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// TestRepeatedStarts checks that every start that was not acknowledged is known for repeatTime, also if there are more
// than are kept.
func TestRepeatedStarts(t *testing.T) {
	var u unacknowledgedStarts
	now := time.Unix(1_800_000_000, 0)
	if u.take(1, now) {
		t.Error("a start without another one before is a repetition")
	}
	u.add(1, now)
	if !u.take(1, now.Add(repeatTime)) || u.take(1, now.Add(repeatTime)) {
		t.Error("the next start is a repetition, and the one after it is not")
	}
	u.add(1, now)
	if later := now.Add(repeatTime + 1); u.take(1, later) || u.take(2, later) {
		t.Error("a start is a repetition for longer than repeatTime")
	}
	for i := range uint64(maxUnacknowledged) {
		u.add(i, now.Add(-repeatTime-1))
	}
	if u.add(7, now); !u.take(7, now) || u.take(8, now) {
		t.Error("starts of long ago make others repetitions")
	}
	for i := range uint64(2*maxUnacknowledged + 1) {
		u.add(i, now)
	}
	for i := range uint64(2*maxUnacknowledged + 1) {
		if !u.take(i, now.Add(repeatTime)) {
			t.Fatalf("start %d is not known", i)
		}
	}
	if len(u.at) > maxUnacknowledged || u.take(1, now.Add(repeatTime+1)) {
		t.Error("too many starts are kept, or all are repetitions for too long")
	}
}

// TestStartsThatAreRepeated checks that the start after one that was answered 429 or 503 is doubtful, by a token and by
// a ping key, and no other.
func TestStartsThatAreRepeated(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{RateLimit: 2}, func(w *testServer) {
		key, m, untouched := w.readWriteKey(), w.newMonitor(), w.newMonitor()
		addresses := map[string]string{
			w.monitor.ID: w.monitor.Token, m.ID: key + "/" + m.Slug, untouched.ID: untouched.Token,
		}
		client := 0
		signal := func(id, kind string, want int) {
			w.Helper()
			r := request("POST", Path+addresses[id]+"/"+kind, nil)
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:5000", client)
			rec := httptest.NewRecorder()
			if w.ServeHTTP(rec, r); rec.Code != want {
				w.Fatalf("%s: %d %s, want %d", kind, rec.Code, rec.Body, want)
			}
		}
		doubtful := func(id string, want ...bool) {
			w.Helper()
			got := make([]bool, len(want))
			for i := range want {
				column := w.beside().QueryRow(`SELECT doubtful FROM signals WHERE monitor_id = '` + id +
					`' AND kind = 'start' ORDER BY number LIMIT 1 OFFSET ` + fmt.Sprint(i))
				if err := column.Scan(&got[i]); err != nil {
					w.Fatal(err)
				}
			}
			if !slices.Equal(got, want) {
				w.Errorf("doubtful: %v, want %v", got, want)
			}
		}
		for _, id := range []string{w.monitor.ID, m.ID} {
			client++
			signal(id, "start", 200)
			signal(id, "success", 200)
			signal(id, "start", 429)
			client++
			signal(id, "start", 200)
			signal(id, "success", 200)
			client++
			signal(id, "start", 200)
			doubtful(id, false, true, false)
			repair := w.breakDatabase()
			signal(id, "start", 503)
			client++
			signal(id, "success", 503) // is no start
			repair()
			signal(id, "success", 200)
			client++
			signal(id, "start", 200)
			doubtful(id, false, true, false, true)
		}
		signal(untouched.ID, "start", 200)
		doubtful(untouched.ID, false)
	})
}
