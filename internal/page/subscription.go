package page

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
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
	Page         string
	Done         string // what was done just now
	Webhook      bool
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
type unsubscribeBody struct{ Page string }

func (subscriptionBody) template() string { return "subscription" }
func (unsubscribeBody) template() string  { return "unsubscribe" }

func (b subscriptionBody) title() string {
	if !b.Confirmed {
		return "Confirm your subscription"
	}
	return "Your subscription"
}
func (unsubscribeBody) title() string { return "Unsubscribe" }

// secretFrame is the frame of a page whose address holds a key.
func secretFrame(snap *snapshot) frame {
	f := frameOf(snap.page, snap.status, time.Time{})
	f.Secret = true
	return f
}

// serveSubscription shows the subscription of the key's holder, and does what
// its buttons ask for.
func (s *Site) serveSubscription(w http.ResponseWriter, r *http.Request, e *entry, snap *snapshot, key string) {
	if !allswell.ValidSubscriberKey(key) {
		s.noSubscription(w, r, e, snap)
		return
	}
	if isRead(r) {
		var sub allswell.Subscriber
		err := s.admitted(r.Context(), func() (err error) {
			sub, err = s.store.Subscription(r.Context(), e.slug, key)
			return
		})
		s.showSubscription(w, r, e, snap, sub, "", err)
		return
	}
	// The page sends no referrer, and for that a browser calls its origin null.
	// Over plain HTTP it says nothing else; but who has sent the form from
	// elsewhere would have had to know the key.
	unnamed := r.Header.Get("Origin") == "null" && r.Header.Get("Sec-Fetch-Site") == ""
	if !unnamed && s.origins.Check(r) != nil {
		s.fail(w, r, http.StatusForbidden)
		return
	}
	fields, status := readForm(w, r)
	if status != http.StatusOK {
		s.fail(w, r, status)
		return
	}
	s.changeSubscription(w, r, e, snap, key, change{
		action: fields.Get(fieldAction), scope: fields.Get(fieldScope), components: fields[fieldComponent],
	})
}

// change is what a form asks for.
type change struct {
	action, scope string
	components    []string
}

func (s *Site) changeSubscription(w http.ResponseWriter, r *http.Request, e *entry, snap *snapshot, key string, ch change) {
	ctx := r.Context()
	var sub allswell.Subscriber
	var done string
	err := s.admitted(ctx, func() (err error) {
		switch ch.action {
		case actConfirm:
			done = "Thank you. Your subscription is confirmed."
			sub, err = s.store.ConfirmSubscription(ctx, e.slug, key)
		case actSave:
			done = "Your choice is saved."
			sub, err = s.saveSubscription(r, e.slug, key, ch)
		case actResume:
			done = "You are told again what happens."
			sub, err = s.store.ResumeSubscription(ctx, e.slug, key)
		case actUnsubscribe:
			err = s.store.EndSubscription(ctx, e.slug, key)
		default:
			err = errNoSuchAction
		}
		return err
	})
	bad := (*allswell.Invalid)(nil)
	switch {
	case errors.Is(err, errNoSuchAction):
		s.fail(w, r, http.StatusBadRequest)
	case err == nil && ch.action == actUnsubscribe:
		s.sayUnsubscribed(w, r, e, snap)
	case errors.As(err, &bad):
		// The form comes back as it was sent, over what holds still.
		again := s.admitted(ctx, func() (err error) {
			sub, err = s.store.Subscription(ctx, e.slug, key)
			return err
		})
		if again != nil {
			s.showSubscription(w, r, e, snap, sub, "", again)
			return
		}
		b := subscriptionOf(snap, sub, "")
		b.Choice.Chosen = ch.components
		b.Choice.Error = strings.Join(bad.Fields["components"], " ")
		s.answer(w, r, http.StatusUnprocessableEntity, secretFrame(snap), b)
	default:
		s.showSubscription(w, r, e, snap, sub, done, err)
	}
}

