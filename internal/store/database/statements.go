package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// preparedStatements is how many statements one connection to SQLite keeps prepared, the most recently used. A service
// at rest repeats about as many; with 256, its private memory grows by another 1.5 MB.
const preparedStatements = 64

// A preparingConnector opens connections to SQLite that keep their statements prepared, as
// pgx does for PostgreSQL. Compiling a statement takes longer than most take to run.
type preparingConnector struct{ driver.Connector }

func (c preparingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := opened.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection of type %T cannot keep statements", opened), opened.Close())
	}
	idle, err := simplelru.NewLRU[string, driver.Stmt](preparedStatements, nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &preparingConn{sqliteConn: conn, idle: idle}, nil
}

// sqliteConn has the methods of a connection that package sql uses. It lacks the methods that run a text directly, so
// that package sql prepares each statement.
type sqliteConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// preparingConn is used by one goroutine at a time, like every driver.Conn.
type preparingConn struct {
	sqliteConn
	idle *simplelru.LRU[string, driver.Stmt] // prepared and not in use, by their text
}

// PrepareContext returns an idle statement with this text, or prepares one.
func (c *preparingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, ok := c.idle.Peek(text)
	if ok {
		c.idle.Remove(text)
	} else {
		var err error
		if s, err = c.sqliteConn.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
	}
	prepared, ok := s.(sqliteStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a statement of type %T cannot be kept", s), s.Close())
	}
	return &preparedStmt{sqliteStmt: prepared, conn: c, text: text}, nil
}

// Close closes the idle statements and the connection.
func (c *preparingConn) Close() error {
	var errs []error
	for _, s := range c.idle.Values() {
		errs = append(errs, s.Close())
	}
	c.idle.Purge()
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// keep makes a statement idle. It closes the statement that was idle for longest if there are too many, and a statement
// with the same text, which was in use at the same time.
func (c *preparingConn) keep(text string, s driver.Stmt) error {
	replaced, twice := c.idle.Peek(text)
	if !twice && c.idle.Len() == preparedStatements {
		_, replaced, _ = c.idle.RemoveOldest()
	}
	c.idle.Add(text, s)
	if replaced == nil {
		return nil
	}
	return replaced.Close()
}

// sqliteStmt has the methods of a statement that package sql uses.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// preparedStmt is a statement in use.
type preparedStmt struct {
	sqliteStmt
	conn *preparingConn
	text string
}

// Close makes the statement idle. Its results are closed by then, which has reset it.
func (s *preparedStmt) Close() error {
	if s.conn == nil {
		return nil
	}
	conn := s.conn
	s.conn = nil
	return conn.keep(s.text, s.sqliteStmt)
}
