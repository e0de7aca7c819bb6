package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/buildinfo"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics holds the metrics of the process. No label is an address, a path, a page or a monitor, because their number
// is unbounded.
type metrics struct {
	registry   *prometheus.Registry
	responses  *prometheus.CounterVec
	frequent   map[response]prometheus.Counter // counters of responses that are incremented without a search by labels
	pings      atomic.Int64                    // answered with 200, for the dashboard: a Counter cannot be read
	durations  map[surface]prometheus.Observer
	deliveries *prometheus.CounterVec
	alerts     *prometheus.CounterVec
	alertLag   prometheus.Histogram
}

// response is the key by which responses are counted.
type response struct {
	surface surface
	status  int
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		responses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allswell_http_requests_total",
			Help: "Requests answered, by part of the service (heartbeat, api, page or service) and status.",
		}, []string{"surface", "status"}),
		frequent:  make(map[response]prometheus.Counter),
		durations: make(map[surface]prometheus.Observer),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allswell_delivery_attempts_total",
			Help: "Attempts to deliver, by channel and result: taken (accepted), failed (to be repeated), refused or " +
				"broken (failed for good), gone (ended by the receiver).",
		}, []string{"channel", "result"}),
		alerts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allswell_alert_attempts_total",
			Help: "Attempts to send an alert, by type of channel and result, as of allswell_delivery_attempts_total.",
		}, []string{"type", "result"}),
		alertLag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "allswell_alert_lag_seconds",
			Help:    "Time from composing an alert's message until its channel accepted it.",
			Buckets: []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200},
		}),
	}
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "allswell_http_request_seconds",
		Help:    "Time from a request's arrival to its answer, by part of the service.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"surface"})
	for _, s := range surfaces {
		m.durations[s] = durations.WithLabelValues(string(s))
	}
	for _, r := range []response{
		{surfaceHeartbeat, http.StatusOK}, {surfacePage, http.StatusOK}, {surfacePage, http.StatusNotModified},
	} {
		m.frequent[r] = m.responses.WithLabelValues(r.labels()...)
	}
	for _, channelType := range alertchannel.Names() { // so that the series exist before the first alert
		m.alerts.WithLabelValues(channelType, audience.SendAccepted.String())
	}
	m.registry.MustRegister(m.responses, durations, m.deliveries, m.alerts, m.alertLag)
	return m
}

// labels returns the values of the labels of responses.
func (r response) labels() []string { return []string{string(r.surface), strconv.Itoa(r.status)} }

func (m *metrics) countResponse(r response) {
	if counter, ok := m.frequent[r]; ok {
		counter.Inc()
		if r.surface == surfaceHeartbeat {
			m.pings.Add(1)
		}
		return
	}
	m.responses.WithLabelValues(r.labels()...).Inc()
}

// recordedPings returns the number of pings that were answered with 200.
func (m *metrics) recordedPings() float64 { return float64(m.pings.Load()) }

func (m *metrics) countDelivery(channel audience.Channel, result audience.SendResult) {
	m.deliveries.WithLabelValues(string(channel), result.String()).Inc()
}

// countAlert counts an attempt to send an alert. lag is the time since the message was composed; it is recorded if the
// message was accepted.
func (m *metrics) countAlert(channelType string, result audience.SendResult, lag time.Duration) {
	m.alerts.WithLabelValues(channelType, result.String()).Inc()
	if result == audience.SendAccepted {
		m.alertLag.Observe(lag.Seconds())
	}
}

// registerGauge registers a gauge whose value is read on each scrape.
func (m *metrics) registerGauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// registerCounter registers a counter whose value is read on each scrape.
func (m *metrics) registerCounter(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}

// boolGauge returns 1 for true.
func boolGauge(value bool) float64 {
	if value {
		return 1
	}
	return 0
}

// timeGauge returns a time in Unix seconds; 0 for the zero time.
func timeGauge(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// registerMetrics registers the metrics that do not need the store.
func (s *Server) registerMetrics() {
	m := s.metrics
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := buildinfo.Read()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "allswell_build_info", Help: "The running build, in labels. The value is always 1.",
		ConstLabels: prometheus.Labels{"version": build.Version, "revision": build.Revision, "go": build.Go},
	})
	info.Set(1)
	m.registry.MustRegister(info)
	m.registerGauge("allswell_ready", "1 while pings can be recorded and ticks run, as /readyz reports.",
		func() float64 { return boolGauge(s.Ready()) })
	m.registerGauge("allswell_ping_backlog_seconds", "Age of the oldest ping that was received and is not recorded "+
		"yet.",
		func() float64 { return s.pings.Backlog().Seconds() })
	m.registerCounter("allswell_ping_writer_busy_seconds_total",
		"Time spent in transactions with pings, one at a time: near 1 second per second, pings wait.",
		func() float64 { return s.pings.Busy().Seconds() })
}

