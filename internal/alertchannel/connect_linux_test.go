package alertchannel

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
)

// TestConnectionThatHangs checks that an attempt ends with its time, and counts as one to repeat, if a service does not
// even accept the connection.
func TestConnectionThatHangs(t *testing.T) {
	t.Parallel()
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	address := fullListener(t)
	for name, svc := range services {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		r := sender.Send(ctx, newChannel(t, name, svc.config, "http://"+address), messages(svc.ref)["one"])
		cancel()
		if r.Result != audience.SendFailed || !r.Unreachable || r.Reason == "" || r.Reference != "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// fullListener returns the address of a socket whose queue of connections is full: the kernel does not answer any more,
// as if a firewall dropped the packets.
func fullListener(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	err = errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0))
	if err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + strconv.Itoa(name.(*syscall.SockaddrInet4).Port)
	for range 16 {
		c, err := net.DialTimeout("tcp", address, 50*time.Millisecond)
		if failure := net.Error(nil); errors.As(err, &failure) && failure.Timeout() {
			return address
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("the queue of connections does not become full")
	return ""
}
