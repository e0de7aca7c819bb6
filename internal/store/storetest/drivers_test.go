package storetest

import (
	"bytes"
	"database/sql"
	"net/url"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// These tests check that both drivers accept the same statements, without the store
// (docs/decisions/0002-one-sql-text-in-one-package.md).

// A statement is run unchanged on both engines. If rows is set, it must return them; the
// columns are scanned into the types of their values.
type statement struct {
	name     string
	text     string
	args     []any
	rows     [][]any
	affected int64 // of a statement without rows
}

const schema = `CREATE TABLE pages (
	id TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE, description TEXT, version BIGINT NOT NULL DEFAULT 1);
CREATE TABLE monitors (
	id TEXT PRIMARY KEY, page_id TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE, name TEXT NOT NULL,
	hash BYTEA, enabled BOOLEAN NOT NULL, state TEXT NOT NULL, due_at BIGINT, share DOUBLE PRECISION);
CREATE TABLE outages (id TEXT PRIMARY KEY, monitor_id TEXT NOT NULL, ended_at BIGINT);
CREATE UNIQUE INDEX outages_open ON outages (monitor_id) WHERE ended_at IS NULL;
CREATE INDEX monitors_due ON monitors (due_at, id) WHERE enabled AND state = 'up';
CREATE TABLE jobs (id BIGINT PRIMARY KEY, state TEXT NOT NULL, lease_at BIGINT, attempt BIGINT NOT NULL DEFAULT 0)`

var statements = []statement{
	{name: "numbers bind by number, the second before the first",
		text: `SELECT CAST($2 AS TEXT), CAST($1 AS TEXT)`, args: []any{"first", "second"},
		rows: [][]any{{"second", "first"}}},
	{name: "a number twice is one value",
		text: `SELECT CAST($1 AS BIGINT) + CAST($2 AS BIGINT), CAST($1 AS BIGINT) * 2`,
		args: []any{int64(20), int64(1)},
		rows: [][]any{{int64(21), int64(40)}}},
	{name: "the last number first, in an INSERT",
		text: `INSERT INTO pages (slug, id, description) VALUES ($3, $1, $2)`, args: []any{"page_a", nil, "acme"},
		affected: 1},
	{name: "what NULL and a default leave",
		text: `SELECT slug, description, version FROM pages WHERE id = $1`, args: []any{"page_a"},
		rows: [][]any{{"acme", nil, int64(1)}}},
	{
		name: "upsert, nothing there", text: upsertPage, args: []any{"page_b", "other", "first"},
		rows: [][]any{{"page_b", int64(1)}},
	},
	{
		name: "upsert, on conflict", text: upsertPage, args: []any{"page_c", "other", "again"},
		rows: [][]any{{"page_b", int64(2)}},
	},
	{name: "insert or leave alone",
		text: `INSERT INTO pages (id, slug) VALUES ($1, $2) ON CONFLICT DO NOTHING`, args: []any{"page_d", "acme"},
		affected: 0},
	{name: "booleans, bytes, floats and big integers in",
		text: `INSERT INTO monitors (id, page_id, name, hash, enabled, state, due_at, share) VALUES
			($1, $2, 'one', $3, $4, 'up', $5, $6), ('mon_2', $2, 'two', NULL, $4, 'up', $5, NULL), ('mon_3', $2,
			'three', $3, NOT $4, 'up', $5, 0)`,
		args: []any{"mon_1", "page_a", []byte{0, 0xff, 'x'}, true, int64(1_800_000_000_000), 0.25}, affected: 3},
	{name: "and out again",
		text: `SELECT hash, enabled, due_at, share FROM monitors WHERE id = $1`, args: []any{"mon_1"},
		rows: [][]any{{[]byte{0, 0xff, 'x'}, true, int64(1_800_000_000_000), 0.25}}},
	{name: "found by bytes, and by a boolean column alone",
		text: `SELECT id FROM monitors WHERE hash = $1 AND enabled`, args: []any{[]byte{0, 0xff, 'x'}},
		rows: [][]any{{"mon_1"}}},
	{name: "text beyond ASCII, and the longest integer",
		text: `SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT)`, args: []any{"größe 🚦 \u200f", int64(1<<63 - 1)},
		rows: [][]any{{"größe 🚦 \u200f", int64(1<<63 - 1)}}},
	{name: "a keyset page, by row comparison",
		text: `SELECT id FROM monitors WHERE enabled AND state = 'up' AND due_at <= $1 AND (due_at, id) > ($2, $3)
			ORDER BY due_at, id LIMIT $4`,
		args: []any{int64(1_900_000_000_000), int64(1_800_000_000_000), "mon_1", 10}, rows: [][]any{{"mon_2"}}},
	{name: "compare and set: the evidence holds",
		text: `UPDATE monitors SET state = $2 WHERE id = $1 AND state = $3 AND due_at = $4`,
		args: []any{"mon_1", "down", "up", int64(1_800_000_000_000)}, affected: 1},
	{name: "compare and set: it does not hold any more",
		text: `UPDATE monitors SET state = $2 WHERE id = $1 AND state = $3 AND due_at = $4`,
		args: []any{"mon_1", "down", "up", int64(1_800_000_000_000)}, affected: 0},
	{name: "arithmetic with a parameter, returned",
		text: `UPDATE monitors SET due_at = $1 + 60000 WHERE id = $2 RETURNING due_at`, args: []any{int64(5), "mon_2"},
		rows: [][]any{{int64(60005)}}},
	{name: "a parameter that may be NULL",
		text: `UPDATE monitors SET share = $1, hash = COALESCE($2, hash) WHERE id = 'mon_3' RETURNING share, hash`,
		args: []any{nil, nil}, rows: [][]any{{nil, []byte{0, 0xff, 'x'}}}},
	{name: "an open outage, once", text: openOutage, args: []any{"out_1", "mon_1"}, affected: 1},
	{
		name: "a partial unique index as the conflict's target", text: openOutage, args: []any{"out_2", "mon_1"},
		affected: 0,
	},
	{name: "the outage ends",
		text: `UPDATE outages SET ended_at = $1 WHERE monitor_id = $2 AND ended_at IS NULL`,
		args: []any{int64(9), "mon_1"}, affected: 1},
	{name: "so that another may begin", text: openOutage, args: []any{"out_3", "mon_1"}, affected: 1},
	{name: "left join, case, coalesce, count and group",
		text: `SELECT m.id, COALESCE(max(o.ended_at), -1), count(o.id), CASE WHEN m.enabled THEN 'on' ELSE 'off' END
			FROM monitors m LEFT JOIN outages o ON o.monitor_id = m.id GROUP BY m.id, m.enabled ORDER BY m.id`,
		rows: [][]any{
			{"mon_1", int64(9), int64(2), "on"}, {"mon_2", int64(-1), int64(0), "on"},
			{"mon_3", int64(-1), int64(0), "off"},
		}},
	{name: "exists, as a boolean",
		text: `SELECT EXISTS (SELECT 1 FROM outages WHERE monitor_id = $1), EXISTS (SELECT 1 FROM outages
			WHERE monitor_id = $2)`,
		args: []any{"mon_1", "mon_2"}, rows: [][]any{{true, false}}},
	{name: "insert from a select",
		text: `INSERT INTO jobs (id, state) SELECT CAST($1 AS BIGINT) + version, 'waiting' FROM pages ORDER BY id`,
		args: []any{int64(100)}, affected: 2},
	{
		name: "a claim: pick, lease, number, return", text: claim, args: []any{int64(50), int64(80), 1},
		rows: [][]any{{int64(101), int64(1)}},
	},
	{
		name: "the next claim takes the next one", text: claim, args: []any{int64(50), int64(80), 5},
		rows: [][]any{{int64(102), int64(1)}},
	},
	{
		name: "until the lease is over, oldest first", text: claim, args: []any{int64(90), int64(120), 1},
		rows: [][]any{{int64(101), int64(2)}},
	},
	{name: "window function",
		text: `SELECT id, row_number() OVER (ORDER BY id DESC) FROM jobs ORDER BY id`,
		rows: [][]any{{int64(101), int64(2)}, {int64(102), int64(1)}}},
	{name: "several tables, deleted by the parent",
		text: `DELETE FROM pages WHERE id = $1`, args: []any{"page_a"}, affected: 1},
	{name: "took its children along", text: `SELECT count(*) FROM monitors`, rows: [][]any{{int64(0)}}},
}

const (
	upsertPage = `INSERT INTO pages (id, slug, description) VALUES ($1, $2, $3)
		ON CONFLICT (slug) DO UPDATE SET description = excluded.description, version = pages.version + 1
		RETURNING id, version`
	openOutage = `INSERT INTO outages (id, monitor_id) VALUES ($1, $2) ON CONFLICT (monitor_id)
		WHERE ended_at IS NULL DO NOTHING`
	claim = `WITH picked AS MATERIALIZED (
			SELECT id FROM jobs WHERE state = 'waiting' AND (lease_at IS NULL OR lease_at < $1) ORDER BY id LIMIT $3)
		UPDATE jobs SET lease_at = $2, attempt = attempt + 1 WHERE id IN (SELECT id FROM picked) RETURNING id, attempt`
)

func TestBothDriversTakeTheSameText(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB) {
		for _, s := range statements {
			if s.rows == nil {
				res, err := db.ExecContext(t.Context(), s.text, s.args...)
				if err != nil {
					t.Fatalf("%s: %v", s.name, err)
				}
				if n, err := res.RowsAffected(); err != nil || n != s.affected {
					t.Errorf("%s: %d rows affected, %v; want %d", s.name, n, err, s.affected)
				}
				continue
			}
			got, err := query(t, db, s)
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if !reflect.DeepEqual(got, s.rows) {
				t.Errorf("%s:\n got %v\nwant %v", s.name, got, s.rows)
			}
		}
	})
}

