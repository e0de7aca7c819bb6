// Package monitors is the room of the dashboard for monitors: their list, their forms, their pings and checks.
package monitors

import (
	"embed"
	"html/template"

	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/web"
)

// Screens are the screens of the room, with what they share.
type Screens struct {
	Tests *web.CheckTester // checks what people try before they save it; nil: nothing can be tested
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
	"conditionName": frame.ConditionName, "conditionTone": frame.ConditionTone,
})

// Room returns the room for the frame.
func (s *Screens) Room() frame.Room {
	return frame.Room{Routes: frame.Bind(s.enter, routes), Templates: templates}
}
