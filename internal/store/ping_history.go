package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

const (
	// maxPingGaps is how many of the last gaps between a monitor's pings are kept.
	maxPingGaps = 60
	// pingHistoryLength is how many characters of a monitor's older pings are kept: each is 13 digits and a space.
	pingHistoryLength = maxPingGaps * 14
)

// keepPings adds the last pings of monitors, as their rows have them, to ping_history, and forgets the oldest. Checks
// call it for the monitors that were pinged since the last check, so that at most one ping per interval is kept, and
// recording a ping needs no other row: a column with the ping before the last one would cost each ping 10 % more
// processor time.
func (t *tx) keepPings(monitors []string) error {
	if len(monitors) == 0 {
		return nil
	}
	_, err := t.Exec(`INSERT INTO ping_history (monitor_id, pings) SELECT id, CAST(last_ping_at AS TEXT) || ' '
		FROM monitors WHERE id IN EACH($1)
		ON CONFLICT (monitor_id) DO UPDATE
		SET pings = excluded.pings || substr(ping_history.pings, 1, $2)`, list(monitors), pingHistoryLength)
	return err
}

// pingGaps loads the last gaps between a monitor's pings, oldest first.
func (c *session) pingGaps(m monitor.Monitor) (gaps []monitor.PingGap, err error) {
	kept, err := database.One(c.Session, database.ScanString, `SELECT pings FROM ping_history WHERE monitor_id = $1`,
		m.ID)
	if err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return nil, err
	}
	var last time.Time
	fields := strings.Fields(kept)
	for i := len(fields) - 1; i >= 0; i-- {
		ms, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the pings of %s: %w", m.ID, err)
		}
		at := time.UnixMilli(ms).UTC()
		if !last.IsZero() && at.After(last) {
			gaps = append(gaps, monitor.PingGap{PingedAt: at, Length: at.Sub(last)})
		}
		last = kernel.Later(last, at)
	}
	return gaps, nil
}
