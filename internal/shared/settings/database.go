package settings

import (
	"errors"
	"net/url"
	"strings"
)

// DatabaseSetting is the setting of all commands that open the database.
type DatabaseSetting struct {
	Database string `env:"ALLSWELL_DATABASE" secret:"" default:"sqlite:allswell.db" placeholder:"ADDRESS" help:"sqlite:PATH, or postgres://user:password@host/name, which several replicas can share."`
}

// Parse returns the database's address. The error is an *Error.
func (s DatabaseSetting) Parse() (string, error) {
	p := NewParser(&s)
	database := Parse(p, &s.Database, Database)
	return database, p.Err()
}

// Database parses the address of a SQLite or PostgreSQL database.
func Database(value string) (string, error) {
	if path, ok := strings.CutPrefix(value, "sqlite:"); ok && path != "" && !strings.ContainsRune(path, 0) {
		return value, nil
	}
	u, err := url.Parse(value)
	// A "#" in a password would end the address, and part of the password would become the host.
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") || u.Opaque != "" ||
		strings.Contains(value, "#") {
		expected := "sqlite:PATH or postgres://user:password@host/name, with %-escapes for special characters (%23 " +
			"for #)"
		if !strings.ContainsAny(value, ":@") { // the value cannot contain a password
			expected += "; for this file it is sqlite:" + value
		}
		return "", errors.New(expected)
	}
	return value, nil
}

// DatabaseName returns a database's address for logs and messages, without user, password and parameters.
func DatabaseName(database string) string {
	if strings.HasPrefix(database, "sqlite:") {
		return database
	}
	u, err := url.Parse(database)
	if err != nil {
		return "postgres"
	}
	return "postgres://" + u.Host + u.Path
}
