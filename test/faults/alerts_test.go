package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// Alerts whose rule notifies step by step while the server is killed.
const (
	alertsPerRound     = 3
	alertRounds        = 3                      // that an alert lasts
	maxKillsOfAlerts   = 40                     // independently of killsVariable
	maxAlertKillDelay  = 4 * time.Second        // gathering a message takes two seconds
	maxSinkDelay       = 300 * time.Millisecond // so that kills come while messages are sent
	alertStep          = time.Second            // shorter than the API permits, see shortenRules
	alertRepeat        = 2 * time.Second
	alertChannels      = "phone boss chief" // in the order in which the rule notifies them
	maxListed          = 20                 // alerts in a message
	kindOpened         = "opened"
	kindEscalated      = "escalated"
	kindRepeated       = "repeated"
	kindResolved       = "resolved"
	alertNoticesByTime = `SELECT n.alert_id, c.name, n.kind, n.created_at, coalesce(n.message_id, '')
		FROM alert_notices n
		JOIN alert_channels c ON c.id = n.channel_id ORDER BY n.created_at, n.id`
)

// alertSite is an environment with a rule that notifies three channels one after the other.
type alertSite struct {
	*checkedSite
	sink   *webhookServers
	tokens []string // of monitors that are down, the oldest first
	down   int      // monitors that went down
}

// storedNotice is a row of alertNoticesByTime.
type storedNotice struct {
	alert, channel, kind, message string
	at                            time.Time
}

// TestKilledServerNotifiesOnce kills the server repeatedly with SIGKILL while a rule notifies after a delay, escalates
// and repeats. Each step is notified, in order and not too early, by one message, which may arrive again with the same
// id only if a kill interrupted it.
func TestKilledServerNotifiesOnce(t *testing.T) {
	t.Parallel()
	n := min(kills(t), maxKillsOfAlerts)
	exe := binary.Build(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := binary.Database(t)
		killWhileNotifying(t,
			newCheckedSite(t, exe, "sqlite:"+path, "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)",
				"ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on"),
			n)
		checkIntegrity(t, path)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		database := storetest.NewCluster(t, "fsync=on", "full_page_writes=on").Database(t)
		killWhileNotifying(t, newCheckedSite(t, exe, database, "pgx", database, "ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on"), n)
	})
}

func killWhileNotifying(t *testing.T, site *checkedSite, kills int) {
	s := &alertSite{checkedSite: site, sink: newWebhookServers(t, 1)}
	s.sink.slow = maxSinkDelay
	s.createRule()
	for n := range kills {
		s.fail(alertsPerRound)
		if n >= alertRounds {
			s.recover(alertsPerRound)
		}
		// The pause is random, so that kills come at different moments.
		<-time.After(rand.N(maxAlertKillDelay))
		s.server.Kill()
		// Nobody uses what the killed server has claimed. Its lease would last 40 seconds.
		s.exec(`UPDATE alert_channels SET lease_until_at = NULL`)
		s.server.Start()
		s.checkNotified(n + 1)
		if t.Failed() {
			t.Fatalf("after kill number %d of %d", n+1, kills)
		}
	}
	s.await("nothing is repeated", func() bool {
		last := s.notices()
		return len(last) > 0 && last[len(last)-1].kind == kindRepeated &&
			len(alertsOf(last, kindRepeated)) >= alertsPerRound
	})
	s.recover(len(s.tokens))
	s.await("something is not notified", func() bool {
		return s.count(`SELECT (SELECT count(*) FROM monitor_events WHERE routed_at IS NULL) + (SELECT count(*)
			FROM alert_progress WHERE due_at IS NOT NULL) +
			(SELECT count(*) FROM alert_notices WHERE message_id IS NULL) + (SELECT count(*) FROM alert_messages
			WHERE state = 'sending')`) == 0
	})
	again := s.checkNotified(kills)
	for _, kind := range []string{kindEscalated, kindRepeated} {
		if len(alertsOf(s.notices(), kind)) == 0 {
			t.Errorf("no alert was %s", kind)
		}
	}
	arrived := make(map[string]bool)
	for _, c := range s.sink.received(t) {
		arrived[c.id] = true
	}
	sent := s.count(`SELECT count(*) FROM alert_messages WHERE state = 'sent'`)
	if sent != len(arrived) || sent != s.count(`SELECT count(*) FROM alert_messages`) {
		t.Errorf("%d messages were sent, and %d arrived", sent, len(arrived))
	}
	if open := s.count(`SELECT count(*) FROM alerts WHERE resolved_at IS NULL`); open != 0 {
		t.Errorf("%d alerts are open", open)
	}
	t.Logf("%d kills: %d alerts, %d notices, %d messages, %d of them repeated", kills, s.down, len(s.notices()),
		s.count(`SELECT count(*) FROM alert_messages`), again)
}

