package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/allswell/allswell/internal/store/database"
)

// A PostgreSQL database and its connections are lent to one test after the other, because most of a test's time would
// go to a new database, and to new backends that have to plan every statement. A test that fails, changes the schema or
// leaves a connection open is the last one of its database.

const (
	// maxFree is the maximum number of free databases, and maxKept the maximum number of connections that each keeps.
	maxFree, maxKept = 8, 4

	// maxSize is how large the tables of a database may get, in bytes. It is not vacuumed.
	maxSize = 4 << 20
)

// lentDatabase is a database of the shared cluster.
type lentDatabase struct {
	name        string
	connections *database.Connections
	cleaner     *pgx.Conn   // does not check foreign keys; nil before the first cleaning
	open        atomic.Bool // a store uses the connections
}

var (
	lentMu sync.Mutex // guards free and lent
	free   []*lentDatabase
	lent   = make(map[string]*lentDatabase) // by address
)

// borrow returns a database with the current schema and no rows.
func borrow() (*lentDatabase, error) {
	lentMu.Lock()
	defer lentMu.Unlock()
	if n := len(free); n > 0 {
		l := free[n-1]
		free = free[:n-1]
		lent[l.address()] = l
		return l, nil
	}
	template, err := preparedDatabase()
	if err != nil {
		return nil, err
	}
	l := &lentDatabase{name: "test_" + strings.ToLower(rand.Text())}
	if err := sharedCluster.create(l.name, template.name); err != nil {
		return nil, err
	}
	if l.connections, err = database.NewConnections(l.address()); err != nil {
		return nil, errors.Join(err, l.drop())
	}
	lent[l.address()] = l
	return l, nil
}

func (l *lentDatabase) drop() error {
	return sharedCluster.exec("DROP DATABASE IF EXISTS " + l.name + " WITH (FORCE)")
}

func (l *lentDatabase) address() string { return sharedCluster.Address(l.name) }

// giveBack makes the database free for another test, or drops it.
func (l *lentDatabase) giveBack(t testing.TB) {
	clean := !t.Failed() && l.clean() == nil
	lentMu.Lock()
	delete(lent, l.address())
	if clean = clean && len(free) < maxFree; clean {
		free = append(free, l)
	}
	lentMu.Unlock()
	if clean {
		return
	}
	l.connections.Retire()
	if l.cleaner != nil {
		_ = l.cleaner.Close(context.Background()) // the server ends it anyway
	}
	if err := l.drop(); err != nil {
		t.Errorf("dropping a database: %v", err)
	}
}

// lend returns the connections of the database with the address, for one store until the test ends. It returns nil if
// another store uses them, and for all other databases.
func lend(t testing.TB, address string) *database.Connections {
	lentMu.Lock()
	l := lent[address]
	lentMu.Unlock()
	if l == nil || !l.open.CompareAndSwap(false, true) {
		return nil
	}
	t.Cleanup(func() { l.open.Store(false) })
	return l.connections
}

// pristine describes the prepared database.
type pristine struct {
	name   string
	schema string   // see schemaOf
	tables string   // a statement that selects the names of the tables that have rows
	rows   []string // statements that insert the rows
}

// schemaOf selects what changes with the schema, the statistics and the settings of a database, without its tables'
// contents.
const schemaOf = `SELECT concat_ws(' ',
	(SELECT concat(count(*), '/', sum(xmin::text::bigint)) FROM pg_class WHERE oid >= 16384),
	(SELECT concat(count(*), '/', sum(xmin::text::bigint)) FROM pg_attribute WHERE attrelid >= 16384),
	(SELECT concat(count(*), '/', sum(xmin::text::bigint)) FROM pg_constraint WHERE oid >= 16384),
	(SELECT concat(count(*), '/', sum(xmin::text::bigint)) FROM pg_trigger),
	(SELECT concat(count(*), '/', sum(xmin::text::bigint)) FROM pg_proc WHERE oid >= 16384),
	(SELECT concat(count(*), '/', sum(xmin::text::bigint)) FROM pg_namespace),
	(SELECT concat(count(*), '/', sum(xmin::text::bigint)) FROM goose_db_version),
	(SELECT count(*) FROM pg_statistic WHERE starelid >= 16384),
	(SELECT count(*) FROM pg_db_role_setting WHERE setdatabase = (SELECT oid FROM pg_database
	WHERE datname = current_database())))`

// inspect describes a database that was just migrated.
func inspect(ctx context.Context, name string) (p pristine, err error) {
	p.name = name
	conn, err := pgx.Connect(ctx, sharedCluster.Address(name))
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if err := conn.QueryRow(ctx, schemaOf).Scan(&p.schema); err != nil {
		return p, err
	}
	err = conn.QueryRow(ctx,
		`SELECT string_agg(format('SELECT %L WHERE EXISTS (SELECT 1 FROM %I)', table_name, table_name), ' UNION ALL ')
		FROM information_schema.tables WHERE table_schema = current_schema()
		AND table_name <> 'goose_db_version'`).Scan(&p.tables)
	if err != nil {
		return p, err
	}
	rows, err := conn.Query(ctx, p.tables)
	if err != nil {
		return p, err
	}
	filled, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, table := range filled {
		var insert string
		err = errors.Join(err,
			conn.QueryRow(ctx,
				fmt.Sprintf(`SELECT format('INSERT INTO %[1]s SELECT * FROM json_populate_recordset(NULL::%[1]s, %%L)',
			(SELECT json_agg(t) FROM %[1]s t))`, table)).Scan(&insert))
		p.rows = append(p.rows, insert)
	}
	return p, err
}

// clean makes the database as the prepared one, and its sessions as new ones. It returns an error if it cannot.
func (l *lentDatabase) clean() error {
	kept := l.connections.Idle()
	if kept == 0 || kept > maxKept {
		return errors.New("no connections, or too many")
	}
	template, err := preparedDatabase()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if l.cleaner == nil {
		if l.cleaner, err = pgx.Connect(ctx, l.address()+"&session_replication_role=replica"); err != nil {
			return err
		}
	}
	if err := template.restore(ctx, l.cleaner, kept+1); err != nil {
		return err
	}
	db := sql.OpenDB(l.connections)
	defer db.Close()
	for range kept {
		c, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		const asNew = `CLOSE ALL; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all()`
		if _, err := c.ExecContext(ctx, asNew, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

// restore replaces the rows of a database by the prepared rows. It returns an error if the database differs in more
// than its rows, is too large, or does not have this number of sessions. The session c does not check foreign keys.
func (p pristine) restore(ctx context.Context, c *pgx.Conn, sessions int) error {
	var schema string
	if err := c.QueryRow(ctx, schemaOf).Scan(&schema); err != nil || schema != p.schema {
		return errors.Join(errors.New("the schema has changed"), err)
	}
	var size, open int
	err := c.QueryRow(ctx,
		`SELECT (SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE oid >= 16384 AND relkind = 'r'),
		(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())`).Scan(&size, &open)
	if err == nil && (size > maxSize || open != sessions) {
		err = fmt.Errorf("%d bytes and %d sessions", size, open)
	}
	if err != nil {
		return err
	}
	rows, err := c.Query(ctx, p.tables)
	if err != nil {
		return err
	}
	filled, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	var statements []string
	for _, table := range filled {
		statements = append(statements, "DELETE FROM "+table)
	}
	_, err = c.Exec(ctx, strings.Join(append(statements, p.rows...), ";"), pgx.QueryExecModeSimpleProtocol)
	return err
}
