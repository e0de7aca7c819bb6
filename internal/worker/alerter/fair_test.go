package alerter

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

type hangingHosts struct {
	*testing.T
	connections atomic.Int64
}

// TestHangingChannelsDelayNobody checks that an alert arrives although 100 channels of another workspace, which were
// alerted before, accept connections and say nothing, half of them at one host.
func TestHangingChannelsDelayNobody(t *testing.T) {
	const hanging = 100
	runParallel(t, func(t *testing.T, s *store.Store) {
		h := &hangingHosts{T: t}
		bad, _ := storetest.Workspace(t, s, "bad")
		good, _ := storetest.Workspace(t, s, "good")
		one := h.listen()
		var channels []string
		for i := range hanging {
			url := one
			if i%2 == 1 {
				url = h.listen()
			}
			channels = append(channels, webhook(t, s, bad, fmt.Sprint("hangs ", i), url))
		}
		badJob := job(t, s, bad, channels)
		arrived := make(chan struct{}, 1)
		sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
		defer sink.Close()
		goodJob := job(t, s, good, []string{webhook(t, s, good, "works", sink.URL)})

		a := New(Config{Store: s, Sender: alertchannel.NewSender(alertchannel.Config{AllowPrivate: true})})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			a.Run(ctx)
		}()
		send(t, s, monitor.SignalFail, badJob)
		for deadline := time.Now().Add(30 * time.Second); h.connections.Load() < perWorkspace; {
			if time.Now().After(deadline) {
				t.Fatalf("%d channels hang", h.connections.Load())
			}
			time.Sleep(10 * time.Millisecond)
		}
		send(t, s, monitor.SignalFail, goodJob)
		select {
		case <-arrived:
		case <-time.After(15 * time.Second): // an attempt that hangs takes 20 seconds
			t.Error("the alert waits for channels of another workspace")
		}
		stop()
		<-ended
		if n := h.connections.Load(); n > perWorkspace {
			t.Errorf("one workspace was sent %d messages at a time, want %d at most", n, perWorkspace)
		}
	})
}

// listen starts a host whose connections are accepted and hang, and returns its URL.
func (h *hangingHosts) listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.connections.Add(1)
			h.Cleanup(func() { c.Close() })
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

func webhook(t *testing.T, s *store.Store, ws kernel.Actor, name, url string) (id string) {
	t.Helper()
	config, err := json.Marshal(map[string]string{"url": url})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.AlertChannels().Create(t.Context(), ws, "", resource.Channel.From(alert.Channel{
		Type: "webhook", Name: name, Enabled: true, Config: config, MaxPerMinute: 60,
	}))
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// job creates a job, and rules that notify channels of its failures. It returns its token.
func job(t *testing.T, s *store.Store, ws kernel.Actor, channels []string) (tokens []string) {
	t.Helper()
	for n := 0; len(channels) > 0; n++ {
		some := channels[:min(10, len(channels))]
		channels = channels[len(some):]
		_, err := s.AlertRules().Create(t.Context(), ws, "", resource.AlertRule.From(alert.Rule{
			Name: fmt.Sprint("rule ", n), Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents},
			Target: alert.Target{ChannelIDs: some},
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.CreateMonitor(t.Context(), ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "job", Interval: time.Hour,
	}))
	if err != nil {
		t.Fatal(err)
	}
	return []string{m.Token}
}
