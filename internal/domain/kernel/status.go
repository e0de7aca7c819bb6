package kernel

import (
	"cmp"
	"slices"
)

// Status is the status of a component, a group or a page.
type Status string

// The seven statuses. StatusDegradedPerformance is an alias of StatusDegraded: it is stored
// and returned as given, and counts and reads as StatusDegraded elsewhere.
const (
	StatusOperational         Status = "operational"
	StatusDegraded            Status = "degraded"
	StatusDegradedPerformance Status = "degraded_performance"
	StatusPartialOutage       Status = "partial_outage"
	StatusMajorOutage         Status = "major_outage"
	StatusMaintenance         Status = "maintenance"
	StatusUnknown             Status = "unknown"
)

// statusRow is all that is specific to one status. Adding a status takes a
// constant above, a row in statusTable, and the translations of status.X and banner.X
// in internal/shared/i18n/languages; everything else is derived from the row. Tests name the places that lack it.
type statusRow struct {
	status    Status
	aliasOf   Status // "": none; an alias has only a label
	rank      int    // severity in the rollup; the highest wins
	label     string // in English
	banner    string // sentence at the top of a page, in English
	Downtime  float64
	impact    Impact // see ImpactOf
	incidents bool   // an incident can give it to a component
	outages   bool   // a monitor that is down can give it to its component
	like      StatuspageStatus
	tone      Tone
}

// StatuspageStatus is the equivalent of a status in the API of Atlassian Statuspage (statuspage.io).
type StatuspageStatus struct{ Component, Indicator string }

// StatusTable lists the statuses in the order of the API's documentation.
var StatusTable = [...]statusRow{
	{
		status: StatusOperational, rank: 2, label: "Operational", banner: "All systems operational",
		impact: ImpactNone, incidents: true, like: StatuspageStatus{"operational", "none"},
		tone: Tone{
			Name: "ok",
			Icon: Icon{`<circle cx="12" cy="12" r="11"/>`, "M6.8 12.4l3.5 3.5 6.9-7.4"},
			Text: Shades{"#0f6f46", "#54c992"}, Solid: Shades{"#0f6f46", "#0e5c3b"}, OnSolid: "#ffffff",
			Badge: "#0f6f46", Favicon: "#12734a",
			Bar: Bar{Class: "", Fill: Shades{"#2f9e6b", "#3aa876"}},
		},
	},
	{
		status: StatusDegraded, rank: 4, label: "Degraded", banner: "Some systems are degraded",
		impact: ImpactMinor, incidents: true, outages: true, like: StatuspageStatus{"degraded_performance", "minor"},
		tone: Tone{
			Name: "degraded",
			Icon: Icon{
				`<path d="M9.9 2.7a2.4 2.4 0 0 1 4.2 0l8.6 16.1a2.4 2.4 0 0 1-2.1 3.5H3.4a2.4 2.4 0 0 1-2.1-3.5z"/>`,
				"M12 8.6v5.6M12 18.1v.1",
			},
			Text: Shades{"#855800", "#f0c04a"}, Solid: Shades{"#f4c13d", "#e3b23a"}, OnSolid: "#2a1c00",
			Badge: "#f4c13d", Favicon: "#c98a00",
			Bar: Bar{
				Class: "d", Fill: Shades{"#c98b00", "#eab93f"},
				Gap: Gap{22, 32}, // a gap at the top: the letter i
			},
		},
	},
	{status: StatusDegradedPerformance, aliasOf: StatusDegraded, label: "Degraded Performance"},
	{
		status: StatusPartialOutage, rank: 5, label: "Partial Outage", banner: "Partial system outage", Downtime: 0.3,
		impact: ImpactMajor, incidents: true, outages: true, like: StatuspageStatus{"partial_outage", "major"},
		tone: Tone{
			Name: "partial",
			Icon: Icon{
				`<path d="M10.2 1.3a2.6 2.6 0 0 1 3.6 0l8.9 8.9a2.6 2.6 0 0 1 0 3.6l-8.9 8.9a2.6 2.6 0 0 1-3.6 ` +
					`0l-8.9-8.9a2.6 2.6 0 0 1 0-3.6z"/>`,
				"M12 6.7v6.2M12 17v.1",
			},
			Text: Shades{"#b0460a", "#ff9c61"}, Solid: Shades{"#bd4b0a", "#a8440c"}, OnSolid: "#ffffff",
			Badge: "#bd4b0a", Favicon: "#d9580d",
			Bar: Bar{
				Class: "p", Fill: Shades{"#d5600f", "#ff9551"},
				Gap: Gap{45, 55}, // two halves
			},
		},
	},
	{
		status: StatusMajorOutage, rank: 6, label: "Major Outage", banner: "Major system outage", Downtime: 1,
		impact: ImpactCritical, incidents: true, outages: true, like: StatuspageStatus{"major_outage", "critical"},
		tone: Tone{
			Name: "major",
			Icon: Icon{
				`<path d="M7.4 1h9.2L23 7.4v9.2L16.6 23H7.4L1 16.6V7.4z"/>`, "M8.2 8.2l7.6 7.6M15.8 8.2l-7.6 7.6",
			},
			Text: Shades{"#b3261e", "#ff857d"}, Solid: Shades{"#b3261e", "#9d231c"}, OnSolid: "#ffffff",
			Badge: "#b3261e", Favicon: "#c2281e",
			Bar: Bar{
				Class: "m", Fill: Shades{"#c8281e", "#ff6a60"},
				Gap: Gap{68, 78}, // an exclamation mark
			},
		},
	},
	{
		status: StatusMaintenance, rank: 3, label: "Under Maintenance", banner: "Under maintenance",
		impact: ImpactNone, like: StatuspageStatus{"under_maintenance", "maintenance"},
		tone: Tone{
			Name: "maintenance",
			Icon: Icon{
				`<rect x="1.5" y="1.5" width="21" height="21" rx="5"/>`,
				"M6.8 17.2l4.6-4.6M17.7 8.9a3.7 3.7 0 1 1-2.6-2.6",
			},
			Text: Shades{"#2357b8", "#8bb6ff"}, Solid: Shades{"#2357b8", "#23509f"}, OnSolid: "#ffffff",
			Badge: "#2357b8", Favicon: "#2a61c4",
			Bar: Bar{
				Class: "w", Fill: Shades{"#3f76d6", "#6d9ff5"},
				Pattern: "repeating-linear-gradient(to top, var(--c) 0 .1875rem, transparent 0 .3125rem)", // a ladder
			},
		},
	},
	{
		// Statuspage has no status for unknown; operational causes no false alarm.
		status: StatusUnknown, rank: 1, label: "Unknown", banner: "Status unknown",
		impact: ImpactNone, like: StatuspageStatus{"operational", "none"},
		tone: Tone{
			Name: "unknown",
			Icon: Icon{
				`<path d="M12 .8l9.7 5.6v11.2L12 23.2l-9.7-5.6V6.4z"/>`,
				"M9.2 9.6a2.9 2.9 0 1 1 4.2 2.6c-.9.5-1.4 1-1.4 2M12 17.3v.1",
			},
			Text: Shades{"#555c65", "#a5adb7"}, Solid: Shades{"#4b535d", "#3b434c"}, OnSolid: "#ffffff",
			Badge: "#6b7280", Favicon: "#6b737d",
			Bar: Bar{
				Class: "u", Fill: Shades{"#838b95", "#8b95a1"},
				Pattern: "repeating-linear-gradient(135deg, var(--c) 0 .0938rem, transparent 0 .25rem)", // hatched
			},
		},
	},
}

