package connlimit

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
)

// lines collects what was logged.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// TestRefusalInJSON checks that the JSON log names the reason by its label.
func TestRefusalInJSON(t *testing.T) {
	log := new(lines)
	l := New(Config{Max: 2 * minReserve, PerAddress: 2 * minAddressReserve, Logger: slog.New(slog.NewJSONHandler(log, nil))})
	here, there := net.Pipe()
	there.Close()
	l.refuse(here, AddressFull, false)
	if !strings.Contains(log.String(), `"reason":"address_full"`) {
		t.Errorf("the log has %s", log)
	}
}
