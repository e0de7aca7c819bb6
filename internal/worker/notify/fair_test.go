package notify

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"pgregory.net/rapid"
)

type hangingReceivers struct {
	*site
	hanging atomic.Int64
}

// TestHangingWebhooksDelayNobody checks that a message arrives although many webhooks of another workspace, which were
// sent theirs before, accept connections and say nothing: half of them at one host, and some at the host of the
// message.
func TestHangingWebhooksDelayNobody(t *testing.T) {
	runOnSites(t, func(s *site) {
		h := &hangingReceivers{site: s}
		arrived := make(chan struct{}, 1)
		release := make(chan struct{})
		shared := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/good" {
				arrived <- struct{}{}
				return
			}
			h.hanging.Add(1)
			<-release
		}))
		defer shared.Close()
		defer close(release)
		one := h.listen()
		for i := range 100 {
			at := one
			switch {
			case i%10 == 0:
				at = shared.URL
			case i%2 == 0:
				at = h.listen()
			}
			s.subscribe(audience.ChannelWebhook, fmt.Sprint(at, "/bad/", i))
		}
		good, _ := storetest.Workspace(s.T, s.Store, "good")
		_, err := s.CreatePage(s.Context(), good, resource.Page.From(statuspage.Page{Name: "Good", Slug: "good"}))
		s.ok(err)
		sub, err := s.CreateSubscriber(s.Context(), good, "good",
			audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: shared.URL + "/good", Confirmed: true},
			nil)

		s.ok(err)
		stop := s.start("")
		s.openIncident("It is slow.")
		s.waitFor("many hang", func() bool { return h.hanging.Load() >= 40+2*webhookPerHost })
		_, err = s.SendTestMessage(s.Context(), good, "good", sub.ID)
		s.ok(err)
		select {
		case <-arrived:
		case <-time.After(webhookTimeout / 2):
			s.Error("the message waits for webhooks of another workspace")
		}
		if n := h.hanging.Load(); n > webhookPerWorkspace {
			s.Errorf("%d webhooks of one workspace are called at a time", n)
		}
		stop()
	})
}

// listen starts a host whose connections are accepted and hang, and returns its URL.
func (h *hangingReceivers) listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	h.ok(err)
	h.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.hanging.Add(1)
			h.Cleanup(func() { c.Close() })
		}
	}()
	return "http://" + l.Addr().String()
}

// simulated is a message in a simulation.
type simulated struct {
	to    fair.Target
	due   time.Time
	takes time.Duration
}

// TestNobodyWaitsForHangingWorkspaces simulates, for each channel, random workspaces, hosts and latencies. Messages of
// some workspaces hang until the timeout and are tried again. A message of the others never waits for more than a
// second, or, with more than ten workspaces that hang, for more than two attempts of 20 seconds. It may wait for others
// of its own workspace: at a host that hangs for some, a workspace has at least one place, and at another one as many
// as it may have.
func TestNobodyWaitsForHangingWorkspaces(t *testing.T) {
	for _, c := range channels {
		switch c.name {
		case audience.ChannelEmail, audience.ChannelSMS:
			continue // all messages go to one server, for which workspaces take turns
		case audience.ChannelDiscord, audience.ChannelTeams, audience.ChannelGoogleChat, audience.ChannelMattermost:
			continue // like Slack
		}
		t.Run(string(c.name), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { simulate(t, c) })
		})
	}
}

func simulate(t *rapid.T, c channel) {
	const step = time.Second
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hanging := rapid.IntRange(0, 20).Draw(t, "workspaces that hang")
	hosts := rapid.IntRange(1, 100).Draw(t, "hosts of each")
	bound := step
	if hanging > 10 {
		bound = 2 * audience.SendTimeout
	}
	waiting := hangingMessages(t, hanging, hosts, began)
	var sending []ending
	busy := make(map[fair.Target]time.Time) // when it last had no place because of its own messages
	gate, turn := c.gate(), 0
	names := workspaceNames(hanging)
	for now := began; now.Before(began.Add(time.Minute)); now = now.Add(step) {
		sending = slices.DeleteFunc(sending, func(s ending) bool {
			if s.at.After(now) {
				return false
			}
			s.release()
			hung := s.takes == audience.SendTimeout
			if gate.Note(s.to, hung, now); hung {
				s.due = now.Add(5 * time.Second)
				waiting[s.to.Workspace] = append(waiting[s.to.Workspace], s.simulated)
			}
			return true
		})
		newMessage(t, waiting, now)
		plan := gate.Plan(now)
		first, free := turn, gate.Free()
		for i := range names {
			name := names[(first+i)%len(names)]
			share := (free + len(names) - i - 1) / (len(names) - i)
			if share == 0 {
				break
			}
			turn = (first + i + 1) % len(names)
			left := waiting[name][:0]
			for _, m := range waiting[name] {
				if share == 0 || m.due.After(now) || !plan.Admits(m.to) {
					left = append(left, m)
					continue
				}
				plan.Add(m.to)
				share--
				free--
				sending = append(sending, ending{m, now.Add(m.takes), gate.Enter(m.to)})
			}
			waiting[name] = left
		}
		noteBusy(busy, sending, c.perHost, now)
		for _, m := range slices.Concat(waiting["works 0"], waiting["works 1"]) {
			if waits := min(now.Sub(m.due), now.Sub(busy[m.to])); waits > bound {
				t.Fatalf("a message to %s waits for %v, while %d workspaces hang", m.to.Host, waits, hanging)
			}
		}
	}
}

