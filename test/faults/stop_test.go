package faults

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

// TestStopIsTheLastRecord checks that a graceful stop writes a last liveness record, so that the
// listening gap begins where listening ended.
func TestStopIsTheLastRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "allswell.db")
	server := binary.NewServer(t, binary.Build(t), "ALLSWELL_DATABASE=sqlite:"+path)
	server.Start()
	stopping := time.Now().UnixMilli()
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var last int64
	if err := db.QueryRow(`SELECT max(seen_at) FROM liveness`).Scan(&last); err != nil || last < stopping {
		t.Errorf("the last liveness record is %d ms older than the stop: %v", stopping-last, err)
	}
}
