// Package dashboard serves the operators' dashboard below /admin. Everything that changes data is a form, so that it
// works without script. Each screen is one file with its handlers and one template; routes.go lists them all.
package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/page/stream"
	"github.com/allswell/allswell/internal/surface/signin/passkey"
	"github.com/allswell/allswell/internal/surface/signin/password"
	"github.com/allswell/allswell/internal/surface/web"
)

// Path is the path of the dashboard. Its screens are below it.
const Path = "/admin"

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
	// CheckTarget returns a *kernel.ValidationError if no message is sent to a valid target. Nil: all are accepted.
	CheckTarget func(ctx context.Context, channel audience.Channel, target string) error
	// Tests checks what people try before they save it. Nil: nothing can be tested.
	Tests *web.CheckTester
	// ChannelTests sends test messages to channels of alerts. Nil: nothing can be tested.
	ChannelTests *web.ChannelTester
	// SingleSignOn are the sign-ins by others.
	SingleSignOn SingleSignOn
	// SendMail sends a mail in plain text at once. Nil: mail is off.
	SendMail func(ctx context.Context, to, subject, text string) error
	// Process is what the screen of the system shows.
	Process Process
}

// Dashboard serves the dashboard of one store.
type Dashboard struct {
	store *store.Store
	log   *slog.Logger
	now   func() time.Time
	base  string // Config.BaseURL, without a slash at its end

	verifyDomain func(
		ctx context.Context, actor kernel.Actor, slug string, save ...store.SaveResponse[statuspage.Page],
	) (statuspage.Page, error)
	checkTarget func(ctx context.Context, channel audience.Channel, target string) error

	tests        *web.CheckTester
	channelTests *web.ChannelTester
	sendMail     func(ctx context.Context, to, subject, text string) error
	matches      func(ctx context.Context, asker password.Asker, hash, typed string) (bool, error) // password.Matches
	forgot       *forgot
	invited      invited

	cookie      cookie
	signIns     *signInLimits
	slackFaults *limit.Addresses // reports as by Slack that are not signed
	sso         SingleSignOn
	live        *live
	process     Process
	passkeys    *passkey.RelyingParty // nil: browsers make none for the base URL
	pings       rate
	handler     http.Handler
	polling     http.Handler // for the event streams of open screens

	exports   *fair.Pool // of lists that are downloaded
	backingUp sync.Mutex // held while a backup is downloaded
}

// New returns a dashboard.
func New(c Config) *Dashboard {
	d := &Dashboard{
		store: c.Store, log: c.Logger, now: c.Now, base: strings.TrimRight(c.BaseURL, "/"), process: c.Process,
		sso: c.SingleSignOn, verifyDomain: c.VerifyDomain, checkTarget: c.CheckTarget, tests: c.Tests,
		channelTests: c.ChannelTests, exports: newExports(), matches: password.Matches,
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now
	}
	base, err := url.Parse(d.base)
	d.cookie = newCookie(err == nil && base.Scheme == "https")
	d.signIns, d.slackFaults = newSignInLimits(), limit.NewAddresses(signInsPerAddress, signInWindow)
	d.passkeys = passkey.New(d.base)
	d.sendMail, d.forgot, d.invited = c.SendMail, newForgot(), newInvited()
	d.live = newLive(stream.Config{Now: d.now, MaxSubscribers: maxStreams})
	// Browsers say where a request comes from, so that forms need no secret of their own.
	d.handler = http.NewCrossOriginProtection().Handler(d.newMux(false))
	d.polling = d.newMux(true)
	return d
}

// newMux returns the handler of all routes. polled is that of the visits.
func (d *Dashboard) newMux(polled bool) http.Handler {
	mux := http.NewServeMux()
	for _, route := range d.routes() {
		if !polled || slices.Contains(liveScreens, route.pattern) {
			mux.Handle(route.pattern, d.handle(route, polled))
		}
	}
	mux.Handle(Path+"/", d.handle(route{needs: rights.Anyone, serve: (*visit).showUnknown}, polled))
	return mux
}

// Handler returns the handler of Path and everything below it.
func (d *Dashboard) Handler() http.Handler { return d.handler }

// Run watches for changes that open screens show, counts pings, and mails links for new passwords. It returns when ctx
// ends.
func (d *Dashboard) Run(ctx context.Context) {
	go d.sendResetMails(ctx)
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.live.poll(time.Now())
			if d.process.RecordedPings != nil {
				d.pings.observe(d.now(), d.process.RecordedPings(), d.process.PingWriterBusy())
			}
		}
	}
}

// EndStreams ends all event streams and refuses new ones.
func (d *Dashboard) EndStreams() { d.live.streams.Close() }

// policy is the Content-Security-Policy of all screens.
var policy = string(web.PolicyPage(web.PageContent{Form: true, Script: true}).WithFrames())

// showUnknown answers requests of addresses that do not exist. The address of the dashboard with a slash leads to it.
func (v *visit) showUnknown() error {
	if v.r.URL.Path == Path+"/" {
		return v.redirect(Path)
	}
	return errNotFound
}
