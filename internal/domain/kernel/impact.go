package kernel

import (
	"cmp"
	"slices"
)

// Impact is how bad an incident is.
type Impact string

// The impacts.
const (
	ImpactNone     Impact = "none"
	ImpactMinor    Impact = "minor"
	ImpactMajor    Impact = "major"
	ImpactCritical Impact = "critical"
)

// impactTable lists the impacts, least severe first, with their English labels. like is
// the status whose tone the impact shares; "": the neutral tone.
var impactTable = []struct {
	impact Impact
	label  string
	like   Status
}{
	{ImpactNone, "No impact", ""},
	{ImpactMinor, "Minor impact", StatusDegraded},
	{ImpactMajor, "Major impact", StatusPartialOutage},
	{ImpactCritical, "Critical impact", StatusMajorOutage},
}

// Impacts lists all valid impacts, least severe first.
var Impacts = func() (all []Impact) {
	for _, r := range impactTable {
		all = append(all, r.impact)
	}
	return all
}()

// index returns the row of i in impactTable. An unknown impact has the row of ImpactNone.
func (i Impact) index() int { return max(0, slices.Index(Impacts, i)) }

// Worse reports whether i is more severe than other. An impact that is not valid counts as ImpactNone.
func (i Impact) Worse(other Impact) bool { return i.index() > other.index() }

// Label returns the English label.
func (i Impact) Label() string { return impactTable[i.index()].label }

// Valid reports whether i is one of Impacts.
func (i Impact) Valid() bool { return slices.Contains(Impacts, i) }

// Status returns the status that a component has by default during an incident of the impact i.
func (i Impact) Status() Status { return cmp.Or(impactTable[i.index()].like, StatusOperational) }

// Impact returns the impact that has the tone of s, or ImpactNone if there is none.
func (s Status) Impact() Impact {
	for _, r := range impactTable {
		if r.like == s.Canonical() {
			return r.impact
		}
	}
	return ImpactNone
}

// Tone returns how i is shown.
func (i Impact) Tone() *Tone {
	if like := impactTable[i.index()].like; like != "" {
		return like.Tone()
	}
	return &NeutralTone
}
