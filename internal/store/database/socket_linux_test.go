package database

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnacknowledgedDataIsLimited reads the limit back from a socket.
func TestUnacknowledgedDataIsLimited(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := (&net.Dialer{Control: limitUnacknowledged}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var limit int
	if failed := raw.Control(func(fd uintptr) {
		limit, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}); failed != nil || err != nil || limit != int(peerTimeout.Milliseconds()) {
		t.Errorf("%d ms, want %v: %v, %v", limit, peerTimeout, failed, err)
	}
}
