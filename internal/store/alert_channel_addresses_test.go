package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// mailTo is a channel of the type email.
func mailTo(name, to string) alert.Channel {
	return alert.Channel{
		Type: alert.EmailType, Name: name, Enabled: true, MaxPerMinute: 10,
		Config: json.RawMessage(`{"to":"` + to + `"}`),
	}
}

// asked returns the addresses that are asked to confirm now, and the code of the last one.
func (w *world) asked() (addresses []string, code string) {
	w.Helper()
	for _, a := range must(w.TakeConfirmations(w.ctx, 100))(w) {
		addresses, code = append(addresses, a.Address), a.Code
		w.ok(w.ConfirmationSent(w.ctx, a))
	}
	slices.Sort(addresses)
	return addresses, code
}

// passMails lets time pass for the mails that ask.
func (w *world) passMails(d time.Duration) {
	w.Helper()
	w.clock.set(w.clock.now().Add(d))
}

// waitsFor checks which address a channel waits for, wherever it is read.
func (w *world) waitsFor(id, address string) {
	w.Helper()
	all, _, err := w.AlertChannels().List(w.ctx, w.ws, "", store.Filter{}, firstHundred)
	w.ok(err)
	i := slices.IndexFunc(all, func(c alert.Channel) bool { return c.ID == id })
	one := must(w.AlertChannels().Get(w.ctx, w.ws, "", id))(w)
	if all[i].UnconfirmedAddress() != address || one.UnconfirmedAddress() != address {
		w.Errorf("the channel %s waits for %q and %q, not for %q", one.Name, all[i].UnconfirmedAddress(),
			one.UnconfirmedAddress(), address)
	}
}

// TestChannelsToMembersWaitForProof creates channels to the address of the owner, and to the address of a member who
// accepted an invitation.
func TestChannelsToMembersWaitForProof(t *testing.T) {
	inWorlds(t, func(w *world) {
		_, err := w.SetUp(w.ctx, must(w.IssueSetupCode(w.ctx))(w),
			account.NewUser{Email: "owner@example.com", Name: "Ada", PasswordHash: "hash"}, store.Browser{})
		w.ok(err)
		owner := must(w.AlertChannels().Create(w.ctx, w.ws, "",
			resource.Channel.From(mailTo("owner", "Owner@Example.com"))))(w)
		w.waitsFor(owner.ID, "")

		// The inviter can accept the invitation, so that it proves nothing.
		invited := must(w.Invite(w.ctx, w.ws, account.NewInvitation{
			Email: "victim@example.com", Role: kernel.RoleViewer,
		}))(w)
		must(w.AcceptInvitation(w.ctx, invited.Code, store.Acceptance{Name: "Eve", PasswordHash: "hash"},
			store.Browser{}))(w)
		victim := must(w.AlertChannels().Create(w.ctx, w.ws, "",
			resource.Channel.From(mailTo("victim", "victim@example.com"))))(w)
		w.waitsFor(victim.ID, "victim@example.com")
		must(w.ResetPassword(w.ctx, must(w.IssueResetCode(w.ctx, "victim@example.com"))(w), "other",
			store.Browser{}))(w)
		must(w.PrepareTest(w.ctx, w.ws, victim))(w) // the mail with the code proves it
		w.waitsFor(victim.ID, "")
	})
}