// registerStoreMetrics registers the metrics that need the store.
func (s *Server) registerStoreMetrics() {
	m := s.metrics
	m.registerGauge("allswell_last_tick_timestamp_seconds", "When the last tick ended.",
		func() float64 { return timeGauge(s.scheduler.LastTick()) })
	m.registerGauge("allswell_page_streams", "Open event streams of pages.",
		func() float64 { return float64(s.site.Streams()) })
	m.registerGauge("allswell_database_last_contact_timestamp_seconds", "When the database last answered; 0: never.",
		func() float64 { return timeGauge(s.store.LastContact()) })
	s.registerRunMetrics()
	s.metrics.registry.MustRegister(waitingCollector{s.store})
}

// registerRunMetrics registers the metrics of signals and runs. They count what this process has committed;
// allswell_monitors_running is read from the database.
func (s *Server) registerRunMetrics() {
	counters := func(name, help, label string) func(value string, count func() float64) {
		return func(value string, count func() float64) {
			s.metrics.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: name, Help: help, ConstLabels: prometheus.Labels{label: value},
			}, count))
		}
	}
	signals := counters("allswell_signals_total", "Signals recorded, by kind; plain pings are not counted.", "kind")
	for _, kind := range monitor.SignalKinds {
		signals(string(kind), func() float64 { return float64(s.store.SignalsRecorded(kind)) })
	}
	warnings := counters("allswell_warnings_total", "Warnings added, by the condition that was violated.", "condition")
	for _, c := range monitor.WarningConditions {
		warnings(string(c), func() float64 { return float64(s.store.WarningsAdded(c)) })
	}
	s.metrics.registerCounter("allswell_runs_overdue_total", "Runs that did not end within their maximum runtime.",
		func() float64 { return float64(s.store.RunsOverdue()) })
	s.metrics.registry.MustRegister(runningCollector{s.store})
}

// runningTimeout is how long a scrape waits for the number of running monitors.
const runningTimeout = 2 * time.Second

// runningCollector collects the number of running monitors. It collects nothing if the database cannot be read.
type runningCollector struct{ store *store.Store }

var monitorsRunning = prometheus.NewDesc("allswell_monitors_running",
	"Monitors with a run that has begun and whose end is expected.", nil, nil)

func (runningCollector) Describe(out chan<- *prometheus.Desc) { out <- monitorsRunning }

func (c runningCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), runningTimeout)
	defer cancel()
	if n, err := c.store.MonitorsRunning(ctx); err == nil {
		out <- prometheus.MustNewConstMetric(monitorsRunning, prometheus.GaugeValue, float64(n))
	}
}

// publicMetrics serves the metrics without authentication.
func (s *Server) publicMetrics() http.Handler {
	return promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{
		Registry: s.metrics.registry, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	})
}

// authenticatedMetrics serves metrics to clients with a read token: the metrics of the process, or of the monitors that
// the parameter monitor names. Failed authentications count towards the same limit as at the API.
func (s *Server) authenticatedMetrics() http.Handler {
	public := s.publicMetrics()
	return web.Handle(s.log, func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return &web.MethodNotAllowed{Allow: []string{http.MethodGet, http.MethodHead}}
		}
		secret, ok := web.Bearer(r)
		err := kernel.ErrUnauthenticated
		var token account.Token
		if ok {
			token, err = s.store.Authenticate(r.Context(), secret)
		}
		if errors.Is(err, kernel.ErrUnauthenticated) {
			now := time.Now()
			if v := s.limits.Failed.Take(clientaddr.Of(r), now); !v.Allowed {
				return &web.TooMany{Now: now, Reset: v.Reset}
			}
		}
		if err != nil {
			return err
		}
		if !token.Scope.Allows(kernel.ScopeRead) {
			return &web.Forbidden{Has: token.Scope, Needs: kernel.ScopeRead}
		}
		if refs := r.URL.Query()["monitor"]; len(refs) > 0 {
			return s.serveMonitorMetrics(w, r, token.Actor(clientaddr.Of(r).String()), refs)
		}
		if token.Limit.Limited {
			return kernel.ErrPageLimited
		}
		public.ServeHTTP(w, r)
		return nil
	})
}
