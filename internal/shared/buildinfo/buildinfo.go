// Package buildinfo describes the running build of Allswell.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// Info describes a build.
type Info struct {
	Version  string `json:"version"`            // the module's version, or "devel"
	Revision string `json:"revision,omitempty"` // the commit, with "+dirty" if files had changed since
	Time     string `json:"time,omitempty"`     // the time of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read returns the information that the Go tool stored in the running binary.
var Read = sync.OnceValue(func() Info {
	v := Info{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	if v.Revision != "" {
		v.Revision += dirty
	}
	return v
})
