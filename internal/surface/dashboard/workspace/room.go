// Package workspace is the room of the dashboard for a workspace and the installation as a whole: overview, search,
// tokens, audit log, and the system.
package workspace

import (
	"embed"
	"net/http"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// Screens has what the screens of the room share.
type Screens struct {
	Process   Process
	pings     rate
	backingUp sync.Mutex // held while a backup is downloaded
}

// CountPings samples the counters of recorded pings. It must be called once in every frame.WatchInterval.
func (s *Screens) CountPings(now time.Time) {
	if s.Process.RecordedPings != nil {
		s.pings.observe(now, s.Process.RecordedPings(), s.Process.PingWriterBusy())
	}
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
	frame.FixedFailure(errBackupRunning, http.StatusConflict, "One backup at a time",
		"Someone is downloading a backup. Please try again when it is done."),
}
