package alert

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAddressOfChannel checks that only channels of the mail server of this service have an address, and what the audit
// log records of a channel without one.
func TestAddressOfChannel(t *testing.T) {
	for _, c := range []struct{ kind, config, want string }{
		{EmailType, `{"to":"Ann@Example.com"}`, "Ann@example.com"}, {EmailType, `{"to":`, ""},
		{EmailType, `{"to":1}`, ""},
		{"webhook", `{"to":"ann@example.com"}`, ""}, {"smtp", `{"to":"ann@example.com"}`, ""},
	} {
		channel := Channel{Type: c.kind, Config: json.RawMessage(c.config)}
		if got := channel.Address(); !strings.EqualFold(got, c.want) || channel.UnconfirmedAddress() != got {
			t.Errorf("Address of a channel %s %s = %q, want %q", c.kind, c.config, got, c.want)
		}
		if channel.AddressConfirmed = true; channel.UnconfirmedAddress() != "" {
			t.Errorf("%s %s: a confirmed address is unconfirmed", c.kind, c.config)
		}
	}
}

// TestTimesOfClocks checks how times of day are read and written.
func TestTimesOfClocks(t *testing.T) {
	for text, want := range map[string]ClockTime{"00:00": 0, "07:05": 425, "22:30": 1350, "23:59": 1439} {
		var c ClockTime
		if err := c.UnmarshalText([]byte(text)); err != nil || c != want || c.String() != text {
			t.Errorf("UnmarshalText(%s): %d, printed as %s, %v", text, c, c, err)
		}
	}
	for _, text := range []string{"", "24:00", "23:60", "07", "07:00:00", "7 pm", "-1:00"} {
		c := ClockTime(7)
		if err := c.UnmarshalText([]byte(text)); err == nil || c != 7 {
			t.Errorf("UnmarshalText(%q): %d, error %v; want an error and no change", text, c, err)
		}
	}
}

// TestReferredIDs checks that all that a rule names is found, wherever the rule names it.
func TestReferredIDs(t *testing.T) {
	target := func(name string) Target {
		return Target{ChannelIDs: []string{"chn_" + name}, OnCallIDs: []string{"onc_" + name}}
	}
	r := Rule{Filter: Filter{Pages: []string{"page_1"}, Monitors: []string{"mon_1"}}, Target: target("1"),
		QuietHours: &QuietHours{Target: target("2")},
		Escalation: []Step{{time.Hour, target("3")}, {time.Hour, target("4")}}}
	want := []string{"page_1", "mon_1", "chn_1", "onc_1", "chn_2", "onc_2", "chn_3", "onc_3", "chn_4", "onc_4"}
	if got := r.ReferredIDs(); !slices.Equal(got, want) {
		t.Errorf("ReferredIDs = %v, want %v", got, want)
	}
	r.QuietHours = nil
	if got := r.ReferredIDs(); !slices.Equal(got, slices.Delete(want, 4, 6)) {
		t.Errorf("without quiet hours: %v", got)
	}
}

// TestAdvanceAtEdges checks what is easily taken for something else: alerts that do not last, a silence that ends now,
// and to what the progress of a rule belongs when there is nothing left to do.
func TestAdvanceAtEdges(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := Rule{
		ID: "rule_1", Enabled: true, Target: channels(1), Delay: time.Minute, Repeat: time.Hour,
		Escalation: []Step{{time.Hour, channels(1)}},
	}
	for _, event := range Events {
		if event.Lasts() {
			continue
		}
		for what, a := range map[string]Alert{
			"open": {ID: "alt_1", OpenedAt: at, Subject: Subject{Event: event}},
			"over": {ID: "alt_1", OpenedAt: at, ResolvedAt: at, Subject: Subject{Event: event}},
		} {
			p := r.Begin(a, at)
			if got := r.Advance(p, a, time.Time{}, p.DueAt); got.Kind != NoticeOpened || !got.Next.DueAt.IsZero() {
				t.Errorf("%s, %s: %+v, want one message and no more", event, what, got)
			}
		}
	}
	a := Alert{ID: "alt_1", OpenedAt: at, Subject: Subject{Event: MonitorDown}}
	p := r.Begin(a, at)
	if got := r.Advance(p, a, p.DueAt, p.DueAt); got.Kind != NoticeOpened || got.Held != "" {
		t.Errorf("a silence that ends now: %+v", got)
	}
	got := r.Advance(p, a, p.DueAt.Add(1), p.DueAt)
	if got.Kind != "" || got.Held != HeldBySilence || !got.Next.DueAt.Equal(p.DueAt.Add(1)) {
		t.Errorf("a silence that lasts: %+v", got)
	}
	a.AcknowledgedAt = at
	if got := r.Advance(p, a, time.Time{}, p.DueAt); got.Next != (Progress{AlertID: "alt_1", RuleID: "rule_1"}) {
		t.Errorf("acknowledged: %+v", got)
	}
}

