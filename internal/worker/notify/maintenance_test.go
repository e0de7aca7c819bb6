package notify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maintenanceMails are the mails of all kinds of maintenance events, with times in the zone of the page.
var maintenanceMails = []struct {
	subject, text string
	event         audience.Event
}{
	{"Scheduled", "Scheduled · 21 Nov 2026, 08:48 CET\nWrites wait for up to a minute.\n", mailUpgrade()[0]},
	{"New time", "New time · 21 Nov 2026, 09:18 CET\nThis maintenance has been rescheduled.\n",
		mailMaintenance(30, statuspage.EventMaintenanceUpdated, statuspage.MaintenanceScheduled, "", "")},
	{"Update", "Update · 21 Nov 2026, 09:18 CET\nStill on.\n",
		mailMaintenance(
			30, statuspage.EventMaintenanceUpdated, statuspage.MaintenanceScheduled, "upd_5", "Still on.",
		)},
	{"Reminder", "Reminder · 21 Nov 2026, 09:48 CET\nThis maintenance begins soon.\n", mailUpgrade()[1]},
	{"In progress", "In progress · 22 Nov 2026, 03:48 CET\nThe maintenance has begun.\n", mailUpgrade()[2]},
	{"In progress", "In progress · 22 Nov 2026, 04:28 CET\nHalf of it.\n",
		mailMaintenance(
			1180, statuspage.EventMaintenanceUpdated, statuspage.MaintenanceInProgress, "upd_5", "Half of it.",
		)},
	{"New end", "New end · 22 Nov 2026, 04:28 CET\nThis maintenance has been rescheduled.\n",
		mailMaintenance(1180, statuspage.EventMaintenanceUpdated, statuspage.MaintenanceInProgress, "", "")},
	{"Verifying", "Verifying · 22 Nov 2026, 04:48 CET\nWe are checking the results.\n", mailUpgrade()[3]},
	{"Completed", "Completed · 22 Nov 2026, 05:48 CET\nThe maintenance is complete.\n", mailUpgrade()[4]},
	{"Update", "Update · 22 Nov 2026, 06:28 CET\nThank you.\n",
		mailMaintenance(
			1300, statuspage.EventMaintenanceUpdated, statuspage.MaintenanceCompleted, "upd_5", "Thank you.",
		)},
	{"Cancelled", "Cancelled · 21 Nov 2026, 08:58 CET\nThis maintenance has been cancelled.\n",
		mailMaintenance(10, statuspage.EventMaintenanceCancelled, statuspage.MaintenanceScheduled, "", "")},
}

