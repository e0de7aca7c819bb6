package failover

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// receiver receives webhooks and records them in order.
type receiver struct {
	url string

	mu       sync.Mutex
	receipts []receipt
	seen     map[string]bool // by webhook-id
	repeats  int
}

// receipt is a webhook that arrived for the first time.
type receipt struct {
	Type string
	Data struct {
		Incident *struct{ ID, Title string }
		Update   *struct{ ID string }
	}
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", testAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{url: "http://" + l.Addr().String() + "/", seen: map[string]bool{}}
	server := &http.Server{Handler: r}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return r
}

func (r *receiver) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	var got receipt
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id := req.Header.Get("webhook-id"); r.seen[id] {
		r.repeats++
	} else {
		r.seen[id] = true
		r.receipts = append(r.receipts, got)
	}
	rw.WriteHeader(http.StatusNoContent)
}

// count returns how many webhooks of a type with this title arrived.
func (r *receiver) count(kind, title string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, got := range r.receipts {
		if got.Type == kind && got.Data.Incident != nil && got.Data.Incident.Title == title {
			n++
		}
	}
	return n
}

// missing returns an error if the webhook of an acknowledged update has not
// arrived.
func (r *receiver) missing(acked map[string][]string) error {
	arrived := r.updates()
	n, example := 0, ""
	for incident, ids := range acked {
		for _, id := range ids {
			if _, found := arrived[id]; !found {
				n++
				example = incident + " " + id
			}
		}
	}
	if n > 0 {
		return fmt.Errorf("%d webhooks have not arrived, one of them for %s", n, example)
	}
	return nil
}

// updates returns the position of the webhook of each update that arrived.
func (r *receiver) updates() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := map[string]int{}
	for i, got := range r.receipts {
		if got.Data.Update != nil {
			if _, found := at[got.Data.Update.ID]; !found {
				at[got.Data.Update.ID] = i
			}
		}
	}
	return at
}

// unordered returns how many webhooks arrived before the webhook of an earlier update of the same incident.
func (r *receiver) unordered(acked map[string][]string) (n int) {
	at := r.updates()
	for _, ids := range acked {
		for i := 1; i < len(ids); i++ {
			if at[ids[i]] < at[ids[i-1]] {
				n++
			}
		}
	}
	return n
}

// phantoms returns the number of webhooks of updates that are not stored.
func (r *receiver) phantoms(stored map[string]bool, mine map[string]bool) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, got := range r.receipts {
		if got.Type == "incident.updated" && got.Data.Update != nil && got.Data.Incident != nil &&
			mine[got.Data.Incident.ID] && !stored[got.Data.Update.ID] {
			n++
		}
	}
	return n
}
