package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
)

const (
	roomA = "https://hooks.slack.com/services/T000/B000/aaaaaaaaaaaasame"
	roomB = "https://hooks.slack.com/services/T000/B000/bbbbbbbbbbbbsame" // looks like roomA
)

// TestChatTargetsAreSealed checks that no table has the URL of a room, that two rooms that look alike are two
// subscribers, and that one cannot subscribe twice.
func TestChatTargetsAreSealed(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		create := func(target string) (audience.Subscriber, error) {
			return w.CreateSubscriber(w.ctx, w.ws, "acme",
				audience.NewSubscriber{Channel: audience.ChannelSlack, Target: target, Confirmed: true}, nil)
		}
		a := must(create(roomA))(w)
		must(create(roomB))(w)
		var bad *kernel.ValidationError
		if _, err := create(roomA); !errors.As(err, &bad) || !bad.Has("target") {
			t.Errorf("twice: %v", err)
		}
		w.ok(w.RequestSignUp(w.ctx, store.SignUp{
			Slug: "acme", Subscriber: audience.NewSubscriber{Channel: audience.ChannelSlack, Target: roomA + "2"},
		}))
		if dump := w.dump(); strings.Contains(dump, "/services/") || !strings.Contains(dump, "hooks.slack.com/…same") {
			t.Error("the URL of a room is stored in clear text")
		}
		for must(w.ProcessSignUps(w.ctx))(w) {
		}
		if dump := w.dump(); strings.Contains(dump, "/services/") {
			t.Error("the URL of a visitor's room is stored in clear text")
		}
		if a.Address != "" || a.Target != "https://hooks.slack.com/…same" {
			t.Errorf("subscriber whose target is sealed: %+v", a)
		}
		list, n, err := w.Subscribers(w.ctx, w.ws, "acme", store.SubscriberFilter{Target: a.Target},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || n != 2 || list[0].Address != "" {
			t.Errorf("subscribers with the shown target: %v %v", list, err)
		}
		for _, f := range []store.SubscriberFilter{
			{Target: roomA}, {Target: strings.Replace(roomA, "hooks", "HOOKS", 1)}, {Contains: roomA},
			{Target: roomA, Channel: audience.ChannelSlack},
		} {
			list, n, err := w.Subscribers(w.ctx, w.ws, "acme", f, store.Pagination{Page: 1, PerPage: 10})
			if err != nil || n != 1 || list[0].ID != a.ID {
				t.Errorf("%+v finds %v, %v", f, list, err)
			}
		}
		for _, f := range []store.SubscriberFilter{
			{Target: roomA + "x"}, {Contains: roomA + "x"}, {Target: roomA, Channel: audience.ChannelDiscord},
			{Target: "https://hooks.slack.com"},
		} {
			list, n, err := w.Subscribers(w.ctx, w.ws, "acme", f, store.Pagination{Page: 1, PerPage: 10})
			if err != nil || n != 0 {
				t.Errorf("%+v finds %v, %v", f, list, err)
			}
		}
		// Sealed anew with another key, they still can be read.
		if n, err := w.RotateSecrets(w.ctx); err != nil {
			t.Errorf("sealed anew: %d, %v", n, err)
		}
	})
}

// TestChatSignUpAgain checks that a room that is asked again gets a new code after an hour, and one that is subscribed
// the link.
func TestChatSignUpAgain(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		n := audience.NewSubscriber{Channel: audience.ChannelSlack, Target: roomA}
		first := func() audience.Subscriber {
			list, _, err := w.Subscribers(w.ctx, w.ws, "acme", store.SubscriberFilter{},
				store.Pagination{Page: 1, PerPage: 10})
			w.ok(err)
			return list[0]
		}
		w.ok(w.signUp("acme", n))
		before := first()
		w.ok(w.signUp("acme", n))
		if got := first(); got.Code != before.Code || got.Code == "" {
			t.Errorf("the code changed from %q to %q within an hour", before.Code, got.Code)
		}
		w.clock.move(audience.RepeatMailInterval + time.Second)
		w.ok(w.signUp("acme", n))
		again := first()
		if again.Code == before.Code {
			t.Error("no new code after an hour")
		}
		try := store.CodeTry{Slug: "acme", Channel: n.Channel, Target: n.Target, Code: before.Code}
		var bad *kernel.ValidationError
		if _, err := w.ConfirmWithCode(w.ctx, try); !errors.As(err, &bad) {
			t.Errorf("the old code: %v", err)
		}
		try.Code = again.Code
		if sub, err := w.ConfirmWithCode(w.ctx, try); err != nil || sub.ConfirmedAt.IsZero() {
			t.Errorf("confirmation with the new code: %+v, %v", sub, err)
		}
		try.Target = roomB
		if _, err := w.ConfirmWithCode(w.ctx, try); !errors.As(err, &bad) {
			t.Errorf("another room: %v", err)
		}
		w.clock.move(audience.RepeatMailInterval + time.Second)
		w.ok(w.signUp("acme", n))
		if got := w.value(`SELECT count(*) FROM deliveries WHERE purpose = 'link'`); got != "1" {
			t.Errorf("%s links were sent to the subscribed room", got)
		}
	})
}

