package monitor

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// MonitorDurations returns how long a monitor was up, as StatusOperational, and down, as StatusMajorOutage, between two
// instants. outages are its outages, oldest first. gaps are the listening gaps, in order and without overlap; gaps of
// at least LongGap count as unknown.
func MonitorDurations(
	outages []Outage, gaps []schedule.ListeningGap, from, to time.Time,
) (d statuspage.StatusDurations) {
	for _, o := range outages {
		if !o.EndedAt.IsZero() && o.EndedAt.Before(from) {
			continue
		}
		begin, end := kernel.Earlier(kernel.Later(o.StartedAt, from), to), to
		if !o.EndedAt.IsZero() {
			end = kernel.Earlier(o.EndedAt, to)
		}
		d.CountPeriod(kernel.StatusOperational, from, begin, gaps)
		d.CountPeriod(kernel.StatusMajorOutage, begin, end, gaps)
		from = end
	}
	d.CountPeriod(kernel.StatusOperational, from, to, gaps)
	return d
}
