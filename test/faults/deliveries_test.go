package faults

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// The subscribers. There are more mailboxes than a few kills can hold up: what
// is claimed when its replica dies waits until the lease has ended.
const (
	mailboxes    = 60
	hookHosts    = 5
	hooksPerHost = 2
)

// How much one replica has claimed at most, and what a kill may let be sent
// twice therefore: mail for 8 workers and as much in front of them; of
// webhooks 4 on their way to each host.
const (
	mailsInFlight = 16
	callsInFlight = 4 * hookHosts
)

const (
	tellers   = 3                      // people who write at the same time
	longStory = 3                      // rounds that the first one's incident lasts
	entries   = 8                      // updates of one incident in one round, fewer than a mail has room for
	calm      = 3 * time.Minute        // until everything is delivered: a lease and what waits for it
	mostKills = 25                     // however many kills others are asked for
	tellPause = 25 * time.Millisecond  // at most, between two updates
	lastBlow  = 320 * time.Millisecond // at most, from the first update to the kill
)

// outbox is an environment with subscribers.
type outbox struct {
	*environment
	office   *postOffice
	exchange *exchange
	long     *incident // goes on over several rounds
}

func newOutbox(t *testing.T, exe, database string) *outbox {
	office, exchange := newPostOffice(t), newExchange(t, hookHosts)
	return &outbox{office: office, exchange: exchange, environment: newEnvironment(t, exe, database, mailSettings(office)...)}
}

func mailSettings(office *postOffice) []string {
	return []string{"ALLSWELL_SMTP_URL=smtp://" + office.address, "ALLSWELL_MAIL_FROM=status@example.com", "ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on"}
}

func mailbox(n int) string { return fmt.Sprintf("reader-%d@example.com", n) }

// subscribe makes the page and all subscribers.
func (o *outbox) subscribe() {
	o.t.Helper()
	o.api.Must(o.t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	add := func(channel, target string) {
		o.api.Must(o.t, "POST", "/api/v1/pages/acme/subscribers", params{"channel": channel, "target": target, "confirmed": true}, nil)
	}
	for n := range mailboxes {
		add("email", mailbox(n))
	}
	for _, host := range o.exchange.hosts {
		for range hooksPerHost {
			add("webhook", host+"/"+rand.Text())
		}
	}
}

// beginNews starts the writers of a round. Each has an incident of its own.
func (o *outbox) beginNews(round int) *load {
	ctx, stop := context.WithCancel(o.t.Context())
	l := &load{w: o.environment, stop: stop}
	for n := range tellers {
		inc := &incident{title: fmt.Sprintf("Round %d, writer %d", round, n)}
		if n == 0 && o.long != nil && round%longStory != 0 {
			inc = o.long
		} else {
			o.incidents = append(o.incidents, inc)
		}
		if n == 0 {
			o.long = inc
		} else {
			l.incidents = append(l.incidents, inc)
		}
		l.running.Go(func() { o.tell(ctx, l, inc) })
	}
	return l
}

// tell opens an incident, unless that is done, and adds updates.
func (o *outbox) tell(ctx context.Context, l *load, inc *incident) {
	for range entries {
		e := &entry{message: fmt.Sprintf("%s, update %d", inc.title, len(inc.entries)), key: rand.Text()}
		if len(inc.entries) > 0 && inc.id == "" {
			return // nobody knows whether it was opened
		}
		inc.entries = append(inc.entries, e)
		if len(inc.entries) == 1 {
			o.open(ctx, l, inc, e)
			continue
		}
		var answer binary.Data[struct{ ID string }]
		if !l.send(ctx, "/api/v1/incidents/"+inc.id+"/updates", params{"message": e.message}, &answer, e.key) {
			o.updatesUnknown.Add(1)
			return
		}
		e.id = answer.Data.ID
		o.updates.Add(1)
		<-time.After(mathrand.N(tellPause)) // people are not that quick
	}
}

// open opens an incident with its first update.
func (o *outbox) open(ctx context.Context, l *load, inc *incident, first *entry) {
	var opened binary.Data[struct {
		ID      string
		Updates []updateState
	}]
	if l.send(ctx, "/api/v1/pages/acme/incidents", params{"title": inc.title, "message": first.message}, &opened, first.key) {
		inc.id = opened.Data.ID
		if len(opened.Data.Updates) == 1 {
			first.id = opened.Data.Updates[0].ID
		}
	}
}

// endRound has the answers that are missing given, and resolves what is over.
func (o *outbox) endRound(l *load) {
	o.t.Helper()
	if o.long.id != "" {
		o.sendAgain(o.long)
	}
	for _, inc := range l.incidents {
		if inc.id != "" {
			o.sendAgain(inc)
			o.resolve(inc)
		}
	}
}

func (o *outbox) resolve(inc *incident) {
	o.t.Helper()
	o.api.Must(o.t, http.MethodPatch, "/api/v1/incidents/"+inc.id, params{"state": "resolved", "resolved": true}, nil)
}

// TestKilledServerLosesNoDelivery kills the server repeatedly with SIGKILL while it sends
// notifications. In the end every subscriber has received all messages in order, and a message
// that was received twice had the same id.
func TestKilledServerLosesNoDelivery(t *testing.T) {
	t.Parallel() // for a minute it waits for leases to end
	n := min(kills(t)*3/2, mostKills)
	exe := binary.Build(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "allswell.db")
		killTheMessenger(t, newOutbox(t, exe, "sqlite:"+path), n)
		checkIntegrity(t, path)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cluster := storetest.NewCluster(t, "fsync=on", "full_page_writes=on")
		killTheMessenger(t, newOutbox(t, exe, cluster.Database(t)), n)
	})
}