var errNoSuchAction = errors.New("no such action")

// saveSubscription chooses the components that are ticked, or the whole page.
func (s *Site) saveSubscription(r *http.Request, slug, key string, ch change) (allswell.Subscriber, error) {
	switch {
	case ch.scope == scopePage:
		ch.components = nil
	case ch.scope == scopeChosen && len(ch.components) == 0:
		bad := new(allswell.Invalid)
		bad.Add("components", "Please choose at least one component, or the whole page.")
		return allswell.Subscriber{}, bad
	}
	return s.store.ChangeSubscription(r.Context(), slug, key, ch.components)
}

// showSubscription answers with the subscription, or with why there is none.
func (s *Site) showSubscription(w http.ResponseWriter, r *http.Request, e *entry, snap *snapshot, sub allswell.Subscriber, done string, err error) {
	switch {
	case errors.Is(err, allswell.ErrNotFound):
		s.noSubscription(w, r, e, snap)
	case err != nil:
		s.failForm(w, r, e, "a subscription could not be read or changed", err)
	default:
		s.answer(w, r, http.StatusOK, secretFrame(snap), subscriptionOf(snap, sub, done))
	}
}

func (s *Site) noSubscription(w http.ResponseWriter, r *http.Request, e *entry, snap *snapshot) {
	s.answer(w, r, http.StatusNotFound, secretFrame(snap), plainBody{
		Heading: "There is no such subscription", Home: homeOf(e.slug),
		Text: []string{
			"It may have ended, or the link is not complete. If it has ended, you are told nothing more.",
			"You can subscribe again at any time, on the status page.",
		},
	})
}

// serveUnsubscribe ends a subscription by one click (RFC 8058): a GET shows a
// button, and a POST from anywhere, whatever is in it, acts. Neither tells
// whether there is such a subscription.
func (s *Site) serveUnsubscribe(w http.ResponseWriter, r *http.Request, e *entry, snap *snapshot, key string) {
	if isRead(r) {
		s.answer(w, r, http.StatusOK, secretFrame(snap), unsubscribeBody{snap.page.Name})
		return
	}
	// Nothing in it matters, but a mail provider should not find the line cut.
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxForm))
	if allswell.ValidSubscriberKey(key) {
		err := s.admitted(r.Context(), func() error { return s.store.EndSubscription(r.Context(), e.slug, key) })
		if err != nil && !errors.Is(err, allswell.ErrNotFound) {
			s.failForm(w, r, e, "a subscription could not be ended", err)
			return
		}
	}
	s.sayUnsubscribed(w, r, e, snap)
}

func (s *Site) sayUnsubscribed(w http.ResponseWriter, r *http.Request, e *entry, snap *snapshot) {
	s.answer(w, r, http.StatusOK, secretFrame(snap), plainBody{
		Heading: "You are unsubscribed", Home: homeOf(e.slug),
		Text: []string{"You are told nothing more of " + snap.page.Name + ", and your address is forgotten. You can subscribe again at any time."},
	})
}

// subscriptionOf lays out a subscription.
func subscriptionOf(snap *snapshot, sub allswell.Subscriber, done string) subscriptionBody {
	b := subscriptionBody{
		Page: snap.page.Name, Done: done, Webhook: sub.Channel == allswell.Webhook, Target: sub.Target,
		Confirmed: !sub.ConfirmedAt.IsZero(), Since: moment(sub.ConfirmedAt),
		Suspended: moment(sub.SuspendedAt), SuspendedFor: sub.SuspendedFor,
		WholePage: sub.WholePage,
		Choice:    choice{Blocks: snap.blocks, Chosen: sub.Components},
		KeptDays:  int(allswell.UnconfirmedFor / (24 * time.Hour)),
	}
	for _, block := range snap.blocks {
		for _, c := range block.Components {
			if slices.Contains(sub.Components, c.ID) {
				b.Chosen = append(b.Chosen, c.Name)
			}
		}
	}
	return b
}
