package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

const phone = "+4915112345678"

// newGateway creates an alert channel of a workspace that can send SMS.
func (w *world) newGateway(ws kernel.Actor, name string) alert.Channel {
	w.Helper()
	w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
	return must(w.AlertChannels().Create(w.ctx, ws, "", resource.Channel.From(alert.Channel{
		Type: "sms", Name: name, Enabled: true, MaxPerMinute: 30,
		Config:  json.RawMessage(`{"to":"+15550000000","url":"https://sms.example.com/"}`),
		Secrets: map[string]json.RawMessage{"secret": json.RawMessage(`"k3y"`)},
	})))(w)
}

// otherWorkspace creates another workspace.
func (w *world) otherWorkspace() kernel.Actor {
	ws, _ := storetest.Workspace(w.T, w.Store, "other")
	return ws
}

// only returns the one row of a query.
func (w *world) only(text string) string {
	w.Helper()
	rows := w.rows(text)
	if len(rows) != 1 {
		w.Fatalf("%s: %v", text, rows)
	}
	return rows[0]
}

// smsSignUp is the sign-up of a visitor with a number.
func smsSignUp(number string) store.SignUp {
	return store.SignUp{Slug: "acme", Subscriber: audience.NewSubscriber{Channel: audience.ChannelSMS, Target: number}}
}

// smsWorld is a world with a channel that sends the SMS of subscribers.
type smsWorld struct {
	*world
	ch alert.Channel
}

// newSMSWorld creates a channel that the settings have by its id.
func newSMSWorld(w *world) *smsWorld {
	w.Helper()
	s := &smsWorld{w, w.newGateway(w.ws, "phones")}
	w.SetSMS(store.SMSOptions{Channel: s.ch.ID})
	return s
}

// problem returns why there is no gateway, or "".
func (s *smsWorld) problem() string { s.Helper(); return must(s.SMSGateway(s.ctx))(s).Problem }

// offered returns whether the page offers SMS.
func (s *smsWorld) offered() bool { s.Helper(); return must(s.LoadPage(s.ctx, "acme"))(s).Page.SMS }

// TestSMSGatewayIsFound names the channel of the settings by its name and by its id, before and after it is created.
func TestSMSGatewayIsFound(t *testing.T) {
	inWorlds(t, func(w *world) {
		s := &smsWorld{world: w}
		if s.problem() == "" || s.offered() {
			t.Error("there is a gateway without a setting")
		}
		s.refusesSMS(s.add(), "ALLSWELL_SMS_CHANNEL")
		s.refusesSMS(w.RequestSignUp(w.ctx, smsSignUp(phone)), "ALLSWELL_SMS_CHANNEL")
		w.SetSMS(store.SMSOptions{Channel: "phones"})
		if !strings.Contains(s.problem(), `the name "phones"`) || s.offered() {
			t.Errorf("no such channel: %q", s.problem())
		}
		s.ch = w.newGateway(w.ws, "phones")
		g := must(w.SMSGateway(w.ctx))(w)
		if g.Problem != "" || g.Channel.ID != s.ch.ID || string(g.Channel.Secrets["secret"]) != `"k3y"` ||
			!s.offered() {
			t.Errorf("gateway: %+v", g)
		}
		w.SetSMS(store.SMSOptions{Channel: s.ch.ID})
		if s.problem() != "" {
			t.Errorf("by its id: %q", s.problem())
		}
	})
}

// TestSMSGatewayIsDisabled disables the channel, and opens the store with a key that does not open its secrets.
func TestSMSGatewayIsDisabled(t *testing.T) {
	inWorlds(t, func(w *world) {
		s := newSMSWorld(w)
		s.change(func(c *alert.Channel) { c.Enabled = false })
		if !strings.Contains(s.problem(), "disabled") || s.offered() {
			t.Errorf("disabled: %q", s.problem())
		}
		s.refusesSMS(s.add(), "disabled")
		s.change(func(c *alert.Channel) { c.Enabled = true })
		w.SetSecretKeys(must(secret.New(strings.Repeat("x", secret.MinLength)))(w))
		if !strings.Contains(s.problem(), "secrets") || s.offered() {
			t.Errorf("with another key: %q, offered: %t", s.problem(), s.offered())
		}
		s.refusesSMS(s.add(), "cannot be opened")
		if !s.unreadable() {
			t.Error("with another key the secrets can be opened")
		}
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		if s.unreadable() || s.problem() != "" || !s.offered() {
			t.Errorf("with the key again: %q", s.problem())
		}
	})
}

