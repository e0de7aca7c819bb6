package scripts

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

const jobs = 32

type stopMonitor struct {
	ID         string
	PingURL    string `json:"ping_url"`
	LastPingAt string `json:"last_ping_at"`
}

// stopPings are the pings of all jobs.
type stopPings struct {
	*testing.T
	acked   [jobs]time.Time // when the last ping that was answered with 200 was sent
	answers atomic.Int64
	enough  chan struct{} // closed when there are 20 answers for each job
}

// send pings a job until the server closes the door.
func (p *stopPings) send(client *http.Client, url string, job int) {
	for {
		sent := time.Now()
		response, err := client.Post(url, "", nil)
		if err != nil {
			return // the door is closed
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			p.Errorf("a ping was answered with %s", response.Status)
			return
		}
		p.acked[job] = sent
		if p.answers.Add(1) == 20*jobs {
			close(p.enough)
		}
	}
}

// TestStopAnswersPings stops a server while pings arrive without a pause. None of them is answered by anything but 200
// or a closed door, and whatever was answered with 200 is in the database afterwards.
func TestStopAnswersPings(t *testing.T) {
	t.Parallel()
	const token = "bootstrap-token-of-thirty-two-characters"
	server := binary.NewServer(t, binary.Build(t),
		"ALLSWELL_DATABASE=sqlite:"+binary.Database(t), "ALLSWELL_BOOTSTRAP_TOKEN="+token,
		"ALLSWELL_PING_RATE_LIMIT=0", "ALLSWELL_API_RATE_LIMIT=0")
	server.Start()
	api := binary.NewClient(server.URL, token)
	api.Must(t, "POST", "/api/v1/pages", map[string]any{"name": "Acme", "slug": "acme"}, nil)
	var monitors [jobs]binary.Data[stopMonitor]
	for i := range monitors {
		api.Must(t, "POST", "/api/v1/monitors",
			map[string]any{"name": "Job " + strconv.Itoa(i), "page": "acme", "interval": 3600}, &monitors[i])
	}

	p := &stopPings{T: t, enough: make(chan struct{})}
	var running sync.WaitGroup
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: jobs}}
	for i := range monitors {
		running.Go(func() { p.send(client, monitors[i].Data.PingURL, i) })
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-p.enough:
	case <-ctx.Done():
		t.Fatal("pings are not answered")
	}
	began := time.Now()
	if err := server.Stop(); err != nil {
		t.Errorf("after SIGTERM the server ended with: %v", err)
	}
	if took := time.Since(began); took > stopTimeout {
		t.Errorf("the stop took %v", took)
	}
	running.Wait()

	server.Start()
	for i := range monitors {
		var now binary.Data[stopMonitor]
		api.Must(t, "GET", "/api/v1/monitors/"+monitors[i].Data.ID, nil, &now)
		last, err := time.Parse(time.RFC3339, now.Data.LastPingAt)
		// The database keeps milliseconds.
		if err != nil || last.Before(p.acked[i].Truncate(time.Millisecond)) {
			t.Errorf("job %d was answered for a ping sent at %v, but its last ping is %q", i, p.acked[i],
				now.Data.LastPingAt)
		}
	}
}
