package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
)

// pingScript makes wrk ping the given tokens in random order.
const pingScript = `
local tokens = {}
for line in io.lines(%q) do tokens[#tokens + 1] = line end
local seeded = false
request = function()
  if not seeded then math.randomseed(os.time() + tonumber(tostring({}):sub(8), 16) %% 100000); seeded = true end
  return wrk.format("POST", "/api/v1/heartbeat/" .. tokens[math.random(#tokens)])
end
`

// pings compares durable pings whose history is kept with the bare server, in pairs, at 256 connections.
func (b *bench) pings() ([]result, error) {
	var out []result
	for _, c := range []struct {
		monitors int
		figure   string
	}{{10_000, "≥ 0.5"}, {1_000_000, "≥ 0.35"}} {
		ratio, perSecond, bare, p99, err := b.pingPair(c.monitors)
		if err != nil {
			return nil, err
		}
		out = append(out, result{
			fmt.Sprintf("Durable pings, SQLite FULL, %d monitors, 256 connections, against a bare net/http server",
				c.monitors), c.figure,
			fmt.Sprintf("%.2f (%.0f/s against %.0f/s; p99 %s)", ratio, perSecond, bare, p99.Round(time.Millisecond)),
		})
	}
	return out, nil
}

func (b *bench) pingPair(monitors int) (ratio, perSecond, barePerSecond float64, p99 time.Duration, err error) {
	path, tokens, err := b.filled(storetest.Fill{Count: monitors, Interval: time.Hour, Now: time.Now()})
	if err != nil {
		return
	}
	script, list := filepath.Join(b.dir, "pings.lua"), filepath.Join(b.dir, "tokens")
	if err = os.WriteFile(list, []byte(strings.Join(tokens, "\n")), 0o600); err != nil {
		return
	}
	if err = os.WriteFile(script, fmt.Appendf(nil, pingScript, list), 0o600); err != nil {
		return
	}
	ours, err := b.allswell(path)
	if err != nil {
		return
	}
	defer ours.stop()
	recorded, err := record(http.MethodPost, ours.base+"/api/v1/heartbeat/"+tokens[0], "")
	if err != nil {
		return
	}
	bare, err := b.bare(recorded)
	if err != nil {
		return
	}
	defer bare.stop()
	var ratios, ourRates, bareRates []float64
	for range rounds {
		theirs, _, err := b.wrk(256, bare.base, "-s", script)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		rate, tail, err := b.wrk(256, ours.base, "-s", script)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		ratios, ourRates, bareRates, p99 = append(ratios, rate/theirs), append(ourRates, rate),
			append(bareRates, theirs), tail
	}
	return median(ratios), median(ourRates), median(bareRates), p99, nil
}