func (s *alertSite) count(query string) int {
	s.t.Helper()
	return int(rowsOf[int64](s.t, s.db, query)[0])
}

// createRule creates the channels and the rule, with times that are shorter than the API permits.
func (s *alertSite) createRule() {
	s.t.Helper()
	ids := make(map[string]string)
	for name := range strings.FieldsSeq(alertChannels) {
		var made binary.Data[struct{ ID string }]
		s.api.Must(s.t, "POST", "/api/v1/channels",
			params{"type": "webhook", "name": name, "url": s.sink.hosts[0] + "/" + name, "max_per_minute": 300}, &made)
		ids[name] = made.Data.ID
	}
	s.api.Must(s.t, "POST", "/api/v1/alert-rules", params{
		"name": "all", "channel_ids": []string{ids["phone"]}, "delay": 1, "repeat": 60, "escalation": []params{
			{"after": 60, "channel_ids": []string{ids["boss"]}}, {"after": 60, "channel_ids": []string{ids["chief"]}},
		},
	}, nil)
	s.exec(fmt.Sprintf(`UPDATE alert_rules SET rule = replace(replace(rule, '"repeat":60', '"repeat":%d'), '"after":60',
		'"after":%d')`, int(alertRepeat.Seconds()), int(alertStep.Seconds())))
}

// fail creates jobs that report a failure.
func (s *alertSite) fail(count int) {
	s.t.Helper()
	for range count {
		var made binary.Data[struct{ Token string }]
		s.api.Must(s.t, "POST", "/api/v1/monitors", params{"name": fmt.Sprint("Job ", s.down), "interval": 86_400},
			&made)
		s.api.Must(s.t, "POST", "/api/v1/heartbeat/"+made.Data.Token+"/fail", nil, nil)
		s.tokens = append(s.tokens, made.Data.Token)
		s.down++
	}
}

// recover pings the jobs that are down for the longest.
func (s *alertSite) recover(count int) {
	s.t.Helper()
	for _, token := range s.tokens[:count] {
		s.api.Must(s.t, "POST", "/api/v1/heartbeat/"+token, nil, nil)
	}
	s.tokens = s.tokens[count:]
}

func (s *alertSite) notices() (all []storedNotice) {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), alertNoticesByTime)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n storedNotice
		var at int64
		if err := rows.Scan(&n.alert, &n.channel, &n.kind, &at, &n.message); err != nil {
			s.t.Fatal(err)
		}
		n.at = time.UnixMilli(at)
		all = append(all, n)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// alertsOf returns the alerts that notices of a kind are about, each once.
func alertsOf(notices []storedNotice, kind string) (alerts []string) {
	for _, n := range notices {
		if n.kind == kind && !slices.Contains(alerts, n.alert) {
			alerts = append(alerts, n.alert)
		}
	}
	return alerts
}

