package alert

import (
	"strings"
	"testing"
	"time"
)

// TestDetails checks where the details of a message are: at its only alert, or at the list.
func TestDetails(t *testing.T) {
	one, other := Alert{ID: "alt_a"}, Alert{ID: "alt_b"}
	m := Message{
		Thread: &Thread{Alerts: []Alert{one, other}}, Items: []Item{{Alert: one, Kinds: []NoticeKind{NoticeOpened}}},
	}
	if got := m.Details(); got != "" {
		t.Errorf("Details = %q without an address", got)
	}
	m.Links.Alerts = "https://status.example.com" + Path
	if got := m.Details(); got != "https://status.example.com/admin/alerts/alt_a" {
		t.Errorf("of one alert: %q", got)
	}
	if got := m.Current().Details(); got != "https://status.example.com/admin/alerts" {
		t.Errorf("of the first message, which is about two alerts now: %q", got)
	}
}

// TestReasonOfMessage checks that a message says why its alert began, unless it only says that it ended.
func TestReasonOfMessage(t *testing.T) {
	opened := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		kinds     []NoticeKind
		over      bool
		endReason string
		want      string
	}{
		{[]NoticeKind{NoticeOpened}, false, "", "Connection refused."},
		{[]NoticeKind{NoticeOpened, NoticeEscalated}, false, "", "Connection refused."},
		{[]NoticeKind{NoticeRepeated}, false, "", "Connection refused."},
		{[]NoticeKind{NoticeAcknowledged}, false, "", "Connection refused."},
		{[]NoticeKind{NoticeOpened, NoticeResolved}, true, "", "Connection refused."},
		{[]NoticeKind{NoticeOpened, NoticeResolved}, true, "the monitor was deleted", "Connection refused."},
		{[]NoticeKind{NoticeResolved}, true, "", ""},
		{[]NoticeKind{NoticeResolved}, true, "the monitor was deleted", "The monitor was deleted."},
	} {
		a := Alert{
			OpenedAt: opened, EndReason: c.endReason,
			Subject: Subject{Event: MonitorDown, Name: "Shop", Reason: "connection refused"},
		}
		if c.over {
			a.ResolvedAt = opened.Add(time.Minute)
		}
		item := Item{Alert: a, Kinds: c.kinds}
		if lines, _ := (Message{Items: []Item{item}, At: opened}).Lines(); strings.Join(lines, "|") != c.want {
			t.Errorf("%v, ended because %q: %q, want %q", c.kinds, c.endReason, lines, c.want)
		}
		several, _ := Message{Items: []Item{item, item}, At: opened}.Lines()
		said := strings.TrimSuffix(c.want, ".")
		if said != "" && !strings.Contains(strings.ToLower(several[0]), strings.ToLower(said)) {
			t.Errorf("%v of several, ended because %q: %q", c.kinds, c.endReason, several)
		}
	}
}
