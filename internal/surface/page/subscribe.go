package page

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/page/view"
	"github.com/allswell/allswell/internal/surface/web"
)

// The limits of a form.
const (
	maxForm   = 16 << 10 // bytes
	maxFields = 500
)

// The fields of the forms.
const (
	fieldEmail     = "email"
	fieldChannel   = "channel" // with fieldURL; a webhook by default
	fieldURL       = "url"     // of a webhook or a chat
	fieldPhone     = "phone"
	fieldCode      = "code" // that confirms a subscription
	fieldComponent = "component"
	fieldAction    = "action"
	fieldScope     = "scope"
)

// originsOf returns the check that a form was sent by one of our own pages: from the
// host of the request, or from baseURL.
func originsOf(baseURL string) *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	if u, err := url.Parse(baseURL); err == nil && u.Host != "" {
		_ = p.AddTrustedOrigin(u.Scheme + "://" + u.Host) // a malformed URL adds nothing
	}
	return p
}

// routeForm serves the paths of a page that take forms, and reports whether it did.
func (s *Site) routeForm(w http.ResponseWriter, r *http.Request, req pageRequest) bool {
	var serve func(http.ResponseWriter, *http.Request, pageRequest, string)
	name, key, keyed := strings.Cut(req.part, "/")
	switch {
	case req.part == "subscribe":
		serve = s.serveSubscribe
	case req.part == view.PushName && s.seals:
		serve = s.servePush
	case keyed && name == "subscription":
		serve = s.serveSubscription
	case keyed && name == "unsubscribe":
		serve = s.serveUnsubscribe
	default:
		return false
	}
	if !isRead(r) && r.Method != http.MethodPost {
		w.Header()["Allow"] = allowForm
		s.failAt(w, r, req, http.StatusMethodNotAllowed)
		return true
	}
	if keyed && errors.Is(req.key.err, errTooManyNotFound) {
		s.failForAt(w, r, req, req.key.err)
		return true
	}
	serve(w, r, req, key)
	return true
}

// serveSubscribe handles the forms for subscribing. The response and its timing depend
// on the input and on the limits, never on whether the target is subscribed.
func (s *Site) serveSubscribe(w http.ResponseWriter, r *http.Request, req pageRequest, _ string) {
	switch {
	case !s.mail && !req.snap.page.WebhookSignUps:
		s.failSignUpsOff(w, r, req, audience.ChannelEmail)
		return
	case isRead(r):
		s.serveSignUp(w, r, req)
		return
	case s.origins.Check(r) != nil:
		s.failAt(w, r, req, http.StatusForbidden)
		return
	}
	fields, status := readForm(w, r)
	if status != http.StatusOK {
		s.failAt(w, r, req, status)
		return
	}
	n, offered := s.signUpOf(req, fields)
	if !offered {
		s.failSignUpsOff(w, r, req, n.Channel)
		return
	}
	if fields.Has(fieldCode) {
		s.confirmSignUp(w, r, req, n, fields.Get(fieldCode))
		return
	}
	checked, err := n.CheckSignUp() // first, so that a typing error does not count towards the limits
	if err == nil {
		now := s.now()
		if verdict := s.signUps.take(clientaddr.Of(r), n.Channel, limitedPage(req, n.Channel), now); !verdict.Allowed {
			s.rejectSignUp(w, r, req, verdict.Reset.Sub(now))
			return
		}
		request := store.SignUp{
			Slug: req.entry.slug, Subscriber: checked, Discard: !s.signUps.takeTarget(checked, now),
			Admitted: req.entry.private,
		}
		err = runIn(r.Context(), s.forms.signUps, keysOf(r, req.entry), func() error {
			return s.store.RequestSignUp(r.Context(), request)
		})
	}
	l := req.variant.Language
	switch invalid := (*kernel.ValidationError)(nil); {
	case err == nil && n.Channel.Coded():
		s.answer(w, r, http.StatusOK, view.EnterCode(s.formLayout(req), checked, ""))
	case err == nil && n.Channel == audience.ChannelWebhook:
		s.answer(w, r, http.StatusOK,
			s.message(req, "subscribe.url_sent.heading", l.T("subscribe.url_sent.text"),
				l.T("subscribe.url_sent.missing")))
	case err == nil:
		s.answer(w, r, http.StatusOK,
			s.message(req, "subscribe.sent.heading", l.T("subscribe.sent.text"), l.T("subscribe.sent.missing")))
	case errors.Is(err, kernel.ErrSMSLimit):
		s.rejectSMS(w, r, req)
	case errors.As(err, &invalid) && invalid.Has("channel"): // it was offered a moment ago
		s.failSignUpsOff(w, r, req, n.Channel)
	case errors.As(err, &invalid):
		s.answer(w, r, http.StatusUnprocessableEntity, view.InvalidSignUp(s.formLayout(req), req.choices(), n, invalid))
	default:
		s.failForm(w, r, req, "subscribing failed", err)
	}
}

