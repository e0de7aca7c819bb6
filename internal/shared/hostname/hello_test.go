package hostname

import (
	"net"
	"testing"
)

// TestHello checks which names a mail server can look up, and what it is told without one.
func TestHello(t *testing.T) {
	for want, names := range map[string][]string{
		"status.example.com":     {"", "status.example.com", "host.example.net"},
		"host.example.net":       {"localhost", "192.0.2.1", "host.example.net."},
		"xn--bcher-kva.example":  {"ü\u202e.example", "bücher.example"},
		"":                       {"", "localhost", "2001:db8::1", "192.0.2.1"},
		"configured.example.org": {"configured.example.org", "status.example.com"},
	} {
		if got := Hello(names...); got != want {
			t.Errorf("Hello(%q) = %q, want %q", names, got, want)
		}
	}
	for want, addr := range map[string]net.Addr{
		"[192.0.2.1]":        &net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 1},
		"[IPv6:2001:db8::1]": &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 1},
		"[127.0.0.1]":        &net.UnixAddr{Name: "@", Net: "unix"},
	} {
		if got := HelloFrom(addr); got != want {
			t.Errorf("HelloFrom(%v) = %q", addr, got)
		}
	}
}
