// Package alerting is the room of the dashboard for alerts: rules, channels, on-call schedules and silences.
package alerting

import (
	"embed"
	"errors"
	"html/template"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/web"
)

// Screens has what the screens of the room share.
type Screens struct {
	ChannelTests *web.ChannelTester // sends test messages; nil: nothing can be tested
	slackFaults  *limit.Addresses   // unsigned reports
}

// New returns the screens. tests may be nil.
func New(tests *web.ChannelTester) *Screens {
	return &Screens{ChannelTests: tests, slackFaults: newSlackFaults()}
}

// The number of unsigned Slack reports from one address that are answered with 401 within slackFaultWindow. Further
// ones get 429.
const (
	maxSlackFaults   = 60
	slackFaultWindow = 10 * time.Minute
)

func newSlackFaults() *limit.Addresses { return limit.NewAddresses(maxSlackFaults, slackFaultWindow) }

// request is a request for a screen of this room.
type request struct {
	*frame.Request
	*Screens
}

func (s *Screens) enter(r *frame.Request) *request { return &request{r, s} }

//go:embed templates
var templateFiles embed.FS

var templates = frame.ParseTemplates(templateFiles, template.FuncMap{"alertState": alertState})

// Room returns the room for the frame.
func (s *Screens) Room() frame.Room {
	return frame.Room{Routes: frame.Bind(s.enter, routes), Templates: templates, Failures: failures}
}

// errBadConfirmation means that the code that confirms the address of a channel is unknown, was used, or has expired.
var errBadConfirmation = errors.New("the confirmation is not valid")

// failures are the errors that only this room returns.
var failures = []frame.FailureRow{
	frame.FixedFailure(errBadConfirmation, http.StatusNotFound, "This link is no longer valid",
		"Links work once and for a limited time. Send a new one from the screen of the channel."),
	frame.FixedFailure(errOldAlert, http.StatusNotFound, "This link is no longer valid",
		"The alert ended long ago, or the link is incomplete."),
}