// TestSMSGatewayIsOfOneWorkspace looks from another workspace, which pays for its own SMS and learns nothing of the
// channel.
func TestSMSGatewayIsOfOneWorkspace(t *testing.T) {
	inWorlds(t, func(w *world) {
		s := newSMSWorld(w)
		other := w.otherWorkspace()
		must(w.CreatePage(w.ctx, other, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		if must(w.LoadPage(w.ctx, "other"))(w).Page.SMS {
			t.Error("the page of another workspace offers SMS")
		}
		_, err := w.CreateSubscriber(w.ctx, other, "other",
			audience.NewSubscriber{Channel: audience.ChannelSMS, Target: phone}, nil)
		s.refusesSMS(err, "no gateway for the pages of this workspace")
		s.change(func(c *alert.Channel) { c.Enabled = false })
		_, err = w.CreateSubscriber(w.ctx, other, "other",
			audience.NewSubscriber{Channel: audience.ChannelSMS, Target: phone}, nil)
		s.refusesSMS(err, "no gateway for the pages of this workspace")
	})
}

// TestSMSGatewayKeepsItsName renames channels of two workspaces while the settings have the name of one.
func TestSMSGatewayKeepsItsName(t *testing.T) {
	inWorlds(t, func(w *world) {
		s, other := newSMSWorld(w), w.otherWorkspace()
		w.ok(s.rename("other phones")) // the settings have its id
		w.ok(s.rename("phones"))
		w.SetSMS(store.SMSOptions{Channel: "phones"})
		var named *kernel.ValidationError
		err := s.rename("other phones")
		const says = "ALLSWELL_SMS_CHANNEL has the present name of the channel. Set it to %s first."
		if !errors.As(err, &named) || len(named.Messages()["name"]) != 1 ||
			!strings.Contains(err.Error(), fmt.Sprintf(says, s.ch.ID)) || s.problem() != "" {
			t.Errorf("renaming a channel that the settings have by its name: %v, then %q", err, s.problem())
		}
		second := alert.Channel{
			Type: "email", Name: "phones", Enabled: true, MaxPerMinute: 30,
			Config: json.RawMessage(`{"to":"ada@example.com"}`),
		}
		_, err = w.AlertChannels().Create(w.ctx, other, "", resource.Channel.From(second))
		w.refused(err, "name")
		second.Name = "mail"
		second = must(w.AlertChannels().Create(w.ctx, other, "", resource.Channel.From(second)))(w)
		take := func() error {
			_, err := w.AlertChannels().Change(w.ctx, other, "", second.ID, func(c *alert.Channel) error {
				c.Name = "phones"
				return nil
			}, kernel.Precondition{})
			return err
		}
		w.refused(take(), "name")
		if s.problem() != "" {
			t.Errorf("a channel of another workspace: %q", s.problem())
		}
		w.SetSMS(store.SMSOptions{})
		w.ok(take())
		w.SetSMS(store.SMSOptions{Channel: "phones"})
		if !strings.Contains(s.problem(), "must be its id") {
			t.Errorf("two channels: %q", s.problem())
		}
		w.ok(s.rename("other phones")) // neither is used, and the other one can be
		w.refused(s.rename("phones"), "name")
		w.SetSMS(store.SMSOptions{Channel: s.ch.ID})
		w.ok(s.rename("phones"))
	})
}

// TestSMSGatewayIsNotDeleted deletes the channel while the settings have it, and afterwards, and sets a channel of
// another type.
func TestSMSGatewayIsNotDeleted(t *testing.T) {
	inWorlds(t, func(w *world) {
		s := newSMSWorld(w)
		var used *kernel.ValidationError
		err := w.AlertChannels().Delete(w.ctx, w.ws, "", s.ch.ID, kernel.Precondition{})
		if !errors.As(err, &used) || !strings.Contains(err.Error(), "ALLSWELL_SMS_CHANNEL") {
			t.Errorf("deleting the channel of subscribers' SMS: %v", err)
		}
		if got := must(w.AlertChannels().Get(w.ctx, w.ws, "", s.ch.ID))(w); !got.SubscriberSMS {
			t.Error("the channel is not said to send subscribers' SMS")
		}
		w.SetSMS(store.SMSOptions{})
		w.ok(w.AlertChannels().Delete(w.ctx, w.ws, "", s.ch.ID, kernel.Precondition{}))
		w.SetSMS(store.SMSOptions{Channel: s.ch.ID})
		if s.problem() == "" || s.offered() {
			t.Error("the channel is deleted")
		}
		hook := must(w.AlertChannels().Create(w.ctx, w.ws, "", resource.Channel.From(alert.Channel{
			Type: "email", Name: "mail", Enabled: true, MaxPerMinute: 30,
			Config: json.RawMessage(`{"to":"ada@example.com"}`),
		})))(w)
		w.SetSMS(store.SMSOptions{Channel: hook.ID})
		if !strings.Contains(s.problem(), "twilio or sms") {
			t.Errorf("another type: %q", s.problem())
		}
	})
}

// add subscribes a number by SMS.
func (s *smsWorld) add() error {
	_, err := s.CreateSubscriber(s.ctx, s.ws, "acme",
		audience.NewSubscriber{Channel: audience.ChannelSMS, Target: phone}, nil)
	return err
}

// refusesSMS checks that an error says why there is no SMS.
func (s *smsWorld) refusesSMS(err error, says string) {
	s.Helper()
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) || len(bad.Messages()["channel"]) != 1 ||
		!strings.Contains(bad.Messages()["channel"][0], says) {
		s.Errorf("problem of the channel: %v, want %q", err, says)
	}
}

// change changes the channel of the gateway.
func (s *smsWorld) change(f func(*alert.Channel)) {
	s.Helper()
	must(s.AlertChannels().Change(s.ctx, s.ws, "", s.ch.ID, func(c *alert.Channel) error {
		f(c)
		return nil
	}, kernel.Precondition{}))(s)
}

// unreadable returns whether the secrets of the channel cannot be opened.
func (s *smsWorld) unreadable() bool {
	s.Helper()
	all, _, err := s.AlertChannels().List(s.ctx, s.ws, "", store.Filter{}, store.Pagination{Page: 1, PerPage: 10})
	s.ok(err)
	one := must(s.AlertChannels().Get(s.ctx, s.ws, "", s.ch.ID))(s)
	if one.Health.SecretsUnreadable != all[0].Health.SecretsUnreadable {
		s.Error("a list and a channel differ")
	}
	return one.Health.SecretsUnreadable
}

func (s *smsWorld) rename(name string) error {
	_, err := s.AlertChannels().Change(s.ctx, s.ws, "", s.ch.ID, func(c *alert.Channel) error {
		c.Name = name
		return nil
	}, kernel.Precondition{})
	return err
}

// TestSMSSignUpLimits checks what visitors can make the server send: in all, to a number, and to which countries.
func TestSMSSignUpLimits(t *testing.T) {
	inWorlds(t, func(w *world) {
		ch := w.newGateway(w.ws, "phones")
		w.SetSMS(store.SMSOptions{Channel: ch.ID, SignUpLimit: 8, DailyLimit: 100, Countries: []string{"49", "43"}})
		var bad *kernel.ValidationError
		if err := w.RequestSignUp(w.ctx, smsSignUp("+15558675309")); !errors.As(err, &bad) || !bad.Has("country") {
			t.Errorf("another country: %v", err)
		}
		pending := func() string {
			w.Helper()
			return strings.Join(w.rows(`SELECT discarded FROM sign_ups ORDER BY id`), " ")
		}
		for range audience.MaxSMSSignUps + 3 { // concurrently, as from several replicas
			w.ok(w.RequestSignUp(w.ctx, smsSignUp(phone)))
		}
		got := pending()
		if strings.Count(got, "0")+strings.Count(got, "false") != audience.MaxSMSSignUps ||
			len(strings.Fields(got)) != audience.MaxSMSSignUps+3 {
			t.Errorf("discarded: %s", got)
		}
		discarded := smsSignUp("+4915100000000")
		discarded.Discard = true
		for range 20 {
			w.ok(w.RequestSignUp(w.ctx, discarded)) // costs nothing
		}
		for i, number := range []string{"+436601234567", "+436601234568", "+436601234569"} {
			w.ok(w.RequestSignUp(w.ctx, smsSignUp(number)))
			if i == 2 {
				if err := w.RequestSignUp(w.ctx, smsSignUp("+436601234570")); !errors.Is(err, kernel.ErrSMSLimit) {
					t.Errorf("after 8 sign-ups: %v", err)
				}
			}
		}
		w.clock.set(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC))
		w.ok(w.RequestSignUp(w.ctx, smsSignUp("+436601234570")))

		// Nor are there codes while nothing can be sent.
		for range 100 {
			must(w.TakeSMS(w.ctx))(w)
		}
		if err := w.RequestSignUp(w.ctx, smsSignUp("+436601234571")); !errors.Is(err, kernel.ErrSMSLimit) {
			t.Errorf("after the last SMS of the day: %v", err)
		}
		for must(w.ProcessSignUps(w.ctx))(w) {
		}
		if n := w.only(`SELECT count(*) FROM subscribers WHERE channel = 'sms'`); n != "5" {
			t.Errorf("%s subscribers", n)
		}
		if dump := strings.Join(w.rows(`SELECT counter FROM sms_counts`), " "); strings.Contains(dump, "151123") {
			t.Errorf("counters have numbers: %s", dump)
		}
		w.clock.move(49 * time.Hour)
		w.ok(w.Prune(w.ctx))
		if n := w.only(`SELECT count(*) FROM sms_counts`); n != "0" {
			t.Errorf("%s counters are kept", n)
		}
	})
}

