package kernel

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"time"
)

// maxZoneLength is the maximum length of the name of a time zone. The longest one in the database has 32 characters.
const maxZoneLength = 64

// zones caches loaded zones by name. Its size is limited by the number of names in the zone database.
var zones sync.Map

// LoadZone returns the time zone with the name, such as Europe/Berlin. It is time.LoadLocation, which reads a file each
// time, but remembers zones. It returns an error for an unknown name, and for names whose zones differ between hosts:
// "", "Local", "localtime", "posixrules", "Factory", names in "right/" and "posix/", and other spellings of a path.
func LoadZone(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	switch name {
	case "", "Local", "localtime", "posixrules", "Factory":
		return nil, fmt.Errorf("the time zone %q depends on the host", name)
	}
	if path.Clean(name) != name || strings.HasPrefix(name, "right/") || strings.HasPrefix(name, "posix/") {
		// hosts without these files would read it otherwise
		return nil, fmt.Errorf("%q is not the IANA name of a time zone", name)
	}
	if len(name) > maxZoneLength {
		return nil, fmt.Errorf("the name of a time zone has more than %d characters", maxZoneLength)
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err
}

// ValidZone reports whether LoadZone knows the time zone.
func ValidZone(name string) bool {
	_, err := LoadZone(name)
	return err == nil
}