// TestMailOfMaintenance checks the mails of all kinds of maintenance events.
func TestMailOfMaintenance(t *testing.T) {
	t.Parallel()
	for _, c := range maintenanceMails {
		t.Run(string(c.event.Kind)+" "+c.subject, func(t *testing.T) {
			n := mailNotification(audience.PurposeEvent, c.event)
			n.Page.TimeZone = "Europe/Berlin"
			p := composed(t, n)
			if p.subject != "[Acme] "+c.subject+": Database upgrade" {
				t.Errorf("subject %q", p.subject)
			}
			link, words := mailBase+"/status/acme/maintenances/mnt_1", "View maintenance"
			if c.subject == "Cancelled" {
				link, words = mailBase+"/status/acme", "View status page"
			}
			want := c.subject +
				": Database upgrade\nMaintenance.\n22 Nov 2026, 03:48–05:48 CET\nAffected: API, Website\n\n" +
				c.text + "\n" + link + "\n" + mailFoot
			if diff := cmp.Diff(want, p.text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			for _, want := range []string{
				`href="` + link + `" style="color:#1b4f9c;font-weight:600;">` + words + "<",
				"22 Nov 2026, 03:48–05:48 CET", "Affected: API, Website", "> &middot; Maintenance<",
			} {
				if want = strings.TrimPrefix(want, ">"); !strings.Contains(p.html, want) {
					t.Errorf("the HTML lacks %s:\n%s", want, p.html)
				}
			}
			tone := map[string]string{
				"Completed": `class="band band-ok"`, "Cancelled": `class="band band-none"`,
			}[c.subject]
			if tone == "" {
				tone = `class="band band-maintenance" style="padding:12px ` +
					`28px;background-color:#2357b8;border-radius:12px 12px 0 ` +
					`0;font-size:14px;line-height:1.4;font-weight:700;color:#ffffff;"`
			}
			if !strings.Contains(p.html, tone) {
				t.Errorf("the HTML lacks %s", tone)
			}
			htmlWords(t, p.html)
		})
	}
}

// TestMailIsNeverEmpty checks that a mail about an event without a message says something in the language of its page.
func TestMailIsNeverEmpty(t *testing.T) {
	for state, want := range map[statuspage.IncidentState][3]string{
		statuspage.IncidentInvestigating: {"We are investigating this incident.", "Wir untersuchen diese Störung.",
			"نحقق حاليًا في هذه الحادثة."},
		statuspage.IncidentIdentified: {"The cause of this incident has been identified. We are working on a fix.",
			"Die Ursache dieser Störung ist bekannt. Wir arbeiten an der Behebung.",
			"حددنا سبب هذه الحادثة، ونعمل على إصلاحها."},
		statuspage.IncidentMonitoring: {"A fix is in place. We are watching the result.",
			"Die Behebung ist vorgenommen. Wir beobachten das Ergebnis.", "طبّقنا إصلاحًا، ونراقب النتيجة."},
		statuspage.IncidentResolved: {"This incident has been resolved.", "Diese Störung ist behoben.",
			"تم حل هذه الحادثة."},
	} {
		for i, language := range []string{"en", "de", "ar"} {
			n := mailNotification(audience.PurposeEvent,
				mailEvent(0, statuspage.EventIncidentCreated, "inc-1", "",
					audience.EventData{Title: "Down", State: state}))
			n.Page.Language = language
			p := composed(t, n)
			// once as the preview
			if !strings.Contains(p.text, "\n"+want[i]+"\n") || strings.Count(p.html, want[i]) != 2 {
				t.Errorf("%s, %s:\n%s\n%s", language, state, p.text, p.html)
			}
		}
	}
}

// TestMailCarriesMaintenance checks that a mail contains the events that were merged into
// it, and that its preview shows the time if there is no message.
func TestMailCarriesMaintenance(t *testing.T) {
	p := composed(t, mailNotification(audience.PurposeEvent, mailUpgrade()[:2]...))
	if p.subject != "[Acme] Reminder: Database upgrade" ||
		!strings.Contains(
			p.text,
			"\nReminder · 21 Nov 2026, 08:48 UTC\nThis maintenance begins soon.\n\nScheduled · 21 Nov 2026, 07:48 "+
				"UTC\nWrites wait",
		) {
		t.Errorf("mail: %s\n%s", p.subject, p.text)
	}
	if !strings.Contains(p.html, `opacity:0;">22 Nov 2026, 02:48–04:48 UTC</div>`) {
		t.Errorf("the preview has no time:\n%s", p.html)
	}
	p = composed(t, mailNotification(audience.PurposeEvent, append(mailUpgrade(), mailDatabase()...)...))
	if p.subject != "[Acme] 2 notices: Database <down>, Database upgrade" {
		t.Errorf("with an incident: %s", p.subject)
	}
}

// TestMailOfResolutionAndWhy checks that an update that resolves an incident is one
// entry, and that a later update is another.
func TestMailOfResolutionAndWhy(t *testing.T) {
	t.Parallel()
	events := mailDatabase()[1:]
	resolved := &events[1]
	resolved.Data.Resolved, resolved.Data.State = true, statuspage.IncidentMonitoring
	why := *resolved
	why.Kind, why.UpdateID, why.Data.Message = statuspage.EventIncidentUpdated, "upd_9", "The disk has room again."
	why.CreatedAt = resolved.CreatedAt.Add(time.Second)
	p := composed(t, mailNotification(audience.PurposeEvent, append(events, why)...))
	if p.subject != "[Acme] Resolved: Database <down>" || strings.Count(p.text, "room again") != 1 ||
		strings.Count(p.text, "\nResolved · ") != 1 || strings.Contains(p.text, "Monitoring") {
		t.Errorf("at once: %s\n%s", p.subject, p.text)
	}
	why.CreatedAt = resolved.CreatedAt.Add(time.Hour)
	p = composed(t, mailNotification(audience.PurposeEvent, append(events, why)...))
	if strings.Count(p.text, "\nResolved · ") != 1 || !strings.Contains(p.text, "\nMonitoring · ") {
		t.Errorf("an hour later:\n%s", p.text)
	}
}

// TestMailAffected checks that a mail lists the affected components, with their status
// until the incident is resolved.
func TestMailAffected(t *testing.T) {
	events := mailDatabase()
	for i := range events {
		events[i].Data.Affected = []statuspage.AffectedChange{
			{ComponentID: "comp_1", Name: "API\r\nBcc: eve@example.net", New: kernel.StatusMajorOutage},
			{
				ComponentID: "comp_2", Name: "<Web>", Old: kernel.StatusMajorOutage,
				New: kernel.StatusDegradedPerformance,
			},
		}
	}
	for i, want := range []string{
		"Affected: API Bcc: eve@example.net (Major Outage), <Web> (Degraded Performance)",
		"Affected: API Bcc: eve@example.net (Major Outage), <Web> (Degraded Performance)",
		"Affected: API Bcc: eve@example.net, <Web>",
	} {
		p := composed(t, mailNotification(audience.PurposeEvent, events[:i+1]...))
		words, _ := htmlWords(t, p.html)
		if !strings.Contains(p.text, "impact.\n"+want+"\n\n") || !strings.Contains(words, want+"\n") {
			t.Errorf("%d lacks %q:\n%s", i, want, p.text)
		}
	}
	many := mailUpgrade()[0]
	for i := range statuspage.MaxAffectedComponents {
		many.Data.Maintenance.Components = append(many.Data.Maintenance.Components,
			statuspage.ComponentName{Name: fmt.Sprint("part ", i)})
	}
	p := composed(t, mailNotification(audience.PurposeEvent, many))
	if !strings.Contains(p.text, ", part 17, and 482 more components\n") {
		t.Errorf("many:\n%s", p.text)
	}
}

// TestMailOfDomain checks that a mail links to a page at its own domain, and to the
// subscription at the base address, which the unsubscribe button of mail programs uses.
func TestMailOfDomain(t *testing.T) {
	for _, c := range []struct {
		event audience.Event
		path  string
	}{{mailDatabase()[0], "/incidents/inc-1"}, {mailUpgrade()[0], "/maintenances/mnt_1"}} {
		n := mailNotification(audience.PurposeEvent, c.event)
		n.Page.Host = mailDomain
		p := composed(t, n)
		at := mailBase + "/status/acme"
		for _, body := range []string{p.text, p.html} {
			for _, link := range []string{
				"https://" + mailDomain + c.path, at + "/subscription/" + mailKey, at + "/unsubscribe/" + mailKey,
			} {
				if strings.Count(body, link) != 1 {
					t.Errorf("%s is there %d times:\n%s", link, strings.Count(body, link), body)
				}
			}
			if strings.Count(body, "https://"+mailDomain) < 2 || strings.Count(body, mailBase) != 2 {
				t.Errorf("the page is not at its domain:\n%s", body)
			}
		}
		if got := p.header.Get("List-Unsubscribe"); got != "<"+at+"/unsubscribe/"+mailKey+">" {
			t.Errorf("List-Unsubscribe: %s", got)
		}
	}
	for _, purpose := range []audience.DeliveryPurpose{audience.PurposeConfirmation, audience.PurposeLink} {
		n := mailNotification(purpose)
		n.Page.Host = mailDomain
		p := composed(t, n)
		for _, body := range []string{p.text, p.html} {
			if strings.Count(body, mailBase+"/status/acme/subscription/"+mailKey) == 0 ||
				strings.Count(body, mailDomain+"/subscription/") != 0 ||
				strings.Count(body, mailBase+"/status/acme/unsubscribe/"+mailKey) != 1 {
				t.Errorf("%s: the subscription is not at the base address:\n%s", purpose, body)
			}
		}
	}
}

// plannedSite is a site with a manual clock.
type plannedSite struct {
	*site
	ahead *atomic.Int64 // nanoseconds after mailStart
	api   statuspage.Component
	sub   audience.Subscriber // a webhook
	seen  <-chan receivedRequest
}

// runOnPlannedSites runs f once per engine, in parallel with other tests, with a subscriber by email and a webhook.
func runOnPlannedSites(t *testing.T, f func(s *plannedSite)) {
	t.Parallel()
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		ahead := new(atomic.Int64)
		clock := func() time.Time { return mailStart.Add(time.Duration(ahead.Load())) }
		st := storetest.Open(t, dsn,
			storetest.WithKey(t, dsn, store.Options{Clock: clock, Hosts: statuspage.NewHosts("allswell.example")}))
		s := &plannedSite{site: newSite(t, st), ahead: ahead}
		var err error
		s.api, err = st.Components().Create(t.Context(), s.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "API"}))
		s.ok(err)
		zone, domain := "Europe/Berlin", mailDomain
		_, err = st.ChangePage(t.Context(), s.ws, "acme", func(p *statuspage.Page) error {
			p.TimeZone, p.Domain = zone, domain
			return nil
		})
		s.ok(err)
		address, seen := webhookSink(t)
		s.seen = seen
		s.subscribe(audience.ChannelEmail, "ann@example.com")
		s.sub = s.subscribe(audience.ChannelWebhook, address)
		f(s)
	})
}

