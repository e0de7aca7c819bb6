package demo

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/client"
)

const (
	shopInterval = 10                     // seconds between two checks
	shopSlow     = 300 * time.Millisecond // a good result that takes longer is slow
)

// shop is a web server that the service checks. It can fail, and be slow.
type shop struct {
	url     string
	server  *http.Server
	failing atomic.Bool
	slow    atomic.Bool
	monitor *client.Monitor
}

// openShop starts the web server.
func openShop() (*shop, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &shop{url: "http://" + listener.Addr().String() + "/"}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go s.server.Serve(listener) // until close
	return s, nil
}

func (s *shop) close() { s.server.Close() }

// ServeHTTP responds according to the current state of the shop.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.slow.Load() {
		select {
		case <-r.Context().Done():
		case <-time.After(2 * shopSlow):
		}
	}
	if s.failing.Load() {
		http.Error(w, "The database is gone.", http.StatusBadGateway)
		return
	}
	fmt.Fprintln(w, "Welcome to the shop.")
}

// prepareShop creates the monitor that checks the shop.
func (d *demo) prepareShop() error {
	component, err := d.component("Website")
	if err != nil {
		return err
	}
	d.shop.monitor, err = d.api.CreateMonitor(d.Ctx, client.NewMonitor{
		Name: "web shop", Type: "http", Page: demoPage, ComponentID: component, Tags: []string{"demo"},
		Interval: shopInterval, FailureThreshold: new(1), SlowAfter: new(client.DecimalSecondsOf(shopSlow)),
		Check: client.Check{"url": d.shop.url, "body_contains": "Welcome"},
	})
	return err
}

// shopFails is the story of a web server that is slow, fails and recovers.
func (d *demo) shopFails() error {
	d.shop.slow.Store(true)
	defer d.shop.slow.Store(false)
	defer d.shop.failing.Store(false)
	d.say("The web server becomes slow. The next check, within %d seconds, finds it.", shopInterval)
	if err := d.awaitShop(client.MonitorSlow); err != nil {
		return err
	}
	d.say("Website is degraded. Now the web server answers 502.")
	d.shop.slow.Store(false)
	d.shop.failing.Store(true)
	if err := d.awaitShop(client.MonitorDown); err != nil {
		return err
	}
	d.say("Allswell noticed: the monitor web shop is down, and an incident is open. To see why: %s monitor results "+
		"\"web shop\"", programName())
	if err := d.sleep(3 * time.Second); err != nil {
		return err
	}
	d.shop.failing.Store(false)
	d.say("The web server works again.")
	if err := d.awaitShop(client.MonitorUp); err != nil {
		return err
	}
	d.say("The next good result reversed all of it.")
	return nil
}

// awaitShop waits until the monitor of the shop is in a condition.
func (d *demo) awaitShop(condition client.MonitorState) error {
	return d.until(fmt.Sprintf("the monitor of the web shop is %s", condition), func() (bool, error) {
		m, err := d.api.GetMonitor(d.Ctx, d.shop.monitor.ID)
		return err == nil && m.Condition == condition, err
	})
}
