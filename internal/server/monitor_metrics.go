package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxMonitorsOfMetrics is the maximum number of monitors in one request for metrics.
const maxMonitorsOfMetrics = 100

// metricsStep is the length of the period that metrics of monitors cover: the last complete one.
const metricsStep = 5 * time.Minute

var monitorLabels = []string{"monitor", "name", "type"}

func monitorDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("allswell_monitor_"+name, help, append(append([]string{}, monitorLabels...), labels...),
		nil)
}

var (
	monitorUp = monitorDesc("up", "Whether the monitor is up: 1, or 0 while it is down.")

	monitorFailures = monitorDesc("consecutive_failures", "Consecutive failures.")

	monitorResults = monitorDesc("check_results",
		"Results of checks in the last complete period of five minutes, by status.", "status")

	monitorTimes = monitorDesc("check_seconds",
		"Time that good results took in the last complete period of five minutes.")
)

// monitorCollector collects the metrics of some monitors.
type monitorCollector struct{ metrics []prometheus.Metric }

// Describe sends nothing, because the metrics of monitors are not known in advance.
func (monitorCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics.
func (c monitorCollector) Collect(to chan<- prometheus.Metric) {
	for _, m := range c.metrics {
		to <- m
	}
}

// serveMonitorMetrics serves the metrics of the monitors that the request names by ids or slugs. It returns an error
// for monitors that the actor cannot reach.
func (s *Server) serveMonitorMetrics(w http.ResponseWriter, r *http.Request, actor kernel.Actor, refs []string) error {
	if len(refs) > maxMonitorsOfMetrics {
		var bad kernel.ValidationError
		bad.Add("monitor", "may be given at most %d times", maxMonitorsOfMetrics)
		return bad.Err()
	}
	var c monitorCollector
	seen := make(map[string]bool)
	for _, ref := range refs {
		m, err := s.store.Monitor(r.Context(), actor, ref)
		if err != nil {
			return err
		}
		if seen[m.ID] {
			continue
		}
		seen[m.ID] = true
		if err := c.add(r.Context(), s.store, actor, m); err != nil {
			return err
		}
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(c); err != nil {
		return fmt.Errorf("registering metrics of monitors: %w", err)
	}
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	return nil
}

// add adds the metrics of a monitor.
func (c *monitorCollector) add(ctx context.Context, s *store.Store, actor kernel.Actor, m monitor.Monitor) error {
	labels := []string{m.Slug, m.Name, string(m.Type)}
	gauge := func(desc *prometheus.Desc, value float64, more ...string) {
		c.metrics = append(c.metrics,
			prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value,
				append(append([]string{}, labels...), more...)...))
	}
	gauge(monitorUp, boolGauge(m.State == monitor.MonitorUp))
	gauge(monitorFailures, float64(m.ConsecutiveFailures))
	if m.Type == monitor.MonitorHeartbeat {
		return nil
	}
	now, err := s.Clock(ctx)
	if err != nil {
		return err
	}
	end := now.Truncate(metricsStep)
	periods, err := s.CheckStatistics(ctx, actor, m.ID, store.StatisticsRange{
		From: end.Add(-metricsStep), To: end, Step: metricsStep,
	})
	if err != nil || len(periods) == 0 {
		return err
	}
	p := &periods[0]
	for status, n := range map[monitor.CheckStatus]int{
		monitor.CheckOK: p.Timed() - p.Slow, monitor.CheckSlow: p.Slow, monitor.CheckFailed: p.Failures,
		monitor.CheckUnknown: p.Unknown,
	} {
		gauge(monitorResults, float64(n), string(status))
	}
	quantiles := make(map[float64]float64)
	for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
		quantiles[q] = p.Quantile(q).Seconds()
	}
	if p.Timed() > 0 {
		c.metrics = append(c.metrics,
			prometheus.MustNewConstSummary(monitorTimes, uint64(p.Timed()), p.Mean().Seconds()*float64(p.Timed()),
				quantiles, labels...))
	}
	return nil
}
