package faults

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// The subscribers. There are more mailboxes than a few kills can delay: what a killed replica
// has claimed waits until its lease ends.
const (
	mailboxes    = 60
	hookHosts    = 5
	hooksPerHost = 2
)

// The maximum number of messages that one replica has claimed, and that a kill may therefore
// repeat: mails for 8 workers and as many queued, and 4 webhooks for each host.
const (
	mailsInFlight = 16
	callsInFlight = 4 * hookHosts
)

const (
	authors            = 2                      // who write at the same time
	longIncidentRounds = 3                      // of the first author's incident
	entries            = 4                      // updates of one incident in one round, fewer than a mail can contain
	deliveryTimeout    = 9 * time.Minute        // a lease, and the deliveries that wait for it, on a busy machine
	maxKills           = 25                     // independently of killsVariable
	maxUpdatePause     = 50 * time.Millisecond  // between two updates
	maxKillDelay       = 320 * time.Millisecond // from the first response to the kill
)

// outbox is an environment with subscribers.
type outbox struct {
	*environment
	mail     *mailServer
	webhooks *webhookServers
	long     *incident // lasts several rounds
}

func newOutbox(t *testing.T, exe, database string) *outbox {
	mail, webhooks := newMailServer(t), newWebhookServers(t, hookHosts)
	return &outbox{mail: mail, webhooks: webhooks, environment: newEnvironment(t, exe, database, mailSettings(mail)...)}
}

func mailSettings(mail *mailServer) []string {
	return []string{
		"ALLSWELL_SMTP_URL=smtp://" + mail.address, "ALLSWELL_MAIL_FROM=status@example.com",
		"ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on",
	}
}

func mailbox(n int) string { return fmt.Sprintf("reader-%d@example.com", n) }

// subscribe creates the page and all subscribers.
func (o *outbox) subscribe() {
	o.t.Helper()
	o.api.Must(o.t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	add := func(channel, target string) {
		o.api.Must(o.t, "POST", "/api/v1/pages/acme/subscribers",
			params{"channel": channel, "target": target, "confirmed": true}, nil)
	}
	for n := range mailboxes {
		add("email", mailbox(n))
	}
	for _, host := range o.webhooks.hosts {
		for range hooksPerHost {
			add("webhook", host+"/"+rand.Text())
		}
	}
}

// beginUpdates starts the authors of a round. Each has its own incident.
func (o *outbox) beginUpdates(round int) *load {
	ctx, stop := context.WithCancel(o.t.Context())
	l := &load{w: o.environment, stop: stop}
	for n := range authors {
		inc := &incident{title: fmt.Sprintf("Round %d, writer %d", round, n)}
		if n == 0 && o.long != nil && round%longIncidentRounds != 0 {
			inc = o.long
		} else {
			o.incidents = append(o.incidents, inc)
		}
		if n == 0 {
			o.long = inc
		} else {
			l.incidents = append(l.incidents, inc)
		}
		l.running.Go(func() { o.writeUpdates(ctx, l, inc) })
	}
	return l
}

// writeUpdates opens an incident, unless it is open, and adds updates.
func (o *outbox) writeUpdates(ctx context.Context, l *load, inc *incident) {
	for range entries {
		e := &entry{message: fmt.Sprintf("%s, update %d", inc.title, len(inc.entries)), key: rand.Text()}
		if len(inc.entries) > 0 && inc.id == "" {
			return // whether it was opened is unknown
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
		l.progress.Add(1)
		<-time.After(mathrand.N(maxUpdatePause))
	}
}

// open opens an incident with its first update.
func (o *outbox) open(ctx context.Context, l *load, inc *incident, first *entry) {
	var opened binary.Data[struct {
		ID      string
		Updates []updateState
	}]
	if l.send(
		ctx, "/api/v1/pages/acme/incidents", params{"title": inc.title, "message": first.message}, &opened, first.key,
	) {
		inc.id = opened.Data.ID
		l.progress.Add(1)
		if len(opened.Data.Updates) == 1 {
			first.id = opened.Data.Updates[0].ID
		}
	}
}

// endRound repeats the requests without a response, and resolves the incidents that end.
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
	t.Parallel()
	n := min(kills(t)*3/2, maxKills)
	exe := binary.Build(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := binary.Database(t)
		killWhileSending(t, newOutbox(t, exe, "sqlite:"+path), n)
		checkIntegrity(t, path)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cluster := storetest.NewCluster(t, "fsync=on", "full_page_writes=on")
		killWhileSending(t, newOutbox(t, exe, cluster.Database(t)), n)
	})
}

