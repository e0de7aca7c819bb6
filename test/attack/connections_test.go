package attack

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// besiege keeps n connections open until end is called: it replaces each one that is
// closed. open dials the i-th and writes to it; it returns nil if it was refused. besiege
// returns when each has been opened or refused once.
func (w *environment) besiege(n int, open func(i int) net.Conn) (end func()) {
	var all, first sync.WaitGroup
	over := make(chan struct{})
	first.Add(n)
	for i := range n {
		all.Go(func() {
			for attempt := 0; ; attempt++ {
				conn := open(i)
				if attempt == 0 {
					first.Done()
				}
				if conn != nil {
					closed := make(chan struct{})
					go func() {
						defer close(closed)
						conn.SetDeadline(time.Now().Add(5 * time.Minute))
						io.Copy(io.Discard, conn)
					}()
					select {
					case <-over:
					case <-closed:
					}
					conn.Close()
				}
				select {
				case <-over:
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	first.Wait()
	return func() { close(over); all.Wait() }
}

// siege besieges the server and checks that pings are acknowledged meanwhile.
func (w *environment) siege(n int, what string, open func(i int) net.Conn) {
	end := w.besiege(n, open)
	defer end()
	for range w.size(3, 30) {
		w.pingsGoOn(what)
	}
}

// say writes to a connection, if there is one.
func say(conn net.Conn, text string) net.Conn {
	if conn != nil {
		conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
		io.WriteString(conn, text) // who closes it meanwhile has refused it
	}
	return conn
}

// idleConnections opens more connections than the server has descriptors, from one
// address, and sends nothing.
func idleConnections(w *environment) {
	w.siege(w.size(400, 2000), "idle connections of one address", func(int) net.Conn { return w.dial(address(20, 1)) })
}

// connectionsFromEverywhere does the same from many addresses, half of them
// after a request that keeps the connection.
func connectionsFromEverywhere(w *environment) {
	w.siege(w.size(1200, 6000), "connections of many addresses", func(i int) net.Conn {
		conn := w.dial(address(21, i))
		if i%2 == 0 {
			say(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
		return conn
	})
}

// slowRequests sends incomplete requests: they stop in the request line, in the headers
// or in the body, or do not read the response.
func slowRequests(w *environment) {
	beginnings := []string{
		"POST /api/v1/heartb",
		"GET /status/acme HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"POST /api/v1/pages/acme/incidents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + adminToken +
			"\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{\"title\": \"",
		"POST /api/v1/heartbeat/" + w.monitor("slow", 3600) +
			" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx",
	}
	w.siege(w.size(600, 4000), "slow requests", func(i int) net.Conn {
		return say(w.dial(address(22, i%200)), beginnings[i%len(beginnings)])
	})
}

// openPages opens more event streams than there are descriptors, and keeps the
// connections on which they were refused.
func openPages(w *environment) {
	w.siege(w.size(1200, 6000), "open pages", func(i int) net.Conn {
		return say(w.dial(address(23, i%500)), "GET /status/acme/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	})
}

// stopUnderLoad restarts the server while clients connect and send one request each. No
// connection may be reset: each gets a response or is refused.
func stopUnderLoad(w *environment) {
	const clients = 60
	token := w.monitor("many", 3600)
	for round := range w.size(5, 100) {
		var resets sync.Map
		var answered atomic.Int64
		done := make(chan struct{})
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				c := client(address(30+round%100, i))
				for {
					select {
					case <-done:
						return
					default:
					}
					res, err := c.Post(w.server.URL+"/api/v1/heartbeat/"+token, "", nil)
					switch {
					case err == nil:
						io.Copy(io.Discard, res.Body)
						res.Body.Close()
						answered.Add(1)
					case isRefused(err):
						return
					default:
						resets.Store(err.Error(), true)
					}
				}
			})
		}
		w.await("clients are answered", func() bool { return answered.Load() > clients })
		if err := w.server.Stop(); err != nil {
			w.Errorf("the stop: %v", err)
		}
		close(done)
		all.Wait()
		resets.Range(func(err, _ any) bool {
			w.Errorf("round %d: a client got no answer: %v", round, err)
			return true
		})
		w.server.Start()
	}
}
