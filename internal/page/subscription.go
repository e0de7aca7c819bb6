package page

import (
	"errors"
	"io"
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/view"
)

// What the buttons of a subscription do.
const (
	actConfirm     = "confirm"
	actSave        = "save"
	actResume      = "resume"
	actUnsubscribe = "unsubscribe"

	scopePage   = "page"       // the whole page, whatever is ticked
	scopeChosen = "components" // at least one
)

// secretLayout is the frame of a page whose address holds a key.
func (v visit) secretLayout() view.Layout {
	f := v.layout()
	f.Secret = true
	return f
}

// serveSubscription shows the subscription of the key's holder, and does what
// its buttons ask for.
func (s *Site) serveSubscription(w http.ResponseWriter, r *http.Request, v visit, key string) {
	if isRead(r) {
		var sub allswell.Subscriber
		err := v.key.err
		if err == nil {
			err = s.forms.subscriptions.run(r.Context(), func() (err error) {
				sub, err = s.store.Subscription(r.Context(), v.entry.slug, key)
				return
			})
		}
		s.showSubscription(w, r, v, sub, "", err)
		return
	}
	// The page sends no referrer, and for that a browser calls its origin null.
	// Over plain HTTP it says nothing else; but who has sent the form from
	// elsewhere would have had to know the key.
	unnamed := r.Header.Get("Origin") == "null" && r.Header.Get("Sec-Fetch-Site") == ""
	if !unnamed && s.origins.Check(r) != nil {
		s.failAt(w, r, v, http.StatusForbidden)
		return
	}
	fields, status := readForm(w, r)
	if status != http.StatusOK {
		s.failAt(w, r, v, status)
		return
	}
	if v.key.err != nil {
		s.showSubscription(w, r, v, allswell.Subscriber{}, "", v.key.err)
		return
	}
	s.changeSubscription(w, r, v, key, change{
		action: fields.Get(fieldAction), scope: fields.Get(fieldScope), components: fields[fieldComponent],
	})
}

// change is what a form asks for.
type change struct {
	action, scope string
	components    []string
}

func (s *Site) changeSubscription(w http.ResponseWriter, r *http.Request, v visit, key string, ch change) {
	ctx, l := r.Context(), v.variant.Language
	var sub allswell.Subscriber
	var done string
	at := s.forms.subscriptions
	if ch.action == actUnsubscribe {
		at = s.forms.unsubscribes
	}
	err := at.run(ctx, func() (err error) {
		switch ch.action {
		case actConfirm:
			done = l.T("subscription.done.confirmed")
			sub, err = s.store.ConfirmSubscription(ctx, v.entry.slug, key)
		case actSave:
			done = l.T("subscription.done.saved")
			sub, err = s.saveSubscription(r, v.entry.slug, key, ch)
		case actResume:
			done = l.T("subscription.done.resumed")
			sub, err = s.store.ResumeSubscription(ctx, v.entry.slug, key)
		case actUnsubscribe:
			err = s.store.Unsubscribe(ctx, v.entry.slug, key)
		default:
			err = errNoSuchAction
		}
		return err
	})
	bad := (*allswell.ValidationError)(nil)
	switch {
	case errors.Is(err, errNoSuchAction):
		s.failAt(w, r, v, http.StatusBadRequest)
	case err == nil && ch.action == actUnsubscribe:
		s.sayUnsubscribed(w, r, v)
	case errors.As(err, &bad):
		// The form comes back as it was sent, over what holds still.
		again := s.forms.subscriptions.run(ctx, func() (err error) {
			sub, err = s.store.Subscription(ctx, v.entry.slug, key)
			return err
		})
		if again != nil {
			s.showSubscription(w, r, v, sub, "", again)
			return
		}
		s.answer(w, r, http.StatusUnprocessableEntity, view.InvalidChange(v.secretLayout(), v.snap.sum.Blocks, sub, ch.components))
	default:
		s.showSubscription(w, r, v, sub, done, err)
	}
}

var errNoSuchAction = errors.New("no such action")

// saveSubscription chooses the components that are ticked, or the whole page.
func (s *Site) saveSubscription(r *http.Request, slug, key string, ch change) (allswell.Subscriber, error) {
	switch {
	case ch.scope == scopePage:
		ch.components = nil
	case ch.scope == scopeChosen && len(ch.components) == 0:
		bad := new(allswell.ValidationError)
		bad.Add("components", "There is none.")
		return allswell.Subscriber{}, bad
	}
	return s.store.ChangeSubscription(r.Context(), slug, key, ch.components)
}

// showSubscription answers with the subscription, or with why there is none.
func (s *Site) showSubscription(w http.ResponseWriter, r *http.Request, v visit, sub allswell.Subscriber, done string, err error) {
	switch {
	case errors.Is(err, allswell.ErrNotFound):
		s.noSubscription(w, r, v)
	case err != nil:
		s.failForm(w, r, v, "a subscription could not be read or changed", err)
	default:
		s.answer(w, r, http.StatusOK, view.Subscription(v.secretLayout(), v.snap.sum.Blocks, sub, done))
	}
}

func (s *Site) noSubscription(w http.ResponseWriter, r *http.Request, v visit) {
	l := v.variant.Language
	s.answer(w, r, http.StatusNotFound, view.Message(v.secretLayout(),
		l.T("subscription.gone.heading"), l.T("subscription.gone.text"), l.T("subscription.gone.again")))
}

// serveUnsubscribe ends a subscription by one click (RFC 8058): a GET shows a
// button, and a POST from anywhere, whatever is in it, acts. Neither tells
// whether there is such a subscription.
func (s *Site) serveUnsubscribe(w http.ResponseWriter, r *http.Request, v visit, key string) {
	if isRead(r) {
		s.answer(w, r, http.StatusOK, view.Unsubscribe(v.secretLayout()))
		return
	}
	// Nothing in it matters, but a mail provider should not find the line cut.
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxForm))
	err := v.key.err
	if err == nil {
		err = s.forms.unsubscribes.run(r.Context(), func() error { return s.store.Unsubscribe(r.Context(), v.entry.slug, key) })
	}
	if err != nil && !errors.Is(err, allswell.ErrNotFound) {
		s.failForm(w, r, v, "a subscription could not be ended", err)
		return
	}
	s.sayUnsubscribed(w, r, v)
}

func (s *Site) sayUnsubscribed(w http.ResponseWriter, r *http.Request, v visit) {
	l := v.variant.Language
	s.answer(w, r, http.StatusOK, view.Message(v.secretLayout(),
		l.T("unsubscribe.done.heading"), l.T("unsubscribe.done.text", "page", v.snap.page.Name)))
}