func killTheMessenger(t *testing.T, o *outbox, kills int) {
	o.server.Start()
	o.subscribe()
	for n := range kills {
		l := o.beginNews(n)
		// Not a wait for anything: the moment of the blow is the point.
		<-time.After(mathrand.N(lastBlow))
		o.server.Kill()
		l.end()
		o.server.Start()
		o.endRound(l)
	}
	for _, inc := range o.incidents {
		if inc.id != "" {
			o.resolve(inc)
		}
	}
	stories := o.stories()
	waited := o.awaitDelivered(stories, calm)
	told := o.judge(stories)
	if told.letters > kills*mailsInFlight || told.calls > kills*callsInFlight {
		t.Errorf("%d mails and %d webhooks came again after %d kills: more than could be on their way", told.letters, told.calls, kills)
	}
	o.checkLog()
	t.Logf("%d kills: %d updates acknowledged, %d without an answer; %d mails, %d webhooks, of which %d and %d again; delivered %v after the last",
		kills, o.updates.Load(), o.updatesUnknown.Load(), len(o.office.taken(t)), len(o.exchange.got(t)), told.letters, told.calls, waited.Round(time.Second))
}

// TestReplicasShareTheOutbox: two servers on one database tell everybody once.
func TestReplicasShareTheOutbox(t *testing.T) {
	t.Parallel()
	exe, database := binary.Build(t), storetest.PostgreSQL(t)
	o := newOutbox(t, exe, database)
	other := newEnvironment(t, exe, database, mailSettings(o.office)...)
	o.server.Start()
	other.server.Start()
	o.subscribe()
	theirs := &outbox{environment: other, office: o.office, exchange: o.exchange}
	mine, yours := o.beginNews(0), theirs.beginNews(1)
	mine.running.Wait()
	yours.running.Wait()
	for _, inc := range append(o.incidents, other.incidents...) {
		o.resolve(inc)
	}
	o.incidents = append(o.incidents, other.incidents...)
	stories := o.stories()
	// Nobody dies, so nothing has to wait for the end of a lease.
	waited := o.awaitDelivered(stories, allswell.LeaseDuration-5*time.Second)
	if told := o.judge(stories); told.letters+told.calls > 0 {
		t.Errorf("%d mails and %d webhooks came twice", told.letters, told.calls)
	}
	var mails, calls int
	for _, l := range o.office.taken(t) {
		if strings.Contains(l.text, other.server.URL) {
			mails++
		}
	}
	for _, c := range o.exchange.got(t) {
		if strings.HasPrefix(c.body.Data.Page.URL, other.server.URL) {
			calls++
		}
	}
	o.checkLog()
	other.checkLog()
	t.Logf("of %d mails the second replica sent %d, of %d webhooks %d; delivered %v after the last",
		len(o.office.taken(t)), mails, len(o.exchange.got(t)), calls, waited.Round(time.Millisecond))
}

// checkLog looks for what must never be in a log, and stops the server.
func (w *environment) checkLog() {
	w.t.Helper()
	if err := w.server.Stop(); err != nil {
		w.t.Errorf("the server was asked to stop and exited with: %v", err)
	}
	log := w.server.Log()
	for _, bad := range []string{apiToken, "panic", "DATA RACE", "level=ERROR"} {
		if strings.Contains(log, bad) {
			w.t.Errorf("the log holds %q", bad)
		}
	}
}

// story is what there is to tell of an incident, as the service knows it.
type story struct {
	id, title string
	events    []string // in the order in which they happened
}

const resolvedType = "incident.resolved"

// stories asks the service for all incidents, and holds it to what it
// acknowledged. They are known by their titles.
func (o *outbox) stories() map[string]story {
	o.t.Helper()
	stories := make(map[string]story)
	for _, inc := range binary.All[incidentState](o.t, o.api, "/api/v1/pages/acme/incidents") {
		s := story{id: inc.ID, title: inc.Title}
		for _, u := range binary.All[updateState](o.t, o.api, "/api/v1/incidents/"+inc.ID+"/updates") {
			s.events = append(s.events, u.Message)
		}
		if inc.Resolved {
			s.events = append(s.events, resolvedType)
		}
		if _, ok := stories[inc.Title]; ok {
			o.t.Errorf("%q was opened twice", inc.Title)
		}
		stories[inc.Title] = s
	}
	for _, inc := range o.incidents {
		if inc.id == "" {
			continue
		}
		if s := stories[inc.title]; s.id != inc.id {
			o.t.Errorf("%q was acknowledged as %s, and is %q", inc.title, inc.id, s.id)
		}
		o.checkUpdates(inc)
	}
	return stories
}

// awaitDelivered returns when every subscriber has a delivery of every event
// and none of them is open, and says how long that took.
func (o *outbox) awaitDelivered(stories map[string]story, within time.Duration) time.Duration {
	o.t.Helper()
	want := 0
	for _, s := range stories {
		want += len(s.events) * (mailboxes + hookHosts*hooksPerHost)
	}
	count := func(states string) int {
		var l binary.List[struct{}]
		o.api.Must(o.t, "GET", "/api/v1/pages/acme/deliveries?per_page=1"+states, nil, &l)
		return l.Meta.Total
	}
	began := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		all, open := count(""), count("&state=pending,sending")
		if all == want && open == 0 {
			break
		}
		if time.Since(began) > within {
			o.t.Fatalf("after %v there are %d deliveries, of which %d are open; want %d and 0", within, all, open, want)
		}
	}
	if n := count("&state=cancelled,expired,dead"); n > 0 {
		o.t.Errorf("%d deliveries were given up", n)
	}
	return time.Since(began)
}
