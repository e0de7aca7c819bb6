package faults

import (
	"regexp"
	"slices"
	"strings"
)

// repeats are how many mails and webhooks told something that their receiver
// had been told already.
type repeats struct{ letters, calls int }

// judge holds what arrived against what there was to tell.
func (o *outbox) judge(stories map[string]story) (told repeats) {
	o.t.Helper()
	byMailbox := make(map[string][]letter)
	for _, l := range o.office.taken(o.t) {
		byMailbox[l.to] = append(byMailbox[l.to], l)
	}
	owners := make(map[string]string) // of Message-IDs
	for n := range mailboxes {
		got := byMailbox[mailbox(n)]
		delete(byMailbox, mailbox(n))
		for _, l := range got {
			if owner, ok := owners[l.id]; ok && owner != l.to {
				o.t.Errorf("%s and %s have both got %s", l.to, owner, l.id)
			}
			owners[l.id] = l.to
		}
		told.letters += o.judgeMailbox(mailbox(n), got, stories)
	}
	for to := range byMailbox {
		o.t.Errorf("mail went to %s, who has not subscribed", to)
	}
	byHook := make(map[string][]call)
	for _, c := range o.exchange.got(o.t) {
		byHook[c.hook] = append(byHook[c.hook], c)
	}
	if len(byHook) != hookHosts*hooksPerHost {
		o.t.Errorf("%d webhooks were called, want %d", len(byHook), hookHosts*hooksPerHost)
	}
	for hook, got := range byHook {
		told.calls += o.judgeHook(hook, got, stories)
	}
	return told
}

// What a mail tells of an incident: the updates that it quotes, and the line
// above them.
var (
	toldUpdate   = regexp.MustCompile(`(?m)^(Round \d+, writer \d+), update \d+$`)
	toldResolved = regexp.MustCompile(`(?m)^Resolved: (Round \d+, writer \d+)$`)
)

// tells returns the events that a mail tells, by the title of their incident,
// oldest first.
func (l letter) tells() map[string][]string {
	events := make(map[string][]string)
	for _, m := range toldResolved.FindAllStringSubmatch(l.text, -1) {
		events[m[1]] = []string{resolvedType}
	}
	for _, m := range toldUpdate.FindAllStringSubmatch(l.text, -1) {
		events[m[1]] = append(events[m[1]], m[0]) // newest first, and resolved is the newest of all
	}
	for _, told := range events {
		slices.Reverse(told)
	}
	return events
}

// judgeMailbox: every event of every incident is in some mail, each mail goes on
// where those before it ended, and a mail that tells no news is one that was
// there before. It returns how many mails told something again.
func (o *outbox) judgeMailbox(to string, got []letter, stories map[string]story) (again int) {
	o.t.Helper()
	told := make(map[string]int) // by title: how many of its events
	first := make(map[string]string)
	for _, l := range got {
		news, old := false, false
		for title, events := range l.tells() {
			s, done := stories[title], told[title]
			from := slices.Index(s.events, events[0])
			if from < 0 || from > done || !slices.Equal(events, s.events[from:min(len(s.events), from+len(events))]) {
				o.t.Errorf("%s was told %q of\n%q, of which it knew %d", to, events, s.events, done)
				continue
			}
			old = old || from < done
			if end := from + len(events); end > done {
				news, told[title] = true, end
			}
		}
		if text, ok := first[l.id]; ok && text != l.text {
			o.t.Errorf("%s has got two different mails %s:\n%s\n\n%s", to, l.id, text, l.text)
		} else if !ok && !news {
			o.t.Errorf("%s has got %s without any news:\n%s", to, l.id, l.text)
		}
		first[l.id] = l.text
		if old {
			again++
		}
	}
	for title, s := range stories {
		if told[title] < len(s.events) {
			o.t.Errorf("%s was told %d of %d events of %q", to, told[title], len(s.events), title)
		}
	}
	return again
}

// judgeHook: every event comes as one message of its own, an incident's in the
// order in which they happened; what comes again has the id of the first. It
// returns how many came again.
func (o *outbox) judgeHook(hook string, got []call, stories map[string]story) (again int) {
	o.t.Helper()
	type event struct{ incident, what string }
	ids, events := make(map[event]string), make(map[string]event)
	order := make(map[string][]string) // of an incident's first arrivals
	for _, c := range got {
		e := event{c.body.Data.Incident.ID, c.body.what()}
		if id, ok := ids[e]; ok {
			again++
			if id != c.id {
				o.t.Errorf("%s was told %v as %s and as %s", hook, e, id, c.id)
			}
			continue
		}
		if was, ok := events[c.id]; ok {
			o.t.Errorf("%s was told %v and %v as %s", hook, was, e, c.id)
		}
		ids[e], events[c.id] = c.id, e
		order[e.incident] = append(order[e.incident], e.what)
	}
	for _, s := range stories {
		if !slices.Equal(order[s.id], s.events) {
			o.t.Errorf("%s was told of %s:\n%s\nwant\n%s", hook, s.title, strings.Join(order[s.id], "\n"), strings.Join(s.events, "\n"))
		}
		delete(order, s.id)
	}
	for id, told := range order {
		o.t.Errorf("%s was told of %s, which is not: %q", hook, id, told)
	}
	return again
}
