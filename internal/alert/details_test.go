package alert

import "testing"

// TestDetails checks where the details of a message are: at its only alert, or at the list.
func TestDetails(t *testing.T) {
	one, other := Alert{ID: "alt_a"}, Alert{ID: "alt_b"}
	m := Message{Thread: &Thread{Alerts: []Alert{one, other}}, Items: []Item{{Alert: one, Kinds: []NoticeKind{NoticeOpened}}}}
	if got := m.Details(); got != "" {
		t.Errorf("%q without an address", got)
	}
	m.Links.Alerts = "https://status.example.com" + Path
	if got := m.Details(); got != "https://status.example.com/admin/alerts/alt_a" {
		t.Errorf("of one alert: %q", got)
	}
	if got := m.Current().Details(); got != "https://status.example.com/admin/alerts" {
		t.Errorf("of the first message, which is about two alerts now: %q", got)
	}
}
