package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store/database"
	"github.com/allswell/allswell/internal/store/pinghistory"
)

// FillMonitors makes n enabled monitors without a component, quickly, for
// tests and benchmarks, and returns their ping tokens.
func FillMonitors(
	ctx context.Context, s *Store, workspaceID, slug string, n int, interval time.Duration,
) ([]string, error) {
	p, err := s.pageOf(ctx, kernel.Actor{WorkspaceID: workspaceID}, slug)
	if err != nil {
		return nil, err
	}
	var tokens []string
	for len(tokens) < n {
		made, err := write(ctx, s, func(t *tx) ([]string, error) {
			var made []string
			rows, args := []string{}, []any{workspaceID, p.ID, interval.Milliseconds(), millis(t.Now)}
			for range min(fillStep, n-len(tokens)) {
				token, next := kernel.NewPingToken(), len(args)+1
				rows = append(rows,
					fmt.Sprintf(`($%d, $1, $2, $%d, $%d, $3, TRUE, 0, 'major_outage', 'up', 0, $4, $4)`, next, next+1,
						next+2))
				args = append(args, kernel.NewID(kernel.PrefixMonitor, t.Now),
					fmt.Sprintf("job %d", len(tokens)+len(made)), token)
				made = append(made, token)
			}
			_, err := t.Exec(`INSERT INTO monitors (id, workspace_id, page_id, name, token, interval_ms, enabled,
				failure_threshold, down_status, state, consecutive_failures, created_at, updated_at)
				VALUES `+strings.Join(rows, ", "), args...)
			if err == nil {
				_, err = t.Exec(`INSERT INTO last_pings (token, healthy) SELECT token, FALSE FROM monitors
					WHERE token IN EACH($1)`, list(made))
			}
			return made, err
		})
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, made...)
	}
	return tokens, nil
}

// fillStep is how many rows FillMonitors and FillSubscribers insert with one statement.
const fillStep = 500

