// Package freeport chooses ports for servers that tests start later.
package freeport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// These ports are below those that Linux, macOS and Windows give to outgoing connections, so that no connection gets one
// before the server listens.
const first, last = 16_000, 32_000

// Port returns a port of the loopback interface, chosen at random, that nothing listens on.
func Port(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := first + rand.IntN(last-first)
		if l, err := net.Listen("tcp", loopback(port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("100 ports of the loopback interface are in use")
	return 0
}

// Address returns the address of a Port.
func Address(t testing.TB) string {
	t.Helper()
	return loopback(Port(t))
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
