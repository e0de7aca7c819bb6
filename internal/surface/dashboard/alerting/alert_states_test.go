package alerting

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// TestStatesOfChannels compares the words and tones of channels: what keeps all messages back comes before what
// happened to the last one.
func TestStatesOfChannels(t *testing.T) {
	at := time.Date(2031, 3, 1, 8, 0, 0, 0, time.UTC)
	everything := alert.Health{
		AttemptedAt: at, AcceptedAt: at, FailingSince: at, Reason: "x", SecretsUnreadable: true, CommandMissing: true,
	}
	mail := alert.Channel{
		Type: alert.EmailType, Enabled: true, Config: []byte(`{"to":"ann@example.com"}`), Health: everything,
	}
	off, confirmed := mail, mail
	off.Enabled, confirmed.AddressConfirmed = false, true
	health := func(change func(*alert.Health)) alert.Channel {
		c := alert.Channel{Type: "ntfy", Enabled: true, Health: everything}
		change(&c.Health)
		return c
	}
	major, degraded, neutral := kernel.StatusMajorOutage.Tone().Name, kernel.StatusDegraded.Tone().Name,
		kernel.NeutralTone.Name
	for _, c := range []struct {
		channel     alert.Channel
		state, tone string
	}{
		{off, "Disabled", neutral},
		{mail, "Waiting for confirmation of ann@example.com", major},
		{alert.Channel{Type: alert.EmailType, Enabled: true, Config: mail.Config},
			"Waiting for confirmation of ann@example.com", degraded},
		{confirmed, "Secrets cannot be decrypted", major},
		{health(func(h *alert.Health) { h.SecretsUnreadable = false }), "No program", major},
		{health(func(h *alert.Health) { h.SecretsUnreadable, h.CommandMissing = false, false }), "Failing", major},
		{health(func(h *alert.Health) {
			*h = alert.Health{AttemptedAt: at, AcceptedAt: at, Reason: "x"}
		}), "Test failed", degraded},
		{health(func(h *alert.Health) {
			*h = alert.Health{AttemptedAt: at, AcceptedAt: at}
		}), "Working", kernel.StatusOperational.Tone().Name},
		{health(func(h *alert.Health) { *h = alert.Health{} }), "Not used yet", neutral},
	} {
		if shown := (shownChannel{c.channel}); shown.State() != c.state || shown.Tone() != c.tone {
			t.Errorf("the state of a channel: %s %s, want %s %s", shown.State(), shown.Tone(), c.state, c.tone)
		}
	}
}

// TestUsesOfAChannel checks which uses of a channel have links: a screen of rules is for those who may edit.
func TestUsesOfAChannel(t *testing.T) {
	uses := []alert.ChannelUse{
		{Kind: alert.UseRule, ID: "rul_1"}, {Kind: alert.UseOnCall, ID: "onc_1"},
		{Kind: alert.UseFallback, ID: "chn_1"}, {Kind: alert.UseSMS},
	}
	for _, edits := range []bool{false, true} {
		want := []string{"", "/admin/on-call/onc_1", "/admin/channels/chn_1", ""}
		if edits {
			want[0] = "/admin/alert-rules/rul_1"
		}
		var got []string
		for _, u := range uses {
			got = append(got, channelScreen{CanEdit: edits}.UsePath(u))
		}
		if !slices.Equal(got, want) {
			t.Errorf("editing %t: %v, want %v", edits, got, want)
		}
	}
	c := shownChannel{alert.Channel{UsedBy: uses}}
	if of, by := c.FallbackOf(), c.NeededBy(); len(of) != 1 || of[0].ID != "chn_1" || len(by) != 3 {
		t.Errorf("fallback of %v, needed by %v", of, by)
	}
}

// TestStatesOfSilences checks the state at and around the start and the end.
func TestStatesOfSilences(t *testing.T) {
	at := time.Date(2031, 3, 1, 8, 0, 0, 0, time.UTC)
	s := alert.Silence{StartsAt: at, EndsAt: at.Add(time.Hour)}
	for after, want := range map[time.Duration]string{
		-1: "Scheduled", 0: "Active", time.Hour - 1: "Active", time.Hour: "Ended",
	} {
		if got := silenceState(s, at.Add(after)); got != want {
			t.Errorf("the state of a silence after %s: %s, want %s", after, got, want)
		}
	}
}

// TestEntriesOfNotices compares what the timeline of an alert says of a message by its outcome.
func TestEntriesOfNotices(t *testing.T) {
	at := time.Date(2031, 3, 1, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		change func(*store.AlertNotice)
		want   string
	}{
		{func(n *store.AlertNotice) {}, "Phone  Notifying: pending"},
		{func(n *store.AlertNotice) { n.Reason = "busy" }, "Phone degraded Notifying: retrying: busy"},
		{func(n *store.AlertNotice) {
			n.Reason, n.Failed = "gone", true
		}, "Phone major Could not notify: failed: gone"},
		{func(n *store.AlertNotice) { n.SentAt = at }, "Phone ok Repeated to: "},
		{func(n *store.AlertNotice) {
			n.SentAt, n.FallbackFor = at, "Mail"
		}, "Phone (fallback for Mail) ok Repeated to: "},
		{func(n *store.AlertNotice) {
			n.SentAt, n.Deleted, n.ChannelType = at, true, "ntfy"
		}, "Phone (deleted, ntfy) ok Repeated to: "},
	} {
		n := store.AlertNotice{}
		n.ChannelName, n.Kind, n.At = "Phone", alert.NoticeRepeated, at
		c.change(&n)
		e := noticeEntry(n)
		got := fmt.Sprintf("%s %s %s: %s", e.Who, e.Tone, e.What, e.Result)
		if got != c.want || !e.At.Equal(at) || !e.Sent.Equal(n.SentAt) {
			t.Errorf("the entry of a notice: %q, want %q", got, c.want)
		}
	}
}

// TestTonesOfAlerts checks that an alert that lasts has the tone of its severity, and that one without has a tone, too.
func TestTonesOfAlerts(t *testing.T) {
	for _, severity := range kernel.Impacts {
		a := alert.Alert{Subject: alert.Subject{Event: alert.MonitorDown, Severity: severity}}
		want := severity.Tone().Name
		if severity == kernel.ImpactNone {
			want = kernel.StatusDegraded.Tone().Name
		}
		if got := alertTone(a); got != want {
			t.Errorf("%s: %s, want %s", severity, got, want)
		}
		if a.ResolvedAt = time.Now(); alertTone(a) != kernel.NeutralTone.Name {
			t.Errorf("%s, when it is over: %s", severity, alertTone(a))
		}
	}
}
