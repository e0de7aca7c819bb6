package notify

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
)

// TestLetters checks that each mail is what a mailer without letters composes, whatever was composed before: nothing of
// another subscriber, page, event or purpose is in it.
func TestLetters(t *testing.T) {
	date := regexp.MustCompile(`(?m)^Date: .*$`)
	kept := newComposer(mailFrom)
	check := func(n audience.Notification) {
		t.Helper()
		got, err1 := kept.compose(n)
		want, err2 := composeFrom(n, mailFrom)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if got.from != want.from || got.to != want.to ||
			!bytes.Equal(date.ReplaceAll(got.content, nil), date.ReplaceAll(want.content, nil)) {
			t.Errorf("%s to %s:\n%s\nwant\n%s", n.Delivery.Purpose, n.Subscriber.Target, got.content, want.content)
		}
		if len(kept.letters) > mailLetters {
			t.Errorf("%d letters are kept", len(kept.letters))
		}
	}
	change := []func(n *audience.Notification){
		func(*audience.Notification) {},
		func(n *audience.Notification) {
			n.Delivery.ID, n.Subscriber.ID, n.Subscriber.Target, n.Subscriber.Key = "dlv_2", "sub_2", "bob@example.org",
				"abcdefghijABCDEFGHIJ000123456789"
		},
		func(n *audience.Notification) { n.Page.Name = "Acme & Söhne" },
		func(n *audience.Notification) { n.Page.Slug = "other" },
		func(n *audience.Notification) { n.Page.Language = "de" },
		func(n *audience.Notification) { n.Page.TimeZone = "Asia/Tokyo" },
		func(n *audience.Notification) { n.Page.Accent = "#aa0000" },
		func(n *audience.Notification) { n.Page.Logo, n.Page.LogoDark = "logo-1", "logo-2" },
		func(n *audience.Notification) { n.Page.Host = "status.example.org" },
		func(n *audience.Notification) { n.Subscriber.AddedByOperator = true },
		func(n *audience.Notification) {
			n.Events = slices.Clone(n.Events)
			for i := range n.Events {
				n.Events[i].Data.Message = "Corrected."
			}
		},
	}
	for _, n := range allMails() {
		for _, c := range change {
			changed := n
			c(&changed)
			check(changed)
			check(n)
		}
	}
}

// TestLettersAreShared checks that the mails of an event have one letter, however many subscribers there are.
func TestLettersAreShared(t *testing.T) {
	m := newComposer(mailFrom)
	for i := range 3 {
		n := mailNotification(audience.PurposeEvent, mailDatabase()...)
		n.Delivery.ID, n.Subscriber.Key = fmt.Sprint("dlv_", i), audience.NewSubscriberKey()
		if _, err := m.compose(n); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.letters) != 1 {
		t.Errorf("%d letters", len(m.letters))
	}
}
