package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
)

// memory measures the resident memory of a service at rest: fresh, and with a million monitors.
func (b *bench) memory() ([]result, error) {
	dir, err := os.MkdirTemp(b.dir, "rest")
	if err != nil {
		return nil, err
	}
	fresh, private, err := b.memoryAtRest(filepath.Join(dir, "rest.db"))
	if err != nil {
		return nil, err
	}
	path, _, err := b.filled(storetest.Fill{Count: 1_000_000, Interval: time.Hour, Now: time.Now()})
	if err != nil {
		return nil, err
	}
	full, _, err := b.memoryAtRest(path)
	if err != nil {
		return nil, err
	}
	return []result{
		{"Resident memory at rest", "≤ 40 MB", fmt.Sprintf("%.1f MB", fresh)},
		{"The private part of it", "≤ 14 MB", fmt.Sprintf("%.1f MB", private)},
		{"Resident memory with 1,000,000 monitors", "≤ 200 MB", fmt.Sprintf("%.1f MB", full)},
	}, nil
}

func (b *bench) memoryAtRest(path string) (resident, private float64, err error) {
	p, err := b.allswell(path)
	if err != nil {
		return 0, 0, err
	}
	defer p.stop()
	time.Sleep(30 * time.Second) // an idle service releases memory after 20 s
	resident, err = p.resident()
	private, bad := p.private()
	return resident, private, errors.Join(err, bad)
}

// start measures from the start of the process to the first 200 of /readyz, on
// a fresh database and on one with a million monitors.
func (b *bench) start() ([]result, error) {
	path, _, err := b.filled(storetest.Fill{Count: 1_000_000, Interval: time.Hour, Now: time.Now()})
	if err != nil {
		return nil, err
	}
	var fresh, full []float64
	for i := range rounds {
		began := time.Now()
		p, err := b.allswell(filepath.Join(b.dir, fmt.Sprintf("start%d.db", i)))
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, time.Since(began).Seconds())
		p.stop()
		began = time.Now()
		if p, err = b.allswell(path); err != nil {
			return nil, err
		}
		full = append(full, time.Since(began).Seconds())
		p.stop()
	}
	return []result{
		{"Start to the first 200", "≤ 1 s", fmt.Sprintf("%.2f s", median(fresh))},
		{"Start to the first 200 with 1,000,000 monitors", "≤ 1 s", fmt.Sprintf("%.2f s", median(full))},
	}, nil
}