// TestUnnamedOverride checks that a new override names somebody.
func TestUnnamedOverride(t *testing.T) {
	o := OnCall{
		Name: "Ops", Zone: "UTC", HandOverDay: "mon",
		Participants: []Participant{{Name: "Ann", ChannelIDs: []string{"chn_1"}}},
		Overrides:    []Override{{StartsAt: t0, EndsAt: t0.Add(time.Hour)}},
	}
	checkRefusal(t, "an override of nobody", problemsOf(o, t0, nil), "overrides", `must name a participant; "" is none`)
}

// TestSubjectsOfSummaries checks for each kind of event and of filter whether alerts can match, and what they are
// about.
func TestSubjectsOfSummaries(t *testing.T) {
	names := map[string]string{"mon_1": "Shop", "page_1": "Acme", "chn_1": "Phone"}
	monitor, page := Filter{Monitors: []string{"mon_1"}}, Filter{Pages: []string{"page_1"}}
	both := Filter{Monitors: monitor.Monitors, Pages: page.Pages}
	const never = "Never: its filters match none of its events."
	for _, c := range []struct {
		event                         Event
		any, ofMonitor, ofPage, ofAll string
	}{
		{MonitorDown, "a monitor is down", "Shop is down", "a monitor of Acme is down", "Shop of Acme is down"},
		{ServiceGap, "Allswell itself was interrupted", "the checking of Shop was interrupted",
			"the checking of a monitor of Acme was interrupted",
			"the checking of Shop of Acme was interrupted"},
		{MaintenanceBegun, "maintenance has begun", "", "maintenance of Acme has begun", ""},
		{DeliveryFailed, "a subscriber is not notified any more", "", "a subscriber of Acme is not notified any more",
			""},
		{ChannelFailed, "a channel does not accept alerts", "", "", ""},
		{ChecksLate, "checks are late", "", "", ""},
	} {
		for i, want := range []string{c.any, c.ofMonitor, c.ofPage, c.ofAll} {
			filter := []Filter{{}, monitor, page, both}[i]
			filter.Events = []Event{c.event}
			if want == "" {
				want = never
			} else {
				want = "When " + want + ", notify Phone."
			}
			got := (Rule{Filter: filter, Target: Target{ChannelIDs: []string{"chn_1"}}}).Summarize(names)
			if got != want {
				t.Errorf("summary of a rule on %s: %s, want %s", c.event, got, want)
			}
		}
	}
	for n, want := range map[int]string{
		1: "a", 2: "a or b", 3: "a, b or c", 4: "a, b, c or d", 5: "a, b, c or 2 others", 6: "a, b, c or 3 others",
	} {
		all := []string{"a", "b", "c", "d", "e", "f"}
		if got := listOf(all[:n], "or"); got != want || all[3] != "d" {
			t.Errorf("listOf %d names = %q, want %q", n, got, want)
		}
	}
}

// TestLimitsOfTemplates checks the longest texts that templates make.
func TestLimitsOfTemplates(t *testing.T) {
	for text, want := range map[string]string{
		`{{join (index .Alerts 0).Tags "1234567890"}}`: "prod",
		strings.Repeat("🦊", 130):                       strings.Repeat("🦊", 130),
	} {
		w, err := (Channel{Templates: Templates{TextTemplate: text}}).Words(exampleMessage())
		if err != nil || w.Text != want {
			t.Errorf("text of the template %s: %q, %v", text, w.Text, err)
		}
	}
	m := exampleMessage()
	for n, text := range map[int]string{maxMadeTitle: "", maxMadeTitle + 1: "…", 2 * maxMadeTitle: "…"} {
		m.Items[0].Name = strings.Repeat("🦊", n)
		got, err := render("title_template", "{{(index .Alerts 0).Name}}", newTemplateMessage("Ops", m), maxMadeTitle)
		if err != nil || len([]rune(got)) != maxMadeTitle || strings.HasSuffix(got, "…") != (text != "") {
			t.Errorf("title of a template with %d characters has %d, %v", n, len([]rune(got)), err)
		}
	}
}
