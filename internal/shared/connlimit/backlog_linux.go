package connlimit

import (
	"net"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// dropHandshakes makes the kernel drop the SYN packets of new clients, so that the accept queue of the listener can be
// emptied. Closing a listener resets the connections in that queue, and without the filter a new one could always join.
// A dropped client retransmits after a second; by then the listener is closed and the kernel refuses the connection.
func dropHandshakes(l net.Listener) error {
	conn, ok := l.(syscall.Conn)
	if !ok {
		return syscall.ENOTSUP
	}
	// A socket filter sees segments from the TCP header on. SYN without ACK starts a
	// handshake; the final ACK of a handshake must pass.
	const flagsOffset, syn, ack = 13, 0x02, 0x10
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: flagsOffset, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: syn | ack},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: syn, SkipTrue: 1},
		bpf.RetConstant{Val: 1 << 16},
		bpf.RetConstant{Val: 0},
	})
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(program))
	for i, op := range program {
		filter[i] = unix.SockFilter{Code: op.Op, Jt: op.Jt, Jf: op.Jf, K: op.K}
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	})
	if err != nil {
		return err
	}
	return failed
}

// connectionPending reports whether a connection is waiting to be accepted.
func connectionPending(l net.Listener) (pending bool) {
	conn, ok := l.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) { // fails if the listener is closed; then nothing is pending
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		pending = err == nil && n > 0
	})
	return pending
}
