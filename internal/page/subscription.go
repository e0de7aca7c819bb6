package page

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/markdown"
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

// subscriptionBody is one's own subscription. Its forms name no address, so
// that they are sent to the page's own and the key is not in the page.
type subscriptionBody struct {
	lang         *i18n.Language
	Page         string
	Done         string // what was done just now
	Target       string
	Confirmed    bool
	Since        moment // when it was confirmed
	Suspended    moment // zero: it is not
	SuspendedFor string
	WholePage    bool
	Chosen       []string // names, if not the whole page
	Choice       choice
	KeptDays     int // how long it waits for its confirmation
}

// unsubscribeBody asks once more.
type unsubscribeBody struct {
	lang *i18n.Language
	Page string
}

func (subscriptionBody) template() string { return "subscription" }
func (unsubscribeBody) template() string  { return "unsubscribe" }

func (b subscriptionBody) title() string {
	if !b.Confirmed {
		return b.lang.T("subscription.ask.heading")
	}
	return b.lang.T("subscription.heading")
}
func (b unsubscribeBody) title() string { return b.lang.T("unsubscribe.title") }

// secretLayout is the frame of a page whose address holds a key.
func (v visit) secretLayout() layout {
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
	ctx, l := r.Context(), v.variant.lang
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
		b := subscriptionOf(v, sub, "")
		b.Choice.Chosen = ch.components
		b.Choice.Error = l.T("subscribe.component_gone")
		if len(ch.components) == 0 {
			b.Choice.Error = l.T("subscribe.choose_one")
		}
		s.answer(w, r, http.StatusUnprocessableEntity, v.secretLayout(), b)
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
		s.answer(w, r, http.StatusOK, v.secretLayout(), subscriptionOf(v, sub, done))
	}
}

func (s *Site) noSubscription(w http.ResponseWriter, r *http.Request, v visit) {
	l := v.variant.lang
	s.answer(w, r, http.StatusNotFound, v.secretLayout(), plainBody{
		Heading: l.T("subscription.gone.heading"), Home: v.presentation().home(), AtPage: true,
		Text: []string{l.T("subscription.gone.text"), l.T("subscription.gone.again")},
	})
}

// serveUnsubscribe ends a subscription by one click (RFC 8058): a GET shows a
// button, and a POST from anywhere, whatever is in it, acts. Neither tells
// whether there is such a subscription.
func (s *Site) serveUnsubscribe(w http.ResponseWriter, r *http.Request, v visit, key string) {
	if isRead(r) {
		s.answer(w, r, http.StatusOK, v.secretLayout(), unsubscribeBody{v.variant.lang, v.snap.page.Name})
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
	l := v.variant.lang
	s.answer(w, r, http.StatusOK, v.secretLayout(), plainBody{
		Heading: l.T("unsubscribe.done.heading"), Home: v.presentation().home(), AtPage: true,
		Text: []string{l.T("unsubscribe.done.text", "page", v.snap.page.Name)},
	})
}

// subscriptionOf lays out a subscription.
func subscriptionOf(v visit, sub allswell.Subscriber, done string) subscriptionBody {
	at := v.presentation()
	b := subscriptionBody{
		lang: at.lang, Page: v.snap.page.Name, Done: done, Target: sub.Target,
		Confirmed: !sub.ConfirmedAt.IsZero(), Since: at.moment(sub.ConfirmedAt),
		Suspended: at.moment(sub.SuspendedAt), SuspendedFor: markdown.Line(sub.SuspendedFor),
		WholePage: sub.WholePage,
		Choice:    choice{Blocks: v.snap.sum.Blocks, Chosen: sub.Components},
		KeptDays:  int(allswell.UnconfirmedLifetime / (24 * time.Hour)),
	}
	for _, block := range v.snap.sum.Blocks {
		for _, c := range block.Components {
			if slices.Contains(sub.Components, c.ID) {
				b.Chosen = append(b.Chosen, c.Name)
			}
		}
	}
	return b
}
