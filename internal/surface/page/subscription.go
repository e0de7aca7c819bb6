package page

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/page/view"
)

// The values of the buttons of a subscription, and of its scopes.
const (
	actConfirm     = "confirm"
	actSave        = "save"
	actResume      = "resume"
	actUnsubscribe = "unsubscribe"

	scopePage   = "page"       // the whole page, whichever components are ticked
	scopeChosen = "components" // at least one
)

// paramConfirmed is the query parameter that is set after a code has confirmed the subscription.
const paramConfirmed = "confirmed"

// keyLookup is the result of looking up the key in the path of a form.
type keyLookup struct {
	slug string // the current slug of the subscription's page; "" after an error
	err  error  // kernel.ErrNotFound: there is no such subscription
}

// lookUpKey looks up the subscription whose key is in part. The slug in a link to
// it may be an old one. The error is kernel.ErrNotFound if part has no key.
func (s *Site) lookUpKey(r *http.Request, part string) keyLookup {
	name, key, _ := strings.Cut(part, "/")
	if name != "subscription" && name != "unsubscribe" || !audience.ValidSubscriberKey(key) {
		return keyLookup{err: kernel.ErrNotFound}
	}
	limited, keys := s.notFound.exceeded(r), s.forms.keys
	if limited {
		keys = s.forms.limitedKeys
	}
	var found keyLookup
	found.err = runIn(r.Context(), keys, keysOf(r, nil), func() (err error) {
		found.slug, err = s.store.SubscriptionPageSlug(r.Context(), key)
		return err
	})
	switch {
	case errors.Is(found.err, kernel.ErrNotFound):
		found.err = s.notFound.take(r)
	case limited && errors.Is(found.err, kernel.ErrBusy):
		found.err = errTooManyNotFound
	}
	return found
}

// secretLayout returns the layout of a page whose URL contains a key.
func (s *Site) secretLayout(req pageRequest) view.Layout {
	l := s.formLayout(req)
	l.Secret = true
	return l
}

// serveSubscription shows the subscription with a key, and handles its buttons.
func (s *Site) serveSubscription(w http.ResponseWriter, r *http.Request, req pageRequest, key string) {
	if isRead(r) {
		var sub audience.Subscriber
		err := req.key.err
		if err == nil {
			err = runIn(r.Context(), s.forms.subscriptions, keysOf(r, req.entry), func() (err error) {
				sub, err = s.store.Subscription(r.Context(), req.entry.slug, key)
				return
			})
		}
		var done view.SubscriptionChange
		if r.URL.Query().Has(paramConfirmed) && !sub.ConfirmedAt.IsZero() {
			done.Done = req.variant.Language.T("subscription.done.confirmed")
		}
		if err != nil {
			s.failSubscription(w, r, req, err)
			return
		}
		s.showSubscription(w, r, req, sub, done)
		return
	}
	// The page sends no referrer, so browsers send the origin "null". Over plain HTTP
	// they send nothing else, and the key has to be proof enough.
	unnamed := r.Header.Get("Origin") == "null" && r.Header.Get("Sec-Fetch-Site") == ""
	if !unnamed && s.origins.Check(r) != nil {
		s.failAt(w, r, req, http.StatusForbidden)
		return
	}
	fields, status := readForm(w, r)
	if status != http.StatusOK {
		s.failAt(w, r, req, status)
		return
	}
	if req.key.err != nil {
		s.failSubscription(w, r, req, req.key.err)
		return
	}
	s.changeSubscription(w, r, req, key, change{
		action: fields.Get(fieldAction), scope: fields.Get(fieldScope), code: fields.Get(fieldCode),
		components: fields[fieldComponent],
	})
}

// secretShown is how long after the confirmation of a visitor's webhook a repeated confirmation, such as a double
// click, shows its secret again.
const secretShown = 10 * time.Minute

// newSecret returns the secret of a visitor's webhook that has just been confirmed, and otherwise "". Links in later
// messages do not reveal it to people who read these messages.
func (s *Site) newSecret(sub audience.Subscriber) string {
	if sub.AddedByOperator || sub.ConfirmedAt.IsZero() || s.now().Sub(sub.ConfirmedAt).Abs() > secretShown {
		return ""
	}
	return sub.Secret
}

// change is the change that a form requests.
type change struct {
	action, scope, code string
	components          []string
}

// confirm confirms a subscription: with the code, or with the key alone if code is "".
func (s *Site) confirm(ctx context.Context, slug, key, code string) (audience.Subscriber, error) {
	if code == "" {
		return s.store.ConfirmSubscription(ctx, slug, key)
	}
	return s.store.ConfirmWithCode(ctx, store.CodeTry{Slug: slug, Key: key, Code: code})
}