// plan schedules a maintenance that begins in two hours, with a reminder an hour before.
func (s *plannedSite) plan() statuspage.Maintenance {
	s.Helper()
	message, hour := "Writes wait for up to *a minute*.", time.Hour
	from := mailStart.Add(2 * time.Hour)
	m, err := s.CreateMaintenance(s.Context(), s.ws, "acme", func(m *statuspage.Maintenance) error {
		m.Title, m.Updates, m.ScheduledFor, m.ScheduledUntil, m.Components, m.RemindBefore = "Database upgrade",
			[]statuspage.MaintenanceUpdate{{Message: message}}, from, from.Add(time.Hour),
			statuspage.ComponentRefs(s.api.ID), hour
		return nil
	})
	s.ok(err)
	return m
}

// pass advances the clock, and makes the transitions that are due.
func (s *plannedSite) pass(d time.Duration) {
	s.Helper()
	s.ahead.Add(int64(d))
	_, err := s.AdvanceMaintenances(s.Context())
	s.ok(err)
}

// awaitWebhooks waits for n webhooks, not counting webhooks about components, verifies them, and returns their types
// with the state of the maintenance.
func (s *plannedSite) awaitWebhooks(n int) (kinds []string) {
	s.Helper()
	verifier, err := standardwebhooks.NewWebhook(s.sub.Secret)
	s.ok(err)
	for timeout := time.After(testTimeout); len(kinds) < n; {
		select {
		case got := <-s.seen:
			s.ok(verifier.Verify(got.Body, got.Header))
			var message struct {
				Type string
				Data struct{ Maintenance struct{ State, URL string } }
			}
			s.ok(json.Unmarshal(got.Body, &message))
			if message.Type != string(statuspage.EventComponentStatusChanged) {
				kinds = append(kinds, strings.TrimSpace(message.Type+" "+message.Data.Maintenance.State))
			}
		case <-timeout:
			s.Fatalf("within %v, only %q arrived", testTimeout, kinds)
		}
	}
	return kinds
}