// StatusIndex holds the rows of StatusTable by status.
var StatusIndex = func() map[Status]int {
	index := make(map[Status]int, len(StatusTable))
	for i, r := range StatusTable {
		index[r.status] = i
	}
	return index
}()

// row returns the row of s. For an alias, it returns the row of the status that the alias
// stands for. ok is false if s is not valid.
func (s Status) row() (r *statusRow, ok bool) {
	i, ok := StatusIndex[s]
	if !ok {
		return &StatusTable[StatusIndex[StatusUnknown]], false
	}
	r = &StatusTable[i]
	if r.aliasOf != "" {
		r = &StatusTable[StatusIndex[r.aliasOf]]
	}
	return r, true
}

// filterStatuses returns the statuses whose row keep accepts. For an alias, keep gets the
// row of the status that the alias stands for.
func filterStatuses(keep func(*statusRow) bool) []Status {
	var out []Status
	for _, r := range StatusTable {
		if row, _ := r.status.row(); keep(row) {
			out = append(out, r.status)
		}
	}
	return out
}

var (
	// Statuses lists all valid statuses in the order of the API's documentation.
	Statuses = filterStatuses(func(*statusRow) bool { return true })

	// RankedStatuses lists all statuses except aliases, worst first. StatusUnknown is
	// last.
	RankedStatuses = slices.SortedFunc(slices.Values(slices.DeleteFunc(slices.Clone(Statuses), func(s Status) bool {
		return s.Canonical() != s
	})),
		func(a, b Status) int { return cmp.Compare(b.rank(), a.rank()) })

	// AffectedStatuses are the statuses that an incident can give to a component.
	// StatusOperational means that the incident concerns the component but does not
	// change its status.
	AffectedStatuses = filterStatuses(func(r *statusRow) bool { return r.incidents })

	// DownStatuses are the statuses that a monitor that is down can give to its
	// component, worst first.
	DownStatuses = slices.SortedStableFunc(slices.Values(filterStatuses(func(r *statusRow) bool { return r.outages })),
		func(a, b Status) int { return cmp.Compare(b.rank(), a.rank()) })
)

func (s Status) rank() int {
	r, ok := s.row()
	if !ok {
		return 0
	}
	return r.rank
}

// Valid reports whether s is one of Statuses.
func (s Status) Valid() bool { _, ok := StatusIndex[s]; return ok }

// Label returns the English label; "" if s is not valid.
func (s Status) Label() string {
	i, ok := StatusIndex[s]
	if !ok {
		return ""
	}
	return StatusTable[i].label
}

// Worse reports whether s ranks above other in the rollup.
func (s Status) Worse(other Status) bool { return s.rank() > other.rank() }

// Canonical returns the status that s is an alias of, or s itself.
func (s Status) Canonical() Status {
	if r, ok := s.row(); ok {
		return r.status
	}
	return s
}

// Tone returns how s is shown.
func (s Status) Tone() *Tone {
	r, _ := s.row()
	return &r.tone
}

// Downtime returns the share of the time in s that counts as downtime, from 0 to 1.
func (s Status) Downtime() float64 {
	r, _ := s.row()
	return r.Downtime
}

// Statuspage returns the equivalent of s in the API of Atlassian Statuspage.
func (s Status) Statuspage() StatuspageStatus {
	r, _ := s.row()
	return r.like
}

// Banner returns the English sentence at the top of a page with the given status.
func Banner(status Status) string {
	r, _ := status.row()
	return r.banner
}

// ImpactOf returns the impact of an incident that a monitor with the down status s opens. The
// command line uses it for incidents with components that are opened without an impact; the API
// uses ImpactNone.
func ImpactOf(s Status) Impact {
	r, _ := s.row()
	return r.impact
}
