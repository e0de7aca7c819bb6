package main

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// version is what the build knows about itself.
type version struct {
	Version  string `json:"version"`            // the module's version, or "devel"
	Revision string `json:"revision,omitempty"` // the commit, "+dirty" if files were changed since
	Time     string `json:"time,omitempty"`     // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// readVersion reads the build's own record.
var readVersion = sync.OnceValue(func() version {
	v := version{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON, for programs."`
}

func (cmd *versionCommand) Run(c *console) error {
	v := readVersion()
	if cmd.JSON {
		return printer{c, true}.raw(v)
	}
	c.printf("allswell %s", v.Version)
	if v.Revision != "" {
		c.printf(" (%s, %s)", v.Revision, v.Time)
	}
	c.printf(", %s, %s\n", v.Go, v.Platform)
	return nil
}
