package server

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/allswell/allswell/internal/connlimit"
	"github.com/allswell/allswell/internal/page"
)

const (
	// fewFiles is how many open files are too few for a public service.
	fewFiles = 4096

	// The range of the settings.
	minConnections = 16
	maxConnections = 1_000_000

	// metricsConnections is how many connections the address for metrics has.
	metricsConnections = 32
)

// connectionLimits returns how many connections may be open, in all and for one
// address, where the process may have that many files open (0: not known), and
// logs what an operator has to know. The Go runtime has raised the soft limit of
// open files to the hard one by then.
func (c Config) connectionLimits(files uint64, log *slog.Logger) (most, perAddress int) {
	most, perAddress = connlimit.DefaultLimits(files)
	switch {
	case c.MaxConnections > most && files > 0:
		log.Warn("ALLSWELL_MAX_CONNECTIONS is more than the limit of open files leaves room for", "open_files", files, "connections", most)
	case c.MaxConnections > 0:
		most = c.MaxConnections
		perAddress = connlimit.DefaultPerAddress(most)
	}
	if c.MaxConnectionsPerAddress > 0 {
		perAddress = min(c.MaxConnectionsPerAddress, most)
	}
	level, message := slog.LevelInfo, "limits of connections"
	if files > 0 && files < fewFiles {
		level, message = slog.LevelWarn, "few files may be open: raise the limit (ulimit -n, LimitNOFILE) to 65536"
	}
	log.Log(context.Background(), level, message, "open_files", files, "connections", most, "per_address", perAddress, "streams", maxStreams(most))
	return most, perAddress
}

// maxStreams is how many of the connections event streams may take: two thirds,
// so that answers do not have to close their connections for them.
func maxStreams(connections int) int { return min(connections*2/3, page.MaxStreams) }

// refuseRequest answers a request that there is no place for.
func refuseRequest(w http.ResponseWriter, r *http.Request, why connlimit.Reason) {
	status, message := http.StatusServiceUnavailable, "The service cannot do this right now. Please try again."
	if why == connlimit.AddressBusy {
		status, message = http.StatusTooManyRequests, "Too many requests."
	}
	h := w.Header()
	h["Retry-After"] = []string{"10"} // seconds
	h["Cache-Control"] = []string{"no-store"}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		h["Content-Type"] = []string{"application/json"}
		w.WriteHeader(status)
		w.Write([]byte(`{"message":"` + message + `"}`)) // the client may have gone
		return
	}
	http.Error(w, message, status)
}

// registerConnections adds to the metrics what is known about connections.
func (m *metrics) registerConnections(l *connlimit.Limiter, shedding func() bool) {
	m.registry.MustRegister(&connectionFigures{l})
	m.gauge("allswell_connections_max", "How many connections may be open.", func() float64 { return float64(l.Max) })
	m.gauge("allswell_shedding", "1 while pings are being lost, because connections cannot be accepted or pings are turned away.", func() float64 {
		if shedding() {
			return 1
		}
		return 0
	})
}

// connectionFigures collects the limiter's figures.
type connectionFigures struct{ *connlimit.Limiter }

var (
	connectionsOpen    = prometheus.NewDesc("allswell_connections", "Open connections, by state.", []string{"state"}, nil)
	connectionsRefused = prometheus.NewDesc("allswell_connections_refused_total",
		"Connections and requests refused for want of connections, by reason.", []string{"reason"}, nil)
	connectionsClosed = prometheus.NewDesc("allswell_connections_closed_total",
		"Connections closed to make room for others, by reason.", []string{"reason"}, nil)
	acceptFailures = prometheus.NewDesc("allswell_accept_failures_total", "Failed attempts to accept a connection.", nil, nil)
)

func (f *connectionFigures) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connectionsOpen, connectionsRefused, connectionsClosed, acceptFailures} {
		out <- d
	}
}

func (f *connectionFigures) Collect(out chan<- prometheus.Metric) {
	for state, n := range f.Phases() {
		out <- prometheus.MustNewConstMetric(connectionsOpen, prometheus.GaugeValue, float64(n), state)
	}
	for _, r := range connlimit.Refusals {
		out <- prometheus.MustNewConstMetric(connectionsRefused, prometheus.CounterValue, float64(f.Count(r)), r.String())
	}
	for _, r := range connlimit.Closings {
		out <- prometheus.MustNewConstMetric(connectionsClosed, prometheus.CounterValue, float64(f.Count(r)), r.String())
	}
	out <- prometheus.MustNewConstMetric(acceptFailures, prometheus.CounterValue, float64(f.AcceptFailures()))
}
