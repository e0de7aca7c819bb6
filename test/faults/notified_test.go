package faults

import (
	"regexp"
	"slices"
	"strings"
)

// repeats are the numbers of mails and webhooks with an event that the receiver already had.
type repeats struct{ mails, calls int }

// checkReceived compares the received messages with the stored incidents.
func (o *outbox) checkReceived(histories map[string]incidentHistory) (repeated repeats) {
	o.t.Helper()
	byMailbox := make(map[string][]receivedMail)
	for _, l := range o.mail.received(o.t) {
		byMailbox[l.to] = append(byMailbox[l.to], l)
	}
	owners := make(map[string]string) // of Message-IDs
	for n := range mailboxes {
		got := byMailbox[mailbox(n)]
		delete(byMailbox, mailbox(n))
		for _, l := range got {
			if owner, ok := owners[l.id]; ok && owner != l.to {
				o.t.Errorf("%s and %s both received %s", l.to, owner, l.id)
			}
			owners[l.id] = l.to
		}
		repeated.mails += o.checkMailbox(mailbox(n), got, histories)
	}
	for to := range byMailbox {
		o.t.Errorf("a mail was sent to %s, which is not subscribed", to)
	}
	byHook := make(map[string][]call)
	for _, c := range o.webhooks.received(o.t) {
		byHook[c.hook] = append(byHook[c.hook], c)
	}
	if len(byHook) != hookHosts*hooksPerHost {
		o.t.Errorf("%d webhooks were called, want %d", len(byHook), hookHosts*hooksPerHost)
	}
	for hook, got := range byHook {
		repeated.calls += o.checkWebhook(hook, got, histories)
	}
	return repeated
}

// Lines of a mail: a quoted update, and the line above the updates of a resolved incident.
var (
	updateLine   = regexp.MustCompile(`(?m)^(Round \d+, writer \d+), update \d+$`)
	resolvedLine = regexp.MustCompile(`(?m)^Resolved: (Round \d+, writer \d+)$`)
)

// events returns the events in a mail by the title of their incident, oldest first.
func (l receivedMail) events() map[string][]string {
	events := make(map[string][]string)
	for _, m := range resolvedLine.FindAllStringSubmatch(l.text, -1) {
		events[m[1]] = []string{resolvedType}
	}
	for _, m := range updateLine.FindAllStringSubmatch(l.text, -1) {
		events[m[1]] = append(events[m[1]], m[0]) // newest first; the resolution is the newest
	}
	for _, list := range events {
		slices.Reverse(list)
	}
	return events
}

// checkMailbox checks that every event of every incident is in a mail, that each mail continues
// where the previous ones ended, and that a mail without a new event is a repetition. It returns
// the number of mails with an event of an earlier mail.
func (o *outbox) checkMailbox(to string, got []receivedMail, histories map[string]incidentHistory) (again int) {
	o.t.Helper()
	received := make(map[string]int) // number of its events, by title
	first := make(map[string]string)
	for _, l := range got {
		hasNew, hasOld := false, false
		for title, events := range l.events() {
			s, done := histories[title], received[title]
			from := slices.Index(s.events, events[0])
			if from < 0 || from > done || !slices.Equal(events, s.events[from:min(len(s.events), from+len(events))]) {
				o.t.Errorf("%s received %q of\n%q, of which it had %d", to, events, s.events, done)
				continue
			}
			hasOld = hasOld || from < done
			if end := from + len(events); end > done {
				hasNew, received[title] = true, end
			}
		}
		if text, ok := first[l.id]; ok && text != l.text {
			o.t.Errorf("%s received two different mails %s:\n%s\n\n%s", to, l.id, text, l.text)
		} else if !ok && !hasNew {
			o.t.Errorf("%s received %s without a new event:\n%s", to, l.id, l.text)
		}
		first[l.id] = l.text
		if hasOld {
			again++
		}
	}
	for title, s := range histories {
		if received[title] < len(s.events) {
			o.t.Errorf("%s received %d of %d events of %q", to, received[title], len(s.events), title)
		}
	}
	return again
}

// checkWebhook checks that every event is one message, that the events of an incident arrive in
// their order, and that a repeated message has the same id. It returns the number of repeated
// messages.
func (o *outbox) checkWebhook(hook string, got []call, histories map[string]incidentHistory) (again int) {
	o.t.Helper()
	type event struct{ incident, what string }
	ids, events := make(map[event]string), make(map[string]event)
	order := make(map[string][]string) // events by incident, without repetitions
	for _, c := range got {
		e := event{c.body.Data.Incident.ID, c.body.what()}
		if id, ok := ids[e]; ok {
			again++
			if id != c.id {
				o.t.Errorf("%s received %v as %s and as %s", hook, e, id, c.id)
			}
			continue
		}
		if was, ok := events[c.id]; ok {
			o.t.Errorf("%s received %v and %v as %s", hook, was, e, c.id)
		}
		ids[e], events[c.id] = c.id, e
		order[e.incident] = append(order[e.incident], e.what)
	}
	for _, s := range histories {
		if !slices.Equal(order[s.id], s.events) {
			o.t.Errorf("%s received of %s:\n%s\nwant\n%s", hook, s.title, strings.Join(order[s.id], "\n"),
				strings.Join(s.events, "\n"))
		}
		delete(order, s.id)
	}
	for id, received := range order {
		o.t.Errorf("%s received events of %s, which does not exist: %q", hook, id, received)
	}
	return again
}
