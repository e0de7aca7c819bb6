package check

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"time"
)

// Limits of what a check of a port does for a server that speaks first.
const (
	greetingTime  = 250 * time.Millisecond // in which a greeting is awaited
	handshakeTime = 2 * time.Second        // in which the handshake of MySQL is completed
)

// endGreeting completes the handshake that a server of MySQL or MariaDB began with its greeting: the server counts a
// client that only connects as an error, and after some of them (max_connect_errors) it refuses all clients of this
// host. begin is what was received already. If the server refuses this host already, endGreeting returns why, otherwise
// "". The check is over: this does not count towards its times.
func (r *run) endGreeting(conn net.Conn, begin []byte) (failure string) {
	r.finish()
	if len(begin) == 0 {
		begin = make([]byte, 4096)
		_ = conn.SetReadDeadline(time.Now().Add(min(greetingTime, r.left())))
		n, err := conn.Read(begin)
		if begin = begin[:n]; n == 0 || err != nil {
			return ""
		}
	}
	if !isMySQL(begin) {
		return ""
	}
	_ = conn.SetDeadline(time.Now().Add(min(handshakeTime, r.left())))
	peer := struct {
		io.Reader
		io.Writer
	}{io.MultiReader(bytes.NewReader(begin), conn), conn}
	_, packet, err := readMySQL(peer)
	if err != nil {
		return ""
	}
	if packet[0] != mysqlGreeting {
		return mysqlBlocked(packet)
	}
	_ = new(mysqlProbe).signInAs(r, peer) // refused or not, the handshake has ended
	return ""
}

// left returns how much of the time of the check is left.
func (r *run) left() time.Duration { return r.timeout - time.Since(r.started) }

// isMySQL reports whether what a server says first is the beginning of a packet of MySQL: its greeting, or an error.
func isMySQL(begin []byte) bool {
	if len(begin) < 6 || begin[3] != 0 || begin[2] != 0 {
		return false
	}
	size := int(begin[0]) | int(begin[1])<<8
	switch begin[4] {
	case mysqlGreeting: // the version follows, as text
		return size > 30 && begin[5] >= '0' && begin[5] <= '9'
	case mysqlError:
		return size >= 3 && len(begin) >= 7 && binary.LittleEndian.Uint16(begin[5:]) >= 1000
	}
	return false
}

// mysqlBlocked returns why a server talks to no client from this host, or to none at all; "": it does.
func mysqlBlocked(packet []byte) string {
	if len(packet) < 3 || packet[0] != mysqlError {
		return ""
	}
	switch binary.LittleEndian.Uint16(packet[1:]) {
	case 1129: // ER_HOST_IS_BLOCKED
		return mysqlReason(packet) + "; a check of type mysql does not cause this"
	case 1040: // ER_CON_COUNT_ERROR
		return mysqlReason(packet)
	}
	return ""
}