// TestChannelsToStrangersWaitForThem creates channels to the address of nobody who signs in.
func TestChannelsToStrangersWaitForThem(t *testing.T) {
	inWorlds(t, func(w *world) {
		stranger := must(w.AlertChannels().Create(w.ctx, w.ws, "",
			resource.Channel.From(mailTo("stranger", "stranger@example.com"))))(w)
		w.waitsFor(stranger.ID, "stranger@example.com")
		second := must(w.AlertChannels().Create(w.ctx, w.ws, "",
			resource.Channel.From(mailTo("second", "STRANGER@example.com"))))(w)
		addresses, code := w.asked()
		w.expect("asked", addresses, "stranger@example.com")
		for _, c := range []alert.Channel{stranger, mailTo("new", "somebody@example.com")} {
			_, err := w.PrepareTest(w.ctx, w.ws, c)
			w.refused(err, "to")
		}
		addresses, _ = w.asked()
		w.expect("asked again within an hour", addresses)

		found := must(w.FindConfirmation(w.ctx, code))(w)
		if found.Address != "stranger@example.com" || found.Workspace == "" {
			w.Errorf("the confirmation: %+v", found)
		}
		w.waitsFor(stranger.ID, "stranger@example.com") // looking changes nothing
		must(w.ConfirmAddress(w.ctx, code, "192.0.2.1"))(w)
		w.waitsFor(stranger.ID, "")
		w.waitsFor(second.ID, "")
		if _, err := w.ConfirmAddress(w.ctx, code, "192.0.2.1"); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a code that was used: %v", err)
		}
		must(w.PrepareTest(w.ctx, w.ws, mailTo("third", "stranger@example.com")))(w)

		change := func(to string) {
			must(w.AlertChannels().Change(w.ctx, w.ws, "", stranger.ID, func(c *alert.Channel) error {
				c.Config = mailTo("", to).Config
				return nil
			}, kernel.Precondition{}))(w)
		}
		change("other@example.com")
		w.waitsFor(stranger.ID, "other@example.com")
		addresses, _ = w.asked()
		w.expect("asked after a change", addresses, "other@example.com")
		change("stranger@example.com")
		w.waitsFor(stranger.ID, "")
	})
}

// TestConfirmationsAreLimited asks strangers until the limits of mails, and lets a code end.
func TestConfirmationsAreLimited(t *testing.T) {
	inWorlds(t, func(w *world) {
		first := must(w.AlertChannels().Create(w.ctx, w.ws, "", resource.Channel.From(mailTo("0", "0@example.com"))))(w)
		_, code := w.asked()
		again := func() []string {
			_, err := w.PrepareTest(w.ctx, w.ws, first)
			w.refused(err, "to")
			addresses, _ := w.asked()
			return addresses
		}
		w.passMails(alert.ConfirmationInterval - time.Minute)
		w.expect("within an hour", again())
		w.passMails(time.Minute)
		w.expect("after an hour", again(), "0@example.com")
		if _, err := w.FindConfirmation(w.ctx, code); err != nil { // the first mail counts, too
			w.Error(err)
		}
		for i := 1; i < alert.MaxConfirmationsPerDay-1; i++ {
			must(w.AlertChannels().Create(w.ctx, w.ws, "",
				resource.Channel.From(mailTo(fmt.Sprint(i), fmt.Sprintf("%d@example.com", i)))))(w)
		}
		_, err := w.AlertChannels().Create(w.ctx, w.ws, "", resource.Channel.From(mailTo("x", "x@example.com")))
		w.refused(err, "to")
		addresses, _ := w.asked()
		if len(addresses) != alert.MaxConfirmationsPerDay-2 || strings.Contains(strings.Join(addresses, " "), "x@") {
			w.Errorf("asked: %v", addresses)
		}
		w.passMails(24 * time.Hour)
		must(w.AlertChannels().Create(w.ctx, w.ws, "", resource.Channel.From(mailTo("x", "x@example.com"))))(w)

		w.passMails(alert.ConfirmationLifetime)
		if _, err := w.ConfirmAddress(w.ctx, code, ""); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a code of last week: %v", err)
		}
	})
}

// TestConfirmationsAreTriedAFewTimes does not say that a mail was sent.
func TestConfirmationsAreTriedAFewTimes(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.AlertChannels().Create(w.ctx, w.ws, "", resource.Channel.From(mailTo("0", "0@example.com"))))(w)
		tries := 0
		for range 10 {
			tries += len(must(w.TakeConfirmations(w.ctx, 10))(w))
			w.passMails(alert.ConfirmationRetry)
		}
		if tries != alert.ConfirmationAttempts {
			w.Errorf("%d attempts", tries)
		}
	})
}
