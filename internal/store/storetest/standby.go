package storetest

import (
	"errors"
	"os"
	"testing"
	"time"
)

// NewStandby starts a hot standby of c for this test only, stops it when the test ends,
// and returns when it replicates. From then on commits on c wait for it
// (synchronous_standby_names). Pause blocks them, and Promote ends the replication.
func NewStandby(t testing.TB, c *Cluster) *Cluster {
	t.Helper()
	s, err := c.copy()
	if err != nil {
		t.Fatalf("creating a standby: %v", err)
	}
	s.t = t
	t.Cleanup(s.remove)
	s.Start()
	for _, sql := range []string{
		`ALTER SYSTEM SET synchronous_standby_names = '*'`,
		`SELECT pg_reload_conf()`,
	} {
		c.Exec(sql)
	}
	c.await(`SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
	return s
}

// copy creates the data directory of a standby.
func (c *Cluster) copy() (_ *Cluster, err error) {
	dir, err := os.MkdirTemp(memoryFolder(), "allswell-postgresql-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	s := &Cluster{bin: c.bin, dir: dir, settings: c.settings}
	attr, err := s.attributes()
	if err != nil {
		return nil, err
	}
	backup := s.command("pg_basebackup", "--pgdata="+s.data(), "--host="+c.dir, "--username="+superuser,
		"--checkpoint=fast", "--write-recovery-conf", "--no-sync")
	backup.SysProcAttr = attr
	if out, err := backup.CombinedOutput(); err != nil {
		return nil, errors.Join(err, errors.New(string(out)))
	}
	return s, nil
}

// Promote promotes a standby, which begins a new timeline, and returns when it accepts writes.
func (c *Cluster) Promote() {
	c.t.Helper()
	c.Exec(`SELECT pg_promote()`)
	c.await(`SELECT NOT pg_is_in_recovery()`)
}

// Exec runs a statement in the database postgres.
func (c *Cluster) Exec(sql string) {
	c.t.Helper()
	if err := c.exec(sql); err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
}

// await waits until a query returns true.
func (c *Cluster) await(query string) {
	c.t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		err := c.exec(`DO $$ BEGIN IF NOT (` + query + `) THEN RAISE 'not yet'; END IF; END $$`)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s is still not true: %v", query, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Dir returns the directory of the server's socket: the host of its addresses.
func (c *Cluster) Dir() string { return c.dir }
