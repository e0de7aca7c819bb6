// Package subscribers is the room of the dashboard for the subscribers of a page and the deliveries to them.
package subscribers

import (
	"context"
	"embed"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// Screens has what the screens of the room share.
type Screens struct {
	// CheckTarget returns a *kernel.ValidationError if messages must not be sent to a valid target. Nil: all are
	// accepted.
	CheckTarget func(ctx context.Context, channel audience.Channel, target string) error
}

// request is a request for a screen of this room.
type request struct {
	*frame.Request
	*Screens
}

func (s *Screens) enter(r *frame.Request) *request { return &request{r, s} }

//go:embed templates
var templateFiles embed.FS

var templates = frame.ParseTemplates(templateFiles, nil)

// Room returns the room for the frame.
func (s *Screens) Room() frame.Room {
	return frame.Room{Routes: frame.Bind(s.enter, routes), Templates: templates}
}
