package monitors

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/rights"
)

// firstPingScreen is the data of the template first_ping.
type firstPingScreen struct {
	Monitor  monitor.Monitor
	Snippets []snippet
}

// showFirstPing shows how a job pings. The screen changes when the first ping arrives.
func (r *request) showFirstPing() error {
	m, err := r.Store.Monitor(r.Context(), r.Actor(), r.PathValue("monitor"))
	if err != nil {
		return err
	}
	s := firstPingScreen{Monitor: m}
	if r.May(rights.MonitorSecrets) { // the ping URL is a credential
		s.Snippets = snippets(r.pingURL(m), m)
	}
	return r.Show(http.StatusOK, "first_ping", m.Name, s)
}
