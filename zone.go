package allswell

import (
	"sync"
	"time"
)

// zones are the zones that were loaded, by name. There are only as many as the zone database has.
var zones sync.Map

// LoadZone is time.LoadLocation, which reads a file each time, but remembers zones.
func LoadZone(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err
}
