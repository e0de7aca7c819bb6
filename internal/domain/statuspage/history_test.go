package statuspage_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"pgregory.net/rapid"
)

// zoneAt is a time zone and a time near which its offset changes.
type zoneAt struct {
	name string
	near string // RFC 3339
}

// oddDays are days that do not have 24 hours or do not begin at 0:00.
var oddDays = []zoneAt{
	{"UTC", "2026-11-20T12:00:00Z"},
	{"Europe/Berlin", "2026-03-29T12:00:00+02:00"},     // 23 hours
	{"Europe/Berlin", "2026-10-25T12:00:00+01:00"},     // 25 hours
	{"America/Sao_Paulo", "2018-11-04T12:00:00-02:00"}, // there is no 0:00
	{"America/Sao_Paulo", "2019-02-16T12:00:00-02:00"}, // 23:00 comes twice
	{"Australia/Lord_Howe", "2026-04-05T12:00:00+10:30"},
	{"Australia/Lord_Howe", "2026-10-04T12:00:00+11:00"}, // half an hour
	{"Asia/Beirut", "2026-03-29T12:00:00+03:00"},         // there is no 0:00
	{"Africa/Cairo", "2026-04-24T12:00:00+03:00"},        // there is no 0:00
	{"America/Havana", "2026-11-01T12:00:00-05:00"},      // 0:00 comes twice, west of Greenwich
	{"Asia/Amman", "2021-10-29T12:00:00+02:00"},          // 0:00 comes twice, east of it
	{"Atlantic/Azores", "2026-10-25T12:00:00-01:00"},     // 0:00 comes twice, at Greenwich
	{"Asia/Kathmandu", "2026-11-20T12:00:00+05:45"},
	{"Pacific/Auckland", "2026-04-05T12:00:00+12:00"},
	{"Pacific/Kiritimati", "2026-11-20T12:00:00+14:00"},
}

func (z zoneAt) load(t rapid.TB) (*time.Location, time.Time) {
	t.Helper()
	zone, err := time.LoadLocation(z.name)
	if err != nil {
		t.Fatal(err)
	}
	near, err := time.Parse(time.RFC3339, z.near)
	if err != nil {
		t.Fatal(err)
	}
	return zone, near
}

// date is a calendar day in a zone.
func date(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateOnly) }

// TestDaysAreWhole checks that every instant belongs to exactly one day, and that a day begins with
// the first instant of its date in the zone.
func TestDaysAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, near := rapid.SampledFrom(oddDays).Draw(t, "zone").load(t)
		now := near.Add(time.Duration(rapid.Int64Range(-72*3600*1000, 72*3600*1000).Draw(t, "ms")) * time.Millisecond)
		start := statuspage.Midnight(now, zone)
		next := statuspage.AddDays(start, 1)
		if start.After(now) || !next.After(now) {
			t.Fatalf("%v is not between %v and %v", now.In(zone), start, next)
		}
		for _, day := range []time.Time{start, next, statuspage.AddDays(start, -1), statuspage.AddDays(start, -45)} {
			if date(day, zone) == date(day.Add(-time.Nanosecond), zone) {
				t.Fatalf("%v is not the first instant of its day", day)
			}
		}
		if date(start, zone) != date(now, zone) {
			t.Fatalf("%v is not on the same day as %v", start, now.In(zone))
		}
		for n := -95; n < 3; n++ {
			y, m, d := now.In(zone).Date()
			want := time.Date(y, m, d+n, 12, 0, 0, 0, time.UTC).Format(time.DateOnly)
			if got := statuspage.AddDays(start, n); date(got, zone) != want {
				t.Fatalf("%d days from %v is %v, want one of %s", n, start, got, want)
			}
		}
	})
}

// TestDaysHaveTheirLengths checks the lengths of oddDays, in hours.
func TestDaysHaveTheirLengths(t *testing.T) {
	for i, want := range []float64{24, 23, 25, 23, 25, 24.5, 23.5, 23, 23, 25, 25, 25, 24, 25, 24} {
		zone, near := oddDays[i].load(t)
		start := statuspage.Midnight(near, zone)
		if got := statuspage.AddDays(start, 1).Sub(start).Hours(); got != want {
			t.Errorf("%v has %v hours, want %v", start, got, want)
		}
	}
}