// TestImportChats checks which lines of a list with chats are added, and that the report does not have their URLs.
func TestImportChats(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		list := "target,channel\n" + roomA + ",slack\n" + roomB + ",Slack\n" + roomA +
			",slack\nhttps://hooks.slack.com/…same,slack\nada@example.com,email\nhttps://example.com/x,webhook\n" +
			"https://example.com/x,discord\n"
		imported := must(w.ImportSubscribers(w.ctx, w.ws, "acme", audience.SubscriberImport{
			CSV: list, Consent: "a form", Confirmed: true,
		}))(w)
		var results []string
		for _, l := range imported.Lines {
			results = append(results, string(l.Result))
			if l.Channel.Chat() && strings.Contains(l.Target, "/services") {
				t.Errorf("line %d: %s", l.Line, l.Target)
			}
		}
		if got := strings.Join(results, " "); got != "added added subscribed invalid added invalid invalid" {
			t.Errorf("results of the import: %s", got)
		}
		again := must(w.ImportSubscribers(w.ctx, w.ws, "acme", audience.SubscriberImport{
			CSV: list, Consent: "a form", DryRun: true,
		}))(w)
		if again.Count(audience.ImportAdded) != 0 || again.Count(audience.ImportSubscribed) != 4 {
			t.Errorf("import of subscribers: %+v", again.Lines)
		}
		a, _, err := w.Subscribers(w.ctx, w.ws, "acme", store.SubscriberFilter{Channel: audience.ChannelSlack},
			store.Pagination{Page: 1, PerPage: 10})
		w.ok(err)
		w.ok(w.Unsubscribe(w.ctx, "acme", a[0].Key))
		again = must(w.ImportSubscribers(w.ctx, w.ws, "acme", audience.SubscriberImport{
			CSV: list, Consent: "a form", DryRun: true,
		}))(w)
		if again.Count(audience.ImportUnsubscribed) != 1 {
			t.Errorf("import after an unsubscription: %+v", again.Lines)
		}
	})
}

// TestPushSubscriptions checks who can wait for the end of an incident, and that nobody waits for ever.
func TestPushSubscriptions(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		first, second := must(w.PushKey(w.ctx))(w), must(w.PushKey(w.ctx))(w)
		if first != second || len(first.Public) != 87 || strings.Contains(w.dump(), first.Private) {
			t.Errorf("%+v, then %+v", first, second)
		}
		inc := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "x"}, nil))(w)
		draft := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Draft", Draft: true},
			statuspage.IncidentUpdate{Message: "x"}, nil))(w)
		browser := audience.PushTarget{ // of RFC 8291
			Endpoint: "https://updates.push.services.mozilla.com/wpush/v2/abcdefghijklmnop",
			P256DH:   "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
			Auth:     "BTBZMqHH6r4Tts7J_aSIgg",
		}
		try := store.PushSignUp{Slug: "acme", IncidentID: draft.ID, Target: browser}
		if err := w.SubscribeToEnd(w.ctx, try); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("a draft: %v", err)
		}
		var bad *kernel.ValidationError
		silent := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Silent"},
			statuspage.IncidentUpdate{Message: "x", Silent: true}, nil))(w)
		if try.IncidentID = silent.ID; !errors.As(w.SubscribeToEnd(w.ctx, try), &bad) {
			t.Error("a browser waits for an end of which no one is notified")
		}
		try.IncidentID = inc.ID
		w.ok(w.SubscribeToEnd(w.ctx, try))
		w.ok(w.SubscribeToEnd(w.ctx, try))
		if got := w.value(`SELECT count(*) FROM subscribers`); got != "1" || strings.Contains(w.dump(), "/wpush/") {
			t.Errorf("%s subscribers, or the address in clear text", got)
		}
		_, err := w.CreateSubscriber(w.ctx, w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelPush, Target: browser.String()}, nil)
		if !errors.As(err, &bad) {
			t.Errorf("an operator subscribes a browser: %v", err)
		}
		_, err = w.ChangeSubscriber(w.ctx, w.ws, "acme", w.value(`SELECT id FROM subscribers`), kernel.Precondition{},
			choose(w.component.ID))
		w.refused(err, "components")
		merged := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "The cause"},
			statuspage.IncidentUpdate{Message: "x"}, nil))(w)
		must(w.MergeIncident(w.ctx, w.ws, inc.ID, merged.ID))(w)
		if got := w.value(`SELECT incident_id FROM subscribers`); got != merged.ID {
			t.Errorf("after a merge the browser waits for the end of %s", got)
		}
		state := statuspage.IncidentResolved
		must(w.PostUpdate(w.ctx, w.ws, merged.ID, statuspage.IncidentUpdate{Message: "Over."},
			func(i *statuspage.Incident) error {
				i.State = state
				return nil
			}))(w)
		w.clock.move(2*audience.DeliveryLifetime + time.Minute) // and the end could not be delivered
		w.ok(w.Prune(w.ctx))
		if got := w.value(`SELECT count(*) FROM subscribers`); got != "0" {
			t.Errorf("%s subscribers wait for an incident that is over", got)
		}
	})
}
