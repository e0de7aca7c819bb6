package server

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/hostname"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/worker/checker"
	"github.com/prometheus/client_golang/prometheus"
)

// Limits of the settings of checks.
const (
	maxLocation = 64 // characters
	maxCanaries = 20
)

// CheckSettings are the settings of checks as text.
type CheckSettings struct {
	Location string `env:"ALLSWELL_LOCATION" placeholder:"NAME" help:"Where this replica checks from, such as eu-west. Empty: not shown."`

	CheckCanaries string `env:"ALLSWELL_CHECK_CANARIES" placeholder:"HOSTS" help:"Reliable hosts and ports, such as 192.0.2.1:443,example.com:443. An unreachable target counts only if one of them answers. Empty: other targets that answered before."`

	CheckPrivate string `env:"ALLSWELL_CHECK_PRIVATE" default:"auto" placeholder:"auto|on|off" help:"Whether checks may reach private addresses and this machine. auto: only the checks of the first workspace, the oldest one. Metadata services of clouds are never reached."`

	CheckSelf string `env:"ALLSWELL_CHECK_SELF" default:"off" placeholder:"on|off" help:"Whether checks may reach this service itself."`

	CheckConcurrency string `env:"ALLSWELL_CHECK_CONCURRENCY" default:"200" placeholder:"COUNT" help:"Checks that this replica runs at a time, from 1 to 10000; half of these places are for hosts that take more than 2 s to answer. In each half one host gets at most 20 places of one workspace and 80 of all, and one of several workspaces at most half."`
}

// CheckConfig holds the values of CheckSettings.
type CheckConfig struct {
	Location    string
	Canaries    []check.Target
	Private     checker.PrivateMode
	Self        bool
	Concurrency int
}

func (s *CheckSettings) parse(p *settings.Parser) CheckConfig {
	c := CheckConfig{
		Location:    settings.Parse(p, &s.Location, parseLocation),
		Canaries:    settings.Parse(p, &s.CheckCanaries, parseCanaries),
		Private:     checker.PrivateMode(settings.Parse(p, &s.CheckPrivate, settings.OneOf("auto", "on", "off"))),
		Self:        settings.Parse(p, &s.CheckSelf, settings.Switch),
		Concurrency: settings.Parse(p, &s.CheckConcurrency, settings.Integer(1, checker.MaxConcurrency)),
	}
	return c
}

func parseLocation(value string) (string, error) {
	if utf8.RuneCountInString(value) > maxLocation || !utf8.ValidString(value) ||
		strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) || r == '|' }) {
		return "", errors.New("a name of up to 64 printable characters without |, such as eu-west")
	}
	return value, nil
}

func parseCanaries(value string) (canaries []check.Target, err error) {
	for text := range strings.SplitSeq(value, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		text, ok := hostname.InHostPort(text)
		host, port, err := net.SplitHostPort(text)
		number, errPort := strconv.Atoi(port)
		if !ok || err != nil || errPort != nil || host == "" || number < 1 || number > 65535 ||
			len(canaries) == maxCanaries {
			return nil,
				errors.New("up to 20 hosts with ports, separated by commas, such as 192.0.2.1:443,example.com:443")
		}
		canaries = append(canaries, check.Target{Host: host, Port: number})
	}
	return canaries, nil
}

// newChecker returns the checker of this replica.
func (s *Server) newChecker() *checker.Checker {
	c := s.cfg.Checks
	observe, dropped := s.observeChecks()
	run := checker.New(checker.Config{
		Store: s.store, Replica: s.replica, Location: c.Location, Concurrency: c.Concurrency, Canaries: c.Canaries,
		Private: c.Private, Self: c.Self, Listeners: s.listeners(), Hello: s.hello(), Logger: s.log, Observe: observe,
		ObserveDropped: dropped,
	})
	s.metrics.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "allswell_check_results_waiting",
		Help: "Results of checks that wait to be saved. At 5000 no more checks are begun.",
	}, func() float64 { return float64(run.Waiting()) }))
	return run
}

// listeners returns the addresses on which this process listens.
func (s *Server) listeners() (all []netip.AddrPort) {
	for _, l := range []net.Listener{s.listener, s.redirectListener, s.metricsListener} {
		if l == nil {
			continue
		}
		if address, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
			all = append(all, netip.AddrPortFrom(address.Addr().WithZone("").Unmap(), address.Port()))
		}
	}
	return all
}

// observeChecks registers the metrics of checks. It returns a function that counts a check, and one that counts dropped
// results.
func (s *Server) observeChecks() (observe func(monitor.CheckStatus, time.Duration), drop func(results int)) {
	checks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "allswell_checks_total",
		Help: "Checks that this replica ran, by status of the result (ok, slow, failed or unknown).",
	}, []string{"status"})
	late := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "allswell_check_lateness_seconds", Help: "Time from a check's due time to its beginning.",
		Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	})
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "allswell_check_results_dropped_total",
		Help: "Results of checks that were not saved, or perhaps not: the database was not available for half a " +
			"minute, did not confirm them, or refused them.",
	})
	s.metrics.registry.MustRegister(checks, late, dropped)
	counters := make(map[monitor.CheckStatus]prometheus.Counter)
	for _, status := range monitor.CheckStatuses {
		counters[status] = checks.WithLabelValues(string(status))
	}
	observe = func(status monitor.CheckStatus, by time.Duration) {
		counters[status].Inc()
		late.Observe(by.Seconds())
	}
	return observe, func(results int) { dropped.Add(float64(results)) }
}
