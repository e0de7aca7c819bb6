package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"
)

// counting counts the statements that the driver of SQLite compiles and closes.
type counting struct {
	driver.Connector
	prepared, closed int
}

func (c *counting) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &countedConn{conn.(sqliteConn), c}, nil
}

type countedConn struct {
	sqliteConn
	counts *counting
}

func (c *countedConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.sqliteConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	c.counts.prepared++
	return &countedStmt{s.(sqliteStmt), c.counts}, nil
}

type countedStmt struct {
	sqliteStmt
	counts *counting
}

func (s *countedStmt) Close() error { s.counts.closed++; return s.sqliteStmt.Close() }

// prepares opens a database with one connection that keeps its statements.
func prepares(t *testing.T) (*sql.DB, *counting) {
	t.Helper()
	connector, err := sqlite.NewConnector(fileURI(filepath.Join(t.TempDir(), "a.db"), nil))
	if err != nil {
		t.Fatal(err)
	}
	counts := &counting{Connector: connector}
	db := sql.OpenDB(preparingConnector{counts})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec(`CREATE TABLE t (n BIGINT)`); err != nil {
		t.Fatal(err)
	}
	return db, counts
}

// TestStatementsStayPrepared runs one statement repeatedly, with other arguments and after an error.
func TestStatementsStayPrepared(t *testing.T) {
	db, counts := prepares(t)
	before := counts.prepared
	for n := range 5 {
		if _, err := db.Exec(`INSERT INTO t (n) VALUES ($1)`, n); err != nil {
			t.Fatal(err)
		}
	}
	if counts.prepared != before+1 {
		t.Errorf("one statement was compiled %d times", counts.prepared-before)
	}
	for n := range 5 {
		var sum int64
		// A query that is closed before its last row must begin anew the next time.
		rows, err := db.Query(`SELECT n FROM t WHERE n >= $1 ORDER BY n`, n)
		if err != nil {
			t.Fatal(err)
		}
		if !rows.Next() || rows.Scan(&sum) != nil || sum != int64(n) {
			t.Errorf("from %d: %d", n, sum)
		}
		rows.Close()
	}
	if counts.prepared != before+2 {
		t.Errorf("two statements were compiled %d times", counts.prepared-before)
	}
	// A change of the schema reaches statements that are prepared.
	if _, err := db.Exec(`ALTER TABLE t ADD COLUMN m BIGINT DEFAULT 7`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var m int
		if err := db.QueryRow(`SELECT m FROM t WHERE n = 0`).Scan(&m); err != nil || m != 7 {
			t.Errorf("query after the change of the table: %d, %v", m, err)
		}
	}
}

// TestStatementInUseTwice runs a statement while its own results are being read.
func TestStatementInUseTwice(t *testing.T) {
	db, counts := prepares(t)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for n := range 3 {
		if _, err := tx.Exec(`INSERT INTO t (n) VALUES ($1)`, n); err != nil {
			t.Fatal(err)
		}
	}
	const query = `SELECT n FROM t WHERE n >= $1 ORDER BY n`
	outer, err := tx.Query(query, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for outer.Next() {
		var n, inner int
		if err := outer.Scan(&n); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(query, 2).Scan(&inner); err != nil {
			t.Fatal(err)
		}
		got = append(got, n, inner)
	}
	if fmt.Sprint(got) != "[0 2 1 2 2 2]" || outer.Err() != nil {
		t.Errorf("rows of both queries: %v, %v", got, outer.Err())
	}
	outer.Close()
	if counts.closed != 1 {
		t.Errorf("%d statements were closed, of two with one text", counts.closed)
	}
}

// TestPreparedStatementsAreBounded checks that a connection closes the statements that were not used for longest, and
// all of them with itself.
func TestPreparedStatementsAreBounded(t *testing.T) {
	db, counts := prepares(t)
	before := counts.prepared - counts.closed
	run := func(n int) {
		t.Helper()
		if _, err := db.Exec(fmt.Sprintf(`SELECT %d`, n)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 * preparedStatements {
		run(n)
	}
	if open := counts.prepared - counts.closed; open != preparedStatements {
		t.Errorf("%d statements are open, and %d before", open, before)
	}
	was := counts.prepared
	run(3*preparedStatements - 1)
	run(2 * preparedStatements)
	if counts.prepared != was {
		t.Error("a statement that was used lately is compiled again")
	}
	run(0)
	if counts.prepared != was+1 {
		t.Error("the oldest statement is kept")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if counts.prepared != counts.closed {
		t.Errorf("%d statements were compiled, %d closed", counts.prepared, counts.closed)
	}
}
