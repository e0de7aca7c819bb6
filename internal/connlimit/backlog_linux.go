package connlimit

import (
	"net"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// ignoreNew makes the kernel ignore whoever begins a handshake with a listener,
// so that its queue of established connections can be emptied. Closing a listener
// resets what is in that queue, and without this somebody may always have joined
// it since it was last found empty. A client that is ignored tries again after a
// second, by when the listener is closed, and is refused.
func ignoreNew(l net.Listener) error {
	conn, ok := l.(syscall.Conn)
	if !ok {
		return syscall.ENOTSUP
	}
	// A socket's filter sees segments from the TCP header on. SYN without ACK
	// begins a handshake; the ACK that ends one has to pass.
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

// somebodyWaits reports whether a connection waits to be accepted.
func somebodyWaits(l net.Listener) (waits bool) {
	conn, ok := l.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) { // fails if the listener is closed: then nobody waits
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		waits = err == nil && n > 0
	})
	return waits
}
