// Package freeport chooses ports for servers that tests start later.
package freeport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// These ports are below the range that Linux, macOS and Windows use for outgoing connections, so no connection takes
// one before the server listens.
const first, last = 16_000, 32_000

// given holds the ports that were returned. A server may not listen yet when the next one gets its port.
var given sync.Map

// Port returns a port of the loopback interface, chosen at random, that nothing listens on. It returns each once per
// process.
func Port(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := first + rand.IntN(last-first)
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		l.Close()
		if _, again := given.LoadOrStore(port, true); !again {
			return port
		}
	}
	t.Fatal("100 ports of the loopback interface are in use, or were returned before")
	return 0
}

// Address returns the address of a Port.
func Address(t testing.TB) string {
	t.Helper()
	return loopback(Port(t))
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
