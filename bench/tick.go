package main

import (
	"fmt"
	"time"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// tick measures one tick with 1 % of the monitors overdue: once when it counts their failures, and once when all of
// them go down.
func (b *bench) tick() ([]result, error) {
	var out []result
	for _, c := range []struct {
		monitors int
		figure   string
	}{{100_000, "well under 1 s"}, {1_000_000, "≤ 2 s"}} {
		counting, err := b.tickOnce(c.monitors, 0)
		if err != nil {
			return nil, err
		}
		falling, err := b.tickOnce(c.monitors, 2)
		if err != nil {
			return nil, err
		}
		out = append(out, result{fmt.Sprintf("One tick over %d monitors, 1 %% overdue", c.monitors), c.figure,
			fmt.Sprintf("%s counting, %s all of them going down", counting.Round(time.Millisecond),
				falling.Round(time.Millisecond))})
	}
	return out, nil
}

func (b *bench) tickOnce(monitors, counted int) (time.Duration, error) {
	now := time.Now().UTC()
	path, _, err := b.filled(storetest.Fill{
		Count: monitors, Interval: 2 * time.Hour, Now: now, Overdue: monitors / 100, Counted: counted,
	})
	if err != nil {
		return 0, err
	}
	s, err := store.Open(b.ctx, "sqlite:"+path, store.Options{})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if err := s.RecordLiveness(b.ctx, store.LivenessRecord{Replica: "bench", First: true}); err != nil {
		return 0, err
	}
	began := time.Now()
	report, err := s.Tick(b.ctx, time.Now().UTC().Truncate(time.Minute), "bench", 0)
	took := time.Since(began)
	if err == nil && report.Overdue != monitors/100 {
		err = fmt.Errorf("%+v", report)
	}
	return took, err
}
