package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/console"
)

// TestAlertHistory checks that the history of an alert is in the order of time, and says whose fallback was notified.
func TestAlertHistory(t *testing.T) {
	alert := `"id": "alt_06h1abu6kb9vle4hpham", "title": "Shop is down", "event": "monitor.down", "state": "open", ` +
		`"severity": "major", "opened_at": "2026-11-26T00:00:00.000Z"`
	for _, c := range []struct{ fields, want string }{
		{`"notices": [
			{"kind": "opened", "channel": "Mail", "channel_type": "email", "channel_deleted": true, "in_place_of": "Chat", "at": "2026-11-26T00:05:00.000Z", "sent_at": "2026-11-26T00:05:01.000Z"},
			{"kind": "repeated", "channel": "Phone", "at": "2026-11-26T00:09:00.000Z", "sent_at": "2026-11-26T00:09:01.000Z"}],
			"holds": [{"rule": "Ops", "reason": "quiet_hours", "at": "2026-11-26T00:07:00.000Z", "until": "2026-11-26T00:08:00.000Z", "over": true}], "plans": []`,
			"Mail (deleted, email) (fallback for Chat)|was in quiet hours until 2026-11-26 00:08:00 +00:00 by rule " +
				"Ops|Phone|No further notifications before the alert is resolved."},
		{`"notices": [], "holds": [{"rule": "Ops", "reason": "silence", "at": "2026-11-26T00:07:00.000Z", "until": "2026-11-26T00:08:00.000Z"}], "plans": [{"rule": "Ops", "due_at": "2026-11-26T00:08:00.000Z", "held": "silence", "steps": [
			{"at": "2026-11-26T00:08:00.000Z", "kind": "opened", "channels": [{"name": "Mail", "on_call": "Ada"}]}]}]`,
			"silenced until 2026-11-26 00:08:00 +00:00 by rule Ops|Next, unless acknowledged or resolved:|" +
				"Ops, silenced until 2026-11-26 00:08:00 +00:00:|  2026-11-26 00:08:00 +00:00  opened     " +
				"Mail (Ada is on call)"},
		{`"state": "acknowledged", "notices": [], "holds": [], "plans": []`,
			"Acknowledged: no repeats or escalation."},
		{`"state": "resolved", "notices": [], "holds": [], "plans": []`, "No notifications (no matching rule)."},
		{`"notices": [], "holds": [], "plans": []`, "No notifications (no matching rule)."},
	} {
		status, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			answer(200, "", "", `{"data": {`+alert+`, `+c.fields+`}}`)(w, r)
		}, "alert", "show", "alt_06h1abu6kb9vle4hpham")
		if status != console.ExitDone {
			t.Fatalf("alert show: status %d: %s", status, stderr)
		}
		rest := stdout
		for want := range strings.SplitSeq(c.want, "|") {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%q is not where it should be:\n%s", want, stdout)
			}
			rest = after
		}
	}
}