// TestSMSDailyLimit checks that all replicas together send no more SMS than the limit in a day.
func TestSMSDailyLimit(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSMS(store.SMSOptions{DailyLimit: 3})
		replicas := []*store.Store{w.Store, w.Store}
		if !isSQLite(w.Store) {
			replicas[1] = w.replica()
			replicas[1].SetSMS(store.SMSOptions{DailyLimit: 3})
		}
		for i := range 5 {
			next, err := replicas[i%2].TakeSMS(w.ctx)
			if i < 3 && err != nil || i >= 3 && !errors.Is(err, kernel.ErrSMSLimit) {
				t.Errorf("SMS %d: %v", i+1, err)
			}
			if err == nil && !next.Equal(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)) {
				t.Errorf("the next day begins at %v", next)
			}
		}
		if n := w.only(`SELECT n FROM sms_counts WHERE counter = 'sent'`); n != "3" {
			t.Errorf("%s are counted", n)
		}
		w.ok(replicas[1].ReturnSMS(w.ctx)) // one was not sent
		must(w.TakeSMS(w.ctx))(w)
		if _, err := w.TakeSMS(w.ctx); !errors.Is(err, kernel.ErrSMSLimit) {
			t.Errorf("after one that was not sent: %v", err)
		}
		w.newGateway(w.ws, "phones")
		w.SetSMS(store.SMSOptions{Channel: "phones"})
		w.ok(w.RequestSignUp(w.ctx, smsSignUp(phone)))
		w.ok(w.ReturnSMS(w.ctx)) // it makes no room for another sign-up
		if counted := strings.Join(w.rows(`SELECT n FROM sms_counts ORDER BY n`), " "); counted != "1 1 2" {
			t.Errorf("after a sign-up and an SMS that was not sent, %s are counted", counted)
		}
		w.SetSMS(store.SMSOptions{DailyLimit: 3})
		w.clock.move(12 * time.Hour)
		w.ok(w.ReturnSMS(w.ctx)) // of the day before
		must(w.TakeSMS(w.ctx))(w)
		w.SetSMS(store.SMSOptions{})
		for range 10 {
			must(w.TakeSMS(w.ctx))(w)
		}
	})
}

