package store

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/pinghistory"
)

// blocksPerSignal is how many blocks a store adds before it calls the functions of OnPingMergeDue.
const blocksPerSignal = 128

// maxPastTokens is how many of the tokens that a monitor had are kept: each is looked up when its history is read.
const maxPastTokens = 20

// PingOrigins says who sent the pings of a batch.
type PingOrigins struct {
	Clients []pinghistory.Client
	Pings   []PingOrigin // in the order of their arrival
}

// PingOrigin is a ping of a batch: the indexes of its token and its client.
type PingOrigin struct{ Token, Client int32 }

// pingDetail is the part of a ping that is only known while it is recorded.
type pingDetail struct {
	token  string        // the monitor's token; the ping may have used the old one
	lasted time.Duration // of the run that the ping ended; negative: it ended none
}

// newPingDetail returns the detail of a ping of the monitor with a token. A zero runBegan means that it ended no run.
func newPingDetail(token string, now, runBegan time.Time) pingDetail {
	d := pingDetail{token, -1}
	if !runBegan.IsZero() {
		d.lasted = max(now.Sub(runBegan), 0)
	}
	return d
}

// pingKey returns the key of a token's pings in the history.
func pingKey(token string) int64 { return int64(ShortTokenHash(token)) }

// keepBlock adds the recorded pings of a batch to the history. Each ping of a monitor, by whatever token, has another
// time, which is later by microseconds, so that the time can identify it.
func (t *tx) keepBlock(b pingBatch, from PingOrigins) error {
	if len(from.Pings) == 0 {
		from.Clients = []pinghistory.Client{{}}
		for i := range b.tokens {
			from.Pings = append(from.Pings, PingOrigin{Token: int32(i)})
		}
	}
	keys, later := make([]int64, len(b.tokens)), make(map[int64]int64, len(b.tokens))
	recorded := 0
	for i, result := range b.results {
		if result != PingRecorded {
			continue
		}
		recorded++
		token := b.tokens[i]
		if d, ok := b.details[token]; ok {
			token = d.token
		}
		keys[i] = pingKey(token)
	}
	if recorded == 0 {
		return nil
	}
	at := t.s.nextPingAt(t.Now, len(from.Pings))
	block := pinghistory.NewBlock(at, from.Clients, len(from.Pings))
	for _, p := range from.Pings {
		if b.results[p.Token] != PingRecorded {
			continue
		}
		key, lasted := keys[p.Token], time.Duration(-1)
		if d, ok := b.details[b.tokens[p.Token]]; ok && later[key] == 0 {
			lasted = d.lasted // the first ping of the batch ended the run
		}
		block.Add(key, int(p.Client), later[key], lasted)
		later[key]++
	}
	_, err := t.dbTx.Exec(`INSERT INTO ping_blocks (id, data) VALUES ($1, $2)`, kernel.NewID("", t.Now), block.Bytes())
	t.signal(effectPingBlock)
	return err
}

// nextPingAt returns the time of a block in microseconds since 1970: now, or later than all pings of this store's
// blocks before. Its last ping is less than the given number of microseconds later.
func (s *Store) nextPingAt(now time.Time, pings int) int64 {
	for {
		last := s.lastPingAt.Load()
		at := max(now.UnixMicro(), last+1)
		if at > now.UnixMicro()+time.Second.Microseconds() {
			at = now.UnixMicro() // the clock was set back
		}
		if s.lastPingAt.CompareAndSwap(last, at+int64(pings)) {
			return at
		}
	}
}

// blockAdded signals that many blocks were added.
func (s *Store) blockAdded() {
	if s.unmerged.Add(1) >= blocksPerSignal {
		s.unmerged.Store(0)
		signalAll(s.onPingMergeDue)
	}
}

// keepPastToken records that a monitor had a token, which is valid for PingTokenOverlap, and ends the token before it.
// Only the pings of the last maxPastTokens are still listed.
func (t *tx) keepPastToken(monitorID, token string) error {
	_, err := t.Exec(`UPDATE past_ping_tokens SET until_at = $2 WHERE monitor_id = $1 AND until_at > $2`,
		monitorID, millis(t.Now))
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO past_ping_tokens (monitor_id, ping_key, until_at) VALUES ($1, $2, $3)`,
		monitorID, pingKey(token), millis(t.Now.Add(PingTokenOverlap)))
	if err == nil {
		_, err = t.Exec(`DELETE FROM past_ping_tokens WHERE monitor_id = $1 AND ping_key NOT IN
			(SELECT ping_key FROM past_ping_tokens WHERE monitor_id = $1 ORDER BY until_at DESC LIMIT $2)`, monitorID,
			maxPastTokens)
	}
	return err
}