func (s *Site) changeSubscription(w http.ResponseWriter, r *http.Request, req pageRequest, key string, ch change) {
	ctx, l := r.Context(), req.variant.Language
	var sub audience.Subscriber
	var done view.SubscriptionChange
	at := s.forms.subscriptions
	if ch.action == actUnsubscribe {
		at = s.forms.unsubscribes
	}
	err := runIn(ctx, at, keysOf(r, req.entry), func() (err error) {
		switch ch.action {
		case actConfirm:
			done.Done = l.T("subscription.done.confirmed")
			sub, err = s.confirm(ctx, req.entry.slug, key, ch.code)
			done.Secret = s.newSecret(sub)
		case actSave:
			done.Done = l.T("subscription.done.saved")
			sub, err = s.saveSubscription(r, req.entry.slug, key, ch)
		case actResume:
			done.Done = l.T("subscription.done.resumed")
			sub, err = s.store.ResumeSubscription(ctx, req.entry.slug, key)
		case actUnsubscribe:
			err = s.store.Unsubscribe(ctx, req.entry.slug, key)
		default:
			err = errUnknownAction
		}
		return err
	})
	invalid := (*kernel.ValidationError)(nil)
	switch {
	case errors.Is(err, errUnknownAction):
		s.failAt(w, r, req, http.StatusBadRequest)
	case err == nil && ch.action == actUnsubscribe:
		s.answerUnsubscribed(w, r, req)
	case errors.As(err, &invalid):
		// Show the form as it was sent, with the current subscription.
		loadErr := runIn(ctx, s.forms.subscriptions, keysOf(r, req.entry), func() (err error) {
			sub, err = s.store.Subscription(ctx, req.entry.slug, key)
			return err
		})
		if loadErr != nil {
			s.failSubscription(w, r, req, loadErr)
			return
		}
		if ch.action == actConfirm {
			s.answer(w, r, http.StatusUnprocessableEntity,
				view.WrongCode(s.secretLayout(req), req.choices(), sub, ch.code))
			return
		}
		s.answer(w, r, http.StatusUnprocessableEntity,
			view.InvalidChange(s.secretLayout(req), req.choices(), sub, ch.components))
	case err != nil:
		s.failSubscription(w, r, req, err)
	default:
		s.showSubscription(w, r, req, sub, done)
	}
}

var errUnknownAction = errors.New("unknown action")

// saveSubscription saves the components that are ticked, or the whole page.
func (s *Site) saveSubscription(r *http.Request, slug, key string, ch change) (audience.Subscriber, error) {
	switch {
	case ch.scope == scopePage:
		ch.components = nil
	case ch.scope == scopeChosen && len(ch.components) == 0:
		invalid := new(kernel.ValidationError)
		invalid.Add("components", "At least one is required.")
		return audience.Subscriber{}, invalid
	}
	return s.store.ChangeSubscription(r.Context(), slug, key, ch.components)
}

// showSubscription answers with a subscription, and with what the visitor has just done.
func (s *Site) showSubscription(
	w http.ResponseWriter, r *http.Request, req pageRequest, sub audience.Subscriber, done view.SubscriptionChange,
) {
	s.answer(w, r, http.StatusOK, view.Subscription(s.secretLayout(req), req.choices(), sub, done))
}

// failSubscription answers with the error of loading or changing a subscription.
func (s *Site) failSubscription(w http.ResponseWriter, r *http.Request, req pageRequest, err error) {
	if errors.Is(err, kernel.ErrNotFound) {
		s.answerNoSubscription(w, r, req)
		return
	}
	s.failForm(w, r, req, "reading or changing a subscription failed", err)
}

func (s *Site) answerNoSubscription(w http.ResponseWriter, r *http.Request, req pageRequest) {
	l := req.variant.Language
	s.answer(w, r, http.StatusNotFound, view.Message(s.secretLayout(req),
		l.T("subscription.gone.heading"), l.T("subscription.gone.text"), l.T("subscription.gone.again")))
}

// serveUnsubscribe ends a subscription with one click (RFC 8058): a GET shows a button, and a POST from any origin,
// with any body, unsubscribes. Neither response reveals whether the subscription exists.
func (s *Site) serveUnsubscribe(w http.ResponseWriter, r *http.Request, req pageRequest, key string) {
	if isRead(r) {
		s.answer(w, r, http.StatusOK, view.Unsubscribe(s.secretLayout(req)))
		return
	}
	// The body has no meaning, but a mail provider must be able to send all of it.
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxForm))
	err := req.key.err
	if err == nil {
		err = runIn(r.Context(), s.forms.unsubscribes, keysOf(r, req.entry), func() error {
			return s.store.Unsubscribe(r.Context(), req.entry.slug, key)
		})
	}
	if err != nil && !errors.Is(err, kernel.ErrNotFound) {
		s.failForm(w, r, req, "unsubscribing failed", err)
		return
	}
	s.answerUnsubscribed(w, r, req)
}

func (s *Site) answerUnsubscribed(w http.ResponseWriter, r *http.Request, req pageRequest) {
	l := req.variant.Language
	s.answer(w, r, http.StatusOK, view.Message(s.secretLayout(req),
		l.T("unsubscribe.done.heading"), l.T("unsubscribe.done.text", "page", req.snap.page.Name)))
}
