package store_test

import (
	"database/sql"
	"encoding/hex"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// renamedTables lists the tables that version 9 renamed.
var renamedTables = map[string]string{
	"heard": "last_pings", "beats": "liveness", "holes": "listening_gaps", "answers": "idempotency_keys",
}

// blob matches a SQLite blob literal.
var blob = regexp.MustCompile(`X'([0-9A-F]*)'`)

// loadVersion8 makes a database of version 8 with the rows of
// testdata/version8.sql and returns the number of rows per table.
func loadVersion8(t *testing.T, dsn string) map[string]int {
	t.Helper()
	if err := store.MigrateTo(t.Context(), dsn, 8); err != nil {
		t.Fatal(err)
	}
	dump := string(must(os.ReadFile("testdata/version8.sql"))(t))
	driver, address := "pgx", dsn
	if path, isFile := strings.CutPrefix(dsn, "sqlite:"); isFile {
		driver, address = "sqlite", path
	} else {
		dump = blob.ReplaceAllString(dump, `'\x$1'`)
	}
	db := must(sql.Open(driver, address))(t)
	defer db.Close()
	if _, err := db.Exec(dump); err != nil {
		t.Fatalf("loading the rows: %v", err)
	}
	counts := make(map[string]int)
	for _, m := range regexp.MustCompile(`INSERT INTO ([a-z_]+)`).FindAllStringSubmatch(dump, -1) {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM ` + m[1]).Scan(&n); err != nil || n == 0 {
			t.Fatalf("%s: %d rows, %v", m[1], n, err)
		}
		counts[m[1]] = n
	}
	return counts
}

// TestVersion8IsMigrated migrates a database of version 8 that has rows in every
// table, reads all of it through the store, and goes on with it: the open outage
// ends, the retried request gets its first response, and deliveries are sent.
func TestVersion8IsMigrated(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		t.Parallel()
		counts := loadVersion8(t, dsn)
		w := &world{T: t, ctx: t.Context(), clock: newClock(), dsn: dsn}
		w.clock.set(time.UnixMilli(1795344284000)) // two seconds after the last row was written
		w.Store = w.replica()
		for table, want := range counts {
			if name, ok := renamedTables[table]; ok {
				table = name
			}
			if rows := w.rows(`SELECT 1 FROM ` + table); len(rows) != want {
				t.Errorf("%s: %d rows, want %d", table, len(rows), want)
			}
		}
		w.ws = kernel.Actor{WorkspaceID: w.value(`SELECT id FROM workspaces`)}
		w.readsVersion8()
		w.goesOnFromVersion8()
		w.consistent()
	})
}

// readsVersion8 checks what each renamed table and column holds.
func (w *world) readsVersion8() {
	w.Helper()
	w.readsMonitorsOfVersion8()
	w.readsPageOfVersion8()
	w.readsDeliveriesOfVersion8()
	w.readsResponseAndIconOfVersion8()
}

func (w *world) readsMonitorsOfVersion8() {
	w.Helper()
	monitors := make(map[string]monitor.Monitor)
	list, _, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{}, firstHundred)
	w.ok(err)
	for _, m := range list {
		monitors[m.Name] = m
	}
	for name, slug := range map[string]string{
		"Backup": "backup", "Card check": "card-check", "Disabled": "disabled", "Never pinged": "never-pinged",
	} {
		if got := monitors[name].Slug; got != slug {
			w.Errorf("the slug of %q is %q, want %q", name, got, slug)
		}
	}
	for _, table := range []string{"component_groups", "components", "monitors"} {
		if rows := w.rows(`SELECT name FROM ` + table + ` WHERE slug IS NULL`); len(rows) > 0 {
			w.Errorf("%s without a slug: %v", table, rows)
		}
	}
	backup, down := monitors["Backup"], monitors["Card check"]
	if backup.LastPingAt.IsZero() || backup.RejectedAt.Sub(backup.CreatedAt) != 500*time.Millisecond ||
		backup.SuppressedUntil.Before(w.clock.now()) {
		w.Errorf("the monitor of the maintained component: %+v", backup)
	}
	if down.State != monitor.MonitorDown || monitors["Disabled"].Enabled ||
		!monitors["Never pinged"].LastPingAt.IsZero() {
		w.Errorf("monitors: %+v", list)
	}
	if backup.PageSlug != "acme" || backup.AutoIncidents != "" || down.IncidentID == "" {
		w.Errorf("a monitor's page and incidents: %+v, %+v", backup, down)
	}
}

func (w *world) readsPageOfVersion8() {
	w.Helper()
	page := must(w.Page(w.ctx, w.ws, "acme"))(w)
	if page.Visibility != statuspage.VisibilityPublic || page.AutoIncidents != statuspage.AutoIncidentsPublish ||
		page.Home || len(w.drafts()) != 0 {
		w.Errorf("the page is not as public as before: %+v", page)
	}
	contents := must(w.LoadPage(w.ctx, "acme"))(w)
	summary := contents.Summarize(w.clock.now())
	if summary.Status != kernel.StatusPartialOutage || len(summary.Active) != 3 || len(summary.Running) != 1 ||
		len(summary.Upcoming) != 1 {
		w.Errorf("the page: %s, %d incidents, %d and %d maintenances", summary.Status, len(summary.Active),
			len(summary.Running), len(summary.Upcoming))
	}
	if gaps := must(w.Gaps(w.ctx))(w); len(gaps) != 1 || gaps[0].Len() < schedule.LongGap {
		w.Errorf("gaps: %+v", gaps)
	}
	for _, i := range contents.Incidents {
		want := statuspage.SystemMessageSilent
		if i.Resolved {
			want = statuspage.SystemMessagePingsResumed
		}
		if auto := i.OutageID != ""; auto != (i.DownMonitor != "") || auto && i.DownMonitor+" is down" != i.Title {
			w.Errorf("title %q names the monitor %q", i.Title, i.DownMonitor)
		}
		if i.OutageID != "" && i.Updates[0].System.Kind != want {
			w.Errorf("the incident of an outage: %+v", i.Updates)
		}
	}
	u := summary.Running[0].Updates[0]
	if u.System.Kind != statuspage.SystemMessageMaintenanceBegun ||
		!summary.Running[0].NextTransitionAt().After(w.clock.now()) {
		w.Errorf("the running maintenance: %+v", summary.Running[0])
	}
}

func (w *world) readsDeliveriesOfVersion8() {
	w.Helper()
	subscribers, _, err := w.Subscribers(w.ctx, w.ws, "acme", store.SubscriberFilter{}, firstHundred)
	w.ok(err)
	suspended := slices.IndexFunc(subscribers, func(s audience.Subscriber) bool { return !s.SuspendedAt.IsZero() })
	if len(subscribers) != 4 || suspended < 0 || subscribers[suspended].Rejections != 3 ||
		subscribers[suspended].SuspendedFor != "No such mailbox." {
		w.Errorf("subscribers: %+v", subscribers)
	}
	deliveries, _, err := w.Deliveries(w.ctx, w.ws, "acme", store.DeliveryFilter{}, firstHundred)
	w.ok(err)
	states := make(map[audience.DeliveryState]int)
	for _, d := range deliveries {
		states[d.State]++
		if d.OrderingKey == "" || d.CollapseKey == "" && d.Purpose == audience.PurposeEvent ||
			(d.State == audience.DeliverySuperseded) != (d.MergedInto != "") {
			w.Errorf("a delivery: %+v", d)
		}
		if d.State == audience.DeliverySending && d.FencingToken != 3 {
			w.Errorf("the claimed delivery: %+v", d)
		}
	}
	if states[audience.DeliveryPending] == 0 || states[audience.DeliverySending] != 1 ||
		states[audience.DeliverySent] != 1 || states[audience.DeliverySuperseded] == 0 {
		w.Errorf("deliveries: %v", states)
	}
}

func (w *world) readsResponseAndIconOfVersion8() {
	w.Helper()
	row := strings.Split(w.value(`SELECT token_id, key FROM idempotency_keys`), "|")
	key := store.IdempotencyKey{
		TokenID: row[0], Key: row[1], RequestHash: w.bytes(`SELECT request_hash FROM idempotency_keys`),
	}
	response, ok, err := w.FindResponse(w.ctx, key)
	if err != nil || !ok || response.Status != 201 || len(response.Body) == 0 {
		w.Errorf("the stored response: %+v, %v, %v", response, ok, err)
	}
	image := must(w.LoadPageImage(w.ctx, "acme", statuspage.ImageIcon))(w)
	if image.Type != "image/png" || !strings.HasPrefix(hex.EncodeToString(image.Body), "89504e47") {
		w.Errorf("the icon: %+v", image)
	}
}

// bytes returns the only value that a statement finds.
func (w *world) bytes(text string) (value []byte) {
	w.Helper()
	_, db := w.Pools()
	w.ok(db.QueryRowContext(w.ctx, text).Scan(&value))
	return value
}

// goesOnFromVersion8 runs the verbs that write renamed tables.
func (w *world) goesOnFromVersion8() {
	w.Helper()
	w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "new", First: true}))
	if gaps := must(w.Gaps(w.ctx))(w); len(gaps) == 0 {
		w.Error("the gap is gone")
	}
	token := w.value(`SELECT token FROM monitors WHERE name = 'Card check'`)
	pings := must(w.RecordPings(w.ctx, []string{token}, store.LivenessRecord{Replica: "new"}, store.PingOrigins{}))(w)
	if pings[0] != store.PingRecorded {
		w.Errorf("a ping of the monitor that is down: %v", pings)
	}
	if n := w.value(`SELECT count(*) FROM outages WHERE ended_at IS NULL`); n != "1" { // "Mail check"
		w.Errorf("%s outages last", n)
	}
	for more := true; more; {
		more = must(w.FanOut(w.ctx))(w)
	}
	must(w.ProcessSignUps(w.ctx))(w)
	w.clock.move(time.Minute) // claims of version 8 have expired
	claimed, _, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{Channel: audience.ChannelEmail, Limit: 10})
	w.ok(err)
	if len(claimed) == 0 {
		w.Fatal("nothing is due")
	}
	loaded := must(w.Notifications(w.ctx, claimed))(w)
	var results []store.DeliveryResult
	for _, c := range claimed {
		n := loaded[c.ID]
		if n.Subscriber.Target == "" {
			w.Errorf("a notification: %+v", n)
		}
		results = append(results, store.DeliveryResult{
			ClaimedDelivery: c, Outcome: audience.SendOutcome{Result: audience.SendAccepted},
		})
	}
	w.ok(w.SaveDeliveryResults(w.ctx, results))
	must(w.AdvanceMaintenances(w.ctx))(w)
	w.ok(w.Prune(w.ctx))
}
