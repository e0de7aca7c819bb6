//go:build !linux

package connlimit

import (
	"errors"
	"net"
)

// ignoreNew is not possible here. A client whose handshake ends in the instant
// in which the drained listener is closed may be reset.
func ignoreNew(net.Listener) error { return errors.ErrUnsupported }

// somebodyWaits is not known here.
func somebodyWaits(net.Listener) bool { return false }