// past is the input of NewHistory.
type past struct {
	zone    *time.Location
	now     time.Time
	changes []statuspage.StatusChange
	gaps    []schedule.ListeningGap
}

// drawPast draws the input for a component that was created during or before the days of the
// history. Some changes may be in the future.
func drawPast(t *rapid.T) past {
	zone, near := rapid.SampledFrom(oddDays).Draw(t, "zone").load(t)
	p := past{
		zone: zone, now: near.Add(time.Duration(rapid.Int64Range(-2*86400, 60*86400).Draw(t, "now s")) * time.Second),
	}
	begin := p.now.Add(-100 * 24 * time.Hour)
	instants := rapid.SliceOfNDistinct(rapid.Int64Range(0, 101*86400*1000), 0, 40, rapid.ID[int64]).Draw(t, "changes")
	slices.Sort(instants)
	for _, ms := range instants {
		p.changes = append(p.changes, statuspage.StatusChange{
			At:     begin.Add(time.Duration(ms) * time.Millisecond),
			Status: rapid.SampledFrom(kernel.Statuses).Draw(t, "status"),
		})
	}
	at := begin
	for range rapid.IntRange(0, 8).Draw(t, "gaps") {
		from := at.Add(time.Duration(rapid.Int64Range(1, 20*86400*1000).Draw(t, "pause ms")) * time.Millisecond)
		at = from.Add(time.Duration(rapid.OneOf(rapid.Int64Range(1, 60_000), rapid.Int64Range(1, 5*86400*1000)).Draw(t,
			"length ms")) * time.Millisecond)
		p.gaps = append(p.gaps, schedule.ListeningGap{From: from, To: at})
	}
	return p
}

// overlap returns the length of the intersection of two spans.
func overlap(aFrom, aTo, bFrom, bTo time.Time) time.Duration {
	if bFrom.After(aFrom) {
		aFrom = bFrom
	}
	if bTo.Before(aTo) {
		aTo = bTo
	}
	return max(0, aTo.Sub(aFrom))
}

// TestHistoryIsContiguous checks that each day has the time in each status that the changes imply,
// with gaps as unknown, and that the sum is the part of the day in which the component existed.
func TestHistoryIsContiguous(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPast(t)
		r := statuspage.NewHistory(p.changes, p.gaps, p.now, p.zone)
		if len(r) != statuspage.HistoryDays || !r[len(r)-1].Date.Equal(statuspage.Midnight(p.now, p.zone)) ||
			!r[0].Date.Equal(statuspage.HistoryStart(p.now, p.zone)) {
			t.Fatalf("NewHistory has %d days from %v to %v", len(r), r[0].Date, r[len(r)-1].Date)
		}
		for i, day := range r {
			end := p.now
			if i+1 < len(r) {
				if end = r[i+1].Date; date(end.Add(-time.Nanosecond), p.zone) != date(day.Date, p.zone) {
					t.Fatalf("day %d from %v to %v", i, day.Date, end)
				}
			}
			want := times{}
			there := time.Duration(0)
			for j, ch := range p.changes {
				until := p.now
				if j+1 < len(p.changes) && p.changes[j+1].At.Before(until) {
					until = p.changes[j+1].At
				}
				span := overlap(ch.At, until, day.Date, end)
				there += span
				for _, w := range p.gaps {
					if w.Len() < 30*time.Second || span == 0 {
						continue
					}
					from, to := ch.At, until
					if day.Date.After(from) {
						from = day.Date
					}
					if end.Before(to) {
						to = end
					}
					unknown := overlap(w.From, w.To, from, to)
					want[kernel.StatusUnknown], span = want[kernel.StatusUnknown]+unknown, span-unknown
				}
				want[ch.Status.Canonical()] += span
			}
			if day.StatusDurations != statuspage.DurationsOf(want) {
				t.Fatalf("day %d (%v): %+v, want %+v", i, day.Date, day.StatusDurations, want)
			}
			got := day.Known() + day.In(kernel.StatusUnknown)
			if got != there || got > end.Sub(day.Date) || day.Empty() != (there == 0) {
				t.Fatalf("day %d (%v): %v of the %v in which the component existed", i, day.Date, got, there)
			}
		}
	})
}

