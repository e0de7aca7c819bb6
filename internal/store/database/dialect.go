package database

import (
	"database/sql"
	"regexp"
	"strings"
	"time"
)

// dialect contains the differences between the engines.
type dialect struct {
	each        string            // what EACH($n) becomes, with $1 for the parameter
	locks       *strings.Replacer // translates the phrases of row locks
	shared      bool              // several replicas may serve one database
	readOptions *sql.TxOptions
	hasVersions string // selects 1 if any migration was ever run, and 0 otherwise

	// now reads the clock that all decisions use.
	now func(*Session) (time.Time, error)
	// address returns the database's address without secrets, for logs.
	address func(dsn string) string
	// replicate makes the commit of a transaction that changed nothing wait as any
	// other commit does, for the disk and for standbys; nil if that is not needed.
	replicate func(*Session) error
	// create creates a missing database file, readable only by its owner.
	create func(dsn string) error
	// lock acquires the serving lock and returns the function that releases it.
	lock func(dsn string) (func(), error)
	// repeatable reports errors after which the whole transaction may be run again, unavailable errors that mean that
	// the database cannot be used now, and duplicate violations of a unique index.
	repeatable, unavailable, duplicate func(error) bool
	// undone reports errors of a commit that prove that the transaction was rolled
	// back. After any other error its outcome is unknown.
	undone func(error) bool
}

var eachList = regexp.MustCompile(`EACH\((\$\d+)\)`)

// lockPhrase matches the beginning of a phrase of row locks, which may stand on a line of its own.
var lockPhrase = regexp.MustCompile(`\s+FOR `)

// text translates a statement to the engine's SQL.
func (d *dialect) text(query string) string {
	query = eachList.ReplaceAllString(query, d.each)
	return d.locks.Replace(lockPhrase.ReplaceAllString(query, " FOR "))
}
