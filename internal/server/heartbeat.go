package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/allswell/allswell/internal/shared/failurelog"
	"github.com/allswell/allswell/internal/store"
)

const (
	// heartbeatInterval is the time between two requests to the service that watches this one, and heartbeatTimeout is
	// the maximum duration of one.
	heartbeatInterval = time.Minute
	heartbeatTimeout  = 10 * time.Second

	// stuckAfter is how long work may be overdue before this service counts as stuck.
	stuckAfter = 5 * time.Minute
)

// sendHeartbeats requests ALLSWELL_HEARTBEAT_URL each minute while this replica works, until ctx ends.
func (s *Server) sendHeartbeats(ctx context.Context) {
	log := failurelog.Log{
		Logger: s.log, Failing: "no heartbeat is sent: ALLSWELL_HEARTBEAT_URL",
		Working: "heartbeats are sent again: ALLSWELL_HEARTBEAT_URL",
	}
	client := &http.Client{Timeout: heartbeatTimeout}
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	for {
		if err := s.sendHeartbeat(ctx, client); err == nil {
			log.Worked(time.Now())
		} else if ctx.Err() == nil {
			log.Failed(time.Now(), "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sendHeartbeat requests the URL once, unless stuck returns an error, which it then returns. The error does not contain
// the URL, which is a secret.
func (s *Server) sendHeartbeat(ctx context.Context, client *http.Client) error {
	if err := s.stuck(ctx); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.HeartbeatURL, nil)
	if err != nil {
		return errors.New("the URL is not valid")
	}
	req.Header.Set("User-Agent", "Allswell")
	resp, err := client.Do(req)
	if err != nil {
		var withURL *url.Error
		if errors.As(err, &withURL) {
			err = withURL.Err // the URL is a secret
		}
		return fmt.Errorf("there was no answer: %w", err)
	}
	if err := resp.Body.Close(); err != nil {
		return fmt.Errorf("there was no answer: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the answer was %s", resp.Status)
	}
	return nil
}

// stuck returns why this replica does not work, or nil: pings cannot be recorded, or checks, messages to subscribers or
// alerts have been overdue for stuckAfter.
func (s *Server) stuck(ctx context.Context) error {
	if reason := s.notReadyReason(); reason != "" {
		return errors.New(reason)
	}
	waiting, err := s.store.Waiting(ctx)
	if err != nil {
		return fmt.Errorf("the database cannot be read: %w", err)
	}
	for _, w := range []struct {
		what string
		age  time.Duration
	}{{"checks", waiting.Checks}, {"messages to subscribers", waiting.Deliveries}, {"alerts", waiting.Alerts}} {
		if w.age > stuckAfter {
			return fmt.Errorf("%s have been overdue for %s", w.what, w.age.Round(time.Second))
		}
	}
	return nil
}

// waitingCollector collects for how long work has been overdue. It collects nothing if the database cannot be read.
type waitingCollector struct{ store *store.Store }

var workWaiting = prometheus.NewDesc("allswell_work_overdue_seconds",
	"For how long the oldest work has been overdue, by kind: checks, deliveries (events without messages to "+
		"subscribers) or alerts.",
	[]string{"kind"}, nil)

// Describe implements prometheus.Collector.
func (waitingCollector) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- workWaiting }

// Collect implements prometheus.Collector.
func (c waitingCollector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), runningTimeout)
	defer cancel()
	w, err := c.store.Waiting(ctx)
	if err != nil {
		return
	}
	for kind, age := range map[string]time.Duration{
		"checks": w.Checks, "deliveries": w.Deliveries, "alerts": w.Alerts,
	} {
		metrics <- prometheus.MustNewConstMetric(workWaiting, prometheus.GaugeValue, age.Seconds(), kind)
	}
}