var midnight = domaintest.Epoch.Truncate(24 * time.Hour)

// changeAt is a change of the status, hours after midnight.
func changeAt(hours float64, s kernel.Status) statuspage.StatusChange {
	return statuspage.StatusChange{At: midnight.Add(time.Duration(hours * float64(time.Hour))), Status: s}
}

func gapOf(from, to float64) schedule.ListeningGap {
	return schedule.ListeningGap{From: changeAt(from, "").At, To: changeAt(to, "").At}
}

type changes = []statuspage.StatusChange

// histories are the changes and gaps of a component, twelve hours after midnight.
var histories = []struct {
	name             string
	changes          changes
	gaps             []schedule.ListeningGap
	yesterday, today statuspage.StatusDurations
}{
	{"no changes", nil, nil, statuspage.StatusDurations{}, statuspage.StatusDurations{}},
	{"a gap, no changes", nil, []schedule.ListeningGap{gapOf(-5, 5)}, statuspage.StatusDurations{},
		statuspage.StatusDurations{}},
	{"created today", changes{changeAt(3, "operational")}, nil, statuspage.StatusDurations{},
		statuspage.DurationsOf(times{kernel.StatusOperational: 9 * time.Hour})},
	{"created long ago", changes{changeAt(-24*200, "degraded")}, nil,
		statuspage.DurationsOf(times{kernel.StatusDegraded: 24 * time.Hour}),
		statuspage.DurationsOf(times{kernel.StatusDegraded: 12 * time.Hour})},
	{"changes around midnight",
		changes{changeAt(-30, "operational"), changeAt(-1, "major_outage"), changeAt(1, "partial_outage")}, nil,
		statuspage.DurationsOf(
			times{kernel.StatusOperational: 23 * time.Hour, kernel.StatusMajorOutage: time.Hour},
		), statuspage.DurationsOf(
			times{kernel.StatusMajorOutage: time.Hour, kernel.StatusPartialOutage: 11 * time.Hour},
		)},
	{"an alias", changes{changeAt(0, "degraded_performance")}, nil, statuspage.StatusDurations{},
		statuspage.DurationsOf(times{kernel.StatusDegraded: 12 * time.Hour})},
	{"set to unknown", changes{changeAt(0, "maintenance"), changeAt(6, "unknown")}, nil, statuspage.StatusDurations{},
		statuspage.DurationsOf(
			times{kernel.StatusMaintenance: 6 * time.Hour, kernel.StatusUnknown: 6 * time.Hour},
		)},
	{"a change at the present instant", changes{changeAt(0, "operational"), changeAt(12, "major_outage")}, nil,
		statuspage.StatusDurations{}, statuspage.DurationsOf(times{kernel.StatusOperational: 12 * time.Hour})},
	{"a change in the future, because the clock went back",
		changes{changeAt(0, "operational"), changeAt(13, "major_outage")}, nil, statuspage.StatusDurations{},
		statuspage.DurationsOf(times{kernel.StatusOperational: 12 * time.Hour})},
	{"only a change in the future", changes{changeAt(13, "major_outage")}, nil, statuspage.StatusDurations{},
		statuspage.StatusDurations{}},
	{"a gap across midnight", changes{changeAt(-48, "operational")}, []schedule.ListeningGap{gapOf(-2, 3)},
		statuspage.DurationsOf(
			times{kernel.StatusOperational: 22 * time.Hour, kernel.StatusUnknown: 2 * time.Hour},
		), statuspage.DurationsOf(
			times{kernel.StatusOperational: 9 * time.Hour, kernel.StatusUnknown: 3 * time.Hour},
		)},
	{"a gap across a change",
		changes{changeAt(0, "operational"), changeAt(2, "major_outage"), changeAt(6, "operational")},
		[]schedule.ListeningGap{gapOf(1, 5)},
		statuspage.StatusDurations{},
		statuspage.DurationsOf(
			times{
				kernel.StatusOperational: 7 * time.Hour, kernel.StatusMajorOutage: time.Hour,
				kernel.StatusUnknown: 4 * time.Hour,
			},
		)},
	{"a gap that begins before the creation", changes{changeAt(5, "operational")}, []schedule.ListeningGap{gapOf(1, 6)},
		statuspage.StatusDurations{},
		statuspage.DurationsOf(times{kernel.StatusOperational: 6 * time.Hour, kernel.StatusUnknown: time.Hour})},
	{"a gap until now", changes{changeAt(0, "operational")}, []schedule.ListeningGap{gapOf(11, 20)},
		statuspage.StatusDurations{},
		statuspage.DurationsOf(times{kernel.StatusOperational: 11 * time.Hour, kernel.StatusUnknown: time.Hour})},
	{"quick restarts", changes{changeAt(0, "operational")},
		[]schedule.ListeningGap{gapOf(1, 1+29.999/3600), gapOf(2, 2+1.0/3600)}, statuspage.StatusDurations{},
		statuspage.DurationsOf(times{kernel.StatusOperational: 12 * time.Hour})},
	{"a gap of 30 s is long", changes{changeAt(0, "operational")},
		[]schedule.ListeningGap{{From: midnight, To: midnight.Add(30 * time.Second)}},
		statuspage.StatusDurations{},
		statuspage.DurationsOf(
			times{kernel.StatusOperational: 12*time.Hour - 30*time.Second, kernel.StatusUnknown: 30 * time.Second},
		)},
}

