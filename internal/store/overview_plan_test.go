package store_test

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestOverviewFindsTroubledMonitorsByIndex checks that SQLite reads only the monitors that are down or late.
func TestOverviewFindsTroubledMonitorsByIndex(t *testing.T) {
	dsn := storetest.SQLite(t)
	storetest.Open(t, dsn, store.Options{})
	db := must(sqlOpen("sqlite", storetest.Path(dsn)))(t)
	t.Cleanup(func() { db.Close() })
	rows := must(db.Query(`EXPLAIN QUERY PLAN SELECT id FROM monitors WHERE workspace_id = 'ws_1' AND ` + store.Troubled + ` ORDER BY last_ping_at`))(t)
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var a, b, c int
		var step string
		if err := rows.Scan(&a, &b, &c, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	if text := strings.Join(plan, "; "); !strings.Contains(text, "monitors_troubled") {
		t.Errorf("the plan: %s", text)
	}
}