// TestMaintenanceIsNotified checks that the mails of a maintenance arrive in order in one
// thread, and that a webhook gets them signed.
func TestMaintenanceIsNotified(t *testing.T) {
	runOnPlannedSites(t, func(s *plannedSite) {
		peer := newSMTPPeer(t, "plain")
		s.start(peer.address)
		var m statuspage.Maintenance
		var kinds []string
		for i, step := range []func(){
			func() { m = s.plan() },
			func() { s.pass(time.Hour) },
			func() { s.pass(time.Hour) },
			func() {
				_, err := s.PostMaintenanceUpdate(s.Context(), s.ws, m.ID,
					resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{
						Message: "Nearly **done**.", State: statuspage.MaintenanceVerifying,
					}),
					"")
				s.ok(err)
			},
			func() { s.pass(time.Hour) },
		} {
			step()
			kinds = append(kinds, s.awaitWebhooks(1)...)
			s.waitFor("the mail has arrived", func() bool { return len(peer.received()) == i+1 })
			s.waitFor("all deliveries are settled", func() bool { return !strings.Contains(s.states(), "ing:") })
		}
		want := []string{
			"maintenance.scheduled scheduled", "maintenance.reminder scheduled", "maintenance.begun in_progress",
			"maintenance.updated verifying", "maintenance.ended completed",
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("webhooks %q, want %q", kinds, want)
		}
		ids, threads := make(map[string]bool), make(map[string]bool)
		for i, got := range peer.received() {
			p := parseMail(t, []byte(got.content))
			ids[p.header.Get("Message-ID")], threads[p.header.Get("References")] = true, true
			word := []string{"Scheduled", "Reminder", "In progress", "Verifying", "Completed"}[i]
			if p.subject != "[Acme] "+word+": Database upgrade" ||
				p.header.Get("In-Reply-To") != p.header.Get("References") {
				t.Errorf("mail %d is %q in reply to %s", i, p.subject, p.header.Get("In-Reply-To"))
			}
			for _, want := range []string{
				"21 Nov 2026, 10:48–11:48 CET\n", "Affected: API\n",
				"https://" + mailDomain + "/maintenances/" + m.ID + "\n",
			} {
				if !strings.Contains(p.text, want) {
					t.Errorf("mail %d lacks %q:\n%s", i, want, p.text)
				}
			}
		}
		if len(ids) != 5 || len(threads) != 1 || threads[""] {
			t.Errorf("Message-IDs %v, References %v", ids, threads)
		}
	})
}

