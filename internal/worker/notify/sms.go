package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/failurelog"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
)

const (
	smsPlaces = 8 // gateways limit the messages that they accept in a second

	// smsLimitRetry is how long a delivery waits at most when the daily limit is reached: an operator may raise the
	// limit before the day ends.
	smsLimitRetry = 15 * time.Minute
)

// smsChannel sends SMS through the alert channel of the setting ALLSWELL_SMS_CHANNEL.
var smsChannel = channel{
	name: audience.ChannelSMS, places: smsPlaces, minPause: 10 * time.Second, maxPause: 5 * time.Minute,
	open: func(c Config) sender { return newSMS(c) },
}

// sms sends SMS to phones.
type sms struct {
	store  *store.Store
	base   string
	sender *alertchannel.Sender
	log    *slog.Logger
	outage *failurelog.Log
}

func newSMS(c Config) *sms {
	log := c.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &sms{
		store: c.Store, base: c.BaseURL, log: log,
		sender: alertchannel.NewSender(alertchannel.Config{Denied: c.Deny, AllowPrivate: c.AllowPrivate}),
		outage: &failurelog.Log{
			Logger: log, Failing: "SMS cannot be sent to subscribers", Working: "SMS can be sent to subscribers again",
		},
	}
}

func (*sms) refuses(context.Context, string) error { return nil }

// server returns "": send logs outages of the gateway itself. Unlike with mail, attempts during an outage count,
// because each SMS may have been sent.
func (*sms) server() string { return "" }

func (s *sms) close() { s.sender.Close() }

// send makes one attempt to send a notification, and returns its outcome within audience.SendTimeout. An SMS that was
// certainly not sent does not count towards the daily limit.
func (s *sms) send(ctx context.Context, n audience.Notification) audience.SendOutcome {
	text, err := newSMSText(n, s.base)
	if err != nil {
		return audience.SendOutcome{
			Result: audience.SendUndeliverable, Reason: webhookReason("The message cannot be composed: %v.", err),
		}
	}
	gateway, err := s.store.SMSGateway(ctx)
	switch {
	case err != nil:
		s.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "loading the SMS gateway failed; retrying", "error", err)
		return audience.SendOutcome{
			Result: audience.SendServerUnavailable, Reason: "The gateway for SMS could not be loaded.",
		}
	case gateway.Problem != "":
		s.outage.Failed(time.Now(), "error", gateway.Problem)
		return audience.SendOutcome{
			Result: audience.SendServerUnavailable, Reason: "No gateway for SMS can be used (ALLSWELL_SMS_CHANNEL).",
			Unreachable: true,
		}
	case !gateway.Serves(n.Page.WorkspaceID):
		return audience.SendOutcome{
			Result: audience.SendFailed,
			Reason: "The gateway for SMS belongs to another workspace (ALLSWELL_SMS_CHANNEL).",
		}
	}
	if o, ok := s.count(ctx); !ok {
		return o
	}
	o := s.sender.SMS(ctx, gateway.Channel, n.Subscriber.Target, text)
	switch {
	case o.Unreachable:
		s.outage.Failed(time.Now(), "channel", gateway.Channel.Name, "error", o.Detail)
		o.Detail = "" // already logged
	case o.Result != audience.SendNotAttempted:
		s.outage.Worked(time.Now())
	}
	if o.Result == audience.SendServerUnavailable {
		if err := s.store.ReturnSMS(ctx); err != nil {
			s.log.Log(ctx, store.LogLevel(err, slog.LevelWarn),
				"an SMS that was not sent counts towards the daily limit", "error", err)
		}
	}
	return limitConfirmations(n, o)
}

// count counts an SMS towards the daily limit before it is sent. If ok is false, it must not be sent now, and o is the
// outcome of the attempt.
func (s *sms) count(ctx context.Context) (o audience.SendOutcome, ok bool) {
	next, err := s.store.TakeSMS(ctx)
	switch {
	case err == nil:
		return o, true
	case errors.Is(err, kernel.ErrSMSLimit):
		wait := min(smsLimitRetry, time.Until(next))
		return audience.SendOutcome{
			Result: audience.SendServerUnavailable, RetryAfter: wait,
			Reason: "The daily limit of SMS is reached (ALLSWELL_SMS_DAILY_LIMIT).",
		}, false
	}
	s.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "counting an SMS failed; retrying", "error", err)
	return audience.SendOutcome{Result: audience.SendServerUnavailable, Reason: "The SMS could not be counted."}, false
}

// newSMSText returns the text of a notification, in the language and the time zone of its page. base is the URL of the
// installation. The links to the subscription are short: the package page redirects them. The error means that the
// notification cannot be sent by SMS.
func newSMSText(n audience.Notification, base string) (string, error) {
	l := i18n.Or(n.Page.DefaultLanguage())
	name := oneLine(n.Page.Name, mailNameInLine)
	page := pageInfo{url: pageURL(n.Page, base), zone: n.Page.Location(), lang: l, style: strings.NewReplacer()}
	key := url.PathEscape(n.Subscriber.Key)
	manage, leave := base+"/s/"+key, l.T("unsubscribe.title")+": "+base+"/u/"+key
	switch n.Delivery.Purpose {
	case audience.PurposeConfirmation:
		return fitSMS(l.T("sms.code", "code", n.Subscriber.ShownCode(), "page", name), manage), nil
	case audience.PurposeLink:
		return fitSMS(l.T("sms.link", "page", name), manage), nil
	case audience.PurposeTest:
		return fitSMS(l.T("sms.test", "page", name), leave), nil
	case audience.PurposeEvent:
		threads := threadsOf(n.Events, page)
		if len(threads) == 0 {
			return "", fmt.Errorf("no event of the notification is reported by SMS")
		}
		lines := []string{page.url, leave}
		if when := threads[0].When; len(threads) == 1 && when != "" {
			lines = append([]string{when}, lines...)
		}
		return fitSMS(name+": "+headline(threads, l, smsSeptets), lines...), nil
	}
	return "", fmt.Errorf("unknown purpose of an SMS: %q", n.Delivery.Purpose)
}