// TestSMSStopUnsubscribes checks that a reply of STOP ends the subscription as an unsubscribe does: an import does not
// begin it again.
func TestSMSStopUnsubscribes(t *testing.T) {
	inWorlds(t, func(w *world) {
		ch := w.newGateway(w.ws, "phones")
		w.SetSMS(store.SMSOptions{Channel: ch.ID})
		sub := must(w.CreateSubscriber(w.ctx, w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelSMS, Target: phone, Confirmed: true}, nil))(w)
		must(w.SendTestMessage(w.ctx, w.ws, "acme", sub.ID))(w)
		claimed, _, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{Channel: audience.ChannelSMS, Limit: 10})
		w.ok(err)
		if len(claimed) != 1 {
			t.Fatalf("claimed deliveries: %v", claimed)
		}
		w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{
			{ClaimedDelivery: claimed[0], Outcome: audience.SendOutcome{Result: audience.SendGone, Reason: "STOP."}},
		}))
		if _, err := w.Subscriber(w.ctx, w.ws, "acme", sub.ID); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("still subscribed: %v", err)
		}
		if dump := w.dump(); strings.Contains(dump, phone) {
			t.Error("the number is kept")
		}
		report := must(w.ImportSubscribers(w.ctx, w.ws, "acme", audience.SubscriberImport{
			CSV: "target,channel\n" + phone + ",sms\n+4915112345679,sms\n", Consent: "a form", Confirmed: true,
		}))(w)
		if report.Lines[0].Result != audience.ImportUnsubscribed || report.Lines[1].Result != audience.ImportAdded {
			t.Errorf("import after the unsubscription: %+v", report.Lines)
		}
		again := must(w.ImportSubscribers(w.ctx, w.ws, "acme", audience.SubscriberImport{
			CSV: "target,channel\n+4915112345679,sms\n", Consent: "a form", DryRun: true,
		}))(w)
		if again.Lines[0].Result != audience.ImportSubscribed {
			t.Errorf("import of a subscriber: %+v", again.Lines)
		}
		w.SetSMS(store.SMSOptions{})
		without := must(w.ImportSubscribers(w.ctx, w.ws, "acme", audience.SubscriberImport{
			CSV: "target,channel\n+4915112345670,sms\nada@example.com,email\n", Consent: "a form",
		}))(w)
		if without.Lines[0].Result != audience.ImportInvalid ||
			!strings.Contains(without.Lines[0].Reason, "ALLSWELL_SMS_CHANNEL") ||
			without.Lines[1].Result != audience.ImportAdded {
			t.Errorf("import without a gateway: %+v", without.Lines)
		}
	})
}

