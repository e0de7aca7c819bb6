//go:build !linux

package connlimit

import (
	"errors"
	"net"
)

// dropHandshakes is not supported on this platform. A connection that is established
// at the moment when the drained listener is closed may be reset.
func dropHandshakes(net.Listener) error { return errors.ErrUnsupported }

// connectionPending always returns false on this platform.
func connectionPending(net.Listener) bool { return false }
