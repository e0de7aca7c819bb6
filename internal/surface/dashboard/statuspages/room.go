// Package statuspages is the room of the dashboard for the contents of status pages: components, incidents,
// maintenances and announcements, and the settings of pages.
package statuspages

import (
	"context"
	"embed"
	"net/http"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// Screens has what the screens of the room share.
type Screens struct {
	// VerifyDomain checks the domain of a page now. Nil: nothing is checked.
	VerifyDomain func(
		ctx context.Context, actor kernel.Actor, slug string, save ...store.SaveResponse[statuspage.Page],
	) (statuspage.Page, error)
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
	return frame.Room{Routes: frame.Bind(s.enter, routes), Templates: templates, Failures: failures}
}

// failures are the errors that only this room returns.
var failures = []frame.FailureRow{
	frame.FixedFailure(errBadMove, http.StatusBadRequest, "Nothing was moved",
		"A component or a group moves up or down. Please go back and try again."),
	frame.FixedFailure(errOrderChanged, http.StatusConflict, "Nothing was moved",
		"Someone else has changed the order meanwhile. Reload to see it, and move again."),
}
