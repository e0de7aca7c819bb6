package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var postgresDialect = dialect{
	name:        "postgres",
	each:        `(SELECT json_array_elements_text($1::json))`,
	forUpdate:   " FOR NO KEY UPDATE",
	shared:      true,
	hasVersions: `SELECT count(*) FROM pg_class WHERE oid = to_regclass('goose_db_version')`,
	readOptions: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	// The rows are locked in the order of their tokens to prevent deadlocks.
	recordPings: `WITH given AS MATERIALIZED (SELECT token FROM last_pings WHERE token IN EACH($2) ORDER BY token FOR UPDATE)
		UPDATE last_pings SET pinged_at = $1 WHERE token IN (SELECT token FROM given) AND healthy AND (pinged_at IS NULL OR pinged_at <= $1)`,
	// Every transaction asks whether the server is a standby, so that a connection
	// that a proxy leads to a standby is detected before stale data is read.
	now: func(c *session) (time.Time, error) {
		type answer struct {
			ms      int64
			standby bool
		}
		a, err := one(c, func(row scanner) (a answer, err error) {
			err = row.Scan(&a.ms, &a.standby)
			return
		}, `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_is_in_recovery()`)
		if err == nil && a.standby {
			c.s.primary.dropAll("the database server is a standby")
			err = fmt.Errorf("%w: the database server is a standby", allswell.ErrBusy)
		}
		return time.UnixMilli(a.ms).UTC(), err
	},
	// A transactional message takes a transaction id and is a WAL record, so the
	// commit waits for the disk and for synchronous standbys as any other. It
	// touches no row.
	replicate: func(c *session) error {
		_, err := one(c, scanString, `SELECT pg_logical_emit_message(true, 'allswell', ''::text)::text`)
		return err
	},
	// One statement counts the transaction (see page_changes) and notifies for each
	// page. It is the last statement, because all transactions lock its row. The commit
	// of a NOTIFY waits for the commits of others anyway.
	announce: func(t *tx) (err error) {
		if len(t.versions) == 0 {
			return nil
		}
		versions, err := json.Marshal(t.versions)
		if err != nil {
			return err
		}
		t.changeNumber, err = one(&t.session, func(row scanner) (number int64, err error) {
			err = row.Scan(&number, new(string))
			return
		}, `WITH counted AS (UPDATE page_changes SET changes = changes + 1 RETURNING changes)
			SELECT changes, pg_notify('`+pageChannel+`', concat_ws(' ', $1::text, changes, page.key, page.value))::text
			FROM counted, json_each_text($2::json) AS page`, t.s.replica, string(versions))
		return err
	},
	address: func(dsn string) string {
		config, err := pgx.ParseConfig(dsn)
		if err != nil { // it was parsed before
			return ""
		}
		var hosts []string
		for _, c := range append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port}}, config.Fallbacks...) {
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
		case "40001", "40P01": // serialisation failure, deadlock
			return true
		case "23503": // a referenced row has been deleted meanwhile
			return true
		case "55P03": // lock timeout; the server ends a frozen holder meanwhile
			return true
		}
		return false
	},
	// pgconn.SafeToRetry is no proof: it also reports true for a connection that was lost
	// while COMMIT waited for its answer.
	undone: func(err error) bool {
		var refusal *pgconn.PgError
		return errors.As(err, &refusal) && refusal.SeverityUnlocalized == "ERROR" || errors.Is(err, pgx.ErrTxCommitRollback)
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

// pageChannel is the channel of notifications about changed pages: see parsePageChange.
const pageChannel = "allswell_page"

// timelineOf selects the identifier of a server's cluster, and its timeline if it is a
// primary.
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
func openPostgres(p *primary) *sql.DB {
	db := sql.OpenDB(p)
	db.SetMaxOpenConns(postgresConnections)
	db.SetMaxIdleConns(postgresConnections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db
}

// listen calls notified with the payload of each notification of a changed page,
// until ctx ends or the connection is lost.
func (s *Store) listen(ctx context.Context, notified func(payload string)) error {
	c, err := s.primary.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	conn := c.(*connection).Conn.Conn()
	if _, err := conn.Exec(ctx, "LISTEN "+pageChannel); err != nil {
		return err
	}
	defer s.pages.setUnsure(true) // some notifications of a transaction may be lost
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		notified(n.Payload)
	}
}