// TestExpiredDeliveriesSayWhy checks that the log keeps why a delivery was not sent before it expired.
func TestExpiredDeliveriesSayWhy(t *testing.T) {
	inWorlds(t, func(w *world) {
		ch := w.newGateway(w.ws, "phones")
		w.SetSMS(store.SMSOptions{Channel: ch.ID})
		sub := must(w.CreateSubscriber(w.ctx, w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelSMS, Target: phone, Confirmed: true}, nil))(w)
		must(w.SendTestMessage(w.ctx, w.ws, "acme", sub.ID))(w)
		claim := func() []store.ClaimedDelivery {
			claimed, _, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{Channel: audience.ChannelSMS, Limit: 10})
			w.ok(err)
			return claimed
		}
		w.ok(w.SaveDeliveryResults(w.ctx, []store.DeliveryResult{{
			ClaimedDelivery: claim()[0], Outcome: audience.SendOutcome{
				Result: audience.SendServerUnavailable, RetryAfter: 15 * time.Minute,
				Reason: "The daily limit of SMS is reached.",
			},
		}}))
		if got := claim(); len(got) != 0 {
			t.Errorf("sent again at once: %v", got)
		}
		w.clock.move(24 * time.Hour)
		claim()
		got := w.only(`SELECT state || ': ' || reason FROM deliveries`)
		if got != "expired: It could not be delivered within 24 hours. The daily limit of SMS is reached." {
			t.Errorf("delivery: %q", got)
		}
		if got := must(w.Subscriber(w.ctx, w.ws, "acme", sub.ID))(w); got.Rejections != 0 || !got.Active() {
			t.Errorf("subscriber after an expired delivery: %+v", got)
		}
	})
}