func killWhileSending(t *testing.T, o *outbox, kills int) {
	o.server.Start()
	o.subscribe()
	for n := range kills {
		l := o.beginUpdates(n)
		l.awaitProgress(1) // on a busy machine, the first request takes longer than the pause
		// The pause is random, so that kills come at different moments.
		<-time.After(mathrand.N(maxKillDelay))
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
	histories := o.histories()
	waited := o.awaitDelivered(histories, deliveryTimeout)
	repeated := o.checkReceived(histories)
	if repeated.mails > kills*mailsInFlight || repeated.calls > kills*callsInFlight {
		t.Errorf("%d mails and %d webhooks were repeated after %d kills: more than were being sent", repeated.mails,
			repeated.calls, kills)
	}
	o.checkLog()
	t.Logf("%d kills: %d updates acknowledged, %d without a response; %d mails, %d webhooks, of which %d and %d were "+
		"repeated; delivered %v after the last",
		kills, o.updates.Load(), o.updatesUnknown.Load(), len(o.mail.received(t)), len(o.webhooks.received(t)),
		repeated.mails, repeated.calls, waited.Round(time.Second))
}

// TestReplicasShareTheOutbox checks that two servers on one database send each message once.
func TestReplicasShareTheOutbox(t *testing.T) {
	t.Parallel()
	exe, database := binary.Build(t), storetest.PostgreSQL(t)
	o := newOutbox(t, exe, database)
	other := newEnvironment(t, exe, database, mailSettings(o.mail)...)
	o.server.Start()
	other.server.Start()
	o.subscribe()
	theirs := &outbox{environment: other, mail: o.mail, webhooks: o.webhooks}
	mine, yours := o.beginUpdates(0), theirs.beginUpdates(1)
	mine.running.Wait()
	yours.running.Wait()
	for _, inc := range append(o.incidents, other.incidents...) {
		o.resolve(inc)
	}
	o.incidents = append(o.incidents, other.incidents...)
	histories := o.histories()
	waited := o.awaitDelivered(histories, deliveryTimeout)
	for _, d := range binary.All[struct{ Attempts int }](t, o.api, "/api/v1/pages/acme/deliveries") {
		if d.Attempts > 1 { // no server is killed, so no lease may end before its attempt
			t.Errorf("a delivery had %d attempts", d.Attempts)
		}
	}
	if repeated := o.checkReceived(histories); repeated.mails+repeated.calls > 0 {
		t.Errorf("%d mails and %d webhooks were repeated", repeated.mails, repeated.calls)
	}
	var mails, calls int
	for _, l := range o.mail.received(t) {
		if strings.Contains(l.text, other.server.URL) {
			mails++
		}
	}
	for _, c := range o.webhooks.received(t) {
		if strings.HasPrefix(c.body.Data.Page.URL, other.server.URL) {
			calls++
		}
	}
	o.checkLog()
	other.checkLog()
	t.Logf("of %d mails the second replica sent %d, of %d webhooks %d; delivered %v after the last",
		len(o.mail.received(t)), mails, len(o.webhooks.received(t)), calls, waited.Round(time.Millisecond))
}

// checkLog checks that the log has no secrets, panics and errors, and stops the server.
func (w *environment) checkLog() {
	w.t.Helper()
	if err := w.server.Stop(); err != nil {
		w.t.Errorf("stopping the server: %v", err)
	}
	log := w.server.Log()
	for _, bad := range []string{apiToken, "panic", "DATA RACE", "level=ERROR"} {
		if strings.Contains(log, bad) {
			w.t.Errorf("the log contains %q", bad)
		}
	}
}

// incidentHistory is what the API returns of an incident.
type incidentHistory struct {
	id, title string
	events    []string // in the order in which they happened
}

const resolvedType = "incident.resolved"

// histories returns all incidents by their titles, and checks that everything that was
// acknowledged is stored.
func (o *outbox) histories() map[string]incidentHistory {
	o.t.Helper()
	histories := make(map[string]incidentHistory)
	for _, inc := range binary.All[incidentState](o.t, o.api, "/api/v1/pages/acme/incidents") {
		s := incidentHistory{id: inc.ID, title: inc.Title}
		for _, u := range binary.All[updateState](o.t, o.api, "/api/v1/incidents/"+inc.ID+"/updates") {
			s.events = append(s.events, u.Message)
		}
		if inc.Resolved {
			s.events = append(s.events, resolvedType)
		}
		if _, ok := histories[inc.Title]; ok {
			o.t.Errorf("%q was opened twice", inc.Title)
		}
		histories[inc.Title] = s
	}
	for _, inc := range o.incidents {
		if inc.id == "" {
			continue
		}
		if s := histories[inc.title]; s.id != inc.id {
			o.t.Errorf("%q was acknowledged as %s, and is %q", inc.title, inc.id, s.id)
		}
		o.checkUpdates(inc)
	}
	return histories
}

// awaitDelivered waits until every subscriber has a delivery of every event and none is open.
// It returns the duration.
func (o *outbox) awaitDelivered(histories map[string]incidentHistory, within time.Duration) time.Duration {
	o.t.Helper()
	want := 0
	for _, s := range histories {
		want += len(s.events) * (mailboxes + hookHosts*hooksPerHost)
	}
	count := func(states string) int {
		var l binary.List[struct{}]
		o.api.Must(o.t, "GET", "/api/v1/pages/acme/deliveries?per_page=1"+states, nil, &l)
		return l.Meta.Total
	}
	began := time.Now()
	tick := time.NewTicker(500 * time.Millisecond) // each count reads a table that the server works on
	defer tick.Stop()
	for ; ; <-tick.C {
		open := count("&state=pending,sending")
		if open == 0 && count("") == want {
			break
		}
		if time.Since(began) > within {
			o.t.Fatalf("after %v there are %d deliveries, of which %d are open; want %d and 0", within, count(""), open,
				want)
		}
	}
	if n := count("&state=cancelled,expired,dead"); n > 0 {
		o.t.Errorf("%d deliveries were abandoned", n)
	}
	return time.Since(began)
}
