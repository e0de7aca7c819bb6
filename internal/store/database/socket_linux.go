package database

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged is a net.Dialer's Control. It ends a TCP connection on which sent data has not been acknowledged
// for peerTimeout, which keepalives do not: they are sent on idle connections only.
func limitUnacknowledged(network, _ string, c syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	failed := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(peerTimeout.Milliseconds()))
	})
	if failed != nil {
		return failed
	}
	return err
}