// FillSubscribers makes n confirmed email subscribers of a page, quickly.
func FillSubscribers(ctx context.Context, s *Store, pageID string, n int) error {
	return writeOnly(ctx, s, func(t *tx) error {
		for from := 0; from < n; from += fillStep {
			rows, args := []string{}, []any{pageID, millis(t.Now)}
			for i := from; i < min(from+fillStep, n); i++ {
				next := len(args) + 1
				rows = append(rows,
					fmt.Sprintf(`($%d, $1, 'email', $%d, 'mail', $%d, $2, 0, $2, $2, TRUE)`, next, next+1, next+2))
				args = append(args, kernel.NewID(kernel.PrefixSubscriber, t.Now), fmt.Sprintf("user%d@example.com", i),
					audience.NewSubscriberKey())
			}
			_, err := t.Exec(
				`INSERT INTO subscribers (id, page_id, channel, target, host, key, confirmed_at, rejections, created_at,
					updated_at, whole_page)
				VALUES `+strings.Join(rows, ", "), args...,
			)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SetFault makes the database call fault before each statement, and fail if it returns an error.
func (s *Store) SetFault(fault func(when, query string) error) { s.db.SetFault(fault) }

// Pools returns the pools of the database, for tests that read the tables themselves.
func (s *Store) Pools() (writer, reader *sql.DB) { return s.db.Pools() }

// Events returns all events, page by page in commit order.
func (s *Store) Events(ctx context.Context) ([]audience.Event, error) {
	return read(ctx, s, func(c *session) ([]audience.Event, error) {
		return database.Query(c.Session, scanEvent,
			`SELECT `+eventColumns+` FROM events ORDER BY page_id, page_version, ordinal`)
	})
}

// Gaps returns the stored listening gaps, in the form that deadlines are computed from.
func (s *Store) Gaps(ctx context.Context) ([]schedule.ListeningGap, error) {
	return read(ctx, s, func(c *session) ([]schedule.ListeningGap, error) { return c.gaps(time.UnixMilli(0)) })
}

// AllMonitors returns every monitor as it is stored, by id.
func (s *Store) AllMonitors(ctx context.Context) ([]monitor.Monitor, error) {
	return read(ctx, s, func(c *session) ([]monitor.Monitor, error) { return c.monitors(`ORDER BY id`) })
}

// MigrateTo creates a database of an older version, from one without a schema
// (storetest.EachEmpty).
func MigrateTo(ctx context.Context, dsn string, version int64) error {
	older := database.Schema{Files: filesUpTo(version), Funcs: maps.Clone(schema.Funcs)}
	maps.DeleteFunc(older.Funcs, func(n int64, _ func(context.Context, *sql.Tx) error) bool { return n > version })
	_, to, err := database.Migrate(ctx, dsn, older, nil)
	if err == nil && to != version {
		err = fmt.Errorf("the database is of version %d, not %d", to, version)
	}
	return err
}

// filesUpTo returns the files of the migrations up to a version.
func filesUpTo(version int64) fs.FS {
	files := fstest.MapFS{}
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		number, _, _ := strings.Cut(entry.Name(), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err != nil || n > version {
			continue
		}
		data, err := migrations.ReadFile("migrations/" + entry.Name())
		if err != nil {
			panic(err)
		}
		files["migrations/"+entry.Name()] = &fstest.MapFile{Data: data}
	}
	return files
}

// BreakListen prevents s from receiving notifications from other replicas.
func BreakListen(s *Store) {
	s.SetFault(func(_, statement string) error {
		if strings.HasPrefix(statement, "LISTEN") {
			return errors.New("nothing to listen to")
		}
		return nil
	})
}

// TraceStatements makes s call started before each statement on the connections that it opens from now on.
func TraceStatements(s *Store, started func(statement string)) { s.db.TraceStatements(started) }

// Troubled is the SQL condition that selects the monitors that an overview names.
const Troubled = troubled

// FillPings writes a history of plain pings in the shape that merging leaves behind: for each monitor a day of pings,
// one every five minutes, in four segments a level. It returns the size in bytes and the number of pings.
func FillPings(ctx context.Context, s *Store, tokens []string, now time.Time) (size, pings int64, err error) {
	keys := make([]int64, len(tokens))
	for i, token := range tokens {
		keys[i] = pingKey(token)
	}
	slices.Sort(keys)
	client := pinghistory.Client{Address: netip.MustParseAddr("192.0.2.1"), UserAgent: "curl/8.5.0"}
	at := now
	for level, share := range []float64{64, 8, 1, 1. / 8, 1. / 64, 1. / 512} { // pings of a monitor in a segment
		for range 4 {
			g := pingSegment{
				id: kernel.NewID("", at), level: int64(7 - level), state: segmentLive,
				oldest: now.Add(-25 * time.Hour), newest: now,
			}
			if err := writeOnly(ctx, s, func(t *tx) error { return t.insertSegment(g) }); err != nil {
				return 0, 0, err
			}
			for part := range slices.Chunk(keys, 4096) {
				var w pinghistory.Writer
				for _, key := range part {
					if share < 1 && rand.Float64() > share {
						continue
					}
					run := pinghistory.Run{Key: key}
					for i := range int64(max(share, 1)) {
						run.Pings = append(run.Pings, pinghistory.Ping{
							At: at.UnixMicro() - i*300_000_000 - 1000*rand.Int64N(9_000), Duration: -1, Client: client,
						})
					}
					run.Pings = pinghistory.Newest(run.Pings, 0, monitor.MaxSignals)
					w.Add(run)
					pings += int64(len(run.Pings))
				}
				for _, c := range w.Chunks() {
					size += int64(len(c.Data))
				}
				if err := writeOnly(ctx, s, func(t *tx) error { return t.insertChunks(g.id, w.Chunks()) }); err != nil {
					return 0, 0, err
				}
			}
			at = at.Add(-time.Duration(max(share, 1)) * 5 * time.Minute)
		}
	}
	return size, pings, nil
}

// TokensOfAddresses is a statement that RecordPings runs. Tests check its query plan.
const TokensOfAddresses = tokensOfAddresses

// OverdueChecks, LateChecksBegun and LateChecksOver are the statements of a tick that finds no late check. Tests check
// their query plans.
const (
	OverdueChecks   = overdueChecks
	LateChecksBegun = lateChecksBegun
	LateChecksOver  = lateChecksOver
)

// SomeMonitors returns the ids of n monitors in the order of their random tokens.
func SomeMonitors(ctx context.Context, s *Store, n int) ([]string, error) {
	return read(ctx, s, func(c *session) ([]string, error) {
		return c.ids(`SELECT id FROM monitors ORDER BY token LIMIT $1`, n)
	})
}

// SetSecretKeys replaces the keys that encrypt secrets.
func (s *Store) SetSecretKeys(keys *secret.Keys) { s.secretKeys = newSecretKeys("", keys) }

// SetSMS replaces the settings of SMS.
func (s *Store) SetSMS(o SMSOptions) { s.sms = o }

// SealedColumns returns the names of all columns with encrypted secrets, such as "checks.secrets".
func SealedColumns() (all []string) {
	for _, c := range sealedColumns {
		all = append(all, c.table+"."+c.column)
	}
	return all
}

// OccupyForecasts takes all forecasts that a workspace may compute at the same time, and returns how many there are.
// free returns them.
func OccupyForecasts(s *Store, workspace string) (n int, free func()) {
	var ends []func()
	for {
		end, ok := s.forecasts.TryAcquire(fair.Workspace(workspace))
		if !ok {
			break
		}
		ends = append(ends, end)
	}
	return len(ends), func() {
		for _, end := range ends {
			end()
		}
	}
}

// DueWorkspaces and DueKeys are statements that ClaimDeliveries runs. Tests check their query plans.
const DueWorkspaces = dueWorkspaces

func DueKeys(order string) string { return dueKeys(order) }

// UncheckedCounts is a statement of the overview. Tests check its query plan.
func UncheckedCounts(objects string) string { return uncheckedCounts(objects) }
