package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

var postgresDialect = dialect{
	name:        "postgres",
	each:        `(SELECT json_array_elements_text($1::json))`,
	forUpdate:   " FOR NO KEY UPDATE",
	shared:      true,
	hasVersions: `SELECT count(*) FROM pg_class WHERE oid = to_regclass('goose_db_version')`,
	readOptions: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	// Rows are locked in one order, as everywhere.
	recordPings: `WITH given AS MATERIALIZED (SELECT token FROM heard WHERE token IN EACH($2) ORDER BY token FOR UPDATE)
		UPDATE heard SET heard_at = $1 WHERE token IN (SELECT token FROM given) AND live AND (heard_at IS NULL OR heard_at <= $1)`,
	now: func(c *session) (time.Time, error) {
		n, err := one(c, scanInt, `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint`)
		return time.UnixMilli(n).UTC(), err
	},
	announce: func(t *tx) error {
		for pageID := range t.versions {
			if _, err := t.exec(`SELECT pg_notify('`+pageChannel+`', $1)`, pageID); err != nil {
				return err
			}
		}
		return nil
	},
	create: func(string) error { return nil },
	lock:   func(string) (func(), error) { return func() {}, nil }, // replicas share it
	repeatable: func(err error) bool {
		switch postgresCode(err) {
		case "40001", "40P01": // serialisation failure, deadlock
			return true
		case "23503": // what was just found has been deleted since: the next look misses it
			return true
		}
		return false
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
		default:
			class := code[:2]
			// connection, resources, operator intervention, system, read only, repetitions used up
			return class == "08" || class == "53" || class == "57" || class == "58" || class == "25" || class == "40"
		}
	},
	duplicate: func(err error) bool { return postgresCode(err) == "23505" },
}

// pageChannel carries the ids of pages that changed, between replicas.
const pageChannel = "allswell_page"

// postgresConnections is the most connections of one replica.
const postgresConnections = 12

func postgresCode(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// openPostgres opens one pool, for reading and writing. A commit is durable
// when it returns, whatever the server's default is.
func openPostgres(dsn string) (writer, reader *sql.DB, err error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The parser's error may quote the address with its password.
		return nil, nil, errors.New("the database address is not a valid postgres:// URL")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	config.RuntimeParams["application_name"] = "allswell"
	config.RuntimeParams["synchronous_commit"] = "on"
	config.RuntimeParams["lock_timeout"] = fmt.Sprint(verbTimeout.Milliseconds())
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "30000"
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(postgresConnections)
	db.SetMaxIdleConns(postgresConnections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, db, nil
}

// listen waits for other replicas' announcements and calls changed for each,
// until ctx ends or the connection is lost.
func (s *Store) listen(ctx context.Context, changed func(pageID string)) error {
	config, err := pgx.ParseConfig(s.dsn)
	if err != nil {
		return errors.New("the database address is not a valid postgres:// URL")
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+pageChannel); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		changed(n.Payload)
	}
}
