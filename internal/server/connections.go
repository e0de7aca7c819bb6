package server

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/allswell/allswell/internal/shared/connlimit"
	"github.com/allswell/allswell/internal/surface/page/stream"
	"github.com/allswell/allswell/internal/surface/web"
	"github.com/allswell/allswell/internal/worker/ping"
)

const (
	// fewFiles is the limit of open files below which a warning is logged.
	fewFiles = 4096

	// The range of the settings.
	minConnections = 16
	maxConnections = 1_000_000

	// metricsConnections is the maximum number of connections of the metrics address.
	metricsConnections = 32
)

// connectionLimits returns the maximum number of open connections, in total and for one address, and logs them. files
// is the limit of open files; 0 if unknown. The Go runtime has already raised the soft limit to the hard limit.
func (c Config) connectionLimits(files uint64, log *slog.Logger) (total, perAddress int) {
	total, perAddress = connlimit.DefaultLimits(files)
	switch {
	case c.MaxConnections > total && files > 0:
		log.Warn("ALLSWELL_MAX_CONNECTIONS is more than the limit of open files allows", "open_files", files,
			"connections", total)
	case c.MaxConnections > 0:
		total = c.MaxConnections
		perAddress = connlimit.DefaultPerAddress(total)
	}
	if c.MaxConnectionsPerAddress > 0 {
		perAddress = min(c.MaxConnectionsPerAddress, total)
	}
	level, message := slog.LevelInfo, "connection limits"
	if files > 0 && files < fewFiles {
		level, message = slog.LevelWarn, "few files may be open: raise the limit (ulimit -n, LimitNOFILE) to 65536"
	}
	log.Log(context.Background(), level, message,
		"open_files", files, "connections", total, "per_address", perAddress, "streams", maxStreams(total))
	return total, perAddress
}

// maxStreams returns how many of the connections may be event streams: two thirds, so that other connections can still
// be kept alive.
func maxStreams(connections int) int { return min(connections*2/3, stream.DefaultMaxSubscribers) }

// refuseRequest answers a request for which no connection is left.
func refuseRequest(w http.ResponseWriter, r *http.Request, reason connlimit.Reason) {
	status, message, code := http.StatusServiceUnavailable, "The service cannot do this right now. Please try again.",
		web.CodeBusy
	if reason == connlimit.AddressBusy {
		status, message, code = http.StatusTooManyRequests, "Too many requests.", web.CodeRateLimited
	}
	h := w.Header()
	h["Retry-After"] = []string{"10"} // seconds
	h["Cache-Control"] = []string{"no-store"}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		h["Content-Type"] = []string{"application/json"}
		w.WriteHeader(status)
		body := `{"message":"` + message + `","code":"` + string(code) + `"}`
		if strings.HasPrefix(r.URL.Path, ping.Path) { // responses to pings have no code
			body = `{"message":"` + message + `"}`
		}
		w.Write([]byte(body)) // fails if the client has disconnected
		return
	}
	http.Error(w, message, status)
}

// registerConnections registers the metrics of connections.
func (m *metrics) registerConnections(l *connlimit.Limiter, losingPings func() bool) {
	m.registry.MustRegister(&connectionCollector{l})
	m.registerGauge("allswell_connections_max", "Maximum number of open connections.", func() float64 {
		return float64(l.Max)
	})
	m.registerGauge("allswell_shedding",
		"1 while pings are being lost, because connections cannot be accepted or pings are refused.",
		func() float64 { return boolGauge(losingPings()) })
}

// connectionCollector is a prometheus.Collector of a limiter's counts.
type connectionCollector struct{ *connlimit.Limiter }

var (
	connectionsOpen = prometheus.NewDesc("allswell_connections", "Open connections, by state.", []string{"state"},
		nil)
	connectionsRefused = prometheus.NewDesc("allswell_connections_refused_total",
		"Refused because no connections were left, by reason: connections (full, address_full) and requests "+
			"(reserved for pings, address_busy).", []string{"reason"}, nil)
	connectionsClosed = prometheus.NewDesc("allswell_connections_closed_total",
		"Connections closed to make room for others, by reason: idle, slow, or arriving (the request was arriving).",
		[]string{"reason"}, nil)
	acceptFailures = prometheus.NewDesc("allswell_accept_failures_total", "Failed attempts to accept a connection.",
		nil, nil)
)

func (f *connectionCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connectionsOpen, connectionsRefused, connectionsClosed, acceptFailures} {
		out <- d
	}
}

func (f *connectionCollector) Collect(out chan<- prometheus.Metric) {
	for state, n := range f.Phases() {
		out <- prometheus.MustNewConstMetric(connectionsOpen, prometheus.GaugeValue, float64(n), state)
	}
	for _, r := range connlimit.Refusals {
		out <- prometheus.MustNewConstMetric(connectionsRefused, prometheus.CounterValue, float64(f.Count(r)),
			r.String())
	}
	for _, r := range connlimit.Closings {
		out <- prometheus.MustNewConstMetric(connectionsClosed, prometheus.CounterValue, float64(f.Count(r)),
			r.String())
	}
	out <- prometheus.MustNewConstMetric(acceptFailures, prometheus.CounterValue, float64(f.AcceptFailures()))
}