// query scans each column into the type of the wanted value; nil stands for NULL.
func query(t *testing.T, db *sql.DB, s statement) ([][]any, error) {
	rows, err := db.QueryContext(t.Context(), s.text, s.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var got [][]any
	for rows.Next() {
		want := s.rows[min(len(got), len(s.rows)-1)]
		row := make([]any, len(want))
		into := make([]any, len(want))
		for i, w := range want {
			into[i] = &row[i]
			if w != nil {
				into[i] = reflect.New(reflect.TypeOf(w)).Interface()
			}
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, w := range want {
			if w != nil {
				row[i] = reflect.ValueOf(into[i]).Elem().Interface()
			}
		}
		got = append(got, row)
	}
	return got, rows.Err()
}

// TestSQLiteTakesWhatPostgreSQLRefuses shows differences on which no statement may depend,
// and why every test of the store runs on both engines.
func TestSQLiteTakesWhatPostgreSQLRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		args       []any
	}{
		{"an integer for TEXT", `INSERT INTO pages (id, slug) VALUES ($1, 'x')`, []any{7}},
		{"an instant for BIGINT", `INSERT INTO jobs (id, state, lease_at) VALUES (1, 'x', $1)`, []any{time.Unix(0, 0)}},
		{"text for BIGINT", `INSERT INTO jobs (id, state, lease_at) VALUES (2, 'x', $1)`, []any{"soon"}},
		{"a NUL in TEXT", `INSERT INTO pages (id, slug) VALUES ('page_n', $1)`, []any{"a\x00b"}},
		{"broken UTF-8 in TEXT", `INSERT INTO pages (id, slug) VALUES ('page_u', $1)`, []any{"a\xffb"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, db *sql.DB) {
				_, err := db.ExecContext(t.Context(), tt.text, tt.args...)
				if refuses := isPostgreSQL(db); (err != nil) != refuses {
					t.Errorf("error %v; refused: want %v", err, refuses)
				}
			})
		})
	}
}