// TestMaintenanceMailIsMerged checks that mails of a maintenance that were not sent
// before the next event are merged into one, that an incident in between has its own, and
// that a webhook gets all events.
func TestMaintenanceMailIsMerged(t *testing.T) {
	runOnPlannedSites(t, func(s *plannedSite) {
		s.plan()
		s.pass(time.Hour)
		s.openIncident("It is slow.")
		s.pass(time.Hour)
		peer := newSMTPPeer(t, "plain")
		s.start(peer.address)
		kinds := s.awaitWebhooks(4)
		slices.Sort(kinds) // the order between the incident and the maintenance is not fixed
		want := []string{
			"incident.created", "maintenance.begun in_progress", "maintenance.reminder scheduled",
			"maintenance.scheduled scheduled",
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("webhooks %q, want %q", kinds, want)
		}
		s.waitFor("all deliveries are sent", func() bool { return s.states() == "map[sent:7 superseded:2]" })
		mails := peer.received()
		if len(mails) != 2 {
			t.Fatalf("%d mails", len(mails))
		}
		first, second := parseMail(t, []byte(mails[0].content)), parseMail(t, []byte(mails[1].content))
		if first.subject != "[Acme] In progress: Database upgrade" ||
			second.subject != "[Acme] Investigating: Checkout is slow" {
			t.Errorf("subjects of both mails: %q, %q", first.subject, second.subject)
		}
		timeline := "\n\nIn progress · 21 Nov 2026, 10:48 CET\nThe maintenance has begun.\n\nReminder · 21 Nov 2026, " +
			"09:48 CET\nThis maintenance begins soon.\n\n" +
			"Scheduled · 21 Nov 2026, 08:48 CET\nWrites wait for up to a minute.\n\nhttps://"
		if !strings.Contains(first.text, timeline) {
			t.Errorf("the mail lacks %q:\n%s", timeline, first.text)
		}
	})
}

// TestCancelledMaintenanceIsNotified checks that a cancellation is notified although the
// maintenance is deleted.
func TestCancelledMaintenanceIsNotified(t *testing.T) {
	runOnPlannedSites(t, func(s *plannedSite) {
		peer := newSMTPPeer(t, "plain")
		s.start(peer.address)
		m := s.plan()
		s.waitFor("the maintenance is notified", func() bool { return s.states() == "map[sent:2]" })
		s.ok(s.DeleteMaintenance(s.Context(), s.ws, m.ID))
		s.waitFor("the cancellation is notified", func() bool { return s.states() == "map[sent:4]" })
		p := parseMail(t, []byte(peer.received()[1].content))
		if p.subject != "[Acme] Cancelled: Database upgrade" ||
			!strings.Contains(p.text, "\n\nhttps://"+mailDomain+"\n") {
			t.Errorf("mail about the cancellation: %s\n%s", p.subject, p.text)
		}
		if kinds := s.awaitWebhooks(2); kinds[1] != "maintenance.cancelled scheduled" {
			t.Errorf("webhooks %q", kinds)
		}
	})
}