// signUpOf returns the subscriber that a form describes, and whether the page offers its channel.
func (s *Site) signUpOf(req pageRequest, fields url.Values) (n audience.NewSubscriber, offered bool) {
	n = audience.NewSubscriber{
		Channel: audience.ChannelEmail, Target: fields.Get(fieldEmail), Components: fields[fieldComponent],
	}
	if fields.Has(fieldPhone) {
		n.Channel, n.Target = audience.ChannelSMS, fields.Get(fieldPhone)
		return n, req.snap.page.SMS && req.snap.page.WebhookSignUps
	}
	if !fields.Has(fieldURL) {
		return n, s.mail
	}
	n.Channel, n.Target, offered = audience.ChannelWebhook, fields.Get(fieldURL), req.snap.page.WebhookSignUps
	switch chosen := audience.Channel(fields.Get(fieldChannel)); {
	case chosen.Chat():
		n.Channel, offered = chosen, offered && s.seals
	case chosen != "" && chosen != audience.ChannelWebhook:
		offered = false
	}
	return n, offered
}

// confirmSignUp confirms the subscription of a target with the code that was sent to it.
func (s *Site) confirmSignUp(
	w http.ResponseWriter, r *http.Request, req pageRequest, n audience.NewSubscriber, code string,
) {
	if s.notFound.exceeded(r) {
		s.failForAt(w, r, req, errTooManyNotFound)
		return
	}
	var sub audience.Subscriber
	try := store.CodeTry{Slug: req.entry.slug, Channel: n.Channel, Target: n.Target, Code: code}
	err := runIn(r.Context(), s.forms.subscriptions, keysOf(r, req.entry), func() (err error) {
		sub, err = s.store.ConfirmWithCode(r.Context(), try)
		return err
	})
	switch invalid := (*kernel.ValidationError)(nil); {
	case errors.As(err, &invalid):
		_ = s.notFound.take(r)
		s.answer(w, r, http.StatusUnprocessableEntity, view.EnterCode(s.formLayout(req), n, code))
	case err != nil:
		s.failForm(w, r, req, "confirming a subscription failed", err)
	default:
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, withQuery(s.presentation(req.snap.page, req.variant).Subscription(sub.Key), paramConfirmed),
			http.StatusSeeOther)
	}
}

// withQuery returns a URL with one more parameter in its query.
func withQuery(to, parameter string) string {
	if strings.Contains(to, "?") {
		return to + "&" + parameter
	}
	return to + "?" + parameter
}

// limitedPage returns the id of the page towards whose limit a sign-up counts; "": the channel has no limit per page.
func limitedPage(req pageRequest, channel audience.Channel) string {
	if channel != audience.ChannelEmail {
		return req.snap.page.ID
	}
	return ""
}

// failSignUpsOff answers 404, with a text about the channel that the page does not offer. The status is not 503,
// because a later request would not succeed either.
func (s *Site) failSignUpsOff(w http.ResponseWriter, r *http.Request, req pageRequest, channel audience.Channel) {
	heading, text := "subscribe.webhook", "subscribe.webhook_ask"
	switch channel {
	case audience.ChannelEmail:
		heading, text = "subscribe.off.heading", "subscribe.off.text"
	case audience.ChannelSMS:
		heading, text = "subscribe.sms", "subscribe.sms_off"
	}
	s.answer(w, r, http.StatusNotFound, s.message(req, heading, req.variant.Language.T(text)))
}

