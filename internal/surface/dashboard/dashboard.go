// Package dashboard serves the operators' dashboard below /admin. Everything that changes data is a form, so that it
// works without script. Its rooms are packages: each has its screens, its templates, its routes and its errors. What
// they share is in frame. No room imports another one.
package dashboard

import (
	"context"
	"log/slog"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/alerting"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/dashboard/monitors"
	"github.com/allswell/allswell/internal/surface/dashboard/signin"
	"github.com/allswell/allswell/internal/surface/dashboard/statuspages"
	"github.com/allswell/allswell/internal/surface/dashboard/subscribers"
	"github.com/allswell/allswell/internal/surface/dashboard/workspace"
	"github.com/allswell/allswell/internal/surface/web"
)

// Path is the path of the dashboard. Its screens are below it.
const Path = frame.Path

// OIDCCallbackPath is the path of the redirect URL at the provider.
const OIDCCallbackPath = signin.OIDCCallbackPath

// The configurations of the rooms, for callers of New.
type (
	SingleSignOn = signin.SingleSignOn
	ProxyHeaders = signin.ProxyHeaders
	Process      = workspace.Process
	Setting      = workspace.Setting
)

// Config configures a Dashboard. Only Store and BaseURL are required.
type Config struct {
	Store   *store.Store
	Logger  *slog.Logger     // nil: discard
	Now     func() time.Time // the host's clock; nil: time.Now
	BaseURL string           // URL of the service

	// VerifyDomain checks the domain of a page now. Nil: nothing is checked.
	VerifyDomain func(
		ctx context.Context, actor kernel.Actor, slug string, save ...store.SaveResponse[statuspage.Page],
	) (statuspage.Page, error)
	// CheckTarget returns a *kernel.ValidationError if messages must not be sent to a valid target. Nil: all are
	// accepted.
	CheckTarget func(ctx context.Context, channel audience.Channel, target string) error
	// Tests runs checks that are not saved yet. Nil: nothing can be tested.
	Tests *web.CheckTester
	// ChannelTests sends test messages to alert channels. Nil: nothing can be tested.
	ChannelTests *web.ChannelTester
	// SingleSignOn configures sign-ins through an identity provider or a reverse proxy.
	SingleSignOn SingleSignOn
	// SendMail sends a mail in plain text immediately. Nil: mail is off.
	SendMail func(ctx context.Context, to, subject, text string) error
	// Process describes the serving process, for the system screen.
	Process Process
}

// Dashboard serves the dashboard of one store.
type Dashboard struct {
	*frame.Frame

	SignIn      *signin.Screens
	StatusPages *statuspages.Screens
	Monitors    *monitors.Screens
	Alerting    *alerting.Screens
	Subscribers *subscribers.Screens
	Workspace   *workspace.Screens
}

// New returns a dashboard.
func New(c Config) *Dashboard {
	f := frame.New(c.Store, c.BaseURL, c.Logger, c.Now)
	d := &Dashboard{
		Frame:       f,
		SignIn:      signin.New(f, signin.Config{SingleSignOn: c.SingleSignOn, SendMail: c.SendMail}),
		StatusPages: &statuspages.Screens{VerifyDomain: c.VerifyDomain}, Monitors: &monitors.Screens{Tests: c.Tests},
		Alerting: alerting.New(c.ChannelTests), Subscribers: &subscribers.Screens{CheckTarget: c.CheckTarget},
		Workspace: &workspace.Screens{Process: c.Process},
	}
	f.Join(d.SignIn.Gate(), d.SignIn.Room(), d.StatusPages.Room(), d.Monitors.Room(), d.Alerting.Room(),
		d.Subscribers.Room(), d.Workspace.Room())
	return d
}

// Run watches for changes to open screens, samples the ping counters, and mails links for new passwords. It returns
// when ctx ends.
func (d *Dashboard) Run(ctx context.Context) {
	go d.SignIn.SendResetMails(ctx)
	ticker := time.NewTicker(frame.WatchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.Watch(time.Now())
			d.Workspace.CountPings(d.Now())
		}
	}
}
