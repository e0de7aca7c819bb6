package store_test

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestOverviewFindsTroubledMonitorsByIndex checks that SQLite reads only the monitors that are down or late.
func TestOverviewFindsTroubledMonitorsByIndex(t *testing.T) {
	plan := planOnSQLite(t,
		`SELECT id FROM monitors WHERE workspace_id = 'ws_1' AND `+store.Troubled+` ORDER BY last_ping_at`)
	if !strings.Contains(plan, "monitors_troubled") {
		t.Errorf("the plan: %s", plan)
	}
}

// TestAlertsAreCountedByIndex checks that SQLite reads only the alerts that last, which each screen of the dashboard
// counts.
func TestAlertsAreCountedByIndex(t *testing.T) {
	plan := planOnSQLite(t,
		`SELECT acknowledged_at FROM alerts WHERE workspace_id = 'ws_1' AND resolved_at IS NULL LIMIT 1000`)
	if !strings.Contains(plan, "alerts_lasting") {
		t.Errorf("the plan: %s", plan)
	}
}

// TestSlugAddressesAreFoundByIndex checks that SQLite finds the monitor of a ping by its slug, not among all of the
// page.
func TestSlugAddressesAreFoundByIndex(t *testing.T) {
	text := strings.NewReplacer("EACH($1)", "(SELECT value FROM json_each('[]'))", "$2",
		"0").Replace(store.TokensOfAddresses)
	plan := planOnSQLite(t, text)
	if !strings.Contains(plan, "monitors_slug (workspace_id=? AND slug=?)") ||
		!strings.Contains(plan, "sqlite_autoindex_ping_keys_1 (ping_key=?)") {
		t.Errorf("the plan: %s", plan)
	}
}

// TestLateChecksAreFoundByIndex checks that SQLite reads only checks that may be late, or only checks that are.
func TestLateChecksAreFoundByIndex(t *testing.T) {
	for text, index := range map[string]string{
		store.OverdueChecks:   "checks USING COVERING INDEX checks_late_at (late_at<?)",
		store.LateChecksBegun: "SEARCH checks USING INDEX checks_late; ",
		store.LateChecksOver:  "SEARCH c USING INDEX checks_late (workspace_id=?)",
	} {
		plan := planOnSQLite(t, strings.NewReplacer("$1", "0", "$2", "1").Replace(text))
		if !strings.Contains(plan, index) || strings.Contains(plan, "SCAN checks") ||
			strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: the plan: %s", text, plan)
		}
	}
}

// TestUncheckedMonitorsAreFoundByIndex checks that SQLite reads only the checks whose results are unknown or late, of
// however many.
func TestUncheckedMonitorsAreFoundByIndex(t *testing.T) {
	plan := planOnSQLite(t, store.UncheckedCounts(`workspace_id = 'ws_1'`))
	if !strings.Contains(plan, "SCAN c USING INDEX checks_unknown") ||
		!strings.Contains(plan, "SEARCH monitors USING INDEX sqlite_autoindex_monitors_1 (id=?)") {
		t.Errorf("the plan: %s", plan)
	}
}

// planOnSQLite returns the steps of SQLite's plan for a statement.
func planOnSQLite(t *testing.T, statement string) string {
	t.Helper()
	dsn := storetest.SQLite(t)
	storetest.Open(t, dsn, store.Options{})
	db := must(sqlOpen("sqlite", storetest.Path(dsn)))(t)
	t.Cleanup(func() { db.Close() })
	rows := must(db.Query(`EXPLAIN QUERY PLAN ` + statement))(t)
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
	return strings.Join(plan, "; ")
}