// TestBothDriversRefuseTheSame checks the constraints of the schema.
func TestBothDriversRefuseTheSame(t *testing.T) {
	tests := []struct {
		name, text string
		args       []any
	}{
		{"a second of something unique", `INSERT INTO pages (id, slug) VALUES ('page_2', $1)`, []any{"taken"}},
		{"NULL where there must be something", `INSERT INTO pages (id, slug) VALUES ('page_3', $1)`, []any{nil}},
		{"a child without its parent",
			`INSERT INTO monitors (id, page_id, name, enabled, state) VALUES ('m', $1, 'n', $2, 'up')`,
			[]any{"nobody", true}},
		{"too few arguments", `UPDATE pages SET description = $1 WHERE id = $2`, []any{"only one"}},
	}
	onBoth(t, func(t *testing.T, db *sql.DB) {
		_, err := db.ExecContext(t.Context(), `INSERT INTO pages (id, slug) VALUES ('page_1', 'taken')`)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range tests {
			if _, err := db.ExecContext(t.Context(), tt.text, tt.args...); err == nil {
				t.Errorf("%s: was taken", tt.name)
			}
		}
		got := []byte{}
		err = db.QueryRowContext(t.Context(), `SELECT id FROM pages`).Scan(&got)
		if err != nil || !bytes.Equal(got, []byte("page_1")) {
			t.Errorf("a refused statement left %q, %v", got, err)
		}
	})
}

func isPostgreSQL(db *sql.DB) bool {
	var version string
	return db.QueryRow(`SELECT version()`).Scan(&version) == nil // SQLite has no such function
}

func onBoth(t *testing.T, test func(*testing.T, *sql.DB)) {
	run := func(driver, address string) func(*testing.T) {
		return func(t *testing.T) {
			if address == "" {
				address = EmptyPostgreSQL(t)
			}
			db, err := sql.Open(driver, address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			if _, err := db.ExecContext(t.Context(), schema); err != nil {
				t.Fatal(err)
			}
			test(t, db)
		}
	}
	file := url.URL{Scheme: "file", Path: filepath.Join(t.TempDir(), "test.db"), RawQuery: "_pragma=foreign_keys(ON)"}
	t.Run("SQLite", run("sqlite", file.String()))
	t.Run("PostgreSQL", run("pgx", ""))
}