// TestNewHistory checks single cases.
func TestNewHistory(t *testing.T) {
	for _, c := range histories {
		t.Run(c.name, func(t *testing.T) {
			r := statuspage.NewHistory(c.changes, c.gaps, domaintest.Epoch, time.UTC)
			domaintest.Equal(t, "today", r[89].StatusDurations, c.today)
			domaintest.Equal(t, "yesterday", r[88].StatusDurations, c.yesterday)
			both := c.today
			both.Add(c.yesterday)
			domaintest.Equal(t, "both days", r.Last(2), both)
		})
	}
}

func TestUptime(t *testing.T) {
	const h = time.Hour
	for _, c := range []struct {
		name    string
		of      statuspage.StatusDurations
		share   float64
		ok      bool
		worst   kernel.Status
		percent float64 // with two decimals
	}{
		{"nothing", statuspage.StatusDurations{}, 0, false, "", 0},
		{"all unknown", statuspage.DurationsOf(times{kernel.StatusUnknown: h}), 0, false, "unknown", 0},
		{"no outage", statuspage.DurationsOf(times{kernel.StatusOperational: h}), 1, true, "operational", 100},
		{"unknown is left out",
			statuspage.DurationsOf(times{kernel.StatusOperational: h, kernel.StatusUnknown: 99 * h}), 1, true,
			"operational", 100},
		{"a major outage counts fully",
			statuspage.DurationsOf(times{kernel.StatusOperational: 3 * h, kernel.StatusMajorOutage: h}), 0.75, true,
			"major_outage", 75},
		{"a partial outage counts 0.3",
			statuspage.DurationsOf(times{kernel.StatusOperational: 9 * h, kernel.StatusPartialOutage: h}), 0.97, true,
			"partial_outage", 97},
		{"degraded does not count",
			statuspage.DurationsOf(times{kernel.StatusOperational: 9 * h, kernel.StatusDegraded: h}), 1, true,
			"degraded", 100},
		{"maintenance does not count",
			statuspage.DurationsOf(times{kernel.StatusOperational: 9 * h, kernel.StatusMaintenance: h}), 1, true,
			"maintenance", 100},
		{"all statuses",
			statuspage.DurationsOf(
				times{
					kernel.StatusOperational: h, kernel.StatusMaintenance: h, kernel.StatusDegraded: h,
					kernel.StatusPartialOutage: h, kernel.StatusMajorOutage: h, kernel.StatusUnknown: h,
				},
			),
			0.74, true, "major_outage", 74},
		{"down all the time", statuspage.DurationsOf(times{kernel.StatusMajorOutage: h}), 0, true, "major_outage", 0},
		{"a second of ninety days",
			statuspage.DurationsOf(
				times{kernel.StatusOperational: 90*24*h - time.Second, kernel.StatusMajorOutage: time.Second},
			),
			1 - 1.0/(90*86400), true, "major_outage", 99.99},
	} {
		t.Run(c.name, func(t *testing.T) {
			share, ok := c.of.Uptime()
			if math.Abs(share-c.share) > 1e-12 || ok != c.ok {
				t.Errorf("uptime %v, %t, want %v, %t", share, ok, c.share, c.ok)
			}
			domaintest.Equal(t, "worst", c.of.Worst(), c.worst)
			if c.ok {
				domaintest.Equal(t, "percent", statuspage.UptimePercent(share, 2), c.percent)
			}
		})
	}
}

