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

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/view"
	"github.com/allswell/allswell/internal/web"
)

// What a form may bring.
const (
	maxForm   = 16 << 10 // bytes
	maxFields = 500
)

// The fields of the forms.
const (
	fieldEmail     = "email"
	fieldComponent = "component"
	fieldAction    = "action"
	fieldScope     = "scope"
)

// originsOf returns the check that a form was sent from our own pages: from the
// host that the request names, or from where visitors find us.
func originsOf(baseURL string) *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	if u, err := url.Parse(baseURL); err == nil && u.Host != "" {
		_ = p.AddTrustedOrigin(u.Scheme + "://" + u.Host) // an odd one is trusted no further
	}
	return p
}

// routeForm serves the parts of a page that take forms, and reports whether it
// did.
func (s *Site) routeForm(w http.ResponseWriter, r *http.Request, v visit) bool {
	var serve func(http.ResponseWriter, *http.Request, visit, string)
	name, key, keyed := strings.Cut(v.part, "/")
	switch {
	case v.part == "subscribe":
		serve = s.serveSubscribe
	case keyed && name == "subscription":
		serve = s.serveSubscription
	case keyed && name == "unsubscribe":
		serve = s.serveUnsubscribe
	default:
		return false
	}
	if !isRead(r) && r.Method != http.MethodPost {
		w.Header()["Allow"] = allowForm
		s.failAt(w, r, v, http.StatusMethodNotAllowed)
		return true
	}
	if keyed && errors.Is(v.key.err, errTooManyGuesses) {
		s.failForAt(w, r, v, v.key.err)
		return true
	}
	serve(w, r, v, key)
	return true
}

// serveSubscribe takes the form of a status page. What it answers depends on
// what was typed and on who types too often, and never on whether the address
// is known; nor does the time that the answer takes.
func (s *Site) serveSubscribe(w http.ResponseWriter, r *http.Request, v visit, _ string) {
	switch {
	case !s.mail:
		// Nothing is broken that would be there in a moment: it is not offered.
		s.say(w, r, v, http.StatusNotFound, "subscribe.off.heading", v.variant.Language.T("subscribe.off.text"))
		return
	case isRead(r): // somebody asks for the address of the form
		w.Header()["Cache-Control"] = []string{web.CacheNever}
		http.Redirect(w, r, v.presentation().Home()+"#subscribe", http.StatusSeeOther)
		return
	case s.origins.Check(r) != nil:
		s.failAt(w, r, v, http.StatusForbidden)
		return
	}
	fields, status := readForm(w, r)
	if status != http.StatusOK {
		s.failAt(w, r, v, status)
		return
	}
	n := allswell.NewSubscriber{Channel: allswell.ChannelEmail, Target: fields.Get(fieldEmail), Components: fields[fieldComponent]}
	checked, err := n.Check() // before it counts: a slip of the finger is free
	if err == nil {
		now := s.now()
		if verdict := s.signUps.take(clientaddr.Of(r), now); !verdict.Allowed {
			s.refuseSignUp(w, r, v, verdict.Reset.Sub(now))
			return
		}
		request := store.SignUp{Slug: v.entry.slug, Subscriber: checked, Discard: !s.signUps.mailboxes.Take(allswell.MailboxKey(checked.Target), now).Allowed}
		err = s.forms.signUps.run(r.Context(), func() error { return s.store.RequestSignUp(r.Context(), request) })
	}
	l := v.variant.Language
	switch bad := (*allswell.ValidationError)(nil); {
	case err == nil:
		s.say(w, r, v, http.StatusOK, "subscribe.sent.heading", l.T("subscribe.sent.text"), l.T("subscribe.sent.missing"))
	case errors.As(err, &bad):
		s.answer(w, r, http.StatusUnprocessableEntity, view.InvalidSignUp(v.layout(), v.snap.sum.Blocks, n, bad))
	default:
		s.failForm(w, r, v, "somebody could not be subscribed", err)
	}
}

func (s *Site) refuseSignUp(w http.ResponseWriter, r *http.Request, v visit, wait time.Duration) {
	wait = max(wait, time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	minutes := int(math.Ceil(wait.Minutes()))
	s.say(w, r, v, http.StatusTooManyRequests, "subscribe.too_many.heading", v.variant.Language.T("subscribe.too_many.text", "n", minutes))
}

// readForm reads a form of bounded size. The status is 200, or why there is
// none.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, int) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, http.StatusRequestEntityTooLarge
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

// answer renders a page for one person.
func (s *Site) answer(w http.ResponseWriter, r *http.Request, status int, m view.Model) {
	doc, err := renderDocument(context.Background(), m, web.CacheNever)
	if err != nil {
		s.logError("rendering the answer to a form", nil, err)
		s.fail(w, r, http.StatusServiceUnavailable)
		return
	}
	doc.ServeStatus(w, r, status)
}

// say answers with a heading, given by its key, and paragraphs.
func (s *Site) say(w http.ResponseWriter, r *http.Request, v visit, status int, heading string, text ...string) {
	s.answer(w, r, status, view.Message(v.layout(), v.variant.Language.T(heading), text...))
}

// layout returns the frame of an answer, which is of no particular time.
func (v visit) layout() view.Layout {
	return view.NewLayout(v.presentation(), v.snap.page, v.snap.status, time.Time{})
}

// failForm answers a form that the store did not take. Of the address, which
// may hold a key, only the page is logged.
func (s *Site) failForm(w http.ResponseWriter, r *http.Request, v visit, what string, err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, allswell.ErrBusy) && !errors.Is(err, allswell.ErrUnknownOutcome) {
		s.logError(what, v.entry, err)
	}
	s.failForAt(w, r, v, err)
}
