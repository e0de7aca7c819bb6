package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var postgresDialect = dialect{
	each:        `(SELECT json_array_elements_text($1::json))`,
	locks:       strings.NewReplacer(" FOR UPDATE", " FOR NO KEY UPDATE", " FOR EXCLUSIVE UPDATE", " FOR UPDATE"),
	shared:      true,
	hasVersions: `SELECT count(*) FROM pg_class WHERE oid = to_regclass('goose_db_version')`,
	readOptions: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	// Every transaction checks whether the server is a standby, because a proxy may have
	// connected it to one, which has stale data.
	now: func(c *Session) (time.Time, error) {
		type answer struct {
			ms      int64
			standby bool
		}
		a, err := One(c, func(row Row) (a answer, err error) {
			err = row.Scan(&a.ms, &a.standby)
			return
		}, `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_is_in_recovery()`)
		if err == nil && a.standby {
			c.db.primary.dropAll("the database server is a standby")
			err = fmt.Errorf("%w: the database server is a standby", kernel.ErrBusy)
		}
		return time.UnixMilli(a.ms).UTC(), err
	},
	// A transactional message has a transaction id and a WAL record, so the commit waits
	// for the disk and for synchronous standbys. It changes no row.
	replicate: func(c *Session) error {
		_, err := One(c, ScanString, `SELECT pg_logical_emit_message(true, 'allswell', ''::text)::text`)
		return err
	},
	address: func(dsn string) string {
		config, err := pgx.ParseConfig(dsn)
		if err != nil { // it was parsed before
			return ""
		}
		var hosts []string
		for _, c := range append(
			[]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port}}, config.Fallbacks...,
		) {
			if host := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))); !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
		return strings.Join(hosts, ",")
	},
	create: func(string) error { return nil },
	lock:   func(string) (func(), error) { return func() {}, nil }, // replicas share it
	repeatable: func(err error) bool {
		switch postgresCode(err) {
		case "40001", "40P01": // serialization failure, deadlock
			return true
		case "23503": // a referenced row has been deleted meanwhile
			return true
		case "55P03": // lock timeout; the server ends a frozen holder meanwhile
			return true
		}
		return false
	},
	// pgconn.SafeToRetry does not prove it: it also returns true for a connection that was lost
	// while COMMIT waited for its answer.
	undone: func(err error) bool {
		var refusal *pgconn.PgError
		return errors.As(err, &refusal) && refusal.SeverityUnlocalized == "ERROR" ||
			errors.Is(err, pgx.ErrTxCommitRollback)
	},
	unavailable: func(err error) bool {
		var connect *pgconn.ConnectError
		var network net.Error
		if errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, sql.ErrConnDone) ||
			errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err) {
			return true
		}
		switch code := postgresCode(err); {
		case code == "":
			return false
		case code == "57014": // cancelled: by our deadline, or by the operator
			return true
		case code == "55P03": // lock timeout
			return true
		default:
			class := code[:2]
			// connection, resources, operator intervention, system, read only, repetitions used up
			return class == "08" || class == "53" || class == "57" || class == "58" || class == "25" || class == "40"
		}
	},
	duplicate: func(err error) bool { return postgresCode(err) == "23505" },
}

// timelineOf selects the identifier of a server's cluster, and its timeline if it is a primary.
const timelineOf = `SELECT system_identifier, CASE WHEN pg_is_in_recovery() THEN 0
	ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END FROM pg_control_system()`

// postgresConnections is the maximum number of connections of one replica.
const postgresConnections = 12

func postgresCode(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// openPostgres opens one pool for reading and writing. A commit is durable when it
// returns, independently of the server's default.
func (db *DB) openPostgres(kept *Connections) (err error) {
	var connector driver.Connector
	if db.kept = kept; kept != nil {
		db.primary, connector = kept.primary, kept
		db.primary.log = db.log
	} else {
		db.primary, err = newPrimary(db.dsn, db.log)
		connector = db.primary
	}
	if err != nil {
		return err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(postgresConnections)
	pool.SetMaxIdleConns(postgresConnections)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	db.writer, db.reader = pool, pool
	return nil
}

// Listen listens on a channel and calls notified with the payload of each notification,
// until ctx ends or the connection is lost, and returns the reason. began is false if it
// could not begin to listen. It must not be called on SQLite.
func (db *DB) Listen(ctx context.Context, channel string, notified func(payload string)) (began bool, err error) {
	if db.fault != nil {
		if err := db.fault("before", "LISTEN "+channel); err != nil {
			return false, err
		}
	}
	c, err := db.primary.Connect(ctx)
	if err != nil {
		return false, db.unavailable(err)
	}
	defer c.Close()
	conn := c.(*connection).Conn.Conn()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return false, db.unavailable(err)
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if ctx.Err() != nil {
			return true, ctx.Err()
		}
		if err != nil {
			return true, db.unavailable(err)
		}
		notified(n.Payload)
	}
}