// serveSignUp answers with the form for subscribing.
func (s *Site) serveSignUp(w http.ResponseWriter, r *http.Request, req pageRequest) {
	e, k := req.entry, key{entry: req.entry, kind: "subscribe", variant: req.variant}
	page, err := getRendered(r.Context(), s, k, &e.snapshot.Loads,
		func(ctx context.Context) (*renderedPage, time.Time, error) {
			snap := e.snapshot.Last()
			l := view.NewLayout(s.presentation(snap.page, k.variant), snap.page, snap.severity, time.Time{})
			page, err := newRenderedPage(ctx, view.SignUp(l, snap.sum.Blocks))
			return page, time.Time{}, err
		})
	if err != nil {
		s.failForAt(w, r, req, err)
		return
	}
	s.servePage(w, r, k, page)
}

func (s *Site) rejectSignUp(w http.ResponseWriter, r *http.Request, req pageRequest, wait time.Duration) {
	wait = max(wait, time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	minutes := int(math.Ceil(wait.Minutes()))
	s.answer(w, r, http.StatusTooManyRequests,
		s.message(req, "subscribe.too_many.heading", req.variant.Language.T("subscribe.too_many.text", "n", minutes)))
}

// rejectSMS answers 429: no more sign-ups by SMS are accepted on this UTC day.
func (s *Site) rejectSMS(w http.ResponseWriter, r *http.Request, req pageRequest) {
	const day = 24 * time.Hour
	left := day - s.now().UTC().Sub(s.now().UTC().Truncate(day))
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(left.Seconds()))))
	s.answer(w, r, http.StatusTooManyRequests,
		s.message(req, "subscribe.too_many.heading", req.variant.Language.T("subscribe.sms_full")))
}

// readForm reads a form. The status is 200, or the error's.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, int) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, web.ErrBodies) {
		return nil, statusFor(w, err)
	}
	body := string(raw)
	if err != nil || strings.Count(body, "&") >= maxFields {
		return nil, http.StatusBadRequest
	}
	fields, err := url.ParseQuery(body)
	if err != nil {
		return nil, http.StatusBadRequest
	}
	return fields, http.StatusOK
}

// answer renders and serves a page for one person. It is not cached.
func (s *Site) answer(w http.ResponseWriter, r *http.Request, status int, m view.Model) {
	doc, err := renderDocument(context.Background(), m, web.CacheNever)
	if err != nil {
		s.logError("rendering the response to a form", nil, err)
		s.fail(w, r, http.StatusServiceUnavailable)
		return
	}
	doc.ServeStatus(w, r, status)
}

// message returns a page with a heading, given by its key, and paragraphs.
func (s *Site) message(req pageRequest, heading string, text ...string) view.Model {
	return view.Message(s.formLayout(req), req.variant.Language.T(heading), text...)
}

// formLayout returns the layout of the response to a form. It does not say when it was
// rendered, and does not offer to subscribe.
func (s *Site) formLayout(req pageRequest) view.Layout {
	page, severity := req.snap.page, req.snap.severity
	if req.byKey {
		page.Description, page.Accent, page.Footer, page.CustomCSS = nil, "", nil, ""
		page.Logo, page.LogoDark, page.Icon = "", "", ""
		severity = kernel.StatusUnknown
	}
	at := s.presentation(page, req.variant)
	at.Mail, at.Webhooks, at.Chats, at.SMS = false, false, false, false
	return view.NewLayout(at, page, severity, time.Time{})
}

// choices returns the components that a form offers, by group. If only a key gives access to a private page, it returns
// none.
func (req pageRequest) choices() []statuspage.Block {
	if req.byKey {
		return nil
	}
	return req.snap.sum.Blocks
}

// failForm answers with the error of the store, and logs it unless it is expected. The URL, which may contain a key, is
// not logged.
func (s *Site) failForm(w http.ResponseWriter, r *http.Request, req pageRequest, what string, err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, kernel.ErrBusy) &&
		!errors.Is(err, kernel.ErrUnknownOutcome) {
		s.logError(what, req.entry, err)
	}
	s.failForAt(w, r, req, err)
}