// TestUptimePercentRoundsDown checks that the percentage is at most the share, differs by less than
// its last digit, and is 100 only without downtime.
func TestUptimePercentRoundsDown(t *testing.T) {
	for share, want := range map[float64]float64{
		0.9995: 99.95, 0.99949999: 99.94, 0.999999: 99.99, 0.12345: 12.34, 0.29: 29, 0.57: 57, 0: 0, 1: 100,
		math.Nextafter(1, 0): 99.99,
	} {
		domaintest.Equal(t, "two decimals", statuspage.UptimePercent(share, 2), want)
	}
	rapid.Check(t, func(t *rapid.T) {
		drawn := times{}
		for _, s := range []kernel.Status{
			kernel.StatusOperational, kernel.StatusPartialOutage, kernel.StatusMajorOutage, kernel.StatusDegraded,
		} {
			drawn[s] = time.Duration(rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, 90*86400*1000)).Draw(t,
				"ms")) * time.Millisecond
		}
		sum := statuspage.DurationsOf(drawn)
		share, ok := sum.Uptime()
		if !ok {
			return
		}
		down := sum.In(kernel.StatusPartialOutage) + sum.In(kernel.StatusMajorOutage)
		if (share == 1) != (down == 0) || share < 0 || share > 1 {
			t.Fatalf("share %v of %+v", share, sum)
		}
		decimals := rapid.IntRange(0, 4).Draw(t, "decimals")
		got, digit := statuspage.UptimePercent(share, decimals), math.Pow(10, -float64(decimals))
		if got > share*100+1e-5 || got <= share*100-digit-1e-9 || got < 0 {
			t.Fatalf("UptimePercent of %v with %d decimals = %v", share, decimals, got)
		}
		if (got == 100) != (sum.In(kernel.StatusPartialOutage)+sum.In(kernel.StatusMajorOutage) == 0) {
			t.Fatalf("UptimePercent of %v with %d decimals = %v, of %+v", share, decimals, got, sum)
		}
	})
}

// TestMergeHistories checks that the history of a group or page is the sum of its components.
func TestMergeHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPast(t)
		var records []statuspage.History
		for range rapid.IntRange(0, 4).Draw(t, "components") {
			cut := rapid.IntRange(0, len(p.changes)).Draw(t, "made")
			records = append(records, statuspage.NewHistory(p.changes[cut:], p.gaps, p.now, p.zone))
		}
		sum := statuspage.MergeHistories(records, p.now, p.zone)
		days := rapid.SampledFrom([]int{0, 1, 30, 60, 90, 200}).Draw(t, "days")
		var want, all statuspage.StatusDurations
		for _, r := range records {
			want.Add(r.Last(days))
		}
		if got := sum.Last(days); got != want {
			t.Fatalf("Last(%d) of the merged histories = %+v, want %+v", days, got, want)
		}
		for i, day := range sum {
			all.Add(day.StatusDurations)
			for _, r := range records {
				if !r[i].Date.Equal(day.Date) {
					t.Fatalf("day %d is %v and %v", i, r[i].Date, day.Date)
				}
			}
		}
		if got := sum.Last(statuspage.HistoryDays); got != all || len(sum) != statuspage.HistoryDays {
			t.Fatalf("all days: %+v, want %+v", got, all)
		}
		for _, s := range kernel.Statuses {
			if all.In(s) > 0 && s.Worse(all.Worst()) {
				t.Fatalf("the worst of %+v is %s", all, all.Worst())
			}
		}
	})
}

// times is durations by status.
type times = map[kernel.Status]time.Duration
