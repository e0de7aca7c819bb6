package dashboard

import (
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/rights"
)

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// parseSeconds returns a duration in whole seconds. Text that is no number gives 0, which no interval may be.
func parseSeconds(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > int(monitor.MaxInterval/time.Second) {
		return 0
	}
	return time.Duration(n) * time.Second
}

// firstPingScreen is the data of the template first_ping.
type firstPingScreen struct {
	Monitor  monitor.Monitor
	Snippets []snippet
}

// showFirstPing shows how a job pings, and waits for the first ping.
func (v *visit) showFirstPing() error {
	m, err := v.store.Monitor(v.r.Context(), v.actor(), v.r.PathValue("monitor"))
	if err != nil {
		return err
	}
	s := firstPingScreen{Monitor: m}
	if v.may(rights.MonitorSecrets) { // who has the URL can ping
		s.Snippets = snippets(v.pingURL(m), m)
	}
	return v.showLive("first_ping", m.Name, s)
}
