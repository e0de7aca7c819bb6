package alert

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// summaryNames are the names of what rules have, by id.
var summaryNames = map[string]string{
	"chn_1": "Phone", "chn_2": "Boss", "chn_3": "Mail", "onc_1": "Ops", "mon_1": "Web shop", "mon_2": "Backup",
	"page_1": "Acme", "page_2": "Shop",
}
var phone = Target{ChannelIDs: []string{"chn_1"}}

var down = []Event{MonitorDown}

// summaries are rules, and what is said about them.
var summaries = []struct {
	rule Rule
	want string
}{
	{Rule{Filter: Filter{Events: down}, Target: phone}, "When a monitor is down, notify Phone."},
	{Rule{
		Filter: Filter{Events: down, Tags: []string{"prod"}}, Target: phone, Delay: 5 * time.Minute,
		Repeat: 30 * time.Minute,
		Escalation: []Step{
			{10 * time.Minute, Target{ChannelIDs: []string{"chn_2"}}},
			{time.Hour, Target{OnCallIDs: []string{"onc_1"}}},
		},
		QuietHours: &QuietHours{Zone: "Europe/Berlin", From: 22 * 60, Until: 7*60 + 30},
	},
		"When a monitor tagged prod is down for more than 5 minutes, notify Phone; after 10 minutes without " +
			"acknowledgement, notify Boss; " +
			"then after 1 hour, notify the person on call for Ops; repeat every 30 minutes until acknowledged; " +
			"from 22:00 to 07:30 (Europe/Berlin), wait until 07:30."},
	{Rule{
		Filter: Filter{
			Events: []Event{MonitorWarning, MonitorDown, MonitorSlow}, Monitors: []string{"mon_1", "mon_2"},
			Pages: []string{"page_1"}, Severities: []kernel.Impact{"major", "critical"},
		},
		Target: Target{ChannelIDs: []string{"chn_1", "chn_3"}, OnCallIDs: []string{"onc_1"}},
	},
		"When Web shop or Backup of Acme is down, is slow or has a warning, with the severity major or critical, " +
			"notify Phone, Mail and the person on call for Ops."},
	{Rule{
		Filter: Filter{Events: []Event{MaintenanceBegun, MaintenanceEnded}, Pages: []string{"page_1", "page_2"}},
		Target: phone, Delay: time.Minute, Repeat: time.Hour,
	},
		"When maintenance of Acme or Shop has begun or has ended, notify Phone after 1 minute, unless resolved " +
			"by then."},
	{Rule{Filter: Filter{Events: []Event{ChannelFailed, ServiceGap, DeliveryFailed}}, Target: phone,
		QuietHours: &QuietHours{
			Zone: "UTC", From: 9 * 60, Until: 17 * 60, Days: []Weekday{"sat", "sun"},
			Target: Target{ChannelIDs: []string{"chn_3"}},
		}},
		"When Allswell itself was interrupted, or a subscriber is not notified any more, or a channel does not " +
			"accept alerts, notify Phone; from 09:00 to 17:00 on Sat and Sun (UTC), notify Mail instead."},
	{Rule{
		Filter: Filter{
			Events: []Event{MonitorDown, MaintenanceBegun, ChannelFailed}, Tags: []string{"a", "b", "c", "d", "e"},
		},
		Target: phone,
	},
		"When a monitor tagged a, b, c or 2 others is down, notify Phone."},
	{Rule{
		Filter: Filter{Events: []Event{ServiceGap}, Pages: []string{"page_9"}},
		Target: Target{ChannelIDs: []string{"chn_9"}},
	},
		"When the checking of a monitor of a deleted page was interrupted, notify a deleted channel."},
	{Rule{Filter: Filter{Events: []Event{MaintenanceBegun}, Tags: []string{"a"}}, Target: phone},
		"Never: its filters match none of its events."},
}

func TestSummarize(t *testing.T) {
	for _, c := range summaries {
		if got := c.rule.Summarize(summaryNames); got != c.want {
			t.Errorf("Summarize:\ngot  %s\nwant %s", got, c.want)
		}
	}
}

// TestSummariesNameEveryEvent checks each event, each pair, and all together.
func TestSummariesNameEveryEvent(t *testing.T) {
	choices := [][]Event{Events}
	for i, e := range Events {
		for _, other := range Events[i:] {
			choices = append(choices, []Event{e, other})
		}
	}
	for _, events := range choices {
		got := Rule{
			Filter: Filter{Events: events}, Target: Target{ChannelIDs: []string{"chn_1"}},
		}.Summarize(map[string]string{"chn_1": "Phone"})
		for _, e := range events {
			if !strings.Contains(got, " "+e.Words()) {
				t.Errorf("%v: %s does not name %s", events, got, e)
			}
		}
	}
}
