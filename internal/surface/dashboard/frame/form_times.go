package frame

import (
	"time"

	"github.com/allswell/allswell/internal/shared/timeinput"
)

// ClockLayout is the layout of times in forms, in the zone of the page.
const ClockLayout = "2006-01-02T15:04"

// Moment returns the time that was typed into a field, in a zone, or the zero time if nothing was typed. It adds an
// error to the field if the input is invalid.
func (f *Form) Moment(name string, zone *time.Location, now time.Time) time.Time {
	if f.Value(name) == "" {
		return time.Time{}
	}
	var m timeinput.Moment
	if err := m.UnmarshalText([]byte(f.Value(name))); err != nil {
		f.problems().AddText(name, err.Error())
		return time.Time{}
	}
	at, err := m.In(zone, now)
	if err != nil {
		f.problems().AddText(name, err.Error()+".")
	}
	return at
}
