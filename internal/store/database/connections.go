package database

import (
	"context"
	"database/sql/driver"
	"log/slog"
	"sync"
)

// Connections keeps the connections of a PostgreSQL database open from one DB to the next, with the plans and caches
// that their backends have. It is for tests, which open and close a DB so often that new connections take half of their
// time. One DB at a time may use it. It is a driver.Connector, so that the database can be cleaned between two DBs.
type Connections struct {
	primary *primary

	mu      sync.Mutex
	idle    []*keptConnection
	used    int  // connections that are not idle
	retired bool // none are kept any more
}

// NewConnections returns Connections of the database with the address, without connecting to it.
func NewConnections(dsn string) (*Connections, error) {
	p, err := newPrimary(dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return &Connections{primary: p}, nil
}

// Connect returns an idle connection, or a new one.
func (k *Connections) Connect(ctx context.Context) (driver.Conn, error) {
	k.mu.Lock()
	k.used++
	for len(k.idle) > 0 {
		c := k.idle[len(k.idle)-1]
		k.idle = k.idle[:len(k.idle)-1]
		if c.usable() {
			k.mu.Unlock()
			return c, nil
		}
		_ = c.connection.Close() // it is lost
	}
	k.mu.Unlock()
	c, err := k.primary.Connect(ctx)
	if err != nil {
		k.mu.Lock()
		k.used--
		k.mu.Unlock()
		return nil, err
	}
	return &keptConnection{c.(*connection), k}, nil
}

// Driver implements driver.Connector.
func (k *Connections) Driver() driver.Driver { return k.primary.Driver() }

// Idle returns the number of open connections if another DB can use them: none is in use or being looked for, and they
// are not retired. Otherwise it returns 0.
func (k *Connections) Idle() int {
	k.primary.mu.Lock()
	probing := k.primary.probing
	k.primary.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.used > 0 || k.retired || probing {
		return 0
	}
	return len(k.idle)
}

// Retire closes the idle connections. From then on, Connect always connects, and no connection is kept.
func (k *Connections) Retire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.retired = true
	for _, c := range k.idle {
		_ = c.connection.Close() // nothing was asked of it
	}
	k.idle = nil
}

// keptConnection is a connection that Close keeps.
type keptConnection struct {
	*connection
	k *Connections
}

func (c *keptConnection) usable() bool {
	return !c.server().IsClosed() && !c.server().IsBusy() && c.server().TxStatus() == 'I' &&
		socketOf(c.server()).generation == c.p.generation.Load() && !c.superseded()
}

// Close keeps the connection, if it is usable.
func (c *keptConnection) Close() error {
	c.k.mu.Lock()
	defer c.k.mu.Unlock()
	c.k.used--
	if c.k.retired || !c.usable() {
		return c.connection.Close()
	}
	c.k.idle = append(c.k.idle, c)
	return nil
}
