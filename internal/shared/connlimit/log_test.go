package connlimit

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/allswell/allswell/test/syncbuffer"
)

// lines collects what was logged.
type lines struct{ syncbuffer.Buffer }

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// TestRefusalInJSON checks that the JSON log names the reason by its label.
func TestRefusalInJSON(t *testing.T) {
	log := new(lines)
	l := New(Config{
		Max: 2 * minReserve, PerAddress: 2 * minAddressReserve, Logger: slog.New(slog.NewJSONHandler(log, nil)),
	})
	here, there := net.Pipe()
	there.Close()
	l.refuse(here, AddressFull, false)
	if !strings.Contains(log.String(), `"reason":"address_full"`) {
		t.Errorf("the log has %s", log)
	}
}