// checkNotified compares what rules have decided with the rule, and what arrived with what they decided. It returns how
// many messages arrived again.
func (s *alertSite) checkNotified(kills int) (again int) {
	s.t.Helper()
	calls := s.sink.received(s.t) // before the notices, so that each call has its notices
	notices := s.notices()
	byAlert := make(map[string][]storedNotice)
	for _, n := range notices {
		byAlert[n.alert] = append(byAlert[n.alert], n)
	}
	for _, notified := range byAlert {
		s.checkSteps(notified)
	}
	opened := s.count(
		`SELECT (SELECT count(*) FROM alerts) + (SELECT count(*) FROM monitor_events WHERE routed_at IS NULL
			AND kind = 'monitor.down')`,
	)
	if opened != s.down {
		s.t.Errorf("%d alerts of %d monitors", opened, s.down)
	}
	return s.checkCalls(calls, notices, kills)
}

// checkSteps checks that the steps of an alert follow each other as its rule says, each once.
func (s *alertSite) checkSteps(notified []storedNotice) {
	s.t.Helper()
	channels := strings.Fields(alertChannels)
	resolved := make(map[string]bool)
	var last time.Time // of the last step
	for i, n := range notified {
		want, step := storedNotice{channel: channels[0], kind: kindOpened}, alertStep
		switch {
		case n.kind == kindResolved:
			if resolved[n.channel] || !slices.ContainsFunc(notified[:i], func(o storedNotice) bool {
				return o.channel == n.channel && o.kind != kindResolved
			}) {
				s.t.Errorf("the end is notified twice, or to %s, who was not notified of the alert: %+v", n.channel,
					notified)
			}
			resolved[n.channel] = true
			continue
		case len(resolved) > 0:
			s.t.Errorf("notified after its end: %+v", notified)
		case i >= len(channels):
			want, step = storedNotice{channel: channels[i%len(channels)], kind: kindRepeated}, alertRepeat
			if i%len(channels) > 0 {
				step = 0 // all are notified immediately
			}
		case i > 0:
			want.channel, want.kind = channels[i], kindEscalated
		default:
			step = 0
		}
		if n.kind != want.kind || n.kind != kindRepeated && n.channel != want.channel || n.at.Sub(last) < step {
			s.t.Errorf("notice %d of an alert is %s for %s %v after the last, want %s for %s", i, n.kind, n.channel,
				n.at.Sub(last), want.kind, want.channel)
		}
		last = n.at
	}
}

// checkCalls checks that each message is notified as it was decided, that the messages of a channel arrive in their
// order, and that no more of them arrive again than kills can have interrupted.
func (s *alertSite) checkCalls(calls []call, notices []storedNotice, kills int) (again int) {
	s.t.Helper()
	decided := make(map[string][]string) // by message
	for _, n := range notices {
		if what := n.alert + " " + n.kind; !slices.Contains(decided[n.message], what) {
			decided[n.message] = append(decided[n.message], what)
		}
	}
	arrived := make(map[string][]string) // messages by channel
	for _, c := range calls {
		var got []string
		for _, a := range c.body.Alerts {
			for _, kind := range a.Kinds {
				got = append(got, a.ID+" "+kind)
			}
		}
		want := slices.Clone(decided[c.id])
		slices.Sort(want)
		if slices.Sort(got); len(c.body.Alerts) < maxListed && !slices.Equal(got, want) {
			s.t.Errorf("the alerts of the call: %s has %q, want %q", c.id, got, want)
		}
		if slices.Contains(arrived[c.hook], c.id) {
			again++
		} else {
			arrived[c.hook] = append(arrived[c.hook], c.id)
		}
	}
	for name := range strings.FieldsSeq(alertChannels) {
		sent := rowsOf[string](s.t, s.db,
			`SELECT m.id FROM alert_messages m JOIN alert_channels c ON c.id = m.channel_id WHERE c.name = '`+name+
				`' ORDER BY m.created_at, m.id`)
		got := arrived["/"+name]
		if len(got) > len(sent) || !slices.Equal(got, sent[:len(got)]) {
			s.t.Errorf("%s got\n%q, of\n%q", name, got, sent)
		}
	}
	if again > kills*len(strings.Fields(alertChannels)) {
		s.t.Errorf("%d messages arrived again after %d kills", again, kills)
	}
	return again
}
