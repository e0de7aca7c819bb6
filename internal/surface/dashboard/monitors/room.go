// Package monitors is the room of the dashboard for monitors: their list, their forms, their pings and checks.
package monitors

import (
	"embed"
	"html/template"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/web"
)

// Screens has what the screens of the room share.
type Screens struct {
	Tests *web.CheckTester // runs checks that are tested before they are saved; nil: no tests
}

// request is a request for a screen of this room.
type request struct {
	*frame.Request
	*Screens
}

func (s *Screens) enter(r *frame.Request) *request { return &request{r, s} }

//go:embed templates
var templateFiles embed.FS

var templates = frame.ParseTemplates(templateFiles, template.FuncMap{
	"typeName": monitorTypeName, "target": monitorTarget,
	"duration": kernel.CompactDuration, "every": kernel.EveryDuration,
	"stateName": frame.DisplayStateName, "stateTone": frame.DisplayStateTone,
})

// Room returns the room for the frame.
func (s *Screens) Room() frame.Room {
	return frame.Room{Routes: frame.Bind(s.enter, routes), Templates: templates}
}
