package store

import (
	"database/sql"
	"regexp"
	"strings"
	"time"
)

// dialect is what differs between the engines. Statements are written once, in
// PostgreSQL's $1 form, with two words of ours that each engine spells in its
// own way:
//
//	EACH($n)    the strings of the JSON array in parameter n, as a subquery
//	FOR UPDATE  the row lock, which SQLite's single writer does not need
type dialect struct {
	name        string
	each        string // what EACH($n) becomes, with $1 for the parameter
	forUpdate   string
	shared      bool // several replicas may serve one database
	readOptions *sql.TxOptions
	hasVersions string // tells whether any migration was ever run: 0 or 1

	// recordPings notes pings in the live rows of the table heard: $1 is now, $2 the
	// tokens. TestRecordPingsIsMonitorRecordPing compares it with Monitor.RecordPing.
	recordPings string

	// now reads the clock that decides (design section 7, point 6).
	now func(*session) (time.Time, error)
	// announce tells the other replicas, in the transaction, which pages it
	// changed.
	announce func(*tx) error
	// address names the database in logs, without secrets.
	address func(dsn string) string
	// replicate makes the commit of a transaction that changed nothing wait for
	// all that a commit waits for; nil where there is nothing to wait for.
	replicate func(*session) error
	// create makes a missing database file, readable by its owner alone.
	create func(dsn string) error
	// lock takes the serving lock and returns what gives it back.
	lock func(dsn string) (func(), error)
	// repeatable reports errors after which the whole transaction may be run
	// again; unavailable those that say the database cannot be used now;
	// duplicate a broken unique index.
	repeatable, unavailable, duplicate func(error) bool
	// undone reports errors of a commit that say that it has not happened and
	// will not; after any other its outcome is unknown.
	undone func(error) bool
}

var eachList = regexp.MustCompile(`EACH\((\$\d+)\)`)

// text turns a statement as it is written into the engine's.
func (d *dialect) text(query string) string {
	query = eachList.ReplaceAllString(query, d.each)
	return strings.ReplaceAll(query, " FOR UPDATE", d.forUpdate)
}