// ending is a message that is being sent.
type ending struct {
	simulated
	at      time.Time
	release func()
}

// hangingMessages returns messages whose receivers hang, by workspace.
func hangingMessages(t *rapid.T, hanging, hosts int, began time.Time) map[string][]simulated {
	waiting := make(map[string][]simulated) // by workspace
	for w := range hanging {
		name := fmt.Sprint("hangs ", w)
		for n := range rapid.IntRange(1, 90).Draw(t, "messages") {
			host := fmt.Sprint(w, ".", n%hosts)
			if n%10 == 0 && w < 3 {
				host = "shared"
			}
			waiting[name] = append(waiting[name], simulated{
				fair.Target{Workspace: name, Host: host}, began, audience.SendTimeout,
			})
		}
	}
	return waiting
}

// workspaceNames are the workspaces whose receivers hang, and two whose receivers work.
func workspaceNames(hanging int) (all []string) {
	for w := range hanging {
		all = append(all, fmt.Sprint("hangs ", w))
	}
	return append(all, "works 0", "works 1")
}

// newMessage sometimes adds a message whose receiver works.
func newMessage(t *rapid.T, waiting map[string][]simulated, now time.Time) {
	if rapid.IntRange(0, 3).Draw(t, "new message") == 0 {
		name := fmt.Sprint("works ", rapid.IntRange(0, 1).Draw(t, "of"))
		host := rapid.SampledFrom([]string{"shared", "quick", "own"}).Draw(t, "host")
		takes := time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond
		waiting[name] = append(waiting[name], simulated{fair.Target{Workspace: name, Host: host}, now, takes})
	}
}

// TestPausesEndByAttempts checks that the pause of a host which cannot be reached ends by an attempt that reaches it,
// whatever comes of that, and not by a delivery that is given back unused.
func TestPausesEndByAttempts(t *testing.T) {
	now := time.Now()
	to := store.ClaimedDelivery{WorkspaceID: "wsp_1", Host: "hooks.example.com"}
	for _, c := range channels {
		for _, result := range []audience.SendResult{
			audience.SendFailed, audience.SendAccepted, audience.SendRejected, audience.SendUndeliverable,
			audience.SendGone,
			audience.SendNotAttempted,
		} {
			q := newQueue(&Notifier{}, c, fakeSender(nil))
			note := func(o audience.SendOutcome) {
				q.noteResults([]store.DeliveryResult{{ClaimedDelivery: to, Outcome: o}}, now)
			}
			for range fair.BreakAfter {
				note(audience.SendOutcome{Result: audience.SendFailed, Unreachable: true})
			}
			if q.gate.Plan(now).Admits(target(to)) {
				t.Fatalf("%s: the host is not paused", c.name)
			}
			note(audience.SendOutcome{Result: result})
			if ends := q.gate.Plan(now).Admits(target(to)); ends != (result != audience.SendNotAttempted) {
				t.Errorf("%s: the pause ends by the result %d: %t", c.name, result, ends)
			}
		}
	}
}

// noteBusy notes where no more messages are sent now: at the shared host, and where perHost are being sent.
func noteBusy(busy map[fair.Target]time.Time, sending []ending, perHost int, now time.Time) {
	own := make(map[fair.Target]int)
	for _, s := range sending {
		if own[s.to]++; s.to.Host == "shared" || own[s.to] >= perHost {
			busy[s.to] = now
		}
	}
}
