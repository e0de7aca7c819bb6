package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
)

const (
	busyConnections = 14_000
	busyFor         = 20 * time.Second
	busyPingers     = 8
)

// busy measures the memory of a service while 14,000 connections request a page without a pause, and the latency of
// pings meanwhile: with the default settings, and with the garbage collector at 400 % without a memory limit.
func (b *bench) busy() ([]result, error) {
	peak, p99, rate, err := b.busyRun()
	if err != nil {
		return nil, err
	}
	unlimited, before, _, err := b.busyRun("GOGC=400", "GOMEMLIMIT=off")
	if err != nil {
		return nil, err
	}
	return []result{
		{fmt.Sprintf("Resident memory with %d busy connections", busyConnections), "≤ 600 MB",
			fmt.Sprintf("%.0f MB at most, %.0f answers/s (%.0f MB with GOGC=400 and no limit)", peak, rate, unlimited)},
		{"p99 of pings meanwhile, against GOGC=400 and no limit", "≤ 2", fmt.Sprintf("%.2f (%s against %s)",
			p99.Seconds()/before.Seconds(), p99.Round(time.Millisecond), before.Round(time.Millisecond))},
	}, nil
}

// busyRun returns the maximum memory in megabytes, the 99th percentile of the latency of
// pings, and the pages served per second.
func (b *bench) busyRun(env ...string) (peak float64, p99 time.Duration, rate float64, err error) {
	path, tokens, err := b.filled(storetest.Fill{Count: busyPingers, Interval: time.Hour, Now: time.Now()})
	if err != nil {
		return 0, 0, 0, err
	}
	p, err := b.allswell(path, append(env, "ALLSWELL_TRUSTED_PROXIES=127.0.0.1")...)
	if err != nil {
		return 0, 0, 0, err
	}
	defer p.stop()
	if err := fillPage(p); err != nil {
		return 0, 0, 0, err
	}
	ctx, cancel := context.WithTimeout(b.ctx, busyFor)
	defer cancel()
	var answered atomic.Int64
	var failed atomic.Pointer[error]
	var going sync.WaitGroup
	places := make(chan struct{}, 100)
	for range busyConnections {
		going.Go(func() {
			places <- struct{}{}
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
			<-places
			if err == nil {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				err = askAgain(conn, &answered)
			}
			if err != nil && ctx.Err() == nil {
				failed.CompareAndSwap(nil, &err)
			}
		})
	}
	times := make([][]time.Duration, busyPingers)
	for i := range times {
		going.Go(func() { times[i] = pingAgain(ctx, p.base+"/api/v1/heartbeat/"+tokens[i]) })
	}
	for ctx.Err() == nil {
		now, err := p.resident()
		if err != nil {
			return 0, 0, 0, err
		}
		peak = math.Max(peak, now)
		time.Sleep(100 * time.Millisecond)
	}
	going.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, 0, *err
	}
	all := slices.Concat(times...)
	slices.Sort(all)
	if len(all) == 0 {
		return 0, 0, 0, fmt.Errorf("no ping was answered")
	}
	return peak, all[len(all)*99/100], float64(answered.Load()) / busyFor.Seconds(), nil
}

// askAgain requests the page repeatedly until the connection ends.
func askAgain(conn net.Conn, answered *atomic.Int64) error {
	in := bufio.NewReaderSize(conn, 4<<10)
	for {
		_, err := io.WriteString(conn, "GET /status/acme HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
		if err != nil {
			return err
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("a page was answered %s", res.Status)
		}
		answered.Add(1)
	}
}

// pingAgain pings repeatedly until ctx ends and returns the latencies.
func pingAgain(ctx context.Context, url string) (times []time.Duration) {
	client := http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	for ctx.Err() == nil {
		began := time.Now()
		res, err := client.Post(url, "", nil)
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			times = append(times, time.Since(began))
		}
	}
	return times
}
